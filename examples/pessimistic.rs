//! The pessimistic lock: an operator ships an order, and everybody else waits, but never longer than their limit.
//!
//! ```text
//! cargo run --example pessimistic
//! ```
//!
//! Look at the length of each wait. On SQLite a transaction locks the whole database; on PostgreSQL and MariaDB the same
//! program locks one row.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;
use std::time::{Duration, Instant};

use tenure::error::{DatabaseError, UpdateError};
use tenure::{Aggregate, Database, LockMode, Repository, Wait, sqlx};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    ship_to: String,
    shipped: bool,
}

#[derive(Debug)]
struct AlreadyShipped;

impl Order {
    fn send_to(&mut self, address: &str) -> Result<(), AlreadyShipped> {
        if self.shipped {
            return Err(AlreadyShipped);
        }
        self.ship_to = address.into();
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    let orders = Repository::<Order>::new(&db);
    let no = String::from("1234");
    let mut tx = db.begin().await?;
    let table = "create table orders (no text primary key, ship_to text, shipped integer, version integer)";
    sqlx::raw_sql(table).execute(tx.sqlite()?).await?;
    orders.insert(&mut tx, Order { no: no.clone(), ship_to: "Teheran-ro 1".into(), shipped: false }).await?;
    tx.commit().await?;

    // The operator's transaction loads the order and locks it.
    let mut tx = db.begin_within(Wait::Within(Duration::from_secs(2))).await?;
    let mut order = orders.find(&mut tx, &no, LockMode::PessimisticWrite).await?.ok_or("no such order")?;
    println!("the operator prints a label: {}", order.ship_to);

    // The customer waits for 100 ms, and no longer. Nothing was changed, and she gets an error.
    let start = Instant::now();
    let moved = orders.update(&no).locking(LockMode::PessimisticWrite).within(Duration::from_millis(100));
    let refused = moved.run(|order| order.send_to("Hangang-daero 2")).await;
    let Err(UpdateError::Failed(tenure::Error::Database(DatabaseError::LockTimeout { waited, .. }))) = refused else {
        panic!("the label was printed for another address")
    };
    println!("the customer waited {} ms of 100, {} ms in all", waited.as_millis(), start.elapsed().as_millis());

    // This one does not wait at all.
    let at_once = orders.update(&no).locking(LockMode::PessimisticWrite).no_wait();
    assert!(at_once.run(|order| order.send_to("Hangang-daero 2")).await.is_err());

    // This one waits long enough, and loads the new state: the domain refuses, because the parcel was shipped.
    let patient = tokio::spawn({
        let (orders, no) = (orders.clone(), no.clone());
        async move {
            let moved = orders.update(&no).locking(LockMode::PessimisticWrite).within(Duration::from_secs(2));
            moved.run(|order| order.send_to("Hangang-daero 2")).await.map(drop)
        }
    });
    order.shipped = true;
    orders.save(&mut tx, &mut order).await?;
    tx.commit().await?;
    let late = patient.await?;
    println!("the patient customer gets: {:?}", late.as_ref().err());
    assert!(matches!(late, Err(UpdateError::Refused(AlreadyShipped))));
    assert_eq!(orders.get(&no).await?.ok_or("no such order")?.ship_to, "Teheran-ro 1");
    Ok(())
}
