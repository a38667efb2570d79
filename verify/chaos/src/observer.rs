//! A session on a node that only applies what others write. Which of two transactions came first is judged by what that node shows: a lease,
//! and the writes under earlier leases of its key that were there at that moment.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::{Connection, MySqlConnection};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Result;
use crate::clock::now_ns;
use crate::evidence::Shown;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// How long one look may take: the node may stand still.
const PATIENCE: Duration = Duration::from_secs(5);

const SNAPSHOT: &str = "set session transaction isolation level repeatable read";

const BEGIN: &str = "start transaction with consistent snapshot";

/// Keys that many request.
const LEASES: &str =
    "select convert(id using utf8mb4), generation from tenure_lock where kind = 'Ledger' and id like '%-hot%'";

const WRITES: &str = "select ledger, generation, count(*) from chaos_audit
                       where generation is not null and ledger like '%-hot%' group by ledger, generation";

/// A running observer.
#[derive(Debug)]
pub(crate) struct Observer {
    stop: watch::Sender<bool>,
    task: JoinHandle<Vec<Shown>>,
}

impl Observer {
    /// Begins to look.
    pub(crate) fn start(url: String) -> Self {
        let stop = watch::Sender::new(false);
        let mut stopped = stop.subscribe();
        let task = tokio::spawn(async move {
            let mut shown = HashMap::new();
            tokio::select! {
                () = look(&url, &mut shown) => {}
                _ = stopped.changed() => {}
            }
            shown.into_values().collect()
        });
        Observer { stop, task }
    }

    /// Ends it; what it has seen.
    pub(crate) async fn end(self) -> Result<Vec<Shown>> {
        self.stop.send_replace(true);
        Ok(self.task.await?)
    }
}

/// Looks for ever. A node that is away is asked again.
async fn look(url: &str, shown: &mut HashMap<(String, i64), Shown>) {
    loop {
        if let Ok(mut connection) = MySqlConnection::connect(url).await {
            let _ = sqlx::raw_sql(SNAPSHOT).execute(&mut connection).await;
            while let Ok(Ok(leases)) = tokio::time::timeout(PATIENCE, one_look(&mut connection)).await {
                for lease in leases {
                    shown.entry((lease.key.clone(), lease.generation)).or_insert(lease);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn one_look(connection: &mut MySqlConnection) -> std::result::Result<Vec<Shown>, sqlx::Error> {
    sqlx::raw_sql(BEGIN).execute(&mut *connection).await?;
    let leases: Vec<(String, i64)> = sqlx::query_as(LEASES).fetch_all(&mut *connection).await?;
    let writes: Vec<(String, i64, i64)> = sqlx::query_as(WRITES).fetch_all(&mut *connection).await?;
    sqlx::raw_sql("rollback").execute(&mut *connection).await?;
    let at_ns = now_ns();
    let shown = |(key, generation): (String, i64)| {
        let earlier = writes.iter().filter(|(ledger, under, _)| *ledger == key && *under < generation);
        let earlier_writes = earlier.map(|(_, _, count)| count).sum();
        Shown { key, generation, earlier_writes, at_ns }
    };
    Ok(leases.into_iter().map(shown).collect())
}
