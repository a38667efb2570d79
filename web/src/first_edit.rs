//! The lock with the first change: for forms that most people open only to look, see [`Acquire::OnFirstEdit`].
//!
//! A form with `data-acquire` and no lease has the script ask at that address when the person changes the first field.
//! The address is the application's own: its handler says who may, and which aggregate it is. [`FirstEdit`] is the rest,
//! so no request names a key, and nobody locks what they may not change.
//!
//! | the request: `POST` with `csrf, lid, version` | the answer |
//! |---|---|
//! | it is free | 200 with the time left, as from `/keep-alive` |
//! | the same again | the same lease |
//! | somebody else holds it | 423 `already-locked`, with who and since when as the [policy](tenure::ShowOwner) shows them |
//! | the same person does, in another tab | 423 `locked-elsewhere`, since when, and its generation |
//! | that again, with the generation as `instead_of` | 200: the person goes on here, and the other tab is told |
//! | it was saved since `version` | 409 `version-conflict`, with who; no lock is kept |
//! | nobody is signed in; from a page of another session | 401 `session-expired`; 403 `csrf-failed` |
//! | the lease of this `lid` has ended | 410 with the reason |
//!
//! The form has the fields `csrf`, `lid` and `version`, and the attributes of one that has a lease, but for its expiry. With
//! `data-acquire-on="open"` the script asks as soon as the page is there ([`Acquire::OnOpen`], or text that was typed
//! before). In the banner it shows a button `data-tenure-retry` to whoever is refused, and
//! `data-tenure-move` to whoever is in their own way; what it says are the texts `data-text-granted`, `-held`, `-elsewhere`,
//! `-moved`, `-free` and `-free-signed-out`. A form that is sent without a lease is decided by its version.
//!
//! The lock id cannot do here what it does for the [other endpoints](crate::leases): it holds nothing yet, so anybody can
//! make one up. That is why this request carries the session's [token](crate::csrf).
//!
//! ```
//! use axum::extract::{Path, State};
//! use axum::routing::post;
//! use axum::{Extension, Json, Router};
//! use tenure::{Aggregate, LockManager, Owner, Repository};
//! use tenure_web::first_edit::FirstEdit;
//! use tenure_web::leases::Alive;
//! use tenure_web::problem::Problem;
//!
//! #[derive(Aggregate)]
//! #[aggregate(table = "note")]
//! struct Note { #[aggregate(id)] id: String, text: String }
//!
//! type Notes = State<(LockManager, Repository<Note>)>;
//!
//! async fn lock(
//!     State((locks, notes)): Notes, Path(id): Path<String>, Extension(who): Extension<Owner>, first: FirstEdit<Note>,
//! ) -> Result<Json<Alive>, Problem> {
//!     if who.id != "kim" {
//!         return Err(Problem::new(403, "forbidden", "Only Kim writes notes"));
//!     }
//!     first.lock(&locks, &notes, &id).await
//! }
//!
//! let app: Router<(LockManager, Repository<Note>)> = Router::new().route("/notes/{id}/lock", post(lock));
//! ```
//!
//! [`Acquire::OnFirstEdit`]: tenure::Acquire::OnFirstEdit
//! [`Acquire::OnOpen`]: tenure::Acquire::OnOpen

use std::convert::Infallible;
use std::fmt;

use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tenure::{Aggregate, Error, Holder, Lease, LockError, LockId, LockKey, LockManager, Owner, Repository};
use tenure::{TakeOverError, UpdateError, VersionToken};

use crate::csrf::{CsrfForm, CsrfRejection};
use crate::leases::{Alive, PARTING_GRACE};
use crate::problem::Problem;

/// What a form sends with its first change: from somebody who is signed in, and from a page of their own session.
pub struct FirstEdit<A> {
    owner: Owner,
    id: LockId,
    seen: VersionToken<A>,
    instead_of: Option<i64>,
}

#[derive(Deserialize)]
struct Sent {
    lid: String,
    version: String,
    instead_of: Option<i64>,
}

impl<A, S: Send + Sync> FromRequest<S> for FirstEdit<A> {
    /// 401, 403 or 400, see the [module](self).
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let owner = request.extensions().get::<Owner>().cloned().ok_or_else(|| signed_out().into_response())?;
        let sent = CsrfForm::from_request(request, state).await;
        let CsrfForm(Sent { lid, version, instead_of }) = sent.map_err(CsrfRejection::into_response)?;
        let bad = |field| CsrfRejection::Form(format!("the field `{field}` is not what it has to be")).into_response();
        Ok(FirstEdit {
            owner,
            id: lid.parse().map_err(|_| bad("lid"))?,
            seen: version.parse().map_err(|_| bad("version"))?,
            instead_of,
        })
    }
}

impl<A: Aggregate> FirstEdit<A> {
    /// Takes the lock of this aggregate. Whether the person may change it, the caller has decided.
    ///
    /// A lock is kept only on the version that the form was opened on: text for an older one has to be compared when it is
    /// saved, and would meanwhile keep out those whose text fits. Asking again gives the same lease. The person's own lease
    /// of a page that was left a moment ago is in nobody's way: a page that was reloaded has a new lock id.
    ///
    /// # Errors
    /// The problems of the [module](self); 400 for the version of another aggregate, 404 where there is none; 429 at a limit;
    /// 503 when the database did not answer: then the same request may be sent again.
    pub async fn lock(
        self,
        locks: &LockManager,
        aggregates: &Repository<A>,
        id: &A::Id,
    ) -> Result<Json<Alive>, Problem> {
        let (locks, key) = (locks.acting_for(&self.owner), LockKey::of::<A>(id));
        let as_opened = || aggregates.update(id).by(&self.owner).expecting(self.seen);
        let lease = match locks.try_lock_as(&key, &self.owner, self.id.clone()).await {
            Err(LockError::AlreadyLocked(own)) if own.owner.id == self.owner.id => self.take_over(&locks, *own).await?,
            Err(LockError::LockIdUsed(ended)) => {
                // Perhaps this is asked again, and it ended below.
                as_opened().run(nothing).await?;
                return Err((*ended).into());
            }
            lease => lease?,
        };
        // Compared under the lock: from here on nobody saves but who holds it.
        match as_opened().holding(&self.id).run(nothing).await {
            Ok(_) => Ok(Json(Alive::new(&locks, &lease).await?)),
            Err(UpdateError::Failed(error @ Error::Database(_))) => Err(error.into()),
            Err(moved) => {
                locks.release_lock(&self.id).await?;
                Err(moved.into())
            }
        }
    }

    async fn take_over(&self, locks: &LockManager, own: Holder) -> Result<Lease, Problem> {
        if own.remaining > PARTING_GRACE && self.instead_of != Some(own.generation) {
            return Err(Problem::of_own_lock(own));
        }
        let lease = locks.take_over(&own.key, own.generation, &self.owner, self.id.clone(), "opened elsewhere").await;
        lease.map_err(|error| match error {
            TakeOverError::Database(error) => error.into(),
            _ => Problem::of_own_lock(own),
        })
    }
}

/// A unit of work that changes nothing writes nothing: what it does is to compare the version.
fn nothing<A>(_: &mut A) -> Result<(), Infallible> {
    Ok(())
}

fn signed_out() -> Problem {
    let detail = "You are signed out, so nothing is reserved for you. Sign in again in another tab, then go on.";
    Problem::new(401, "session-expired", "Signed out").detail(detail).action("sign-in")
}

impl<A> fmt::Debug for FirstEdit<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FirstEdit { owner, id, seen, instead_of } = self;
        let mut shown = f.debug_struct("FirstEdit");
        shown.field("owner", owner).field("id", id).field("seen", seen).field("instead_of", instead_of).finish()
    }
}
