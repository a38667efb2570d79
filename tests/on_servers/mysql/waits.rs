//! A request that the server delays is judged by the time after the delay. The delay is made by an administrator who locks the table.

use std::time::{Duration, SystemTime};

use sqlx::{Connection, MySqlConnection};
use tenure::{Database, Lease, LockKey, LockManager, Owner};
use testkit::{DATABASE, MariaDb};

struct Delayed {
    _server: MariaDb,
    locks: LockManager,
    administrator: MySqlConnection,
    observer: MySqlConnection,
    /// Counts the statements that wait for the table.
    waiting: &'static str,
}

async fn millis(connection: &mut MySqlConnection) -> i64 {
    let clock = "select cast(unix_timestamp(sysdate(6)) * 1000 as signed)";
    sqlx::query_scalar(clock).fetch_one(connection).await.unwrap()
}

impl Delayed {
    async fn new() -> Self {
        let server = MariaDb::start().unwrap();
        let url = server.url(DATABASE);
        let locks = LockManager::new(&Database::connect(&url).await.unwrap());
        let connect = async || MySqlConnection::connect(&url).await.unwrap();
        let (administrator, mut observer) = (connect().await, connect().await);
        let version: String = sqlx::query_scalar("select version()").fetch_one(&mut observer).await.unwrap();
        // MySQL's process list fails on a statement with binary values.
        let waiting = match version.contains("MariaDB") {
            true => "select count(*) from information_schema.processlist where state like '%table metadata lock%'",
            false => {
                "select count(*) from performance_schema.threads where processlist_state like '%table metadata lock%'"
            }
        };
        Delayed { administrator, observer, waiting, locks, _server: server }
    }

    /// Sends it while the table is locked; the time of the server at the end of the delay, and the answer.
    async fn delays<T>(&mut self, request: impl Future<Output = T>) -> (SystemTime, T) {
        sqlx::raw_sql("lock tables tenure_lock write").execute(&mut self.administrator).await.unwrap();
        let delay = async {
            while sqlx::query_scalar::<_, i64>(self.waiting).fetch_one(&mut self.observer).await.unwrap() == 0 {}
            let begun = millis(&mut self.observer).await;
            let mut now = begun;
            while now < begun + 100 {
                now = millis(&mut self.observer).await;
            }
            sqlx::raw_sql("unlock tables").execute(&mut self.administrator).await.unwrap();
            SystemTime::UNIX_EPOCH + Duration::from_millis(now.try_into().unwrap())
        };
        let (answer, end) = tokio::join!(request, delay);
        (end, answer)
    }

    async fn try_lock(&self, key: &LockKey) -> Lease {
        self.locks.try_lock(key, &Owner::new("kim", "Kim")).await.unwrap()
    }
}

#[tokio::test]
async fn lease_begins_after_the_delay_of_its_request() {
    let mut server = Delayed::new().await;
    let (locks, key) = (server.locks.clone(), LockKey::new("Order", "1"));
    let kim = Owner::new("kim", "Kim");
    // The row is new; then it is that of a released lease.
    for generation in [1, 2] {
        let (end, lease) = server.delays(locks.try_lock(&key, &kim)).await;
        let lease = lease.unwrap();
        assert_eq!(lease.holder().generation, generation);
        assert!(lease.holder().since >= end, "{:?} before {end:?}", lease.holder().since);
        locks.release_lock(lease.id()).await.unwrap();
    }
}

#[tokio::test]
async fn heartbeat_is_judged_after_its_delay() {
    let mut server = Delayed::new().await;
    let locks = server.locks.clone();
    let lease = server.try_lock(&LockKey::new("Order", "1")).await;
    let ids = [lease.id().clone()];
    let (end, kept) = server.delays(locks.keep_alive(&ids)).await;
    let kept = kept.unwrap().remove(0).unwrap();
    assert!(kept.holder().last_active >= end, "{:?} before {end:?}", kept.holder().last_active);
    // It had expired when the delay ended.
    locks.expire_within(lease.id(), Duration::from_millis(50)).await.unwrap();
    let (_, ended) = server.delays(locks.keep_alive(&ids)).await;
    assert!(ended.unwrap().remove(0).is_err());
}
