//! The context of a case: a database, its clock, random keys.

use std::time::Duration;

use tenure::{
    Database, LockId, LockKey, LockManager, LockMode, LockPolicy, Owner, Repository, Version,
    clock::ManualClock,
    db::{ConnectOptions, Granularity},
};

use super::order::{Counter, Note, Order};

pub const MINUTE: Duration = Duration::from_secs(60);
/// The default time to live.
pub const TTL: Duration = Duration::from_secs(300);

/// Far longer than any case takes on a busy machine: a case that hangs fails with its name.
const LONGEST_CASE: Duration = Duration::from_secs(180);

/// Runs a case; fails if it does not end.
pub async fn within_limit(case: impl Future<Output = ()>) {
    tokio::time::timeout(LONGEST_CASE, case).await.expect("the case ends within three minutes");
}

pub struct TestDb {
    pub db: Database,
    pub clock: ManualClock,
    url: String,
    pub locks: LockManager,
    pub orders: Repository<Order>,
    pub counters: Repository<Counter>,
    pub notes: Repository<Note>,
    /// Values that must live as long as the database: a directory, a server.
    _keep: Box<dyn std::any::Any + Send + Sync>,
}

/// The options of every process: the suite also runs on one node of a cluster whose other nodes accept writes. The declaration changes nothing
/// on other databases.
pub fn options() -> ConnectOptions {
    ConnectOptions::new().one_writer_node()
}

impl TestDb {
    pub fn new(db: Database, url: String, clock: ManualClock, keep: impl std::any::Any + Send + Sync) -> Self {
        TestDb {
            locks: LockManager::new(&db).with_policy("Note", LockPolicy::advisory()),
            orders: Repository::new(&db),
            counters: Repository::new(&db),
            notes: Repository::new(&db),
            db,
            url,
            clock,
            _keep: Box::new(keep),
        }
    }

    /// The same database in another process: with separate connections.
    pub async fn another_process(&self) -> Database {
        Database::connect_with(&self.url, options().clock(self.clock.clone())).await.unwrap()
    }

    /// The same, with this maximum of connections for transactions and loads.
    pub async fn another_process_with(&self, connections: u32) -> Database {
        let options = self::options().max_connections(connections.try_into().unwrap());
        Database::connect_with(&self.url, options.clock(self.clock.clone())).await.unwrap()
    }

    /// The same, with this idle limit of transactions.
    pub async fn another_process_with_idle_limit(&self, limit: Duration) -> Database {
        let options = self::options().idle_in_transaction(limit);
        Database::connect_with(&self.url, options.clock(self.clock.clone())).await.unwrap()
    }

    /// The same, by the database's own clock, and for a program whose connections use another time zone. (On PostgreSQL
    /// the driver sets its own, UTC.)
    pub async fn another_process_by_the_real_clock_in(&self, zone: &str) -> Database {
        let with = if self.url.contains('?') { '&' } else { '?' };
        match self.url.starts_with("mysql") {
            true => {
                let url = format!("{}{with}timezone={}", self.url, zone.replace('+', "%2B"));
                Database::connect_with(&url, options()).await.unwrap()
            }
            false => Database::connect_with(&self.url, options()).await.unwrap(),
        }
    }

    /// The address of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether there is one writer at a time in the whole database.
    pub fn has_one_writer(&self) -> bool {
        self.db.capabilities().granularity == Granularity::Database
    }

    /// Runs a manual statement, without the library; returns the number of changed rows.
    pub async fn by_hand(&self, statement: String) -> Result<u64, sqlx::Error> {
        let mut tx = self.db.begin().await.unwrap();
        let changed = self.by_hand_in(&mut tx, statement).await?;
        tx.commit().await.unwrap();
        Ok(changed)
    }

    /// As [`by_hand`](Self::by_hand), in an open transaction.
    pub async fn by_hand_in(&self, tx: &mut tenure::Transaction, statement: String) -> Result<u64, sqlx::Error> {
        let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement));
        Ok(match self.url.split(':').next() {
            #[cfg(feature = "postgres")]
            Some("postgres") => statement.execute(tx.postgres().unwrap()).await?.rows_affected(),
            #[cfg(feature = "mysql")]
            Some("mysql") => statement.execute(tx.mysql().unwrap()).await?.rows_affected(),
            #[cfg(feature = "sqlite")]
            Some("sqlite") => statement.execute(tx.sqlite().unwrap()).await?.rows_affected(),
            _ => panic!("this build does not know {}", self.url),
        })
    }

    /// As [`by_hand_in`](Self::by_hand_in), prepared; returns the number of rows.
    pub async fn prepared_in(&self, tx: &mut tenure::Transaction, statement: String) -> Result<usize, sqlx::Error> {
        let text = sqlx::AssertSqlSafe(statement);
        Ok(match self.url.split(':').next() {
            #[cfg(feature = "postgres")]
            Some("postgres") => sqlx::query(text).fetch_all(tx.postgres().unwrap()).await?.len(),
            #[cfg(feature = "mysql")]
            Some("mysql") => sqlx::query(text).fetch_all(tx.mysql().unwrap()).await?.len(),
            #[cfg(feature = "sqlite")]
            Some("sqlite") => sqlx::query(text).fetch_all(tx.sqlite().unwrap()).await?.len(),
            _ => panic!("this build does not know {}", self.url),
        })
    }

    /// As [`by_hand_in`](Self::by_hand_in), for a query of one column of texts.
    pub async fn texts_in(&self, tx: &mut tenure::Transaction, query: &str) -> Result<Vec<String>, sqlx::Error> {
        let text = sqlx::AssertSqlSafe(query.to_owned());
        match self.url.split(':').next() {
            #[cfg(feature = "postgres")]
            Some("postgres") => sqlx::query_scalar(text).fetch_all(tx.postgres().unwrap()).await,
            #[cfg(feature = "mysql")]
            Some("mysql") => sqlx::query_scalar(text).fetch_all(tx.mysql().unwrap()).await,
            #[cfg(feature = "sqlite")]
            Some("sqlite") => sqlx::query_scalar(text).fetch_all(tx.sqlite().unwrap()).await,
            _ => panic!("this build does not know {}", self.url),
        }
    }

    /// Whether the next statement after a transaction implicitly begins another one.
    pub fn begins_by_itself(&self) -> bool {
        self.url.starts_with("mysql")
    }

    /// Inserts an order under a random number.
    pub async fn order(&self) -> String {
        let no = random();
        let mut tx = self.db.begin().await.unwrap();
        tx.by(&kim()).command("place order");
        self.orders.insert(&mut tx, Order::new(&no)).await.unwrap();
        tx.commit().await.unwrap();
        no
    }

    /// Inserts a counter under a random name.
    pub async fn counter(&self, count: i64) -> String {
        let name = random();
        let mut tx = self.db.begin().await.unwrap();
        self.counters.insert(&mut tx, Counter { name: name.clone(), count }).await.unwrap();
        tx.commit().await.unwrap();
        name
    }

    /// Inserts a note on a board.
    pub async fn note(&self, board: &str, text: &str) -> String {
        let id = random();
        let mut tx = self.db.begin().await.unwrap();
        let note = Note { id: id.clone(), board: board.into(), text: text.into(), pinned: None };
        self.notes.insert(&mut tx, note).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// The stored order.
    pub async fn stored(&self, no: &str) -> (Order, Version) {
        let order = self.orders.get(&no.to_owned()).await.unwrap().unwrap();
        (Order::clone(&order), order.version())
    }

    /// Loads for update inside a transaction.
    pub async fn find(&self, tx: &mut tenure::Transaction, no: &str) -> tenure::Loaded<Order> {
        self.orders.find(tx, &no.to_owned(), LockMode::Optimistic).await.unwrap().unwrap()
    }
}

pub fn random() -> String {
    LockId::random().reveal()[48..].to_owned()
}

/// A key of a type with the default policy.
pub fn key() -> LockKey {
    LockKey::new("Order", random())
}

pub fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

pub fn lee() -> Owner {
    Owner::new("lee", "Lee Junho")
}

pub fn version(number: i64) -> Version {
    Version::new(number).unwrap()
}
