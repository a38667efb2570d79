//! Who may set out for the database, and when. It decides; it neither waits nor asks.

use std::collections::VecDeque;

/// How many have to wait for a second round trip to begin beside one that has others on board. Fewer are better off with the
/// next: what a round trip costs, all who share it pay together, and flushes of the log go one after the other anyway.
const MANY: usize = 32;
/// The most round trips under way, also when some are late.
const MOST_UNDER_WAY: usize = 4;

/// One way to the database, and who waits for it.
#[derive(Debug)]
pub(super) struct Lane<T> {
    pub(super) queue: VecDeque<T>,
    /// How many the database answers alone and at once for less than they would cost together.
    few: usize,
    /// Round trips under way that have one on board, and that have several.
    alone: usize,
    together: usize,
    /// How many were on board of the largest round trip of late.
    lately: usize,
    /// How many round trips have begun.
    begun: u64,
    /// Whether somebody sees to it that those who wait get there.
    pub(super) watched: bool,
}

impl<T> Lane<T> {
    pub(super) fn new(few: usize) -> Self {
        Lane { queue: VecDeque::new(), few, alone: 0, together: 0, lately: 0, begun: 0, watched: false }
    }

    /// Whether those who wait may go now.
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

    /// Whether those who wait should go though it was not their turn: nobody went since so many had gone, so what is under way
    /// does not come back.
    pub(super) fn is_late(&self, since: u64) -> bool {
        !self.queue.is_empty() && self.begun == since && self.under_way() < MOST_UNDER_WAY
    }

    /// Round trips that have begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    pub(super) fn under_way(&self) -> usize {
        self.alone + self.together
    }

    /// A round trip with so many on board begins.
    pub(super) fn begin(&mut self, count: usize) {
        self.begun += 1;
        self.lately = count.max(self.lately - self.lately.div_ceil(8));
        *self.like(count) += 1;
    }

    /// A round trip with so many on board is over.
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

    /// So many come, one after the other; how many were on board of each round trip that began then.
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

    /// A round trip comes back, and those who waited go, if they may.
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
