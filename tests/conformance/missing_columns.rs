//! A mapping names a column that its table does not have. Nothing is read, nothing is written.
//!
//! SQLite would read an unknown name in double quotes as a text: a column as its own name, children as none.

use tenure::{Aggregate, Entity, Error, LockMode, Repository};

use super::support::{TestDb, random};

/// Its table has no `note`.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_gap")]
struct WithoutField {
    #[aggregate(id)]
    id: String,
    text: Option<String>,
    note: String,
}

/// Its table has no `id_no`.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_gap")]
struct WithoutId {
    #[aggregate(id)]
    id_no: String,
}

/// Its table has no `revision`.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_gap", version = "revision")]
struct WithoutVersion {
    #[aggregate(id)]
    id: String,
}

/// The table of its children has no `owner_id`.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_gap")]
struct WithoutOwner {
    #[aggregate(id)]
    id: String,
    #[aggregate(children, table = "test_gap_child", owner = "owner_id")]
    children: Vec<Child>,
}

/// The table of its children has no `position`.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_gap")]
struct WithoutKey {
    #[aggregate(id)]
    id: String,
    #[aggregate(children, table = "test_gap_child", owner = "gap_id", key = "position")]
    children: Vec<Text>,
}

/// The table of its children has no `label`.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_gap")]
struct WithoutLabel {
    #[aggregate(id)]
    id: String,
    #[aggregate(children, table = "test_gap_child", owner = "gap_id")]
    children: Vec<Labelled>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Child {
    #[aggregate(key)]
    no: i64,
    text: String,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Text {
    text: String,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Labelled {
    #[aggregate(key)]
    no: i64,
    label: String,
}

/// A row with two children, written by hand.
async fn stored(t: &TestDb) -> String {
    let id = random();
    t.by_hand(format!("insert into test_gap (id, version) values ('{id}', 1)")).await.unwrap();
    for no in 1..=2 {
        t.by_hand(format!("insert into test_gap_child (gap_id, no, text) values ('{id}', {no}, 'x')")).await.unwrap();
    }
    id
}

fn names<T: std::fmt::Debug>(answer: Result<T, Error>, column: &str) {
    let error = answer.expect_err("a column is missing");
    assert!(matches!(error, Error::Database(_)), "{error:?}");
    assert!(error.to_string().contains(column), "{error}");
}

/// Every way of reading it fails, and the message names the column.
async fn unreadable<A: Aggregate<Id = String> + std::fmt::Debug>(t: &TestDb, column: &str) {
    let (repository, id) = (Repository::<A>::new(&t.db), stored(t).await);
    names(repository.get(&id).await, column);
    for mode in [LockMode::None, LockMode::PessimisticWrite] {
        let mut tx = t.db.begin().await.unwrap();
        names(repository.find(&mut tx, &id, mode).await, column);
    }
}

pub async fn missing_root_column_fails_every_load(t: &TestDb) {
    unreadable::<WithoutField>(t, "note").await;
    unreadable::<WithoutId>(t, "id_no").await;
    unreadable::<WithoutVersion>(t, "revision").await;
}

pub async fn missing_child_column_fails_every_load(t: &TestDb) {
    unreadable::<WithoutOwner>(t, "owner_id").await;
    unreadable::<WithoutKey>(t, "position").await;
    unreadable::<WithoutLabel>(t, "label").await;
}

pub async fn missing_column_fails_inserts(t: &TestDb) {
    let (repository, id) = (Repository::<WithoutField>::new(&t.db), stored(t).await);
    let mut tx = t.db.begin().await.unwrap();
    names(repository.insert(&mut tx, WithoutField { id: random(), text: None, note: "x".into() }).await, "note");
    drop(tx);
    let kept = Repository::<Kept>::new(&t.db).get(&id).await.unwrap().unwrap();
    assert_eq!(kept.text, None);
    assert_eq!(kept.children.iter().map(|child| child.no).collect::<Vec<_>>(), [1, 2]);
}

/// As the tables are.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_gap")]
struct Kept {
    #[aggregate(id)]
    id: String,
    text: Option<String>,
    #[aggregate(children, table = "test_gap_child", owner = "gap_id")]
    children: Vec<Child>,
}
