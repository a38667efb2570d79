//! Single statements on MariaDB, by the server's clock. An update of a duplicate has no WHERE, and an upsert cannot return the row, so
//! every assignment checks the condition, and the winner is read back.

use async_trait::async_trait;
use sqlx::MySqlPool;

use super::Upsert;
use crate::Outcome;
use crate::locks::KIND;
use crate::locks::verbs::{BY, Locks, TTL, no_lock, one, random_id};
use crate::pools;

/// The server's clock at this moment, in milliseconds since 1970.
macro_rules! now {
    () => {
        "cast(unix_timestamp(sysdate(6)) * 1000 as signed)"
    };
}

const TABLES: &str = "
    create table single_lock (kind varbinary(255) not null, id varbinary(1024) not null, generation bigint not null,
                              lock_id binary(64) not null unique, owner varchar(100) not null, since bigint not null,
                              expires_at bigint not null, ended boolean not null default 0,
                              won boolean not null default 1, primary key (kind, id)) engine = InnoDB";
const TAKE: &str = concat!(
    "insert into single_lock (kind, id, generation, lock_id, owner, since, expires_at)
     values (?, ?, 1, ?, ?, ",
    now!(),
    ", ",
    now!(),
    " + ?)
         on duplicate key update won = ended or expires_at <= ",
    now!(),
    ",
            generation = generation + won,
            lock_id    = if(won, values(lock_id), lock_id),
            owner      = if(won, values(owner), owner),
            since      = if(won, values(since), since),
            expires_at = if(won, values(expires_at), expires_at),
            ended      = ended and not won"
);
const WINNER: &str = "select 1 from single_lock where kind = ? and id = ? and lock_id = ?";
const CHECK: &str = concat!("select 1 from single_lock where lock_id = ? and not ended and expires_at > ", now!());
const EXTEND: &str = concat!(
    "update single_lock set expires_at = greatest(expires_at, ",
    now!(),
    " + ?)
      where lock_id = ? and not ended and expires_at > ",
    now!()
);
const RELEASE: &str =
    concat!("update single_lock set ended = 1 where lock_id = ? and not ended and expires_at > ", now!());
const UPSERT: &str = concat!(
    "insert into single_lock (kind, id, generation, lock_id, owner, since, expires_at)
     values (?, ?, 1, ?, ?, ",
    now!(),
    ", ",
    now!(),
    " + ?)
         on duplicate key update lock_id = values(lock_id), owner = values(owner), since = values(since),
            expires_at = values(expires_at)"
);

pub(in crate::locks) struct ByHand {
    pool: MySqlPool,
}

impl ByHand {
    pub(in crate::locks) async fn open(url: &str) -> Outcome<Self> {
        let pool = pools::mysql::open(url).await?;
        pools::mysql::make(&pool, TABLES).await?;
        Ok(ByHand { pool })
    }
}

#[async_trait]
impl Locks for ByHand {
    type Ticket = String;

    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<String> {
        let lock_id = random_id();
        let mut connection = self.pool.acquire().await?;
        let take = sqlx::query(TAKE).bind(KIND).bind(id).bind(&lock_id).bind(owner).bind(TTL);
        take.execute(&mut *connection).await?;
        let winner = sqlx::query(WINNER).bind(KIND).bind(id).bind(&lock_id);
        winner.fetch_optional(&mut *connection).await?.ok_or("the lock is held")?;
        Ok(lock_id)
    }

    async fn check_lock(&self, ticket: &String) -> Outcome<()> {
        let found = sqlx::query(CHECK).bind(ticket).fetch_optional(&self.pool).await?;
        found.map(drop).ok_or_else(no_lock)
    }

    async fn extend(&self, ticket: &String) -> Outcome<()> {
        one(sqlx::query(EXTEND).bind(TTL + BY).bind(ticket).execute(&self.pool).await?.rows_affected())
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
