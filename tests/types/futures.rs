//! Every future of the public interface is `Send` and small: compiling is the test, and no public function is missing here.

use std::convert::Infallible;
use std::future::IntoFuture;
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use tenure::{
    Aggregate, Database, Loaded, LockId, LockKey, LockManager, LockMode, Owner, Repository, Transaction, Version,
    VersionToken, Wait,
    db::ConnectOptions,
    error::DatabaseError,
    lock_manager::LeaseGuard,
    unit_of_work::{LockSet, Retry},
    version::Merge,
};

#[derive(Aggregate, Debug)]
#[aggregate(table = "counter", revisions = 3)]
struct Counter {
    #[aggregate(id)]
    name: String,
    count: i64,
}

/// Bytes.
const LARGEST: usize = 12 * 1024;

fn spawned<F: Future + Send>(_future: F)
where
    F::Output: Send,
{
    const {
        assert!(size_of::<F>() <= LARGEST, "callers copy futures, several times without optimisation");
    }
}

fn up(counter: &mut Counter) -> Result<(), Infallible> {
    counter.count += 1;
    Ok(())
}

fn locks(locks: &LockManager, id: &LockId, key: &LockKey, owner: &Owner, guard: LeaseGuard, tx: &mut Transaction) {
    let soon = Duration::from_secs(1);
    spawned(locks.try_lock(key, owner));
    spawned(locks.try_lock_as(key, owner, id.clone()));
    spawned(locks.lock(key, owner).within(soon).into_future());
    spawned(locks.hold(key, owner).within(soon).into_future());
    spawned(guard.lost());
    spawned(guard.run(async {}));
    spawned(guard.release());
    spawned(tx.unless_locked(key));
    spawned(tx.unless_locked_except(key, 1));
    spawned(tx.holding(key, id));
    spawned(tx.releasing(key, id));
    spawned(tx.from_form(key, Some(id)));
    spawned(locks.check_lock(id));
    spawned(locks.release_lock(id));
    spawned(locks.release_within(tx, id));
    spawned(locks.guard(tx, id));
    spawned(locks.break_lock(key, 1, owner, ""));
    spawned(locks.take_over(key, 1, owner, id.clone(), ""));
    spawned(locks.release_all(""));
    spawned(locks.holders(key));
    spawned(locks.extend_lock_expiration(id, soon));
    spawned(locks.keep_alive(&[]));
    spawned(locks.keep_alive_with(&[]));
    spawned(locks.expire_within(id, soon));
    spawned(locks.held_by_type());
    #[cfg(feature = "opentelemetry")]
    spawned(locks.observe(soon));
    spawned(locks.sweep(soon).run());
    spawned(locks.list().run());
    spawned(locks.history(key).run());
}

fn repositories(
    counters: &Repository<Counter>,
    tx: &mut Transaction,
    locks: &LockManager,
    mut loaded: Loaded<Counter>,
    token: VersionToken<Counter>,
    version: Version,
) {
    let (name, id) = (String::new(), LockId::random());
    spawned(counters.get(&name));
    spawned(counters.find(tx, &name, LockMode::Optimistic));
    spawned(counters.find_many(tx, &[], LockMode::PessimisticWrite));
    spawned(counters.find_many_skip_locked(tx, &[]));
    spawned(counters.assert_unchanged(tx, &name, version));
    spawned(counters.insert(tx, Counter { name: name.clone(), count: 0 }));
    spawned(counters.save(tx, &mut loaded));
    spawned(counters.save_all(tx, &mut []));
    spawned(counters.delete(tx, loaded));
    spawned(counters.changes(&name, 1));
    spawned(counters.get_many(&[]));
    spawned(counters.get_at(&name, version));
    spawned(counters.update(&name).run(up));
    spawned(counters.update(&name).dry_run(up));
    spawned(counters.update(&name).delete(up));
    let other = String::from("other");
    let more = counters.update(&name).also(|mut tx, counter| {
        let (other, name) = (other.clone(), counter.name.clone());
        async move {
            counters.find(&mut tx, &other, LockMode::PessimisticWrite).await?;
            sqlx::query("select ?").bind(name).execute(tx.sqlite()?).await?;
            Ok(())
        }
    });
    spawned(more.merging(Merge::Disjoint).run(up));
    spawned(counters.update(&name).merging(Merge::Disjoint).retrying(Retry::transient(2)).run(up));
    spawned(locks.resume(counters, &name, &id, token));
    spawned(tx.lock_all(LockSet::new(), LockMode::PessimisticWrite));
}

fn databases(db: &Database, one: Transaction, two: Transaction) {
    spawned(Database::connect(""));
    spawned(Database::connect_with("", ConnectOptions::new()));
    spawned(Database::connect_driver(SqliteConnectOptions::new(), ConnectOptions::new()));
    spawned(Database::migration_script("", ConnectOptions::new()));
    spawned(Database::diagnose(""));
    spawned(Database::diagnose_with("", ConnectOptions::new()));
    spawned(db.begin());
    spawned(db.begin_within(Wait::No));
    spawned(db.forget_operations(Duration::ZERO));
    spawned(db.check::<Counter>());
    spawned(db.check_mapping(Counter::mapping()));
    spawned(db.close());
    spawned(db.retry(Retry::transient(1), async || Err::<(), _>(DatabaseError::Deadlock)));
    spawned(one.commit());
    spawned(two.rollback());
}

/// The names of all public functions that are `async`.
fn names(directory: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            self::names(&path, names);
        } else {
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                let name = line.trim_start().strip_prefix("pub async fn ");
                names.extend(name.map(|name| name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()));
            }
        }
    }
}

#[test]
fn every_public_future_can_be_spawned() {
    let mut public = Vec::new();
    names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut public);
    assert!(public.len() > 40, "{public:?}");
    // Functions of optional features are listed in the tests of those features.
    let elsewhere = ["migrate"];
    for name in public.iter().filter(|name| !elsewhere.contains(&name.as_str())) {
        let here = include_str!("futures.rs");
        let calls = [format!(".{name}("), format!("::{name}("), format!(".{name}::<")];
        assert!(calls.iter().any(|call| here.contains(call)), "`{name}` is not here");
    }
}

#[test]
fn futures_are_small() {
    // Only what is reached is compiled, with its assertions.
    let all = [locks as *const (), repositories as *const (), databases as *const ()];
    assert!(all.iter().all(|function| !function.is_null()));
}
