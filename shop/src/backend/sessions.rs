//! Sign-in sessions in the shop's database: a store for `tower-sessions`.
//!
//! A session's id is a bearer secret, so only its SHA-256 is stored: whoever reads the table cannot sign in with it.

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use tenure::Database;
use time::OffsetDateTime;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store;

use super::{failed, mysql, on, postgres, sqlite};

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
    /// [`tenure::Error::Database`] when the database failed; they stay, and are still not accepted.
    pub async fn sweep(&self) -> Result<(), tenure::Error> {
        on!(self.db, sweep_sessions(&self.db, now()))
    }

    async fn write(&self, record: &Record) -> Result<(), tenure::Error> {
        let data = serde_json::to_string(&record.data).map_err(|error| failed(sqlx::Error::Encode(error.into())))?;
        let (id, expires_at) = (hash(&record.id), record.expiry_date.unix_timestamp());
        on!(self.db, write_session(&self.db, &id, &data, expires_at))
    }

    async fn read(&self, id: &Id) -> Result<Option<Record>, tenure::Error> {
        let Some(stored) = on!(self.db, read_session(&self.db, &hash(id), now()))? else { return Ok(None) };
        let unreadable = |error: Box<dyn std::error::Error + Send + Sync>| failed(sqlx::Error::Decode(error));
        Ok(Some(Record {
            id: *id,
            data: serde_json::from_str(&stored.data).map_err(|error| unreadable(error.into()))?,
            expiry_date: OffsetDateTime::from_unix_timestamp(stored.expires_at)
                .map_err(|error| unreadable(error.into()))?,
        }))
    }
}

#[async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> session_store::Result<()> {
        // 128 random bits do not collide; if they did, the new session must not take over the old one.
        while self.read(&record.id).await.map_err(backend)?.is_some() {
            record.id = Id::default();
        }
        self.write(record).await.map_err(backend)
    }

    async fn save(&self, record: &Record) -> session_store::Result<()> {
        self.write(record).await.map_err(backend)
    }

    async fn load(&self, id: &Id) -> session_store::Result<Option<Record>> {
        self.read(id).await.map_err(backend)
    }

    async fn delete(&self, id: &Id) -> session_store::Result<()> {
        on!(self.db, delete_session(&self.db, &hash(id))).map_err(backend)
    }
}

fn hash(id: &Id) -> String {
    Sha256::digest(id.0.to_be_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}

fn backend(error: tenure::Error) -> session_store::Error {
    session_store::Error::Backend(error.to_string())
}
