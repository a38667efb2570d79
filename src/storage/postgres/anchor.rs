//! The row of a key that had no lease yet. Transactions that require that nobody holds the key lock it.

use sqlx::PgConnection;

use super::errors::classify;
use crate::error::DatabaseError;
use crate::lease::{LockId, LockKey};

/// A row without an owner, under a lock id that no client has. The generations of a swept key continue.
const MAKE: &str = "
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                             since, last_active, expires_at, ttl, hard_until, ended)
    values ($1, $2, '', coalesce((select generation from tenure_lock_floor where kind = $1), 0), $3, '', '', 0, 0, 0, 0, 0,
            true)
        on conflict do nothing";

/// Inserts the row that every acquisition or change of the key locks first.
pub(super) async fn make(connection: &mut PgConnection, key: &LockKey) -> Result<(), DatabaseError> {
    let make = sqlx::query(MAKE).bind(key.kind()).bind(key.id()).bind(LockId::random().hash().to_vec());
    make.execute(connection).await.map(drop).map_err(classify)
}
