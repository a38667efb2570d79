//! Ids that the database generates: `integer primary key`, an identity column, `auto_increment`.

use std::fmt;

use tenure::{Aggregate, Entity, Error, Loaded, LockMode, Repository, ValueObject, Version};

use super::support::{TestDb, kim, random};

#[derive(ValueObject, Debug, Clone, Copy, PartialEq)]
struct TicketNo(i64);

/// Not in the format of the column's value: locks and revisions use this text.
impl fmt::Display for TicketNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T-{}", self.0)
    }
}

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_ticket", revisions = 2)]
struct Ticket {
    title: String,
    #[aggregate(id, generated)]
    id: TicketNo,
    #[aggregate(children, table = "test_ticket_line", owner = "ticket_id")]
    lines: Vec<Line>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Line {
    #[aggregate(key)]
    no: i64,
    text: String,
}

fn ticket(id: i64) -> Ticket {
    Ticket { title: "broken".into(), id: TicketNo(id), lines: vec![Line { no: 1, text: "screen".into() }] }
}

async fn inserted(t: &TestDb) -> (Repository<Ticket>, Loaded<Ticket>) {
    let tickets = Repository::new(&t.db);
    let mut tx = t.db.begin().await.unwrap();
    let loaded = tickets.insert(tx.by(&kim()), ticket(0)).await.unwrap();
    tx.commit().await.unwrap();
    (tickets, loaded)
}

pub async fn insert_returns_the_generated_id(t: &TestDb) {
    let ((tickets, first), (_, second)) = (inserted(t).await, inserted(t).await);
    assert!(first.id.0 > 0 && second.id.0 > first.id.0, "{first:?}, {second:?}");
    for ticket in [first, second] {
        let stored = tickets.get(&ticket.id).await.unwrap().unwrap();
        assert_eq!((&*stored, stored.version()), (&*ticket, Version::FIRST));
        assert_eq!(tickets.changes(&ticket.id, 5).await.unwrap().len(), 1);
    }
}

pub async fn inserted_ticket_is_saved_in_the_same_transaction(t: &TestDb) {
    let tickets = Repository::<Ticket>::new(&t.db);
    let mut tx = t.db.begin().await.unwrap();
    let mut loaded = tickets.insert(&mut tx, ticket(0)).await.unwrap();
    loaded.lines[0].text = "keys".into();
    assert_eq!(tickets.save(&mut tx, &mut loaded).await.unwrap(), Version::FIRST);
    tx.commit().await.unwrap();
    assert_eq!(*tickets.get(&loaded.id).await.unwrap().unwrap(), *loaded);
}

pub async fn given_id_is_inserted_as_it_is_and_once(t: &TestDb) {
    let tickets = Repository::<Ticket>::new(&t.db);
    // Far from those that the database generates.
    let id = (1 << 40) + i64::from(u32::from_str_radix(&random()[..8], 16).unwrap());
    let mut tx = t.db.begin().await.unwrap();
    assert_eq!(tickets.insert(&mut tx, ticket(id)).await.unwrap().id, TicketNo(id));
    let again = tickets.insert(&mut tx, ticket(id)).await;
    assert!(matches!(&again, Err(Error::AlreadyExists { id: text, .. }) if *text == format!("T-{id}")), "{again:?}");
}

pub async fn reused_generated_id_continues_its_version(t: &TestDb) {
    let (tickets, first) = inserted(t).await;
    let id = first.id;
    let mut tx = t.db.begin().await.unwrap();
    let loaded = tickets.find(&mut tx, &id, LockMode::None).await.unwrap().unwrap();
    tickets.delete(&mut tx, loaded).await.unwrap();
    tx.commit().await.unwrap();
    let (_, again) = inserted(t).await;
    // Only SQLite gives the number of the last row again.
    assert_eq!(again.id == id, t.has_one_writer());
    let expected = if again.id == id { 2 } else { 1 };
    assert_eq!(tickets.get(&again.id).await.unwrap().unwrap().version().number(), expected);
}

pub async fn check_accepts_a_generated_id(t: &TestDb) {
    let report = t.db.check::<Ticket>().await.unwrap();
    assert_eq!(report.findings, [], "{report}");
}

/// Its table generates no ids.
#[derive(Aggregate, Debug)]
#[aggregate(table = "test_branch", version = "id_version")]
struct WithoutIds {
    #[aggregate(id, generated)]
    tree_id: i64,
}

pub async fn check_refuses_a_column_that_generates_nothing(t: &TestDb) {
    let report = t.db.check::<WithoutIds>().await.unwrap().to_string();
    assert!(report.contains("column `tree_id`: it has no default"), "{report}");
}
