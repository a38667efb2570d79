//! Heartbeats that are refused, and what they keep to themselves.

use axum::body::Body;
use axum::extract::FromRequest;
use axum::http::Request;
use serde_json::json;
use tenure::sqlx::Connection;
use tenure::{LockId, LockKey, LockPolicy, lease::Limits};
use tenure_web::beat::Beat;
use tenure_web::form_id::FormId;

use super::support::{Form, Kit, MINUTE, Order, heard, held, kim, lee, problem};

#[tokio::test]
async fn a_signed_out_form_gets_nothing_and_its_lease_lives_on() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    for want in ["keep", "take", "look", "nonsense"] {
        let (status, refused) = kit.tell(None, &form, want, &[]).await;
        assert_eq!((status, &refused["code"]), (401, &"session-expired".into()));
        assert_eq!(refused["actions"], json!([{ "rel": "sign-in" }]));
    }
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn page_of_another_person_affects_neither_lease() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    for want in ["keep", "take", "look"] {
        for person in ["kim", "", "Lee"] {
            let refused = kit.beat_but(&lee(), &form, want, &[("person", person)]).await;
            assert_eq!(refused, problem(409, "other-person"), "{want} {person}");
        }
    }
    assert_eq!(kit.beat(&kim(), &form, "look").await.3, Some(60_000));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn only_taking_a_lock_needs_the_token_of_the_session() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (form, other) = (kit.open_with_lease(&kim()).await, kit.open().await);
    for csrf in ["", "other"] {
        for form in [&form, &other] {
            let refused = kit.beat_but(&kim(), form, "take", &[("csrf", csrf), ("instead_of", "1")]).await;
            assert_eq!(refused, problem(403, "csrf-failed"));
        }
        assert_eq!(kit.beat_but(&kim(), &form, "keep", &[("csrf", csrf)]).await, held(""));
        assert_eq!(kit.beat_but(&kim(), &form, "look", &[("csrf", csrf)]).await, held(""));
    }
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn nothing_is_locked_without_a_session() {
    let fields = format!(
        "want=take&lid={}&form_id={}&version=none&person=kim&csrf=",
        LockId::random().reveal(),
        FormId::random()
    );
    let request = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
    let mut request = request.body(Body::from(fields)).unwrap();
    request.extensions_mut().insert(kim());
    assert_eq!(Beat::<Order>::from_request(request, &()).await.unwrap_err().code(), "csrf-failed");
}

#[tokio::test]
async fn invalid_lock_id_form_or_version_is_refused() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    let long = "0".repeat(100_000);
    let bad = [
        ("lid", ""),
        ("lid", &long),
        ("form_id", ""),
        ("form_id", &long),
        ("version", ""),
        ("version", "7"),
        ("version", "*"),
        ("version", "None"),
        ("want", ""),
        ("want", "TAKE"),
        ("want", "release"),
        ("idle_ms", "-1"),
        ("idle_ms", "1.5"),
        ("instead_of", "x"),
        ("left", "x"),
        ("lid=1&lid", "2"),
    ];
    for field in bad {
        let want = if field.0 == "want" { field.1 } else { "take" };
        let but = if field.0 == "want" { vec![] } else { vec![field] };
        assert_eq!(kit.beat_but(&kim(), &form, want, &but).await, problem(400, "bad-form"), "{}", field.0);
    }
    let foreign = kit.version("2").await.to_string();
    for want in ["take", "keep", "look"] {
        let refused = kit.beat_but(&kim(), &form, want, &[("version", &foreign)]).await;
        assert_eq!(refused, problem(400, "foreign-version"));
    }
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn lock_needs_the_applications_permission() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let version = kit.version("2").await.to_string();
    let form = Form { path: "/orders/2/text".into(), version: version.clone(), ..kit.open().await };
    assert_eq!(kit.beat(&kim(), &form, "take").await, problem(403, "forbidden"));
    // Nor by naming it.
    let named = [("version", version.as_str()), ("key", "2"), ("id", "2"), ("no", "2"), ("kind", "Order")];
    assert_eq!(kit.beat_but(&kim(), &kit.open().await, "take", &named).await, problem(400, "foreign-version"));
    assert_eq!(kit.holders("2").await, []);
}

#[tokio::test]
async fn foreign_lock_id_acquires_and_extends_nothing() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let lees = kit.locks.try_lock(&LockKey::new("Order", "2"), &lee()).await.unwrap();
    let stolen = Form { lid: lees.id().reveal(), ..kit.open().await };
    kit.clock.advance(4 * MINUTE);
    for (want, why) in [("take", "OtherAggregate"), ("keep", "NotYours"), ("look", "NotYours")] {
        assert_eq!(kit.beat(&kim(), &stolen, want).await, heard("lost", why), "{want}");
    }
    assert_eq!(kit.locks.check_lock(lees.id()).await.unwrap().holder().remaining, MINUTE);
    let own = kit.locks.try_lock(&LockKey::new("Order", "3"), &kim()).await.unwrap();
    let other = Form { lid: own.id().reveal(), ..kit.open().await };
    for want in ["take", "keep", "look"] {
        assert_eq!(kit.beat(&kim(), &other, want).await, heard("lost", "OtherAggregate"), "{want}");
    }
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn a_limit_is_a_problem_that_names_it() {
    let mut kit = Kit::new(LockPolicy::exclusive()).await;
    kit.locks = kit.locks.with_limits(Limits { locks_per_owner: 1, ..Limits::default() });
    kit.locks.try_lock(&LockKey::new("Order", "2"), &kim()).await.unwrap();
    assert_eq!(kit.beat(&kim(), &kit.open().await, "take").await, problem(429, "limit-reached"));
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn unavailable_database_allows_resending_and_keeps_the_lease() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let holding = kit.open_with_lease(&kim()).await;
    let other = kit.break_down().await;
    let form_id = FormId::random().to_string();
    let fields = [
        ("want", "keep"),
        ("lid", &holding.lid),
        ("version", &holding.version),
        ("person", "kim"),
        ("form_id", &form_id),
    ];
    let (status, headers, refused) = kit.respond(Some(kim()), &holding.path, &fields).await;
    assert_eq!((status, &headers["retry-after"]), (503, &"5".parse().unwrap()));
    assert_eq!(refused["actions"], json!([{ "rel": "retry" }]));
    other.close().await.unwrap();
    assert_eq!(kit.beat(&kim(), &holding, "keep").await, held(""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn logged_heartbeat_omits_its_lock_id() {
    let (lid, form_id) = (LockId::random().reveal(), FormId::random().to_string());
    let fields = format!("want=keep&lid={lid}&form_id={form_id}&version=none&person=kim&csrf=token");
    let request = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
    let mut request = request.body(Body::from(fields)).unwrap();
    request.extensions_mut().insert(kim());
    let beat = Beat::<Order>::from_request(request, &()).await.unwrap();
    assert_eq!((beat.owner(), beat.form().to_string()), (&kim(), form_id));
    assert!(!format!("{beat:?}").contains(&lid));
}
