//! The network between the clients and the server. It delays, it falls silent, it cuts connections, and it cuts them at a COMMIT:
//! before it arrives, or after it was done and before the answer.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::Result;
use crate::router::Router;

/// What to lose of a request that says a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lose {
    /// The request, with its connection.
    Request,
    /// The answer, with its connection. The server does what it was asked.
    Answer,
}

/// A network with faults on demand. Clones are the same network.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    address: SocketAddr,
    network: Arc<Network>,
}

#[derive(Debug)]
struct Network {
    /// Rises when all connections are to be cut.
    cut: watch::Sender<u64>,
    /// Whether nothing passes.
    silent: watch::Sender<bool>,
    /// By how many milliseconds each message is late.
    delay: AtomicU64,
    /// What is to be lost next.
    losing: Mutex<Option<(Lose, String)>>,
    /// How many connections there are.
    open: AtomicU64,
}

impl Proxy {
    /// A network in front of a server.
    pub(crate) async fn to(server: Router) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let network = Network {
            cut: watch::Sender::new(0),
            silent: watch::Sender::new(false),
            delay: AtomicU64::new(0),
            losing: Mutex::new(None),
            open: AtomicU64::new(0),
        };
        let proxy = Proxy { address: listener.local_addr()?, network: Arc::new(network) };
        let network = Arc::clone(&proxy.network);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, network) = (server.clone(), Arc::clone(&network));
                tokio::spawn(async move { network.serve(client, server).await });
            }
        });
        Ok(proxy)
    }

    /// Its host and port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resets all connections that there are. How many.
    pub(crate) fn cut(&self) -> u64 {
        let open = self.network.open.load(Ordering::SeqCst);
        self.network.cut.send_modify(|count| *count += 1);
        open
    }

    /// From now on nothing passes, without an error. Afterwards all connections of that time are reset.
    pub(crate) fn fall_silent(&self) {
        self.network.silent.send_replace(true);
    }

    /// Ends the silence. How many connections it had caught.
    pub(crate) fn recover(&self) -> u64 {
        self.network.silent.send_replace(false);
        self.cut()
    }

    /// Makes each message late by so much.
    pub(crate) fn delay(&self, by: Duration) {
        self.network.delay.store(u64::try_from(by.as_millis()).unwrap_or(0), Ordering::SeqCst);
    }

    /// Loses the next request that says this, or its answer.
    pub(crate) fn lose(&self, what: Lose, says: &str) {
        *self.network.losing() = Some((what, says.to_owned()));
    }

    /// Loses nothing any more. Whether what was to be lost has been.
    pub(crate) fn lost(&self) -> bool {
        self.network.losing().take().is_none()
    }
}

impl Network {
    fn losing(&self) -> MutexGuard<'_, Option<(Lose, String)>> {
        self.losing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(self: Arc<Self>, client: TcpStream, mut router: Router) {
        let mut cut = self.cut.subscribe();
        cut.mark_unchanged();
        let host = router.host();
        // A server that is away is a connection that ends at once.
        let Ok(server) = TcpStream::connect(&host).await else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        self.open.fetch_add(1, Ordering::SeqCst);
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let answers_lost = watch::Sender::new(false);
        // Whichever ends first, both sides are closed with it.
        tokio::select! {
            _ = cut.changed() => {}
            () = router.left(&host) => {}
            () = self.requests(from_client, to_server, &answers_lost) => {}
            () = self.answers(from_server, to_client, answers_lost.subscribe()) => {}
        }
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    /// Passes requests on, until the client or the server ends the connection.
    async fn requests(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, answers_lost: &watch::Sender<bool>) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            self.wait().await;
            match self.loses(&buffer[..read]) {
                Some(Lose::Request) => break,
                Some(Lose::Answer) => {
                    answers_lost.send_replace(true);
                }
                None => {}
            }
            if to.write_all(&buffer[..read]).await.is_err() {
                break;
            }
            if *answers_lost.borrow() {
                // Until the server has answered, its side stays open.
                return std::future::pending().await;
            }
        }
    }

    /// Passes answers on. Ends with the connection of the server, or with the first answer that is lost.
    async fn answers(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, lost: watch::Receiver<bool>) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            if *lost.borrow() {
                return;
            }
            self.wait().await;
            if to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    }

    async fn wait(&self) {
        let delay = self.delay.load(Ordering::SeqCst);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        // The reset that follows ends the wait, together with the connection.
        if *self.silent.borrow() {
            std::future::pending::<()>().await;
        }
    }

    fn loses(&self, request: &[u8]) -> Option<Lose> {
        let mut losing = self.losing();
        let says = |text: &str| request.windows(text.len()).any(|part| part.eq_ignore_ascii_case(text.as_bytes()));
        let (what, _) = losing.take_if(|(_, text)| says(text))?;
        Some(what)
    }
}
