//! The engine and the databases agree: random operations on random rows, through both, with the same answers, rows and history.
//!
//! An operation is sent together with others, alone, or in a unit of work. If it cannot be answered together with others, it is sent alone,
//! as in the lock manager.
//!
//! `TENURE_SEED=…` repeats the operations of a failure. Each run has another seed. `TENURE_ROUNDS=42`, which is a part of `cargo xtask verify`,
//! makes 10,080 operations instead of 3,360.

mod random;
mod tables;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::clock::ManualClock;
use crate::db::Backend;
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, LeaseRow, Operation, Past, Place, Rows, decide};
use crate::lease::operations::{Attempt, KeyState, LockRequest, Proof};
use crate::lease::{LockId, LockKey, LockPolicy, Owner};
use crate::row_lock::Wait;
use crate::store::leases;

use random::Random;
use tables::Dialect;
use world::Case;

/// Cases in one round: their rows are written and read together, and they share round trips.
const CASES: usize = 48;
/// Operations on each case, one after the other.
const STEPS: usize = 5;
/// Rounds, unless `TENURE_ROUNDS` says how many.
const ROUNDS: u64 = 14;
/// The maximum number of differences that are printed before the test fails.
const MOST: usize = 6;

/// How an operation is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// With others.
    Together,
    /// In a transaction of its own.
    Alone,
    /// In a unit of work, where that is possible.
    Within,
}

/// One database, and the counts.
struct Comparison {
    backend: Arc<Backend>,
    dialect: Dialect,
    clock: ManualClock,
    operations: usize,
    /// Operations that were sent together with others, and those that were answered.
    asked: usize,
    answered: usize,
    /// Those on a key without a next generation: an error, which is sent alone.
    exhausted: usize,
    differences: Vec<String>,
}

async fn the_engine_decides_as(dialect: Dialect, backend: impl Into<Backend>, clock: ManualClock) {
    let number =
        |name| std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")));
    let (named, rounds) = (number("TENURE_SEED"), number("TENURE_ROUNDS").unwrap_or(ROUNDS));
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").as_nanos();
    let seed = named.unwrap_or_else(|| u64::try_from(since % (1 << 53)).expect("it fits"));
    println!("TENURE_SEED={seed}");
    let began = std::time::Instant::now();
    let mut comparison = Comparison {
        backend: Arc::new(backend.into()),
        dialect,
        clock,
        operations: 0,
        asked: 0,
        answered: 0,
        exhausted: 0,
        differences: Vec::new(),
    };
    for round in 0..rounds {
        let mark = LockId::random().hash();
        let mark = mark[24..].try_into().expect("eight bytes");
        comparison.round(Random::new(seed.wrapping_add(round.wrapping_mul(0x1_0000_0001)), mark), round).await;
        if comparison.differences.len() >= MOST {
            break;
        }
    }
    let Comparison { operations, asked, answered, exhausted, differences, .. } = comparison;
    println!("{operations} operations in {:?}; of {asked} together {answered} were answered", began.elapsed());
    assert!(differences.is_empty(), "TENURE_SEED={seed} finds:\n\n{}", differences.join("\n\n"));
    assert_eq!(operations as u64, rounds * (CASES * STEPS) as u64);
    assert_eq!(asked, answered + exhausted, "no other session has a row");
}

impl Comparison {
    fn now(&self) -> i64 {
        self.clock.millis()
    }

    async fn round(&mut self, mut random: Random, round: u64) {
        // A unique name, because other tests use the same server; nothing depends on it.
        let kind = format!("D{}", &LockId::random().reveal()[44..]);
        let floor = random.one_of(&[None, None, Some(0), Some(5), Some(100)]);
        let now = self.now();
        let mut cases: Vec<Case> =
            (0..CASES).map(|number| Case::random(&mut random, &kind, number, now, floor)).collect();
        self.dialect.write(&self.backend, cases.iter().map(|case| &case.rows)).await;
        for step in 0..STEPS {
            self.clock.advance(Duration::from_millis(random.one_of(&[0, 0, 0, 1, 1_000, 61_000, 299_999])));
            let now = self.now();
            let asked: Vec<(Operation, Form)> = cases.iter().map(|case| asked(case, &mut random)).collect();
            let answers = self.ask(&asked).await;
            let after = self.dialect.read(&self.backend, &kind).await;
            let mut after = by_case(after);
            for (number, (case, ((op, form), answer))) in cases.iter_mut().zip(asked.iter().zip(answers)).enumerate() {
                let decided = decide(op, &case.rows, now);
                let mut expected = case.rows.clone();
                let decided = decided.map(|(answer, changes)| {
                    changes.apply(&mut expected);
                    answer
                });
                self.exhausted += usize::from(*form == Form::Together && decided.is_err());
                expected.floors.clear();
                let found = after.remove(&number).unwrap_or_default();
                let known: BTreeSet<Vec<u8>> = case.locks.iter().map(|lock| lock.to_vec()).collect();
                let (expected, normal) = (normal_rows(&expected, &known), normal_rows(&found, &known));
                let decided = match &decided {
                    Ok(answer) => describe(answer),
                    Err(_) => "no generation is left".to_owned(),
                };
                let answer = match &answer {
                    Ok(answer) => describe(answer),
                    Err(DatabaseError::Other(_)) if decided == "no generation is left" => decided.clone(),
                    Err(error) => format!("failed: {error}"),
                };
                self.operations += 1;
                if (&decided, &expected) != (&answer, &normal) && self.differences.len() < MOST {
                    self.differences.push(difference(
                        &format!("round {round}, step {step}, case {number}, {form:?}: {op:?}"),
                        now,
                        &case.rows,
                        (&decided, &answer),
                        (&expected, &normal),
                    ));
                }
                case.rows = Rows { floors: std::mem::take(&mut case.rows.floors), ..found };
            }
        }
    }

    /// Runs the operations in the database, each in its form.
    async fn ask(&mut self, asked: &[(Operation, Form)]) -> Vec<Result<Answer, DatabaseError>> {
        let together: Vec<usize> = (0..asked.len()).filter(|&at| asked[at].1 == Form::Together).collect();
        let operations: Vec<&Operation> = together.iter().map(|&at| &asked[at].0).collect();
        self.asked += operations.len();
        let mut answers: Vec<Option<Answer>> = asked.iter().map(|_| None).collect();
        match leases::together(&self.backend, &operations, false).await {
            Ok(answered) => {
                for (at, answer) in together.into_iter().zip(answered) {
                    self.answered += usize::from(answer.is_some());
                    answers[at] = answer;
                }
            }
            Err(error) => self.differences.push(format!("operations together failed: {error}")),
        }
        let mut all = Vec::with_capacity(asked.len());
        for ((operation, form), answer) in asked.iter().zip(answers) {
            all.push(match answer {
                Some(answer) => Ok(answer),
                None if *form == Form::Within => self.ask_within(operation).await,
                None => leases::operate(&self.backend, operation).await,
            });
        }
        all
    }

    /// Runs an operation as a unit of work does.
    async fn ask_within(&self, operation: &Operation) -> Result<Answer, DatabaseError> {
        let mut tx = self.backend.begin(Wait::default(), None).await?;
        let answer = match operation {
            Operation::Check(proof) => Answer::Lease(leases::guard(&mut tx, proof).await?),
            Operation::Release(proof) => Answer::Lease(leases::release(&mut tx, proof).await?),
            Operation::ReleaseHeld(proof) => Answer::Lease(leases::release_held(&mut tx, proof).await?),
            Operation::Resume { proof, key } => Answer::Resumed(leases::resume(&mut tx, proof, key).await?),
            Operation::KeyState(key) => Answer::KeyState(leases::key_state(&mut tx, key).await?),
            other => unreachable!("no unit of work runs {other:?}"),
        };
        tx.commit(None).await?;
        Ok(answer)
    }
}

/// Operations that are sent together lock one row with different strengths: none passes a save under the lease that another would pass.
async fn no_operation_passes_a_guard(backend: impl Into<Backend>, clock: ManualClock) {
    let backend = backend.into();
    let kind = format!("G{}", &LockId::random().reveal()[44..]);
    for (expired, new_owner) in [(false, "kim"), (true, "lee")] {
        let key = LockKey::new(kind.clone(), new_owner);
        let request = |lock, owner: &str| LockRequest {
            key: key.clone(),
            lock,
            owner: Owner::new(owner, owner),
            policy: LockPolicy::exclusive(),
        };
        let lock = LockId::random().hash();
        leases::operate(&backend, &Operation::Take(request(lock, "kim"))).await.expect("it is free");
        let proof = Proof { lock, owner: None };
        let mut tx = backend.begin(Wait::default(), None).await.expect("a transaction");
        leases::guard(&mut tx, &proof).await.expect("an answer").expect("it is held");
        let theirs = if expired { LockId::random().hash() } else { lock };
        if expired {
            clock.advance(LockPolicy::exclusive().ttl);
        }
        let (keep, take) = (Operation::Keep(proof, Duration::ZERO), Operation::Take(request(theirs, new_owner)));
        for operations in [[&keep, &take], [&take, &keep]] {
            let answers = leases::together(&backend, &operations, false).await.expect("answers");
            let take = operations.iter().position(|operation| matches!(operation, Operation::Take(_)));
            assert!(answers[take.expect("it is there")].is_none(), "{answers:?}");
        }
        tx.commit(None).await.expect("a commit");
    }
}

/// A request that waited goes by the time after its wait, also if the clock was set back meanwhile: what was acquired since is alive.
async fn a_request_goes_by_the_time_after_its_wait(backend: impl Into<Backend>, clock: ManualClock) {
    let backend = backend.into();
    let key = LockKey::new(format!("W{}", &LockId::random().reveal()[44..]), "1");
    let request = |lock, owner: &str| LockRequest {
        key: key.clone(),
        lock,
        owner: Owner::new(owner, owner),
        policy: LockPolicy::exclusive(),
    };
    // Without a row at first, and then with one of a lease that has ended.
    for _ in 0..2 {
        let (kims, lees) = (LockId::random().hash(), LockId::random().hash());
        let kim_acquires = async {
            leases::operate(&backend, &Operation::Take(request(kims, "kim"))).await.expect("it is free");
            clock.set(clock.now() - Duration::from_secs(5));
            let shorter = Operation::ExpireWithin(Proof { lock: kims, owner: None }, Duration::from_secs(1));
            leases::operate(&backend, &shorter).await.expect("it is held");
        };
        let take = Operation::Take(request(lees, "lee"));
        let answer = leases::looked_at_before(&backend, &take, kim_acquires).await.expect("an answer");
        assert!(matches!(answer, Some(Answer::Taken(Attempt::Held(_) | Attempt::Lost))), "{answer:?}");
        clock.advance(Duration::from_secs(5));
    }
}

/// A random operation on a case, and how it is sent.
fn asked(case: &Case, random: &mut Random) -> (Operation, Form) {
    let operation = case.operation(random);
    let form = match &operation {
        Operation::ReleaseHeld(_) | Operation::Resume { .. } | Operation::KeyState(_) => Form::Within,
        Operation::Check(_) | Operation::Release(_) => random.one_of(&[Form::Together, Form::Alone, Form::Within]),
        Operation::Keep(..) | Operation::Extend(..) | Operation::ExpireWithin(..) => {
            random.one_of(&[Form::Together, Form::Alone])
        }
        Operation::Take(request) if request.policy.exclusive => random.one_of(&[Form::Together, Form::Alone]),
        _ => Form::Alone,
    };
    (operation, form)
}

/// The rows of each case, whose number is in its keys.
fn by_case(rows: Rows) -> BTreeMap<usize, Rows> {
    let mut cases: BTreeMap<usize, Rows> = BTreeMap::new();
    let number = |id: &str| id[1..].parse::<usize>().expect("a number");
    for (place, row) in rows.leases {
        cases.entry(number(place.key.id())).or_default().leases.insert(place, row);
    }
    for (lock, past) in rows.past {
        cases.entry(number(past.key.id())).or_default().past.insert(lock, past);
    }
    cases
}

/// Replaces lock hashes of no client, which are random in the databases.
fn normal_rows(rows: &Rows, known: &BTreeSet<Vec<u8>>) -> Rows {
    let normal = |hash: &Vec<u8>, generation: i64| match known.contains(hash) || hash.is_empty() {
        true => hash.clone(),
        false => format!("nobody's {generation}").into_bytes(),
    };
    let lease = |row: &LeaseRow| {
        let slot = normal(&row.place.slot, row.generation);
        let place = Place { slot, ..row.place.clone() };
        (place.clone(), LeaseRow { place, lock: normal(&row.lock, row.generation), ..row.clone() })
    };
    let past = |past: &Past| {
        let lock = normal(&past.lock, past.generation);
        ([past.key.id().as_bytes(), &lock].concat(), Past { lock, ..past.clone() })
    };
    Rows {
        leases: rows.leases.values().map(lease).collect(),
        past: rows.past.values().map(past).collect(),
        ..rows.clone()
    }
}

/// An answer as a text.
fn describe(answer: &Answer) -> String {
    match answer {
        Answer::Released(released) => {
            let mut released: Vec<String> = released.iter().map(|holder| format!("{holder:?}")).collect();
            released.sort();
            format!("Released {released:?}")
        }
        // SQLite needs no row to lock a key.
        Answer::KeyState(KeyState::NoRow) => format!("{:?}", Answer::KeyState(KeyState::Free)),
        other => format!("{other:?}"),
    }
}

fn difference(what: &str, now: i64, before: &Rows, answers: (&str, &str), rows: (&Rows, &Rows)) -> String {
    let mut text = format!("{what}\n  before:\n    {}\n", lines(before, now).join("\n    "));
    if answers.0 != answers.1 {
        write!(text, "  engine answers   {}\n  database answers {}\n", answers.0, answers.1).expect("a string");
    }
    let (engine, database) = (lines(rows.0, now), lines(rows.1, now));
    engine.iter().filter(|line| !database.contains(line)).for_each(|line| {
        writeln!(text, "  only by the engine   {line}").expect("a string");
    });
    database.iter().filter(|line| !engine.contains(line)).for_each(|line| {
        writeln!(text, "  only in the database {line}").expect("a string");
    });
    text
}

/// Rows as short texts: times in milliseconds from now, four digits of each lock hash.
fn lines(rows: &Rows, now: i64) -> Vec<String> {
    let hash = |hash: &[u8]| hash.iter().take(2).map(|byte| format!("{byte:02x}")).collect::<String>();
    let from_now = |at: i64| i128::from(at) - i128::from(now);
    let lease = |row: &LeaseRow| {
        format!(
            "{} {:?} lock {} gen {} {} {:?}{} since {} last {} input {} expires {} ttl {} idle {:?} hard {} unclaimed {}",
            row.place.key.id(),
            hash(&row.place.slot),
            hash(&row.lock),
            row.generation,
            row.owner.id,
            row.shown,
            if row.ended { " ended" } else { "" },
            from_now(row.since),
            from_now(row.last_active),
            from_now(row.active_at),
            from_now(row.expires_at),
            row.ttl,
            row.idle_limit,
            from_now(row.hard_until),
            row.unclaimed,
        )
    };
    let past = |past: &Past| {
        let Past { lock, key, generation, owner, since, ended_at, how, by, reason, idle, limited, shown } = past;
        let (lock, since, ended_at) = (hash(lock), from_now(*since), from_now(*ended_at));
        format!(
            "past {lock} {} gen {generation} {owner:?} {shown:?} since {since} {how:?} at {ended_at} by {by:?} {reason:?} \
             idle {idle} limited {limited}",
            key.id()
        )
    };
    let leases = rows.leases.values().map(lease);
    leases.chain(rows.past.values().map(past)).collect()
}

/// SQLite, with a clock of the test.
#[cfg(feature = "sqlite")]
async fn sqlite(directory: &tempfile::TempDir) -> (crate::db::sqlite::Sqlite, ManualClock) {
    let (clock, url) = (ManualClock::new(), format!("sqlite://{}/test.db", directory.path().display()));
    let options = crate::db::ConnectOptions::new().clock(clock.clone());
    (crate::db::sqlite::Sqlite::open(crate::db::Address::Url(&url), options).await.expect("it opens"), clock)
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_decides_as_the_engine() {
    let directory = tempfile::tempdir().expect("a folder");
    let (sqlite, clock) = sqlite(&directory).await;
    the_engine_decides_as(Dialect::Sqlite, sqlite, clock).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_request_goes_by_the_time_after_its_wait_on_sqlite() {
    let directory = tempfile::tempdir().expect("a folder");
    let (sqlite, clock) = sqlite(&directory).await;
    a_request_goes_by_the_time_after_its_wait(sqlite, clock).await;
}

/// PostgreSQL, with a clock of the test.
#[cfg(feature = "postgres")]
async fn postgres() -> (crate::db::postgres::Postgres, ManualClock) {
    let (clock, url) = (ManualClock::new(), testkit::server_url(testkit::Kind::Postgres));
    let options = crate::db::ConnectOptions::new().clock(clock.clone());
    (crate::db::postgres::Postgres::open(crate::db::Address::Url(&url), options).await.expect("it opens"), clock)
}

/// MariaDB, with a clock of the test.
#[cfg(feature = "mysql")]
async fn mariadb() -> (crate::db::mysql::MySql, ManualClock) {
    let (clock, url) = (ManualClock::new(), testkit::server_url(testkit::Kind::MariaDb));
    let options = crate::db::ConnectOptions::new().clock(clock.clone());
    (crate::db::mysql::MySql::open(crate::db::Address::Url(&url), options).await.expect("it opens"), clock)
}

#[cfg(feature = "postgres")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_decides_as_the_engine() {
    let (postgres, clock) = postgres().await;
    the_engine_decides_as(Dialect::Postgres, postgres, clock).await;
}

#[cfg(feature = "postgres")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test]
async fn no_operation_passes_a_guard_on_postgres() {
    let (postgres, clock) = postgres().await;
    no_operation_passes_a_guard(postgres, clock).await;
}

#[cfg(feature = "postgres")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test]
async fn a_request_goes_by_the_time_after_its_wait_on_postgres() {
    let (postgres, clock) = postgres().await;
    a_request_goes_by_the_time_after_its_wait(postgres, clock).await;
}

#[cfg(feature = "mysql")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_decides_as_the_engine() {
    let (mariadb, clock) = mariadb().await;
    the_engine_decides_as(Dialect::MySql, mariadb, clock).await;
}

#[cfg(feature = "mysql")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test]
async fn no_operation_passes_a_guard_on_mariadb() {
    let (mariadb, clock) = mariadb().await;
    no_operation_passes_a_guard(mariadb, clock).await;
}

#[cfg(feature = "mysql")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test]
async fn a_request_goes_by_the_time_after_its_wait_on_mariadb() {
    let (mariadb, clock) = mariadb().await;
    a_request_goes_by_the_time_after_its_wait(mariadb, clock).await;
}
