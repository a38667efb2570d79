//! The standby of the model, and the pause of grants after it has become the writer. The length of the pause is the library's.

use std::time::Duration;

use super::Scenario;
use super::bug::Bug;
use super::database::{TTL, holds};
use super::state::{Facts, Message, Op, Standby, State};
use crate::lease::engine::Declared;

/// A transaction is about to commit: an asynchronous standby lacks it, until it applies all that it lacks.
pub(super) fn before_commit(scenario: &Scenario, state: &mut State) {
    if state.failovers > 0 && !scenario.synchronous && state.standby.is_none() {
        state.standby = Some(Box::new(Standby { store: state.store.clone(), facts: state.facts.clone() }));
    }
}

/// The standby becomes the writer. What it lacks never happened: the facts are those of its last commit, but for what clients were told.
pub(super) fn fail_over(scenario: &Scenario, state: &mut State) {
    state.failovers -= 1;
    if let Some(standby) = state.standby.take() {
        state.has_lost |= standby.store != state.store;
        let acknowledged = std::mem::take(&mut state.facts.acknowledged);
        (state.store, state.facts) = (standby.store, Facts { acknowledged, ..standby.facts });
        // From now on its writes are other ones than those that were lost, also where their versions are the same.
        state.store.aggregate.branch += 1;
    }
    let lossless = scenario.synchronous || scenario.has(Bug::FalselySynchronous);
    let declared = Declared { lossless, longest_ttl: Some(Duration::from_millis(TTL as u64)) };
    if !scenario.has(Bug::GrantsAfterFailover) {
        state.no_grants_before = declared.no_grants_before(state.no_grants_before, state.now(), Duration::ZERO);
    }
}

/// Whether a request is refused for the moment, and sent again later: it would be a grant during the pause (`lock_manager/gate.rs`).
pub(super) fn waits(scenario: &Scenario, state: &State, message: &Message) -> bool {
    let lock = match message.op {
        Op::Take(lock) | Op::TakeOver(lock, _) => lock,
        Op::Resume(lock) if !scenario.has(Bug::ResumesInPause) => lock,
        _ => return false,
    };
    message.answer.is_none() && state.now() < state.no_grants_before && !holds(state, lock)
}
