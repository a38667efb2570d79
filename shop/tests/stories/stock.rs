//! The stock: shipping takes all products of an order or none, and operators neither oversell nor deadlock.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use shop::domain::{MemberId, Money, Order, OrderLine, OrderNo, OrderState, Product};
use tenure::{LockMode, Owner, Repository};
use tokio::sync::Barrier;

use super::support::{ORDER, Server, order_path};

const KETTLE: &str = "주전자 1.5L";
const TRAY: &str = "Bamboo tray";

/// Two products of the test, with these numbers of pieces.
async fn stock(server: &Server, kettles: u32, trays: u32) {
    let mut tx = server.db.begin().await.unwrap();
    for (name, pieces) in [(KETTLE, kettles), (TRAY, trays)] {
        Repository::<Product>::new(&server.db).insert(&mut tx, Product::new(name, pieces).unwrap()).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn left(server: &Server) -> [u32; 2] {
    let products = Repository::<Product>::new(&server.db);
    let kettles = products.get(&KETTLE.to_owned()).await.unwrap().unwrap().stock();
    [kettles, products.get(&TRAY.to_owned()).await.unwrap().unwrap().stock()]
}

/// A paid order of minji's of these products, one piece of each line.
async fn paid(server: &Server, no: &str, products: &[&str]) {
    let line = |(at, product): (usize, &&str)| OrderLine::new(at as u32 + 1, *product, Money::won(9_000), 1).unwrap();
    let lines = products.iter().enumerate().map(line).collect();
    let shipping = server.order(ORDER).await.0.shipping().clone();
    let (no, minji) = (OrderNo::new(no).unwrap(), MemberId::new("minji").unwrap());
    let mut order = Order::place(no, minji, "김민지", shipping, lines, Timestamp::now()).unwrap();
    order.confirm_payment().unwrap();
    let mut tx = server.db.begin().await.unwrap();
    Repository::<Order>::new(&server.db).insert(&mut tx, order).await.unwrap();
    tx.commit().await.unwrap();
}

fn start(no: &str) -> String {
    format!("{}/start-shipping", order_path(no))
}

#[tokio::test]
async fn shipping_takes_the_pieces_of_all_lines() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    paid(&server, "S-1", &[KETTLE, TRAY, KETTLE]).await;
    let park = server.sign_in("park").await;
    park.submit(park.open("S-1").await.form(&start("S-1"))).await.is(200);
    assert_eq!((server.order("S-1").await.0.state(), left(&server).await), (OrderState::Shipped, [3, 4]));
}

#[tokio::test]
async fn order_without_enough_stock_ships_nothing() {
    let server = Server::start().await;
    stock(&server, 1, 5).await;
    paid(&server, "S-1", &[TRAY, KETTLE, KETTLE]).await;
    let park = server.sign_in("park").await;
    let page = park.open("S-1").await;
    page.says(KETTLE).says("1 of 2");
    let refused = park.submit(page.form(&start("S-1"))).await;
    refused.is(409).says(KETTLE).says("needs 2").says("in stock: 1");
    assert_eq!((server.order("S-1").await, left(&server).await), ((page_order(&server).await, 1), [1, 5]));
    // The page of the refusal has an address, and is the same when it is reloaded.
    let again = park.get(&refused.path).await;
    again.is(409).says("needs 2");
    // A product that was never received is out of stock, too.
    paid(&server, "S-2", &["Unknown"]).await;
    park.submit(park.open("S-2").await.form(&start("S-2"))).await.is(409).says("in stock: 0");
}

async fn page_order(server: &Server) -> Order {
    let order = server.order("S-1").await.0;
    assert_eq!(order.state(), OrderState::Preparing);
    order
}

#[tokio::test]
async fn operators_never_oversell_and_never_deadlock() {
    let server = Server::start().await;
    stock(&server, 5, 20).await;
    let browsers = [server.sign_in("park").await, server.sign_in("olivia").await];
    let numbers: Vec<String> = (0..8).map(|number| format!("S-{number}")).collect();
    let mut forms = Vec::new();
    for (at, no) in numbers.iter().enumerate() {
        // Half of the orders name the products in the other order.
        paid(&server, no, if at % 2 == 0 { &[KETTLE, TRAY] } else { &[TRAY, KETTLE] }).await;
        forms.push(browsers[at % 2].open(no).await.form(&start(no)));
    }
    let barrier = Arc::new(Barrier::new(forms.len()));
    let clicks = forms.into_iter().enumerate().map(|(at, form)| {
        let (browser, barrier) = (browsers[at % 2].clone(), Arc::clone(&barrier));
        tokio::spawn(async move {
            barrier.wait().await;
            browser.submit(form).await.status.as_u16()
        })
    });
    let mut statuses = Vec::new();
    for click in clicks.collect::<Vec<_>>() {
        statuses.push(click.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 409, 409, 409]);
    let mut shipped = 0;
    for no in &numbers {
        shipped += usize::from(server.order(no).await.0.state() == OrderState::Shipped);
    }
    assert_eq!((shipped, left(&server).await), (5, [0, 15]));
}

#[tokio::test]
async fn shipping_waits_two_seconds_and_names_who_is_first() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    paid(&server, "S-1", &[KETTLE]).await;
    let park = server.sign_in("park").await;
    let form = park.open("S-1").await.form(&start("S-1"));
    let (locked, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (step, products) = ((Arc::clone(&locked), Arc::clone(&go_on)), Repository::<Product>::new(&server.db));
    let slow = tokio::spawn(async move {
        let olivia = Owner::new("olivia", "Olivia");
        let count = products.update(&KETTLE.to_owned()).by(&olivia).command("count the stock");
        let count = count.locking(LockMode::PessimisticWrite).also(move |_, _| {
            let (locked, go_on) = step.clone();
            async move {
                locked.wait().await;
                go_on.wait().await;
                Ok(())
            }
        });
        count.run(|_| Ok::<_, std::convert::Infallible>(())).await.map(drop).unwrap();
    });
    locked.wait().await;
    let began = std::time::Instant::now();
    let busy = park.submit(form).await;
    let waited = began.elapsed();
    busy.is(503);
    // The default of an update is five seconds.
    assert!((Duration::from_secs(2)..Duration::from_secs(5)).contains(&waited), "{waited:?}");
    if server.db.capabilities().names_blocker {
        busy.says("olivia: count the stock");
    }
    go_on.wait().await;
    slow.await.unwrap();
    park.submit(busy.form(&start("S-1"))).await.is(200);
    assert_eq!((server.order("S-1").await.0.state(), left(&server).await), (OrderState::Shipped, [4, 5]));
}

#[tokio::test]
async fn a_delivery_is_added_once_and_on_the_stock_that_was_seen() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let page = park.get("/stock").await;
    let form_of = |name: &str| {
        page.forms("/stock/receive")
            .into_iter()
            .find(|form| form.value("product") == name)
            .unwrap()
            .with("pieces", "10")
    };
    let (kettles, stale) = (form_of(KETTLE), form_of(KETTLE).with("form_id", &"0".repeat(32)));
    let received = park.submit(kettles.clone()).await;
    assert!(received.is(200).html.contains(&format!("Received: 10 of {KETTLE}")));
    park.submit(kettles).await.is(200);
    assert_eq!(left(&server).await, [15, 5]);
    let refused = park.submit(stale).await;
    refused.is(409).says("changed after you opened the page");
    assert_eq!(left(&server).await, [15, 5]);
    // The number is still in the form, on the version that is shown now.
    let again = refused.forms("/stock/receive").into_iter().find(|form| form.value("product") == KETTLE).unwrap();
    assert_eq!(again.value("pieces"), "10");
    park.submit(again).await.is(200);
    assert_eq!(left(&server).await, [25, 5]);
    for wrong in ["", "0", "-1", "10001", "1e3", "많이"] {
        park.submit(form_of(TRAY).with("pieces", wrong)).await.is(422).says("from 1 to 10000");
    }
    assert_eq!(left(&server).await, [25, 5]);
}

#[tokio::test]
async fn a_new_product_is_received_by_operators_only() {
    let server = Server::start().await;
    let (park, minji) = (server.sign_in("park").await, server.sign_in("minji").await);
    let page = park.get("/stock").await;
    let new = page.forms("/stock/receive").into_iter().next_back().unwrap();
    let new = new.with("product", " 감귤 <5kg> ").with("pieces", "7");
    park.submit(new.clone()).await.is(200).says("감귤 <5kg>");
    park.submit(new.clone()).await.is(200);
    let product = Repository::<Product>::new(&server.db).get(&"감귤 <5kg>".to_owned()).await.unwrap().unwrap();
    assert_eq!(product.stock(), 7);
    park.submit(new.clone().with("form_id", &"0".repeat(32))).await.is(409).says("in the list already");
    park.submit(new.clone().with("product", " ").with("form_id", &"1".repeat(32))).await.is(422);
    minji.get("/stock").await.is(403);
    let csrf = minji.open(ORDER).await.form(&format!("{}/edit", order_path(ORDER))).value("csrf").to_owned();
    let fields = [("csrf", csrf.as_str()), ("product", "tea"), ("pieces", "1"), ("form_id", &"2".repeat(32))];
    minji.post("/stock/receive", &fields, &[]).await.is(403);
}
