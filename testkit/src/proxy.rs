//! A network between a program and its server that loses what a test tells it to lose.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

/// Passes everything on to a server, until it is told to lose something.
///
/// Its threads end with the connections that they serve, and the listening one with the process.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    fault: Arc<AtomicU8>,
}

const NONE: u8 = 0;
const ANSWER: u8 = 1;
const REQUEST: u8 = 2;

impl Proxy {
    /// A way to the server of this URL.
    ///
    /// # Errors
    /// When no port is free, or the URL names none.
    pub fn to(url: &str) -> io::Result<Self> {
        let misshapen = || io::Error::new(io::ErrorKind::InvalidInput, format!("no host and port in {url}"));
        let (before, rest) = url.split_once('@').ok_or_else(misshapen)?;
        let (server, database) = rest.split_once('/').ok_or_else(misshapen)?;
        let (listener, fault) = (TcpListener::bind(("127.0.0.1", 0))?, Arc::new(AtomicU8::new(NONE)));
        let url = format!("{before}@{}/{database}", listener.local_addr()?);
        let (server, faults) = (server.to_owned(), Arc::clone(&fault));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server that is not there is seen as a connection that ends at once.
                let _ = serve(client, &server, &faults);
            }
        });
        Ok(Proxy { url, fault })
    }

    /// The URL by which to come this way.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Loses the answer to the next request, on whatever connection it comes, and ends that connection for the client. The
    /// server is left to finish what it was asked to do.
    pub fn lose_next_answer(&self) {
        self.fault.store(ANSWER, Ordering::SeqCst);
    }

    /// Loses the next request, and ends its connection on both sides.
    pub fn lose_next_request(&self) {
        self.fault.store(REQUEST, Ordering::SeqCst);
    }
}

fn serve(client: TcpStream, server: &str, faults: &Arc<AtomicU8>) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let here = Arc::clone(faults);
    thread::spawn(move || requests(from_client, to_server, &here));
    let faults = Arc::clone(faults);
    thread::spawn(move || answers(server, client, &faults));
    Ok(())
}

fn requests(mut client: TcpStream, mut server: TcpStream, faults: &AtomicU8) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = client.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            // An answer that is lost must not keep the server from finishing: only the other side ends the connection.
            return;
        }
        if take(faults, REQUEST) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
            return;
        }
        if server.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

fn answers(mut server: TcpStream, mut client: TcpStream, faults: &AtomicU8) {
    let (mut buffer, mut lost) = ([0; 16 * 1024], false);
    loop {
        let read = server.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            let _ = client.shutdown(Shutdown::Both);
            return;
        }
        if take(faults, ANSWER) {
            lost = true;
            let _ = client.shutdown(Shutdown::Both);
        }
        // What comes after it has nobody to go to, but is read, so that the server can go on.
        if !lost && client.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

fn take(faults: &AtomicU8, fault: u8) -> bool {
    faults.compare_exchange(fault, NONE, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}
