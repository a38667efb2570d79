//! W4: leases, writers who hold none, and somebody who ends leases of others, all on the same ledgers.

use super::{Task, Workload};
use crate::history::{Args, Function};
use crate::subject::{Answer, Subject};

impl<S: Subject> Task<S> {
    pub(super) async fn mixed(&mut self) -> Answer<()> {
        match self.random.below(100) {
            0..45 => self.with_lease(Workload::Mixed).await,
            45..90 => self.with_version(Workload::Mixed).await,
            _ => self.break_somebody().await,
        }
    }

    async fn break_somebody(&mut self) -> Answer<()> {
        let ledger = self.pick(Workload::Mixed);
        let Some(generation) = self.subject.holder(&ledger).await? else { return Ok(()) };
        let op = self.recorder.next_id();
        let args = Args { generation: Some(generation), ..Args::default() };
        let ended = self.subject.break_lock(&ledger, generation, &self.owner);
        self.recorder.call(Function::Break, &op, &[&ledger], args, ended).await
    }
}
