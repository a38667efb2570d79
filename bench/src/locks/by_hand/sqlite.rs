//! Single statements on SQLite, by this host's clock, read after any wait for the one writer.

use async_trait::async_trait;

use super::Upsert;
use crate::Outcome;
use crate::locks::KIND;
use crate::locks::verbs::{BY, Locks, TTL, no_lock, now, one, random_id};
use crate::pools::{self, sqlite::File};

const TABLES: &str = "
    create table single_lock (kind text not null, id text not null, generation integer not null,
                              lock_id text not null unique, owner text not null, since integer not null,
                              expires_at integer not null, ended integer not null default 0, primary key (kind, id))
                              strict, without rowid";
const TAKE: &str = "
    insert into single_lock (kind, id, generation, lock_id, owner, since, expires_at)
    values (?2, ?3, 1, ?4, ?5, ?1, ?1 + ?6)
        on conflict (kind, id) do update set generation = generation + 1, lock_id = excluded.lock_id,
           owner = excluded.owner, since = excluded.since, expires_at = excluded.expires_at, ended = 0
     where ended = 1 or expires_at <= ?1
    returning generation";
const CHECK: &str = "select 1 from single_lock where lock_id = ?2 and ended = 0 and expires_at > ?1";
const EXTEND: &str = "
    update single_lock set expires_at = max(expires_at, ?1 + ?3) where lock_id = ?2 and ended = 0 and expires_at > ?1";
const RELEASE: &str = "update single_lock set ended = 1 where lock_id = ?2 and ended = 0 and expires_at > ?1";
const UPSERT: &str = "
    insert into single_lock (kind, id, generation, lock_id, owner, since, expires_at)
    values (?2, ?3, 1, ?4, ?5, ?1, ?1 + ?6)
        on conflict (kind, id) do update set lock_id = excluded.lock_id, owner = excluded.owner,
           since = excluded.since, expires_at = excluded.expires_at";

pub(in crate::locks) struct ByHand {
    file: File,
}

impl ByHand {
    pub(in crate::locks) async fn open(url: &str) -> Outcome<Self> {
        let file = pools::sqlite::open(url).await?;
        pools::sqlite::make(&file, TABLES).await?;
        Ok(ByHand { file })
    }
}

#[async_trait]
impl Locks for ByHand {
    type Ticket = String;

    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<String> {
        let lock_id = random_id();
        let mut writer = self.file.writer.lock().await;
        let take = sqlx::query_scalar::<_, i64>(TAKE).bind(now()).bind(KIND).bind(id);
        let take = take.bind(&lock_id).bind(owner).bind(TTL);
        // All rows, so that the statement ends, which commits it.
        take.fetch_all(&mut *writer).await?.pop().ok_or("the lock is held")?;
        Ok(lock_id)
    }

    async fn check_lock(&self, ticket: &String) -> Outcome<()> {
        let found = sqlx::query(CHECK).bind(now()).bind(ticket).fetch_optional(&self.file.readers).await?;
        found.map(drop).ok_or_else(no_lock)
    }

    async fn extend(&self, ticket: &String) -> Outcome<()> {
        let mut writer = self.file.writer.lock().await;
        let extend = sqlx::query(EXTEND).bind(now()).bind(ticket).bind(TTL + BY);
        one(extend.execute(&mut *writer).await?.rows_affected())
    }

    async fn release(&self, ticket: &String) -> Outcome<()> {
        let mut writer = self.file.writer.lock().await;
        let release = sqlx::query(RELEASE).bind(now()).bind(ticket);
        one(release.execute(&mut *writer).await?.rows_affected())
    }
}

#[async_trait]
impl Upsert for ByHand {
    async fn upsert(&self, id: &str, owner: &str) -> Outcome<()> {
        let mut writer = self.file.writer.lock().await;
        let upsert = sqlx::query(UPSERT).bind(now()).bind(KIND).bind(id);
        upsert.bind(random_id()).bind(owner).bind(TTL).execute(&mut *writer).await?;
        Ok(())
    }
}
