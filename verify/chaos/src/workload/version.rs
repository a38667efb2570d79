//! W3: somebody reads, thinks, and writes on the version that they saw.

use super::{Task, Workload};
use crate::subject::{Answer, Guard, Subject};

impl<S: Subject> Task<S> {
    pub(super) async fn with_version(&mut self, workload: Workload) -> Answer<()> {
        let ledger = self.pick(workload);
        let seen = self.read(&ledger).await?;
        self.keys.seen(&ledger, seen.version);
        if self.random.chance(30) {
            let think = self.random.millis(0, 30);
            tokio::time::sleep(think).await;
        }
        // Those who do not ask for leases are told apart, because others may rely upon theirs.
        let guard = match workload == Workload::Mixed && self.random.chance(70) {
            true => Guard::UnlessLocked(seen.version),
            false => Guard::Version(seen.version),
        };
        self.append(&ledger, None, guard).await.map(drop)
    }
}
