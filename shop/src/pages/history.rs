//! An earlier version of an order or of its note: who, when, which command; alone, or beside any other version.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::Version;
use tenure::version::Change;

use super::compare::{self, Row};
use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::order::Number;
use super::problem::ProblemPage;
use super::{order_url, refusal};
use crate::domain::{Member, Order, OrderNo};
use crate::texts::Html;
use crate::use_cases::{Refusal, Shop};

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    f: Frame,
    no: OrderNo,
    /// The address of the versions, without the number.
    url: String,
    title: Html,
    /// The change that made this version, if it is known who made it.
    change: Option<Change>,
    version: Version,
    changes: Vec<Change>,
    content: Content,
    /// The other version and the differences, from the older to the newer.
    beside: Option<(Version, Vec<Row>)>,
}

/// What there was in that version.
enum Content {
    Order(Box<Order>),
    Note(String),
}

impl Content {
    fn differences(&self, newer: &Content, frame: &Frame) -> Vec<Row> {
        match (self, newer) {
            (Content::Order(before), Content::Order(after)) => compare::between(frame.t, before, after),
            (Content::Note(before), Content::Note(after)) => compare::between_texts(frame.t, before, after),
            _ => Vec::new(),
        }
    }
}

impl HistoryPage {
    fn order(&self) -> Option<&Order> {
        match &self.content {
            Content::Order(order) => Some(order),
            Content::Note(_) => None,
        }
    }

    fn text(&self) -> &str {
        match &self.content {
            Content::Order(_) => "",
            Content::Note(text) => text,
        }
    }

    fn is_now(&self) -> bool {
        self.changes.first().is_none_or(|latest| latest.version == self.version)
    }

    /// The change of that version in words: command, author, time. An order of the demo was placed before the demo was made.
    fn told(&self, change: &Change) -> String {
        let t = self.f.t;
        let who = self.f.author(change).map(|who| who.plain()).unwrap_or_default();
        let at = match &self.content {
            Content::Order(order) if self.f.is_of_the_demo(change) => self.f.at(order.placed_at()),
            _ => self.f.at(change.at),
        };
        let parts = [t.command(change.command.as_deref()).to_owned(), who, at.text()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    fn change_of(&self, version: &Version) -> Option<&Change> {
        self.changes.iter().find(|change| change.version == *version)
    }

    /// The version before or after this one, among those that are kept.
    fn neighbour(&self, step: i64) -> Option<Version> {
        let wanted = Version::new(self.version.number() + step).ok()?;
        self.change_of(&wanted).map(|change| change.version)
    }

    /// The two versions beside each other, the older first.
    fn pair(&self, other: &Version) -> [Version; 2] {
        let (one, other) = (self.version, *other);
        if one < other { [one, other] } else { [other, one] }
    }
}

/// What the versions are of.
#[derive(Debug, Clone, Copy)]
enum Of {
    Order,
    Note,
}

/// GET /orders/{no}/history/{version}?with={version}
pub(super) async fn order(
    State(shop): State<Shop>,
    visit: Visit,
    Number(no): Number,
    Path((_, version)): Path<(String, String)>,
    Query(asked): Query<Pairs>,
) -> Response {
    answer(&shop, visit, Of::Order, &no, &version, asked).await
}

/// GET /orders/{no}/note/history/{version}?with={version}
pub(super) async fn note(
    State(shop): State<Shop>,
    visit: Visit,
    Number(no): Number,
    Path((_, version)): Path<(String, String)>,
    Query(asked): Query<Pairs>,
) -> Response {
    answer(&shop, visit, Of::Note, &no, &version, asked).await
}

async fn answer(shop: &Shop, visit: Visit, of: Of, no: &OrderNo, version: &str, asked: Pairs) -> Response {
    let (frame, asked) = (visit.frame, Fields::sent(asked));
    let other = asked.get("with");
    let read = match read(shop, &visit.member, of, no, number(version), other.and_then(number)).await {
        Ok(read) => read,
        Err(refusal) => return refusal::plain(frame, refusal),
    };
    let Some((version, content)) = read.version else { return gone(frame, no, version) };
    let beside = match (other, read.other) {
        (None, _) => None,
        (Some(other), None) => return gone(frame, no, other),
        (Some(_), Some((other, beside))) => Some(match version < other {
            true => (other, content.differences(&beside, &frame)),
            false => (other, beside.differences(&content, &frame)),
        }),
    };
    let (title, path) = match of {
        Of::Order => (frame.t.version_title(no, version), "history"),
        Of::Note => (frame.t.note_version_title(no, version), "note/history"),
    };
    let change = read.changes.iter().find(|change| change.version == version).cloned();
    let page = HistoryPage {
        f: frame.state(if beside.is_some() { "HI-2" } else { "HI-1" }),
        no: no.clone(),
        url: format!("{}/{path}", order_url(no)),
        title,
        change,
        version,
        changes: read.changes,
        content,
        beside,
    };
    page.f.answer(StatusCode::OK, &page)
}

/// What was found of two versions.
struct Read {
    changes: Vec<Change>,
    version: Option<(Version, Content)>,
    other: Option<(Version, Content)>,
}

async fn read(
    shop: &Shop,
    viewer: &Member,
    of: Of,
    no: &OrderNo,
    version: Option<Version>,
    other: Option<Version>,
) -> Result<Read, Refusal> {
    let changes = match of {
        Of::Order => shop.history(viewer, no).await?,
        Of::Note => shop.note_history(viewer, no).await?,
    };
    let mut found = [None, None];
    for (wanted, found) in [version, other].into_iter().zip(&mut found) {
        let Some(version) = wanted else { continue };
        let content = match of {
            Of::Order => shop.order_in(viewer, no, version).await?.map(|order| Content::Order(Box::new(order))),
            Of::Note => shop.note_in(viewer, no, version).await?.map(|note| Content::Note(note.text().to_owned())),
        };
        *found = content.map(|content| (version, content));
    }
    let [version, other] = found;
    Ok(Read { changes, version, other })
}

fn number(text: &str) -> Option<Version> {
    text.parse().ok().and_then(|number| Version::new(number).ok())
}

/// 404: there is no such version, or it is not kept any more.
fn gone(frame: Frame, no: &OrderNo, version: &str) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("HI-3"), t.version_gone_title(no, version)).say(t.version_gone());
    page.link(order_url(no), t.back_to_order()).answer(StatusCode::NOT_FOUND)
}
