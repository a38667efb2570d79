//! The code of a careful programmer without tenure: one transaction, the root before its lines, the version in the WHERE.

mod mysql;
mod postgres;
mod sqlite;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::Operation;
use super::order::{Line, ORDERS, Order, TOGETHER, new_number, number};
use super::tables::tables;
use crate::Outcome;
use crate::backend::Backend;
use crate::rounds::Contestant;

/// An order and its loaded version.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) order: Order,
    pub(crate) version: i64,
}

/// The units of work, written for one database.
#[async_trait]
pub(crate) trait ByHand: Send + Sync {
    /// Inserts an order.
    async fn insert(&self, order: &Order) -> Outcome<()>;

    /// Loads one in a consistent state.
    async fn load(&self, no: &str) -> Outcome<Stored>;

    /// Loads one locked, and commits.
    async fn load_locked(&self, no: &str) -> Outcome<Stored>;

    /// Loads one, refuses unless it has the expected version, runs the command, saves the changes.
    async fn change(&self, no: &str, expected: Option<i64>, turn: usize) -> Outcome<Stored>;

    /// Loads one and raises its version.
    async fn force_increment(&self, no: &str) -> Outcome<Stored>;

    /// Runs one statement in a transaction.
    async fn own_statement(&self, no: &str) -> Outcome<()>;

    /// Saves the changes of several orders, each if it still has the loaded version.
    async fn save_all(&self, orders: &mut [Stored]) -> Outcome<()>;
}

/// The error of a stale version. (It never happens here.)
fn conflict(no: &str) -> Box<dyn std::error::Error + Send + Sync> {
    format!("order {no} was changed meanwhile").into()
}

/// Repeats one operation. A clone is a second caller with the same connections.
#[derive(Clone)]
pub(crate) struct Side {
    by_hand: Arc<dyn ByHand>,
    operation: Operation,
    seen: Vec<i64>,
    loaded: Vec<Stored>,
}

impl Side {
    /// Creates its tables, with orders.
    pub(crate) async fn open(url: &str, backend: Backend, operation: Operation) -> Outcome<Self> {
        let by_hand: Arc<dyn ByHand> = match backend {
            Backend::Sqlite => Arc::new(sqlite::ByHand::open(url, tables(backend)).await?),
            Backend::Postgres => Arc::new(postgres::ByHand::open(url, tables(backend)).await?),
            Backend::MySql => Arc::new(mysql::ByHand::open(url, tables(backend)).await?),
        };
        for turn in 0..ORDERS {
            by_hand.insert(&Order::new(number(turn))).await?;
        }
        let mut loaded = Vec::new();
        for turn in 0..TOGETHER {
            loaded.push(by_hand.load(&number(turn)).await?);
        }
        Ok(Side { by_hand, operation, seen: vec![1; ORDERS], loaded })
    }

    async fn work(&mut self, turn: usize) -> Outcome<()> {
        let no = number(turn);
        match self.operation {
            Operation::ChangeOne | Operation::ChangeOneWithRevisions => {
                self.by_hand.change(&no, None, turn).await?;
            }
            Operation::VersionCheck => {
                let seen = &mut self.seen[turn % ORDERS];
                *seen = self.by_hand.change(&no, Some(*seen), turn).await?.version;
            }
            Operation::ForcedIncrement => drop(self.by_hand.force_increment(&no).await?),
            Operation::PessimisticLoad => drop(self.by_hand.load_locked(&no).await?),
            Operation::Load => drop(self.by_hand.load(&no).await?),
            Operation::Insert => self.by_hand.insert(&Order::new(new_number(turn))).await?,
            Operation::OwnStatement => self.by_hand.own_statement(&no).await?,
            Operation::SaveAll => {
                self.loaded.iter_mut().for_each(|stored| stored.order.change(turn));
                self.by_hand.save_all(&mut self.loaded).await?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Contestant for Side {
    async fn once(&mut self, turn: usize) -> Outcome<Duration> {
        let start = Instant::now();
        self.work(turn).await?;
        Ok(start.elapsed())
    }
}

/// A row of the root, and one of a line.
type RootRow = (String, String, String, String, String, i64);
type LineRow = (i64, String, i64, i64);

fn stored(no: &str, root: RootRow, lines: Vec<LineRow>) -> Stored {
    let (customer, street, zip, state, note, version) = root;
    let line = |(line_no, product, quantity, cents)| Line { line_no, product, quantity, cents };
    let lines = lines.into_iter().map(line).collect();
    Stored { order: Order { no: no.to_owned(), customer, street, zip, state, note, lines }, version }
}
