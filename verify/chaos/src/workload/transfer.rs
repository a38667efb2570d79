//! W5: an amount moves between two to four ledgers in one transaction. The sum of all stays what it was. Some of the ledgers are only
//! read, and must be the same at the commit.

use super::{Task, Workload};
use crate::history::{Args, Function};
use crate::subject::{Answer, Refusal, Subject, Transfer};

impl<S: Subject> Task<S> {
    pub(super) async fn transfer(&mut self) -> Answer<()> {
        let count = 2 + self.random.below(3);
        let mut ledgers = Vec::new();
        while (ledgers.len() as u64) < count {
            let ledger = self.pick(Workload::Transfer);
            if !ledgers.contains(&ledger) {
                ledgers.push(ledger);
            } else if self.random.chance(20) {
                break;
            }
        }
        if ledgers.len() < 2 {
            return self.read(&ledgers[0]).await.map(drop);
        }
        let op = self.recorder.next_id();
        let all: Vec<&str> = ledgers.iter().map(String::as_str).collect();
        // Some transfers depend on ledgers that they do not write: without them no two could pass each other unseen.
        let written =
            if self.random.chance(40) { 1 + self.random.below(count_of(&all) - 1) as usize } else { all.len() };
        let (names, watched) = all.split_at(written);
        let (amount, limit) = (1 + self.random.below(9), self.limit());
        let amount = i64::try_from(amount).unwrap_or(1);
        let pessimistic = self.random.chance(60);
        let transfer = Transfer { ledgers: names, watched, op: &op, owner: &self.owner, amount, pessimistic, limit };
        let watched = watched.iter().map(|name| (*name).to_owned()).collect();
        let args = Args { limit_ms: self.stated(limit), watched, ..Args::default() };
        let moved = self.subject.transfer(&transfer);
        let moved = self.recorder.call(Function::Transfer, &op, names, args, moved).await;
        if moved.as_ref().is_err_and(Refusal::is_not_found) {
            // Which of them is missing, the answer does not say. A read makes it.
            for name in all {
                let _ = self.read(name).await;
            }
        } else if self.random.chance(10) {
            // Transfers do not say which version they made.
            if let Ok(seen) = self.read(names[0]).await {
                self.keys.seen(names[0], seen.version);
            }
        }
        moved.map(drop)
    }
}

fn count_of(ledgers: &[&str]) -> u64 {
    ledgers.len() as u64
}
