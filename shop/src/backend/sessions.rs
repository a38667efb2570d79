//! Sign-in sessions in the shop's database: a store for `tower-sessions`.
//!
//! A session's id is a bearer secret, so only its SHA-256 is stored: whoever reads the table cannot sign in with it.

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use sqlx::Row;
use tenure::{Database, DatabaseError};
use time::OffsetDateTime;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};

use super::failed;

/// The sessions of everybody's browsers.
#[derive(Debug, Clone)]
pub struct Sessions {
    db: Database,
}

impl Sessions {
    /// The sessions in this database.
    pub fn new(db: &Database) -> Self {
        Sessions { db: db.clone() }
    }

    /// Deletes those whose time is up.
    ///
    /// # Errors
    /// [`DatabaseError`] when the database failed; they stay, and are still not accepted.
    pub async fn sweep(&self) -> std::result::Result<(), DatabaseError> {
        let mut tx = self.db.begin().await?;
        let delete = sqlx::query("delete from sign_in where expires_at <= ?").bind(now());
        delete.execute(tx.sqlite()?).await.map_err(failed)?;
        tx.commit().await
    }

    async fn write(&self, record: &Record) -> std::result::Result<(), DatabaseError> {
        let data = serde_json::to_string(&record.data).map_err(|error| failed(sqlx::Error::Encode(error.into())))?;
        let mut tx = self.db.begin().await?;
        let upsert = sqlx::query(
            "insert into sign_in (id, data, expires_at) values (?, ?, ?)
             on conflict (id) do update set data = excluded.data, expires_at = excluded.expires_at",
        )
        .bind(hash(&record.id))
        .bind(data)
        .bind(record.expiry_date.unix_timestamp());
        upsert.execute(tx.sqlite()?).await.map_err(failed)?;
        tx.commit().await
    }

    async fn read(&self, id: &Id) -> std::result::Result<Option<Record>, DatabaseError> {
        let select = sqlx::query("select data, expires_at from sign_in where id = ? and expires_at > ?");
        let row = select.bind(hash(id)).bind(now()).fetch_optional(self.db.sqlite()?).await.map_err(failed)?;
        let Some(row) = row else { return Ok(None) };
        let data: String = row.try_get("data").map_err(failed)?;
        let expires_at: i64 = row.try_get("expires_at").map_err(failed)?;
        Ok(Some(Record {
            id: *id,
            data: serde_json::from_str(&data).map_err(|error| failed(sqlx::Error::Decode(error.into())))?,
            expiry_date: OffsetDateTime::from_unix_timestamp(expires_at)
                .map_err(|error| failed(sqlx::Error::Decode(error.into())))?,
        }))
    }
}

#[async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        // 128 random bits do not collide; if they did, the new session must not take over the old one.
        while self.read(&record.id).await.map_err(backend)?.is_some() {
            record.id = Id::default();
        }
        self.write(record).await.map_err(backend)
    }

    async fn save(&self, record: &Record) -> Result<()> {
        self.write(record).await.map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        self.read(id).await.map_err(backend)
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let delete = async {
            let mut tx = self.db.begin().await?;
            let delete = sqlx::query("delete from sign_in where id = ?").bind(hash(id));
            delete.execute(tx.sqlite()?).await.map_err(failed)?;
            tx.commit().await
        };
        delete.await.map_err(backend)
    }
}

fn hash(id: &Id) -> String {
    Sha256::digest(id.0.to_be_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}

fn backend(error: DatabaseError) -> Error {
    Error::Backend(error.to_string())
}
