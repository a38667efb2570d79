//! Several aggregates in one transaction: two orders need the same products, in opposite orders.
//!
//! ```text
//! cargo run --example several
//! ```
//!
//! Look at the last line. Both operators wait for each other at most once, there is no deadlock, and no product is sold twice.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tenure::unit_of_work::LockSet;
use tenure::{Aggregate, Database, LockMode, Repository, Wait, sqlx};
use tokio::sync::Barrier;

#[derive(Aggregate)]
#[aggregate(table = "product")]
struct Product {
    #[aggregate(id)]
    id: String,
    stock: u32,
}

#[derive(Debug, thiserror::Error)]
enum ShipError {
    #[error("only {left} of {product} are left")]
    SoldOut { product: String, left: u32 },
    #[error(transparent)]
    Failed(#[from] tenure::Error),
}

impl Product {
    fn take(&mut self, quantity: u32) -> Result<(), ShipError> {
        let left = self.stock.checked_sub(quantity);
        self.stock = left.ok_or_else(|| ShipError::SoldOut { product: self.id.clone(), left: self.stock })?;
        Ok(())
    }
}

/// Takes all of it, or nothing.
async fn take_all(db: &Database, wanted: &[(&str, u32)]) -> Result<(), ShipError> {
    let products = Repository::<Product>::new(db);
    // Two seconds for everything: for the connection, and for all locks together.
    let mut tx = db.begin_within(Wait::Within(Duration::from_secs(2))).await.map_err(tenure::Error::from)?;
    let set = wanted.iter().fold(LockSet::new(), |set, (id, _)| set.add::<Product>(&String::from(*id)));
    let mut locked = tx.lock_all(set, LockMode::PessimisticWrite).await?;
    for (id, quantity) in wanted {
        let missing = || ShipError::SoldOut { product: String::from(*id), left: 0 };
        let mut product = locked.take::<Product>(&String::from(*id))?.ok_or_else(missing)?;
        product.take(*quantity)?; // an error drops the transaction, which rolls back
        products.save(&mut tx, &mut product).await?;
    }
    tx.commit().await?;
    Ok(())
}

#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    let products = Repository::<Product>::new(&db);
    let mut tx = db.begin().await?;
    sqlx::raw_sql("create table product (id text primary key, stock integer, version integer)")
        .execute(tx.sqlite()?)
        .await?;
    for id in ["camera", "lens"] {
        products.insert(&mut tx, Product { id: id.into(), stock: 10 }).await?;
    }
    tx.commit().await?;

    // Each of 12 orders needs one of each product; half of them name the lens first. There are ten of each.
    let start = Arc::new(Barrier::new(12));
    let orders: Vec<_> = (0..12)
        .map(|at| {
            let (db, start) = (db.clone(), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                let wanted = if at % 2 == 0 { [("camera", 1), ("lens", 1)] } else { [("lens", 1), ("camera", 1)] };
                take_all(&db, &wanted).await
            })
        })
        .collect();
    let mut sold = 0;
    for order in orders {
        match order.await? {
            Ok(()) => sold += 1,
            Err(error @ ShipError::SoldOut { .. }) => println!("refused: {error}"),
            Err(error) => return Err(error.into()),
        }
    }
    let left = products.get(&"lens".into()).await?.ok_or("no such product")?.stock;
    println!("{sold} orders were shipped, {left} lenses are left");
    assert_eq!((sold, left), (10, 0));
    Ok(())
}
