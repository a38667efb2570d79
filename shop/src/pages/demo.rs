//! `/demo`: stories of two persons and one order, side by side. One page with two panes and one button: it sends the number of the next
//! step, and the world makes it.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use tenure_web::csrf::{CsrfForm, CsrfRejection};

use super::assets::demo_addresses;
use super::fields::{Fields, Pairs};
use super::frame::Frame;
use super::icon::Icon;
use super::kept::Key;
use super::{problem, see};
use crate::demo::{
    self, Act, Event, Field, Lines, Lock, LockRow, MINJIS, OrderRow, Outcome, PARCEL, Person, Rows, STORIES, Side,
    Story, Way, World, Worlds,
};
use crate::domain::OrderState;
use crate::texts::{Html, Lang, LockText, StoryText};
use crate::use_cases::Shop;

/// The page, and the worlds behind it.
pub(crate) fn router() -> Router<Shop> {
    Router::new().route("/demo", get(show).post(act)).layer(Extension(Arc::new(Worlds::default())))
}

/// The name of the browser's world: one browser, one world.
const NAME: &str = "the world of /demo";

#[derive(Template)]
#[template(path = "demo/demo.html")]
struct DemoPage {
    f: Frame,
    style: &'static str,
    script: &'static str,
    /// Why the world that was asked for is not there.
    gone: Option<&'static str>,
    view: Option<View>,
    groups: Vec<Group>,
}

/// The stories about one lock.
struct Group {
    lock: LockText,
    stories: Vec<Offer>,
}

/// A story to choose.
struct Offer {
    key: &'static str,
    text: &'static StoryText,
}

/// A world, as the page shows it.
struct View {
    key: &'static str,
    text: &'static StoryText,
    lock: LockText,
    with: bool,
    /// How many steps were made, and how many there are.
    made: usize,
    steps: usize,
    /// How many minutes have passed, where that matters.
    clock: Option<Html>,
    panes: [Pane; 2],
    /// The button that belongs to nobody alone.
    shared: Option<Button>,
    places: Vec<Place>,
    verdict: Option<Verdict>,
    told: Vec<Told>,
    order: OrderRow,
    state: &'static str,
    locks: Option<LockView>,
    no_lock: &'static str,
    pieces: Option<i64>,
    next_story: &'static str,
    next_title: &'static str,
}

struct LockView {
    row: LockRow,
    left: Option<String>,
}

/// One person's screen.
struct Pane {
    side: &'static str,
    icon: &'static str,
    role: &'static str,
    title: Html,
    told: Option<(bool, Vec<Html>)>,
    seen: Option<Seen>,
    /// That the order has changed since, and they do not know.
    stale: Option<Html>,
    /// What it says of its own lock, or of another's; without tenure, that somebody types.
    typing: Option<Html>,
    /// Where the person is, if not here.
    away: Option<&'static str>,
    button: Option<Button>,
}

struct Seen {
    no: String,
    address: String,
    message: String,
    state: &'static str,
    version: Option<i64>,
    is_label: bool,
    /// What was typed into the form since.
    typed: Option<(Field, String)>,
}

/// The next step.
struct Button {
    at: usize,
    label: Html,
    icon: &'static str,
    /// A field to type into.
    field: Option<(&'static str, String)>,
}

/// A place where the parcel can be.
struct Place {
    drawing: &'static str,
    caption: Html,
    parcel: bool,
    said: Option<&'static str>,
    /// Whether it is the shelf with a kettle on it.
    has_kettle: bool,
}

struct Verdict {
    kind: &'static str,
    icon: &'static str,
    title: &'static str,
    lesson: &'static str,
}

/// What happened in a step.
struct Told {
    side: &'static str,
    refused: bool,
    said: Html,
    clock: Option<Html>,
    version: Option<i64>,
    exchanges: Vec<(String, String)>,
    lines: Vec<Lines>,
}

impl DemoPage {
    /// The story of the parcel, for those who only read: the number of a picture, and its words.
    fn comic(&self) -> [(u8, &'static str); 4] {
        let t = self.f.t;
        [(1, t.comic_1()), (2, t.comic_2()), (3, t.comic_3()), (4, t.comic_4())]
    }

    /// The key of that story.
    fn parcel(&self) -> &'static str {
        PARCEL
    }
}

/// GET /demo
async fn show(
    State(shop): State<Shop>,
    Extension(worlds): Extension<Arc<Worlds>>,
    Key(key): Key,
    Query(asked): Query<Pairs>,
    frame: Frame,
) -> Response {
    if !shop.has_demo() {
        return problem::not_found(frame);
    }
    let asked = Fields::sent(asked);
    let t = frame.t;
    let mut gone = match asked.text("ended") {
        "" => None,
        "failed" => Some(t.demo_failed()),
        _ => Some(t.demo_ended()),
    };
    let mut view = None;
    if let Some(world) = worlds.of(&key.known_as(NAME), shop.clock.now()) {
        let world = world.lock().await;
        match world.rows().await {
            Ok(rows) => view = Some(View::of(t, &world, rows)),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the world of a visitor could not be read");
                gone = Some(t.demo_failed());
            }
        }
    }
    let gone = gone.filter(|_| view.is_none());
    let [style, script] = demo_addresses();
    let mut frame = frame.state("demo");
    frame.other_language = format!("/demo?lang={}", t.other().code());
    let page = DemoPage { style, script, gone, view, groups: groups(t), f: frame };
    page.f.answer(StatusCode::OK, &page)
}

/// POST /demo: `story` and `way` begin a story; `step` makes the next step, with what was typed.
async fn act(
    State(shop): State<Shop>,
    Extension(worlds): Extension<Arc<Worlds>>,
    Key(key): Key,
    frame: Frame,
    form: Result<CsrfForm<Pairs>, CsrfRejection>,
) -> Response {
    if !shop.has_demo() {
        return problem::not_found(frame);
    }
    let fields = match form {
        Ok(CsrfForm(pairs)) => Fields::sent(pairs),
        Err(rejection) => return problem::form_refused(frame, &rejection, &Fields::default()),
    };
    let (name, now) = (key.known_as(NAME), shop.clock.now());
    let done = match (Story::find(fields.text("story")), fields.text("step").parse()) {
        (Some((story, _)), _) => {
            let way = if fields.text("way") == "with" { Way::With } else { Way::Without };
            worlds.begin(&name, story, way, frame.t, now).await.map(|()| true)
        }
        (None, Ok(at)) => worlds.step(&name, at, fields.text("typed"), now).await,
        (None, Err(_)) => Ok(true),
    };
    match done {
        Ok(true) => see("/demo#now"),
        Ok(false) => see("/demo?ended=yes"),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the world of a visitor failed");
            see("/demo?ended=failed")
        }
    }
}

fn groups(t: Lang) -> Vec<Group> {
    let group = |lock| {
        let stories = STORIES.iter().enumerate().filter(|(_, story)| story.lock == lock);
        let offer = |(at, story): (usize, &Story)| Offer { key: story.key, text: t.demo_story(at) };
        Group { lock: t.demo_lock(lock), stories: stories.map(offer).collect() }
    };
    [Lock::Pessimistic, Lock::Optimistic, Lock::Offline].map(group).into()
}

impl View {
    fn of(t: Lang, world: &World, rows: Rows) -> View {
        let story = &STORIES[world.story];
        let next = world.next();
        let with = world.way == Way::With;
        let next_story = (world.story + 1) % STORIES.len();
        let panes = [Side::Left, Side::Right].map(|side| Pane::of(t, world, side, &rows));
        let lock = rows.lock.map(|(row, left)| LockView { row, left: (!left.is_zero()).then(|| clock(left)) });
        View {
            key: story.key,
            text: t.demo_story(world.story),
            lock: t.demo_lock(story.lock),
            with,
            made: if next.is_some() { world.at } else { story.steps(world.way).len() },
            steps: story.steps(world.way).len(),
            clock: minute(t, world, world.passed()),
            panes,
            shared: next.filter(|(_, act)| owner(*act).is_none()).map(|(at, act)| button(t, world, at, act, None)),
            places: places(t, world, rows.pieces),
            verdict: next.is_none().then(|| Verdict::of(t, world)),
            told: world.events.iter().map(|event| Told::of(t, world, event)).collect(),
            state: state(t, &rows.order.state),
            order: rows.order,
            locks: lock,
            no_lock: match (world.way, story.lock) {
                (Way::Without, _) => t.demo_no_locks(),
                (Way::With, Lock::Pessimistic) => t.demo_no_row_pessimistic(),
                (Way::With, Lock::Optimistic) => t.demo_no_row_optimistic(),
                (Way::With, Lock::Offline) => t.demo_no_row_offline(),
            },
            pieces: world.is_about_stock().then_some(rows.pieces),
            next_story: STORIES[next_story].key,
            next_title: t.demo_story(next_story).title,
        }
    }
}

/// Whose step it is, if it is one person's.
fn owner(act: Act) -> Option<Side> {
    match act {
        Act::Look(side)
        | Act::Begin(side)
        | Act::Save(side, _)
        | Act::SaveBoth(side)
        | Act::Ship(side)
        | Act::Leave(side) => Some(side),
        Act::Together | Act::Pack | Act::Minutes(_) | Act::Beats(..) => None,
    }
}

fn button(t: Lang, world: &World, at: usize, act: Act, person: Option<&Person>) -> Button {
    let icon = match act {
        Act::Ship(_) | Act::Pack => "truck",
        Act::Minutes(_) | Act::Beats(..) => "clock",
        Act::Leave(_) | Act::Together => "right",
        Act::Look(_) | Act::Begin(_) => "pencil",
        Act::Save(..) | Act::SaveBoth(_) => "check",
    };
    let field = match act {
        Act::Save(_, field @ Field::Address) => Some((t.demo_address(), t.demo_default(field).to_owned())),
        Act::Together if !world.is_about_stock() => Some((t.demo_address(), t.demo_default(Field::Address).to_owned())),
        Act::Save(_, field) => Some((t.demo_message_label(), t.demo_default(field).to_owned())),
        _ => None,
    };
    let is_operator = person.is_some_and(|person| person.is_operator);
    let back = person.filter(|person| person.is_away).and_then(|_| t.demo_leaving(world.story));
    let label = back.map_or_else(|| t.demo_do(act, world.story, is_operator), |leaving| leaving.back.into());
    Button { at, label, icon, field }
}

impl Pane {
    fn of(t: Lang, world: &World, side: Side, rows: &Rows) -> Pane {
        let now = &rows.order;
        let person = world.person(side);
        let tabs = world.people[0].login == world.people[1].login;
        let mine = world.next().filter(|(_, act)| owner(*act) == Some(side));
        let told = person.told.as_ref().map(|(act, outcome)| {
            let shipped = matches!(act, Act::Ship(_));
            (*outcome == Outcome::Done, t.demo_told(outcome, shipped))
        });
        let seen = person.seen.as_ref().map(|seen| Seen {
            no: seen.no.clone(),
            address: seen.address.clone(),
            message: seen.message.clone(),
            state: state(t, &seen.state),
            version: (world.way == Way::With).then_some(seen.version),
            is_label: person.is_operator && !person.has_form,
            typed: person.typed.clone(),
        });
        // A person who was refused has been told.
        let knows = matches!(person.told, Some((_, Outcome::Refused(..))));
        let differs = |seen: &OrderRow| {
            seen.no == MINJIS && (&seen.address, &seen.state, &seen.message) != (&now.address, &now.state, &now.message)
        };
        let name = t.demo_name(person.login);
        let left = rows.lock.as_ref().filter(|(lock, left)| lock.owner_id == person.login && !left.is_zero());
        let away = t.demo_leaving(world.story).filter(|_| person.is_away).map(|leaving| leaving.away);
        let typing = match (left, &person.sees_editor) {
            (Some((_, left)), _) => away.is_none().then(|| t.demo_reserved(clock(*left))),
            (None, Some(editor)) if person.told.is_none() => Some(t.demo_is_editing(t.demo_name(editor))),
            (None, _) => (person.is_typing && away.is_none()).then(|| t.demo_typing(name)),
        };
        Pane {
            side: if side == Side::Left { "left" } else { "right" },
            icon: if person.is_operator { "truck" } else { "person" },
            role: if person.is_operator { t.operator() } else { t.customer() },
            title: t.demo_whose(name, side, tabs),
            told,
            stale: (!knows && person.seen.as_ref().is_some_and(differs)).then(|| t.demo_stale(name)),
            typing,
            away,
            seen,
            button: mine.map(|(at, act)| button(t, world, at, act, Some(person))),
        }
    }
}

fn state(t: Lang, code: &str) -> &'static str {
    OrderState::ALL.iter().find(|state| state.code() == code).map_or("", |state| t.order_state(*state))
}

fn places(t: Lang, world: &World, pieces: i64) -> Vec<Place> {
    let place = |drawing, caption, parcel, said| Place {
        drawing,
        caption,
        parcel,
        said,
        has_kettle: drawing == "shelf" && pieces > 0,
    };
    if world.is_about_stock() {
        // The first promise gets the kettle.
        let house = |caption: &'static str, is_theirs: fn(&str) -> bool| {
            let promised = world.parcels.iter().position(|parcel| is_theirs(parcel.order));
            let said = promised.map(|at| if at == 0 { t.demo_promise() } else { t.demo_promise_without() });
            place("home", caption.into(), promised == Some(0), said)
        };
        return vec![
            place("shelf", t.demo_shelf(u64::try_from(pieces).unwrap_or(0)), false, None),
            house(t.demo_minjis_house(), |no| no == MINJIS),
            house(t.demo_lees_house(), |no| no != MINJIS),
        ];
    }
    let parcel = |is_here: bool| is_here.then(|| t.demo_parcel());
    let to = world.parcels.first().map(|parcel| parcel.label == world.home);
    vec![
        place("warehouse", t.demo_warehouse().into(), to.is_none(), parcel(to.is_none())),
        place("vacant", t.demo_old_house(t.demo_old_address()), to == Some(false), parcel(to == Some(false))),
        place("home", t.demo_new_house(&world.home), to == Some(true), parcel(to == Some(true))),
    ]
}

impl Verdict {
    fn of(t: Lang, world: &World) -> Verdict {
        let text = t.demo_story(world.story);
        let lesson = if world.way == Way::With { text.with } else { text.without };
        let (kind, icon, title) = match (world.went_well(), world.is_about_stock(), world.way) {
            (true, true, _) => ("good", "check", t.verdict_one()),
            (true, false, _) => ("good", "check", t.verdict_right()),
            (false, true, _) => ("bad", "cross", t.verdict_two()),
            // In a real race the operator may have been first.
            (false, false, Way::With) => ("late", "info", t.verdict_late()),
            (false, false, Way::Without) => ("bad", "cross", t.verdict_wrong()),
        };
        Verdict { kind, icon, title, lesson }
    }
}

impl Told {
    fn of(t: Lang, world: &World, event: &Event) -> Told {
        let side = event.side.or(match event.act {
            Act::Beats(side, _) => Some(side),
            _ => None,
        });
        let tabs = world.people[0].login == world.people[1].login;
        let person = side.map(|side| world.person(side));
        let is_operator = person.is_none_or(|person| person.is_operator);
        let name = side.zip(person).map(|(side, person)| t.demo_who(t.demo_name(person.login), side, tabs));
        let name = name.unwrap_or_else(|| "".into());
        let exchanges = event.exchanges.iter().map(|exchange| (exchange.request.clone(), exchange.answer.clone()));
        Told {
            side: match event.side {
                Some(Side::Left) => "left",
                Some(Side::Right) => "right",
                None => "both",
            },
            refused: event.outcome != Outcome::Done,
            said: t.demo_did(event, world.story, &name, is_operator, world.way),
            clock: minute(t, world, event.clock),
            version: (world.way == Way::With && !world.is_about_stock()).then_some(event.version),
            exchanges: exchanges.collect(),
            lines: demo::lines(event.act, world.way, world.is_about_stock()),
        }
    }
}

fn minute(t: Lang, world: &World, passed: Duration) -> Option<Html> {
    let is_about_time = STORIES[world.story].lock == Lock::Offline;
    is_about_time.then(|| t.demo_clock(passed.as_secs() / 60))
}

/// Minutes and seconds.
fn clock(left: Duration) -> String {
    format!("{}:{:02}", left.as_secs() / 60, left.as_secs() % 60)
}
