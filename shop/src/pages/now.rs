//! What visible pages ask every few seconds: what is new. It writes nothing, and keeps neither a lease nor the session alive.
//!
//! | address | of |
//! |---|---|
//! | `/orders/{no}/now` | forms of an order, which send a heartbeat when the answer changes |
//! | `/orders/{no}/now?page=order&v=7` | the page of an order, rendered at version 7 |
//! | `/orders/{no}/now?page=open-edit&v=7` | the page that says who holds the order, after an attempt of this kind |
//! | `/orders/{no}/note/now` | the form of its note |
//! | `POST /orders/{no}/left` | a page about an order, when it is left |
//! | `/now/orders?o=7.2026-000300&o=…` | the list: each order with its version; with `only=edited` or `only=mine`, the list of those |
//! | `/now/locks?l=42.Order.2026-000300&l=…` | the console: each lease with its generation, its type and its id |

use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tenure::lease::Holder;
use tenure::{LockKey, Version, VersionToken};
use tenure_web::now::Now;
use tenure_web::problem::Problem;

use super::beat::in_words;
use super::fields::{Fields, Pairs};
use super::frame::Frame;
use super::live::{self, Said};
use super::locked;
use super::order::Number;
use super::orders;
use super::posted::Posted;
use super::refusal::What;
use crate::domain::{Member, Note, Order, OrderNo};
use crate::texts::Html;
use crate::use_cases::{Only, Refusal, Shop, problem};

/// More than any page shows.
const MOST_ROWS: usize = 200;

/// A question of a signed-in member's page. A script asks, so nobody is led to the sign-in page.
pub(super) struct Asked {
    frame: Frame,
    member: Member,
}

impl FromRequestParts<Shop> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Shop) -> Result<Asked, Problem> {
        let frame = Frame::bare(parts);
        let signed_out = || Problem::new(401, "session-expired", frame.t.signed_out_title()).action("sign-in");
        // Nor does a page show anything to another person, who has signed in in this browser since.
        let whose =
            Query::<Pairs>::try_from_uri(&parts.uri).map(|Query(asked)| Fields::sent(asked)).unwrap_or_default();
        let is_of = |member: &Member| whose.get("person").is_none_or(|person| person == member.id().as_str());
        let member = frame.member.clone().filter(is_of).ok_or_else(signed_out)?;
        Ok(Asked { frame, member })
    }
}

/// The same about an order. A text that is no number is the number of no order.
pub(super) struct AskedAbout(Asked, OrderNo);

impl FromRequestParts<Shop> for AskedAbout {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, shop: &Shop) -> Result<AskedAbout, Problem> {
        let asked = Asked::from_request_parts(parts, shop).await?;
        let t = asked.frame.t;
        let number = Number::from_request_parts(parts, shop).await;
        let no_order = |_| Problem::new(404, "not-found", t.no_order_title()).detail(t.standing_gone());
        let Number(no) = number.map_err(no_order)?;
        Ok(AskedAbout(asked, no))
    }
}

/// The version that the page shows.
fn shown(asked: &Fields) -> Option<Version> {
    asked.text("v").parse().ok().and_then(|version| Version::new(version).ok())
}

/// GET /orders/{no}/now
pub(super) async fn order(
    State(shop): State<Shop>,
    AskedAbout(Asked { frame: f, member }, no): AskedAbout,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
) -> Response {
    let query = Fields::sent(query);
    let told = async {
        let mut now = shop.order_now(&member, &no).await?;
        let people = people(&f, &shop, &member, &no, query.text("page"), &now.holders);
        now.holders = now.holders.into_iter().map(|holder| f.sees(holder)).collect();
        let (known, me) = (&now.known, member.owner());
        let told = Now::new(&me, Some(VersionToken::<Order>::new(&no, known.version)), &now.holders);
        let told = told.state(known.state.code()).slot("people", people);
        let shown = shown(&query);
        let is_changed = shown.is_some_and(|shown| shown != known.version);
        let change = if is_changed { shop.made(&no, known).await? } else { None };
        let verdict = live::verdict(&f, &me, known.state, now.holders.clone());
        Ok(match (query.text("page"), What::from_code(query.text("page"))) {
            ("order", _) => {
                let line = live::line(&f, &shop, &verdict, now.freed);
                let state = if is_changed { "OV-5" } else { line.state };
                let told = told.slot("line", line.html).slot("changed", live::changed(&f, known, shown, change));
                let told = told.page(state, None);
                match member.is_operator() {
                    true => told.slot("note", note_line(&f, &shop, &member, &no, query.text("note")).await?),
                    false => told,
                }
            }
            (_, Some(what)) => {
                locked::now(&f, &shop, what, &no, &verdict, told, is_changed.then(|| live::saved(&f, known, change)))
            }
            _ => told,
        })
    };
    match told.await {
        Err(refusal) if !query.text("page").is_empty() => over(&f, refusal),
        told => answer(&f, &no, told, &headers),
    }
}

/// A page without a form: there is nothing to see any more, or the snapshot could not be read.
fn over(f: &Frame, refusal: Refusal) -> Response {
    let problem = problem(refusal);
    match problem.code() {
        "not-found" => problem.detail(f.t.live_over()),
        "forbidden" => problem.detail(f.t.forbidden_operators()),
        _ => problem,
    }
    .into_response()
}

/// Who else looks at the order.
fn people(f: &Frame, shop: &Shop, member: &Member, no: &OrderNo, page: &str, holders: &[Holder]) -> Html {
    live::people(f, if page.is_empty() { "OE-3" } else { "OV-4" }, &shop.looks_at(member, no), holders)
}

/// Who edits the note, and whether it is newer than the page shows, which has this version of it.
async fn note_line(f: &Frame, shop: &Shop, member: &Member, no: &OrderNo, shown: &str) -> Result<Html, Refusal> {
    let now = shop.note_now(member, no).await?;
    let version = now.version.map_or(0, Version::number);
    let editors = live::note_editors(f, &now.holders);
    let is_old = shown.parse().is_ok_and(|shown: i64| shown != version);
    Ok(if is_old { Html::trusted(format!("{}{editors}", live::note_changed(f))) } else { editors })
}

/// POST /orders/{no}/left
pub(super) async fn left(State(shop): State<Shop>, Number(no): Number, posted: Posted) -> StatusCode {
    shop.looks_away(&posted.visit.member, &no);
    StatusCode::NO_CONTENT
}

/// GET /orders/{no}/note/now
pub(super) async fn note(
    State(shop): State<Shop>,
    AskedAbout(Asked { frame: f, member }, no): AskedAbout,
    headers: HeaderMap,
) -> Response {
    let told = async {
        let now = shop.note_now(&member, &no).await?;
        let version = now.version.map(|version| VersionToken::<Note>::new(&no, version));
        Ok(Now::new(&member.owner(), version, &now.holders)
            .slot("people", people(&f, &shop, &member, &no, "", &now.holders)))
    };
    answer(&f, &no, told.await, &headers)
}

/// GET /now/orders
pub(super) async fn orders(
    State(shop): State<Shop>,
    Asked { frame: f, member }: Asked,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
) -> Response {
    let row = |(_, text): &(String, String)| {
        let (version, no) = text.split_once('.')?;
        Some((Version::new(version.parse().ok()?).ok()?, OrderNo::new(no).ok()?))
    };
    let asked: Vec<_> = query.iter().filter(|(name, _)| name == "o").take(MOST_ROWS).map(row).collect();
    let told = async {
        let numbers: Vec<_> = asked.iter().flatten().map(|(_, no)| no.clone()).collect();
        let mut found = shop.orders_now(&member, &numbers).await?.into_iter();
        let (me, mut told, mut has_ended) = (member.owner(), Now::of_page(), false);
        let only = query.iter().find(|(name, _)| name == "only").and_then(|(_, code)| orders::only(code));
        let only = only.filter(|only| *only != Only::Drafts);
        let is_meant = |holder: &Holder| only != Some(Only::Mine) || holder.owner.id == me.id;
        for (at, row) in asked.iter().enumerate() {
            let Some((version, no)) = row else { continue };
            let now = found.next().flatten();
            let change = match &now {
                Some(now) if now.known.version != *version => shop.made(no, &now.known).await?,
                _ => None,
            };
            has_ended |= !now.as_ref().is_some_and(|now| now.holders.iter().any(is_meant));
            let Said { html, .. } = live::row(&f, &shop, &me, *version, now, change);
            told = told.slot(format!("row {at}"), html);
        }
        // A list of what is edited says that it is another one by now.
        let Some(only) = only else { return Ok(told) };
        let new = shop.also_edited(&member, only, &numbers).await?;
        Ok(match (asked.is_empty(), new) {
            (true, 0) => told.slot("none", Html::trusted(format!("<p>{}</p>", orders::none_of(f.t, only)))),
            (true, new) => told.slot("none", live::more_opened(&f, new)),
            (false, 0) if has_ended => told.slot("changed", live::some_ended(&f)),
            (false, new) => told.slot("changed", live::more_opened(&f, new)),
        })
    };
    answer_page(&f, told.await, &headers)
}

/// GET /now/locks
pub(super) async fn locks(
    State(shop): State<Shop>,
    Asked { frame: f, member }: Asked,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
) -> Response {
    let lease = |(_, text): &(String, String)| {
        let mut parts = text.splitn(3, '.');
        let generation: i64 = parts.next()?.parse().ok()?;
        Some((generation, LockKey::new(parts.next()?, parts.next()?)))
    };
    let asked: Vec<_> = query.iter().filter(|(name, _)| name == "l").take(MOST_ROWS).map(lease).collect();
    let told = async {
        let held = shop.held_now(&member).await?;
        let mut told = Now::of_page();
        let is_shown = |holder: &&Holder| {
            asked.iter().flatten().any(|(generation, key)| *key == holder.key && *generation == holder.generation)
        };
        for (at, row) in asked.iter().enumerate() {
            let Some((generation, key)) = row else { continue };
            let holder = held.of(key).into_iter().find(|holder| holder.generation == *generation);
            let [who, left] = live::lease(&f, &shop, holder.as_ref());
            told = told.slot(format!("who {at}"), who).slot(format!("left {at}"), left);
        }
        let kind = query.iter().find(|(name, _)| name == "type").map(|(_, kind)| kind.as_str());
        let of_kind = || held.all.iter().filter(|holder| kind.is_none_or(|kind| kind == holder.key.kind()));
        // A page that is not the last one does not show all.
        let is_part = query.iter().any(|(name, _)| name == "part");
        let new = if is_part { 0 } else { of_kind().filter(|holder| !is_shown(holder)).count() };
        let count = if is_part { of_kind().filter(is_shown).count() } else { of_kind().count() };
        let told = told.slot("count", live::count(&f, is_part, count));
        Ok(match (asked.is_empty(), new) {
            (true, 0) => told.slot("none", live::none_held(&f, kind.unwrap_or(""))),
            (true, new) => told.slot("none", live::more_opened(&f, new)),
            (false, new) => told.slot("changed", live::more_opened(&f, new)),
        })
    };
    answer_page(&f, told.await, &headers)
}

fn answer(f: &Frame, no: &OrderNo, told: Result<Now, Refusal>, headers: &HeaderMap) -> Response {
    match told {
        Ok(now) => now.answer(headers),
        Err(refusal) => in_words(f, no, problem(refusal)).into_response(),
    }
}

fn answer_page(f: &Frame, told: Result<Now, Refusal>, headers: &HeaderMap) -> Response {
    match told {
        Ok(now) => now.answer(headers),
        Err(refusal) => over(f, refusal),
    }
}
