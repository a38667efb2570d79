//! Sessions: the signed-in members, their browsers, and the end of each session.
//!
//! Sign-in inserts a row, which is only shortened after that: no request restores an ended session. A session
//! ends twelve hours after sign-in at the latest, and two hours after its last use. Its use is written once a
//! minute, concurrently with the response; if it cannot be written (a full disk, a long transaction of another
//! process), this process remembers it. So pages stay readable, and sessions continue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tenure::{Database, Loaded, LockId, Repository, Wait};

use super::sign_in::BROWSER_KNOWN_FOR;
use super::{Refusal, Shop};
use crate::domain::{Member, MemberId};
use crate::storage::{self, Ended, SessionRow};

/// The maximum lifetime of a session, in seconds.
const LONGEST: i64 = 12 * 60 * 60;
/// The maximum time without activity. Heartbeats of open forms are no activity.
const IDLE: i64 = 2 * 60 * 60;
/// The precision of the last use.
const EXACTLY: i64 = 60;
/// No request waits for it, so its own wait is short.
const WRITTEN_WITHIN: Wait = Wait::Within(Duration::from_secs(1));

/// The maximum number of sessions of one member. The oldest are deleted first.
const MOST: i64 = 50;
/// The maximum number of known browsers of one member.
const MOST_BROWSERS: i64 = 20;
/// The maximum stored length of a user agent.
const LONGEST_AGENT: usize = 255;

/// A session that has just begun.
pub struct NewSession {
    /// Its member.
    pub member: Member,
    secret: [u8; 32],
}

impl NewSession {
    /// The secret of the session, for the cookie only.
    pub fn reveal(&self) -> String {
        hex(&self.secret)
    }
}

/// Without the secret.
impl std::fmt::Debug for NewSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewSession").field("member", &self.member).finish_non_exhaustive()
    }
}

/// A session, in the list of its member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id: no secret, and useful only for ending it.
    pub id: String,
    /// The user agent of the browser.
    pub browser: String,
    /// When it began.
    pub since: Timestamp,
    /// When it was last used, to a few minutes.
    pub last_active: Timestamp,
}

/// The session of a request.
#[derive(Debug, Clone)]
pub struct Current {
    /// The signed-in member.
    pub member: Member,
    /// The session's id.
    pub id: SessionId,
}

/// The id of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionId(pub String);

/// A session and its member, as they were read last.
#[derive(Debug)]
pub(super) struct KnownSession {
    row: SessionRow,
    member: Loaded<Member>,
}

/// The rows of these sessions. A member is loaded again when their version is another one.
pub(super) async fn read_sessions(
    db: Database,
    asked: Vec<(String, Option<Arc<KnownSession>>)>,
) -> Result<Vec<(String, Arc<KnownSession>)>, tenure::Error> {
    let ids: Vec<_> = asked.iter().map(|(id, _)| id.as_str()).collect();
    let rows = storage::sessions_now(&db, &ids).await?;
    let before: HashMap<String, Option<Arc<KnownSession>>> = asked.into_iter().collect();
    let mut all = Vec::with_capacity(rows.len());
    for (row, version) in rows {
        let same = before.get(&row.id).cloned().flatten().filter(|before| before.member.version().number() == version);
        let member = match same {
            Some(before) => Some(before.member.clone()),
            None => match MemberId::new(&row.member) {
                Ok(member) => Repository::<Member>::new(&db).get(&member).await?,
                Err(_) => None,
            },
        };
        all.extend(member.map(|member| (row.id.clone(), Arc::new(KnownSession { row, member }))));
    }
    Ok(all)
}

impl Shop {
    /// The session of a question that a page asks by itself, from the memory of this process: a session that is ended, here or by another
    /// process, is noticed within two seconds. It does not count as a use.
    pub async fn session_in_memory(&self, secret: &str) -> Result<Option<Current>, Refusal> {
        let id = id_of(secret);
        let Some(known) = self.live.sessions.one(&id).await? else { return Ok(None) };
        let goes_on = self.goes_on(&known.row, &known.member);
        Ok(goes_on.then(|| Current { member: Member::clone(&known.member), id: SessionId(id) }))
    }

    fn goes_on(&self, row: &SessionRow, member: &Member) -> bool {
        let now = self.clock.seconds();
        row.started_at + LONGEST > now
            && self.gate.presence.last(&row.id, row.seen_at) + IDLE > now
            && member.epoch() == row.epoch
            && (self.has_demo || !member.is_demo())
    }

    /// The session with this secret, if it is valid. `is_used`: whether the person is active, or only the page.
    pub async fn session(&self, secret: &str, is_used: bool) -> Result<Option<Current>, Refusal> {
        let id = id_of(secret);
        let Some(row) = storage::read_session(&self.db, &id).await? else { return Ok(None) };
        let Ok(member) = MemberId::new(&row.member) else { return Ok(None) };
        let member = self.members.get(&member).await?.map(Loaded::into_inner);
        let Some(member) = member.filter(|member| self.goes_on(&row, member)) else { return Ok(None) };
        let now = self.clock.seconds();
        if is_used && self.gate.presence.last(&id, row.seen_at) + EXACTLY <= now {
            self.gate.presence.note(&id, now, now - IDLE);
            let (db, id) = (self.db.clone(), id.clone());
            tokio::spawn(async move {
                if let Err(error) = storage::touch_session(&db, &id, now, WRITTEN_WITHIN).await {
                    tracing::debug!(error = &error as &dyn std::error::Error, "when a session was used is not written");
                }
            });
        }
        Ok(Some(Current { member, id: SessionId(id) }))
    }

    /// Begins a session, under the epoch in which the password was checked.
    pub(crate) async fn begin_session(
        &self,
        member: Member,
        browser: &str,
        agent: &str,
    ) -> Result<NewSession, Refusal> {
        let (row, secret) = self.new_session(&member, agent);
        let mut tx = self.db.begin().await?;
        storage::insert_session(&self.db, &mut tx, &row, MOST).await?;
        let id = member.id().as_str();
        storage::remember_browser(&self.db, &mut tx, id, browser, row.started_at, MOST_BROWSERS).await?;
        tx.commit().await?;
        Ok(NewSession { member, secret })
    }

    fn new_session(&self, member: &Member, agent: &str) -> (SessionRow, [u8; 32]) {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).expect("the operating system gives random bytes");
        let now = self.clock.seconds();
        let row = SessionRow {
            id: id_of(&hex(&secret)),
            member: member.id().to_string(),
            epoch: member.epoch(),
            browser: agent.chars().filter(|c| !c.is_control()).take(LONGEST_AGENT).collect(),
            started_at: now,
            seen_at: now,
        };
        (row, secret)
    }

    /// The valid sessions of this member, the latest first.
    pub async fn sessions(&self, member: &Member) -> Result<Vec<Session>, Refusal> {
        let now = self.clock.seconds();
        let rows = storage::list_sessions(&self.db, member.id().as_str(), member.epoch()).await?;
        let seen = rows.into_iter().map(|row| (self.gate.presence.last(&row.id, row.seen_at), row));
        let goes_on = seen.filter(|(seen_at, row)| row.started_at + LONGEST > now && seen_at + IDLE > now);
        let at = |seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
        let session = |(seen_at, row): (i64, SessionRow)| Session {
            id: row.id,
            browser: row.browser,
            since: at(row.started_at),
            last_active: at(seen_at),
        };
        Ok(goes_on.map(session).collect())
    }

    /// Ends one of the member's sessions, and returns whether there was one. The leases of its open forms are released.
    pub async fn end_session(&self, member: &Member, id: &SessionId) -> Result<bool, Refusal> {
        let ended = storage::delete_session(&self.db, &id.0, member.id().as_str()).await?;
        self.gate.presence.forget(&id.0);
        if ended {
            tracing::info!(account = ?member.id().as_str(), "signed out");
            self.release(member, &self.gate.open_forms.take(&id.0)).await;
        }
        Ok(ended)
    }

    /// Releases leases of a member who has signed out. If that fails, they end with their time to live: the session has ended anyway.
    pub async fn release(&self, member: &Member, leases: &[LockId]) {
        for id in leases {
            if let Err(refusal) = self.leave(member, id).await {
                tracing::warn!(error = &refusal as &dyn std::error::Error, "a lease stays after signing out");
            }
        }
    }

    /// Records that a form of this session has a lease, or asks for it.
    pub(crate) fn opens(&self, session: Option<&SessionId>, id: &LockId) {
        if let Some(SessionId(session)) = session {
            let now = self.clock.seconds();
            self.gate.open_forms.note(session, id, now, now - IDLE);
        }
    }

    /// Ends every session of the member, this one too, and releases all their leases.
    pub async fn end_all_sessions(&self, member: &Member) -> Result<(), Refusal> {
        let update = self.members.update(member.id()).by(&member.owner()).command("sign out everywhere");
        let update = update.also(|mut tx, _| async move {
            Ok(storage::delete_sessions(&self.db, &mut tx, member.id().as_str()).await?)
        });
        let begin = |member: &mut Member| {
            member.begin_epoch();
            Ok::<_, std::convert::Infallible>(())
        };
        match update.retrying(super::change_order::as_often_as_is_safe()).run(begin).await {
            Ok(_) => tracing::info!(account = ?member.id().as_str(), "signed out everywhere"),
            Err(tenure::error::UpdateError::Failed(error)) => return Err(error.into()),
            Err(tenure::error::UpdateError::Refused(never)) => match never {},
        }
        self.release_all(member.id()).await;
        Ok(())
    }

    /// Releases every lease of a member whose sessions have all ended. If that fails, the leases end in their time.
    pub(super) async fn release_all(&self, member: &MemberId) {
        if let Err(error) = self.locks.release_all(member.as_str()).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "leases stay after signing out");
        }
    }

    /// Saves a member's new password, ends every session, and begins a new one in this browser, all or nothing.
    pub(super) async fn begin_again(
        &self,
        member: &Member,
        password_hash: &str,
        browser: &str,
        agent: &str,
    ) -> Result<Option<NewSession>, Refusal> {
        let changed = {
            let mut changed = member.clone();
            changed.change_password(password_hash);
            changed
        };
        let (row, secret) = self.new_session(&changed, agent);
        let (db, row) = (&self.db, &row);
        let update = self.members.update(member.id()).by(&member.owner()).command("change password");
        let update = update.also(move |mut tx, _| async move {
            storage::delete_sessions(db, &mut tx, &row.member).await?;
            storage::insert_session(db, &mut tx, row, MOST).await?;
            storage::remember_browser(db, &mut tx, &row.member, browser, row.started_at, MOST_BROWSERS).await?;
            Ok(())
        });
        // It replaces the password that was checked, and the session belongs to the new epoch.
        let replace = |now: &mut Member| {
            if *now != *member {
                return Err(());
            }
            now.change_password(password_hash);
            Ok(())
        };
        match update.retrying(super::change_order::as_often_as_is_safe()).run(replace).await {
            Ok(_) => Ok(Some(NewSession { member: changed, secret })),
            Err(tenure::error::UpdateError::Refused(())) => Ok(None),
            Err(tenure::error::UpdateError::Failed(error)) => Err(error.into()),
        }
    }

    /// Deletes ended sessions, and browsers that were not used for long.
    pub(crate) async fn sweep_sessions(&self) -> Result<(), tenure::Error> {
        let now = self.clock.seconds();
        // Other processes have their own record of uses, so a row is kept as long as it may be valid.
        let ended = Ended {
            started_before: now - LONGEST,
            seen_before: now - LONGEST,
            browsers_before: now - BROWSER_KNOWN_FOR,
        };
        storage::sweep_sessions(&self.db, ended).await
    }
}

fn id_of(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
