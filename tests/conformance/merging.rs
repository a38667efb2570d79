//! Merging concurrent changes.

use tenure::{Error, Version, error::UpdateError, unit_of_work::Updated, version::Merge};

use super::order::{Address, AlreadyShipped, Line, Order, State};
use super::support::{TestDb, lee, version};

type Outcome = Result<Updated<Order>, UpdateError<AlreadyShipped>>;

/// Lee changes the order after version 1 was opened; then a change based on version 1 is merged.
async fn merged(
    t: &TestDb,
    theirs: impl Fn(&mut Order) -> Result<(), AlreadyShipped>,
    merge: Merge,
    mine: impl Fn(&mut Order) -> Result<(), AlreadyShipped> + Send + Sync,
) -> (Outcome, Order) {
    let no = t.order().await;
    t.orders.update(&no).by(&lee()).run(theirs).await.unwrap();
    let outcome = t.orders.update(&no).expecting(Version::FIRST).merging(merge).run(mine).await;
    (outcome, t.stored(&no).await.0)
}

fn address(line1: &'static str) -> impl Fn(&mut Order) -> Result<(), AlreadyShipped> {
    move |order| order.send_to(line1)
}

fn zip(order: &mut Order) -> Result<(), AlreadyShipped> {
    order.ship_to.zip = "99999".into();
    Ok(())
}

fn address_and_zip(order: &mut Order) -> Result<(), AlreadyShipped> {
    zip(order)?;
    order.send_to("mine")
}

pub async fn changes_of_different_fields_are_merged(t: &TestDb) {
    let (outcome, stored) = merged(t, address("theirs"), Merge::Disjoint, zip).await;
    let saved = outcome.unwrap();
    assert_eq!((saved.loaded.version(), saved.attempts()), (version(3), 1));
    assert_eq!((stored.ship_to.line1.as_str(), stored.ship_to.zip.as_str()), ("theirs", "99999"));
    let conflict = saved.merged.unwrap();
    assert!(conflict.auto_mergeable());
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    assert_eq!(conflict.changed.unwrap().by, Some(lee()));
}

pub async fn field_changed_by_both_conflicts(t: &TestDb) {
    let (outcome, stored) = merged(t, address("theirs"), Merge::Disjoint, address_and_zip).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = outcome else { panic!("{outcome:?}") };
    assert!(!conflict.auto_mergeable());
    assert_eq!((stored.ship_to.line1.as_str(), stored.ship_to.zip.as_str()), ("theirs", "06236"));
}

/// The usual command of a web form.
pub async fn whole_form_command_does_not_undo_others_changes(t: &TestDb) {
    let whole_form = |order: &mut Order| {
        order.ship_to = Address { line1: "Teheran-ro 1".into(), zip: "99999".into() };
        order.lines = vec![
            Line { line_no: 1, product: "tea".into(), quantity: 1 },
            Line { line_no: 2, product: "cups".into(), quantity: 7 },
        ];
        Ok(())
    };
    let theirs = |order: &mut Order| {
        order.lines[0].quantity = 5;
        order.lines.push(Line { line_no: 3, product: "theirs".into(), quantity: 3 });
        order.send_to("theirs")
    };
    let (outcome, stored) = merged(t, theirs, Merge::Disjoint, whole_form).await;
    assert_eq!(*outcome.unwrap().loaded, stored);
    assert_eq!((stored.ship_to.line1.as_str(), stored.ship_to.zip.as_str()), ("theirs", "99999"));
    let lines: Vec<_> = stored.lines.iter().map(|line| (line.line_no, line.quantity)).collect();
    assert_eq!(lines, [(1, 5), (2, 7), (3, 3)]);
}

pub async fn lines_are_merged_by_their_key(t: &TestDb) {
    let theirs = |order: &mut Order| {
        order.lines.retain(|line| line.line_no != 1);
        order.lines.push(Line { line_no: 3, product: "theirs".into(), quantity: 3 });
        Ok(())
    };
    let mine = |order: &mut Order| {
        order.lines.iter_mut().filter(|line| line.line_no == 2).for_each(|line| line.quantity = 7);
        order.lines.push(Line { line_no: 4, product: "mine".into(), quantity: 4 });
        Ok(())
    };
    let (outcome, stored) = merged(t, theirs, Merge::Disjoint, mine).await;
    outcome.unwrap();
    let lines: Vec<_> = stored.lines.iter().map(|line| (line.line_no, line.quantity)).collect();
    assert_eq!(lines, [(2, 7), (3, 3), (4, 4)]);
}

pub async fn the_domain_has_the_last_word_on_the_merged_state(t: &TestDb) {
    // State and address are different fields, but a shipped parcel keeps its address.
    let (outcome, stored) = merged(t, Order::ship, Merge::Disjoint, address("mine")).await;
    assert!(matches!(outcome, Err(UpdateError::Refused(AlreadyShipped))), "{outcome:?}");
    assert_eq!((stored.state, stored.ship_to.line1.as_str()), (State::Shipped, "Teheran-ro 1"));
}

pub async fn combination_that_the_domain_refuses_is_not_saved(t: &TestDb) {
    // As a form does, the command sets the zip that it was opened with. The merge keeps theirs, to which the address does not belong.
    let whole_form = |order: &mut Order| {
        if order.ship_to.zip == "99999" && order.ship_to.line1 == "mine" {
            return Err(AlreadyShipped);
        }
        order.ship_to.zip = "06236".into();
        order.send_to("mine")
    };
    let (outcome, stored) = merged(t, zip, Merge::Disjoint, whole_form).await;
    assert!(matches!(outcome, Err(UpdateError::Refused(AlreadyShipped))), "{outcome:?}");
    assert_eq!((stored.ship_to.zip.as_str(), stored.ship_to.line1.as_str()), ("99999", "Teheran-ro 1"));
}

/// The total is a field of the order as well.
fn sum(order: &mut Order) {
    order.ship_to.zip = order.lines.iter().map(|line| line.quantity).sum::<u32>().to_string();
}

/// Commands that change, replace and renumber lines, based on the present ones.
fn rewrite(order: &mut Order, how: u64) -> Result<(), AlreadyShipped> {
    let line = |at: u32, quantity| Line { line_no: at + 1, product: "tea".into(), quantity };
    let total: u32 = order.lines.iter().map(|line| line.quantity).sum();
    match how % 6 {
        0 => order.lines = vec![line(0, total + 1)],
        1 => order.lines = (0..=total % 7).map(|at| line(at, 1)).collect(),
        2 => drop(order.lines.pop()),
        3 => order.lines.iter_mut().for_each(|line| line.quantity += 1),
        4 => {
            // The same total in one line.
            order.lines.pop();
            let last = order.lines.iter().map(|line| line.line_no).max().unwrap_or(0);
            order.lines.push(line(last, 1));
        }
        _ => {
            let next = order.lines.iter().map(|line| line.line_no).max().unwrap_or(0);
            order.lines.push(line(next, 1));
        }
    }
    sum(order);
    Ok(())
}

pub async fn computed_fields_match_the_collection_after_a_merge(t: &TestDb) {
    let (mut merged, mut refused) = (0, 0);
    for round in 0..216_u64 {
        let no = t.order().await;
        let (first, second, mine) = (round % 6, round / 6 % 6, round / 36 % 6);
        let opened = t.orders.update(&no).run(|order| rewrite(order, round / 5)).await.unwrap().version();
        for theirs in [first, second] {
            t.orders.update(&no).run(|order| rewrite(order, theirs)).await.unwrap();
        }
        let update = t.orders.update(&no).expecting(opened).merging(Merge::Disjoint);
        match update.run(|order| rewrite(order, mine)).await {
            Ok(_) => merged += 1,
            Err(UpdateError::Failed(Error::VersionConflict(_))) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
        let mut stored = t.stored(&no).await.0;
        let zip = stored.ship_to.zip.clone();
        sum(&mut stored);
        assert_eq!(zip, stored.ship_to.zip, "{first} and {second}, then {mine}: {:?}", stored.lines);
    }
    assert!(merged > 20 && refused > 20, "{merged} merged, {refused} refused");
}

pub async fn version_without_a_revision_cannot_be_merged(t: &TestDb) {
    let no = t.order().await;
    for line1 in ["a", "b", "c"] {
        t.orders.update(&no).run(address(line1)).await.unwrap();
    }
    // Three revisions are kept, without version 1.
    let refused = t.orders.update(&no).expecting(Version::FIRST).merging(Merge::Disjoint).run(zip).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    assert!(!conflict.opened_known);
    assert_eq!(t.stored(&no).await.1, version(4));
}
