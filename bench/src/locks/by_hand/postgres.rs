//! Single statements on PostgreSQL, by the server's clock.

use async_trait::async_trait;
use sqlx::PgPool;

use super::Upsert;
use crate::Outcome;
use crate::locks::KIND;
use crate::locks::verbs::{BY, Locks, TTL, no_lock, one, random_id};
use crate::pools;

/// The server's clock at this moment, in milliseconds since 1970.
macro_rules! now {
    () => {
        "(extract(epoch from clock_timestamp()) * 1000)::bigint"
    };
}

const TABLES: &str = "
    create table single_lock (kind text collate \"C\" not null, id text collate \"C\" not null, generation bigint not null,
                              lock_id text collate \"C\" not null unique, owner text not null, since bigint not null,
                              expires_at bigint not null, ended boolean not null default false, primary key (kind, id))
                              with (fillfactor = 75)";
const TAKE: &str = concat!(
    "insert into single_lock as l (kind, id, generation, lock_id, owner, since, expires_at)
     values ($1, $2, 1, $3, $4, ",
    now!(),
    ", ",
    now!(),
    " + $5)
         on conflict (kind, id) do update set generation = l.generation + 1, lock_id = excluded.lock_id,
            owner = excluded.owner, since = ",
    now!(),
    ", expires_at = ",
    now!(),
    " + $5, ended = false
      where l.ended or l.expires_at <= ",
    now!(),
    "
     returning generation"
);
const CHECK: &str = concat!("select 1 from single_lock where lock_id = $1 and not ended and expires_at > ", now!());
const EXTEND: &str = concat!(
    "update single_lock set expires_at = greatest(expires_at, ",
    now!(),
    " + $2)
      where lock_id = $1 and not ended and expires_at > ",
    now!()
);
const RELEASE: &str =
    concat!("update single_lock set ended = true where lock_id = $1 and not ended and expires_at > ", now!());
const UPSERT: &str = concat!(
    "insert into single_lock (kind, id, generation, lock_id, owner, since, expires_at)
     values ($1, $2, 1, $3, $4, ",
    now!(),
    ", ",
    now!(),
    " + $5)
         on conflict (kind, id) do update set lock_id = excluded.lock_id, owner = excluded.owner,
            since = excluded.since, expires_at = excluded.expires_at"
);

pub(in crate::locks) struct ByHand {
    pool: PgPool,
}

impl ByHand {
    pub(in crate::locks) async fn open(url: &str) -> Outcome<Self> {
        let pool = pools::postgres::open(url).await?;
        pools::postgres::make(&pool, TABLES).await?;
        Ok(ByHand { pool })
    }
}

#[async_trait]
impl Locks for ByHand {
    type Ticket = String;

    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<String> {
        let lock_id = random_id();
        let take = sqlx::query_scalar::<_, i64>(TAKE).bind(KIND).bind(id).bind(&lock_id).bind(owner).bind(TTL);
        take.fetch_optional(&self.pool).await?.ok_or("the lock is held")?;
        Ok(lock_id)
    }

    async fn check_lock(&self, ticket: &String) -> Outcome<()> {
        let found = sqlx::query(CHECK).bind(ticket).fetch_optional(&self.pool).await?;
        found.map(drop).ok_or_else(no_lock)
    }

    async fn extend(&self, ticket: &String) -> Outcome<()> {
        one(sqlx::query(EXTEND).bind(ticket).bind(TTL + BY).execute(&self.pool).await?.rows_affected())
    }

    async fn release(&self, ticket: &String) -> Outcome<()> {
        one(sqlx::query(RELEASE).bind(ticket).execute(&self.pool).await?.rows_affected())
    }
}

#[async_trait]
impl Upsert for ByHand {
    async fn upsert(&self, id: &str, owner: &str) -> Outcome<()> {
        let upsert = sqlx::query(UPSERT).bind(KIND).bind(id).bind(random_id()).bind(owner).bind(TTL);
        upsert.execute(&self.pool).await?;
        Ok(())
    }
}
