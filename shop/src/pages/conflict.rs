//! The conflict page: the changes of others, and the possible actions.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{
    Aggregate, Owner, Version, VersionConflict, VersionToken,
    lease::Holder,
    version::{Change, Side},
};
use tenure_web::form_id::FormId;
use tenure_web::verdict::{Facts, Verdict, decide};

use super::both::Offer;
use super::compare::{self, Row, without_gone_lines};
use super::fields::Fields;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::order_url;
use super::problem::{self, ProblemPage};
use super::refusal::{self, Attempt, What};
use super::standing::{Kind, Standing};
use crate::domain::{Note, Order, OrderError, OrderNo, OrderState};
use crate::texts::{Html, Lang};
use crate::use_cases::Shop;

#[derive(Template)]
#[template(path = "conflict.html")]
struct ConflictPage {
    f: Frame,
    /// The form in which the text is edited, if the lease of its own form has ended.
    spare: FormId,
    url: String,
    /// The form in which the text was typed: its drafts have that name.
    kind: Kind,
    /// What this page is for its heartbeats.
    here: Kind,
    standing: Standing,
    no: OrderNo,
    title: Html,
    said: Vec<Html>,
    rule: Option<Html>,
    /// For the form: `actual` as a token.
    version: String,
    now_heading: Html,
    /// Those who saved since the form was opened, the latest first.
    savers: Vec<Owner>,
    opened_known: bool,
    has_mine: bool,
    /// Whether there is a change that can be made on the current version.
    applies: bool,
    /// Rows to decide or to read; then those that only the others changed.
    rows: Vec<Row>,
    theirs: Vec<Row>,
    apply: Apply,
    /// If the two changes are about different fields, both can be saved as they are.
    both: Option<Offer>,
    holder: Option<Holder>,
}

/// The form that applies the change again on the current version.
struct Apply {
    what: What,
    action: String,
    hidden: Fields,
    /// The hidden fields with the form's id; empty if it is unknown.
    form_id: String,
    lid: Option<String>,
    label: &'static str,
}

impl ConflictPage {
    /// The address that renders the form with the typed text again.
    fn edit_first(&self) -> String {
        match self.apply.what {
            What::SaveEdit => format!("{}/edit", self.url),
            What::SaveNote => format!("{}/note/edit", self.url),
            _ => self.apply.action.clone(),
        }
    }

    /// How many fields both have changed, to different values: nothing is chosen there yet.
    fn choices(&self) -> usize {
        if self.can_apply() { self.rows.iter().filter(|row| row.is_open()).count() } else { 0 }
    }

    /// The same in words, for browsers without scripts.
    fn choices_said(&self) -> Html {
        match self.choices() {
            1 => self.f.t.choices_one().into(),
            count => self.f.t.choices_many(count),
        }
    }

    /// Whether there is anything to apply again.
    fn can_apply(&self) -> bool {
        self.rule.is_none() && self.applies
    }

    /// Whether the way back is a form: it drops my change, or ends my lease.
    fn is_left(&self) -> bool {
        self.is_form() && (self.can_apply() || self.holder.is_some())
    }

    /// The button that keeps what is saved: of other people, or of one's own other tab.
    fn use_theirs(&self) -> &'static str {
        if self.f.state == "CP-11" { self.f.t.use_saved() } else { self.f.t.use_theirs() }
    }

    /// Whether the form has text, and sends heartbeats.
    fn is_form(&self) -> bool {
        self.apply.what.has_text() && !self.apply.form_id.is_empty()
    }
}

/// 409: the version that the person saw is not the current one.
pub(super) async fn page(shop: &Shop, visit: Visit, attempt: Attempt<'_>, conflict: &VersionConflict) -> Response {
    let Visit { frame, member } = visit;
    let Some(actual) = conflict.actual else { return gone(frame, attempt) };
    let view = match shop.order(&member, attempt.no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(frame, refusal),
    };
    let (t, is_note) = (frame.t, attempt.what == What::SaveNote);
    let order: Option<&Order> = (!is_note).then_some(&view.order);
    let has_mine = !matches!(attempt.what, What::StartShipping | What::Cancel);
    let mut rows = compare::rows(t, conflict, attempt.fields, order);
    let typed = order.map_or_else(|| attempt.fields.clone(), |order| without_gone_lines(attempt.fields.clone(), order));
    // The typed text is kept for the person; only if that failed, the page carries it.
    let hidden = match attempt.kept {
        Some(_) => attempt.carried(),
        None => compare::undecided(&typed, &rows),
    };
    let rule = order.and_then(|order| rule(t, attempt.what, order.state()));
    let is_emptied = order.is_some_and(|order| compare::leaves_nothing(order, &rows));
    let state = state(&frame, conflict, &rows, rule.is_some(), is_emptied);
    let is_done = order.is_some_and(|order| attempt.what.is_done_in(order.state()));
    let rule = if is_done { Some(t.nothing_left_to_do().into()) } else { rule };
    let applies = !has_mine || rows.iter().any(Row::applies);
    let both = Offer::new(&attempt, conflict, &rows).filter(|_| rule.is_none() && !is_emptied);
    let savers = savers(conflict, if is_note { &[] } else { &view.changes });
    let own = match (has_mine, both.is_some()) {
        (_, true) => Own::Fits,
        (true, false) if rows.iter().all(Row::is_theirs) => Own::Done,
        (true, false) => Own::Text,
        (false, false) if is_done => Own::Done,
        (false, false) => Own::Command,
    };
    let mut said = said(&frame, conflict, state, &savers, is_note, own);
    if is_emptied && rule.is_none() {
        said.push(t.both_leave_nothing().into());
    }
    if attempt.fields.has("apply") && applies && both.is_none() && rule.is_none() {
        said.push(t.choices_kept().into());
    }
    let mut gone = rows.iter().filter(|row| row.gone && !row.is_theirs()).peekable();
    if gone.peek().is_some() {
        let words = match (gone.all(|row| row.is_back), applies) {
            (true, _) => t.line_replaced(),
            (false, true) => t.line_removed_rest(),
            (false, false) => t.line_removed(),
        };
        said.push(words.into());
    }
    let now_heading = match &conflict.changed {
        // Of several, each saved some of the fields.
        Some(Change { by: Some(by), at, .. }) if savers.len() == 1 => {
            t.now_by(t.who(by, frame.is_me(by)), frame.at(*at))
        }
        _ => t.now_short().into(),
    };
    if !has_mine {
        // The command would change the state as well, which is its purpose.
        rows.retain(|row| row.side != Side::Mine);
    }
    // Folded only if there is something else to read and nothing to explain.
    let folds = has_mine && both.is_none() && rule.is_none() && rows.iter().any(|row| !row.is_theirs());
    let (theirs, rows) = rows.into_iter().partition(|row| folds && row.is_theirs());
    let label = match attempt.what {
        What::StartShipping => t.start_on_current(),
        What::Cancel => t.cancel_on_current(),
        _ => t.apply_mine(),
    };
    let title = match attempt.what {
        What::StartShipping if is_done => t.done_title_ship(attempt.no),
        What::Cancel if is_done => t.done_title_cancel(attempt.no),
        What::StartShipping => t.conflict_title_ship(attempt.no),
        What::Cancel => t.conflict_title_cancel(attempt.no),
        What::SaveNote | What::OpenNote => t.conflict_title_note(attempt.no),
        _ => t.conflict_title(attempt.no),
    };
    let lid = has_mine.then(|| attempt.fields.text("lid").to_owned());
    let form_id = attempt.fields.text("form_id").to_owned();
    let kind = attempt.what.kind();
    let apply = Apply { what: attempt.what, action: attempt.action(), hidden, form_id, lid, label };
    let blocker = view.holder.clone();
    let holder = view.holder.filter(|holder| attempt.what == What::SaveEdit && frame.is_me(&holder.owner));
    let verdict = match (&holder, kind) {
        (Some(lease), _) => Verdict::Editing { lease: lease.clone(), resumed: false, others: Vec::new() },
        (None, Kind::Note) => Verdict::Free,
        (None, _) => decide(&member.owner(), Facts::of_a_look(None, blocker.into_iter().collect())),
    };
    let here = if kind == Kind::Note { Kind::Note } else { Kind::Comparison };
    let standing = Standing::new(&frame, &member.owner(), here, attempt.no, &verdict);
    // Something else comes first, unless it cannot be saved now.
    let standing = if standing.shows("save") { standing.quietly() } else { standing };
    let page = ConflictPage {
        f: frame.state(state),
        spare: FormId::random(),
        url: order_url(attempt.no),
        kind,
        here,
        standing,
        no: attempt.no.clone(),
        title,
        said,
        rule,
        now_heading,
        savers,
        opened_known: conflict.opened_known,
        has_mine,
        applies,
        rows,
        theirs,
        version: if is_note { token::<Note>(attempt.no, actual) } else { token::<Order>(attempt.no, actual) },
        apply,
        both,
        holder,
    };
    if page.f.script {
        let said: Vec<_> = page.said.iter().chain(&page.rule).cloned().collect();
        return problem::told(&page.f, StatusCode::CONFLICT, page.f.state, &said);
    }
    page.f.answer(StatusCode::CONFLICT, &page)
}

fn token<A: Aggregate<Id = OrderNo>>(no: &OrderNo, version: Version) -> String {
    VersionToken::<A>::new(no, version).to_string()
}

/// Why the command cannot run on the current order, if that is obvious. Otherwise the domain refuses later.
fn rule(t: Lang, what: What, state: OrderState) -> Option<Html> {
    let refusal = match state {
        OrderState::Cancelled => OrderError::AlreadyCancelled,
        OrderState::PaymentWaiting if what == What::StartShipping => OrderError::NotPaid,
        state if !state.is_changeable() => OrderError::AlreadyShipped { state },
        _ => return None,
    };
    Some(t.refusal(&refusal))
}

/// Those who saved since the form was opened; the latest first, each once.
fn savers(conflict: &VersionConflict, changes: &[Change]) -> Vec<Owner> {
    let met = changes.iter().filter(|change| change.version > conflict.expected);
    let mut savers: Vec<Owner> = Vec::new();
    for by in conflict.changed.iter().chain(met).filter_map(|change| change.by.as_ref()) {
        if savers.iter().all(|other| other.id != by.id) {
            savers.push(by.clone());
        }
    }
    savers
}

/// The state of this conflict page.
fn state(
    frame: &Frame,
    conflict: &VersionConflict,
    rows: &[Row],
    is_ruled_out: bool,
    is_emptied: bool,
) -> &'static str {
    let by_me = conflict.changed.as_ref().and_then(|change| change.by.as_ref()).is_some_and(|by| frame.is_me(by));
    let all = |is: fn(&Row) -> bool| rows.iter().all(is);
    match () {
        () if is_ruled_out => "CP-4",
        () if by_me => "CP-11",
        () if !conflict.opened_known => "CP-6",
        () if is_emptied => "CP-9",
        () if all(|row| row.side != Side::Both) => "CP-1",
        () if all(|row| row.side != Side::Both || row.gone) => "CP-9",
        () => "CP-2",
    }
}

/// What the person's own change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    /// A command.
    Command,
    /// A command of which nothing is left to do, or text that was given up for theirs.
    Done,
    /// Text.
    Text,
    /// Text that fits beside the other change: both can be saved.
    Fits,
}

/// Author, change and time; that nothing is lost; the consequence here.
fn said(
    frame: &Frame,
    conflict: &VersionConflict,
    state: &str,
    savers: &[Owner],
    is_note: bool,
    own: Own,
) -> Vec<Html> {
    let t = frame.t;
    let is_me = |change: &Change| change.by.as_ref().is_some_and(|by| frame.is_me(by));
    let first = match &conflict.changed {
        Some(change) => t.did(change, is_me(change), frame.at(change.at)),
        None if is_note => t.note_changed_since().into(),
        None => t.changed_since().into(),
    };
    let (mine, others): (Vec<_>, Vec<_>) = savers.iter().skip(1).partition(|by| frame.is_me(by));
    let names: Vec<_> = others.iter().map(|by| by.name.clone()).collect();
    let mut said = vec![first];
    said.extend((state == "CP-11").then(|| t.yourself_elsewhere().into()));
    said.extend((!names.is_empty()).then(|| t.also_by(t.names(&names))));
    said.extend((!mine.is_empty()).then(|| t.also_by_you().into()));
    match own {
        Own::Fits => {
            said.push(t.both_fit().into());
            return said;
        }
        Own::Text => said.push(t.nothing_lost().into()),
        Own::Command => said.push(t.nothing_lost_command().into()),
        Own::Done => {}
    }
    let third = match state {
        "CP-1" if own == Own::Text => Some(t.disjoint()),
        "CP-2" => Some(t.overlap()),
        "CP-6" if is_note => Some(t.note_opened_unknown()),
        "CP-6" => Some(t.opened_unknown()),
        _ => None,
    };
    said.extend(third.map(Html::from));
    said
}

/// 409: it was deleted meanwhile.
fn gone(frame: Frame, attempt: Attempt<'_>) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("CP-5"), t.gone_title(attempt.no)).say(t.gone_what());
    let page = page.unsaved_of(attempt.no.as_str()).typed(attempt.fields);
    page.link(order_url(attempt.no), t.back_to_order()).answer(StatusCode::CONFLICT)
}
