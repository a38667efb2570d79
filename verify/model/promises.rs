//! Properties that must hold in every state, and states that must be reached.

use stateright::Property;

use super::Scenario;
use super::database::{is_free, is_known};
use super::state::{Promise, State};

pub(super) const ONE_LIVE_LEASE: &str = "one live lease";
pub(super) const ONE_BELIEVES: &str = "one client at most believes that it holds the lease";
pub(super) const GENERATION_RISES: &str = "the generation rises";
pub(super) const ENDED_STAYS_ENDED: &str = "a lease that ended stays ended";
pub(super) const SAVED_UNDER_LIVE_LEASE: &str = "saved under a live lease";
pub(super) const SAVED_BESIDE_NOBODY: &str = "saved beside nobody's lease";
pub(super) const SAVED_ON_SEEN_VERSION: &str = "saved on the version that was seen";
pub(super) const ACKNOWLEDGED_ONCE: &str = "an acknowledged save is there, once";
pub(super) const LIVE_UNTIL_ITS_END: &str = "a lease is alive until its end";
pub(super) const FREE_IS_GRANTED: &str = "a free lease is granted";

fn unbroken(state: &State, promise: Promise) -> bool {
    !state.facts.broken.contains(&promise)
}

/// All promises.
pub(super) fn all() -> Vec<Property<Scenario>> {
    vec![
        Property::always(ONE_LIVE_LEASE, |_, state| unbroken(state, Promise::OneLiveLease)),
        Property::always(ONE_BELIEVES, |scenario: &Scenario, state: &State| {
            let believing = state.clients.iter().filter(|client| client.believes_until > state.time).count();
            believing <= 1 || !scenario.is_belief_promised()
        }),
        Property::always(GENERATION_RISES, |_, state| unbroken(state, Promise::GenerationRises)),
        Property::always(ENDED_STAYS_ENDED, |_, state| unbroken(state, Promise::EndedStaysEnded)),
        Property::always(SAVED_UNDER_LIVE_LEASE, |_, state| unbroken(state, Promise::SavedUnderLiveLease)),
        Property::always(SAVED_BESIDE_NOBODY, |_, state| unbroken(state, Promise::SavedBesideNobody)),
        Property::always(SAVED_ON_SEEN_VERSION, |_, state| unbroken(state, Promise::SavedOnSeenVersion)),
        Property::always(ACKNOWLEDGED_ONCE, |_, state: &State| {
            let log = &state.store.aggregate.log;
            let times = |client: &usize| log.iter().filter(|writer| *writer == client).count();
            let versions = state.store.aggregate.at.version == 1 + log.len() as i64;
            state.facts.acknowledged.iter().all(|client| times(client) == 1)
                && state.facts.committed.iter().all(|client| times(client) == 1)
                && versions
        }),
        Property::always(LIVE_UNTIL_ITS_END, |_, state| is_known(state)),
        Property::always(FREE_IS_GRANTED, |scenario: &Scenario, state: &State| {
            state.is_live() || is_free(scenario, state)
        }),
        // The model proves nothing if these states are never reached.
        Property::sometimes("a client's save is acknowledged", |_, state: &State| !state.facts.acknowledged.is_empty()),
        Property::sometimes("a lease expires and another one follows", |scenario: &Scenario, state: &State| {
            state.facts.followed || !scenario.has_followers()
        }),
        Property::sometimes("all clients save", |scenario: &Scenario, state: &State| {
            state.facts.acknowledged.len() == scenario.savers()
        }),
    ]
}
