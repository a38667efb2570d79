//! Looks for one order of the calls that the mutex allows.

use std::collections::HashSet;

use super::calls::Calls;
use super::state::State;

/// The most places that are visited for one key.
const MOST: usize = 50_000;

/// What came of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// There is an order.
    Order,
    /// There is none: every beginning of an order ends before this call, or at one before it.
    None {
        /// The first call that is in no beginning.
        at: usize,
    },
    /// Nobody knows: there are too many.
    TooMany,
}

/// A beginning of an order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    /// All calls before this one are in it.
    first: usize,
    /// Which ones of the later calls are, in their order.
    later: Vec<usize>,
    /// Which of the calls of unknown outcome are.
    unknown: Vec<usize>,
    state: State,
}

/// Searches, the simplest explanation first.
pub(super) fn search(calls: &Calls) -> Found {
    let start = Place { first: 0, later: Vec::new(), unknown: Vec::new(), state: State::default() };
    let (mut open, mut visited, mut furthest) = (vec![start], HashSet::new(), 0);
    while let Some(mut place) = open.pop() {
        place.take_what_changes_nothing(calls);
        furthest = furthest.max(place.first);
        if place.first == calls.sure.len() {
            return Found::Order;
        }
        if visited.len() >= MOST {
            return Found::TooMany;
        }
        if visited.insert(place.clone()) {
            place.next(calls, &mut open);
        }
    }
    Found::None { at: furthest }
}

impl Place {
    /// The end of the time in which the next call has to happen.
    fn deadline(&self, calls: &Calls) -> u64 {
        let waiting = (self.first..calls.sure.len()).filter(|at| !self.later.contains(at));
        let mut deadline = u64::MAX;
        for at in waiting {
            if calls.sure[at].from > deadline {
                break;
            }
            deadline = deadline.min(calls.sure[at].to);
        }
        deadline
    }

    /// The calls that can be next.
    fn candidates(&self, calls: &Calls) -> Vec<usize> {
        let deadline = self.deadline(calls);
        let waiting = (self.first..calls.sure.len()).take_while(|at| calls.sure[*at].from <= deadline);
        waiting.filter(|at| !self.later.contains(at)).collect()
    }

    /// A call that changes nothing, and can be next, is next: no other order can be better for the others.
    fn take_what_changes_nothing(&mut self, calls: &Calls) {
        loop {
            let same = |at: &usize| self.state.after(&calls.sure[*at], calls) == Some(self.state);
            let Some(at) = self.candidates(calls).into_iter().find(same) else { return };
            self.take(at);
        }
    }

    fn take(&mut self, at: usize) {
        let place = self.later.partition_point(|other| *other < at);
        self.later.insert(place, at);
        let gone = self.later.iter().enumerate().take_while(|(n, at)| **at == self.first + n).count();
        self.later.drain(..gone);
        self.first += gone;
    }

    /// All places after this one. The last of them is visited first.
    fn next(&self, calls: &Calls, open: &mut Vec<Place>) {
        let deadline = self.deadline(calls);
        for (at, (sent, lock)) in calls.unknown.iter().enumerate() {
            if *sent > deadline || self.unknown.contains(&at) {
                continue;
            }
            if let Some(state) = self.state.after_unknown(*sent, *lock, deadline, calls) {
                let mut place = Place { state, ..self.clone() };
                let after = place.unknown.partition_point(|other| *other < at);
                place.unknown.insert(after, at);
                open.push(place);
            }
        }
        for at in self.candidates(calls).into_iter().rev() {
            if let Some(state) = self.state.after(&calls.sure[at], calls) {
                let mut place = Place { state, ..self.clone() };
                place.take(at);
                open.push(place);
            }
        }
    }
}
