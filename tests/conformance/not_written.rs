//! What a trigger drops without an error. Not on MariaDB and MySQL, whose triggers cannot.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure::error::{DatabaseError, ErrorCode, UpdateError};
use tenure::unit_of_work::Retry;
use tenure::{Aggregate, Entity, Error, Repository};

use super::support::{TestDb, random, version};

/// `0025_kept.sql` has its triggers.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_kept")]
struct Kept {
    #[aggregate(id)]
    id: String,
    note: String,
    #[aggregate(children, table = "test_kept_line", owner = "kept_id")]
    lines: Vec<Line>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Line {
    #[aggregate(key)]
    no: i64,
    text: String,
}

fn new(note: &str, text: &str) -> Kept {
    Kept { id: random(), note: note.into(), lines: vec![Line { no: 1, text: text.into() }] }
}

async fn insert(t: &TestDb, kept: Kept) -> Result<String, Error> {
    let mut tx = t.db.begin().await.unwrap();
    let kept = Repository::<Kept>::new(&t.db).insert(&mut tx, kept).await?;
    tx.commit().await.unwrap();
    Ok(kept.id.clone())
}

fn is_not_written(error: &Error, in_table: &str) {
    assert!(matches!(error, Error::Database(DatabaseError::NotWritten { table }) if table == in_table), "{error:?}");
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::NotWritten, false));
}

pub async fn dropped_save_is_no_conflict_and_is_not_repeated(t: &TestDb) {
    let (all, id) = (Repository::<Kept>::new(&t.db), insert(t, new("kept", "a")).await.unwrap());
    let runs = AtomicU32::new(0);
    let command = |kept: &mut Kept| {
        runs.fetch_add(1, Ordering::Relaxed);
        kept.note = "changed".into();
        Ok::<_, Infallible>(())
    };
    let refused = all.update(&id).retrying(Retry::transient(3)).run(command).await;
    let Err(UpdateError::Failed(error)) = refused else { panic!("{refused:?}") };
    is_not_written(&error, "test_kept");
    assert_eq!(runs.into_inner(), 1);
    let stored = all.get(&id).await.unwrap().unwrap();
    assert_eq!((&*stored.note, stored.version()), ("kept", version(1)));
}

pub async fn dropped_delete_is_refused_and_children_stay(t: &TestDb) {
    let (all, id) = (Repository::<Kept>::new(&t.db), insert(t, new("kept", "a")).await.unwrap());
    let refused = all.update(&id).delete(|_| Ok::<_, Infallible>(())).await;
    let Err(UpdateError::Failed(error)) = refused else { panic!("{refused:?}") };
    is_not_written(&error, "test_kept");
    assert_eq!(all.get(&id).await.unwrap().unwrap().lines.len(), 1);
}

pub async fn dropped_insert_is_not_said_to_exist(t: &TestDb) {
    is_not_written(&insert(t, new("dropped", "a")).await.unwrap_err(), "test_kept");
    is_not_written(&insert(t, new("a", "dropped")).await.unwrap_err(), "test_kept_line");
}

pub async fn dropped_change_of_a_child_is_no_foreign_change(t: &TestDb) {
    let (all, id) = (Repository::<Kept>::new(&t.db), insert(t, new("a", "kept")).await.unwrap());
    for change in [(|lines: &mut Vec<Line>| lines[0].text = "b".into()) as fn(&mut Vec<Line>), Vec::clear, |lines| {
        lines.push(Line { no: 2, text: "dropped".into() })
    }] {
        let command = |kept: &mut Kept| {
            change(&mut kept.lines);
            Ok::<_, Infallible>(())
        };
        let refused = all.update(&id).run(command).await;
        let Err(UpdateError::Failed(error)) = refused else { panic!("{refused:?}") };
        is_not_written(&error, "test_kept_line");
    }
    assert_eq!(all.get(&id).await.unwrap().unwrap().version(), version(1));
}
