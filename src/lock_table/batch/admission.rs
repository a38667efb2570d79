//! Admission: decides which requests may be sent to the database, and when. It neither waits nor sends.

use std::collections::VecDeque;

/// How many requests must wait to start a second round trip beside a batch in flight. Fewer are better off in the next batch:
/// a batch shares the cost of a round trip, and flushes of the log are serialized anyway.
const MANY: usize = 32;
/// The maximum number of round trips in flight, also when some are late.
const MAX_IN_FLIGHT: usize = 4;

/// The admission state of one queue, with its waiting requests.
#[derive(Debug)]
pub(super) struct Admission<T> {
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

impl<T> Admission<T> {
    pub(super) fn new(few: usize) -> Self {
        Admission { queue: VecDeque::new(), few, alone: 0, together: 0, lately: 0, begun: 0, watched: false }
    }

    /// Whether the waiting requests may be sent now.
    pub(super) fn may_send(&self) -> bool {
        let busy = self.lately > self.few;
        match self.queue.len() {
            0 => false,
            _ if self.in_flight() == 0 => true,
            waiting if busy || self.together > 0 => waiting >= MANY && self.in_flight() < 2,
            1 => self.alone < self.few,
            _ => true,
        }
    }

    /// Whether the waiting requests should be sent out of turn: no round trip began since `since`, so those in flight
    /// do not return.
    pub(super) fn is_late(&self, since: u64) -> bool {
        !self.queue.is_empty() && self.begun == since && self.in_flight() < MAX_IN_FLIGHT
    }

    /// Number of round trips begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    pub(super) fn in_flight(&self) -> usize {
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
    fn arrive(admission: &mut Admission<()>, count: usize) -> Vec<usize> {
        let mut begun = Vec::new();
        for _ in 0..count {
            admission.queue.push_back(());
            begun.extend(send(admission));
        }
        begun
    }

    fn send(admission: &mut Admission<()>) -> Option<usize> {
        admission.may_send().then(|| {
            let count = admission.queue.drain(..).count();
            admission.begin(count);
            count
        })
    }

    /// A round trip returns, and the waiting requests are sent if admitted.
    fn finish(admission: &mut Admission<()>, count: usize) -> Option<usize> {
        admission.end(count);
        send(admission)
    }

    #[test]
    fn few_requests_go_concurrently_and_unbatched() {
        let mut admission = Admission::new(4);
        assert_eq!(arrive(&mut admission, 4), [1, 1, 1, 1]);
        assert_eq!(finish(&mut admission, 1), None, "no request waits");
        assert_eq!(arrive(&mut admission, 1), [1]);
    }

    #[test]
    fn single_writer_batches_from_the_third_request() {
        let mut admission = Admission::new(1);
        assert_eq!(arrive(&mut admission, 3), [1, 2]);
    }

    #[test]
    fn requests_during_many_in_flight_form_the_next_batch() {
        let mut admission = Admission::new(4);
        assert_eq!(arrive(&mut admission, 6), [1, 1, 1, 1, 2]);
        assert!(arrive(&mut admission, 10).is_empty());
        for _ in 0..4 {
            assert_eq!(finish(&mut admission, 1), None, "the batch of two is still in flight");
        }
        assert_eq!(finish(&mut admission, 2), Some(10));
        assert!(arrive(&mut admission, 7).is_empty());
        assert_eq!(finish(&mut admission, 10), Some(7));
    }

    #[test]
    fn so_many_that_they_fill_a_round_trip_do_not_wait_for_another() {
        let mut admission = Admission::new(4);
        admission.begin(20);
        assert!(arrive(&mut admission, 31).is_empty());
        assert_eq!(arrive(&mut admission, 1), [32]);
        assert!(arrive(&mut admission, 100).is_empty(), "two is the maximum");
        assert_eq!(finish(&mut admission, 20), Some(100));
    }

    #[test]
    fn many_recent_in_flight_prevents_single_requests() {
        let mut admission = Admission::new(4);
        admission.begin(12);
        admission.end(12);
        assert_eq!(arrive(&mut admission, 5), [1]);
        assert_eq!(finish(&mut admission, 1), Some(4));
        // Until it has been quiet for a while.
        for _ in 0..12 {
            admission.begin(1);
            admission.end(1);
        }
        admission.end(4);
        assert_eq!(arrive(&mut admission, 2), [1, 1]);
    }

    #[test]
    fn lost_round_trip_blocks_others_only_briefly() {
        let mut admission = Admission::new(4);
        admission.begin(5);
        assert!(arrive(&mut admission, 3).is_empty());
        assert!(admission.is_late(admission.begun()), "no round trip began since");
        assert!(!admission.is_late(admission.begun() - 1), "one began");
        for _ in 0..3 {
            admission.begin(3);
        }
        assert!(!admission.is_late(admission.begun()), "the maximum is in flight");
    }
}
