//! An application with existing tables and statements adopts tenure: composite UUID keys, JSON, decimals, enums, children of
//! children, ids that the database generates, and columns for the last author.
//!
//! ```text
//! cargo run --example existing_tables --features uuid,rust_decimal
//! ```
//!
//! Look at the migration, which is one line per aggregate, and at the path of the field in the conflict.

#![allow(missing_docs, reason = "an example")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use rust_decimal::Decimal;
use tenure::aggregate::value::Json;
use tenure::error::UpdateError;
use tenure::{Aggregate, Database, Entity, Owner, Repository, ValueObject, sqlx};
use uuid::Uuid;

/// The existing tables and rows.
const BEFORE: &str = "
    create table batch (warehouse blob not null, no blob not null, state text not null, unit_price text not null, labels text not null,
        primary key (warehouse, no));
    create table movement (warehouse blob, batch_no blob, line integer, delta integer not null,
        primary key (warehouse, batch_no, line));
    create table movement_scan (warehouse blob, batch_no blob, line integer, scan integer, code text not null,
        primary key (warehouse, batch_no, line, scan));
    create table outbox (id integer primary key, event text not null);
    create table delivery (id integer primary key, supplier text not null, updated_by text, updated_at integer);
    create table parcel (id integer primary key, delivery_id integer not null references delivery);
    create index parcel_of on parcel (delivery_id);
    create table parcel_item (parcel_id integer not null references parcel, line integer, code text not null,
        primary key (parcel_id, line));
    insert into batch values (x'00000000000000000000000000000001', x'00000000000000000000000000000002', 'in_stock', '12.50', '{}');
    insert into movement values (x'00000000000000000000000000000001', x'00000000000000000000000000000002', 1, 40);
    insert into movement_scan values (x'00000000000000000000000000000001', x'00000000000000000000000000000002', 1, 1, 'A-17');";

/// tenure needs only a version on the root. Existing rows get version 1.
const MIGRATION: &str = "alter table batch add column version integer not null default 1;";

/// The same of another root.
const OF_DELIVERIES: &str = "alter table delivery add column version integer not null default 1;";

#[derive(ValueObject, Debug, Clone, Copy, PartialEq)]
struct BatchId {
    warehouse: Uuid,
    no: Uuid,
}

/// The text names the batch in lock keys and messages, so two ids must never print alike.
impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.warehouse, self.no)
    }
}

#[derive(ValueObject, Debug, PartialEq)]
enum BatchState {
    #[aggregate(rename = "in_stock")]
    InStock,
    #[aggregate(rename = "sold_out")]
    SoldOut,
}

#[derive(Aggregate, Debug)]
#[aggregate(table = "batch", revisions = 20)]
struct Batch {
    #[aggregate(id, column = "")] // columns warehouse and no, without a prefix
    id: BatchId,
    state: BatchState,
    unit_price: Decimal,
    labels: Json<BTreeMap<String, String>>,
    #[aggregate(children, table = "movement", owner = "warehouse, batch_no")]
    movements: Vec<Movement>,
}

#[derive(Entity, Debug)]
struct Movement {
    #[aggregate(key)]
    line: u32,
    delta: i64,
    #[aggregate(children, table = "movement_scan", owner = "warehouse, batch_no, line")]
    scans: Vec<Scan>,
}

#[derive(Entity, Debug)]
struct Scan {
    #[aggregate(key)]
    scan: u32,
    code: String,
}

/// The table numbers its rows, has columns of its own for the last author, and its items name their parcel only.
#[derive(Aggregate, Debug)]
#[aggregate(table = "delivery", audit_by = "updated_by", audit_at = "updated_at")]
struct Delivery {
    #[aggregate(id, generated)]
    id: i64,
    supplier: String,
    #[aggregate(children, table = "parcel", owner = "delivery_id")]
    parcels: Vec<Parcel>,
}

#[derive(Entity, Debug)]
struct Parcel {
    #[aggregate(key)]
    id: i64,
    #[aggregate(children, table = "parcel_item", owner = "parcel_id")]
    items: Vec<Item>,
}

#[derive(Entity, Debug)]
struct Item {
    #[aggregate(key)]
    line: u32,
    code: String,
}

#[derive(Debug, PartialEq)]
struct NotEnough;

impl Batch {
    fn take(&mut self, quantity: i64) -> Result<(), NotEnough> {
        let stock: i64 = self.movements.iter().map(|movement| movement.delta).sum();
        if quantity > stock {
            return Err(NotEnough);
        }
        let line = self.movements.iter().map(|movement| movement.line).max().unwrap_or(0) + 1;
        self.movements.push(Movement { line, delta: -quantity, scans: vec![Scan { scan: 1, code: "B-02".into() }] });
        if quantity == stock {
            self.state = BatchState::SoldOut;
        }
        Ok(())
    }

    fn correct(&mut self, line: u32, delta: i64) -> Result<(), NotEnough> {
        let movement = self.movements.iter_mut().find(|movement| movement.line == line).ok_or(NotEnough)?;
        movement.delta = delta;
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/inventory.db", directory.path().display())).await?;
    let mut tx = db.begin().await?;
    sqlx::raw_sql(BEFORE).execute(tx.sqlite()?).await?;
    sqlx::raw_sql(MIGRATION).execute(tx.sqlite()?).await?;
    sqlx::raw_sql(OF_DELIVERIES).execute(tx.sqlite()?).await?;
    tx.commit().await?;

    // Before any request is served: compare the mapping with the tables. If it does not fit, every difference is listed.
    db.check::<Batch>().await?.require()?;
    db.check::<Delivery>().await?.require()?;

    // A list is a statement of the application's own, as before.
    let listed: Vec<(Vec<u8>, Vec<u8>)> =
        sqlx::query_as("select warehouse, no from batch where state = 'in_stock'").fetch_all(db.sqlite()?).await?;
    let id = BatchId { warehouse: Uuid::from_slice(&listed[0].0)?, no: Uuid::from_slice(&listed[0].1)? };
    let batches = Repository::<Batch>::new(&db);
    let batch = batches.get(&id).await?.ok_or("no such batch")?;
    println!(
        "{id} at version {}: {} each, scanned {}",
        batch.version(),
        batch.unit_price,
        batch.movements[0].scans[0].code
    );
    let seen = batch.token();

    // An event is written in the transaction of the save: both, or neither.
    let kim = Owner::new("kim", "Kim Minji");
    let taking = batches.update(&id).by(&kim).command("take 15").expecting(seen).also(|mut tx, batch| async move {
        let event = format!("batch {} is at version {}", batch.id, batch.version());
        sqlx::query("insert into outbox (event) values (?)").bind(event).execute(tx.sqlite()?).await?;
        Ok(())
    });
    let batch = taking.run(|batch| batch.take(15)).await.expect("there are 40");
    let events: Vec<String> = sqlx::query_scalar("select event from outbox").fetch_all(db.sqlite()?).await?;
    println!("{} movements, events: {events:?}", batch.movements.len());
    assert_eq!((batch.version().number(), events.len()), (2, 1));

    // Kim corrects a movement while Lee has the page open. Lee's conflict names the row of the child by its key. (That requires the state
    // that he saw. It is stored from the first save on: for older rows, only the author is known.)
    let (seen, lee) = (batch.token(), Owner::new("lee", "Lee Junho"));
    batches.update(&id).by(&kim).run(|batch| batch.correct(1, 39)).await.expect("the movement exists");
    let late = batches.update(&id).by(&lee).expecting(seen).run(|batch| batch.correct(1, 38)).await;
    let Err(UpdateError::Failed(tenure::Error::VersionConflict(conflict))) = late else { panic!("Lee overwrote Kim") };
    for field in &conflict.fields {
        println!("  {}: {:?} when opened, {:?} now, {:?} if saved", field.path, field.opened, field.now, field.mine);
    }
    assert!(conflict.fields.iter().any(|field| field.path == "movements[1].delta"));

    // The domain refuses with its own error, and nothing is written: no movement, no event.
    let refused = batches.update(&id).run(|batch| batch.take(100)).await;
    assert!(matches!(refused, Err(UpdateError::Refused(NotEnough))));

    // A new row: the database gives the number, and tenure writes who saved it last into the application's own columns.
    let deliveries = Repository::<Delivery>::new(&db);
    let items = vec![Item { line: 1, code: "C-11".into() }];
    let mut tx = db.begin().await?;
    let new = Delivery { id: 0, supplier: "Hanbit".into(), parcels: vec![Parcel { id: 7, items }] };
    let delivery = deliveries.insert(tx.by(&kim), new).await?;
    tx.commit().await?;
    let saved: (i64, String, String) =
        sqlx::query_as("select id, supplier, updated_by from delivery").fetch_one(db.sqlite()?).await?;
    assert_eq!(saved, (delivery.id, "Hanbit".into(), "kim".into()));
    let delivery = deliveries.get(&delivery.id).await?.ok_or("it was just saved")?;
    println!("delivery {} with {}", delivery.id, delivery.parcels[0].items[0].code);
    Ok(())
}
