//! The limits of this machine: a flush of the disk, an answer of each database, a commit. No durable operation can be faster than the
//! flush.

use std::fs::File;
use std::io::{Seek, Write};
use std::time::Instant;

use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::pools;
use crate::report::{Figure, Report};
use crate::rounds::millis;
use crate::statistics::median;

const TABLE: &str = "create table bench_limit (id bigint not null primary key, number bigint not null)";
const FIRST: &str = "insert into bench_limit (id, number) values (1, 0)";
const ASK: &str = "select 1";
const COMMIT: &str = "update bench_limit set number = number + 1 where id = 1";

/// Milliseconds of each of many operations.
macro_rules! many {
    ($times:expr, $work:expr) => {{
        let mut all = Vec::new();
        for _ in 0..$times {
            let start = Instant::now();
            $work;
            all.push(millis(start.elapsed()));
        }
        all
    }};
}

/// The disk: a page is written and flushed.
pub(crate) fn disk(id: &str, effort: &Effort, databases: &Databases, report: &mut Report) -> Outcome<()> {
    let mut file = File::create(databases.folder().join("flushed"))?;
    let flushes = many!(effort.rounds * effort.samples, {
        file.rewind()?;
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
    });
    report.add(Figure::new(format!("{id}.flush"), median(&flushes), "ms").other(&flushes))
}

/// A database: the shortest query, and the smallest writing transaction.
pub(crate) async fn database(
    id: &str,
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let (url, times) = (databases.fresh(backend), effort.rounds * effort.samples);
    let [answers, commits] = match backend {
        Backend::Sqlite => {
            let file = pools::sqlite::open(&url).await?;
            databases.settle(backend).await?;
            let mut writer = file.writer.lock().await;
            sqlx::raw_sql(TABLE).execute(&mut *writer).await?;
            sqlx::raw_sql(FIRST).execute(&mut *writer).await?;
            let answers = many!(times, sqlx::query(ASK).execute(&mut *writer).await?);
            [answers, many!(times, sqlx::query(COMMIT).execute(&mut *writer).await?)]
        }
        Backend::Postgres => {
            let pool = pools::postgres::open(&url).await?;
            sqlx::raw_sql(TABLE).execute(&pool).await?;
            sqlx::raw_sql(FIRST).execute(&pool).await?;
            let answers = many!(times, sqlx::query(ASK).execute(&pool).await?);
            [answers, many!(times, sqlx::query(COMMIT).execute(&pool).await?)]
        }
        Backend::MySql => {
            let pool = pools::mysql::open(&url).await?;
            sqlx::raw_sql(TABLE).execute(&pool).await?;
            sqlx::raw_sql(FIRST).execute(&pool).await?;
            let answers = many!(times, sqlx::query(ASK).execute(&pool).await?);
            [answers, many!(times, sqlx::query(COMMIT).execute(&pool).await?)]
        }
    };
    report.add(Figure::new(format!("{id}.answer"), median(&answers), "ms").other(&answers))?;
    report.add(Figure::new(format!("{id}.commit"), median(&commits), "ms").other(&commits))
}
