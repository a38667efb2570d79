//! Opening the shop: its tables, and on the first run its demo people and orders.

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use jiff::Timestamp;
use tenure::{Database, DatabaseError, Error, Owner};

use crate::backend;
use crate::domain::Member;
use crate::seed;
use crate::use_cases::Shop;

/// Opens the shop in this database. A database without members is filled with demo people and orders, all or nothing.
///
/// # Errors
/// [`Error::Database`] when the tables are of a newer release, or the database cannot be written.
pub async fn open(db: Database) -> Result<Shop, Error> {
    backend::migrate(&db).await?;
    let shop = Shop::new(db);
    if !backend::has_members(&shop.db).await? {
        let members = tokio::task::spawn_blocking(hashed_members).await;
        fill(&shop, members.map_err(|error| DatabaseError::Other(std::sync::Arc::new(error)))?).await?;
    }
    backend::Sessions::new(&shop.db).sweep().await?;
    Ok(shop)
}

async fn fill(shop: &Shop, members: Vec<Member>) -> Result<(), Error> {
    let mut tx = shop.db.begin().await?;
    tx.by(&Owner::new("seed", "Demo data")).command("place order");
    for member in members {
        shop.members.insert(&mut tx, member).await?;
    }
    for order in seed::orders(Timestamp::now()) {
        shop.orders.insert(&mut tx, order).await?;
    }
    tx.command("write note");
    for note in seed::notes() {
        shop.notes.insert(&mut tx, note).await?;
    }
    tx.commit().await
}

/// All demo members have the same password, so it is hashed once: they share the salt as they share the secret.
fn hashed_members() -> Vec<Member> {
    let hash = Argon2::default().hash_password(seed::DEMO_PASSWORD.as_bytes()).map(|hash| hash.to_string());
    let hash = hash.expect("a short password is hashed");
    let member = |(id, name, role, _)| Member::new(id, name, role, hash.clone()).expect("the demo people are valid");
    seed::members().into_iter().map(member).collect()
}
