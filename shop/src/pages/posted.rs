//! A form that was sent: by somebody who is signed in, from a page of their own session.

use std::str::FromStr;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::Response;
use tenure::{LockId, Version, VersionToken};
use tenure_web::browser_key::BrowserKey;
use tenure_web::csrf::{CsrfForm, CsrfRejection};
use tenure_web::form_id::FormId;

use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::{problem, refusal};
use crate::domain::{Order, OrderNo};
use crate::session::SignedIn;
use crate::use_cases::{Once, Shop};

/// A form of somebody who is signed in. If it is refused before any use case sees it, the page that says so still shows
/// what was typed.
#[derive(Debug)]
pub(crate) struct Posted {
    /// Who sent it, and what goes around the answer.
    pub(crate) visit: Visit,
    /// What was sent.
    pub(crate) fields: Fields,
    /// The browser's key, of which the lock ids of its forms are made.
    key: BrowserKey,
}

/// A form of anybody.
#[derive(Debug)]
pub(crate) struct PostedByAnybody {
    /// What goes around the answer.
    pub(crate) frame: Frame,
    /// What was sent.
    pub(crate) fields: Fields,
}

impl FromRequest<Shop> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, shop: &Shop) -> Result<Posted, Response> {
        let (mut parts, body) = request.into_parts();
        let member = SignedIn::from_request_parts(&mut parts, shop).await;
        let key = browser_key(&parts);
        let (frame, sent) = read(parts, body, shop).await;
        match (member, sent) {
            // What was typed is the person's for whom the page was drawn, and nobody else saves it.
            (Ok(SignedIn(member)), Ok(fields) | Err((_, fields)))
                if fields.get("person").is_some_and(|person| person != member.id().as_str()) =>
            {
                Err(problem::other_person(frame, &fields))
            }
            (Ok(SignedIn(member)), Ok(fields)) => Ok(Posted { visit: Visit { frame, member }, fields, key }),
            (Err(_), sent) => Err(problem::signed_out(frame, &sent.unwrap_or_else(|(_, typed)| typed))),
            (Ok(_), Err((rejection, typed))) => Err(problem::form_refused(frame, &rejection, &typed)),
        }
    }
}

impl FromRequest<Shop> for PostedByAnybody {
    type Rejection = Response;

    async fn from_request(request: Request, shop: &Shop) -> Result<PostedByAnybody, Response> {
        let (parts, body) = request.into_parts();
        match read(parts, body, shop).await {
            (frame, Ok(fields)) => Ok(PostedByAnybody { frame, fields }),
            // Nobody shows or repeats what may be a password.
            (frame, Err((rejection, _))) => Err(problem::form_refused(frame, &rejection, &Fields::default())),
        }
    }
}

/// The browser's key. There is always one: a browser without was given one with this very request.
pub(super) fn browser_key(parts: &Parts) -> BrowserKey {
    parts.extensions.get().cloned().unwrap_or_else(BrowserKey::random)
}

/// The fields, if the form belongs to the session; otherwise why not, and what was typed none the less.
async fn read(parts: Parts, body: Body, shop: &Shop) -> (Frame, Result<Fields, (CsrfRejection, Fields)>) {
    let frame = Frame::bare(&parts);
    let again = |body| Request::from_parts(parts.clone(), body);
    let bytes = match Bytes::from_request(again(body), shop).await {
        Ok(bytes) => bytes,
        Err(rejection) => return (frame, Err((CsrfRejection::Body(rejection), Fields::default()))),
    };
    let sent = CsrfForm::<Pairs>::from_request(again(Body::from(bytes.clone())), shop).await;
    match sent {
        Ok(CsrfForm(pairs)) => {
            let fields = Fields::posted(pairs);
            // Before anybody has looked at it, only so much is shown as forms have.
            let fields = if frame.member.is_none() { fields.shown_unseen() } else { fields };
            (frame.answering(&fields), Ok(fields))
        }
        Err(rejection) => {
            let typed: Pairs = serde_urlencoded::from_bytes(&bytes).unwrap_or_default();
            let fields = Fields::posted(typed).shown_unseen();
            (frame.answering(&fields), Err((rejection, fields)))
        }
    }
}

/// What handlers give: a page, or a page instead of it.
pub(crate) type Answer = Result<Response, Response>;

impl Posted {
    /// The version that the person saw. Whether it is one of the aggregate that is to be changed is checked with it,
    /// where that is changed.
    ///
    /// # Errors
    /// The page that says that the form is incomplete. A version that is missing never means "whichever": that would
    /// switch the check off.
    pub(crate) fn version<A>(&self) -> Result<VersionToken<A>, Response> {
        self.parse("version")
    }

    /// As [`version`](Self::version), where the order is not changed yet, but shown beside what was typed.
    ///
    /// # Errors
    /// The page that says that the form is incomplete, or that it is one of another order.
    pub(crate) fn version_of(&self, no: &OrderNo) -> Result<VersionToken<Order>, Response> {
        let seen: VersionToken<Order> = self.version()?;
        let foreign = || problem::foreign_version(self.visit.frame.clone(), no, &self.fields);
        if seen.is_of(no) { Ok(seen) } else { Err(foreign()) }
    }

    /// The version that the text in the form was typed on; none if there is no text in it.
    ///
    /// # Errors
    /// As [`version_of`](Self::version_of).
    pub(crate) fn typed_on(&self, no: &OrderNo) -> Result<Option<VersionToken<Order>>, Response> {
        if self.fields.is_blank() { Ok(None) } else { self.version_of(no).map(Some) }
    }

    /// The secret of the lease.
    ///
    /// # Errors
    /// The page that says that the form is incomplete.
    pub(crate) fn lock_id(&self) -> Result<LockId, Response> {
        self.parse("lid")
    }

    /// Which form it is.
    ///
    /// # Errors
    /// The page that says that the form is incomplete.
    pub(crate) fn form_id(&self) -> Result<FormId, Response> {
        self.parse("form_id")
    }

    /// The form that is to be opened: another one when this form's own lease was lost.
    ///
    /// # Errors
    /// The page that says that the form is incomplete.
    pub(crate) fn next_form(&self) -> Result<FormId, Response> {
        if self.fields.has("next-form") { self.parse("next-form") } else { self.form_id() }
    }

    /// The lock id of a form of this person's in this browser.
    pub(crate) fn lock_id_of(&self, form: FormId) -> LockId {
        self.key.lock_id(self.visit.member.id().as_str(), form)
    }

    /// The form as a request that is done once, and on which version it is saved directly, if it is.
    ///
    /// # Errors
    /// The page that says that the form is incomplete.
    pub(crate) fn once(&self, on: Option<Version>) -> Result<Once, Response> {
        Ok(Once { form: self.form_id()?, digest: self.fields.digest(), on: on.map_or(0, Version::number) })
    }

    /// The form, over what was kept of it when it was refused before, if it says so.
    ///
    /// # Errors
    /// The page that says that it is not kept any more; or that the database failed.
    pub(crate) async fn with_kept(self, shop: &Shop, no: &OrderNo) -> Result<Posted, Response> {
        if !self.fields.has("kept") {
            return Ok(self);
        }
        let id = self.parse("kept")?;
        match shop.kept(&self.visit.member, no, id).await {
            Ok(Some(kept)) => Ok(Posted { fields: self.fields.over(kept.fields), ..self }),
            Ok(None) => Err(problem::not_kept(self.visit.frame, no)),
            Err(refusal) => Err(refusal::plain(self.visit.frame, refusal)),
        }
    }

    /// A hidden field.
    ///
    /// # Errors
    /// The page that says that the form is incomplete, and which field it is.
    pub(crate) fn parse<T: FromStr>(&self, name: &'static str) -> Result<T, Response> {
        let value = self.fields.text(name).parse();
        value.map_err(|_| problem::incomplete_form(self.visit.frame.clone(), name, &self.fields))
    }
}
