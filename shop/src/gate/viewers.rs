//! Who looks at an order: whose page has asked about it in the last seconds. Kept in memory of this process and nowhere else: it is gone
//! when the pages are, and a shop of several processes shows the viewers of each.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tenure::Owner;

use crate::domain::{Member, OrderNo};

/// The time without a question after which a page counts as left: two questions may be missed.
const GONE: Duration = Duration::from_secs(12);
/// The same after a page has said that it is left: a reload, and the next page about the order, ask within it.
const PARTING: Duration = Duration::from_secs(2);
/// The maximum number of orders, and of viewers of one. Those beyond are not shown.
const MOST: usize = 10_000;
const MOST_OF_ONE: usize = 200;

/// A viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Who.
    pub owner: Owner,
    /// Whether they are of the shop's staff.
    pub is_staff: bool,
}

/// The viewers of orders.
#[derive(Debug, Default)]
pub(crate) struct Viewers(Mutex<HashMap<OrderNo, Vec<(Person, Duration)>>>);

impl Viewers {
    /// Notes that this member looks at the order now, and returns the others, in the order of their names.
    pub(crate) fn look(&self, no: &OrderNo, member: &Member, now: Duration) -> Vec<Person> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_here = |at: &Duration| now.saturating_sub(*at) < GONE;
        if all.len() >= MOST && !all.contains_key(no) {
            all.retain(|_, people| people.iter().any(|(_, at)| is_here(at)));
            if all.len() >= MOST {
                return Vec::new();
            }
        }
        let people = all.entry(no.clone()).or_default();
        people.retain(|(person, at)| is_here(at) && person.owner.id != member.id().as_str());
        let mut others: Vec<_> = people.iter().map(|(person, _)| person.clone()).collect();
        others.sort_by(|a, b| (&a.owner.name, &a.owner.id).cmp(&(&b.owner.name, &b.owner.id)));
        if people.len() < MOST_OF_ONE {
            people.push((Person { owner: member.owner(), is_staff: member.is_operator() }, now));
        }
        others
    }

    /// Notes that a page of this member was left. Their other pages go on asking.
    pub(crate) fn leave(&self, no: &OrderNo, member: &Member, now: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.get_mut(no).into_iter().flatten().filter(|(person, _)| person.owner.id == member.id().as_str());
        own.for_each(|(_, at)| *at = (*at).min((now + PARTING).saturating_sub(GONE)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{MemberId, Role};

    fn member(id: &str) -> Member {
        Member::new(MemberId::new(id).expect("a name"), id, Role::Operator, "hash").expect("a member")
    }

    fn names(people: &[Person]) -> Vec<&str> {
        people.iter().map(|person| person.owner.name.as_str()).collect()
    }

    #[test]
    fn viewers_are_the_others_of_the_last_seconds_each_once() {
        let (viewers, no) = (Viewers::default(), OrderNo::new("1").expect("a number"));
        let at = |seconds: u64| Duration::from_secs(1_000 + seconds);
        assert_eq!(viewers.look(&no, &member("park"), at(0)), []);
        assert_eq!(names(&viewers.look(&no, &member("olivia"), at(1))), ["park"]);
        assert_eq!(names(&viewers.look(&no, &member("park"), at(4))), ["olivia"]);
        assert_eq!(names(&viewers.look(&no, &member("minji"), at(5))), ["olivia", "park"]);
        assert_eq!(names(&viewers.look(&no, &member("minji"), at(14))), ["park"], "she has left");
        let other = OrderNo::new("2").expect("a number");
        assert_eq!(viewers.look(&other, &member("minji"), at(14)), []);
    }

    #[test]
    fn who_leaves_is_gone_after_a_reload_would_have_asked_and_nobody_else_is() {
        let (viewers, no) = (Viewers::default(), OrderNo::new("1").expect("a number"));
        let at = |ms: u64| Duration::from_millis(1_000_000 + ms);
        for id in ["park", "olivia"] {
            viewers.look(&no, &member(id), at(0));
        }
        viewers.leave(&no, &member("park"), at(100));
        viewers.leave(&no, &member("lee"), at(100));
        viewers.leave(&OrderNo::new("2").expect("a number"), &member("olivia"), at(100));
        assert_eq!(names(&viewers.look(&no, &member("minji"), at(1_000))), ["olivia", "park"]);
        assert_eq!(names(&viewers.look(&no, &member("minji"), at(2_100))), ["olivia"]);
        // A reload, or a page that comes back.
        viewers.look(&no, &member("park"), at(2_200));
        assert_eq!(names(&viewers.look(&no, &member("minji"), at(9_000))), ["olivia", "park"]);
        // A late goodbye of a page that was gone already makes nobody look again.
        viewers.leave(&no, &member("olivia"), at(60_000));
        assert_eq!(names(&viewers.look(&no, &member("minji"), at(60_000))), [""; 0]);
    }

    #[test]
    fn their_number_has_a_bound() {
        let (viewers, no, now) = (Viewers::default(), OrderNo::new("1").expect("a number"), Duration::from_secs(1_000));
        for at in 0..MOST_OF_ONE + 50 {
            viewers.look(&no, &member(&format!("m{at}")), now);
        }
        assert_eq!(viewers.look(&no, &member("park"), now).len(), MOST_OF_ONE);
        for at in 0..MOST + 50 {
            viewers.look(&OrderNo::new(format!("o{at}")).expect("a number"), &member("park"), now);
        }
        assert!(viewers.0.lock().expect("no panic").len() <= MOST);
    }
}
