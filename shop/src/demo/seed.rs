//! What is in a world when it begins: the people, signed in, and their orders.

use jiff::Timestamp;
use tenure::{Error, Owner};
use tenure_web::browser_key::BrowserKey;

use super::site::other;
use super::story::Lock;
use super::world::{LEES, MINJIS, PHONE, POSTAL_CODE, Person};
use crate::domain::{
    Address, Member, MemberId, Money, Order, OrderLine, OrderNo, Product, Receiver, Role, ShippingInfo,
};
use crate::session;
use crate::texts::Lang;
use crate::use_cases::Shop;

/// The people, and two paid orders of a product with one piece left.
pub(super) async fn fill(shop: &Shop, lang: Lang, lock: Lock) -> Result<(), Error> {
    let mut tx = shop.db.begin().await?;
    tx.by(&Owner::new("demo", "Demo")).command("place order");
    for (id, role) in
        [("minji", Role::Customer), ("lee", Role::Customer), ("park", Role::Operator), ("olivia", Role::Operator)]
    {
        let id = MemberId::new(id).map_err(other)?;
        let name = lang.demo_name(id.as_str());
        // No password has this hash.
        shop.members.insert(&mut tx, Member::new(id, name, role, "-").map_err(other)?).await?;
    }
    let product = lang.demo_product();
    shop.products.insert(&mut tx, Product::new(product, 1).map_err(other)?).await?;
    // In the story of the stock nobody moves.
    let address = if lock == Lock::Pessimistic { lang.demo_new_address() } else { lang.demo_old_address() };
    for (no, orderer, line1) in [(MINJIS, "minji", address), (LEES, "lee", lang.demo_lees_address())] {
        let name = lang.demo_name(orderer);
        let receiver = Receiver { name: name.into(), phone: PHONE.into() };
        let address = Address { postal_code: POSTAL_CODE.into(), line1: line1.into(), line2: String::new() };
        let shipping = ShippingInfo::new(receiver, address, "").expect("the addresses of the demo are valid");
        let lines = vec![OrderLine::new(1, product, Money::won(42_000), 1).map_err(other)?];
        let (no, orderer) = (OrderNo::new(no).map_err(other)?, MemberId::new(orderer).map_err(other)?);
        let mut order = Order::place(no, orderer, name, shipping, lines, Timestamp::now()).map_err(other)?;
        order.confirm_payment().map_err(other)?;
        shop.orders.insert(&mut tx, order).await?;
    }
    tx.commit().await
}

/// A person with a browser in which they are signed in.
pub(super) async fn arrive(shop: &Shop, login: &'static str, order: &'static str) -> Result<Person, Error> {
    let id = MemberId::new(login).map_err(other)?;
    let member = shop.members.get(&id).await?.expect("everybody was inserted").into_inner();
    let is_operator = member.is_operator();
    let key = BrowserKey::random();
    let begun = shop.begin_session(member, &key.known_as(login), "demo").await.map_err(other)?;
    Ok(Person {
        login,
        is_operator,
        order,
        seen: None,
        has_form: false,
        is_typing: false,
        is_away: false,
        sees_editor: None,
        typed: None,
        told: None,
        cookies: session::cookies(&begun, &key),
        page: String::new(),
        path: String::new(),
    })
}
