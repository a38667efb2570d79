//! What stands in front of a cluster: one address that leads to the host that accepts writes, as a proxy with a check of its hosts does. Where
//! connections lead elsewhere, those to the former host are cut: so it is fenced off.

use std::time::Duration;

use sqlx::{Connection, MySqlConnection, PgConnection};
use tokio::sync::watch;

use crate::backend::Backend;

/// The pause between two looks at the hosts.
const PAUSE: Duration = Duration::from_millis(200);

/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// The timeline of a primary, which rises with every promotion: a former primary that came back has a lower one.
const TIMELINE: &str = "select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint
                         where not pg_is_in_recovery()";

/// A node of Galera that is in the majority, from which this other one was excluded. One that is only silent for a moment still commits what
/// it was asked before: until it is excluded, it is a writer.
const SYNCED: &str = "select count(*) from information_schema.global_status
                       where variable_name = 'wsrep_ready' and variable_value = 'ON'
                          or variable_name = 'wsrep_incoming_addresses' and instr(variable_value, ?) = 0
                      having count(*) = 2";

/// What is the address of no host.
const NOBODY: &str = "nobody";

/// A primary of Group Replication that reaches a majority.
const PRIMARY: &str = "
    select count(*) from performance_schema.replication_group_members
    having max(member_id = @@server_uuid and member_role = 'PRIMARY' and member_state = 'ONLINE') = 1
       and 2 * sum(member_state in ('ONLINE', 'RECOVERING')) > count(*)";

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
    /// Begins to look at these hosts, by their URLs. A wrong one leads to the first host that accepts writes, also if it was replaced.
    pub(crate) fn start(backend: Backend, urls: Vec<String>, wrong: bool) -> Self {
        let chosen = watch::Sender::new(host(&urls[0]));
        let receiver = chosen.subscribe();
        tokio::spawn(async move {
            let (mut current, mut highest) = (0, 0);
            while !chosen.is_closed() {
                let mut ranks = Vec::with_capacity(urls.len());
                for (at, url) in urls.iter().enumerate() {
                    let former = if at == current { NOBODY.to_owned() } else { host(&urls[current]) };
                    ranks.push(rank(backend, url, &former).await);
                }
                let next = match wrong {
                    true => ranks.iter().position(Option::is_some),
                    false => choose(&ranks, current, &mut highest),
                };
                if let Some(next) = next {
                    current = next;
                    chosen.send_if_modified(|now| std::mem::replace(now, host(&urls[next])) != host(&urls[next]));
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

/// The host with the highest rank, unless a higher one was seen before; of several, the one in use.
fn choose(ranks: &[Option<i64>], current: usize, highest: &mut i64) -> Option<usize> {
    *highest = ranks.iter().flatten().copied().chain([*highest]).max().unwrap_or_default();
    let is_best = |at: &usize| ranks[*at] == Some(*highest);
    [current].into_iter().chain(0..ranks.len()).find(is_best)
}

/// The rank of a host that accepts writes, and of which the former one is no equal: the timeline on PostgreSQL, 0 on the others, where a
/// majority decides.
async fn rank(backend: Backend, url: &str, former: &str) -> Option<i64> {
    let asked = async {
        match backend.is_postgres() {
            true => {
                let mut connection = PgConnection::connect(url).await?;
                let rank = sqlx::query_scalar(TIMELINE).fetch_optional(&mut connection).await?;
                connection.close().await.map(|()| rank)
            }
            false => {
                let mut connection = MySqlConnection::connect(url).await?;
                let usable: Option<i64> = match backend {
                    Backend::Galera => sqlx::query_scalar(SYNCED).bind(former),
                    _ => sqlx::query_scalar(PRIMARY),
                }
                .fetch_optional(&mut connection)
                .await?;
                connection.close().await.map(|()| usable.map(|_| 0))
            }
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.ok()?.ok().flatten()
}

fn host(url: &str) -> String {
    let host = url.split_once('@').and_then(|(_, rest)| rest.split_once('/'));
    host.map_or_else(String::new, |(host, _)| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_primary_is_never_chosen_again() {
        let mut highest = 0;
        for (ranks, current, chosen) in [
            ([Some(1), None], 0, Some(0)),
            ([None, None], 0, None),
            ([Some(1), Some(2)], 0, Some(1)),
            ([Some(1), None], 1, None),
            ([Some(2), Some(2)], 1, Some(1)),
        ] {
            assert_eq!(choose(&ranks, current, &mut highest), chosen, "{ranks:?}");
        }
    }
}
