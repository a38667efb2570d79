//! A form that a signed-in person sent from a page of their own session.

use std::str::FromStr;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::Response;
use tenure::{LockId, Version, VersionToken};
use tenure_web::browser_key::BrowserKey;
use tenure_web::csrf::{CsrfForm, CsrfRejection};
use tenure_web::form_id::FormId;
use tenure_web::sent::Sent;

use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::{order_url, problem, refusal};
use crate::domain::{Order, OrderNo};
use crate::session::SignedIn;
use crate::use_cases::{Once, SessionId, Shop};

/// A form of a signed-in person. If it is refused before a use case sees it, the page about that still shows
/// the typed text.
#[derive(Debug)]
pub(crate) struct Posted {
    /// The sender, and the frame of the response.
    pub(crate) visit: Visit,
    /// The sent fields.
    pub(crate) fields: Fields,
    /// The browser's key, from which the lock ids of its forms are derived.
    key: BrowserKey,
    /// The session.
    session: Option<SessionId>,
}

/// A form of any visitor, signed in or not.
#[derive(Debug)]
pub(crate) struct PostedByAnybody {
    /// The frame of the response.
    pub(crate) frame: Frame,
    /// The sent fields.
    pub(crate) fields: Fields,
}

impl FromRequest<Shop> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, shop: &Shop) -> Result<Posted, Response> {
        let (mut parts, body) = request.into_parts();
        let member = SignedIn::from_request_parts(&mut parts, shop).await;
        let (key, session) = (browser_key(&parts), parts.extensions.get().cloned());
        let (frame, sent) = read(parts, body, shop).await;
        match (member, sent) {
            // Typed text belongs to the person for whom the page was rendered; another person cannot save it.
            (Ok(SignedIn(member)), Ok(fields) | Err((_, fields)))
                if fields.get("person").is_some_and(|person| person != member.id().as_str()) =>
            {
                Err(problem::other_person(frame, &fields))
            }
            // Only the language was to be switched, on the answer to a form that was refused: nothing is done because of that.
            (Ok(_), Ok(fields)) if frame.has_chosen() => Err(problem::not_sent(frame, &fields)),
            (Ok(SignedIn(member)), Ok(fields)) => Ok(Posted { visit: Visit { frame, member }, fields, key, session }),
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
            // The text may be a password, so it is neither shown nor repeated.
            (frame, Err((rejection, _))) => Err(problem::form_refused(frame, &rejection, &Fields::default())),
        }
    }
}

/// The browser's key. It always exists: a browser without one gets it with this request.
pub(super) fn browser_key(parts: &Parts) -> BrowserKey {
    parts.extensions.get().cloned().unwrap_or_else(BrowserKey::random)
}

/// The fields, if the form belongs to the session; otherwise the reason, together with the typed text.
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
            // Before the form is validated, only a limited part is shown.
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

/// The result of a handler: a page, or another page instead of it.
pub(crate) type Answer = Result<Response, Response>;

impl Posted {
    /// The version that the person saw. The change itself checks whether it belongs to the aggregate
    /// that is changed.
    ///
    /// # Errors
    /// The page about an incomplete form. A missing version never means "any version": that would
    /// disable the check.
    pub(crate) fn version<A>(&self) -> Result<VersionToken<A>, Response> {
        self.parse("version")
    }

    /// As [`version`](Self::version), if the order is not changed yet, but shown beside the typed text.
    ///
    /// # Errors
    /// The page about an incomplete form, or about a form of another order.
    pub(crate) fn version_of(&self, no: &OrderNo) -> Result<VersionToken<Order>, Response> {
        let seen: VersionToken<Order> = self.version()?;
        let foreign = || problem::foreign_version(self.visit.frame.clone(), no, &self.fields);
        if seen.is_of(no) { Ok(seen) } else { Err(foreign()) }
    }

    /// The version on which the text in the form was typed; `None` if it contains no text.
    ///
    /// # Errors
    /// As [`version_of`](Self::version_of).
    pub(crate) fn typed_on(&self, no: &OrderNo) -> Result<Option<VersionToken<Order>>, Response> {
        if self.fields.is_blank() { Ok(None) } else { self.version_of(no).map(Some) }
    }

    /// The secret of the lease.
    ///
    /// # Errors
    /// The page about an incomplete form.
    pub(crate) fn lock_id(&self) -> Result<LockId, Response> {
        self.parse("lid")
    }

    /// The id of the form.
    ///
    /// # Errors
    /// The page about an incomplete form.
    pub(crate) fn form_id(&self) -> Result<FormId, Response> {
        self.parse("form_id")
    }

    /// The form to open: a new one if this form's own lease was lost.
    ///
    /// # Errors
    /// The page about an incomplete form.
    pub(crate) fn next_form(&self) -> Result<FormId, Response> {
        if self.fields.has("next-form") { self.parse("next-form") } else { self.form_id() }
    }

    /// The lock id of this person's form in this browser, which the session is about to acquire.
    pub(crate) fn lock_id_to_open(&self, shop: &Shop, form: FormId) -> LockId {
        let id = self.key.lock_id(self.visit.member.id().as_str(), form);
        shop.opens(self.session.as_ref(), &id);
        id
    }

    /// The form as an idempotent request, with the version on which it is saved directly, if any.
    ///
    /// # Errors
    /// The page about an incomplete form; or, of a text that was overtaken on its way, that a later one was saved: its person has replaced it.
    pub(crate) async fn once(&self, shop: &Shop, no: &OrderNo, on: Option<Version>) -> Result<Once, Response> {
        let nth = self.fields.text("nth").parse().unwrap_or(0);
        let on = on.map_or(0, Version::number);
        let once = Once { form: self.form_id()?, digest: self.fields.digest(), on, nth };
        if once.nth > 0
            && let Ok(Some(saved)) = shop.saved(&self.visit.member, once.form).await
            && saved.is_after(&once)
        {
            let frame = self.visit.frame.clone();
            let sent = problem::typed(frame.t, &self.fields, &[]);
            return Err(problem::saved_since(frame, no, sent));
        }
        Ok(once)
    }

    /// The form, completed by its kept text if it was refused before and refers to it. Other text of it that was offered beside its fields does
    /// not go on with them.
    ///
    /// # Errors
    /// The page that says that it is not kept any more, or that it was saved before it was put into a form again; or that the database failed.
    pub(crate) async fn with_kept(self, shop: &Shop, no: &OrderNo) -> Result<Posted, Response> {
        self.set_aside(shop, no).await?;
        if !self.fields.has("kept") {
            return Ok(self);
        }
        let id: FormId = self.parse("kept")?;
        match shop.kept(&self.visit.member, no, id).await {
            Ok(Some(kept)) if kept.is_saved && self.fields.has("edit-first") => {
                Err(Sent::refused(format!("{}/kept/{id}", order_url(no))).answer(self.visit.frame.script))
            }
            Ok(Some(kept)) => Ok(Posted { fields: self.fields.over(kept.fields), ..self }),
            Ok(None) => Err(problem::not_kept(self.visit.frame, no)),
            Err(refusal) => Err(refusal::plain(self.visit.frame, refusal)),
        }
    }

    /// Text of the form that was offered beside its fields does not go on with them. Returns the form in which it goes on.
    ///
    /// # Errors
    /// The page that says that the database failed.
    pub(crate) async fn set_aside(&self, shop: &Shop, no: &OrderNo) -> Result<Option<FormId>, Response> {
        let (Some((after, last)), Some(form)) = (self.fields.beside(), self.fields.text_of()) else { return Ok(None) };
        let set_aside = shop.set_aside(&self.visit.member, no, form, (after, last)).await;
        set_aside.map_err(|refusal| refusal::plain(self.visit.frame.clone(), refusal))?;
        Ok(Some(last))
    }

    /// A hidden field.
    ///
    /// # Errors
    /// The page about an incomplete form, with the name of the field.
    pub(crate) fn parse<T: FromStr>(&self, name: &'static str) -> Result<T, Response> {
        let value = self.fields.text(name).parse();
        value.map_err(|_| problem::incomplete_form(self.visit.frame.clone(), name, &self.fields))
    }
}
