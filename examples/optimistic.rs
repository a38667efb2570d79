//! The optimistic lock: a customer changes the address of an order while an operator ships it.
//!
//! ```text
//! cargo run --example optimistic
//! ```
//!
//! Look at the second block of lines: the conflict of the losing save, field by field.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;

use tenure::error::UpdateError;
use tenure::unit_of_work::Retry;
use tenure::version::Merge;
use tenure::{Aggregate, Database, LockMode, Owner, Repository, ValueObject, sqlx};

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 20)]
struct Order {
    #[aggregate(id)]
    no: String,
    ship_to: String,
    message: String,
    state: OrderState,
    #[aggregate(unversioned)]
    views: i64,
}

#[derive(ValueObject, Debug, PartialEq)]
enum OrderState {
    Preparing,
    Shipped,
}

#[derive(Debug)]
struct AlreadyShipped;

impl Order {
    fn send_to(&mut self, address: &str) -> Result<(), AlreadyShipped> {
        self.ship_to = self.unless_shipped(address)?;
        Ok(())
    }

    fn write(&mut self, message: &str) -> Result<(), AlreadyShipped> {
        self.message = self.unless_shipped(message)?;
        Ok(())
    }

    fn start_shipping(&mut self) -> Result<(), AlreadyShipped> {
        self.unless_shipped("")?;
        self.state = OrderState::Shipped;
        Ok(())
    }

    fn unless_shipped(&self, text: &str) -> Result<String, AlreadyShipped> {
        if self.state == OrderState::Shipped { Err(AlreadyShipped) } else { Ok(text.into()) }
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    let orders = Repository::<Order>::new(&db);
    let (minji, park) = (Owner::new("minji", "Kim Minji"), Owner::new("park", "Park Jiwoo"));
    let no = String::from("1234");
    let mut tx = db.begin().await?;
    let table = "create table orders (no text primary key, ship_to text, message text, state text, views integer, version integer)";
    sqlx::raw_sql(table).execute(tx.sqlite()?).await?;
    let (ship_to, message, state) = ("Teheran-ro 1".into(), String::new(), OrderState::Preparing);
    let order = Order { no: no.clone(), ship_to, message, state, views: 0 };
    orders.insert(&mut tx, order).await?;
    tx.commit().await?;

    // A page shows the order, and carries its version.
    let order = orders.get(&no).await?.ok_or("no such order")?;
    let seen_by_park = order.token();
    println!("Park's page shows {} at version {}, and carries the text {seen_by_park}", order.ship_to, order.version());

    // Minji corrects the address. Her page is current, so she succeeds.
    let moved = orders.update(&no).by(&minji).command("change address").expecting(order.token());
    let order = moved.run(|order| order.send_to("Hangang-daero 2")).await.expect("nobody else has saved");
    println!("Minji's address is saved: version {}", order.version());

    // Park presses "Start shipping" on a page with the old address. The parcel stays where it is.
    let shipping = orders.update(&no).by(&park).command("start shipping").expecting(seen_by_park);
    let Err(UpdateError::Failed(tenure::Error::VersionConflict(conflict))) = shipping.run(Order::start_shipping).await
    else {
        panic!("the parcel went to the wrong house")
    };
    println!("\n{conflict}");
    for field in &conflict.fields {
        println!(
            "  {}: {:?} when opened, {:?} now, {:?} if Park saved",
            field.path, field.opened, field.now, field.mine
        );
    }
    let change = conflict.changed.as_ref().expect("the aggregate keeps revisions");
    assert_eq!((change.by.as_ref(), change.command.as_deref()), (Some(&minji), Some("change address")));
    assert_eq!(orders.get(&no).await?.ok_or("no such order")?.state, OrderState::Preparing);

    // Minji writes a message while Park changes the address for her on the phone. They are different fields: both are kept.
    let seen_by_minji = order.token();
    let by_phone = orders.update(&no).by(&park).command("change address").expecting(order.token());
    by_phone.run(|order| order.send_to("Sejong-daero 9")).await.expect("it is current");
    let message = orders.update(&no).by(&minji).expecting(seen_by_minji).merging(Merge::Disjoint);
    let merged = message.run(|order: &mut Order| order.write("Please ring twice")).await.expect("nothing is contested");
    println!("\nmerged: {}, \"{}\"", merged.loaded.ship_to, merged.loaded.message);
    assert_eq!((&*merged.loaded.ship_to, &*merged.loaded.message), ("Sejong-daero 9", "Please ring twice"));

    // Every view of the order is counted. Pages that are open stay current, because the counter is unversioned. It is exact by the row lock.
    let view = orders.update(&no).locking(LockMode::PessimisticWrite);
    let viewed = view.run(|order| {
        order.views += 1;
        Ok::<_, AlreadyShipped>(())
    });
    let viewed = viewed.await.expect("nothing is refused");
    println!("{} view, version {}", viewed.views, viewed.version());
    assert_eq!((viewed.views, viewed.version()), (1, merged.loaded.version()));

    // A job has no page, so there is no version that a person saw. It may retry after a lost race.
    let job = orders.update(&no).command("start shipping").retrying(Retry::transient(3));
    let shipped = job.run(Order::start_shipping).await.expect("no other save");
    println!("shipped at version {}", shipped.loaded.version());

    // The domain's own refusal is returned unchanged.
    let late = orders.update(&no).by(&minji).run(|order| order.send_to("Teheran-ro 1")).await;
    assert!(matches!(late, Err(UpdateError::Refused(AlreadyShipped))));
    Ok(())
}
