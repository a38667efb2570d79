//! The classic algorithm on MariaDB.

use async_trait::async_trait;
use sqlx::MySqlPool;

use super::expired;
use crate::Outcome;
use crate::locks::KIND;
use crate::locks::verbs::{BY, Locks, TTL, no_lock, now, one, random_id};
use crate::pools;

const TABLES: &str = "
    create table locks (type varchar(100) not null, id varchar(255) not null, lockid varchar(64) not null unique,
                        owner varchar(100) not null, expiration_time bigint not null, primary key (type, id))
        engine = InnoDB default character set = utf8mb4 collate = utf8mb4_nopad_bin";
const FIND: &str = "select expiration_time from locks where type = ? and id = ?";
const DELETE_EXPIRED: &str = "delete from locks where type = ? and id = ?";
const INSERT: &str = "insert into locks (type, id, lockid, owner, expiration_time) values (?, ?, ?, ?, ?)";
const CHECK: &str = "select type, id, expiration_time from locks where lockid = ?";
const EXTEND: &str = "update locks set expiration_time = ? where type = ? and id = ?";
const RELEASE: &str = "delete from locks where lockid = ?";

pub(in crate::locks) struct Classic {
    pool: MySqlPool,
}

impl Classic {
    pub(in crate::locks) async fn open(url: &str) -> Outcome<Self> {
        let pool = pools::mysql::open(url).await?;
        pools::mysql::make(&pool, TABLES).await?;
        Ok(Classic { pool })
    }
}

#[async_trait]
impl Locks for Classic {
    type Ticket = String;

    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<String> {
        let (lock_id, now) = (random_id(), now());
        let mut tx = self.pool.begin().await?;
        let found = sqlx::query_scalar(FIND).bind(KIND).bind(id).fetch_optional(&mut *tx).await?;
        if expired(found, now)? {
            sqlx::query(DELETE_EXPIRED).bind(KIND).bind(id).execute(&mut *tx).await?;
        }
        let insert = sqlx::query(INSERT).bind(KIND).bind(id).bind(&lock_id).bind(owner).bind(now + TTL);
        insert.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(lock_id)
    }

    async fn check_lock(&self, ticket: &String) -> Outcome<()> {
        let mut tx = self.pool.begin().await?;
        let found = sqlx::query_as(CHECK).bind(ticket).fetch_optional(&mut *tx).await?;
        tx.commit().await?;
        let (_, _, expiry): (String, String, i64) = found.ok_or_else(no_lock)?;
        if expiry > now() { Ok(()) } else { Err(no_lock()) }
    }

    async fn extend(&self, ticket: &String) -> Outcome<()> {
        let mut tx = self.pool.begin().await?;
        let found = sqlx::query_as(CHECK).bind(ticket).fetch_optional(&mut *tx).await?;
        let (kind, id, expiry): (String, String, i64) = found.ok_or_else(no_lock)?;
        let update = sqlx::query(EXTEND).bind(expiry + BY).bind(kind).bind(id);
        one(update.execute(&mut *tx).await?.rows_affected())?;
        Ok(tx.commit().await?)
    }

    async fn release(&self, ticket: &String) -> Outcome<()> {
        let mut tx = self.pool.begin().await?;
        one(sqlx::query(RELEASE).bind(ticket).execute(&mut *tx).await?.rows_affected())?;
        Ok(tx.commit().await?)
    }
}
