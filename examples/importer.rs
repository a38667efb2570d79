//! A nightly import that holds a lease while it runs, so that two of them never run at once, and people who open the catalogue see the
//! importer's name.
//!
//! ```text
//! cargo run --example importer
//! ```
//!
//! Look at these lines of its output:
//!
//! 1. The second importer is refused, with the name of the importer.
//! 2. An operator breaks the lease. The importer stops with the operator's reason, in the middle of its work.
//! 3. The next importer waits for its turn, continues from the stored state, and finishes.
//!
//! `docs/locks.md` has the page about jobs.

#![allow(missing_docs, reason = "an example")]

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use tenure::error::{LockError, UpdateError};
use tenure::lock_manager::LeaseGuard;
use tenure::{Aggregate, Database, LockKey, LockManager, LockPolicy, Owner, Repository, sqlx};

#[derive(Aggregate, Debug)]
#[aggregate(table = "catalogue")]
struct Catalogue {
    #[aggregate(id)]
    season: String,
    products: i64,
}

/// The number of products in the file.
const FILE: i64 = 12;

/// Imports product by product, from the last stored one.
async fn import(
    catalogues: &Repository<Catalogue>,
    guard: &LeaseGuard,
    importer: &Owner,
) -> Result<(), UpdateError<Infallible>> {
    loop {
        // The fence: the save checks the lease in its own transaction, independent of the state of this process.
        let save = catalogues.update(&"spring".to_owned()).by(importer).command("import").holding(guard.lock_id());
        let saved = save.run(|catalogue| {
            catalogue.products += 1;
            Ok(())
        });
        if saved.await?.products >= FILE {
            return Ok(());
        }
        // A slow file.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/catalogue.db", directory.path().display())).await?;
    let catalogues = Repository::<Catalogue>::new(&db);
    let mut tx = db.begin().await?;
    let table = "create table catalogue (season text primary key, products integer not null, version integer not null)";
    sqlx::raw_sql(table).execute(tx.sqlite()?).await?;
    catalogues.insert(&mut tx, Catalogue { season: "spring".into(), products: 0 }).await?;
    tx.commit().await?;

    // Short, because after a crash the next importer waits that long.
    let policy = LockPolicy::exclusive().ttl(Duration::from_secs(3))?;
    let locks = LockManager::new(&db).with_policy("Catalogue", policy);
    let spring = LockKey::of::<Catalogue>(&"spring".to_owned());
    let (first, second) = (Owner::new("import-1", "Import on host 1"), Owner::new("import-2", "Import on host 2"));

    let guard = locks.hold(&spring, &first).await?;
    println!("{} holds {}", guard.holder().owner, guard.key());
    match locks.hold(&spring, &second).await {
        Err(LockError::AlreadyLocked(holder)) => println!("{second} is refused: {} holds it", holder.owner),
        other => panic!("two importers at once: {other:?}"),
    }

    let operator = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let kim = Owner::new("kim", "Kim Minji");
        locks.break_lock(&spring, guard.holder().generation, &kim, "the prices in that file are wrong").await
    };
    let (imported, broken) = tokio::join!(guard.run(import(&catalogues, &guard, &first)), operator);
    broken?;
    match imported {
        // The guard's heartbeat or the save itself, the first to check.
        Err(lost) => println!("{first} stops: {lost}"),
        Ok(Err(refused)) => println!("{first} stops, its save was refused: {refused}"),
        Ok(Ok(())) => panic!("it continued without its lease"),
    }
    drop(guard);

    let guard = locks.hold(&spring, &second).within(Duration::from_secs(10)).await?;
    let stored = catalogues.get(&"spring".to_owned()).await?.expect("it was inserted");
    println!("{second} goes on after product {}", stored.products);
    guard.run(import(&catalogues, &guard, &second)).await??;
    guard.release().await?;
    let stored = catalogues.get(&"spring".to_owned()).await?.expect("it was inserted");
    println!("{} products, version {}", stored.products, stored.version());
    Ok(())
}
