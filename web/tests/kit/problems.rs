//! The library's errors as HTTP problems: each has its own code, and none is reported as a server failure.

use std::time::SystemTime;

use axum::body::to_bytes;
use axum::http::header::RETRY_AFTER;
use axum::response::IntoResponse;
use serde_json::Value;
use tenure::{
    Aggregate, Database, Error, LockKey, LockManager, LockMode, Owner, Repository,
    error::{BreakError, DatabaseError, LockError},
    lease::{LeaseLossReason, Limits, NoLock},
};
use tenure_web::problem::Problem;

#[derive(Aggregate, Debug)]
#[aggregate(table = "notes")]
struct Note {
    #[aggregate(id)]
    id: String,
    text: String,
}

/// Status, code and title.
async fn told(problem: impl Into<Problem>) -> (u16, String, String) {
    let problem = problem.into();
    let (code, title) = (problem.code(), problem.title().to_owned());
    let response = problem.into_response();
    let (status, retry) = (response.status().as_u16(), response.headers().contains_key(RETRY_AFTER));
    assert_eq!(retry, [429, 503].contains(&status), "{code}");
    let body: Value = serde_json::from_slice(&to_bytes(response.into_body(), 10_000).await.unwrap()).unwrap();
    assert_eq!((&body["code"], &body["type"]), (&code.into(), &format!("/problems/{code}").into()));
    (status, code.to_owned(), title)
}

#[tokio::test]
async fn each_end_of_a_lock_has_a_name_of_its_own() {
    let (at, by) = (SystemTime::now(), Owner::new("lee", "Lee Junho"));
    let ends = [
        (LeaseLossReason::Unknown, "lock-unknown"),
        (LeaseLossReason::Expired { at }, "lock-expired"),
        (LeaseLossReason::IdleLimitReached { at }, "lock-idle"),
        (LeaseLossReason::LimitReached { at }, "lock-held-too-long"),
        (LeaseLossReason::Released { at }, "lock-released"),
        (LeaseLossReason::Broken { by: by.clone(), at, reason: "stuck".into() }, "lock-broken"),
        (LeaseLossReason::TakenOver { by, at, reason: "stuck".into() }, "lock-taken-over"),
        (LeaseLossReason::NotYours, "lock-not-yours"),
        (LeaseLossReason::OtherAggregate, "lock-of-another"),
    ];
    let mut titles = Vec::new();
    for (why, wanted) in ends {
        let (status, code, title) = told(NoLock { key: None, why, held_now: None }).await;
        assert_eq!((status, &*code), (410, wanted));
        titles.push(title);
    }
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), 9);
}

#[tokio::test]
async fn no_refusal_of_a_lock_is_a_failure_of_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&format!("sqlite://{}/locks.db", directory.path().display())).await.unwrap();
    let limits = Limits { locks_per_owner: 1, ..Limits::default() };
    let locks = LockManager::new(&db).with_limits(limits);
    let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
    let key = |id: &str| LockKey::new("Order", id);
    let lease = locks.try_lock(&key("1"), &kim).await.unwrap();
    let code = async |error: LockError| {
        let (status, code, _) = told(error).await;
        (status, code)
    };
    assert_eq!(code(locks.try_lock(&key("2"), &kim).await.unwrap_err()).await, (429, "limit-reached".into()));
    assert_eq!(code(locks.try_lock(&key("1"), &lee).await.unwrap_err()).await, (423, "already-locked".into()));
    assert_eq!(code(locks.try_lock(&key("1\n"), &lee).await.unwrap_err()).await, (422, "invalid-key".into()));
    let nobody = Owner::new("lee\0", "Lee Junho");
    assert_eq!(code(locks.try_lock(&key("3"), &nobody).await.unwrap_err()).await, (422, "invalid-owner".into()));
    for (reason, wanted) in [("", "no-reason"), (&*"x".repeat(501), "text-too-long"), ("a\0b", "text-not-plain")] {
        let refused: BreakError =
            locks.break_lock(&key("1"), lease.holder().generation, &lee, reason).await.unwrap_err();
        let (status, code, _) = told(refused).await;
        assert_eq!((status, &*code), (422, wanted));
    }
    let changed = locks.break_lock(&key("1"), lease.holder().generation + 1, &lee, "stuck").await.unwrap_err();
    assert_eq!(told(changed).await.0, 409);
}

#[tokio::test]
async fn lost_race_and_stale_version_are_different_problems() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&format!("sqlite://{}/notes.db", directory.path().display())).await.unwrap();
    let notes = Repository::<Note>::new(&db);
    let mut tx = db.begin().await.unwrap();
    let table = "create table notes (id text primary key, text text not null, version integer not null)";
    tenure::sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
    notes.insert(&mut tx, Note { id: "1".into(), text: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    let id = "1".to_owned();
    let (seen, mut loaded) = (notes.get(&id).await.unwrap().unwrap().version(), notes.get(&id).await.unwrap().unwrap());
    let mut tx = db.begin().await.unwrap();
    let mut other = notes.find(&mut tx, &id, LockMode::Optimistic).await.unwrap().unwrap();
    other.text = "first".into();
    notes.save(&mut tx, &mut other).await.unwrap();
    tx.commit().await.unwrap();

    let late: Error = match notes.update(&id).expecting(seen).run(|_| Ok::<_, std::convert::Infallible>(())).await {
        Err(tenure::error::UpdateError::Failed(error)) => error,
        other => panic!("{other:?}"),
    };
    let (status, code, old) = told(late).await;
    assert_eq!((status, &*code), (409, "version-conflict"));

    let mut tx = db.begin().await.unwrap();
    loaded.text = "second".into();
    let error = notes.save(&mut tx, &mut loaded).await.unwrap_err();
    tx.rollback().await.unwrap();
    assert_eq!(Problem::of_if_match(error.clone()).status().as_u16(), 412);
    let (status, code, race) = told(error).await;
    assert_eq!((status, &*code), (409, "lost-race"));
    assert_ne!(old, race);
}

#[tokio::test]
async fn database_message_is_not_in_the_response() {
    for error in [
        DatabaseError::Schema("table secret".into()),
        DatabaseError::NotPermitted("table secret".into()),
        DatabaseError::CommitUnknown("table secret".into()),
        DatabaseError::ConnectionLost("table secret".into()),
    ] {
        let response = Problem::from(error).into_response();
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        assert!(!String::from_utf8_lossy(&body).contains("secret"), "{body:?}");
    }
}

#[tokio::test]
async fn own_members_stand_beside_the_kits() {
    let problem = Problem::new(409, "other-page", "Another page").member("page", 7).member("fields", ["a", "b"]);
    let again = problem.member("page", 8).member("code", "mine").member("status", 200).member("title", "mine");
    let body = to_bytes(again.into_response().into_body(), 10_000).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["page"], &body["fields"]), (&8.into(), &serde_json::json!(["a", "b"])));
    assert_eq!(
        (&body["code"], &body["status"], &body["title"]),
        (&"other-page".into(), &409.into(), &"Another page".into())
    );
}

#[tokio::test]
async fn value_that_does_not_fit_is_the_request_and_names_its_column() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&format!("sqlite://{}/notes.db", directory.path().display())).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let note = Note { id: "1".into(), text: "a\0b".into() };
    let refused = Repository::<Note>::new(&db).insert(&mut tx, note).await.unwrap_err();
    let response = Problem::from(refused).into_response();
    assert_eq!(response.status().as_u16(), 422);
    let body: Value = serde_json::from_slice(&to_bytes(response.into_body(), 10_000).await.unwrap()).unwrap();
    assert_eq!((&body["code"], &body["column"]), (&"does-not-fit".into(), &"text".into()));
    assert!(body["detail"].as_str().unwrap().contains("column `text`: it contains a NUL character"), "{body}");
}
