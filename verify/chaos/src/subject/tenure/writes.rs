//! The writes: by `Update` where the library orders the steps, in a transaction of its own where the client does.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use tenure::unit_of_work::{LockSet, Retry, Update};
use tenure::{Loaded, LockMode, Transaction, Version, row_lock::Wait};

use super::audit::{self, Note};
use super::ledger::Ledger;
use super::{Tenure, owner};
use crate::clock::now_ns;
use crate::subject::{Answer, Append, Appended, Guard, Refusal, Transfer};

impl Tenure {
    pub(super) async fn append_to_one(&self, append: &Append<'_>) -> Answer<Appended> {
        let update = self.ledgers.update(&append.ledger.to_owned()).by(&owner(append.owner)).within(append.limit);
        match append.guard {
            Guard::Lease { lock, release: false, .. } => self.run(append, update.holding(lock)).await,
            Guard::Lease { lock, release: true, .. } => self.run(append, update.releasing(lock)).await,
            Guard::Version(seen) => self.run(append, update.expecting(version(seen)?)).await,
            Guard::UnlessLocked(seen) => self.run(append, update.expecting(version(seen)?).unless_locked()).await,
            Guard::Row => self.append_under_row_lock(append).await,
        }
    }

    async fn run(&self, append: &Append<'_>, update: Update<'_, Ledger>) -> Answer<Appended> {
        let (backend, pause) = (self.backend, append.pause);
        let (op, generation, guard) = (append.op.to_owned(), append.guard.generation(), append.guard.kind());
        let update = update.also(move |mut tx, saved| {
            let version = saved.version().number();
            let note = Note { op: op.clone(), ledger: saved.id.clone(), version, generation, guard: Some(guard) };
            async move {
                audit::write(&mut tx, backend, &note).await?;
                tokio::time::sleep(pause).await;
                Ok(())
            }
        });
        let command = |ledger: &mut Ledger| {
            ledger.append(append.op);
            Ok::<_, Infallible>(())
        };
        let version = match self.retries {
            true => update.retrying(Retry::transient(3)).run(command).await?.loaded.version().number(),
            false => update.run(command).await?.version().number(),
        };
        Ok(Appended { version: Some(version), ..Appended::default() })
    }

    async fn append_under_row_lock(&self, append: &Append<'_>) -> Answer<Appended> {
        let mut tx = self.db.begin_within(Wait::Within(append.limit)).await?;
        let found = self.ledgers.find(&mut tx, &append.ledger.to_owned(), LockMode::PessimisticWrite).await?;
        let mut ledger = found.ok_or_else(|| Refusal::sure("not-found"))?;
        let locked_at = now_ns();
        tokio::time::sleep(append.pause).await;
        ledger.append(append.op);
        let version = self.ledgers.save(&mut tx, &mut ledger).await?.number();
        let (op, ledger) = (append.op.to_owned(), append.ledger.to_owned());
        let note = Note { op, ledger, version, generation: None, guard: Some(append.guard.kind()) };
        audit::write(&mut tx, self.backend, &note).await?;
        let row_ns = Some((locked_at, now_ns()));
        tx.commit().await?;
        Ok(Appended { version: Some(version), row_ns, ..Appended::default() })
    }

    pub(super) async fn append_to_several(&self, transfer: &Transfer<'_>) -> Answer<Appended> {
        let mut tx = self.db.begin_within(Wait::Within(transfer.limit)).await?;
        tx.by(&owner(transfer.owner));
        let mut found = self.load_all(&mut tx, transfer).await?;
        let mut saw = Vec::new();
        for id in transfer.watched {
            let ledger = found.remove(*id).ok_or_else(|| Refusal::sure("not-found"))?;
            saw.push(((*id).to_owned(), ledger.version().number()));
        }
        let others = i64::try_from(transfer.ledgers.len() - 1).unwrap_or(0);
        for (at, id) in transfer.ledgers.iter().enumerate() {
            let mut ledger = found.remove(*id).ok_or_else(|| Refusal::sure("not-found"))?;
            ledger.append(transfer.op);
            ledger.balance += if at == 0 { -others * transfer.amount } else { transfer.amount };
            let version = self.ledgers.save(&mut tx, &mut ledger).await?.number();
            let (op, ledger) = (transfer.op.to_owned(), (*id).to_owned());
            audit::write(&mut tx, self.backend, &Note { op, ledger, version, generation: None, guard: None }).await?;
        }
        tx.commit().await?;
        Ok(Appended { saw, ..Appended::default() })
    }

    /// All ledgers of a transfer, in one order, so that no two transfers wait for each other. What is only read is locked for readers.
    async fn load_all(
        &self,
        tx: &mut Transaction,
        transfer: &Transfer<'_>,
    ) -> Answer<BTreeMap<String, Loaded<Ledger>>> {
        let ids: BTreeSet<String> =
            transfer.ledgers.iter().chain(transfer.watched).map(|id| (*id).to_owned()).collect();
        let mut found = BTreeMap::new();
        if !transfer.pessimistic {
            let set = ids.iter().fold(LockSet::new(), |set, id| set.add::<Ledger>(id));
            let mut locked = tx.lock_all(set, LockMode::Optimistic).await?;
            for id in ids {
                if let Some(ledger) = locked.take::<Ledger>(&id)? {
                    found.insert(id, ledger);
                }
            }
            return Ok(found);
        }
        for id in ids {
            let is_watched = transfer.watched.contains(&id.as_str());
            let mode = if is_watched { LockMode::PessimisticRead } else { LockMode::PessimisticWrite };
            if let Some(ledger) = self.ledgers.find(tx, &id, mode).await? {
                found.insert(id, ledger);
            }
        }
        Ok(found)
    }
}

fn version(number: i64) -> Answer<Version> {
    Version::new(number).map_err(|_| Refusal::sure("invalid-version"))
}
