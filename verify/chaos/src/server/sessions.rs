//! The sessions of the clients, as an administrator sees and ends them.

use super::Server;
use crate::Result;

impl Server {
    /// Ends so many sessions of clients on a node, as an administrator does. How many there were: none if the server just recovers, because
    /// a full disk made it crash.
    pub(crate) fn end_sessions(&self, node: usize, most: u64) -> Result<u64> {
        if self.mysql(node).is_none() {
            let sql = format!(
                "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity where pid <> pg_backend_pid() \
                 and backend_type = 'client backend' order by random() limit {most}) as chosen"
            );
            return Ok(self.query(node, &sql).ok().and_then(|ended| ended.trim().parse().ok()).unwrap_or(0));
        }
        let list = match self {
            Server::Group { .. } => "performance_schema.processlist",
            _ => "information_schema.processlist",
        };
        let sql = format!(
            "select id from {list} where user in ('tenure', 'chaos') and id <> connection_id() order by rand() limit {most}"
        );
        let mut ended = 0;
        for id in self.query(node, &sql).unwrap_or_default().lines() {
            // One that has ended meanwhile is none that we ended.
            ended += u64::from(self.query(node, &format!("kill {id}")).is_ok());
        }
        Ok(ended)
    }

    /// How many transactions stand open.
    pub(crate) fn open_transactions(&self) -> Result<u64> {
        let mut open = 0;
        for node in 0..self.nodes() {
            let count = match self.mysql(node) {
                Some(_) => "select count(*) from information_schema.innodb_trx",
                None => {
                    "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and xact_start is not null \
                     and backend_type = 'client backend'"
                }
            };
            // A file has no sessions.
            open += self.query(node, count)?.trim().parse().unwrap_or(0);
        }
        Ok(open)
    }
}
