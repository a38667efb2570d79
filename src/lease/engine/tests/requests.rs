//! Transfer requests of several people.

use super::*;

fn park() -> Owner {
    Owner::new("park", "Park")
}

fn ask(rows: &Rows, generation: i64, most: u32) -> (Answer, Rows) {
    let by = lee();
    run(Operation::Ask(&Asking { key: &key(), generation, by: &by, note: "", handle: "new".into(), most }), rows)
}

/// Requests that are not open for Kim's lease of generation 4: of a former lease, expired, and for another key.
fn not_open() -> [RequestRow; 3] {
    let asked = |id: &str| asks(Owner::new(id, id), "", -90, 5);
    [
        RequestRow { generation: 3, ..asked("choi") },
        RequestRow { expires_at: NOW, ..asked("yoon") },
        RequestRow { key: LockKey::new("Order", "2"), ..asked("han") },
    ]
}

#[test]
fn open_requests_are_listed_by_their_time() {
    let open = [asks(lee(), "", -5, 5), asks(park(), "", -7, 5)];
    let before = with_requests(rows([kims(5)]), open.into_iter().chain(not_open()));
    let (answer, after) = run(Operation::Requests(&proof(KIMS, "kim")), &before);
    let Answer::Requests(Ok(requests)) = answer else { panic!("{answer:?}") };
    assert_eq!(requests.iter().map(|request| &*request.by.id).collect::<Vec<_>>(), ["park", "lee"]);
    assert_eq!(after, before);
    let (answer, _) = run(Operation::Requests(&proof(KIMS, "lee")), &before);
    assert!(matches!(answer, Answer::Requests(Err(NoLock { why: LeaseLossReason::NotYours, .. }))));
}

#[test]
fn only_open_requests_of_others_count_toward_the_limit() {
    let mut cases = vec![(asks(park(), "", -5, 1), true), (asks(lee(), "", -5, 1), false)];
    cases.extend(not_open().map(|row| (row, false)));
    for (other, full) in cases {
        let before = with_requests(rows([kims(5)]), [other.clone()]);
        let (answer, _) = ask(&before, 4, 1);
        assert_eq!(matches!(answer, Answer::Asked(Asked::Full)), full, "{other:?}");
        assert_eq!(matches!(answer, Answer::Asked(Asked::Open(_))), !full, "{other:?}");
    }
}

#[test]
fn asking_for_an_ended_lease_changes_nothing() {
    for (row, generation) in [(kims(5), 3), (kims(5), 5), (kims(0), 4), (LeaseRow { ended: true, ..kims(5) }, 4)] {
        let before = rows([row]);
        assert!(matches!(ask(&before, generation, 1), (Answer::Asked(Asked::Changed), after) if after == before));
    }
}

#[test]
fn expired_requests_for_the_key_are_deleted() {
    let [former, expired, elsewhere] = not_open();
    let before = with_requests(rows([kims(5)]), [former.clone(), expired, elsewhere.clone()]);
    let mut after = ask(&before, 4, 1).1.requests;
    assert!(after.remove(&asks(lee(), "", 0, 5).place()).is_some());
    assert_eq!(after, with_requests(rows([]), [former, elsewhere]).requests);
}

#[test]
fn a_reply_changes_the_named_request_only() {
    let [lees, parks] = [asks(lee(), "", -5, 5), asks(park(), "", -7, 5)];
    let mut now = with_requests(rows([kims(5)]), [lees.clone(), parks.clone()]);
    let (no, later) =
        (TransferReply::Declined { message: "no".into() }, TransferReply::Later(Duration::from_millis(60_000)));
    let declined = RequestRow { declined: Some("no".into()), ..lees.clone() };
    let postponed = RequestRow { later_until: Some(NOW + 60_000), ..lees };
    for (reply, expected) in [(&no, &declined), (&later, &postponed), (&no, &declined)] {
        let (answer, after) = run(Operation::Reply { proof: &proof(KIMS, "kim"), asker: "lee", reply }, &now);
        let Answer::Replied(Ok(Some(request))) = answer else { panic!("{answer:?}") };
        assert_eq!((&request.by, &request.answer), (&lee(), &Some(reply.clone())));
        assert_eq!(after.requests, with_requests(rows([]), [expected.clone(), parks.clone()]).requests);
        now = after;
    }
}

#[test]
fn a_reservation_has_its_own_limits() {
    let held = LeaseRow { idle_limit: Some(600_000), ..kims(5) };
    let asked = with_requests(rows([held.clone()]), [asks(park(), "", -7, 5), asks(lee(), "", -5, 5)]);
    let to_lee = Operation::HandOver { proof: &proof(KIMS, "kim"), to: "lee", reservation: &OTHER };
    let until = NOW + 30_000;
    let expected = LeaseRow {
        generation: 5,
        lock: OTHER.to_vec(),
        owner: lee(),
        since: NOW,
        last_active: NOW,
        active_at: NOW,
        expires_at: until,
        ttl: 0,
        idle_limit: None,
        hard_until: until,
        ..held
    };
    let (answer, after) = run(to_lee, &asked);
    assert_eq!(after.exclusive(&key()), Some(&expected));
    assert!(matches!(answer, Answer::HandedOver(Ok(Some(holder))) if holder == expected.holder(NOW)));
}
