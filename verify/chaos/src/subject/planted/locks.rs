//! The leases.

use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::{Bug, Planted, Remembered, TTL_MS, at_commit, before_commit};
use crate::subject::{Answer, Grant, Refusal};

/// A row of the table.
pub(super) struct Lease {
    pub(super) owner: String,
    pub(super) token: String,
    pub(super) generation: i64,
    pub(super) expires_ms: i64,
    pub(super) ended: bool,
}

impl Lease {
    pub(super) fn of(row: &PgRow) -> Self {
        Lease {
            owner: row.get("owner"),
            token: row.get("token"),
            generation: row.get("generation"),
            expires_ms: row.get("expires_ms"),
            ended: row.get("ended"),
        }
    }
}

fn grant(generation: i64, now_ms: i64, left_ms: i64) -> Grant {
    let remaining = Duration::from_millis(u64::try_from(left_ms).unwrap_or(0));
    Grant { generation, since_ms: now_ms, remaining }
}

impl Planted {
    /// As it should be: the row is locked, then the time is read, then it is decided.
    pub(super) async fn lock_in_one(&self, key: &str, owner: &str, token: &str) -> Answer<Grant> {
        let mut tx = self.pool.begin().await.map_err(before_commit)?;
        let made = "insert into planted_lock values ($1, '', '', 0, 0, 0, true) on conflict do nothing";
        sqlx::query(made).bind(key).execute(&mut *tx).await.map_err(before_commit)?;
        let row = sqlx::query("select * from planted_lock where key = $1 for update").bind(key);
        // A sweeper may have deleted it in between.
        let row = row.fetch_optional(&mut *tx).await.map_err(before_commit)?;
        let Some(row) = row else { return Err(Refusal::sure("locking-failed")) };
        let (lease, now) = (Lease::of(&row), self.now_ms(&mut tx).await?);
        let live = !lease.ended && !self.has_expired(lease.expires_ms, now);
        if live && (lease.token == token || self.is(Bug::ReentrantByOwner) && lease.owner == owner) {
            return Ok(grant(lease.generation, now, lease.expires_ms - now));
        }
        if live {
            return Err(Refusal::sure("already-locked"));
        }
        let next = match self.bug {
            Bug::SweeperByAge => "nextval('planted_generation')",
            _ => "generation + 1",
        };
        let taken = format!(
            "update planted_lock set owner = $2, token = $3, generation = {next}, created_ms = $4, expires_ms = $4 + {TTL_MS}, \
             ended = false where key = $1 returning generation"
        );
        let taken = sqlx::query_scalar(sqlx::AssertSqlSafe(taken)).bind(key).bind(owner).bind(token).bind(now);
        let generation: i64 = taken.fetch_one(&mut *tx).await.map_err(before_commit)?;
        tx.commit().await.map_err(at_commit)?;
        Ok(grant(generation, now, TTL_MS))
    }

    /// The classic algorithm. Each statement commits by itself.
    pub(super) async fn lock_in_steps(&self, key: &str, owner: &str, token: &str) -> Answer<Grant> {
        let mut connection = self.pool.acquire().await.map_err(before_commit)?;
        let found = sqlx::query("select * from planted_lock where key = $1").bind(key);
        let found = found.fetch_optional(&mut *connection).await.map_err(before_commit)?;
        let now = self.now_ms(&mut connection).await?;
        if let Some(lease) = found.as_ref().map(Lease::of) {
            if !lease.ended && lease.expires_ms > now {
                return Err(Refusal::sure("already-locked"));
            }
            let delete = sqlx::query("delete from planted_lock where key = $1").bind(key);
            delete.execute(&mut *connection).await.map_err(at_commit)?;
        }
        let insert = format!(
            "insert into planted_lock values ($1, $2, $3, nextval('planted_generation'), $4, $4 + {TTL_MS}, false) \
             on conflict do nothing returning generation"
        );
        let insert = sqlx::query_scalar(sqlx::AssertSqlSafe(insert)).bind(key).bind(owner).bind(token).bind(now);
        let generation: Option<i64> = insert.fetch_optional(&mut *connection).await.map_err(at_commit)?;
        generation.map(|generation| grant(generation, now, TTL_MS)).ok_or_else(|| Refusal::sure("locking-failed"))
    }

    /// Extends or shortens a lease, if it is live and held by this token.
    pub(super) async fn set_expiry(&self, token: &str, to: Duration, longer: bool) -> Answer<Grant> {
        let Remembered { key, owner, grant: remembered, .. } = self.remembered(token)?;
        let mut tx = self.pool.begin().await.map_err(before_commit)?;
        let row = sqlx::query("select * from planted_lock where key = $1 for update").bind(&key);
        let row = row.fetch_optional(&mut *tx).await.map_err(before_commit)?;
        let now = self.now_ms(&mut tx).await?;
        let lease = row.as_ref().map(Lease::of).filter(|lease| {
            let is_theirs = lease.token == token || self.is(Bug::ReentrantByOwner) && lease.owner == owner;
            let is_live = !lease.ended && self.is_live(lease.expires_ms, now);
            is_theirs && is_live || self.is(Bug::ExtendByKey) && longer
        });
        let Some(lease) = lease else { return Err(Refusal::sure("lock-expired")) };
        let to = now + i64::try_from(to.as_millis()).unwrap_or(0);
        let to = if longer { lease.expires_ms.max(to) } else { lease.expires_ms.min(to) };
        let update = sqlx::query("update planted_lock set expires_ms = $2 where key = $1").bind(&key).bind(to);
        update.execute(&mut *tx).await.map_err(before_commit)?;
        tx.commit().await.map_err(at_commit)?;
        Ok(grant(remembered.generation, now, to - now))
    }

    /// Releases the lease of a token.
    pub(super) async fn release_token(&self, token: &str) -> Answer<()> {
        let Remembered { key, .. } = self.remembered(token)?;
        let what = match self.bug {
            Bug::FenceInDeletedRow => "delete from planted_lock where key = $1 and token = $2 and not ended",
            Bug::ReleaseByKey => "update planted_lock set ended = true where key = $1 and $2 <> ''",
            _ => "update planted_lock set ended = true where key = $1 and token = $2 and not ended",
        };
        let released = sqlx::query(what).bind(&key).bind(token).execute(&self.pool).await.map_err(at_commit)?;
        if released.rows_affected() > 0 { Ok(()) } else { Err(Refusal::sure("lock-released")) }
    }

    /// Deletes leases that are older than most, without asking again whether they are live.
    pub(super) async fn sweep_by_age(self) {
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let sql = "delete from planted_lock where created_ms < extract(epoch from clock_timestamp()) * 1000 - 700";
            let _ = sqlx::query(sql).execute(&self.pool).await;
        }
    }
}
