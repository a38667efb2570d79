//! A network between a program and its server that loses messages on request.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Forwards everything to a server, until a test requests a loss.
///
/// Its threads end with the connections that they serve, and the listening one with the process.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    network: Arc<Network>,
}

/// The state of the network.
#[derive(Debug, Default)]
struct Network {
    /// Host and port that new connections lead to.
    server: Mutex<String>,
    /// The next loss, if any.
    fault: Mutex<Option<Fault>>,
    /// Whether nothing passes.
    silent: AtomicBool,
    /// A text of the clients, and its replacement for the server.
    misheard: Mutex<Option<(&'static str, &'static str)>>,
}

/// A request is identified by a text in it: pools also send messages in the background.
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
    /// A proxy to the server of this URL.
    ///
    /// # Errors
    /// If no port is free, or the URL has none.
    pub fn to(url: &str) -> io::Result<Self> {
        let misshapen = || io::Error::new(io::ErrorKind::InvalidInput, format!("no host and port in {url}"));
        let (before, server, database) = parts(url).ok_or_else(misshapen)?;
        let network = Network { server: Mutex::new(server.to_owned()), ..Network::default() };
        let (listener, network) = (TcpListener::bind(("127.0.0.1", 0))?, Arc::new(network));
        // Encrypted messages cannot be read, and newer servers offer TLS by default.
        let plain = if url.starts_with("mysql:") { "?ssl-mode=disabled" } else { "" };
        let url = format!("{before}@{}/{database}{plain}", listener.local_addr()?);
        let way = Arc::clone(&network);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Without a server, the connection ends at once.
                let _ = serve(client, &way);
            }
        });
        Ok(Proxy { url, network })
    }

    /// The URL of the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Leads new connections to the server of this URL, as one address in front of several servers does. Open ones stay where they are.
    ///
    /// # Panics
    /// If the URL has no host and port.
    pub fn lead_to(&self, url: &str) {
        let (_, server, _) = parts(url).unwrap_or_else(|| panic!("no host and port in {url}"));
        server.clone_into(&mut locked(&self.network.server));
    }

    /// Loses the answer to the next request with this text, on any connection, and closes that connection for the client. The server may
    /// finish the request.
    pub fn lose_answer_to(&self, says: &'static str) {
        self.lose(Lost::Answer, says);
    }

    /// Loses the next request with this text, and closes its connection on both sides.
    pub fn lose_request(&self, says: &'static str) {
        self.lose(Lost::Request, says);
    }

    /// From the next request with this text, nothing passes any more on its connection, and neither side is informed.
    pub fn fall_silent_at(&self, says: &'static str) {
        self.lose(Lost::Everything, says);
    }

    /// From now on nothing passes, in neither direction, and neither side is informed: connections stay open, and new ones are accepted and
    /// not served. All of these stay silent, as behind a router that has forgotten them.
    pub fn fall_silent(&self) {
        self.network.silent.store(true, Ordering::SeqCst);
    }

    /// Serves new connections again.
    pub fn recover(&self) {
        self.network.silent.store(false, Ordering::SeqCst);
    }

    /// Replaces a text of the clients on its way to the server by another one of the same length.
    pub fn mishear(&self, said: &'static str, heard: &'static str) {
        assert_eq!(said.len(), heard.len(), "messages say how long they are");
        *locked(&self.network.misheard) = Some((said, heard));
    }

    fn lose(&self, what: Lost, says: &'static str) {
        *locked(&self.network.fault) = Some(Fault { what, says });
    }
}

/// What is before the host of a URL, the host with its port, and the rest.
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = url.split_once('@')?;
    rest.split_once('/').map(|(server, rest)| (before, server, rest))
}

fn serve(mut client: TcpStream, network: &Arc<Network>) -> io::Result<()> {
    if network.is_silent() {
        thread::spawn(move || drain(&mut client));
        return Ok(());
    }
    let server = locked(&network.server).clone();
    let server = TcpStream::connect(server)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let (lost, losing) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let way = Way { network: Arc::clone(network), losing, lost };
    let back = way.clone();
    thread::spawn(move || requests(from_client, to_server, &way));
    thread::spawn(move || answers(server, client, &back));
    Ok(())
}

/// One connection.
#[derive(Clone)]
struct Way {
    network: Arc<Network>,
    /// Whether its answers are lost.
    losing: Arc<AtomicBool>,
    /// Whether it is permanently silent.
    lost: Arc<AtomicBool>,
}

impl Way {
    fn is_silent(&self) -> bool {
        if self.network.is_silent() {
            self.lost.store(true, Ordering::SeqCst);
        }
        self.lost.load(Ordering::SeqCst)
    }
}

impl Network {
    fn is_silent(&self) -> bool {
        self.silent.load(Ordering::SeqCst)
    }
}

/// Reads and discards the messages of one side until it closes.
fn drain(from: &mut TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while from.read(&mut buffer).is_ok_and(|read| read > 0) {}
}

fn requests(mut client: TcpStream, mut server: TcpStream, way: &Way) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = client.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            // A lost answer must not prevent the server from finishing: only the other side ends the connection.
            return;
        }
        if way.is_silent() {
            return drain(&mut client);
        }
        match take(&way.network.fault, &buffer[..read]) {
            Some(Lost::Request) => {
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.shutdown(Shutdown::Both);
                return;
            }
            Some(Lost::Answer) => way.losing.store(true, Ordering::SeqCst),
            Some(Lost::Everything) => return drain(&mut client),
            None => {}
        }
        if let Some((said, heard)) = *locked(&way.network.misheard) {
            replace(&mut buffer[..read], said.as_bytes(), heard.as_bytes());
        }
        if server.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

fn answers(mut server: TcpStream, mut client: TcpStream, way: &Way) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = server.read(&mut buffer).unwrap_or(0);
        if way.is_silent() {
            return drain(&mut server);
        }
        // The rest after the lost answer has no receiver, but is read, so that the server can continue.
        let lost = way.losing.load(Ordering::SeqCst);
        if read == 0 || lost {
            let _ = client.shutdown(Shutdown::Both);
        }
        if read == 0 || (!lost && client.write_all(&buffer[..read]).is_err()) {
            return;
        }
    }
}

fn replace(text: &mut [u8], said: &[u8], heard: &[u8]) {
    for at in 0..text.len().saturating_sub(said.len() - 1) {
        if text[at..].starts_with(said) {
            text[at..at + said.len()].copy_from_slice(heard);
        }
    }
}

fn take(fault: &Mutex<Option<Fault>>, request: &[u8]) -> Option<Lost> {
    let mut fault = locked(fault);
    let says = |text: &str| request.windows(text.len()).any(|part| part == text.as_bytes());
    fault.take_if(|fault| says(fault.says)).map(|fault| fault.what)
}

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
