//! The network between the browsers and the shop, with faults on demand: it delays, it falls silent, it resets connections, and it cuts
//! them at a save.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::Result;

/// Where the connection of the next save is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Before the request reaches the shop.
    Before,
    /// In the middle of the answer.
    Within,
    /// After the shop has answered, before any of it arrives.
    After,
    /// Nowhere: the nemesis only wants to know when a save is on its way.
    Nowhere,
}

/// A network with faults on demand. Clones are the same network.
#[derive(Debug, Clone)]
pub(super) struct Network {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    shop: SocketAddr,
    /// Rises when all connections are to be reset.
    resets: watch::Sender<u64>,
    silent: watch::Sender<bool>,
    delay_ms: AtomicU64,
    cut: Mutex<Option<Cut>>,
    open: AtomicU64,
}

impl Network {
    /// A network in front of a shop.
    pub(super) async fn to(shop: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let state = Arc::new(State {
            shop,
            resets: watch::Sender::new(0),
            silent: watch::Sender::new(false),
            delay_ms: AtomicU64::new(0),
            cut: Mutex::new(None),
            open: AtomicU64::new(0),
        });
        let network = Network { address: listener.local_addr()?, state: Arc::clone(&state) };
        tokio::spawn(async move {
            while let Ok((browser, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                tokio::spawn(async move { state.serve(browser).await });
            }
        });
        Ok(network)
    }

    /// Where browsers reach the shop.
    pub(super) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Resets all connections; returns how many there were.
    pub(super) fn reset(&self) -> u64 {
        let open = self.state.open.load(Ordering::SeqCst);
        self.state.resets.send_modify(|count| *count += 1);
        open
    }

    /// From now on nothing passes, without an error.
    pub(super) fn fall_silent(&self) {
        self.state.silent.send_replace(true);
    }

    /// Ends the silence, and resets the connections that it had caught; returns how many there were.
    pub(super) fn recover(&self) -> u64 {
        self.state.silent.send_replace(false);
        self.reset()
    }

    /// Makes each message late by so much.
    pub(super) fn delay(&self, by: Duration) {
        self.state.delay_ms.store(u64::try_from(by.as_millis()).unwrap_or(0), Ordering::SeqCst);
    }

    /// Cuts the connection of the next save.
    pub(super) fn cut_next_save(&self, cut: Cut) {
        *self.state.cut() = Some(cut);
    }

    /// Whether a save has met the cut.
    pub(super) fn is_cut(&self) -> bool {
        self.state.cut().is_none()
    }

    /// Cuts nothing any more; returns whether a save has met the cut.
    pub(super) fn end_cut(&self) -> bool {
        self.state.cut().take().is_none()
    }
}

impl State {
    fn cut(&self) -> std::sync::MutexGuard<'_, Option<Cut>> {
        self.cut.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(self: Arc<Self>, browser: TcpStream) {
        let mut resets = self.resets.subscribe();
        resets.mark_unchanged();
        // A shop that is closed is a connection that ends at once.
        let Ok(shop) = TcpStream::connect(self.shop).await else { return };
        let _ = (browser.set_nodelay(true), shop.set_nodelay(true));
        self.open.fetch_add(1, Ordering::SeqCst);
        let (from_browser, to_browser) = browser.into_split();
        let (from_shop, to_shop) = shop.into_split();
        let cut = watch::Sender::new(Cut::Nowhere);
        // With the side that ends first, both are closed.
        tokio::select! {
            _ = resets.changed() => {}
            () = self.requests(from_browser, to_shop, &cut) => {}
            () = self.answers(from_shop, to_browser, cut.subscribe()) => {}
        }
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    async fn requests(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, cut: &watch::Sender<Cut>) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            self.wait().await;
            if is_save(&buffer[..read])
                && let Some(where_to_cut) = self.cut().take()
            {
                if where_to_cut == Cut::Before {
                    return;
                }
                cut.send_replace(where_to_cut);
            }
            if to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    }

    async fn answers(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, cut: watch::Receiver<Cut>) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let cut = *cut.borrow();
            self.wait().await;
            // An answer to a script is short, and ends with its text.
            let passes = match cut {
                Cut::After => 0,
                Cut::Within => read.saturating_sub(12),
                Cut::Before | Cut::Nowhere => read,
            };
            if to.write_all(&buffer[..passes]).await.is_err() || passes < read {
                return;
            }
        }
    }

    async fn wait(&self) {
        let delay = self.delay_ms.load(Ordering::SeqCst);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        // The reset that follows ends the wait, together with the connection.
        if *self.silent.borrow() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whether a request sends a form of an order: heartbeats and releases do not.
fn is_save(request: &[u8]) -> bool {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let has = |text: &[u8]| line.windows(text.len()).any(|part| part == text);
    line.starts_with(b"POST /orders/") && (has(b"/shipping ") || has(b"/edit/save "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saves_are_told_from_other_requests() {
        assert!(is_save(b"POST /orders/17/shipping HTTP/1.1\r\nhost: a\r\n\r\n"));
        assert!(is_save(b"POST /orders/17/edit/save HTTP/1.1\r\n\r\n"));
        assert!(!is_save(b"POST /orders/17/beat?form=shipping HTTP/1.1\r\n\r\n"));
        assert!(!is_save(b"GET /orders/17/shipping HTTP/1.1\r\n\r\n"));
        assert!(!is_save(b"POST /orders/17/edit HTTP/1.1\r\nreferer: /orders/17/edit/save \r\n\r\n"));
    }
}
