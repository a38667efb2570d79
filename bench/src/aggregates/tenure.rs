//! tenure's side.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tenure::{Database, Loaded, LockMode, Repository, Version};

use super::order::{KeptOrder, ORDERS, Order, TOGETHER, new_number, number};
use super::tables::tables;
use super::{OWN, OWN_NUMBERED, Operation};
use crate::Outcome;
use crate::backend::Backend;
use crate::rounds::Contestant;

/// Repeats one operation. A clone is a second caller with the same connections.
#[derive(Clone)]
pub(crate) struct Side {
    database: Database,
    orders: Repository<Order>,
    kept: Repository<KeptOrder>,
    backend: Backend,
    operation: Operation,
    /// The expected version of each order.
    seen: Vec<Version>,
    /// Orders that are loaded already.
    loaded: Vec<Loaded<Order>>,
}

impl Side {
    /// Creates its tables, with orders.
    pub(crate) async fn open(url: &str, backend: Backend, operation: Operation) -> Outcome<Self> {
        let database = Database::connect(url).await?;
        let (orders, kept) = (Repository::<Order>::new(&database), Repository::<KeptOrder>::new(&database));
        match backend {
            Backend::Sqlite => {
                let mut tx = database.begin().await?;
                sqlx::raw_sql(tables(backend)).execute(tx.sqlite()?).await?;
                tx.commit().await?;
            }
            Backend::Postgres => {
                sqlx::raw_sql(tables(backend)).execute(database.postgres()?).await?;
            }
            Backend::MySql => {
                sqlx::raw_sql(tables(backend)).execute(database.mysql()?).await?;
            }
        }
        let mut tx = database.begin().await?;
        let mut seen = Vec::new();
        for turn in 0..ORDERS {
            kept.insert(&mut tx, KeptOrder::new(number(turn))).await?;
            seen.push(orders.insert(&mut tx, Order::new(number(turn))).await?.version());
        }
        tx.commit().await?;
        let mut loaded = Vec::new();
        for turn in 0..TOGETHER {
            loaded.push(orders.get(&number(turn)).await?.ok_or("the order was inserted")?);
        }
        Ok(Side { database, orders, kept, backend, operation, seen, loaded })
    }

    /// The work of one turn.
    async fn work(&mut self, turn: usize) -> Outcome<()> {
        let no = number(turn);
        match self.operation {
            Operation::ChangeOne => drop(self.orders.update(&no).run(|order| changed(|| order.change(turn))).await?),
            Operation::ChangeOneWithRevisions => {
                self.kept.update(&no).run(|order| changed(|| order.change(turn))).await?;
            }
            Operation::VersionCheck => {
                let seen = &mut self.seen[turn % ORDERS];
                let update = self.orders.update(&no).expecting(*seen);
                *seen = update.run(|order| changed(|| order.change(turn))).await?.version();
            }
            Operation::ForcedIncrement => {
                let update = self.orders.update(&no).locking(LockMode::OptimisticForceIncrement);
                update.run(|_| changed(|| ())).await?;
            }
            Operation::PessimisticLoad => {
                let mut tx = self.database.begin().await?;
                self.orders.find(&mut tx, &no, LockMode::PessimisticWrite).await?.ok_or("the order is there")?;
                tx.commit().await?;
            }
            Operation::Load => drop(self.orders.get(&no).await?.ok_or("the order is there")?),
            Operation::Insert => {
                let mut tx = self.database.begin().await?;
                self.orders.insert(&mut tx, Order::new(new_number(turn))).await?;
                tx.commit().await?;
            }
            Operation::OwnStatement => {
                let mut tx = self.database.begin().await?;
                let _changed = match self.backend {
                    Backend::Sqlite => sqlx::query(OWN).bind(&no).execute(tx.sqlite()?).await?.rows_affected(),
                    Backend::Postgres => {
                        sqlx::query(OWN_NUMBERED).bind(&no).execute(tx.postgres()?).await?.rows_affected()
                    }
                    Backend::MySql => sqlx::query(OWN).bind(&no).execute(tx.mysql()?).await?.rows_affected(),
                };
                tx.commit().await?;
            }
            Operation::SaveAll => {
                self.loaded.iter_mut().for_each(|order| order.change(turn));
                let mut tx = self.database.begin().await?;
                for saved in self.orders.save_all(&mut tx, &mut self.loaded).await {
                    saved?;
                }
                tx.commit().await?;
            }
        }
        Ok(())
    }
}

/// The domain refuses nothing here.
fn changed(command: impl FnOnce()) -> Result<(), Infallible> {
    command();
    Ok(())
}

#[async_trait]
impl Contestant for Side {
    async fn once(&mut self, turn: usize) -> Outcome<Duration> {
        let start = Instant::now();
        self.work(turn).await?;
        Ok(start.elapsed())
    }
}
