//! The lock manager's machinery on a simulated database: batches, waits, heartbeats, dropped calls, resumed leases.
//!
//! A run has several processes with several clients each, in simulated time on one thread. Every random decision comes from one seed, so a
//! seed repeats its run. The database is a table in memory whose operations the library's own engine decides; its requests and answers
//! take time, and in half of the runs they get lost. Clients do random things, drop some calls half-way, and processes are killed. Every
//! answer is compared with what really happened in the tables (`judge.rs`). In the end nothing may be left: no lease, no task.
//!
//! `TENURE_SEED=…` repeats one run and prints what happened in it, `TENURE_SEEDS=…` sets the number of runs: `cargo xtask simulate`.

mod backend;
mod judge;
mod link;
mod log;
mod person;
mod random;
mod tables;
mod work;
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::lease::limits::Limits;
use crate::lease::{Holder, LockKey, LockPolicy, Owner};
use crate::lock_manager::LockManager;
use crate::unit_of_work::Database;
use crate::unit_of_work::retry::REPEATED;
pub(crate) use link::Link;
use person::Person;
pub(crate) use work::Work;
use world::World;

/// Runs without a number of their own.
const SEEDS: u64 = 2_000;
/// The limit of leases of one owner.
const MOST: u32 = 4;
/// The most failed runs that are printed.
const MOST_FAILURES: usize = 10;
const PEOPLE: [&str; 5] = ["kim", "lee", "park", "choi", "jung"];
/// The clients of a process in which many requests are in flight at once.
const CROWD: usize = 10;
/// The steps of one client.
const STEPS: usize = 30;
/// After that every lease of a short type has expired, and every release in the background has ended.
const SILENCE: Duration = Duration::from_secs(60);

fn keys() -> Vec<LockKey> {
    [("Short", "1"), ("Short", "2"), ("Long", "1"), ("Note", "1")].map(|(kind, id)| LockKey::new(kind, id)).into()
}

fn manager(db: &Database) -> LockManager {
    let seconds = Duration::from_secs;
    let short = |policy: LockPolicy| policy.ttl(seconds(3)).expect("a valid policy");
    let long = LockPolicy::exclusive().ttl(seconds(3_600)).expect("a valid policy");
    let anybody = |_: &Owner, _: &Holder| true;
    LockManager::new(db)
        .with_policy("Short", short(LockPolicy::exclusive()))
        .with_policy("Long", long)
        .with_policy("Note", short(LockPolicy::advisory()))
        .with_take_over_permission("Short", anybody)
        .with_take_over_permission("Long", anybody)
        .with_limits(Limits { locks_per_owner: MOST, ..Limits::default() })
}

/// A process: its clients.
struct Process {
    link: Link,
    people: Vec<tokio::task::JoinHandle<Person>>,
}

impl Process {
    fn start(world: &Arc<World>, number: usize) -> Self {
        let link = Link::new(world, number);
        let db = Database::new(link.clone());
        let locks = manager(&db);
        // In a crowd requests share round trips, and people have two tabs.
        let crowd = world.random().percent(20);
        let clients = if crowd { CROWD } else { 1 + world.random().below(3) };
        let people = (0..clients).map(|client| {
            let name = format!("{}{number}", PEOPLE[client % PEOPLE.len()]);
            let person = Person {
                world: Arc::clone(world),
                db: db.clone(),
                locks: locks.clone(),
                owner: Owner::new(name.clone(), name),
                keys: keys(),
                used: Vec::new(),
                pauses: !crowd,
            };
            tokio::spawn(person.live(if crowd { STEPS / 2 } else { STEPS }))
        });
        Process { people: people.collect(), link }
    }

    /// Ends it as SIGKILL does.
    fn kill(&self) {
        self.link.kill();
        self.people.iter().for_each(|person| person.abort());
    }
}

async fn live(world: &Arc<World>) {
    let number = 1 + world.random().below(3);
    let mut processes: Vec<Process> = (0..number).map(|process| Process::start(world, process)).collect();
    if number > 1 && world.random().percent(35) {
        let victim = world.random().below(number);
        let after = world.random().millis(0, 15_000);
        tokio::time::sleep(after).await;
        world.tell(format_args!("process {victim} is killed"));
        processes[victim].kill();
    }
    let mut people = Vec::new();
    for process in &mut processes {
        for person in process.people.drain(..) {
            people.extend(person.await.ok().filter(|_| !process.link.is_dead()));
        }
    }
    world.tell("the end begins");
    world.calm_down();
    for person in people {
        person.leave().await;
    }
    tokio::time::sleep(SILENCE).await;
    world.judge_end(&keys(), usize::try_from(MOST).expect("it fits"));
    let killed = processes.iter().any(|process| process.link.is_dead());
    drop(processes);
    tokio::time::sleep(SILENCE).await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    if tasks > 0 && !killed {
        world.violated(format_args!("{tasks} tasks still run"));
    }
}

/// Runs a seed.
fn run(seed: u64) -> Arc<World> {
    REPEATED.set(Some(seed));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let world = World::new(seed);
        live(&world).await;
        world
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn runs(seeds: u64) {
    if let Some(seed) = number("TENURE_SEED") {
        let world = run(seed);
        println!("{}", world.trace().join("\n"));
        return world.verdict().expect("nothing is violated");
    }
    let (begun, seeds, from) =
        (Instant::now(), number("TENURE_SEEDS").unwrap_or(seeds), number("TENURE_FROM").unwrap_or(1));
    let (mut calls, mut leases, mut failed) = (0, 0, Vec::new());
    for seed in from..from + seeds {
        let world = run(seed);
        failed.extend(world.verdict().err());
        if failed.len() == MOST_FAILURES {
            break;
        }
        (calls, leases) = (calls + world.calls(), leases + world.tables().log.spans.len());
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    println!("{seeds} seeds from {from}: {calls} calls, {leases} leases, {} ms", begun.elapsed().as_millis());
    assert!(calls > seeds * 20 && leases > seeds as usize * 5, "the clients did too little");
}

#[test]
fn hundred_simulated_runs_violate_nothing() {
    runs(100);
}

#[test]
#[ignore = "two minutes; `cargo xtask verify simulation` runs it"]
fn many_simulated_runs_violate_nothing() {
    runs(SEEDS);
}

#[test]
fn seed_repeats_its_run() {
    for seed in 1..=30 {
        let (once, again) = (run(seed).trace(), run(seed).trace());
        let same = once.iter().zip(&again).take_while(|(once, again)| once == again).count();
        assert_eq!(once.get(same), again.get(same), "seed {seed}, after {:#?}", &once[same.saturating_sub(20)..same]);
    }
}
