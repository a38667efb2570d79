//! The offline pessimistic lock: two people open the same form, and one of them closes her laptop.
//!
//! ```text
//! cargo run --example offline_lock
//! ```
//!
//! Look at the message for each person. The program has its own clock, so that five minutes take no time.

#![allow(missing_docs, reason = "an example")]

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use tenure::clock::ManualClock;
use tenure::db::ConnectOptions;
use tenure::error::{LeaseError, LockError, UpdateError};
use tenure::{Aggregate, Database, LockId, LockKey, LockManager, LockPolicy, Owner, Repository, sqlx};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 20)]
struct Order {
    #[aggregate(id)]
    no: String,
    ship_to: String,
}

fn send_to(address: &str) -> impl FnOnce(&mut Order) -> Result<(), Infallible> + '_ {
    move |order| {
        order.ship_to = address.into();
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let clock = ManualClock::new();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await?;
    let orders = Repository::<Order>::new(&db);
    let no = String::from("1234");
    let mut tx = db.begin().await?;
    sqlx::raw_sql("create table orders (no text primary key, ship_to text, version integer)")
        .execute(tx.sqlite()?)
        .await?;
    orders.insert(&mut tx, Order { no: no.clone(), ship_to: "Teheran-ro 1".into() }).await?;
    tx.commit().await?;

    let locks = LockManager::new(&db).with_policy_for::<Order>(LockPolicy::exclusive().ttl(5 * MINUTE)?);
    let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
    let key = LockKey::of::<Order>(&no);

    // Kim opens the form. The lock id is the secret that proves the lease: it is in a hidden field, and the save sends it.
    let lease = locks.try_lock(&key, &kim).await?;
    let hidden_field = lease.id().reveal();
    println!("Kim holds {key} for {} s", lease.holder().remaining.as_secs());

    // Lee is refused, and gets the holder.
    let Err(LockError::AlreadyLocked(holder)) = locks.try_lock(&key, &lee).await else {
        panic!("two people hold one exclusive lock")
    };
    println!("Lee sees: {} is editing it, and is {:?}", holder.owner.name, holder.presence());

    // A command without a form checks the lock too.
    let other = orders.update(&no).by(&lee).unless_locked().run(send_to("Sejong-daero 9")).await;
    assert!(matches!(other, Err(UpdateError::Failed(tenure::Error::AlreadyLocked(_)))));

    // The form sends a heartbeat once a minute. So it may stay open for an hour.
    let id: LockId = hidden_field.parse()?;
    for _ in 0..60 {
        clock.advance(MINUTE);
        locks.keep_alive(std::slice::from_ref(&id)).await?.remove(0)?;
    }

    // The save checks the lease, changes the order and releases the lease: all in one transaction.
    orders.update(&no).by(&kim).releasing(&id).run(send_to("Hangang-daero 2")).await.expect("she holds it");
    println!("Kim's address is saved, and the lock is free");

    // The next day Kim opens it again and closes her laptop. After five minutes without a heartbeat Lee acquires the lock, and saves.
    let kims = locks.try_lock(&key, &kim).await?;
    clock.advance(6 * MINUTE);
    let lees = locks.try_lock(&key, &lee).await?;
    orders.update(&no).by(&lee).releasing(lees.id()).run(send_to("Sejong-daero 9")).await.expect("he holds it");

    // Kim opens the laptop and saves. The saving transaction itself refuses.
    let late = orders.update(&no).by(&kim).releasing(kims.id()).run(send_to("Teheran-ro 1")).await;
    let Err(UpdateError::Failed(tenure::Error::NoLock(no_lock))) = late else { panic!("Kim overwrote Lee") };
    println!("Kim gets the error: {no_lock}");
    assert_eq!(orders.get(&no).await?.ok_or("no such order")?.ship_to, "Sejong-daero 9");

    // An operator ends a lease that blocks everybody. It requires a reason, and is recorded.
    let left_open = locks.try_lock(&key, &kim).await?;
    let park = Owner::new("park", "Park Jiwoo");
    locks.break_lock(&key, left_open.holder().generation, &park, "customer is on the phone").await?;
    let Err(LeaseError::NoLock(no_lock)) = locks.check_lock(left_open.id()).await else {
        panic!("a broken lease was confirmed")
    };
    println!("Kim gets the error: {no_lock}");
    Ok(())
}
