//! The operations that are counted.

use std::error::Error;

use clap::ValueEnum;
use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository, sqlx};
use testkit::Kind;
use tokio::runtime::{Builder, Runtime};

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    Save,
    TryLock,
    Heartbeat,
    CheckLock,
    Release,
}

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    ship_to: String,
}

impl Operation {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// What it is.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Operation::Save => "a save on SQLite (`unless_locked`, expected version)",
            Operation::TryLock => "`try_lock` on MariaDB",
            Operation::Heartbeat => "a heartbeat on MariaDB",
            Operation::CheckLock => "`check_lock` on MariaDB",
            Operation::Release => "`release_lock` on MariaDB",
        }
    }

    /// Runs it twice; the second time is counted.
    pub(crate) fn run(self) -> Result<(), Box<dyn Error>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        match self {
            Operation::Save => save(&runtime),
            operation => runtime.block_on(Leases::begin()).and_then(|leases| leases.run(&runtime, operation)),
        }
    }
}

fn save(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}/shop.db", folder.path().display());
    let (orders, no) = runtime.block_on(async {
        let db = Database::connect(&url).await?;
        let orders = Repository::<Order>::new(&db);
        let mut tx = db.begin().await?;
        let table = "create table orders (no text primary key, ship_to text, version integer)";
        sqlx::raw_sql(table).execute(tx.sqlite()?).await?;
        let no = "1234".to_owned();
        orders.insert(&mut tx, Order { no: no.clone(), ship_to: "Teheran-ro 1".into() }).await?;
        tx.commit().await?;
        Ok::<_, Box<dyn Error>>((orders, no))
    })?;
    let kim = Owner::new("kim", "Kim");
    for (address, is_counted) in [("Hangang-daero 2", false), ("Sejong-daero 9", true)] {
        let opened = runtime.block_on(orders.get(&no))?.ok_or("no order")?.token();
        let update = orders.update(&no).by(&kim).unless_locked().expecting(opened);
        let saving = update.run(move |order: &mut Order| {
            order.ship_to = address.into();
            Ok::<_, std::convert::Infallible>(())
        });
        let saved = if is_counted { counted_walk(runtime, saving) } else { runtime.block_on(saving) };
        saved.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Requests for leases.
struct Leases {
    locks: LockManager,
    key: LockKey,
    kim: Owner,
}

impl Leases {
    async fn begin() -> Result<Self, Box<dyn Error>> {
        let db = Database::connect(&testkit::new_database(Kind::MariaDb)).await?;
        Ok(Leases { locks: LockManager::new(&db), key: LockKey::new("Order", "1234"), kim: Owner::new("kim", "Kim") })
    }

    fn run(&self, runtime: &Runtime, operation: Operation) -> Result<(), Box<dyn Error>> {
        let Leases { locks, key, kim } = self;
        for is_counted in [false, true] {
            macro_rules! run {
                ($operation:expr, $work:expr) => {{
                    let work = $work;
                    if is_counted && operation == $operation {
                        counted_walk(runtime, work)?
                    } else {
                        runtime.block_on(work)?
                    }
                }};
            }
            let lease = run!(Operation::TryLock, locks.try_lock(key, kim));
            run!(Operation::CheckLock, locks.check_lock(lease.id()));
            let ids = [lease.id().clone()];
            run!(Operation::Heartbeat, locks.keep_alive(&ids));
            run!(Operation::Release, locks.release_lock(lease.id()));
        }
        Ok(())
    }
}

/// What callgrind counts.
#[inline(never)]
fn counted_walk<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    runtime.block_on(work)
}
