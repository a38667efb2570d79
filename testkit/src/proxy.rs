//! A network between a program and its server that loses what a test tells it to lose.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Passes everything on to a server, until it is told to lose something.
///
/// Its threads end with the connections that they serve, and the listening one with the process.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    fault: Faults,
}

/// What is to be lost next, if anything.
type Faults = Arc<Mutex<Option<Fault>>>;

/// A request is known by something that it says: pools talk to their connections in the background as well.
#[derive(Debug)]
struct Fault {
    what: Lost,
    says: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    Request,
    Answer,
    Everything,
}

impl Proxy {
    /// A way to the server of this URL.
    ///
    /// # Errors
    /// When no port is free, or the URL names none.
    pub fn to(url: &str) -> io::Result<Self> {
        let misshapen = || io::Error::new(io::ErrorKind::InvalidInput, format!("no host and port in {url}"));
        let (before, rest) = url.split_once('@').ok_or_else(misshapen)?;
        let (server, database) = rest.split_once('/').ok_or_else(misshapen)?;
        let (listener, fault) = (TcpListener::bind(("127.0.0.1", 0))?, Faults::default());
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

    /// Loses the answer to the next request that says this, on whatever connection it comes, and ends that connection for
    /// the client. The server is left to finish what it was asked to do.
    pub fn lose_answer_to(&self, says: &'static str) {
        self.lose(Lost::Answer, says);
    }

    /// Loses the next request that says this, and ends its connection on both sides.
    pub fn lose_request(&self, says: &'static str) {
        self.lose(Lost::Request, says);
    }

    /// From the next request that says this, nothing passes any more on its connection, and neither side is told.
    pub fn fall_silent_at(&self, says: &'static str) {
        self.lose(Lost::Everything, says);
    }

    fn lose(&self, what: Lost, says: &'static str) {
        *locked(&self.fault) = Some(Fault { what, says });
    }
}

fn serve(client: TcpStream, server: &str, faults: &Faults) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let (faults, losing) = (Arc::clone(faults), Arc::new(AtomicBool::new(false)));
    let lost = Arc::clone(&losing);
    thread::spawn(move || requests(from_client, to_server, &faults, &losing));
    thread::spawn(move || answers(server, client, &lost));
    Ok(())
}

fn requests(mut client: TcpStream, mut server: TcpStream, faults: &Faults, losing: &AtomicBool) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = client.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            // An answer that is lost must not keep the server from finishing: only the other side ends the connection.
            return;
        }
        match take(faults, &buffer[..read]) {
            Some(Lost::Request) => {
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.shutdown(Shutdown::Both);
                return;
            }
            Some(Lost::Answer) => losing.store(true, Ordering::SeqCst),
            Some(Lost::Everything) => {
                while client.read(&mut buffer).is_ok_and(|read| read > 0) {}
                return;
            }
            None => {}
        }
        if server.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

fn answers(mut server: TcpStream, mut client: TcpStream, losing: &AtomicBool) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = server.read(&mut buffer).unwrap_or(0);
        // What comes after the answer that is lost has nobody to go to, but is read, so that the server can go on.
        let lost = losing.load(Ordering::SeqCst);
        if read == 0 || lost {
            let _ = client.shutdown(Shutdown::Both);
        }
        if read == 0 || (!lost && client.write_all(&buffer[..read]).is_err()) {
            return;
        }
    }
}

fn take(faults: &Faults, request: &[u8]) -> Option<Lost> {
    let mut faults = locked(faults);
    let says = |text: &str| request.windows(text.len()).any(|part| part == text.as_bytes());
    faults.take_if(|fault| says(fault.says)).map(|fault| fault.what)
}

fn locked(faults: &Faults) -> MutexGuard<'_, Option<Fault>> {
    faults.lock().unwrap_or_else(PoisonError::into_inner)
}
