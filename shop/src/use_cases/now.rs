//! What visible pages ask every few seconds. They are answered from one snapshot of this process, see [`tenure_web::watched`]: their
//! questions write nothing, and a thousand of them read the database as often as one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::{
    Database, Error, LockKey, LockManager, Version,
    error::{DatabaseError, ListError},
    lease::Holder,
    lock_manager::Listing,
    version::Change,
};
use tenure_web::watched::Watched;
use tokio::sync::OnceCell;

use super::browse::Only;
use super::sessions::{KnownSession, read_sessions};
use super::{Refusal, Shop, no_such_order};
use crate::domain::{Member, MemberId, Note, Order, OrderNo, OrderState, Role};
use crate::gate::Person;
use crate::storage;

/// The maximum age of what pages are told. With the pause between two questions of a visible page, see `web/assets/live.js`, it is how late
/// a change is seen.
pub(super) const EVERY: Duration = Duration::from_millis(500);
/// How long an order is shown as free again.
const FREED: Duration = Duration::from_secs(10);
/// Leases per read; more people do not edit at once.
const LEASES_AT_ONCE: u32 = 1_000;

/// The snapshot: all leases; the versions of the orders and notes that pages are about; the sessions of those pages.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(super) every: Duration,
    leases: Watched<(), Arc<Leases>, Error>,
    orders: Watched<OrderNo, Arc<Known>, Error>,
    notes: Watched<OrderNo, Option<Version>, Error>,
    pub(super) sessions: Watched<String, Arc<KnownSession>, Error>,
}

/// The current leases.
#[derive(Debug, Default)]
pub struct Leases {
    /// The longest-held first.
    pub all: Vec<Holder>,
    of: HashMap<LockKey, Vec<usize>>,
    freed: HashMap<LockKey, Instant>,
}

impl Leases {
    fn new(all: Vec<Holder>, before: Option<&Leases>) -> Leases {
        let mut of: HashMap<LockKey, Vec<usize>> = HashMap::new();
        for (at, holder) in all.iter().enumerate() {
            of.entry(holder.key.clone()).or_default().push(at);
        }
        let mut freed = before.map(|before| before.freed.clone()).unwrap_or_default();
        for key in before.iter().flat_map(|before| before.of.keys()) {
            freed.entry(key.clone()).or_insert_with(Instant::now);
        }
        freed.retain(|key, at| !of.contains_key(key) && at.elapsed() < FREED);
        Leases { all, of, freed }
    }

    /// The holders of this lock.
    pub fn of(&self, key: &LockKey) -> Vec<Holder> {
        self.of.get(key).into_iter().flatten().map(|at| self.all[*at].clone()).collect()
    }
}

/// A version of an order.
#[derive(Debug)]
pub struct Known {
    orderer: MemberId,
    /// Its state.
    pub state: OrderState,
    /// Its version.
    pub version: Version,
    /// The change that made it, read for the first page that asks.
    latest: OnceCell<Option<Change>>,
}

/// How an order is now.
#[derive(Debug, Clone)]
pub struct OrderNow {
    /// Its version and state.
    pub known: Arc<Known>,
    /// The holders of its lock.
    pub holders: Vec<Holder>,
    /// Whether it was held a moment ago.
    pub freed: bool,
}

/// How the note on an order is now.
#[derive(Debug, Clone)]
pub struct NoteNow {
    /// Its version; `None` if there is no note yet.
    pub version: Option<Version>,
    /// Who has it open.
    pub holders: Vec<Holder>,
}

impl Live {
    pub(super) fn new(db: &Database, locks: &LockManager, every: Duration) -> Live {
        let (locks, orders, notes, sessions) = (locks.clone(), db.clone(), db.clone(), db.clone());
        Live {
            every,
            leases: Watched::new(every, move |mut asked: Vec<((), Option<Arc<Leases>>)>| {
                let (locks, before) = (locks.clone(), asked.pop().and_then(|(_, before)| before));
                async move { Ok(vec![((), Arc::new(Leases::new(all_leases(&locks).await?, before.as_deref())))]) }
            }),
            orders: Watched::new(every, move |asked| read_orders(orders.clone(), asked)),
            notes: Watched::new(every, move |asked| read_notes(notes.clone(), asked)),
            // A session that is ended is noticed within this time.
            sessions: Watched::new(4 * every, move |asked| read_sessions(sessions.clone(), asked)),
        }
    }
}

async fn all_leases(locks: &LockManager) -> Result<Vec<Holder>, Error> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let list = locks.list().limit(LEASES_AT_ONCE);
        let list = after.into_iter().fold(list, Listing::after);
        let page = list.run().await.map_err(|error| match error {
            ListError::Database(error) => error,
            error => DatabaseError::other(error),
        })?;
        all.extend(page.items.into_iter().map(|listed| listed.holder));
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

/// What is known of a version stays: who made it is read once.
async fn read_orders(
    db: Database,
    asked: Vec<(OrderNo, Option<Arc<Known>>)>,
) -> Result<Vec<(OrderNo, Arc<Known>)>, Error> {
    let numbers: Vec<_> = asked.iter().map(|(no, _)| no.as_str()).collect();
    let found = storage::orders_now(&db, &numbers).await?;
    let mut before: HashMap<OrderNo, Option<Arc<Known>>> = asked.into_iter().collect();
    let known = |storage::OrderNow { no, orderer, state, version }| {
        let same = before.remove(&no).flatten().filter(|before| before.version == version);
        let new = || Arc::new(Known { orderer, state, version, latest: OnceCell::new() });
        (no, same.unwrap_or_else(new))
    };
    Ok(found.into_iter().map(known).collect())
}

/// An order without a note is watched as well.
async fn read_notes(
    db: Database,
    asked: Vec<(OrderNo, Option<Option<Version>>)>,
) -> Result<Vec<(OrderNo, Option<Version>)>, Error> {
    let numbers: Vec<_> = asked.iter().map(|(no, _)| no.as_str()).collect();
    let found: HashMap<String, Version> = storage::notes_now(&db, &numbers).await?.into_iter().collect();
    Ok(asked.into_iter().map(|(no, _)| (no.clone(), found.get(no.as_str()).copied())).collect())
}

impl Shop {
    async fn leases_now(&self) -> Result<Arc<Leases>, Error> {
        Ok(self.live.leases.one(&()).await?.unwrap_or_default())
    }

    /// How these orders are now, in their order; `None` for those that this member may not see.
    ///
    /// # Errors
    /// [`Refusal::Failed`] if the database failed.
    pub async fn orders_now(&self, viewer: &Member, numbers: &[OrderNo]) -> Result<Vec<Option<OrderNow>>, Refusal> {
        let leases = self.leases_now().await?;
        let found = self.live.orders.all(numbers).await?;
        let now = |(no, known): (&OrderNo, Option<Arc<Known>>)| {
            let known = known.filter(|known| viewer.may_see_orders_of(&known.orderer))?;
            let key = LockKey::of::<Order>(no);
            Some(OrderNow { known, holders: leases.of(&key), freed: leases.freed.contains_key(&key) })
        };
        Ok(numbers.iter().zip(found).map(now).collect())
    }

    /// How many orders besides these are edited now, by anybody or by this member, of those that they may see.
    ///
    /// # Errors
    /// [`Refusal::Failed`] if the database failed.
    pub async fn also_edited(&self, viewer: &Member, only: Only, besides: &[OrderNo]) -> Result<usize, Refusal> {
        let leases = self.leases_now().await?;
        let is_meant = |holder: &&Holder| only == Only::Edited || holder.owner.id == viewer.id().as_str();
        let edited = leases.all.iter().filter(is_meant).filter_map(|holder| {
            let no = OrderNo::new(holder.key.id()).ok()?;
            (holder.key == LockKey::of::<Order>(&no)).then_some(no)
        });
        let others: Vec<_> = edited.filter(|no| !besides.contains(no)).collect();
        Ok(self.orders_now(viewer, &others).await?.into_iter().flatten().count())
    }

    /// How an order is now, if this member may see it.
    ///
    /// # Errors
    /// As for [`order`](Self::order).
    pub async fn order_now(&self, viewer: &Member, no: &OrderNo) -> Result<OrderNow, Refusal> {
        let found = self.orders_now(viewer, std::slice::from_ref(no)).await?;
        found.into_iter().flatten().next().ok_or_else(|| no_such_order(no))
    }

    /// The change that made this version, if it is recorded.
    ///
    /// # Errors
    /// [`Refusal::Failed`] if the database failed.
    pub async fn made(&self, no: &OrderNo, known: &Known) -> Result<Option<Change>, Refusal> {
        let read = async || {
            let changes = self.orders.changes(no, 1).await?;
            Ok::<_, DatabaseError>(changes.into_iter().find(|change| change.version == known.version))
        };
        Ok(known.latest.get_or_try_init(read).await?.clone())
    }

    /// How the note on an order is now, for operators.
    ///
    /// # Errors
    /// As for [`noted`](Self::noted).
    pub async fn note_now(&self, viewer: &Member, no: &OrderNo) -> Result<NoteNow, Refusal> {
        viewer.must_be(Role::Operator)?;
        self.order_now(viewer, no).await?;
        let version = self.live.notes.one(no).await?.flatten();
        Ok(NoteNow { version, holders: self.leases_now().await?.of(&LockKey::of::<Note>(no)) })
    }

    /// All current leases, for operators.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`]; [`Refusal::Failed`] if the database failed.
    pub async fn held_now(&self, actor: &Member) -> Result<Arc<Leases>, Refusal> {
        actor.must_be(Role::Operator)?;
        Ok(self.leases_now().await?)
    }

    /// Who else looks at this order just now, by the questions of their pages to this process. It notes that this member does.
    pub fn looks_at(&self, viewer: &Member, no: &OrderNo) -> Vec<Person> {
        self.gate.viewers.look(no, viewer, self.clock.now())
    }

    /// Notes that this member has left a page about this order.
    pub fn looks_away(&self, viewer: &Member, no: &OrderNo) {
        self.gate.viewers.leave(no, viewer, self.clock.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of the script.
    fn of_the_script(name: &str) -> u64 {
        let script = include_str!("../../../web/assets/live.js");
        let rest = script.split_once(&format!("const {name} = ")).expect("a constant").1;
        rest.split(';').next().and_then(|number| number.parse().ok()).expect("a number")
    }

    #[test]
    fn a_change_is_told_to_a_visible_page_within_four_seconds() {
        let pause = of_the_script("QUIET_MS").max(of_the_script("QUICK_MS")).max(of_the_script("FIRST_MS"));
        let latest = Duration::from_millis(pause + of_the_script("JITTER_MS")) + EVERY;
        // The fifth is for the question, the read, and the page.
        assert!(latest <= Duration::from_secs(4), "{latest:?}");
    }
}
