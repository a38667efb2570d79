//! By hand, on MariaDB.

use async_trait::async_trait;
use sqlx::pool::PoolConnection;
use sqlx::{MySql, MySqlConnection, MySqlPool, QueryBuilder};

use super::{LineRow, RootRow, Stored, conflict, stored};
use crate::Outcome;
use crate::aggregates::OWN;
use crate::aggregates::order::{CHANGED, Order};
use crate::pools;

const BEGIN: &str = "set innodb_lock_wait_timeout = 5; start transaction";
const BEGIN_READING: &str = "
    set transaction isolation level repeatable read; start transaction with consistent snapshot, read only";
const ROOT: &str = "select customer, street, zip, state, note, version from bench_order where no = ?";
const ROOT_LOCKED: &str = "select customer, street, zip, state, note, version from bench_order where no = ? for update";
const LINES: &str = "select line_no, product, quantity, cents from bench_line where order_no = ? order by line_no";
const INSERT_ROOT: &str =
    "insert into bench_order (no, customer, street, zip, state, note, version) values (?, ?, ?, ?, ?, ?, 1)";
const INSERT_LINES: &str = "insert into bench_line (order_no, line_no, product, quantity, cents) ";
const UPDATE_ROOT: &str = "update bench_order set note = ?, version = version + 1 where no = ? and version = ?";
const UPDATE_LINE: &str = "update bench_line set quantity = ? where order_no = ? and line_no = ?";
const INCREMENT: &str = "update bench_order set version = version + 1 where no = ? and version = ?";

pub(super) struct ByHand {
    pool: MySqlPool,
}

impl ByHand {
    pub(super) async fn open(url: &str, tables: &'static str) -> Outcome<Self> {
        let pool = pools::mysql::open(url).await?;
        pools::mysql::make(&pool, tables).await?;
        Ok(ByHand { pool })
    }

    async fn begin(&self, begin: &'static str) -> Outcome<PoolConnection<MySql>> {
        let mut connection = self.pool.acquire().await?;
        sqlx::raw_sql(begin).execute(&mut *connection).await?;
        Ok(connection)
    }
}

async fn commit(connection: &mut MySqlConnection) -> Outcome<()> {
    sqlx::raw_sql("commit").execute(connection).await?;
    Ok(())
}

async fn load(connection: &mut MySqlConnection, root: &'static str, no: &str) -> Outcome<Stored> {
    let root: RootRow = sqlx::query_as(root).bind(no).fetch_one(&mut *connection).await?;
    let lines: Vec<LineRow> = sqlx::query_as(LINES).bind(no).fetch_all(connection).await?;
    Ok(stored(no, root, lines))
}

async fn save(connection: &mut MySqlConnection, Stored { order, version }: &mut Stored) -> Outcome<()> {
    let update = sqlx::query(UPDATE_ROOT).bind(&order.note).bind(&order.no).bind(*version);
    if update.execute(&mut *connection).await?.rows_affected() == 0 {
        return Err(conflict(&order.no));
    }
    let line = &order.lines[CHANGED];
    let update = sqlx::query(UPDATE_LINE).bind(line.quantity).bind(&order.no).bind(line.line_no);
    update.execute(connection).await?;
    *version += 1;
    Ok(())
}

#[async_trait]
impl super::ByHand for ByHand {
    async fn insert(&self, order: &Order) -> Outcome<()> {
        let mut tx = self.begin(BEGIN).await?;
        let root = sqlx::query(INSERT_ROOT).bind(&order.no).bind(&order.customer).bind(&order.street);
        let root = root.bind(&order.zip).bind(&order.state).bind(&order.note);
        root.execute(&mut *tx).await?;
        let mut lines = QueryBuilder::new(INSERT_LINES);
        lines.push_values(&order.lines, |mut row, line| {
            row.push_bind(&order.no).push_bind(line.line_no).push_bind(&line.product);
            row.push_bind(line.quantity).push_bind(line.cents);
        });
        lines.build().execute(&mut *tx).await?;
        commit(&mut tx).await
    }

    async fn load(&self, no: &str) -> Outcome<Stored> {
        let mut tx = self.begin(BEGIN_READING).await?;
        let stored = load(&mut tx, ROOT, no).await?;
        commit(&mut tx).await?;
        Ok(stored)
    }

    async fn load_locked(&self, no: &str) -> Outcome<Stored> {
        let mut tx = self.begin(BEGIN).await?;
        let stored = load(&mut tx, ROOT_LOCKED, no).await?;
        commit(&mut tx).await?;
        Ok(stored)
    }

    async fn change(&self, no: &str, expected: Option<i64>, turn: usize) -> Outcome<Stored> {
        let mut tx = self.begin(BEGIN).await?;
        let mut stored = load(&mut tx, ROOT, no).await?;
        if expected.is_some_and(|expected| expected != stored.version) {
            return Err(conflict(no));
        }
        stored.order.change(turn);
        save(&mut tx, &mut stored).await?;
        commit(&mut tx).await?;
        Ok(stored)
    }

    async fn own_statement(&self, no: &str) -> Outcome<()> {
        let mut tx = self.begin(BEGIN).await?;
        sqlx::query(OWN).bind(no).execute(&mut *tx).await?;
        commit(&mut tx).await
    }

    async fn force_increment(&self, no: &str) -> Outcome<Stored> {
        let mut tx = self.begin(BEGIN).await?;
        let mut stored = load(&mut tx, ROOT, no).await?;
        let increment = sqlx::query(INCREMENT).bind(no).bind(stored.version);
        if increment.execute(&mut *tx).await?.rows_affected() == 0 {
            return Err(conflict(no));
        }
        commit(&mut tx).await?;
        stored.version += 1;
        Ok(stored)
    }

    async fn save_all(&self, orders: &mut [Stored]) -> Outcome<()> {
        let mut tx = self.begin(BEGIN).await?;
        for stored in orders {
            save(&mut tx, stored).await?;
        }
        commit(&mut tx).await
    }
}
