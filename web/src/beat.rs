//! The heartbeat of an open form: it keeps the lease alive, and its response contains the state of the form.
//!
//! The application has one address per form. Its handler checks the permission and names the aggregate; [`Beat`] does the
//! rest. So no request contains a key, and a person cannot lock an aggregate that they may not change.
//!
//! | field of the `POST` | |
//! |---|---|
//! | `want` | `keep` the lease alive; `take` it, with the first change, unless `idle_ms` is 30 s or more; `look`, if there is none (any more) |
//! | `lid`, `form_id`, `version` | the form's hidden fields; `version` is `none` if the aggregate did not exist when the form was opened |
//! | `person` | the person for whom the page was rendered |
//! | `idle_ms` | the time since the person's last input there, at least 1: see [`tenure::lease::Heartbeat`], [`free_in`](crate::verdict::free_in) |
//! | `csrf` | with `take`: a lock id without a lease is no proof |
//! | `instead_of` | with `take`: the generation of the person's own lease elsewhere, which ends here |
//! | `left` | with `take` or `look`: the lock id of the page that this tab displayed before, and of those before it that it knows nothing of, at most eight, separated by commas. Their releases may come later, or never |
//! | `again` | with `left`, and `true`: this page was loaded again, by a reload or Back. If another person ended such a lease of this aggregate, the response says so, and the lock is not acquired |
//!
//! | the response | |
//! |---|---|
//! | 200, [`HeartbeatResponse`] | the [verdict](crate::verdict), in the application's words |
//! | 401 `session-expired` | nobody is signed in; the lease continues |
//! | 409 `other-person` | another person is signed in now |
//! | 403 `csrf-failed` | the page requests a [new token](crate::leases), once |
//! | 400 `bad-form` | |
//! | 404 `not-found` | the aggregate was deleted |
//! | 503 | the database did not answer; the same request may be repeated |
//!
//! With `keep`, and with `take`, an expired lease is resumed if the lock was not acquired and nothing was saved since: see
//! [`LockManager::resume`]. A lease that ended at its idle limit is resumed only while the person is there: with an `idle_ms` below
//! 30 s. So a page warns before ([`HeartbeatResponse::idle_in_ms`]), and sends a heartbeat with the next input. An aggregate that did not exist when the form was opened has no version to resume with.
//!
//! ```
//! use axum::extract::{Path, State};
//! use axum::routing::post;
//! use axum::{Json, Router};
//! use tenure::{Aggregate, LockManager, Repository};
//! use tenure_web::beat::{Beat, HeartbeatResponse};
//! use tenure_web::problem::Problem;
//! use tenure_web::verdict::{Verdict, decide};
//!
//! #[derive(Aggregate)]
//! #[aggregate(table = "note")]
//! struct Note { #[aggregate(id)] id: String, text: String, closed: bool }
//!
//! type Notes = State<(LockManager, Repository<Note>)>;
//!
//! async fn beat(State((locks, notes)): Notes, Path(id): Path<String>, beat: Beat<Note>) -> Result<Json<HeartbeatResponse>, Problem> {
//!     if beat.owner().id != "kim" {
//!         return Err(Problem::new(403, "forbidden", "Only Kim writes notes"));
//!     }
//!     let facts = beat.facts(&locks, &notes, &id, true, |note| note.closed.then_some("The note is closed.")).await?;
//!     let verdict = decide(beat.owner(), facts);
//!     let said = match &verdict {
//!         Verdict::Frozen(why) => (*why).to_owned(),
//!         Verdict::Taken { holder, .. } => format!("{} is writing now.", holder.owner.name),
//!         _ => String::new(),
//!     };
//!     Ok(Json(HeartbeatResponse::new(beat.owner(), &verdict).said(said)))
//! }
//!
//! let app: Router<(LockManager, Repository<Note>)> = Router::new().route("/notes/{id}/beat", post(beat));
//! ```

mod response;

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::{Form, RequestExt};
use serde::Deserialize;
use tenure::{
    Aggregate, Error, Lease, LockId, LockKey, LockManager, Owner, Repository, VersionToken,
    error::{LeaseError, LockError, TakeOverError, UpdateError},
    lease::{Holder, LeaseLossReason, NoLock},
    unit_of_work::Retry,
};

pub use response::HeartbeatResponse;

use crate::csrf::CsrfToken;
use crate::form_id::FormId;
use crate::leases::{PARTING_GRACE, was_left_by};
use crate::problem::Problem;
use crate::verdict::{Facts, Mine, Moved};

/// The reason of the end of a person's own lease when they continue in another tab. A code, not a text: pages show it in the
/// reader's language.
pub const MOVED_HERE: &str = "moved-here";

/// How often the comparison under the lock runs, if it loses deadlocks.
const RETRIES: u32 = 5;

/// After this time without input the person counts as absent: a lease that reached its idle limit stays ended, and none is acquired.
const PRESENT: Duration = Duration::from_secs(30);

/// The most pages of a tab that were left before their first answer.
const MOST_LEFT: usize = 8;

/// The request of an open form of a signed-in person.
pub struct Beat<A> {
    owner: Owner,
    id: LockId,
    form: FormId,
    seen: Option<VersionToken<A>>,
    want: Want,
    idle: Duration,
    instead_of: Option<i64>,
    left: Vec<LockId>,
    again: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Want {
    Keep,
    Take,
    Look,
}

#[derive(Deserialize)]
struct Fields {
    lid: String,
    form_id: String,
    version: String,
    person: String,
    want: Want,
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    idle_ms: u64,
    instead_of: Option<i64>,
    left: Option<String>,
    #[serde(default)]
    again: bool,
}

impl<A, S: Send + Sync> FromRequest<S> for Beat<A> {
    /// 401, 409, 403 or 400, see the [module](self).
    type Rejection = Problem;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Problem> {
        let owner = request.extensions().get::<Owner>().cloned().ok_or_else(signed_out)?;
        let token = request.extract_parts_with_state::<SessionToken, S>(state).await.unwrap_or(SessionToken(None)).0;
        let sent = Form::<Fields>::from_request(request, state).await;
        let Form(sent) = sent.map_err(|rejection| bad(rejection.body_text()))?;
        if sent.person != owner.id {
            return Err(other_person());
        }
        if sent.want == Want::Take && !token.is_some_and(|token| token.admits(&sent.csrf)) {
            let detail = "The form does not belong to this browser's session. Load the page again.";
            return Err(Problem::new(403, "csrf-failed", "Refused").detail(detail).action("reload"));
        }
        let wrong = |field| bad(format!("the field `{field}` is not what it has to be"));
        let seen = match sent.version.as_str() {
            "none" => None,
            version => Some(version.parse().map_err(|_| wrong("version"))?),
        };
        Ok(Beat {
            owner,
            id: sent.lid.parse().map_err(|_| wrong("lid"))?,
            form: sent.form_id.parse().map_err(|_| wrong("form_id"))?,
            seen,
            want: sent.want,
            // An input comes before the heartbeat that tells of it: see `verdict::free_at`.
            idle: Duration::from_millis(sent.idle_ms.max(1)),
            instead_of: sent.instead_of,
            left: left_ids(sent.left.as_deref()).ok_or_else(|| wrong("left"))?,
            again: sent.again,
        })
    }
}

/// `None` if one of them is none, or there are more than a tab sends.
fn left_ids(sent: Option<&str>) -> Option<Vec<LockId>> {
    let sent: Vec<_> = sent.into_iter().flat_map(|ids| ids.split(',')).collect();
    if sent.len() > MOST_LEFT {
        return None;
    }
    sent.into_iter().map(|id| id.parse().ok()).collect()
}

/// The session's token, if the application keeps one.
struct SessionToken(Option<CsrfToken>);

impl<S: Send + Sync> FromRequestParts<S> for SessionToken {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, _: &S) -> Result<Self, Infallible> {
        Ok(SessionToken(parts.extensions.get().cloned()))
    }
}

impl<A> Beat<A> {
    /// The signed-in person, for whom the page was rendered.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The id of the form.
    pub fn form(&self) -> FormId {
        self.form
    }

    /// The lock id of the form. A secret: an application that remembers it, to release the leases of a session that ends, does so in memory.
    pub fn lock_id(&self) -> &LockId {
        &self.id
    }

    /// Whether it keeps a lease alive or requests one: not only looks.
    pub fn wants_a_lock(&self) -> bool {
        self.want != Want::Look
    }

    /// Whether it requests the lock, so that an application can limit the rate per person.
    pub fn takes_a_lock(&self) -> bool {
        self.want == Want::Take
    }
}

impl<A: Aggregate> Beat<A> {
    /// Performs the form's request on its lease, then reads the aggregate: the facts for [`decide`](crate::verdict::decide).
    /// The caller has already decided whether this person may change this aggregate, and knows whether this form was saved
    /// ([`Facts::saved`]).
    ///
    /// A form that `needs_lease` cannot be saved without one. Any other form is decided by its version, if it never had a
    /// lease, released it, or it expired ([`LeaseLossReason::permits_a_save_by_version`]), or if its lock excludes nobody: such a form is saved
    /// by [`Update::from_form`](tenure::unit_of_work::Update::from_form). `frozen` returns the reason that an aggregate in this state
    /// cannot be changed any more, if so.
    ///
    /// A lock is granted only for the version with which the form was opened: text for an older one has to be compared when it is
    /// saved, and would meanwhile block people whose text is current. The lease of an aggregate that cannot be changed any more is
    /// released. A repeated request returns the same lease. The person's own lease of a page that was left a moment ago blocks nobody.
    ///
    /// # Errors
    /// 404 if the aggregate was deleted; 400 for the version of another one; 429 at a limit; 503 if the database did
    /// not answer.
    pub async fn facts<F>(
        &self,
        locks: &LockManager,
        aggregates: &Repository<A>,
        id: &A::Id,
        needs_lease: bool,
        frozen: impl FnOnce(&A) -> Option<F>,
    ) -> Result<Facts<F>, Problem> {
        let (locks, key) = (locks.acting_for(&self.owner), LockKey::of::<A>(id));
        if self.seen.is_some_and(|seen| !seen.is_of(id)) {
            let detail = "The version in the form is one of something else. Load the page again.";
            return Err(Problem::new(400, "foreign-version", "Refused").detail(detail).action("reload"));
        }
        let mut mine = match (self.part_from_left(&locks, &key).await?, self.want) {
            (Some(ended), _) => Mine::Ended(ended),
            (None, Want::Keep) => self.keep(&locks, aggregates, id).await?,
            // A page that nobody touches takes no lock: it would keep others away, and say that its person was there.
            (None, Want::Take) if self.idle < PRESENT => self.take(&locks, aggregates, id).await?,
            (None, Want::Take | Want::Look) => self.look(&locks, &key).await?,
        };
        let exclusive = locks.policy(key.kind()).is_exclusive();
        let own = match &mine {
            Mine::Alive(lease) | Mine::Resumed(lease) => Some(lease.generation),
            Mine::None | Mine::Ended(_) => None,
        };
        // Nobody is beside an exclusive lease that is alive, so nobody is asked for.
        let mut others = if own.is_some() && exclusive { Vec::new() } else { locks.holders(&key).await? };
        others.retain(|holder| Some(holder.generation) != own);
        // A lease that somebody else has now is reported with the reason of its end. One that was released had ended before: perhaps it was
        // given back at once, because the text was older, so its person has not done anything.
        let is_free = others.is_empty() || !exclusive;
        if let Mine::Ended(no_lock) = &mine
            && !needs_lease
            && (!exclusive || no_lock.why.permits_a_save_by_version())
            && (is_free || matches!(no_lock.why, LeaseLossReason::Unknown | LeaseLossReason::Released { .. }))
        {
            mine = Mine::None;
        }
        let now = aggregates.get(id).await?;
        if now.is_none() && self.seen.is_some() {
            return Err(deleted());
        }
        let moved = now.as_ref().map(|now| now.version()) != self.seen.map(|seen| seen.version());
        let moved = if moved { Some(Moved { change: aggregates.changes(id, 1).await?.pop() }) } else { None };
        let frozen = now.as_deref().and_then(frozen);
        // Nothing can be saved under it any more, so nobody should wait for its end.
        if frozen.is_some() && own.is_some() {
            mine = self.give_back(&locks).await?;
        }
        Ok(Facts { frozen, mine, others, moved, saved: false, exclusive })
    }

    /// Releases the leases of the pages that this tab displayed before, as their own requests do. Those are sent without waiting: they can
    /// arrive after this request, before the request that acquired the lease, or not at all.
    ///
    /// If another person ended such a lease of the same aggregate, returns how to a page that was loaded again, so that this does not
    /// acquire the lock again. A form that was opened again is a new one.
    async fn part_from_left(&self, locks: &LockManager, key: &LockKey) -> Result<Option<Box<NoLock>>, Problem> {
        for left in self.left.iter().filter(|left| self.want != Want::Keep && **left != self.id) {
            match locks.expire_within(left, PARTING_GRACE).await {
                Ok(_) => {}
                Err(LeaseError::NoLock(no_lock)) => {
                    let is_by_another = no_lock.why.ended_by().is_some_and(|by| by.id != self.owner.id);
                    if self.again && is_by_another && no_lock.key.as_ref() == Some(key) {
                        return Ok(Some(Box::new(no_lock)));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// A form that only checks may have had a lease, whose end is reported again; or it has one whose response was lost.
    async fn look(&self, locks: &LockManager, key: &LockKey) -> Result<Mine, Problem> {
        match locks.check_lock(&self.id).await {
            Ok(lease) => Ok(alive(&lease, key)),
            Err(LeaseError::NoLock(no_lock)) if no_lock.why == LeaseLossReason::Unknown => Ok(Mine::None),
            Err(LeaseError::NoLock(no_lock)) => Ok(Mine::Ended(Box::new(no_lock))),
            Err(error) => Err(error.into()),
        }
    }

    async fn keep(&self, locks: &LockManager, aggregates: &Repository<A>, id: &A::Id) -> Result<Mine, Problem> {
        let mut answers = locks.keep_alive_with(&[tenure::lease::Heartbeat::idle(self.id.clone(), self.idle)]).await?;
        let no_lock = match answers.pop() {
            Some(Ok(lease)) => return Ok(alive(&lease, &LockKey::of::<A>(id))),
            Some(Err(no_lock)) => no_lock,
            None => return Err(Problem::new(500, "failed", "Something went wrong")),
        };
        self.resumed(locks, aggregates, id, no_lock).await
    }

    /// Continues an expired lease, if nobody has acquired the lock or saved since.
    async fn resumed(
        &self,
        locks: &LockManager,
        aggregates: &Repository<A>,
        id: &A::Id,
        no_lock: NoLock,
    ) -> Result<Mine, Problem> {
        let is_to_resume = match no_lock.why {
            LeaseLossReason::Expired { .. } => true,
            LeaseLossReason::IdleLimitReached { .. } => self.idle < PRESENT,
            _ => false,
        };
        if let Some(seen) = self.seen.filter(|_| is_to_resume) {
            match locks.resume(aggregates, id, &self.id, seen).await {
                Ok(lease) => return Ok(Mine::Resumed(Holder::clone(lease.holder()))),
                Err(Error::Database(error)) => return Err(error.into()),
                // Another person holds it, or has saved: the facts collected next contain that.
                Err(_) => {}
            }
        }
        Ok(Mine::Ended(Box::new(no_lock)))
    }

    async fn take(&self, locks: &LockManager, aggregates: &Repository<A>, id: &A::Id) -> Result<Mine, Problem> {
        let key = LockKey::of::<A>(id);
        let lease = match locks.try_lock_as(&key, &self.owner, self.id.clone()).await {
            Ok(lease) => lease,
            Err(LockError::AlreadyLocked(own)) if own.owner.id == self.owner.id => {
                if !was_left_by(&own, &self.owner.id) && self.instead_of != Some(own.generation) {
                    return self.look(locks, &key).await;
                }
                let taken = locks.take_over(&key, own.generation, &self.owner, self.id.clone(), MOVED_HERE).await;
                match taken {
                    Ok(lease) => lease,
                    Err(TakeOverError::Database(error)) => return Err(error.into()),
                    // Another request won the race; the facts collected next name its owner.
                    Err(_) => return self.look(locks, &key).await,
                }
            }
            Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => return self.look(locks, &key).await,
            Err(LockError::LockIdUsed(ended)) => return self.resumed(locks, aggregates, id, *ended).await,
            Err(error) => return Err(error.into()),
        };
        // Compared under the lock: from here on only its holder can save.
        let Some(seen) = self.seen else {
            if aggregates.get(id).await?.is_none() {
                return Ok(Mine::Alive(Holder::clone(lease.holder())));
            }
            return self.give_back(locks).await;
        };
        // A save of the same form may be in flight; on MariaDB and MySQL the two can deadlock. This one changes nothing, so it may run again.
        let as_opened = aggregates.update(id).by(&self.owner).expecting(seen).holding(&self.id);
        match as_opened.retrying(Retry::transient(RETRIES)).run(|_| Ok::<_, Infallible>(())).await {
            Ok(_) => Ok(Mine::Alive(Holder::clone(lease.holder()))),
            Err(UpdateError::Failed(Error::Database(error))) => Err(error.into()),
            Err(UpdateError::Failed(Error::NotFound { .. })) => {
                self.give_back(locks).await?;
                Err(deleted())
            }
            Err(UpdateError::Failed(_)) => self.give_back(locks).await,
            Err(UpdateError::Refused(never)) => match never {},
        }
    }

    async fn give_back(&self, locks: &LockManager) -> Result<Mine, Problem> {
        match locks.release_lock(&self.id).await {
            Ok(()) | Err(LeaseError::NoLock(_)) => Ok(Mine::None),
            Err(error) => Err(error.into()),
        }
    }
}

/// A live lease; a lease of another aggregate counts as none here.
fn alive(lease: &Lease, key: &LockKey) -> Mine {
    if lease.holder().key == *key {
        return Mine::Alive(Holder::clone(lease.holder()));
    }
    Mine::Ended(Box::new(NoLock {
        key: Some(lease.holder().key.clone()),
        why: LeaseLossReason::OtherAggregate,
        held_now: None,
    }))
}

fn signed_out() -> Problem {
    let detail = "You are signed out. A lease that the form has stays until its time is up: sign in again in another tab, \
                  then go on.";
    Problem::new(401, "session-expired", "Signed out").detail(detail).action("sign-in")
}

pub(crate) fn other_person() -> Problem {
    let detail =
        "Somebody else is signed in now. What was typed here belongs to another account: sign in again with that one.";
    Problem::new(409, "other-person", "Somebody else is signed in").detail(detail).action("sign-in")
}

fn deleted() -> Problem {
    Problem::new(404, "not-found", "It was deleted").detail("It was deleted after it was opened.")
}

fn bad(detail: String) -> Problem {
    Problem::new(400, "bad-form", "Refused").detail(format!("The form is incomplete: {detail}. Load the page again."))
}

impl<A> fmt::Debug for Beat<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Beat { owner, id, form, seen, want, idle, instead_of, left, again } = self;
        let mut shown = f.debug_struct("Beat");
        shown.field("owner", owner).field("id", id).field("form", form).field("seen", seen).field("want", want);
        shown.field("idle", idle).field("instead_of", instead_of).field("left", left).field("again", again).finish()
    }
}
