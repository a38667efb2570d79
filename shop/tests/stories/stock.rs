//! The stock: shipping takes all products of an order or none, and operators neither oversell nor deadlock.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use shop::domain::{MemberId, Money, Order, OrderLine, OrderNo, OrderState, Product};
use tenure::{LockMode, Owner, Repository};
use tokio::sync::Barrier;

use super::support::{Form, ORDER, Page, Server, order_path};

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

/// The form of a delivery, with these numbers beside these products.
fn delivery(page: &Page, typed: &[(&str, &str)]) -> Form {
    typed.iter().fold(page.form("/stock/receive"), |form, (product, pieces)| typing(form, product, pieces))
}

fn typing(mut form: Form, product: &str, pieces: &str) -> Form {
    *field(&mut form, product, "pieces") = pieces.to_owned();
    form
}

/// The text in a field of a product's row; of the row of a new product, if none is named.
fn field<'f>(form: &'f mut Form, product: &str, name: &str) -> &'f mut String {
    let row = form.fields.iter().position(|(name, value)| name == "product" && value == product);
    let of_row = &mut form.fields[row.unwrap_or_else(|| panic!("no row of {product}"))..];
    &mut of_row.iter_mut().find(|(other, _)| other == name).unwrap().1
}

fn typed(page: &Page, product: &str) -> String {
    field(&mut page.form("/stock/receive"), product, "pieces").clone()
}

#[tokio::test]
async fn whole_delivery_is_received_together() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let page = park.get("/stock").await;
    let form = delivery(&page, &[(KETTLE, "10"), (TRAY, " 2 ")]);
    let received = park.submit(form.clone()).await;
    received.is(200);
    assert!(received.html.contains(&format!("2 of {TRAY}, 10 of {KETTLE}.")), "{}", received.html);
    assert_eq!((received.path.as_str(), received.state(), left(&server).await), ("/stock", "ST-1".into(), [15, 7]));
    // The same form again, as after a click on Back: each was received, and is not added twice.
    park.submit(form).await.is(200);
    assert_eq!(left(&server).await, [15, 7]);
}

#[tokio::test]
async fn refused_row_keeps_its_text_and_the_others_are_received_once() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let first = delivery(&park.get("/stock").await, &[(KETTLE, "10"), (TRAY, "많이")]);
    let refused = park.submit(first.clone()).await;
    refused
        .is(422)
        .says("Some products were not received")
        .says(&format!("{TRAY}: Please write a whole number from 1 to 10000."));
    assert!(refused.html.contains(&format!("Received: 10 of {KETTLE}.")), "{}", refused.html);
    assert_eq!(
        (refused.state(), typed(&refused, KETTLE), typed(&refused, TRAY)),
        ("ST-4".into(), "".into(), "많이".into())
    );
    assert_eq!(left(&server).await, [15, 5]);
    // It has no language switch, which would send what was received again, and drop what is typed here.
    assert!(!refused.html.contains("lang=ko"), "{}", refused.html);
    // Back, and the same again: as before, and nothing is added.
    let again = park.submit(first.clone()).await;
    again.is(422);
    assert_eq!((typed(&again, TRAY), left(&server).await), ("많이".into(), [15, 5]));
    // Corrected; and sent once more after a click on Back.
    let corrected = delivery(&refused, &[(TRAY, "3")]);
    park.submit(corrected.clone()).await.is(200);
    park.submit(corrected).await.is(200);
    assert_eq!(left(&server).await, [15, 8]);
    // The row that was received takes another delivery of as many.
    park.submit(delivery(&refused, &[(KETTLE, "10"), (TRAY, "")])).await.is(200);
    assert_eq!(left(&server).await, [25, 8]);
}

#[tokio::test]
async fn row_that_changed_meanwhile_is_sent_again_on_the_stock_of_now() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let stale = delivery(&park.get("/stock").await, &[(KETTLE, "10"), (TRAY, "10")]);
    olivia.submit(delivery(&olivia.get("/stock").await, &[(KETTLE, "1")])).await.is(200);
    let refused = park.submit(stale.clone()).await;
    refused.is(409).says(&format!("{KETTLE}: The stock changed after you opened the page"));
    assert_eq!(
        (refused.state(), typed(&refused, KETTLE), typed(&refused, TRAY)),
        ("ST-7".into(), "10".into(), "".into())
    );
    assert_eq!(left(&server).await, [6, 15]);
    let again = refused.form("/stock/receive");
    park.submit(again.clone()).await.is(200);
    park.submit(again).await.is(200);
    // The row is the same one, also on the page of before.
    park.submit(stale).await.is(200);
    assert_eq!(left(&server).await, [16, 15]);
}

#[tokio::test]
async fn a_delivery_that_is_sent_twice_at_once_is_added_once() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let mut form = delivery(&park.get("/stock").await, &[(KETTLE, "10"), (TRAY, "2"), ("", "4")]);
    *field(&mut form, "", "product") = "감귤".into();
    let clicks = [0; 4].map(|_| {
        let (park, form) = (park.clone(), form.clone());
        tokio::spawn(async move { park.submit(form).await })
    });
    for click in clicks {
        click.await.unwrap().is(200).says("감귤");
    }
    assert_eq!(left(&server).await, [15, 7]);
}

#[tokio::test]
async fn wrong_numbers_and_none_receive_nothing() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let page = park.get("/stock").await;
    for wrong in ["0", "-1", "10001", "1e3", "많이"] {
        let refused = park.submit(delivery(&page, &[(TRAY, wrong)])).await;
        refused.is(422).says("Nothing was received").says("from 1 to 10000");
        assert_eq!(typed(&refused, TRAY), wrong);
    }
    for blank in ["", " "] {
        park.submit(delivery(&page, &[(TRAY, blank)])).await.is(422).says("Type how many pieces arrived");
    }
    assert_eq!(left(&server).await, [5, 5]);
}

#[tokio::test]
async fn incomplete_form_receives_nothing() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let form = delivery(&park.get("/stock").await, &[(KETTLE, "10"), (TRAY, "2")]);
    for name in ["product", "version", "form_id", "pieces"] {
        park.submit(form.clone().without(name)).await.is(400);
        // One of a row is missing: the number beside it would belong to another product.
        let mut shifted = form.clone();
        shifted.fields.remove(form.fields.iter().position(|(other, _)| other == name).unwrap());
        park.submit(shifted).await.is(400);
    }
    let mut foreign = form.clone();
    *field(&mut foreign, KETTLE, "version") = field(&mut form.clone(), TRAY, "version").clone();
    park.submit(foreign).await.is(400);
    assert_eq!(left(&server).await, [5, 5]);
}

#[tokio::test]
async fn product_that_is_gone_stays_below_the_list_with_its_number() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let form = delivery(&park.get("/stock").await, &[(KETTLE, "10"), (TRAY, "2")]);
    let products = Repository::<Product>::new(&server.db);
    let mut tx = server.db.begin().await.unwrap();
    let tray = products.get(&TRAY.to_owned()).await.unwrap().unwrap();
    products.delete(&mut tx, tray).await.unwrap();
    tx.commit().await.unwrap();
    let refused = park.submit(form).await;
    refused.is(422).says("not in the list any more");
    assert_eq!(typed(&refused, TRAY), "2");
    park.submit(refused.form("/stock/receive")).await.is(200);
    assert_eq!(left(&server).await, [15, 2]);
}

#[tokio::test]
async fn a_new_product_is_received_with_the_others_and_by_operators_only() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let (park, minji) = (server.sign_in("park").await, server.sign_in("minji").await);
    let page = park.get("/stock").await;
    let new = |name: &str, pieces: &str| {
        let mut form = delivery(&page, &[(KETTLE, "1"), ("", pieces)]);
        *field(&mut form, "", "product") = name.to_owned();
        form
    };
    // The row is received, whatever is wrong with the new product.
    let nameless = park.submit(new(" ", "7")).await;
    nameless.is(422).says("New product: Please fill this in.");
    assert_eq!((typed(&nameless, ""), left(&server).await), ("7".into(), [6, 5]));
    let without_number = park.submit(new("감귤 <5kg>", "")).await;
    without_number.is(422).says("감귤 <5kg>");
    park.submit(new(" 감귤 <5kg> ", "7")).await.is(200).says("감귤 <5kg>");
    park.submit(new(" 감귤 <5kg> ", "7")).await.is(200);
    let product = Repository::<Product>::new(&server.db).get(&"감귤 <5kg>".to_owned()).await.unwrap().unwrap();
    assert_eq!((product.stock(), left(&server).await), (7, [6, 5]));
    let there = park.submit(new("감귤 <5kg>", "8")).await;
    there.is(409).says("in the list already");
    assert_eq!((there.state().as_str(), left(&server).await), ("ST-8", [6, 5]));
    minji.get("/stock").await.is(403);
    let csrf = minji.open(ORDER).await.form(&format!("{}/edit", order_path(ORDER))).value("csrf").to_owned();
    for pieces in ["1", ""] {
        let fields = [("csrf", csrf.as_str()), ("product", "tea"), ("version", ""), ("pieces", pieces)];
        minji.post("/stock/receive", &[&fields[..], &[("form_id", &"2".repeat(32))]].concat(), &[]).await.is(403);
    }
}

#[tokio::test]
async fn failure_and_the_end_of_a_session_keep_the_whole_delivery() {
    let server = Server::start().await;
    stock(&server, 5, 5).await;
    let park = server.sign_in("park").await;
    let form = delivery(&park.get("/stock").await, &[(KETTLE, "10"), (TRAY, "2")]);
    let signed_out = server.browser().submit(form).await;
    let form = signed_out.is(401).form("/stock/receive");
    let (products, mut tx) = (Repository::<Product>::new(&server.db), server.db.begin().await.unwrap());
    // Where rows are locked, the tray is received before the database fails.
    let kettle = products.find(&mut tx, &KETTLE.to_owned(), LockMode::PessimisticForceIncrement).await.unwrap();
    let busy = park.submit(form).await;
    busy.is(503);
    drop(kettle);
    tx.rollback().await.unwrap();
    park.submit(busy.form("/stock/receive")).await.is(200);
    assert_eq!(left(&server).await, [15, 7]);
}
