//! Another program adds columns while this one works, as the migration of a newer release does.

use std::convert::Infallible;
use std::time::Duration;

use tenure::clock::ManualClock;
use tenure::db::ConnectOptions;
use tenure::{Aggregate, Database, LockId, LockKey, LockManager, LockMode, Owner, Repository};
use testkit::Kind;
use tokio::task::JoinSet;

#[derive(Aggregate, Debug, Clone)]
#[aggregate(table = "orders", revisions = 2)]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

const OURS: [&str; 6] = [
    "tenure_lock",
    "tenure_lock_history",
    "tenure_lock_floor",
    "tenure_revision",
    "tenure_removed",
    "tenure_operation",
];

async fn by_hand(db: &Database, statement: String) {
    let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement));
    if let Ok(pool) = db.postgres() {
        statement.execute(pool).await.unwrap();
    } else if let Ok(pool) = db.mysql() {
        statement.execute(pool).await.unwrap();
    } else {
        let mut tx = db.begin().await.unwrap();
        statement.execute(tx.sqlite().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
    }
}

struct Work {
    orders: Repository<Order>,
    locks: LockManager,
    db: Database,
    clock: ManualClock,
}

impl Work {
    /// Everything that reads or writes our tables.
    async fn round(&self, no: &str) {
        let Work { orders, locks, db, clock } = self;
        let (kim, lee, no) = (Owner::new("kim", "Kim"), Owner::new("lee", "Lee"), no.to_owned());
        let key = LockKey::of::<Order>(&no);
        let mut tx = db.begin().await.unwrap();
        let order = Order { no: no.clone(), note: String::new() };
        orders.insert(&mut tx, order.clone()).await.unwrap();
        tx.commit().await.unwrap();
        let lease = locks.try_lock(&key, &kim).await.unwrap();
        assert!(locks.keep_alive(std::slice::from_ref(lease.id())).await.unwrap()[0].is_ok());
        locks.check_lock(lease.id()).await.unwrap();
        locks.extend_lock_expiration(lease.id(), Duration::from_secs(1)).await.unwrap();
        let noting = |order: &mut Order| {
            order.note += "!";
            Ok::<_, Infallible>(())
        };
        let saved = orders.update(&no).holding(lease.id()).run(noting).await.unwrap();
        locks.break_lock(&key, lease.holder().generation, &lee, "urgent").await.unwrap();
        locks.check_lock(lease.id()).await.unwrap_err();
        let taken = locks.try_lock(&key, &lee).await.unwrap();
        locks.expire_within(taken.id(), Duration::from_secs(1)).await.unwrap();
        clock.advance(Duration::from_secs(2));
        locks.resume(orders, &no, taken.id(), saved.version()).await.unwrap();
        orders.update(&no).releasing(taken.id()).run(noting).await.unwrap();
        // Together, so that they share round trips.
        let mut taking = JoinSet::new();
        for at in 0..20 {
            let (locks, key, kim) = (locks.clone(), LockKey::new("Order", format!("{no}/{at}")), kim.clone());
            taking.spawn(async move { locks.try_lock(&key, &kim).await.unwrap().id().clone() });
        }
        let ids = taking.join_all().await;
        assert!(locks.keep_alive(&ids).await.unwrap().iter().all(Result::is_ok));
        let mut releasing = JoinSet::new();
        for id in ids {
            let locks = locks.clone();
            releasing.spawn(async move { locks.release_lock(&id).await.unwrap() });
        }
        releasing.join_all().await;
        assert!(locks.holders(&key).await.unwrap().is_empty());
        locks.list().run().await.unwrap();
        assert_eq!(locks.history(&key).run().await.unwrap().items.len(), 2);
        assert_eq!(orders.changes(&no, 5).await.unwrap().len(), 2);
        orders.get_at(&no, saved.version()).await.unwrap().unwrap();
        let mut tx = db.begin().await.unwrap();
        tx.unless_locked(&key).await.unwrap();
        let loaded = orders.find(&mut tx, &no, LockMode::PessimisticWrite).await.unwrap().unwrap();
        orders.delete(&mut tx, loaded).await.unwrap();
        orders.insert(&mut tx, order).await.unwrap();
        tx.commit().await.unwrap();
        clock.advance(Duration::from_secs(40 * 24 * 3600));
        assert!(locks.sweep(Duration::from_secs(30 * 24 * 3600)).run().await.unwrap().keys > 0);
        db.forget_operations(Duration::from_secs(24 * 3600)).await.unwrap();
    }
}

async fn works_on_while_tables_widen(url: &str) {
    let clock = ManualClock::new();
    let options = || ConnectOptions::new().clock(clock.clone()).max_connections(2.try_into().unwrap());
    let db = Database::connect_with(url, options()).await.unwrap().resolving_commits();
    let table = "create table orders (no varchar(20) primary key, note varchar(20) not null, version bigint not null)";
    by_hand(&db, table.to_owned()).await;
    let work =
        Work { orders: Repository::new(&db), locks: LockManager::new(&db), db: db.clone(), clock: clock.clone() };
    let other = Database::connect_with(url, options()).await.unwrap();
    // Twice, so that statements are prepared and kept.
    work.round("before/1").await;
    work.round("before/2").await;
    let widen = async {
        for table in OURS.into_iter().chain(["orders"]) {
            by_hand(&other, format!("alter table {table} add column later text")).await;
        }
    };
    tokio::join!(work.round("during"), widen);
    work.round("after/1").await;
    work.round("after/2").await;
    other.close().await;
    db.close().await;
}

/// A statement of the application's own that reads all columns fails until it is prepared again, and nothing else does.
async fn own_statement_is_prepared_again(url: &str) {
    let options = || ConnectOptions::new().max_connections(1.try_into().unwrap());
    let db = Database::connect_with(url, options()).await.unwrap();
    let table = "create table orders (no varchar(20) primary key, note varchar(20) not null, version bigint not null)";
    by_hand(&db, table.to_owned()).await;
    let orders = Repository::<Order>::new(&db);
    let in_transaction = async |tx: &mut tenure::Transaction| -> Result<(), tenure::Error> {
        orders.insert(tx, Order { no: LockId::random().reveal()[..20].to_owned(), note: String::new() }).await?;
        let select = "select * from orders";
        if let Ok(connection) = tx.postgres() {
            sqlx::query(select).fetch_all(connection).await?;
        } else if let Ok(connection) = tx.mysql() {
            sqlx::query(select).fetch_all(connection).await?;
        } else {
            sqlx::query(select).fetch_all(tx.sqlite()?).await?;
        }
        Ok(())
    };
    let all = async || {
        let mut tx = db.begin().await.unwrap();
        in_transaction(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    };
    all().await;
    all().await;
    let other = Database::connect_with(url, options()).await.unwrap();
    for (column, dropped) in [("later", true), ("latest", false)] {
        by_hand(&other, format!("alter table orders add column {column} text")).await;
        let mut tx = db.begin().await.unwrap();
        let _refused_or_not = in_transaction(&mut tx).await;
        // An error of the rollback is one of a connection that is replaced.
        if dropped {
            drop(tx)
        } else {
            drop(tx.rollback().await)
        }
        for _ in 0..3 {
            all().await;
        }
    }
    other.close().await;
    db.close().await;
}

macro_rules! on_each {
    ($case:ident, $sqlite:ident, $postgres:ident, $mysql:ident) => {
        #[tokio::test(flavor = "multi_thread")]
        async fn $sqlite() {
            let directory = tempfile::tempdir().unwrap();
            $case(&format!("sqlite://{}/shop.db", directory.path().display())).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $postgres() {
            $case(&testkit::new_database(Kind::Postgres)).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $mysql() {
            $case(&testkit::new_database(Kind::MariaDb)).await;
        }
    };
}

on_each!(
    works_on_while_tables_widen,
    work_goes_on_while_tables_widen_on_sqlite,
    work_goes_on_while_tables_widen_on_postgres,
    work_goes_on_while_tables_widen_on_mysql
);
on_each!(
    own_statement_is_prepared_again,
    own_statement_on_a_wider_table_is_prepared_again_on_sqlite,
    own_statement_on_a_wider_table_is_prepared_again_on_postgres,
    own_statement_on_a_wider_table_is_prepared_again_on_mysql
);
