//! Accepts connections: a limited number, each for a limited time, with a time limit for the shutdown.
//!
//! `axum::serve` has neither a timeout for the head of a request nor a limit for its graceful shutdown; `axum-server` has no
//! limit on connections. So this is the loop of hyper's own examples; axum is based on hyper.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower_service::Service;

use crate::open::sweep;
use crate::settings::Settings;
use crate::use_cases::Shop;
use crate::web::app;

/// The interval of sweeps. There is one at startup as well.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(60 * 60);

/// How long closing the database may take, after the responses in flight.
const TO_CLOSE: Duration = Duration::from_secs(3);

/// The client's address of a request's connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Serves the shop until `shutdown` resolves. Requests in flight are then finished, within
/// [`Times::drain`](crate::Times); after that every connection is closed.
///
/// # Errors
/// [`io::Error`] if the listener has no address.
pub async fn serve(
    listener: TcpListener,
    shop: Shop,
    settings: Settings,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    listener.local_addr()?;
    let (app, settings) = (app(shop.clone(), settings.clone()), Arc::new(settings));
    let places = Arc::new(Semaphore::new(settings.connections));
    let (end, ending) = watch::channel(());
    let mut open = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let mut sweeping = pin!(sweep_now_and_then(&shop));
    loop {
        // A connection beyond the limit waits in the queue of the operating system, and costs nothing here.
        let place = async { places.clone().acquire_owned().await.ok() };
        let arrived = async {
            let place = place.await;
            (place, accepted(&listener).await)
        };
        tokio::select! {
            () = &mut shutdown => break,
            () = &mut sweeping => {}
            Some(_) = open.join_next() => {}
            (place, (stream, peer)) = arrived => {
                let connection = serve_one(stream, peer, app.clone(), settings.clone(), ending.clone());
                open.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
        }
    }
    // No further connections are accepted.
    drop(listener);
    drop(end);
    let ended = async { while open.join_next().await.is_some() {} };
    if timeout(settings.times.drain, ended).await.is_err() {
        tracing::warn!("connections that did not end in time are closed");
    }
    open.shutdown().await;
    if timeout(TO_CLOSE, shop.db.close()).await.is_err() {
        tracing::warn!("the database could not be closed in time");
    }
    Ok(())
}

/// A connection, until it ends by itself, reaches its maximum duration, or the shop shuts down.
async fn serve_one(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    settings: Arc<Settings>,
    mut ending: watch::Receiver<()>,
) {
    let times = settings.times;
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer.ip()));
        app.clone().call(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(times.head);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ending.changed() => {}
        () = sleep(times.connection) => {}
    }
    connection.as_mut().graceful_shutdown();
    // Also a client that does not read the response gets no more time.
    let _ = timeout(times.answer + times.body, connection).await;
}

/// The next connection. A temporary failure (too many open files) does not end the loop.
async fn accepted(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection could be accepted");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Never ends by itself.
async fn sweep_now_and_then(shop: &Shop) {
    loop {
        sleep(BETWEEN_SWEEPS).await;
        if let Err(error) = sweep(shop).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "old rows could not be deleted; they stay a while"
            );
        }
    }
}
