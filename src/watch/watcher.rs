//! A subscriber: its bounded queue of unread events. No I/O here.

use std::collections::{HashSet, VecDeque};
use std::task::Waker;

use super::unredacted::UnredactedEvent;
use crate::lease::LockKey;

/// The maximum number of queued events of a slow subscriber: beyond that a snapshot is shorter.
pub(super) const MOST_EVENTS: usize = 256;
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) keys: Vec<LockKey>,
    pub(super) queue: VecDeque<UnredactedEvent>,
    pub(super) stage: Stage,
    pub(super) waker: Option<Waker>,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// Waits until every key was polled by a poll that began after this one.
    Starting {
        after: u64,
        left: HashSet<LockKey>,
    },
    /// Gets a snapshot next.
    Due {
        missed: bool,
    },
    Following,
}

impl Watcher {
    /// Subscribes to keys from the poll on that begins after this one.
    pub(super) fn new(keys: Vec<LockKey>, after: u64) -> Self {
        let left: HashSet<LockKey> = keys.iter().cloned().collect();
        let stage = match left.is_empty() {
            true => Stage::Due { missed: false },
            false => Stage::Starting { after, left },
        };
        Watcher { keys, queue: VecDeque::new(), stage, waker: None }
    }

    pub(super) fn looked_at(&mut self, round: u64, key: &LockKey) {
        if let Stage::Starting { after, left } = &mut self.stage
            && round > *after
            && left.remove(key)
            && left.is_empty()
        {
            self.stage = Stage::Due { missed: false };
        }
    }

    pub(super) fn push(&mut self, events: &[UnredactedEvent]) {
        // Events before a snapshot are contained in the snapshot.
        if !matches!(self.stage, Stage::Following) {
            return;
        }
        if self.queue.len() + events.len() > MOST_EVENTS {
            self.queue = VecDeque::new();
            self.stage = Stage::Due { missed: true };
            return;
        }
        self.queue.extend(events.iter().cloned());
    }

    /// The waker, if there is an event to report.
    pub(super) fn woken(&mut self) -> Option<Waker> {
        let news = matches!(self.stage, Stage::Due { .. }) || !self.queue.is_empty();
        if news { self.waker.take() } else { None }
    }
}
