//! A refused form, at its own address: the typed text is kept, and the page shows the current state. Viewing it
//! changes nothing.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::response::Response;
use tenure::{LockId, VersionToken};
use tenure_web::browser_key::BrowserKey;
use tenure_web::form_id::FormId;

use super::fields::{Fields, Pairs, SAVED_BEFORE};
use super::frame::{Frame, Visit};
use super::order::Number;
use super::posted::{Answer, browser_key};
use super::problem::Retry;
use super::read::read_shipping;
use super::refusal::{self, Attempt, What};
use super::{both, compare, edit, note, order_url, outcome, problem, see, shipping};
use crate::domain::{Note, Order, OrderNo};
use crate::use_cases::{Doing, Refusal, ShippingForm, Shop};

/// The part of the address after the order's number.
pub(super) struct Named(pub(super) FormId);

impl FromRequestParts<Shop> for Named {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shop: &Shop) -> Result<Named, Response> {
        let id = Path::<(String, String)>::from_request_parts(parts, shop).await.ok();
        let id = id.and_then(|Path((_, id))| id.parse().ok());
        id.map(Named).ok_or_else(|| problem::not_found(Frame::bare(parts)))
    }
}

/// The browser's key, for pages that are only viewed.
pub(super) struct Key(pub(super) BrowserKey);

impl FromRequestParts<Shop> for Key {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Shop) -> Result<Key, Self::Rejection> {
        Ok(Key(browser_key(parts)))
    }
}

/// A refused form, read back.
pub(super) struct KeptForm {
    pub(super) id: FormId,
    pub(super) what: What,
    pub(super) fields: Fields,
}

impl KeptForm {
    /// The form that the query of an address names, if any.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) async fn asked(
        shop: &Shop,
        visit: &Visit,
        key: &BrowserKey,
        no: &OrderNo,
        query: Pairs,
    ) -> Result<Option<KeptForm>, Response> {
        match Fields::sent(query).text("kept").parse() {
            Ok(id) => KeptForm::read(shop, visit, key, no, id).await.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The form of this person about this order; its lock id is not stored, and is derived from the browser's key.
    ///
    /// # Errors
    /// The page that says that it is not kept any more, or that it was saved.
    pub(super) async fn read(
        shop: &Shop,
        visit: &Visit,
        key: &BrowserKey,
        no: &OrderNo,
        id: FormId,
    ) -> Result<KeptForm, Response> {
        let kept = match shop.kept(&visit.member, no, id).await {
            Ok(kept) => kept,
            Err(refusal) => return Err(refusal::plain(visit.frame.clone(), refusal)),
        };
        let read = kept.and_then(|kept| Some((What::from_code(&kept.what)?, Fields::sent(kept.fields))));
        let Some((what, mut fields)) = read else { return Err(problem::not_kept(visit.frame.clone(), no)) };
        if let Some(page) = Self::saved_since(shop, visit, no, what, &fields).await {
            return Err(page);
        }
        if let Ok(form) = fields.text("form_id").parse() {
            fields.set("lid", &key.lock_id(visit.member.id().as_str(), form).reveal());
        }
        Ok(KeptForm { id, what, fields })
    }

    /// The page that says that it was saved, or that its text went on from here and was saved.
    async fn saved_since(shop: &Shop, visit: &Visit, no: &OrderNo, what: What, fields: &Fields) -> Option<Response> {
        let goes_on_in = fields.text_of()?;
        let saved = shop.saved(&visit.member, goes_on_in).await.ok()??;
        let frame = visit.frame.clone();
        let is_its_own = fields.text("form_id").parse().ok() == Some(goes_on_in);
        // What the form saved before this text was sent says nothing of it.
        let is_older = is_its_own && fields.text(SAVED_BEFORE).parse().ok() == Some(saved.version.number());
        match (what.has_text(), saved.digest == fields.digest()) {
            (true, true) => Some(problem::already_saved(frame, no)),
            (true, false) if is_older => None,
            (true, false) => {
                let attempt = Attempt { what, no, seen: fields.text("version").parse().ok(), fields, kept: None };
                Some(problem::saved_since(frame, no, compare::own_words(shop, visit, &attempt).await))
            }
            // A button that was pressed, or pressed in spite of the editor.
            (false, _) => Some(see(&order_url(no))),
        }
    }

    /// As an attempt that is viewed again.
    pub(super) fn attempt<'a>(&'a self, no: &'a OrderNo) -> Attempt<'a> {
        Attempt { what: self.what, no, seen: self.parse("version"), fields: &self.fields, kept: Some(self.id) }
    }

    pub(super) fn form_id(&self) -> Option<FormId> {
        self.parse("form_id")
    }

    fn parse<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.fields.text(name).parse().ok()
    }

    /// The result that a save of it would have now; or the page of the form itself, if the typed text has mistakes.
    async fn ask(&self, shop: &Shop, visit: &Visit, no: &OrderNo) -> Result<Result<(), Refusal>, Option<Response>> {
        let (t, member, fields) = (visit.frame.t, &visit.member, &self.fields);
        let seen = self.parse::<VersionToken<Order>>("version");
        let id = self.parse::<LockId>("lid");
        let both = self.parse::<VersionToken<Order>>("both");
        let asked = match self.what {
            What::ChangeShipping => {
                let Ok(info) = read_shipping(t, fields) else { return Err(Some(see(&shipping::address(no, self.id)))) };
                let (Some(seen), Some(id)) = (seen, id) else { return Err(None) };
                let form = match both {
                    None => ShippingForm::Alone(info),
                    Some(_) => ShippingForm::WithTheirs(both::changes(fields, info, None)),
                };
                shop.save_shipping(member, no, both.unwrap_or(seen), &id, &form, &Doing::Ask).await.map(drop)
            }
            What::SaveEdit => {
                let view = match shop.order(member, no).await {
                    Ok(view) => view,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                let (Some(seen), Some(id), Some(form)) = (seen, id, self.form_id()) else { return Err(None) };
                let Ok(whole) = edit::read(shop, visit, no, seen, &mut fields.clone(), &view.order).await else {
                    return Err(Some(see(&edit::address(no, form, Some(self.id)))));
                };
                match both {
                    None => shop.save_edit(member, no, seen, &id, &whole, &Doing::Ask).await.map(drop),
                    Some(both) => {
                        let changes = both::changes(fields, whole.info, Some(whole.lines));
                        shop.save_both(member, no, both, &id, &changes, &Doing::Ask).await.map(drop)
                    }
                }
            }
            What::StartShipping => {
                let Some(seen) = seen else { return Err(None) };
                shop.start_shipping(member, no, seen, self.parse("anyway"), &Doing::Ask).await.map(drop)
            }
            What::Cancel => {
                let Some(seen) = seen else { return Err(None) };
                shop.cancel(member, no, seen, self.parse("anyway"), &Doing::Ask).await.map(drop)
            }
            What::SaveNote => {
                let (Some(id), seen) = (id, self.parse::<VersionToken<Note>>("version")) else { return Err(None) };
                shop.save_note(member, no, seen, &id, fields.text("text"), &Doing::Ask).await.map(drop)
            }
            // Notes have their own page.
            What::OpenEdit => match self.form_id() {
                Some(form) => return Err(Some(see(&edit::address(no, form, Some(self.id))))),
                None => return Err(None),
            },
            What::OpenNote => match self.form_id() {
                Some(form) => return Err(Some(see(&note::address(no, form, Some(self.id))))),
                None => return Err(None),
            },
        };
        Ok(asked)
    }
}

/// GET /orders/{no}/kept/{id}
pub(super) async fn show(
    State(shop): State<Shop>,
    visit: Visit,
    Key(key): Key,
    Number(no): Number,
    Named(id): Named,
) -> Answer {
    let kept = KeptForm::read(&shop, &visit, &key, &no, id).await?;
    let attempt = kept.attempt(&no);
    let asked = match kept.ask(&shop, &visit, &no).await {
        Ok(Err(refusal)) if kept.what.has_text() => match note::met(&shop, &visit, &attempt, refusal).await {
            refusal if outcome::nothing_left(&shop, &visit, &attempt, &refusal).await.is_some() => Ok(Ok(())),
            refusal => Ok(Err(refusal)),
        },
        asked => asked,
    };
    match asked {
        // A button is on the order's page, with its own question.
        Ok(Ok(())) if !kept.what.has_text() => Ok(see(&order_url(&no))),
        Ok(Ok(())) => {
            let retry = Retry { action: attempt.action(), fields: attempt.again() };
            let own = compare::own_words(&shop, &visit, &attempt).await;
            Ok(problem::ready(visit.frame, &no, own, retry))
        }
        Ok(Err(Refusal::Note(_))) => Ok(match kept.form_id() {
            Some(form) => see(&note::address(&no, form, Some(id))),
            None => problem::not_kept(visit.frame, &no),
        }),
        Ok(Err(refusal)) => Ok(refusal::page(&shop, visit, attempt, refusal).await),
        Err(Some(page)) => Ok(page),
        Err(None) => Ok(problem::not_kept(visit.frame, &no)),
    }
}
