//! Refusals: which are found early, and which change nothing.

use super::*;

#[test]
fn operations_that_only_read_are_told_from_the_others() {
    let (proof, key, request) = (proof(KIMS, "kim"), key(), lees());
    for reads in [Operation::Check(proof.clone()), Operation::KeyState(key.clone()), Operation::Holders(key)] {
        assert!(reads.only_reads(), "{reads:?}");
    }
    for writes in [Operation::Take(request), Operation::Release(proof), Operation::ReleaseAll { owner: "kim".into() }] {
        assert!(!writes.only_reads(), "{writes:?}");
    }
}

#[test]
fn a_refusal_records_no_expiry() {
    let used = Past { lock: LEES.to_vec(), owner: lee(), ..Past::ended(&kims(5), How::Released, None, None, NOW - 5) };
    for before in [rows([anchor(), beside(-5)]), rows([kims(-5)])] {
        let before = with_past(before, used.clone());
        let (answer, after) = take(&before, &lees());
        assert!(answer.starts_with("used Released"), "{answer}");
        assert_eq!(after, before);
    }
}

#[test]
fn changes_of_one_kind_are_changes() {
    let row = kims(0);
    let each = [
        Changes { leases: [(row.place.clone(), None)].into(), ..Changes::default() },
        Changes { past: vec![Past::ended(&row, How::Released, None, None, NOW)], ..Changes::default() },
        Changes { floors: [("Order".to_owned(), 1)].into(), ..Changes::default() },
    ];
    assert!(Changes::default().are_none() && !each.iter().any(Changes::are_none));
}

#[test]
fn an_end_in_the_history_is_not_replaced() {
    let broken = Past::ended(&kims(5), How::Broken, Some(&lee()), Some("holiday"), NOW - 5);
    let before = with_past(rows([kims(-5)]), broken.clone());
    let (answer, after) = take(&before, &lees());
    assert_eq!((&*answer, after.past.get(&broken.lock)), ("granted 5", Some(&broken)));
}

#[test]
fn later_changes_replace_earlier_ones_and_floors_only_rise() {
    let row = kims(0);
    let of = |row: Option<&LeaseRow>, floor| Changes {
        leases: [(kims(0).place, row.cloned())].into(),
        past: vec![Past::ended(&kims(0), How::Released, None, None, NOW)],
        floors: [("Order".to_owned(), floor)].into(),
    };
    let mut changes = of(Some(&row), 3);
    changes.and_then(of(None, 2));
    assert_eq!((changes.leases.get(&row.place), changes.past.len(), changes.floors["Order"]), (Some(&None), 2, 3));
    changes.and_then(of(Some(&row), 4));
    assert_eq!((changes.leases.get(&row.place), changes.floors["Order"]), (Some(&Some(row)), 4));
}
