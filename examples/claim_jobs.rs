//! Workers that share a list of jobs: each claims the next ten by a statement of its own, loads them as aggregates, and saves them in the same
//! transaction.
//!
//! ```text
//! cargo run --example claim_jobs --features mysql,postgres -- postgres://user@localhost/test
//! ```
//!
//! The address may be that of PostgreSQL, MariaDB, MySQL or SQLite; without one it is a temporary SQLite file. The example makes a table
//! `example_job`, and drops one that is there.
//!
//! Look at the output: no job is done twice, and on PostgreSQL and MariaDB no worker waits for another.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;

use tenure::{Aggregate, Database, LockMode, Repository, Transaction, sqlx};
use tokio::task::JoinSet;

#[derive(Aggregate)]
#[aggregate(table = "example_job")]
struct Job {
    #[aggregate(id)]
    no: i64,
    done_by: Option<String>,
}

impl Job {
    fn run(&mut self, worker: &str) {
        assert_eq!(self.done_by, None, "job {} was claimed twice", self.no);
        self.done_by = Some(worker.to_owned());
    }
}

/// The next jobs, by the application's own condition. The statement locks them to the end of the transaction, and skips those that another
/// worker has locked. On SQLite no other worker writes since this transaction began.
async fn next(tx: &mut Transaction) -> Result<Vec<i64>, tenure::Error> {
    const NEXT: &str = "select no from example_job where done_by is null order by no limit 10";
    const SKIPPING: &str =
        "select no from example_job where done_by is null order by no limit 10 for update skip locked";
    if let Ok(connection) = tx.postgres() {
        return Ok(sqlx::query_scalar(SKIPPING).fetch_all(connection).await?);
    }
    if let Ok(connection) = tx.mysql() {
        return Ok(sqlx::query_scalar(SKIPPING).fetch_all(connection).await?);
    }
    Ok(sqlx::query_scalar(NEXT).fetch_all(tx.sqlite()?).await?)
}

/// Works until there is nothing left to claim; returns the number of jobs that it did.
async fn work(db: Database, worker: String) -> Result<usize, tenure::Error> {
    let (jobs, mut done) = (Repository::<Job>::new(&db), 0);
    loop {
        let mut tx = db.begin().await?;
        let claimed = next(&mut tx).await?;
        if claimed.is_empty() {
            return Ok(done);
        }
        for mut job in jobs.find_many(&mut tx, &claimed, LockMode::PessimisticWrite).await? {
            job.run(&worker);
            jobs.save(&mut tx, &mut job).await?;
        }
        tx.commit().await?;
        println!("{worker} did {claimed:?}");
        done += claimed.len();
    }
}

pub async fn run(url: &str) -> Result<(), Box<dyn Error>> {
    const JOBS: i64 = 45;
    let db = Database::connect(url).await?;
    let jobs = Repository::<Job>::new(&db);
    table(&db).await?;
    let mut tx = db.begin().await?;
    for no in 1..=JOBS {
        jobs.insert(&mut tx, Job { no, done_by: None }).await?;
    }
    tx.commit().await?;

    let mut workers = JoinSet::new();
    for worker in ["one", "two", "three"] {
        workers.spawn(work(db.clone(), worker.to_owned()));
    }
    let mut done = 0;
    while let Some(worker) = workers.join_next().await {
        done += worker??;
    }
    let all: Vec<_> = (1..=JOBS).collect();
    let all = jobs.get_many(&all).await?;
    assert!(all.iter().flatten().all(|job| job.done_by.is_some() && job.version().number() == 2));
    println!("{done} jobs on {}", db.capabilities().database);
    assert_eq!(done, all.len());
    Ok(())
}

/// Makes the table. On MariaDB and MySQL that would end a transaction.
async fn table(db: &Database) -> Result<(), tenure::Error> {
    let table = sqlx::raw_sql(
        "drop table if exists example_job;
         create table example_job (no bigint primary key, done_by varchar(40), version bigint not null)",
    );
    if let Ok(pool) = db.postgres() {
        table.execute(pool).await?;
    } else if let Ok(pool) = db.mysql() {
        table.execute(pool).await?;
    } else {
        let mut tx = db.begin().await?;
        table.execute(tx.sqlite()?).await?;
        tx.commit().await?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(url) = std::env::args().nth(1).filter(|url| url.contains("://")) {
        return run(&url).await;
    }
    let directory = tempfile::tempdir()?;
    run(&format!("sqlite://{}/jobs.db", directory.path().display())).await
}
