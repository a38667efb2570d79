//! A shop for one story, and its database.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use shop::domain::{Money, Order, OrderLine, OrderNo, Product};
use shop::{Accounts, Settings, Shop};
use tempfile::TempDir;
use tenure::{
    Database, Loaded, LockKey, LockMode, Repository, Transaction, clock::ManualClock, db::ConnectOptions, lease::Holder,
};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;

use crate::driver::Driver;
use crate::person::Person;

/// An order of the customer `minji`, paid and not yet shipped.
pub const ORDER: &str = "2026-000300";

/// The button on the page of [`ORDER`] that opens it for editing.
pub const EDIT: &str = "form[action='/orders/2026-000300/edit'] button";

/// A separate shop for one story: every story starts with the same orders and no sessions.
pub struct Story {
    /// The shop's clock. It changes only when the story moves it.
    pub clock: ManualClock,
    shop: Shop,
    /// Bound, and never listening: it keeps the port for this story, also while the shop is closed.
    port: TcpSocket,
    /// The runtime that serves it: dropped when the shop is closed, with all connections.
    open: Option<Runtime>,
    base: String,
    driver: Driver,
    // Dropped last: it contains the database.
    _directory: TempDir,
}

impl Story {
    /// Opens the shop.
    pub async fn begin() -> Story {
        Story::begin_with(|shop| shop).await
    }

    /// Opens a shop with other settings.
    pub async fn begin_with(set_up: impl FnOnce(Shop) -> Shop) -> Story {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = ManualClock::new();
        let url = format!("sqlite://{}", directory.path().join("shop.db").display());
        let db =
            Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.expect("a new database");
        let shop = set_up(shop::open(db, Accounts::Demo).await.expect("the demo data"));
        let port = TcpSocket::new_v4().expect("a socket");
        port.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        // Only now: two sockets that share their address from the beginning may be given one port.
        port.set_reuseaddr(true).expect("an option");
        let base = format!("http://{}", port.local_addr().expect("its own address"));
        let mut story = Story { clock, shop, port, open: None, base, driver: Driver::start(), _directory: directory };
        story.opens_again().await;
        story
    }

    /// The server is stopped: connections to its address are refused.
    pub async fn closes(&mut self) {
        if let Some(open) = self.open.take() {
            open.shutdown_background();
        }
    }

    /// The server runs again at the same address, with the same database.
    pub async fn opens_again(&mut self) {
        let runtime = Runtime::new().expect("threads");
        let (address, shop) = (self.port.local_addr().expect("its own address"), self.shop.clone());
        let serving = runtime.spawn(async move {
            let listener = TcpListener::bind(address).await.expect("the same port");
            tokio::spawn(shop::serve(listener, shop, Settings::default(), pending()));
        });
        serving.await.expect("the shop is open");
        self.open = Some(runtime);
    }

    /// [`ORDER`], as stored.
    pub async fn order(&self) -> Order {
        self.loaded().await.into_inner()
    }

    /// The version of [`ORDER`].
    pub async fn versions(&self) -> i64 {
        self.loaded().await.version().number()
    }

    /// A transaction that has written [`ORDER`] and does not end: until then nothing else can be written.
    pub async fn writes_without_an_end(&self) -> Transaction {
        let orders = Repository::<Order>::new(self.shop.database());
        let mut tx = self.shop.database().begin().await.expect("the shop's database");
        let no = OrderNo::new(ORDER).expect("a number");
        let found = orders.find(&mut tx, &no, LockMode::PessimisticForceIncrement).await;
        drop(found.expect("nobody else is there").expect("the order is there"));
        tx
    }

    /// Deletes [`ORDER`] in the database.
    pub async fn deletes_the_order(&self) {
        let orders = Repository::<Order>::new(self.shop.database());
        let mut tx = self.shop.database().begin().await.expect("the shop's database");
        let order = self.loaded().await;
        orders.delete(&mut tx, order).await.expect("it is there");
        tx.commit().await.expect("nobody else is there");
    }

    /// The product of [`two_orders_of_the_last_piece`](Self::two_orders_of_the_last_piece).
    pub const LAST_PRODUCT: &str = "주전자 1.5L";

    /// Two paid orders of a product with one piece left; returns their numbers.
    pub async fn two_orders_of_the_last_piece(&self) -> [String; 2] {
        let database = self.shop.database();
        let orders = Repository::<Order>::new(database);
        let mut tx = database.begin().await.expect("the shop's database");
        let product = Product::new(Self::LAST_PRODUCT, 1).expect("a product");
        Repository::<Product>::new(database).insert(&mut tx, product).await.expect("a new product");
        let like = self.loaded().await;
        let numbers = ["2026-900001", "2026-900002"];
        for no in numbers {
            let no = OrderNo::new(no).expect("a number");
            let lines = vec![OrderLine::new(1, Self::LAST_PRODUCT, Money::won(42_000), 1).expect("a line")];
            let (orderer, shipping) = (like.orderer().clone(), like.shipping().clone());
            let order = Order::place(no, orderer, like.orderer_name(), shipping, lines, like.placed_at());
            let mut order = order.expect("a valid order");
            order.confirm_payment().expect("it waits for payment");
            orders.insert(&mut tx, order).await.expect("a new order");
        }
        tx.commit().await.expect("nobody else is there");
        numbers.map(str::to_owned)
    }

    /// The number of pieces left of that product.
    pub async fn left_of_the_last_product(&self) -> u32 {
        let products = Repository::<Product>::new(self.shop.database());
        let product = products.get(&Self::LAST_PRODUCT.to_owned()).await.expect("the shop's database");
        product.expect("the product is there").stock()
    }

    async fn loaded(&self) -> Loaded<Order> {
        let no = OrderNo::new(ORDER).expect("a number");
        let orders = Repository::<Order>::new(self.shop.database());
        orders.get(&no).await.expect("the shop's database").expect("the order is there")
    }

    /// A person with a browser, reading English, who has not signed in.
    pub async fn visitor(&self) -> Person {
        self.reader_of("en").await
    }

    /// A person with a browser, reading `en` or `ko`, who has not signed in.
    pub async fn reader_of(&self, language: &str) -> Person {
        self.with_a_browser(language, true).await
    }

    /// A person who is signed in, with a browser that loads a page again after Back, and restores the typed text.
    pub async fn person_without_memory(&self, login: &str) -> Person {
        let person = self.with_a_browser("en", false).await;
        person.sign_in(login).await;
        person
    }

    async fn with_a_browser(&self, language: &str, has_memory: bool) -> Person {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let web = self.driver.browser(profile.path(), language, has_memory).await;
        Person::new(web, self.base.clone(), profile)
    }

    /// A person with a browser who is signed in: the customer `minji`, the operators `park` and `olivia`.
    pub async fn person(&self, login: &str) -> Person {
        let person = self.visitor().await;
        person.sign_in(login).await;
        person
    }

    /// The person who is editing [`ORDER`], by the database.
    pub async fn holder(&self) -> Option<Holder> {
        let holders = self.shop.locks().holders(&LockKey::new("Order", ORDER)).await.expect("the shop's database");
        holders.into_iter().next()
    }

    /// The remaining time of the lease on [`ORDER`]; zero without a lease.
    pub async fn remaining(&self) -> Duration {
        self.holder().await.map_or(Duration::ZERO, |holder| holder.remaining)
    }

    /// Waits until the remaining time is the expected one.
    pub async fn until_remaining(&self, what: &str, is_expected: impl Fn(Duration) -> bool) {
        let end = tokio::time::Instant::now() + crate::PATIENCE;
        loop {
            let remaining = self.remaining().await;
            if is_expected(remaining) {
                return;
            }
            assert!(tokio::time::Instant::now() < end, "{what}: the lease has {remaining:?} left");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.shutdown_background();
        }
    }
}
