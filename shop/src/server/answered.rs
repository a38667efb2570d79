//! A page for what hyper refuses by itself: too long an address, or too many headers. Its own answer is empty, and no handler sees the request.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The page, in both languages: the request that would tell which was not read.
const PAGE: &str = concat!(
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    "<title>The address is too long · Tenure Shop</title><link rel=\"stylesheet\" href=\"/assets/shop.css\"></head><body><main id=\"main\" data-state=\"E-414\">",
    "<h1>The address is too long</h1><p>It is longer than this shop reads, so there is no page. A search has at most 255 characters.</p>",
    "<div lang=\"ko\" class=\"section\"><h2>주소가 너무 깁니다</h2><p>상점이 읽을 수 있는 길이를 넘어 페이지를 열 수 없습니다. 검색어는 255자까지 쓸 수 있습니다.</p></div>",
    "<div class=\"buttons\"><a class=\"button main\" href=\"/orders\">Orders · <span lang=\"ko\">주문 목록</span></a></div></main></body></html>",
);

/// The refusals, by the beginning of their answers.
const REFUSALS: [&[u8]; 2] = [b"HTTP/1.1 414 ", b"HTTP/1.1 431 "];

/// A connection whose empty refusals have a page.
#[derive(Debug)]
pub(super) struct Answered<S> {
    stream: S,
    /// What is still to be written of the page.
    page: Vec<u8>,
}

impl<S> Answered<S> {
    pub(super) fn new(stream: S) -> Answered<S> {
        Answered { stream, page: Vec::new() }
    }

    /// Replaces hyper's refusal, which is whole in one piece and has no content, unlike any answer of the shop.
    fn replaces(&mut self, written: &[u8]) -> bool {
        let is_one = REFUSALS.iter().any(|head| written.starts_with(head)) && written.ends_with(b"\r\n\r\n");
        let text = String::from_utf8_lossy(if is_one { written } else { &[] }).to_ascii_lowercase();
        if !text.contains("\r\ncontent-length: 0\r\n") {
            return false;
        }
        let status = text.lines().next().unwrap_or_default().to_ascii_uppercase();
        let (length, csp) = (PAGE.len(), "default-src 'self'; frame-ancestors 'none'; base-uri 'none'");
        self.page = format!(
            "{status}\r\nconnection: close\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n\
             cache-control: no-store\r\nx-content-type-options: nosniff\r\ncontent-security-policy: {csp}\r\n\r\n{PAGE}"
        )
        .into_bytes();
        true
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Answered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Answered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match pieces {
            [only] => self.poll_write(cx, only),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Answered { stream, page } = &mut *self;
        while !page.is_empty() {
            let written = ready!(Pin::new(&mut *stream).poll_write(cx, page))?;
            page.drain(..written.max(1));
        }
        Pin::new(stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
