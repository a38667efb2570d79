//! The order without tenure, as the well-known chapter begins: a service that knows no version, and UPDATEs without one. It is
//! what to avoid; only the demo runs it, on the file of a visitor's world.

use std::sync::Arc;

use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};
use tokio::sync::Barrier;

/// The service. It shares nothing with tenure but the tables.
#[derive(Debug, Clone)]
pub(in crate::demo) struct Naive {
    pool: SqlitePool,
}

/// Where two requests of the same moment wait, so that both have read before one of them writes.
pub(in crate::demo) type Moment = Option<Arc<Barrier>>;

#[derive(Debug, sqlx::FromRow)]
struct Order {
    no: String,
    address: String,
    message: String,
    state: String,
}

/// The rule of the domain refuses: the parcel has left, or nothing is left.
#[derive(Debug)]
pub(in crate::demo) struct TooLate;

impl Order {
    fn change_shipping_info(&mut self, address: &str, message: &str) -> Result<(), TooLate> {
        self.must_not_be_shipped()?;
        self.address = address.to_owned();
        self.message = message.to_owned();
        Ok(())
    }

    fn start_shipping(&mut self) -> Result<(), TooLate> {
        self.must_not_be_shipped()?;
        self.state = "Shipped".to_owned();
        Ok(())
    }

    fn must_not_be_shipped(&self) -> Result<(), TooLate> {
        if self.state == "Preparing" { Ok(()) } else { Err(TooLate) }
    }
}

const FIND: &str = "
    select no, shipping_address_line1 as address, shipping_message as message, state from orders where no = ?";

const UPDATE: &str = "
    update orders set shipping_address_line1 = ?, shipping_message = ?, state = ? where no = ?";

impl Naive {
    /// On the file at this address, with connections of its own.
    pub(in crate::demo) async fn open(url: &str) -> Result<Naive, sqlx::Error> {
        Ok(Naive { pool: SqlitePoolOptions::new().max_connections(2).connect(url).await? })
    }

    async fn find(&self, no: &str) -> Result<Order, sqlx::Error> {
        sqlx::query_as(FIND).bind(no).fetch_one(&self.pool).await
    }

    /// Writes the whole object, over whatever the row has become.
    async fn save(&self, order: &Order) -> Result<(), sqlx::Error> {
        let update = sqlx::query(UPDATE).bind(&order.address).bind(&order.message).bind(&order.state);
        update.bind(&order.no).execute(&self.pool).await.map(drop)
    }

    /// Without tenure: the form's values, whatever the order has become since the form was opened.
    pub(in crate::demo) async fn change_shipping(
        &self,
        no: &str,
        address: &str,
        message: &str,
        moment: Moment,
    ) -> Result<Result<(), TooLate>, sqlx::Error> {
        let mut order = self.find(no).await?;
        meet(moment).await;
        if order.change_shipping_info(address, message).is_err() {
            return Ok(Err(TooLate));
        }
        self.save(&order).await.map(Ok)
    }

    /// Without tenure: whatever the operator saw.
    pub(in crate::demo) async fn start_shipping(
        &self,
        no: &str,
        moment: Moment,
    ) -> Result<Result<(), TooLate>, sqlx::Error> {
        let mut order = self.find(no).await?;
        let (product, stock) = self.product_of(no).await?;
        meet(moment).await;
        if stock == 0 || order.start_shipping().is_err() {
            return Ok(Err(TooLate));
        }
        self.save(&order).await?;
        let update = sqlx::query("update product set stock = ? where name = ?").bind(stock - 1).bind(product);
        update.execute(&self.pool).await.map(|_| Ok(()))
    }

    async fn product_of(&self, no: &str) -> Result<(String, i64), sqlx::Error> {
        let find = "select name, stock from product join order_line on product = name where order_no = ?";
        sqlx::query_as(find).bind(no).fetch_one(&self.pool).await
    }
}

async fn meet(moment: Moment) {
    if let Some(moment) = moment {
        moment.wait().await;
    }
}
