//! What stands in front of a cluster for clients that know one address: it leads them to the first host of its list that accepts writes, and
//! knows nothing of epochs. So a former primary that comes back is used again.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::sync::watch;

/// The pause between two looks at the hosts.
const PAUSE: Duration = Duration::from_millis(200);

/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where connections lead to.
#[derive(Debug, Clone)]
pub(crate) enum Router {
    /// To one server, by its host and port.
    One(String),
    /// To the server that the router has chosen last.
    Chosen(watch::Receiver<String>),
}

impl From<String> for Router {
    fn from(server: String) -> Self {
        Router::One(server)
    }
}

impl Router {
    /// Begins to look at these hosts of PostgreSQL, by their URLs.
    pub(crate) fn start(urls: Vec<String>) -> Self {
        let chosen = watch::Sender::new(host(&urls[0]));
        let receiver = chosen.subscribe();
        tokio::spawn(async move {
            while !chosen.is_closed() {
                if let Some(first) = first(&urls).await {
                    chosen.send_if_modified(|now| std::mem::replace(now, first.clone()) != first);
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        Router::Chosen(receiver)
    }

    /// The host and port for a new connection.
    pub(crate) fn host(&self) -> String {
        match self {
            Router::One(host) => host.clone(),
            Router::Chosen(chosen) => chosen.borrow().clone(),
        }
    }

    /// Waits until connections to this host lead elsewhere.
    pub(crate) async fn left(&mut self, host: &str) {
        match self {
            Router::Chosen(chosen) => drop(chosen.wait_for(|now| now != host).await),
            Router::One(_) => std::future::pending().await,
        }
    }
}

/// The first host that accepts writes.
async fn first(urls: &[String]) -> Option<String> {
    for url in urls {
        if matches!(tokio::time::timeout(PATIENCE, is_primary(url)).await, Ok(Ok(true))) {
            return Some(host(url));
        }
    }
    None
}

async fn is_primary(url: &str) -> Result<bool, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    let primary = sqlx::query_scalar("select not pg_is_in_recovery()").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(primary)
}

fn host(url: &str) -> String {
    let host = url.split_once('@').and_then(|(_, rest)| rest.split_once('/'));
    host.map_or_else(String::new, |(host, _)| host.to_owned())
}
