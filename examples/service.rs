//! The connections of a service: the driver's options with a password out of a secret store, statements of its own on each connection, a
//! password that rotates, and metrics of its locks.
//!
//! ```text
//! cargo run --example service --features opentelemetry,postgres -- postgres://user@localhost/test
//! ```
//!
//! With the address of PostgreSQL, of a user that may create roles, the service is the role `example_service`, which is made, and dropped at
//! the end. Without an address it runs on a temporary SQLite file, which has neither passwords nor sessions: only the driver's options and
//! the metrics.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;

use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use tenure::sqlx::postgres::PgConnectOptions;
use tenure::sqlx::sqlite::SqliteConnectOptions;
use tenure::{Database, LockKey, LockManager, Owner, db::ConnectOptions, sqlx};

/// What one service does with its database: the clerk locks an invoice, and a second request is refused.
async fn work(db: &Database) -> Result<(), Box<dyn Error>> {
    let locks = LockManager::new(db);
    let (key, kim) = (LockKey::new("Invoice", "2026-17"), Owner::new("kim", "Kim Minji"));
    let lease = locks.try_lock(&key, &kim).await?;
    assert!(locks.try_lock(&key, &Owner::new("lee", "Lee Junho")).await.is_err());
    locks.release_lock(lease.id()).await?;
    Ok(())
}

/// On PostgreSQL. A role of its own has a password that rotates, and works in the rights of another role.
async fn on_postgres(url: &str, metered: ConnectOptions) -> Result<(), Box<dyn Error>> {
    let admin = Database::connect(url).await?; // creates tenure's tables
    let first = "drop role if exists example_service; create role example_service login password 'first'; \
                 grant pg_read_all_data, pg_write_all_data to example_service";
    sqlx::raw_sql(first).execute(admin.postgres()?).await?;

    let driver = url.parse::<PgConnectOptions>()?.username("example_service").password("first");
    let options = metered.after_connect("set application_name = 'invoices'; set statement_timeout = '30s'");
    let db = Database::connect_driver(driver, options).await?;
    work(&db).await?;
    let mut tx = db.begin().await?;
    let name: String = sqlx::query_scalar("show application_name").fetch_one(tx.postgres()?).await?;
    assert_eq!(name, "invoices");
    tx.commit().await?;

    // A task of the service does this with each new password, before the old one stops. Open connections stay.
    sqlx::raw_sql("alter role example_service password 'second'").execute(admin.postgres()?).await?;
    db.set_password("second")?;
    let both = (db.begin().await?, db.begin().await?); // of two connections one is new
    work(&db).await?;
    drop(both);
    println!("locked with the first password, and with the second");
    db.close().await;
    sqlx::raw_sql("drop owned by example_service; drop role example_service").execute(admin.postgres()?).await?;
    Ok(())
}

/// On SQLite. Pragmas are options of the driver.
async fn on_sqlite(metered: ConnectOptions) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let driver = SqliteConnectOptions::new().filename(directory.path().join("shop.db")).pragma("cache_size", "-7000");
    let db = Database::connect_driver(driver, metered).await?;
    work(&db).await?;
    let cache: i64 = sqlx::query_scalar("select * from pragma_cache_size").fetch_one(db.sqlite()?).await?;
    assert_eq!(cache, -7000);
    Ok(())
}

pub async fn run(url: Option<&str>) -> Result<(), Box<dyn Error>> {
    // A service sends them to its collector; this reader keeps them.
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    let metered = ConnectOptions::new().meter(provider.meter("invoices"));
    match url {
        Some(url) => on_postgres(url, metered).await?,
        None => on_sqlite(metered).await?,
    }
    provider.force_flush()?;
    let measured = exporter.get_finished_metrics()?;
    let metrics = measured.iter().flat_map(|all| all.scope_metrics()).flat_map(|scope| scope.metrics());
    let names: Vec<_> = metrics.map(|metric| metric.name().to_owned()).collect();
    println!("measured: {}", names.join(", "));
    assert!(names.iter().any(|name| name == "tenure.lock.refused"), "{names:?}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    run(std::env::args().nth(1).filter(|address| address.contains("://")).as_deref()).await
}
