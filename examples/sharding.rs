//! Leases over several databases: the lease of an aggregate is in the database of the aggregate.
//!
//! ```text
//! cargo run --example sharding
//! cargo run --release --example sharding -- 1000000
//! ```
//!
//! A person locks two orders that are in different databases. Then it prints how evenly keys are distributed over 4 and 16 databases, and how
//! many move when one is added: the number is the number of keys.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;

use sha2::{Digest, Sha256};
use tenure::{Database, LockKey, LockManager, Owner, error::LockError};

/// Rendezvous hashing (Thaler and Ravishankar, 1998): each database gets a score for the key, and the highest one has it. An added database
/// only takes keys, none of the others gives a key to another.
fn home(key: &LockKey, databases: usize) -> usize {
    let score = |database: usize| {
        let hash = Sha256::new().chain_update(database.to_be_bytes()).chain_update(key.kind()).chain_update([0]);
        hash.chain_update(key.id()).finalize()
    };
    (0..databases).max_by_key(|database| score(*database)).unwrap_or(0)
}

struct Shards(Vec<LockManager>);

impl Shards {
    fn of(&self, key: &LockKey) -> &LockManager {
        &self.0[home(key, self.0.len())]
    }
}

#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut shards = Shards(Vec::new());
    for number in 0..4 {
        let url = format!("sqlite://{}/{number}.db", directory.path().display());
        shards.0.push(LockManager::new(&Database::connect(&url).await?));
    }

    let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
    let keys = [LockKey::new("Order", "17"), LockKey::new("Order", "18")];
    assert_ne!(home(&keys[0], 4), home(&keys[1], 4));
    let mut leases = Vec::new();
    for key in &keys {
        leases.push(shards.of(key).try_lock(key, &kim).await?);
    }
    let refused = shards.of(&keys[1]).try_lock(&keys[1], &lee).await;
    assert!(matches!(refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim));
    // Several databases have no common transaction: each lease is released by itself, and so is each if a later one is refused.
    for (key, lease) in keys.iter().zip(&leases) {
        shards.of(key).release_lock(lease.id()).await?;
    }

    let count: u32 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(10_000);
    for databases in [4, 16] {
        let (mut held, mut moved) = (vec![0_u32; databases], 0_u32);
        for number in 0..count {
            let key = LockKey::new("Order", number.to_string());
            let now = home(&key, databases);
            held[now] += 1;
            moved += u32::from(home(&key, databases + 1) != now);
        }
        let even = f64::from(count) / databases as f64;
        let most = held.iter().max().copied().unwrap_or(0);
        println!(
            "{count} keys in {databases} databases: the fullest has {:.3} of an even share; one more database takes {:.2} %",
            f64::from(most) / even,
            100.0 * f64::from(moved) / f64::from(count)
        );
    }
    Ok(())
}
