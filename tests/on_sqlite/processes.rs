//! Several processes that constantly write to one file: none of them starves.

use std::convert::Infallible;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tenure::db::ConnectOptions;
use tenure::error::{DatabaseError, Error, UpdateError};
use tenure::unit_of_work::Retry;
use tenure::{Aggregate, Database, LockKey, LockManager, LockPolicy, Owner, Repository};
use tokio::task::JoinSet;

#[derive(Aggregate, Debug)]
#[aggregate(table = "busy_counter")]
struct Counter {
    #[aggregate(id)]
    name: String,
    count: i64,
}

const TABLE: &str =
    "create table busy_counter (name text primary key, count integer not null, version integer not null)";
const FILE: &str = "TENURE_BUSY_FILE";
const PROCESSES: usize = 5;
const WRITERS: usize = 4;
const FOR: Duration = Duration::from_secs(6);
/// Twice as long as an operation waits for its turn at most: a heartbeat that gets none is an error before the lease ends.
const TTL: Duration = Duration::from_secs(10);
const HEARTBEAT: Duration = Duration::from_secs(1);

/// One of the processes: it writes without a pause, and keeps a lease alive like an open form. It prints the longest
/// duration of a heartbeat, in milliseconds, and the number of its writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process() {
    let Ok(url) = std::env::var(FILE) else { return };
    let db = Database::connect_with(&url, ConnectOptions::new()).await.unwrap();
    let (name, begun) = (format!("counter {}", std::process::id()), Instant::now());
    let counters = Repository::<Counter>::new(&db);
    let mut tx = db.begin().await.unwrap();
    counters.insert(&mut tx, Counter { name: name.clone(), count: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    let mut writing = JoinSet::new();
    for _ in 0..WRITERS {
        let (counters, name) = (counters.clone(), name.clone());
        writing.spawn(async move {
            let mut written = 0_u32;
            while begun.elapsed() < FOR {
                let up = |counter: &mut Counter| {
                    counter.count += 1;
                    Ok::<_, Infallible>(())
                };
                let retry = Retry::transient(50).within(FOR);
                match counters.update(&name).retrying(retry).run(up).await {
                    Ok(_) => written += 1,
                    Err(UpdateError::Failed(Error::Database(DatabaseError::LockTimeout { .. }))) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            written
        });
    }
    let locks = LockManager::new(&db).with_policy("Form", LockPolicy::exclusive().ttl(TTL).unwrap());
    let lease = locks.try_lock(&LockKey::new("Form", name.clone()), &Owner::new("kim", "Kim")).await.unwrap();
    let (mut longest, mut lost) = (Duration::ZERO, 0);
    while begun.elapsed() < FOR {
        tokio::time::sleep(HEARTBEAT).await;
        let asked = Instant::now();
        let kept = locks.keep_alive(&[lease.id().clone()]).await;
        longest = longest.max(asked.elapsed());
        lost += usize::from(!matches!(kept.as_deref(), Ok([Ok(_)])));
    }
    let written: u32 = writing.join_all().await.into_iter().sum();
    assert_eq!(counters.get(&name).await.unwrap().unwrap().count, i64::from(written));
    println!("\nreport {} {lost} {written}", longest.as_millis());
}

#[test]
fn heartbeat_gets_to_write_beside_busy_processes() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/busy.db", directory.path().display());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let db = Database::connect(&url).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        sqlx::raw_sql(TABLE).execute(tx.sqlite().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
        db.close().await;
    });
    let process = |_| {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "processes::one_process", "--nocapture"]).env(FILE, &url);
        process.stdout(Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..PROCESSES).map(process).collect();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}");
        let report = said.lines().find_map(|line| line.strip_prefix("report ")).unwrap();
        println!("{report}");
        let report: Vec<u128> = report.split(' ').map(|number| number.parse().unwrap()).collect();
        assert_eq!(report[1], 0, "a heartbeat got no turn: {said}");
    }
}
