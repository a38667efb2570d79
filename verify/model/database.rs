//! The database of the model: every operation is one transaction that calls the library's engine. Faulty variants differ here.

use std::time::Duration;

use super::Scenario;
use super::bug::Bug;
use super::state::{Half, Lock, Message, Op, Outcome, Promise, Seen, State};
use crate::lease::engine::{Answer, LeaseRow, Operation, Place, decide, sweep as sweep_by};
use crate::lease::operations::{Attempt, KeyState, LockHash, LockRequest, Proof, Resumption, TakenOver};
use crate::lease::{LockKey, LockPolicy, Owner};

/// The time to live of a lease, in ticks. A tick is a millisecond.
pub(super) const TTL: i64 = 2;
/// The time at which the model starts.
const START: i64 = 1_000;

pub(super) fn key() -> LockKey {
    LockKey::new("Order", "1")
}

fn owner(of: u8) -> Owner {
    Owner::new(of.to_string(), "")
}

fn hash(lock: Lock) -> LockHash {
    [lock; 32]
}

fn proof(lock: Lock, of: u8) -> Proof {
    Proof { lock: hash(lock), owner: Some(of.to_string()) }
}

/// A request for the exclusive lease.
pub(super) fn request(lock: Lock, of: u8) -> LockRequest {
    let policy = LockPolicy { ttl: Duration::from_millis(TTL as u64), ..LockPolicy::exclusive() };
    LockRequest { key: key(), lock: hash(lock), owner: owner(of), policy }
}

/// Runs an operation in the engine and commits its changes.
fn ask(state: &mut State, operation: &Operation, now: i64) -> Answer {
    let (answer, changes) = decide(operation, &state.store.rows, START + now).expect("a generation is left");
    changes.apply(&mut state.store.rows);
    answer
}

/// Whether a client without earlier requests would get the lease.
pub(super) fn is_free(scenario: &Scenario, state: &State) -> bool {
    let mut state = state.clone();
    let nobody = Message { client: usize::MAX, op: Op::Take(255), sent: 0, answer: None };
    let now = state.now();
    matches!(take(scenario, &mut state, &nobody, 255, 255, now), Some(Outcome::Granted(_)))
}

/// Whether the engine still has the row of the live lease.
pub(super) fn is_known(state: &State) -> bool {
    let Some(live) = state.facts.lease.filter(|lease| lease.until > state.now()) else { return true };
    let proof = Proof { lock: hash(live.lock), owner: None };
    let decided = decide(&Operation::Check(proof), &state.store.rows, START + state.now());
    matches!(decided, Ok((Answer::Lease(Ok(holder)), _)) if holder.generation == live.generation)
}

/// Runs one request. `None`: a faulty variant has not finished it.
pub(super) fn execute(scenario: &Scenario, state: &mut State, message: &Message) -> Option<Outcome> {
    let client = &state.clients[message.client];
    let of = client.owner;
    // The mistake: the second client's clock is ahead.
    let ahead = if scenario.has(Bug::ClientClock) && message.client == 1 { TTL } else { 0 };
    let now = state.now() + ahead;
    if scenario.has(Bug::AsynchronousCommit) {
        state.durable = Some(Box::new(state.store.clone()));
    }
    Some(match message.op {
        Op::Take(lock) => return take(scenario, state, message, lock, of, now),
        Op::Keep(lock) => keep(scenario, state, lock, of, now),
        Op::Resume(lock) => resume(scenario, state, lock, of, now),
        Op::Save(lock, _) => {
            // The mistake: both holders own the millisecond of the expiry.
            let now = if scenario.has(Bug::ExpiryInclusive) { now - 1 } else { now };
            let checked = ask(state, &Operation::Check(proof(lock, of)), now);
            if !scenario.has(Bug::SaveUnchecked) && !matches!(checked, Answer::Lease(Ok(_))) {
                return Some(Outcome::Refused);
            }
            if scenario.has(Bug::CheckThenWrite) {
                state.halves.push(Half::Write(*message));
                return None;
            }
            write(scenario, state, message)
        }
        Op::Release(lock) => release(scenario, state, lock, of, now),
        Op::Read => {
            let live = match ask(state, &Operation::KeyState(key()), now) {
                Answer::KeyState(KeyState::Held(holder)) => Some(holder.generation),
                _ => None,
            };
            Outcome::Read(state.store.aggregate.at, live)
        }
        Op::SaveFree(_) | Op::Replace(_) => {
            let held = matches!(ask(state, &Operation::KeyState(key()), now), Answer::KeyState(KeyState::Held(_)));
            if held && !scenario.has(Bug::LockIgnored) {
                return Some(Outcome::Refused);
            }
            write(scenario, state, message)
        }
        Op::Break(generation) => {
            let operation = Operation::Break { key: key(), generation, by: owner(of), reason: "gone home".into() };
            match ask(state, &operation, now) {
                Answer::Broken(Some(_)) => {
                    state.ended_early(|live| live.generation == generation);
                    Outcome::Done
                }
                _ => Outcome::Refused,
            }
        }
        Op::TakeOver(lock, generation) => {
            let request = request(lock, of);
            let operation = Operation::TakeOver { request, generation, reason: "gone home".into() };
            match ask(state, &operation, now) {
                Answer::TakenOver(TakenOver::Granted(holder)) => {
                    state.ended_early(|live| live.generation == generation && live.lock != lock);
                    state.granted(lock, holder.generation);
                    Outcome::Granted(state.store.aggregate.at)
                }
                _ => Outcome::Refused,
            }
        }
    })
}

fn take(scenario: &Scenario, state: &mut State, message: &Message, lock: Lock, of: u8, now: i64) -> Option<Outcome> {
    let place = Place::exclusive(&key());
    let instant = START + now;
    if let Some(row) = state.store.rows.leases.get(&place).cloned() {
        let (alive, same) = (row.alive(instant), row.lock == hash(lock));
        if scenario.has(Bug::ExpiredStays) && row.ran_out_unrecorded(instant) && !same {
            return Some(Outcome::Refused);
        }
        if scenario.has(Bug::TakenInTwoSteps) && !alive && !same && message.client != usize::MAX {
            state.halves.push(Half::Insert(*message));
            return None;
        }
        if scenario.has(Bug::ReentrantByOwner) && alive && !same && row.owner.id == of.to_string() {
            state.granted(lock, row.generation);
            return Some(Outcome::Granted(state.store.aggregate.at));
        }
    }
    let taken = ask(state, &Operation::Take(request(lock, of)), now);
    if scenario.has(Bug::HistoryForgotten) {
        state.store.rows.past.clear();
    }
    Some(match taken {
        Answer::Taken(Attempt::Granted(holder)) => {
            state.granted(lock, holder.generation);
            Outcome::Granted(state.store.aggregate.at)
        }
        _ => Outcome::Refused,
    })
}

/// The second half of an operation that a faulty variant has split.
pub(super) fn finish(scenario: &Scenario, state: &mut State, half: Half) -> (Message, Outcome) {
    match half {
        Half::Write(message) => (message, write(scenario, state, &message)),
        Half::Insert(message) => {
            let Op::Take(lock) = message.op else { unreachable!("only a request for a lease is inserted") };
            let of = state.clients[message.client].owner;
            if let Some(row) = state.store.rows.leases.remove(&Place::exclusive(&key())) {
                state.store.rows.floors.insert(key().kind().to_owned(), row.generation);
            }
            let now = state.now();
            let outcome = match ask(state, &Operation::Take(request(lock, of)), now) {
                Answer::Taken(Attempt::Granted(holder)) => {
                    state.granted(lock, holder.generation);
                    Outcome::Granted(state.store.aggregate.at)
                }
                _ => Outcome::Refused,
            };
            (message, outcome)
        }
    }
}

fn keep(scenario: &Scenario, state: &mut State, lock: Lock, of: u8, now: i64) -> Outcome {
    let place = Place::exclusive(&key());
    let row = state.store.rows.leases.get(&place).filter(|row| row.lock == hash(lock)).cloned();
    if let Some(row) = row.filter(|_| scenario.has(Bug::HeartbeatRevives)) {
        state.store.rows.leases.insert(place, LeaseRow { ended: false, expires_at: START + now + TTL, ..row });
    }
    match ask(state, &Operation::Keep(proof(lock, of), Duration::ZERO), now) {
        Answer::Lease(Ok(_)) => {
            state.kept(lock, false);
            Outcome::Done
        }
        _ => Outcome::Refused,
    }
}

fn resume(scenario: &Scenario, state: &mut State, lock: Lock, of: u8, now: i64) -> Outcome {
    let place = Place::exclusive(&key());
    let row = state.store.rows.leases.get(&place).filter(|row| !row.alive(START + now)).cloned();
    if let Some(row) = row.filter(|_| scenario.has(Bug::ResumeAfterAnother)) {
        let resumed = LeaseRow { lock: hash(lock).to_vec(), owner: owner(of), ended: false, ..row };
        state.store.rows.past.remove(&hash(lock)[..]);
        state.store.rows.leases.insert(place, resumed);
    }
    match ask(state, &Operation::Resume { proof: proof(lock, of), key: key() }, now) {
        Answer::Resumed(Resumption::Resumed(_)) => {
            state.kept(lock, true);
            Outcome::Done
        }
        _ => Outcome::Refused,
    }
}

fn release(scenario: &Scenario, state: &mut State, lock: Lock, of: u8, now: i64) -> Outcome {
    if scenario.has(Bug::ReleaseByKey) {
        state.store.rows.leases.values_mut().for_each(|row| row.ended = true);
        state.ended_early(|live| live.lock == lock);
        return Outcome::Done;
    }
    match ask(state, &Operation::Release(proof(lock, of)), now) {
        Answer::Lease(Ok(_)) => {
            state.ended_early(|live| live.lock == lock);
            Outcome::Done
        }
        _ => Outcome::Refused,
    }
}

/// The second part of a saving transaction: compares the version and writes.
fn write(scenario: &Scenario, state: &mut State, message: &Message) -> Outcome {
    let at = state.store.aggregate.at;
    let (seen, lock) = match message.op {
        Op::Save(lock, seen) => (seen, Some(lock)),
        Op::SaveFree(seen) | Op::Replace(seen) => (seen, None),
        other => unreachable!("{other:?} writes nothing"),
    };
    if seen.version != at.version && !scenario.has(Bug::VersionUnchecked) {
        return Outcome::Refused;
    }
    let live = state.is_live();
    match lock {
        Some(lock) if !live || state.facts.lease.is_none_or(|lease| lease.lock != lock) => {
            state.facts.broken.insert(Promise::SavedUnderLiveLease);
        }
        None if live => {
            state.facts.broken.insert(Promise::SavedBesideNobody);
        }
        _ => {}
    }
    if seen != at {
        state.facts.broken.insert(Promise::SavedOnSeenVersion);
    }
    let aggregate = &mut state.store.aggregate;
    let next = Seen { version: at.version + 1, ..at };
    aggregate.at = match message.op {
        Op::Replace(_) if scenario.has(Bug::VersionsRestart) => Seen { life: at.life + 1, version: 1 },
        Op::Replace(_) => Seen { life: at.life + 1, ..next },
        _ => next,
    };
    aggregate.log.push(message.client);
    state.facts.committed.push(message.client);
    Outcome::Done
}

/// Deletes every row whose lease has ended or expired. The history is kept longer.
pub(super) fn sweep(scenario: &Scenario, state: &mut State) {
    let now = START + state.now();
    let mut changes = sweep_by(&state.store.rows, now);
    if scenario.has(Bug::GenerationInRow) {
        changes.floors.clear();
    }
    changes.apply(&mut state.store.rows);
    if let Some(lease) = state.facts.lease.filter(|lease| START + lease.until <= now) {
        state.facts.ended.insert(lease.lock);
        state.facts.lease = None;
    }
}
