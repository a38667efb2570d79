//! How long one waiter waits behind callers that acquire and release the same key in a loop. There is no order among callers, so a wait has
//! a deadline and no bound.
//!
//! ```text
//! cargo run --example waiting -- 8 20
//! ```
//!
//! The numbers are those of the callers and of the waits. Each caller holds the lock for 10 ms and requests it again at once.
//!
//! `docs/locks.md` has the figures of one run.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;
use std::time::{Duration, Instant};

use tenure::error::LockError;
use tenure::{Database, LockKey, LockManager, Owner};
use tokio::task::JoinSet;

const WORK: Duration = Duration::from_millis(10);
const DEADLINE: Duration = Duration::from_secs(30);

/// Acquires and releases the key until it is dropped.
async fn call(locks: LockManager, key: LockKey, caller: Owner) -> Result<(), LockError> {
    loop {
        match locks.try_lock(&key, &caller).await {
            Ok(lease) => {
                tokio::time::sleep(WORK).await;
                locks.release_lock(lease.id()).await.expect("nobody else ends it");
            }
            Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => tokio::task::yield_now().await,
            Err(error) => return Err(error),
        }
    }
}

#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|number| number.parse().ok()).collect();
    let &[callers, waits] = &numbers[..] else { return measure(1, 1).await };
    measure(callers, waits).await
}

async fn measure(callers: usize, waits: usize) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    let (locks, key, waiter) = (LockManager::new(&db), LockKey::new("Order", "1"), Owner::new("waiter", "The waiter"));
    let mut calling = JoinSet::new();
    for number in 0..callers {
        let caller = Owner::new(format!("caller {number}"), "A caller");
        calling.spawn(call(locks.clone(), key.clone(), caller));
    }
    let (mut waited, mut late) = (Vec::new(), 0);
    for _ in 0..waits {
        let begun = Instant::now();
        match locks.lock(&key, &waiter).within(DEADLINE).await {
            Ok(lease) => {
                waited.push(begun.elapsed());
                locks.release_lock(lease.id()).await?;
            }
            Err(LockError::LockTimeout { .. }) => late += 1,
            Err(error) => return Err(error.into()),
        }
    }
    waited.sort();
    println!("{waits} waits behind {callers} callers, {late} of them beyond {DEADLINE:?}");
    if let (Some(median), Some(longest)) = (waited.get(waited.len() / 2), waited.last()) {
        println!("the others: median {median:.1?}, longest {longest:.1?}");
    }
    Ok(())
}
