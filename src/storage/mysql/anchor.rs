//! The row of a key that had no lease yet. Transactions that require that nobody holds the key lock it.

use super::errors::classify;
use super::session::{Session, Statement};
use crate::error::DatabaseError;
use crate::lease::{LockId, LockKey};

/// A row without an owner, under a lock id that no client has. The generations of a swept key continue.
const MAKE: &str = "
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                             since, last_active, expires_at, ttl, hard_until, ended)
    values (?, ?, '', coalesce((select swept.generation from tenure_lock_floor as swept where swept.kind = ?), 0), ?,
            '', '', 0, 0, 0, 0, 0, 1)
        on duplicate key update tenure_lock.slot = tenure_lock.slot";

/// Inserts the row that every acquisition or change of the key locks first.
pub(super) async fn make(session: &mut Session, key: &LockKey) -> Result<(), DatabaseError> {
    let make = Statement::new(MAKE).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(key.kind().as_bytes());
    session.write(make.bind(LockId::random().hash().to_vec())).await.map(drop).map_err(classify)
}
