//! Jobs in processes of their own that hold a lease: they are killed, paused, and lose it.
use std::convert::Infallible;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tenure::error::{DatabaseError, LeaseLost, UpdateError};
use tenure::lease::Holder;
use tenure::{Aggregate, Database, LockId, LockKey, LockManager, LockPolicy, Owner, Repository, Wait};

#[derive(Aggregate, Debug)]
#[aggregate(table = "catalogue")]
struct Catalogue {
    #[aggregate(id)]
    name: String,
    items: i64,
}

const FILE: &str = "TENURE_JOB_FILE";
const LONG: Duration = Duration::from_secs(60);
const NAME: &str = "spring";

fn locks(db: &Database) -> LockManager {
    LockManager::new(db).with_policy("Catalogue", LockPolicy::exclusive().ttl(LockPolicy::SHORTEST_TTL).unwrap())
}

fn key() -> LockKey {
    LockKey::new("Catalogue", NAME)
}

/// The process of a job: it imports three items, waits for a line, and imports more. It prints its outcome.
#[tokio::test]
async fn one_job() {
    let Ok(url) = std::env::var(FILE) else { return };
    let db = Database::connect(&url).await.unwrap();
    let (catalogues, importer) = (Repository::<Catalogue>::new(&db), Owner::new("importer", "Importer"));
    let guard = locks(&db).hold(&key(), &importer).await.unwrap();
    println!("\nholds {}", guard.holder().generation);
    let import = async {
        loop {
            let save = catalogues.update(&NAME.to_owned()).by(&importer).holding(guard.lock_id());
            let saved = save.run(|catalogue| {
                catalogue.items += 1;
                Ok::<_, Infallible>(())
            });
            match saved.await {
                Ok(saved) if saved.items == 3 => {
                    println!("\nimported {}", saved.items);
                    // Outside transactions: a stopped process would block the file for all others.
                    let more = || std::io::stdin().read_line(&mut String::new());
                    tokio::task::spawn_blocking(more).await.unwrap().unwrap();
                }
                Ok(_) => {}
                Err(UpdateError::Failed(error)) => break println!("\nrefused {}", error.code()),
                Err(UpdateError::Refused(never)) => match never {},
            }
        }
    };
    match guard.run(import).await {
        Err(LeaseLost::Ended(no_lock)) => println!("\nended {}", no_lock.code()),
        Err(lost) => println!("\nlost {}", lost.code()),
        Ok(()) => {}
    }
}

struct Job {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Job {
    fn begin(url: &str) -> Job {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "jobs::one_job", "--nocapture"]).env(FILE, url);
        process.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = process.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut job = Job { process, lines };
        assert_eq!(job.says(&["holds"]), "holds 1");
        assert_eq!(job.says(&["imported"]), "imported 3");
        job
    }

    /// The next line that begins with one of these words.
    fn says(&mut self, words: &[&str]) -> String {
        self.lines.by_ref().map(Result::unwrap).find(|line| words.iter().any(|word| line.starts_with(word))).unwrap()
    }

    /// Sends more items to import.
    fn send_more(&mut self) {
        self.process.stdin.as_mut().unwrap().write_all(b"more\n").unwrap();
    }

    /// Stops it between two transactions. A stopped writer would block the file for all others.
    async fn pause(&self, db: &Database) {
        let short = Wait::Within(Duration::from_secs(1));
        loop {
            self.signal("-STOP");
            match db.begin_within(short).await {
                Ok(free) => return free.rollback().await.unwrap(),
                Err(DatabaseError::LockTimeout { .. }) => self.signal("-CONT"),
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn database(directory: &tempfile::TempDir) -> (Database, String) {
    let url = format!("sqlite://{}/jobs.db", directory.path().display());
    let db = Database::connect(&url).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let table = "create table catalogue (name text primary key, items integer not null, version integer not null)";
    sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
    let catalogues = Repository::<Catalogue>::new(&db);
    catalogues.insert(&mut tx, Catalogue { name: NAME.into(), items: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    (db, url)
}

async fn items(db: &Database) -> i64 {
    Repository::<Catalogue>::new(db).get(&NAME.to_owned()).await.unwrap().unwrap().items
}

#[tokio::test]
async fn lease_of_a_killed_job_expires_for_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let (db, url) = database(&directory).await;
    let job = Job::begin(&url);
    job.signal("-KILL");
    let next = locks(&db).hold(&key(), &Owner::new("next", "Next")).within(LONG).await.unwrap();
    assert_eq!(next.holder().generation, 2);
}

#[tokio::test]
async fn paused_job_does_not_go_on_under_a_lost_lease() {
    let directory = tempfile::tempdir().unwrap();
    let (db, url) = database(&directory).await;
    let mut job = Job::begin(&url);
    job.pause(&db).await;
    let next = locks(&db).hold(&key(), &Owner::new("next", "Next")).within(LONG).await.unwrap();
    let set = |catalogue: &mut Catalogue| {
        catalogue.items = 1000;
        Ok::<_, Infallible>(())
    };
    let catalogues = Repository::<Catalogue>::new(&db);
    catalogues.update(&NAME.to_owned()).holding(next.lock_id()).run(set).await.unwrap();
    // When it continues, it has work at once.
    job.send_more();
    job.signal("-CONT");
    let said = job.says(&["lost", "ended", "refused"]);
    assert!(said.starts_with("lost lock-expired"), "it continued: {said}");
    assert_eq!(items(&db).await, 1000);
    assert!(next.check().is_ok());
}

/// The next save of the job is refused, unless a heartbeat comes first.
async fn stops(db: &Database, mut job: Job, why: &str) {
    job.send_more();
    let said = job.says(&["refused", "ended", "lost"]);
    assert!([format!("refused {why}"), format!("ended {why}")].contains(&said), "{said}");
    assert_eq!(job.process.wait().unwrap().code(), Some(0));
    assert_eq!(items(db).await, 3);
}

#[tokio::test]
async fn job_whose_lease_is_broken_stops() {
    let directory = tempfile::tempdir().unwrap();
    let (db, url) = database(&directory).await;
    let job = Job::begin(&url);
    locks(&db).break_lock(&key(), 1, &Owner::new("kim", "Kim"), "the wrong file").await.unwrap();
    stops(&db, job, "lock-broken").await;
    let next = locks(&db).hold(&key(), &Owner::new("next", "Next")).await.unwrap();
    assert_eq!(next.holder().generation, 2);
}

#[tokio::test]
async fn job_whose_lease_is_taken_over_stops() {
    let directory = tempfile::tempdir().unwrap();
    let (db, url) = database(&directory).await;
    let job = Job::begin(&url);
    let (kim, permitted) =
        (Owner::new("kim", "Kim"), locks(&db).with_take_over_permission("Catalogue", |_: &Owner, _: &Holder| true));
    let taken = permitted.take_over(&key(), 1, &kim, LockId::random(), "the wrong file").await.unwrap();
    stops(&db, job, "lock-taken-over").await;
    assert_eq!(locks(&db).check_lock(taken.id()).await.unwrap().holder().generation, 2);
}
