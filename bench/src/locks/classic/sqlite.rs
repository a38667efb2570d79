//! The classic algorithm on SQLite.

use async_trait::async_trait;
use sqlx::Connection;

use super::expired;
use crate::Outcome;
use crate::locks::KIND;
use crate::locks::verbs::{BY, Locks, TTL, no_lock, now, one, random_id};
use crate::pools::{self, sqlite::File};

const TABLES: &str = "
    create table locks (type text not null, id text not null, lockid text not null unique, owner text not null,
                        expiration_time bigint not null, primary key (type, id))";
const BEGIN: &str = "begin immediate";
const FIND: &str = "select expiration_time from locks where type = ? and id = ?";
const DELETE_EXPIRED: &str = "delete from locks where type = ? and id = ?";
const INSERT: &str = "insert into locks (type, id, lockid, owner, expiration_time) values (?, ?, ?, ?, ?)";
const CHECK: &str = "select type, id, expiration_time from locks where lockid = ?";
const EXTEND: &str = "update locks set expiration_time = ? where type = ? and id = ?";
const RELEASE: &str = "delete from locks where lockid = ?";

pub(in crate::locks) struct Classic {
    file: File,
}

impl Classic {
    pub(in crate::locks) async fn open(url: &str) -> Outcome<Self> {
        let file = pools::sqlite::open(url).await?;
        pools::sqlite::make(&file, TABLES).await?;
        Ok(Classic { file })
    }
}

#[async_trait]
impl Locks for Classic {
    type Ticket = String;

    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<String> {
        let (lock_id, now) = (random_id(), now());
        let mut writer = self.file.writer.lock().await;
        let mut tx = writer.begin_with(BEGIN).await?;
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
        let mut tx = self.file.readers.begin().await?;
        let found = sqlx::query_as(CHECK).bind(ticket).fetch_optional(&mut *tx).await?;
        tx.commit().await?;
        let (_, _, expiry): (String, String, i64) = found.ok_or_else(no_lock)?;
        if expiry > now() { Ok(()) } else { Err(no_lock()) }
    }

    async fn extend(&self, ticket: &String) -> Outcome<()> {
        let mut writer = self.file.writer.lock().await;
        let mut tx = writer.begin_with(BEGIN).await?;
        let found = sqlx::query_as(CHECK).bind(ticket).fetch_optional(&mut *tx).await?;
        let (kind, id, expiry): (String, String, i64) = found.ok_or_else(no_lock)?;
        let update = sqlx::query(EXTEND).bind(expiry + BY).bind(kind).bind(id);
        one(update.execute(&mut *tx).await?.rows_affected())?;
        Ok(tx.commit().await?)
    }

    async fn release(&self, ticket: &String) -> Outcome<()> {
        let mut writer = self.file.writer.lock().await;
        let mut tx = writer.begin_with(BEGIN).await?;
        one(sqlx::query(RELEASE).bind(ticket).execute(&mut *tx).await?.rows_affected())?;
        Ok(tx.commit().await?)
    }
}
