//! 423: another owner holds the order. Shows the holder, the time of the lease, and the possible actions.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;
use tenure::{
    VersionToken,
    lease::{Holder, Presence},
};
use tenure_web::form_id::FormId;
use tenure_web::now::Now;
use tenure_web::verdict::{Verdict, free_at};

use super::face::Face;
use super::fields::Fields;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::problem::{self, ProblemPage};
use super::refusal::{self, Attempt, What};
use super::{compare, order_url};
use crate::domain::{Order, OrderNo, OrderState};
use crate::texts::Html;
use crate::use_cases::{OrderView, Shop};

#[derive(Template)]
#[template(path = "locked.html")]
struct LockedPage {
    f: Frame,
    url: String,
    holder: Holder,
    is_me: bool,
    what: What,
    words: Words,
    view: OrderView,
    /// The address and the fields of [Try again].
    action: String,
    again: Fields,
    /// The typed text, for the edit form if the person moves their editing here.
    carried: Fields,
    typed: Vec<(Html, String)>,
    seen: Option<VersionToken<Order>>,
    /// The form that the move opens.
    next_form: FormId,
}

impl LockedPage {
    fn order(&self) -> &Order {
        &self.view.order
    }

    /// Whether it was a button, and not a form with text: it can be pressed in spite of the editor.
    fn is_command(&self) -> bool {
        !self.what.has_text()
    }

    /// Whether it was a save: [Try again] sends it again, and does not open a form.
    fn is_unsaved(&self) -> bool {
        is_save(self.what) && !self.typed.is_empty()
    }

    /// The button of this attempt, while there is a holder.
    fn button(&self) -> Html {
        button(&self.f, self.what, Some(&self.holder)).1
    }

    /// Where the page asks what is new.
    fn now(&self) -> String {
        format!("{}/now?page={}&v={}", self.url, self.what.code(), self.view.order.version())
    }

    /// The states of the page without a connection, and without anything to see.
    fn live_states(&self) -> (&'static str, &'static str) {
        ("LP-5", "LP-18")
    }

    /// Moving is for edit forms: a command has nothing to move.
    fn can_move(&self) -> bool {
        self.is_me && matches!(self.what, What::OpenEdit | What::SaveEdit | What::ChangeShipping)
    }
}

/// What the page says about the holder; while it is open too.
struct Words {
    state: &'static str,
    /// The title, with the number of the order. For a button, the action that failed.
    title: Html,
    who: Html,
    last: Html,
}

impl Words {
    fn new(f: &Frame, shop: &Shop, what: What, no: &OrderNo, holder: &Holder) -> Words {
        let (t, is_me, since) = (f.t, f.is_me(&holder.owner), f.at(holder.since));
        let is_silent = holder.presence() == Presence::Unreachable;
        let title = match what {
            What::StartShipping => t.ship_locked_title(no),
            What::Cancel => t.cancel_locked_title(no),
            _ if is_me && is_silent => t.locked_title_silent(no),
            _ if is_me => t.locked_title_self(no),
            _ => t.locked_title(no),
        };
        let who = match (is_me, what) {
            (true, What::StartShipping) => t.ship_locked_self(since),
            (true, What::Cancel) => t.cancel_locked_self(since),
            (true, _) if is_silent => t.held_self_silent(since),
            (true, _) => t.held_self(since),
            (false, What::StartShipping) => t.ship_locked_what(&holder.owner, since),
            (false, What::Cancel) => t.cancel_locked_what(&holder.owner, since),
            (false, _) => t.held_other(&holder.owner, since),
        };
        let state = match (what, holder.presence()) {
            (What::StartShipping | What::Cancel, _) => "OV-7",
            _ if is_me => "LP-16",
            (_, Presence::Unreachable) => "LP-3",
            (_, Presence::Idle) => "LP-2",
            _ => "LP-1",
        };
        let typed = f.at(holder.last_input);
        let free = f.at(free_at(holder, &shop.locks().policy(holder.key.kind())));
        let last = match holder.presence() {
            Presence::Unreachable => t.last_heard(typed, free),
            _ => t.last_typed(typed, free),
        };
        Words { state, title, who, last }
    }

    /// The sign of the holder, and the words.
    fn who(&self, holder: &Holder) -> Html {
        let face = Face(&holder.owner);
        Html::trusted(format!("{face}<div><p><strong>{}</strong></p><p>{}</p></div>", self.who, self.last))
    }
}

/// The button of a command; in spite of the editor, if there is one.
fn command(f: &Frame, what: What, holder: Option<&Holder>) -> Html {
    let (t, is_cancel) = (f.t, what == What::Cancel);
    let Some(holder) = holder else {
        let label = if is_cancel { t.cancel_order() } else { t.start_shipping() };
        return Html::trusted(format!("<button><span>{}</span></button>", Html::text(label)));
    };
    let label = match (is_cancel, f.is_me(&holder.owner)) {
        (true, true) => t.cancel_anyway_self().into(),
        (true, false) => t.cancel_anyway(&holder.owner),
        (false, true) => t.ship_anyway_self().into(),
        (false, false) => t.ship_anyway(&holder.owner),
    };
    Html::trusted(format!(
        r#"<input type="hidden" name="anyway" value="{}"><button class="danger"><span>{label}</span></button>"#,
        holder.generation
    ))
}

/// Whether it saves text: the others open a form, or are commands.
fn is_save(what: What) -> bool {
    what.has_text() && !matches!(what, What::OpenEdit | What::OpenNote)
}

/// The place of the button of this attempt, and what is in it now.
fn button(f: &Frame, what: What, holder: Option<&Holder>) -> (&'static str, Html) {
    match (what, holder) {
        (What::OpenEdit, None) => ("again", f.t.edit_now().into()),
        _ if what.has_text() => ("again", f.t.try_again().into()),
        _ => ("command", command(f, what, holder)),
    }
}

/// What is new on the page: it is free, or has another holder, or was changed meanwhile.
pub(super) fn now(
    f: &Frame,
    shop: &Shop,
    what: What,
    no: &OrderNo,
    verdict: &Verdict<OrderState>,
    told: Now,
    changed: Option<Html>,
) -> Now {
    let t = f.t;
    let flat = |icon: &'static str, words: &str, class: &str| {
        format!(r#"{}<div class="{class}"><p><strong>{}</strong></p></div>"#, Icon(icon), Html::text(words))
    };
    let changed = changed.map_or_else(|| Html::text(""), |change| t.changed_while_waiting(change));
    let told = told.slot("changed", changed);
    match verdict {
        Verdict::Taken { holder, .. } | Verdict::Elsewhere { holder, .. } => {
            let words = Words::new(f, shop, what, no, holder);
            let told = told.slot("title", &words.title).slot("who", words.who(holder));
            let (slot, button) = button(f, what, Some(holder));
            told.slot(slot, button).page(words.state, None)
        }
        Verdict::Frozen(state) => {
            let why =
                if *state == OrderState::Cancelled { t.not_changeable_cancelled() } else { t.not_changeable_shipped() };
            let told = told.slot("title", t.order_title(no)).slot("who", flat("info", why, "over"));
            let told = if what.has_text() { told } else { told.slot("command", "") };
            told.page("LP-14", None)
        }
        _ => {
            let title = if is_save(what) { t.ready_title(no) } else { t.free_title(no) };
            let free = match what {
                What::StartShipping => t.free_to_ship(),
                What::Cancel => t.free_to_cancel(),
                what if is_save(what) => t.free_to_save(),
                _ => t.free_what(),
            };
            let told = told.slot("title", &title).slot("who", flat("check", free, "free"));
            let (slot, button) = button(f, what, None);
            told.slot(slot, button).page("LP-6", Some(title.plain()))
        }
    }
}

/// 423: another owner holds it.
pub(super) async fn page(shop: &Shop, visit: Visit, attempt: Attempt<'_>, holder: Holder) -> Response {
    let view = match shop.order(&visit.member, attempt.no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let own = compare::own_text(shop, &visit, &attempt, &view.order).await.words(visit.frame.t, Some(&view.order));
    let frame = visit.frame;
    // Its end frees nothing any more.
    if let Some(error) = view.order.frozen() {
        return problem::order_refuses(frame, attempt.no, &error, own);
    }
    let (is_me, holder) = (frame.is_me(&holder.owner), frame.sees(holder));
    let words = Words::new(&frame, shop, attempt.what, attempt.no, &holder);
    let free_in = shop.free_in(&holder);
    let page = LockedPage {
        url: order_url(attempt.no),
        is_me,
        what: attempt.what,
        action: attempt.action(),
        again: attempt.again(),
        carried: attempt.carried(),
        typed: own,
        view,
        seen: attempt.seen,
        next_form: FormId::random(),
        holder,
        f: frame.state(words.state),
        words,
    };
    let mut response = match page.f.script {
        true => {
            problem::told(&page.f, StatusCode::LOCKED, page.f.state, &[page.words.who.clone(), page.words.last.clone()])
        }
        false => page.f.answer(StatusCode::LOCKED, &page),
    };
    response.headers_mut().insert(RETRY_AFTER, free_in.as_secs().max(1).into());
    response
}

/// 409: it was free, and another request won the race.
pub(super) fn raced(visit: Visit, attempt: Attempt<'_>) -> Response {
    let t = visit.frame.t;
    let page = ProblemPage::new(visit.frame.state("LP-7"), t.raced_title(attempt.no)).say(t.raced_what());
    let page = page.typed(attempt.fields).retry(attempt.action(), attempt.again());
    page.link(order_url(attempt.no), t.back_to_order()).answer(StatusCode::CONFLICT)
}
