//! Admission: decides which requests may be sent to the database, and when. It neither waits nor sends.

use std::collections::VecDeque;

/// How many requests must wait to start a second round trip beside a batch in flight. Fewer are better off in the next batch:
/// a batch shares the cost of a round trip, and flushes of the log are serialized anyway.
const MANY: usize = 32;
/// The maximum number of round trips in flight, also when some are late.
const MOST_UNDER_WAY: usize = 4;

/// The admission state of one queue, with its waiting requests.
#[derive(Debug)]
pub(super) struct Lane<T> {
    pub(super) queue: VecDeque<T>,
    /// Up to this number, the database answers single requests at less cost than a batch.
    few: usize,
    /// Round trips in flight with one request, and with several.
    alone: usize,
    together: usize,
    /// The size of the largest recent round trip.
    lately: usize,
    /// How many round trips have begun.
    begun: u64,
    /// Whether a watchdog task runs for the waiting requests.
    pub(super) watched: bool,
}

impl<T> Lane<T> {
    pub(super) fn new(few: usize) -> Self {
        Lane { queue: VecDeque::new(), few, alone: 0, together: 0, lately: 0, begun: 0, watched: false }
    }

    /// Whether the waiting requests may be sent now.
    pub(super) fn may_go(&self) -> bool {
        let busy = self.lately > self.few;
        match self.queue.len() {
            0 => false,
            _ if self.under_way() == 0 => true,
            waiting if busy || self.together > 0 => waiting >= MANY && self.under_way() < 2,
            1 => self.alone < self.few,
            _ => true,
        }
    }

    /// Whether the waiting requests should be sent out of turn: no round trip began since `since`, so those in flight
    /// do not return.
    pub(super) fn is_late(&self, since: u64) -> bool {
        !self.queue.is_empty() && self.begun == since && self.under_way() < MOST_UNDER_WAY
    }

    /// Number of round trips begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    pub(super) fn under_way(&self) -> usize {
        self.alone + self.together
    }

    /// A round trip with this many requests begins.
    pub(super) fn begin(&mut self, count: usize) {
        self.begun += 1;
        self.lately = count.max(self.lately - self.lately.div_ceil(8));
        *self.like(count) += 1;
    }

    /// A round trip with this many requests has ended.
    pub(super) fn end(&mut self, count: usize) {
        *self.like(count) -= 1;
    }

    fn like(&mut self, count: usize) -> &mut usize {
        if count == 1 { &mut self.alone } else { &mut self.together }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many requests arrive one after the other; returns the sizes of the round trips that began.
    fn come(lane: &mut Lane<()>, count: usize) -> Vec<usize> {
        let mut begun = Vec::new();
        for _ in 0..count {
            lane.queue.push_back(());
            begun.extend(go(lane));
        }
        begun
    }

    fn go(lane: &mut Lane<()>) -> Option<usize> {
        lane.may_go().then(|| {
            let count = lane.queue.drain(..).count();
            lane.begin(count);
            count
        })
    }

    /// A round trip returns, and the waiting requests are sent if admitted.
    fn back(lane: &mut Lane<()>, count: usize) -> Option<usize> {
        lane.end(count);
        go(lane)
    }

    #[test]
    fn a_few_go_at_once_and_alone() {
        let mut lane = Lane::new(4);
        assert_eq!(come(&mut lane, 4), [1, 1, 1, 1]);
        assert_eq!(back(&mut lane, 1), None, "nobody waits");
        assert_eq!(come(&mut lane, 1), [1]);
    }

    #[test]
    fn where_one_writes_at_a_time_the_second_waits_for_the_third() {
        let mut lane = Lane::new(1);
        assert_eq!(come(&mut lane, 3), [1, 2]);
    }

    #[test]
    fn those_who_come_while_many_are_under_way_go_together_when_they_are_back() {
        let mut lane = Lane::new(4);
        assert_eq!(come(&mut lane, 6), [1, 1, 1, 1, 2]);
        assert!(come(&mut lane, 10).is_empty());
        for _ in 0..4 {
            assert_eq!(back(&mut lane, 1), None, "two are still under way, and share what those who wait will share");
        }
        assert_eq!(back(&mut lane, 2), Some(10));
        assert!(come(&mut lane, 7).is_empty());
        assert_eq!(back(&mut lane, 10), Some(7));
    }

    #[test]
    fn so_many_that_they_fill_a_round_trip_do_not_wait_for_another() {
        let mut lane = Lane::new(4);
        lane.begin(20);
        assert!(come(&mut lane, 31).is_empty());
        assert_eq!(come(&mut lane, 1), [32]);
        assert!(come(&mut lane, 100).is_empty(), "two are enough");
        assert_eq!(back(&mut lane, 20), Some(100));
    }

    #[test]
    fn where_many_have_just_been_under_way_nobody_goes_alone_beside_another() {
        let mut lane = Lane::new(4);
        lane.begin(12);
        lane.end(12);
        assert_eq!(come(&mut lane, 5), [1]);
        assert_eq!(back(&mut lane, 1), Some(4));
        // Until it has been quiet for a while.
        for _ in 0..12 {
            lane.begin(1);
            lane.end(1);
        }
        lane.end(4);
        assert_eq!(come(&mut lane, 2), [1, 1]);
    }

    #[test]
    fn what_does_not_come_back_holds_up_nobody_for_long() {
        let mut lane = Lane::new(4);
        lane.begin(5);
        assert!(come(&mut lane, 3).is_empty());
        assert!(lane.is_late(lane.begun()), "nobody went since somebody looked");
        assert!(!lane.is_late(lane.begun() - 1), "somebody did");
        for _ in 0..3 {
            lane.begin(3);
        }
        assert!(!lane.is_late(lane.begun()), "so many do not come back that no more are sent after them");
    }
}
