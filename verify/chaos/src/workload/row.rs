//! W2: a row lock, taken and given up in one transaction.

use super::{Task, Workload};
use crate::subject::{Answer, Guard, Subject};

impl<S: Subject> Task<S> {
    pub(super) async fn with_row_lock(&mut self) -> Answer<()> {
        let ledger = self.pick(Workload::Row);
        if self.random.chance(15) {
            return self.read(&ledger).await.map(drop);
        }
        self.append(&ledger, None, Guard::Row).await.map(drop)
    }
}
