//! The operators' console: the current leases, and ending a lease whose holder does not return.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{
    LockKey,
    error::{BreakError, ListError},
    lease::{Cursor, Holder, InvalidReason, LONGEST_REASON},
};

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::posted::{Answer, Posted};
use super::{live, order_url, problem, refusal, see};
use crate::domain::{Invalid, OrderNo, check_reason};
use crate::texts::Html;
use crate::use_cases::{HeldPage, Kept, Refusal, Shop};

/// The code under which a form that was to end a lock is kept.
const END: &str = "end-lock";

/// The aggregate types with locks.
const KINDS: [&str; 2] = ["Order", "Note"];

#[derive(Template)]
#[template(path = "locks.html")]
struct LocksPage {
    f: Frame,
    shop: Shop,
    kind: Option<&'static str>,
    held: Vec<Holder>,
    /// The start of this page, if it is not the first one, and of the next one.
    after: Option<Cursor>,
    next: Option<Cursor>,
    /// The notice above the list if an action failed.
    notice: Option<&'static str>,
    /// The lease whose form was sent with a mistake, and the mistake.
    open: Option<(LockKey, i64)>,
    mistakes: Vec<Mistake>,
    reason: String,
}

impl LocksPage {
    fn shows(&self, kind: &str) -> bool {
        self.kind == Some(kind)
    }

    fn filter(&self, kind: &str) -> String {
        if kind.is_empty() { "/locks".to_owned() } else { format!("/locks?type={kind}") }
    }

    /// The address of the page that begins there.
    fn page(&self, after: &Cursor) -> String {
        let kind = self.kind.map(|kind| ("type", kind.to_owned()));
        let query: Vec<_> = kind.into_iter().chain([("after", after.to_string())]).collect();
        format!("/locks?{}", serde_urlencoded::to_string(query).unwrap_or_default())
    }

    fn kind_label(&self, kind: &str) -> &'static str {
        if kind == "Note" { self.f.t.type_note() } else { self.f.t.type_order() }
    }

    fn what(&self, holder: &Holder) -> Html {
        match holder.key.kind() {
            "Note" => self.f.t.of_note(holder.key.id()),
            "Order" => self.f.t.of_order(holder.key.id()),
            _ => Html::text(&holder.key),
        }
    }

    fn url(&self, holder: &Holder) -> String {
        let note = if holder.key.kind() == "Note" { "#note" } else { "" };
        format!("{}{note}", order_url(holder.key.id()))
    }

    /// Who has it, and when it is free.
    fn cells(&self, holder: &Holder) -> [Html; 2] {
        live::lease(&self.f, &self.shop, Some(holder))
    }

    /// Where the page asks what is new about its leases.
    fn now(&self) -> String {
        let key = |holder: &Holder| format!("{}.{}.{}", holder.generation, holder.key.kind(), holder.key.id());
        let rows = self.held.iter().map(|holder| ("l", key(holder)));
        let kind = self.kind.map(|kind| ("type", kind.to_owned()));
        let is_part = self.after.is_some() || self.next.is_some();
        let asked: Vec<_> = kind.into_iter().chain(is_part.then(|| ("part", String::new()))).chain(rows).collect();
        format!("/now/locks?{}", serde_urlencoded::to_string(asked).unwrap_or_default())
    }

    /// The states of the page without a connection, and without anything to see.
    fn live_states(&self) -> (&'static str, &'static str) {
        ("AC-12", "AC-11")
    }

    /// Whether it can be ended: what keeps nobody away needs no end.
    fn can_end(&self, holder: &Holder) -> bool {
        self.shop.is_exclusive(holder.key.kind())
    }

    fn is_open(&self, holder: &Holder) -> bool {
        self.open.as_ref().is_some_and(|(key, generation)| *key == holder.key && *generation == holder.generation)
    }

    /// The field for the reason. Its id contains the row's id, because every row has such a field.
    fn reason(&self, holder: &Holder) -> Input {
        let (value, mistakes) = if self.is_open(holder) { (&*self.reason, &*self.mistakes) } else { ("", &[][..]) };
        let id = reason_id(&holder.key, holder.generation);
        let input = Input::with_id(id, "reason", self.f.t.reason_label(), value, Kind::Text, mistakes);
        input.focused(!mistakes.is_empty())
    }
}

fn reason_id(key: &LockKey, generation: i64) -> String {
    format!("reason-{}-{}-{generation}", key.kind(), key.id().replace(char::is_whitespace, "_"))
}

/// GET /locks: `type` filters, `after` is the end of the previous page.
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Query(asked): Query<Pairs>) -> Response {
    let asked = Fields::sent(asked);
    let place = PageQuery::of(&asked);
    let held = match place.held(&shop, &visit).await {
        Ok(held) => held,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    if let (Ok(no), Ok(id)) = (OrderNo::new(asked.text("order")), asked.text("kept").parse())
        && let Ok(Some(kept)) = shop.kept(&visit.member, &no, id).await
        && kept.what == END
    {
        return refused(&shop, visit, place, held, &Fields::sent(kept.fields));
    }
    let state = if held.items.is_empty() { "AC-3" } else { "AC-1" };
    list(&shop, visit, state, place, held, |_| {}, StatusCode::OK)
}

/// The requested page of the list.
struct PageQuery {
    kind: Option<&'static str>,
    after: Option<Cursor>,
}

impl PageQuery {
    /// Invalid parameters are ignored: there is always a list.
    fn of(asked: &Fields) -> PageQuery {
        let kind = KINDS.into_iter().find(|kind| *kind == asked.text("type"));
        PageQuery { kind, after: asked.text("after").parse().ok() }
    }

    /// Its address, with these parameters.
    fn address(&self, more: &[(&str, &str)]) -> String {
        let after = self.after.as_ref().map(ToString::to_string);
        let own = [self.kind.map(|kind| ("type", kind)), after.as_deref().map(|after| ("after", after))];
        let query: Vec<_> = own.into_iter().flatten().chain(more.iter().copied()).collect();
        format!("/locks?{}", serde_urlencoded::to_string(query).unwrap_or_default())
    }

    async fn held(&self, shop: &Shop, visit: &Visit) -> Result<HeldPage, Refusal> {
        match shop.held(&visit.member, self.kind, self.after.clone()).await {
            Err(Refusal::List(ListError::ForeignCursor)) => shop.held(&visit.member, self.kind, None).await,
            held => held,
        }
    }
}

/// POST /locks/break
pub(super) async fn end(State(shop): State<Shop>, form: Posted) -> Answer {
    let generation: i64 = form.parse("generation")?;
    let Posted { visit, fields, .. } = form;
    let (kind, id) = (fields.text("kind"), fields.text("id"));
    // Other types have no locks here, or none that keep others away.
    if !KINDS.contains(&kind) || !shop.is_exclusive(kind) || OrderNo::new(id).is_err() {
        return Err(problem::incomplete_form(visit.frame, "id", &fields));
    }
    let (key, reason) = (LockKey::new(kind, id), fields.text("reason").trim());
    if check_reason(reason, LONGEST_REASON).is_ok() {
        match shop.break_lock(&visit.member, &key, generation, reason).await {
            Ok(ended) => {
                return Ok(Flash::Ended { order: key.id().to_owned(), name: ended.owner.name }.at("/locks"));
            }
            Err(Refusal::Break(
                BreakError::HolderChanged { .. }
                | BreakError::InvalidReason(InvalidReason::Empty | InvalidReason::TooLong),
            )) => {}
            Err(refusal) => return Ok(refusal::plain(visit.frame, refusal)),
        }
    }
    let place = PageQuery::of(&fields);
    let held = match place.held(&shop, &visit).await {
        Ok(held) => held,
        Err(refusal) => return Ok(refusal::plain(visit.frame, refusal)),
    };
    // The page has an address: what was typed is kept, and its page says what is wrong with it now.
    let kept = Kept { what: END.to_owned(), fields: fields.to_keep(), has_text: false, at: None, is_saved: false };
    if let Ok(no) = OrderNo::new(key.id())
        && let Ok(Some(kept)) = shop.keep(&visit.member, &no, &kept).await
    {
        return Ok(see(&place.address(&[("order", no.as_str()), ("kept", &kept.to_string())])));
    }
    Ok(refused(&shop, visit, place, held, &fields))
}

/// The list, with the form that was refused.
fn refused(shop: &Shop, visit: Visit, place: PageQuery, held: HeldPage, fields: &Fields) -> Response {
    let key = LockKey::new(fields.text("kind"), fields.text("id"));
    let generation = fields.text("generation").parse::<i64>().ok();
    let (t, reason) = (visit.frame.t, fields.text("reason").trim().to_owned());
    let is_held = |holder: &&Holder| holder.key == key && generation == Some(holder.generation);
    match (held.items.iter().find(is_held), check_reason(&reason, LONGEST_REASON)) {
        (Some(holder), wrong) => {
            let open = (key, holder.generation);
            let mistake = |invalid: Invalid| {
                Mistake::new(reason_id(&open.0, open.1), t.reason(), t.wrong_reason(invalid.problem))
            };
            let mistakes: Vec<_> = wrong.err().map(mistake).into_iter().collect();
            let status = if mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
            let again = |page: &mut LocksPage| (page.reason, page.open, page.mistakes) = (reason, Some(open), mistakes);
            list(shop, visit, "AC-4", place, held, again, status)
        }
        (None, _) => {
            let notice = |page: &mut LocksPage| {
                page.notice = Some(t.holder_changed());
                page.reason = reason;
                // If another owner holds it now, the typed reason stays in the form.
                let other = page.held.iter().find(|holder| holder.key == key);
                page.open = other.map(|holder| (key.clone(), holder.generation));
            };
            list(shop, visit, "AC-7", place, held, notice, StatusCode::CONFLICT)
        }
    }
}

fn list(
    shop: &Shop,
    visit: Visit,
    state: &'static str,
    PageQuery { kind, after }: PageQuery,
    HeldPage { items: held, next }: HeldPage,
    with: impl FnOnce(&mut LocksPage),
    status: StatusCode,
) -> Response {
    let mut page = LocksPage {
        f: visit.frame.state(state),
        shop: shop.clone(),
        kind,
        held,
        after,
        next,
        notice: None,
        open: None,
        mistakes: Vec::new(),
        reason: String::new(),
    };
    with(&mut page);
    page.f.answer(status, &page)
}
