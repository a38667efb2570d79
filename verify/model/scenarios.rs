//! The scenarios: each is explored completely, and each faulty variant is detected.

use std::time::Duration;

use stateright::{Checker, Model};

use super::Scenario;
use super::bug::Bug;
use super::promises::{
    ACKNOWLEDGED_ONCE, ENDED_STAYS_ENDED, FREE_IS_GRANTED, GENERATION_RISES, LIVE_UNTIL_ITS_END, ONE_BELIEVES,
    ONE_LIVE_LEASE, SAVED_BESIDE_NOBODY, SAVED_ON_SEEN_VERSION, SAVED_UNDER_LIVE_LEASE,
};
use super::state::Role::{self, Breaking, Editor, Replacer, Returning, TakingOver, Writer};

/// The number of explored states of three clients; they have too many to explore all.
const BOUND: usize = 60_000;

impl Scenario {
    fn of(roles: &[Role]) -> Self {
        let clients = roles.iter().copied().zip(0..).collect();
        Scenario { clients, until: 2, repeats: 0, heartbeats: 0, crashes: 0, steps: 0, sweeps: 0, bug: None }
    }

    fn wrong(self, bug: Bug) -> Self {
        Scenario { bug: Some(bug), ..self }
    }

    /// True if only holders end their leases, and all clocks agree on the length of a tick. Otherwise a holder may believe in a lease that
    /// has ended, and the check in the saving transaction protects the aggregate.
    pub(super) fn is_belief_promised(&self) -> bool {
        self.steps == 0 && !self.clients.iter().any(|(role, _)| matches!(role, Breaking | TakingOver))
    }

    /// Whether another client can acquire the lease later.
    pub(super) fn has_followers(&self) -> bool {
        self.clients.iter().filter(|(role, _)| matches!(role, Editor | Returning)).count() > 1
    }

    /// The number of clients that can save in one run.
    pub(super) fn savers(&self) -> usize {
        let saves = |role: &Role| !matches!(role, Breaking);
        self.clients.iter().filter(|(role, _)| saves(role)).count()
    }

    /// Explores all states, and expects every promise to hold.
    fn holds(self) {
        let checker = self.clone().checker().threads(2).spawn_bfs().join();
        println!("{} states, depth {}: {self:?}", checker.unique_state_count(), checker.max_depth());
        checker.assert_properties();
    }

    /// Explores some of the states.
    fn holds_as_far_as_explored(self) {
        let checker = self.clone().checker().threads(2).target_state_count(BOUND).spawn_bfs().join();
        println!("{} states, depth {}, not all: {self:?}", checker.unique_state_count(), checker.max_depth());
        for (name, path) in checker.discoveries() {
            let promised = super::promises::all()
                .into_iter()
                .any(|promise| promise.name == name && matches!(promise.expectation, stateright::Expectation::Always));
            assert!(!promised, "{name}: {path}");
        }
    }

    /// Expects that this promise is broken, and prints the trace.
    fn breaks(self, promise: &'static str) {
        let started = std::time::Instant::now();
        let checker = self.clone().checker().threads(2).timeout(Duration::from_secs(120)).spawn_bfs().join();
        let path = checker.discovery(promise).unwrap_or_else(|| panic!("{:?} keeps {promise:?}", self.bug));
        let (states, after) = (checker.unique_state_count(), started.elapsed());
        let actions = path.into_actions();
        println!("{:?} breaks {promise:?} in {} actions ({states} states, {after:?}):", self.bug, actions.len());
        actions.iter().for_each(|action| println!("  {action:?}"));
    }
}

#[test]
fn two_editors_and_a_crash() {
    Scenario { crashes: 1, heartbeats: 1, ..Scenario::of(&[Editor, Editor]) }.holds();
}

#[test]
fn two_editors_whose_requests_come_twice() {
    Scenario { repeats: 1, ..Scenario::of(&[Editor, Editor]) }.holds();
}

#[test]
fn an_editor_and_an_optimistic_writer() {
    Scenario { repeats: 1, crashes: 1, ..Scenario::of(&[Editor, Writer]) }.holds();
}

#[test]
fn two_optimistic_writers() {
    Scenario { repeats: 2, crashes: 1, until: 1, ..Scenario::of(&[Writer, Writer]) }.holds();
}

#[test]
fn two_editors_and_a_sweeper() {
    Scenario { sweeps: 1, heartbeats: 1, ..Scenario::of(&[Editor, Editor]) }.holds();
}

#[test]
fn an_editor_and_somebody_who_breaks_leases() {
    Scenario { repeats: 1, heartbeats: 1, ..Scenario::of(&[Editor, Breaking]) }.holds();
}

#[test]
fn an_editor_and_somebody_who_takes_leases_over() {
    Scenario { repeats: 1, ..Scenario::of(&[Editor, TakingOver]) }.holds();
}

#[test]
fn an_editor_who_resumes() {
    Scenario { heartbeats: 1, crashes: 1, sweeps: 1, ..Scenario::of(&[Returning, Editor]) }.holds();
}

#[test]
fn two_tabs_of_one_person() {
    let tabs = Scenario { clients: vec![(Editor, 0), (Editor, 0)], ..Scenario::of(&[Editor, Editor]) };
    Scenario { repeats: 1, ..tabs }.holds();
}

#[test]
fn two_editors_while_the_clock_steps() {
    Scenario { steps: 1, heartbeats: 1, until: 2, ..Scenario::of(&[Editor, Editor]) }.holds();
}

#[test]
fn an_aggregate_that_is_deleted_and_inserted() {
    Scenario { repeats: 1, ..Scenario::of(&[Editor, Replacer]) }.holds();
    Scenario { repeats: 1, until: 1, ..Scenario::of(&[Writer, Replacer]) }.holds();
}

#[test]
fn three_clients_of_every_kind() {
    Scenario { repeats: 1, crashes: 1, ..Scenario::of(&[Editor, Editor, Editor]) }.holds_as_far_as_explored();
    Scenario { repeats: 1, ..Scenario::of(&[Editor, Writer, Breaking]) }.holds_as_far_as_explored();
    Scenario { sweeps: 1, steps: 1, ..Scenario::of(&[Returning, TakingOver, Writer]) }.holds_as_far_as_explored();
}

#[test]
fn every_wrong_build_is_found() {
    let editors = || Scenario::of(&[Editor, Editor]);
    let alive = || Scenario { heartbeats: 1, ..editors() };
    let twice = || Scenario { repeats: 1, ..editors() };
    let mixed = || Scenario::of(&[Editor, Writer]);
    editors().wrong(Bug::ClientClock).breaks(ONE_LIVE_LEASE);
    editors().wrong(Bug::ReleaseByKey).breaks(LIVE_UNTIL_ITS_END);
    editors().wrong(Bug::SaveUnchecked).breaks(SAVED_UNDER_LIVE_LEASE);
    editors().wrong(Bug::CheckThenWrite).breaks(SAVED_UNDER_LIVE_LEASE);
    Scenario { sweeps: 1, ..editors() }.wrong(Bug::GenerationInRow).breaks(GENERATION_RISES);
    twice().wrong(Bug::HistoryForgotten).breaks(ENDED_STAYS_ENDED);
    alive().wrong(Bug::HeartbeatRevives).breaks(ENDED_STAYS_ENDED);
    editors().wrong(Bug::DeadlineFromReceipt).breaks(ONE_BELIEVES);
    editors().wrong(Bug::ExpiredStays).breaks(FREE_IS_GRANTED);
    Scenario::of(&[Editor, Editor, Editor]).wrong(Bug::TakenInTwoSteps).breaks(ONE_LIVE_LEASE);
    let tabs = Scenario { clients: vec![(Editor, 0), (Editor, 0)], ..editors() };
    tabs.wrong(Bug::ReentrantByOwner).breaks(ONE_LIVE_LEASE);
    mixed().wrong(Bug::VersionUnchecked).breaks(SAVED_ON_SEEN_VERSION);
    mixed().wrong(Bug::LockIgnored).breaks(SAVED_BESIDE_NOBODY);
    editors().wrong(Bug::AsynchronousCommit).breaks(ACKNOWLEDGED_ONCE);
    editors().wrong(Bug::ExpiryInclusive).breaks(SAVED_UNDER_LIVE_LEASE);
    Scenario { until: 0, ..Scenario::of(&[Writer, Replacer]) }
        .wrong(Bug::VersionsRestart)
        .breaks(SAVED_ON_SEEN_VERSION);
    Scenario { heartbeats: 1, ..Scenario::of(&[Returning, Editor]) }
        .wrong(Bug::ResumeAfterAnother)
        .breaks(ENDED_STAYS_ENDED);
}
