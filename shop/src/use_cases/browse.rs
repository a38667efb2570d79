//! Reading: the list of orders, and one order with its related data.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use tenure::{
    Loaded, LockKey, Version,
    lease::{Holder, LeaseLossReason, PastLease},
    version::Change,
};

use super::{NoteBefore, Refusal, Shop, Short, no_such_order};
use crate::domain::{Member, MemberId, Money, Note, Order, OrderNo, OrderState, Role};
use crate::storage::{self, Asked, Sort};

/// Orders on one page of the list.
const PAGE_SIZE: u32 = 25;
/// How many changes an order's page shows.
const CHANGES_SHOWN: u32 = 20;
/// How many versions of an order or a note are kept: the number in their mappings.
const VERSIONS_KEPT: u32 = 50;
/// The maximum number of leases in the list; more people do not edit at once.
const LEASES_SHOWN: u32 = 1_000;

/// Among so many ended leases of an order its viewer's latest is looked for.
const PAST_SEEN: u32 = 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum number of drafts of a browser.
const MOST_DRAFTS: usize = 50;

/// A filter for the list of orders.
#[derive(Debug, Clone, Default)]
pub struct OrderFilter {
    /// Only those in this state.
    pub state: Option<OrderState>,
    /// Only those whose number or customer contains this text.
    pub search: Option<String>,
    /// Only those of this kind.
    pub only: Option<Only>,
    /// Orders that count as having text that was not saved: those of which the browser has drafts.
    pub drafts: Vec<OrderNo>,
    /// Their order.
    pub sort: Sort,
    /// The number of the page, from 1; 0 means page 1.
    pub page: u32,
}

/// A kind of orders in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// Somebody is editing them.
    Edited,
    /// The viewer is editing them.
    Mine,
    /// The viewer has typed something about them that was not saved.
    Drafts,
}

/// One page of the list.
#[derive(Debug, Clone)]
pub struct OrderPage {
    /// Its orders, the newest first.
    pub rows: Vec<OrderRow>,
    /// The number of this page: never beyond the last.
    pub page: u32,
    /// How many pages there are, at least 1.
    pub pages: u32,
    /// How many orders the filter finds.
    pub total: u64,
}

/// An order in the list.
#[derive(Debug, Clone)]
pub struct OrderRow {
    /// Its number.
    pub no: OrderNo,
    /// The member who placed it.
    pub orderer_name: String,
    /// Its state.
    pub state: OrderState,
    /// Its total.
    pub total: Money,
    /// When it was placed.
    pub placed_at: Timestamp,
    /// Its version.
    pub version: Version,
    /// The person who is editing it.
    pub editing: Option<Holder>,
    /// Whether the shop keeps text of the viewer about it that was not saved.
    pub has_text: bool,
}

/// An order with its related data.
#[derive(Debug, Clone)]
pub struct OrderView {
    /// The order.
    pub order: Loaded<Order>,
    /// The person who is editing it.
    pub holder: Option<Holder>,
    /// The operators' note; only operators see it.
    pub note: Option<Loaded<Note>>,
    /// Earlier texts of the note; only operators see them.
    pub notes_before: Vec<NoteBefore>,
    /// The people who are editing the note; only operators see them.
    pub note_editors: Vec<Holder>,
    /// The changes of the order, newest first.
    pub changes: Vec<Change>,
    /// Products of which there is not enough to ship it; only operators see it.
    pub short: Vec<Short>,
}

impl OrderView {
    /// The state, if the order cannot be changed in it any more.
    pub fn frozen(&self) -> Option<OrderState> {
        (!self.order.is_changeable()).then(|| self.order.state())
    }
}

/// The numbers of the orders of this kind; `None`: all. `unsaved` are those of which the shop keeps text.
fn among(viewer: &Member, filter: &OrderFilter, held: &[Holder], unsaved: &[String]) -> Option<Vec<String>> {
    let of = |holder: &Holder| holder.key.id().to_owned();
    let is_own = |holder: &&Holder| holder.owner.id == viewer.id().as_str();
    let drafts = filter.drafts.iter().take(MOST_DRAFTS).map(ToString::to_string);
    match filter.only? {
        Only::Edited => Some(held.iter().map(of).collect()),
        Only::Mine => Some(held.iter().filter(is_own).map(of).collect()),
        Only::Drafts => Some(unsaved.iter().cloned().chain(drafts).collect()),
    }
}

impl Shop {
    /// A page of the orders that this member may see.
    pub async fn orders(&self, viewer: &Member, filter: &OrderFilter) -> Result<OrderPage, Refusal> {
        let held = self.locks.list().of_type("Order").limit(LEASES_SHOWN).run().await?.items;
        let held: Vec<Holder> = held.into_iter().map(|listed| listed.holder).collect();
        let unsaved: Vec<_> = self.unsaved(viewer).await?.into_iter().map(|text| text.about).collect();
        let among = among(viewer, filter, &held, &unsaved);
        let asked = Asked {
            orderer: (!viewer.is_operator()).then(|| viewer.id().as_str()),
            state: filter.state.map(OrderState::code),
            search: filter.search.as_deref(),
            among: among.as_deref(),
            sort: filter.sort,
        };
        let total = storage::count_orders(&self.db, &asked).await?;
        let pages = u32::try_from(total.div_ceil(u64::from(PAGE_SIZE))).unwrap_or(u32::MAX).max(1);
        let page = filter.page.clamp(1, pages);
        let mut rows = storage::list_orders(&self.db, &asked, PAGE_SIZE, (page - 1) * PAGE_SIZE).await?;
        for row in &mut rows {
            row.editing = held.iter().find(|holder| holder.key.id() == row.no.as_str()).cloned();
            row.has_text = unsaved.iter().any(|about| about == row.no.as_str());
        }
        Ok(OrderPage { rows, page, pages, total })
    }

    /// One order, if this member may see it.
    pub async fn order(&self, viewer: &Member, no: &OrderNo) -> Result<OrderView, Refusal> {
        let order = self.order_of(viewer, no).await?;
        let holder = self.locks.holders(&LockKey::of::<Order>(no)).await?.pop();
        let changes = self.orders.changes(no, CHANGES_SHOWN).await?;
        let (mut note, mut notes_before, mut note_editors, mut short) = (None, Vec::new(), Vec::new(), Vec::new());
        if viewer.is_operator() {
            if order.state() == OrderState::Preparing {
                short = self.short_of(&order).await?;
            }
            note = self.notes.get(no).await?;
            if let Some(note) = &note {
                notes_before = self.notes_before(note).await?;
            }
            note_editors = self.locks.holders(&LockKey::of::<Note>(no)).await?;
        }
        Ok(OrderView { order, holder, note, notes_before, note_editors, changes, short })
    }

    /// How another person ended this member's latest editing of an order that can still be changed, within a day, if they do not edit it
    /// again. Their page may not have been there to say so.
    pub async fn ended(&self, viewer: &Member, view: &OrderView) -> Result<Option<LeaseLossReason>, Refusal> {
        let me = viewer.id().as_str();
        if view.frozen().is_some() || view.holder.as_ref().is_some_and(|holder| holder.owner.id == me) {
            return Ok(None);
        }
        let past = self.locks.history(&LockKey::of::<Order>(view.order.no())).limit(PAST_SEEN).run().await?.items;
        let last = past.into_iter().find(|past| past.owner.id == me);
        let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let is_by_another = |past: &PastLease| past.why.ended_by().is_some_and(|by| by.id != me);
        let last = last.filter(|last| is_by_another(last) && since(last.ended_at) + DAY > self.clock.now());
        Ok(last.map(|last| last.why))
    }

    /// The order in an earlier version, if that is still known and this member may see it.
    pub async fn order_in(&self, viewer: &Member, no: &OrderNo, version: Version) -> Result<Option<Order>, Refusal> {
        Ok(self.orders.get_at(no, version).await?.filter(|order| viewer.may_see(order)))
    }

    /// The changes of an order whose versions are kept, newest first.
    pub async fn history(&self, viewer: &Member, no: &OrderNo) -> Result<Vec<Change>, Refusal> {
        self.order_of(viewer, no).await?;
        Ok(self.orders.changes(no, VERSIONS_KEPT).await?)
    }

    /// The changes of its note, for operators.
    pub async fn note_history(&self, viewer: &Member, no: &OrderNo) -> Result<Vec<Change>, Refusal> {
        viewer.must_be(Role::Operator)?;
        self.order_of(viewer, no).await?;
        Ok(self.notes.changes(no, VERSIONS_KEPT).await?)
    }

    /// The note in an earlier version, if that is still known.
    pub async fn note_in(&self, viewer: &Member, no: &OrderNo, version: Version) -> Result<Option<Note>, Refusal> {
        viewer.must_be(Role::Operator)?;
        self.order_of(viewer, no).await?;
        Ok(self.notes.get_at(no, version).await?)
    }

    /// A member by id.
    pub async fn member(&self, id: &MemberId) -> Result<Option<Member>, Refusal> {
        Ok(self.members.get(id).await?.map(Loaded::into_inner))
    }

    /// The order, if this member may see it; the error does not reveal that another's order exists.
    pub(crate) async fn order_of(&self, viewer: &Member, no: &OrderNo) -> Result<Loaded<Order>, Refusal> {
        let order = self.orders.get(no).await?.filter(|order| viewer.may_see(order));
        order.ok_or_else(|| no_such_order(no))
    }
}
