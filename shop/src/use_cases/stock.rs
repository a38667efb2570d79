//! The stock: pieces leave it with the parcel, in the transaction that ships the order, and operators receive new ones.

use std::time::Duration;

use tenure::{Error, LockMode, Transaction, Version, VersionToken, error::UpdateError, unit_of_work::LockSet};

use super::change_order::as_often_as_is_safe;
use super::{Doing, Once, Refusal, Shop};
use crate::domain::{Member, Order, OrderError, Product, Role};
use crate::storage::{self, SavedRow};

/// How long a click waits in all for others who ship the same products.
pub(super) const SHIPPING_DEADLINE: Duration = Duration::from_secs(2);

/// A product of an order of which there is not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Short {
    /// Its name.
    pub product: String,
    /// How many pieces are in stock.
    pub left: u32,
    /// How many pieces the order needs.
    pub needed: u32,
}

/// A product in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductRow {
    /// Its name.
    pub name: String,
    /// How many pieces are in stock.
    pub stock: u32,
    /// The version that is shown.
    pub version: Version,
}

impl ProductRow {
    /// The version for the form.
    pub fn token(&self) -> VersionToken<Product> {
        VersionToken::new(&self.name, self.version)
    }
}

impl Shop {
    /// Takes the pieces of all lines of an order out of the stock. The products are locked in one order, independent of the
    /// lines, so that two operators cannot deadlock; they wait within the budget of the transaction.
    pub(super) async fn take_stock(&self, tx: &mut Transaction, order: &Order) -> Result<(), UpdateError<OrderError>> {
        let demand = order.demand();
        let products = demand.keys().map(|product| (*product).to_owned());
        let set = products.fold(LockSet::new(), |set, product| set.add::<Product>(&product));
        let mut locked = tx.lock_all(set, LockMode::PessimisticWrite).await?;
        for (name, pieces) in demand {
            let missing = || OrderError::OutOfStock { product: name.to_owned(), left: 0, needed: pieces };
            let product = locked.take::<Product>(&name.to_owned())?;
            let mut product = product.ok_or_else(missing).map_err(UpdateError::Refused)?;
            product.take_out(pieces).map_err(UpdateError::Refused)?;
            self.products.save(tx, &mut product).await?;
        }
        Ok(())
    }

    /// The products of an order of which there is not enough now.
    pub(super) async fn short_of(&self, order: &Order) -> Result<Vec<Short>, Refusal> {
        let demand = order.demand();
        let names: Vec<String> = demand.keys().map(|product| (*product).to_owned()).collect();
        let products = self.products.get_many(&names).await?;
        let short =
            names.into_iter().zip(products).zip(demand.into_values()).filter_map(|((product, found), needed)| {
                let left = found.map_or(0, |product| product.stock());
                (left < needed).then_some(Short { product, left, needed })
            });
        Ok(short.collect())
    }

    /// Whether an order could be shipped now, as far as the stock is concerned.
    pub(super) async fn check_stock(&self, order: &Order) -> Result<(), Refusal> {
        match self.short_of(order).await?.into_iter().next() {
            Some(Short { product, left, needed }) => {
                Err(Refusal::Order(OrderError::OutOfStock { product, left, needed }))
            }
            None => Ok(()),
        }
    }

    /// All products, by name.
    pub async fn stock(&self, actor: &Member) -> Result<Vec<ProductRow>, Refusal> {
        actor.must_be(Role::Operator)?;
        Ok(storage::list_products(&self.db).await?)
    }

    /// Pieces arrived. `seen` is the version of the product that the operator saw; without one it is a new product.
    ///
    /// The version makes a repeated click harmless: adding is not idempotent, so a form adds once.
    pub async fn receive(
        &self,
        actor: &Member,
        product: &str,
        pieces: u32,
        seen: Option<VersionToken<Product>>,
        once: &Once,
    ) -> Result<Version, Refusal> {
        actor.must_be(Role::Operator)?;
        if self.saved(actor, once.form).await?.is_some_and(|saved| saved.digest == once.digest) {
            return Ok(Version::FIRST);
        }
        let Some(seen) = seen else { return self.receive_new(actor, product, pieces, once).await };
        let update = self.products.update(&product.to_owned()).by(&actor.owner()).command("receive goods");
        let doing = Doing::Save(once.clone());
        match self.run(actor, update.expecting(seen), &doing, |product| product.receive(pieces)).await {
            Ok(version) => Ok(version),
            Err(UpdateError::Refused(invalid)) => Err(Refusal::Stock(invalid)),
            Err(UpdateError::Failed(error)) => Err(error.into()),
        }
    }

    async fn receive_new(&self, actor: &Member, product: &str, pieces: u32, once: &Once) -> Result<Version, Refusal> {
        let product = Product::new(product, pieces).map_err(Refusal::Stock)?;
        let insert = || async {
            let mut tx = self.db.begin().await?;
            tx.by(&actor.owner()).command("receive goods");
            let inserted = self.products.insert(&mut tx, product.clone()).await?;
            let row = SavedRow { version: inserted.version().number(), ..once.row(actor) };
            storage::mark_saved(&self.db, &mut tx, &row).await?;
            tx.commit().await?;
            Ok::<_, Error>(inserted.version())
        };
        Ok(self.db.retry(as_often_as_is_safe(), insert).await?.value)
    }
}
