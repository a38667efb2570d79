//! Counts the files and functions of the library that a save and a heartbeat pass on SQLite, by valgrind's callgrind: how many rooms a
//! reader has to enter. It counts what runs in the caller's thread, in a build without optimisation, the second time.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::process::Command;

use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository};
use tokio::runtime::{Builder, Runtime};

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 9)]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

type Work<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

/// Only what runs in it is counted.
#[inline(never)]
fn counted(runtime: &Runtime, work: Work<'_>) {
    runtime.block_on(work);
}

fn run(what: &str) -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let directory = tempfile::tempdir()?;
    let url = format!("sqlite://{}/walk.db", directory.path().display());
    let (no, kim) = ("17".to_owned(), Owner::new("kim", "Kim"));
    let db = runtime.block_on(Database::connect(&url))?;
    let (orders, locks) = (Repository::<Order>::new(&db), LockManager::new(&db));
    let lease = runtime.block_on(async {
        let mut tx = db.begin().await?;
        let table = "create table orders (no text primary key, note text not null, version integer not null)";
        sqlx::raw_sql(table).execute(tx.sqlite()?).await?;
        orders.insert(&mut tx, Order { no: no.clone(), note: String::new() }).await?;
        tx.commit().await?;
        Ok::<_, Box<dyn Error>>(locks.try_lock(&LockKey::new("Note", "1"), &kim).await?)
    })?;
    let work = || -> Work<'_> {
        let loaded = runtime.block_on(orders.get(&no)).expect("it is read").expect("it is there");
        let (seen, orders, locks, no, kim, lease) = (loaded.token(), &orders, &locks, &no, &kim, &lease);
        Box::pin(async move {
            if what == "heartbeat" {
                let kept = locks.keep_alive(&[lease.id().clone()]).await;
                return drop(kept.expect("the database answers").remove(0).expect("it is held"));
            }
            let update = orders.update(no).by(kim).expecting(seen).unless_locked();
            let change = |order: &mut Order| {
                order.note.push('!');
                Ok::<_, Infallible>(())
            };
            drop(update.run(change).await.expect("it is saved"));
        })
    };
    runtime.block_on(work());
    counted(&runtime, work());
    Ok(())
}

/// The files of the library in a profile, and their functions.
fn passed(profile: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut files, mut functions) = (BTreeSet::new(), BTreeSet::new());
    let (mut names, mut is_ours) = (std::collections::HashMap::new(), false);
    for line in profile.lines() {
        let Some((kind, rest)) = line.split_once('=') else { continue };
        // A name is written once, and then its number.
        let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
        let space = if matches!(kind, "fn" | "cfn") { "fn" } else { "file" };
        if !matches!(kind, "fl" | "fi" | "fe" | "fn" | "cfn" | "cfi" | "cfl") {
            continue;
        }
        if !name.is_empty() {
            names.insert((space, number), name);
        }
        let name = names.get(&(space, number)).copied().unwrap_or_default();
        match kind {
            "fl" | "fi" | "fe" => {
                let ours = name.strip_prefix("src/").or_else(|| name.split_once("/verify/../src/").map(|(_, own)| own));
                is_ours = ours.is_some();
                files.extend(ours);
            }
            "fn" if is_ours => drop(functions.insert(name)),
            _ => {}
        }
    }
    (files, functions)
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(what) = std::env::args().nth(1) {
        return run(&what);
    }
    let directory = tempfile::tempdir()?;
    for what in ["save", "heartbeat"] {
        let out = directory.path().join(what);
        let mut command = Command::new("valgrind");
        command.args(["-q", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=walk::counted*"]);
        command.arg(format!("--callgrind-out-file={}", out.display())).arg(std::env::current_exe()?).arg(what);
        if !command.status()?.success() {
            return Err("it needs valgrind: apt-get install valgrind".into());
        }
        let profile = std::fs::read_to_string(&out)?;
        let (files, functions) = passed(&profile);
        println!("{what}: {} files, {} functions", files.len(), functions.len());
        println!("  {}", files.into_iter().collect::<Vec<_>>().join("\n  "));
    }
    Ok(())
}
