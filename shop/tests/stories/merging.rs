//! Two people change different fields: both changes are saved.

use std::time::Duration;

use shop::domain::{Order, OrderLine, OrderNo, OrderState, Receiver, ShippingInfo};
use tenure::{LockMode, Owner, Repository};

use super::support::{Browser, Form, ORDER, Page, Server, token};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const SAVE: &str = "/orders/2026-000300/edit/save";
const START: &str = "/orders/2026-000300/start-shipping";

/// Opens the form for the address.
async fn address_form(browser: &Browser) -> Form {
    browser.get(SHIPPING).await.form(SHIPPING)
}

/// Park writes a message to the courier and Minji changes the address, both on version 1; she is too late.
async fn met(server: &Server, minji: &Browser, park: &Browser) -> Page {
    let (hers, his) = (address_form(minji).await, address_form(park).await);
    park.submit(his.with("message", "문 앞에")).await.is(200);
    let conflict = minji.submit(hers.with("address.line1", "세종대로 9")).await;
    conflict.is(409).says("세종대로 9").says("문 앞에");
    assert_eq!((conflict.state().as_str(), server.order(ORDER).await.1), ("CP-1", 2));
    conflict
}

/// The delivery address (line 1), the message to the courier, and the version.
async fn stored(server: &Server) -> (String, String, i64) {
    let (order, version) = server.order(ORDER).await;
    (order.shipping().address().line1.clone(), order.shipping().message().to_owned(), version)
}

fn expected(line1: &str, message: &str, version: i64) -> (String, String, i64) {
    (line1.to_owned(), message.to_owned(), version)
}

#[tokio::test]
async fn changes_of_different_fields_are_merged_with_one_button() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let conflict = met(&server, &minji, &park).await;
    let both = conflict.press(SHIPPING, "both");
    assert_eq!((both.value("both"), both.value("mine")), (token(ORDER, 1).as_str(), "address.line1"));
    // There is no choice, so no question.
    assert!(!conflict.html.contains("type=\"radio\""));
    let saved = minji.submit(both).await;
    saved.is(200);
    assert!(saved.html.contains("with your changes and those of <bdi>박서연</bdi>"), "{}", saved.html);
    assert_eq!(stored(&server).await, expected("세종대로 9", "문 앞에", 3));
}

#[tokio::test]
async fn a_comparison_with_two_savers_names_both_and_gives_no_field_to_one() {
    for is_last in [true, false] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let hers = address_form(&minji).await.with("message", "mine");
        for is_hers in [!is_last, is_last] {
            let (who, field) = if is_hers { (&minji, "address.line2") } else { (&park, "message") };
            who.submit(address_form(who).await.with(field, "since")).await.is(200);
        }
        let conflict = minji.submit(hers).await;
        let said = if is_last {
            "You changed the shipping details"
        } else {
            "Before that, you saved as well, in another tab or on another device."
        };
        conflict.is(409).says(said).says("박서연");
        assert!(!conflict.text().contains("Now ("), "{}", conflict.text());
    }
}

#[tokio::test]
async fn in_korean_as_well() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    minji.get("/orders?lang=ko").await.is(200);
    let conflict = met(&server, &minji, &park).await;
    conflict.says("두 변경 모두 저장").says("두 변경을 모두 저장할 수 있습니다");
    let saved = minji.submit(conflict.press(SHIPPING, "both")).await;
    assert!(saved.html.contains("내 변경과 <bdi>박서연</bdi> 님의 변경이 함께 들어 있습니다"), "{}", saved.html);
}

#[tokio::test]
async fn merge_keeps_a_third_persons_save_and_names_all() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let both = met(&server, &minji, &park).await.press(SHIPPING, "both");
    let olivia = server.sign_in("olivia").await;
    let phone = address_form(&olivia).await.with("receiver.phone", "010-7777-7777");
    olivia.submit(phone).await.is(200);
    let saved = minji.submit(both).await;
    assert!(saved.html.contains("those of <bdi>박서연</bdi>, <bdi>Olivia Reed</bdi>"), "{}", saved.html);
    assert_eq!(stored(&server).await, expected("세종대로 9", "문 앞에", 4));
    assert_eq!(server.order(ORDER).await.0.shipping().receiver().phone, "010-7777-7777");
}

#[tokio::test]
async fn lost_race_in_a_save_is_retried_silently() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let both = met(&server, &minji, &park).await.press(SHIPPING, "both");
    // A save is written and not yet committed: hers has already read the order, and has to wait with writing.
    let (orders, no) = (Repository::<Order>::new(&server.db), OrderNo::new(ORDER).unwrap());
    let mut tx = server.db.begin().await.unwrap();
    tx.by(&Owner::new("olivia", "Olivia Reed")).command("change shipping info");
    let mut order = orders.find(&mut tx, &no, LockMode::Optimistic).await.unwrap().unwrap();
    let receiver = Receiver { phone: "010-7777-7777".into(), ..order.shipping().receiver().clone() };
    let address = order.shipping().address().clone();
    let info = ShippingInfo::new(receiver, address, order.shipping().message()).unwrap();
    order.change_shipping_info(info).unwrap();
    orders.save(&mut tx, &mut order).await.unwrap();
    let commit = async {
        server.until_somebody_waits().await;
        tx.commit().await.unwrap();
    };
    let (saved, ()) = tokio::join!(minji.submit(both), commit);
    saved.is(200);
    assert!(saved.html.contains("those of <bdi>박서연</bdi>, <bdi>Olivia Reed</bdi>"), "{}", saved.html);
    assert_eq!(stored(&server).await, expected("세종대로 9", "문 앞에", 4));
    assert_eq!(server.order(ORDER).await.0.shipping().receiver().phone, "010-7777-7777");
}

#[tokio::test]
async fn same_field_changed_before_the_merge_asks_and_keeps_text() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let both = met(&server, &minji, &park).await.press(SHIPPING, "both");
    park.submit(address_form(&park).await.with("address.line1", "한강대로 2")).await.is(200);
    let conflict = minji.submit(both).await;
    conflict.is(409).says("세종대로 9").says("한강대로 2").says("문 앞에");
    assert_eq!(conflict.state(), "CP-2");
    assert!(!conflict.html.contains("name=\"both\""));
    assert_eq!(stored(&server).await, expected("한강대로 2", "문 앞에", 3));
    minji.submit(conflict.form(SHIPPING)).await.is(200);
    assert_eq!(stored(&server).await, expected("세종대로 9", "문 앞에", 4));
}

#[tokio::test]
async fn the_same_field_is_never_saved_over_without_a_choice() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let (hers, his) = (address_form(&minji).await, address_form(&park).await);
    park.submit(his.with("address.line1", "한강대로 2")).await.is(200);
    let hers = hers.with("address.line1", "세종대로 9");
    minji.submit(hers.clone()).await.is(409);
    // Also if a request asks for more than the page offers.
    let forced = hers.with("both", &token(ORDER, 1)).with("mine", "address.line1");
    minji.submit(forced.clone()).await.is(409).says("세종대로 9");
    minji.submit(forced.clone().with("both", &token("2026-000299", 1))).await.is(400).says("세종대로 9");
    minji.submit(forced.with("both", "1")).await.is(400).says("세종대로 9");
    assert_eq!(server.order(ORDER).await.1, 2);
}

#[tokio::test]
async fn shipped_parcel_takes_no_new_address() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let both = met(&server, &minji, &park).await.press(SHIPPING, "both");
    let before = stored(&server).await;
    park.submit(park.open(ORDER).await.form(START)).await.is(200);
    minji.submit(both).await.is(409).says("세종대로 9");
    assert_eq!(stored(&server).await, expected(&before.0, &before.1, 3));
    assert_eq!(server.order(ORDER).await.0.state(), OrderState::Shipped);
}

#[tokio::test]
async fn operator_cannot_ship_to_an_unseen_address() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let start = park.open(ORDER).await.form(START);
    minji.submit(address_form(&minji).await.with("address.line1", "세종대로 9")).await.is(200);
    let refused = park.submit(start).await;
    assert!(!refused.is(409).says("세종대로 9").html.contains("name=\"both\""));
}

#[tokio::test]
async fn correcting_own_text_first_also_keeps_both_changes() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let conflict = met(&server, &minji, &park).await;
    let form = minji.submit(conflict.press(SHIPPING, "edit-first")).await.is(200).form(SHIPPING);
    assert_eq!((form.value("address.line1"), form.value("message")), ("세종대로 9", "문 앞에"));
    minji.submit(form.with("address.line1", "세종대로 10")).await.is(200);
    assert_eq!(stored(&server).await, expected("세종대로 10", "문 앞에", 3));
}

#[tokio::test]
async fn own_change_from_another_tab_is_shown_as_own() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let (here, there) = (address_form(&minji).await, address_form(&minji).await);
    minji.submit(there.with("message", "문 앞에")).await.is(200);
    let conflict = minji.submit(here.with("address.line1", "세종대로 9")).await;
    assert_eq!(conflict.is(409).state(), "CP-11");
    conflict.says("Keep what is saved, drop this");
    let saved = minji.submit(conflict.press(SHIPPING, "both")).await;
    assert!(saved.html.contains("together with the changes that you made elsewhere"), "{}", saved.html);
    assert_eq!(stored(&server).await, expected("세종대로 9", "문 앞에", 3));
    let (here, there) = (address_form(&minji).await, address_form(&minji).await);
    minji.submit(there.with("message", "경비실에")).await.is(200);
    let conflict = minji.submit(here.with("message", "벨을 눌러 주세요")).await;
    assert_eq!(conflict.is(409).says("Now (you").state(), "CP-11");
}

#[tokio::test]
async fn lines_and_address_are_merged_after_a_lapse() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let lunch = park.edit(ORDER).await.form(SAVE).with("quantity-1", "7");
    let lunch = lunch.with("new-product", "찻잔").with("new-price", "12000").with("new-quantity", "2");
    server.clock.advance(Duration::from_secs(300));
    olivia.submit(address_form(&olivia).await.with("address.line1", "한강대로 2")).await.is(200);
    let conflict = park.submit(lunch).await;
    conflict.is(409).says("한강대로 2").says("찻잔");
    let both = conflict.press(SAVE, "both");
    let saved = park.submit(both).await;
    saved.is(200);
    assert!(saved.html.contains("those of <bdi>Olivia Reed</bdi>"), "{}", saved.html);
    let (order, version) = server.order(ORDER).await;
    let added = order.lines().last().unwrap();
    assert_eq!((order.lines()[0].quantity(), added.product(), added.quantity()), (7, "찻잔", 2));
    assert_eq!((order.shipping().address().line1.as_str(), version), ("한강대로 2", 3));
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn a_choice_is_asked_once_and_counted_and_words_are_marked() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let ask = |text| ("message", text);
    let (name, base) = ask("부재 시 경비실에 맡겨 주세요");
    park.submit(address_form(&park).await.with(name, base)).await.is(200);
    let (hers, his) = (address_form(&minji).await, address_form(&park).await);
    park.submit(his.with(name, "부재 시 문 앞에 놓아 주세요")).await.is(200);
    let conflict =
        minji.submit(hers.with(name, "부재 시 경비실에 꼭 맡겨 주세요").with("address.line2", "302호")).await;
    assert_eq!(conflict.is(409).state(), "CP-2");
    conflict.says("1 field to decide");
    let radio = |checked: &str| conflict.html.matches(checked).count();
    assert_eq!((radio(" required>"), radio("type=\"radio\"")), (2, 4), "only what both changed is asked");
    assert!(conflict.html.contains(">문 앞에 놓아</ins>") && conflict.html.contains("꼭"), "{}", conflict.html);
    let form = conflict.form(SHIPPING).with(name, "부재 시 문 앞에 놓아 주세요");
    minji.submit(form).await.is(200);
    let (order, _) = server.order(ORDER).await;
    assert_eq!(order.shipping().message(), "부재 시 문 앞에 놓아 주세요");
    assert_eq!(order.shipping().address().line2, "302호");
}

#[tokio::test]
async fn a_third_save_during_the_choice_keeps_what_was_chosen() {
    let server = Server::start().await;
    let (minji, park, olivia) =
        (server.sign_in("minji").await, server.sign_in("park").await, server.sign_in("olivia").await);
    let (hers, his) = (address_form(&minji).await, address_form(&park).await);
    park.submit(his.with("message", "his").with("address.line1", "한강대로 2")).await.is(200);
    let conflict = minji.submit(hers.with("message", "hers").with("address.line1", "세종대로 9")).await;
    conflict.is(409).says("2 fields to decide");
    olivia.submit(address_form(&olivia).await.with("message", "third")).await.is(200);
    let again = minji.submit(conflict.form(SHIPPING).with("message", "hers").with("address.line1", "세종대로 9")).await;
    again.is(409).says("1 field to decide").says("What you chose before is kept").says("third").says("Olivia Reed");
    minji.submit(again.form(SHIPPING).with("message", "third")).await.is(200);
    assert_eq!(stored(&server).await, expected("세종대로 9", "third", 4));
}

#[tokio::test]
async fn the_same_value_of_both_is_nothing_to_do() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let (hers, his) = (address_form(&minji).await, address_form(&park).await.with("address.line1", "한강대로 2"));
    park.submit(his.with("message", "문 앞에")).await.is(200);
    let mine = || hers.clone().with("message", "문 앞에");
    let same = minji.submit(mine()).await;
    same.is(200).tells("The same was saved elsewhere").says("한강대로 2");
    minji.submit(mine()).await.is(200);
    assert!(!minji.open(ORDER).await.html.contains("was not saved"));
    // The form has not seen his address: what it is sent with later is compared with it.
    let later = minji.submit(mine().with("address.line1", "세종대로 9")).await;
    later.is(409).says("한강대로 2").says("세종대로 9");
    assert_eq!(stored(&server).await, expected("한강대로 2", "문 앞에", 2));
}

#[tokio::test]
async fn a_form_in_which_nothing_was_changed_saves_nothing_over_others() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = address_form(&minji).await;
    park.submit(address_form(&park).await.with("message", "문 앞에")).await.is(200);
    minji.submit(hers).await.is(200).tells("Nothing was different");
    let whole = park.edit(ORDER).await.form(SAVE);
    server.clock.advance(Duration::from_secs(300));
    minji.submit(address_form(&minji).await.with("message", "경비실에")).await.is(200);
    park.submit(whole).await.is(200).tells("Nothing was different");
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "경비실에");
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn text_that_another_person_saved_since_is_settled() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = address_form(&minji).await.with("message", "문 앞에");
    park.submit(address_form(&park).await.with("message", "경비실에")).await.is(200);
    let refused = minji.submit(hers).await;
    park.submit(address_form(&park).await.with("message", "문 앞에")).await.is(200);
    let ready = minji.get(&refused.is(409).path).await;
    minji.submit(ready.is(200).form(SHIPPING)).await.is(200).tells("The same was saved elsewhere");
    assert!(!minji.open(ORDER).await.html.contains("was not saved"));
}

#[tokio::test]
async fn a_command_that_another_person_gave_first_is_explained() {
    for command in ["start-shipping", "cancel"] {
        let server = Server::start().await;
        let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
        let action = format!("/orders/{ORDER}/{command}");
        let (his, hers) = (park.open(ORDER).await.form(&action), olivia.open(ORDER).await.form(&action));
        park.submit(his).await.is(200);
        let refused = olivia.submit(hers).await;
        assert_eq!(refused.is(409).state(), "CP-4", "{command}");
        let already = if command == "cancel" { "is cancelled already" } else { "has started already" };
        refused.says("박서연").says(already).says("nothing left to do");
        assert!(!refused.text().contains("Nothing was done"), "{}", refused.text());
    }
}

#[tokio::test]
async fn a_product_that_both_added_is_not_taken_for_the_same_change() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let add = |form: Form| form.with("new-product", "찻잔").with("new-price", "12000").with("new-quantity", "2");
    let lunch = add(park.edit(ORDER).await.form(SAVE));
    server.clock.advance(Duration::from_secs(300));
    olivia.submit(add(olivia.edit(ORDER).await.form(SAVE))).await.is(200);
    let conflict = park.submit(lunch).await;
    conflict.is(409).says("찻잔");
    park.submit(conflict.form(SAVE)).await.is(200);
    let (order, _) = server.order(ORDER).await;
    assert_eq!(order.lines().iter().filter(|line| line.product() == "찻잔").count(), 2);
}

#[tokio::test]
async fn a_version_that_is_not_kept_any_more_is_compared_with_the_present_one_alone() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let hers = address_form(&minji).await.with("message", "문 앞에");
    let same = address_form(&minji).await.with("message", "50");
    let (orders, no) = (Repository::<Order>::new(&server.db), OrderNo::new(ORDER).unwrap());
    // One more than are kept.
    for at in 0..51 {
        let update = orders.update(&no).by(&Owner::new("olivia", "Olivia Reed")).command("change shipping info");
        let changed = update.run(|order: &mut Order| {
            let (receiver, address) = (order.shipping().receiver().clone(), order.shipping().address().clone());
            order.change_shipping_info(ShippingInfo::new(receiver, address, &at.to_string()).unwrap())
        });
        changed.await.unwrap();
    }
    minji.submit(same).await.is(200).tells("The same was saved elsewhere");
    let conflict = minji.submit(hers).await;
    assert_eq!(conflict.is(409).state(), "CP-6");
    conflict.says("문 앞에").says("is not known any more").says("Olivia Reed");
    minji.submit(conflict.form(SHIPPING).with("message", "문 앞에")).await.is(200);
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "문 앞에");
}

#[tokio::test]
async fn who_may_not_see_the_order_any_more_chooses_nothing_and_keeps_the_text() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let (his, hers) = (address_form(&park).await, address_form(&olivia).await);
    olivia.submit(hers.with("message", "hers")).await.is(200);
    let conflict = park.submit(his.with("message", "his own words")).await;
    assert_eq!(conflict.is(409).state(), "CP-2");
    server.becomes_a_customer("park").await;
    let refused = park.submit(conflict.form(SHIPPING).with("message", "his own words")).await;
    refused.is(404).says("his own words");
    assert!(!refused.html.contains(">hers<"), "{}", refused.html);
    assert_eq!(server.order(ORDER).await.1, 2);
}

#[tokio::test]
async fn what_was_gone_when_it_was_compared_is_not_compared_again() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    const NO: &str = "2026-000290";
    const SAVE: &str = "/orders/2026-000290/edit/save";
    const OPEN: &str = "/orders/2026-000290/edit";
    // An operator ends her editing, and saves.
    let changes = async |fields: &[(&str, &str)]| {
        park.submit(park.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
        let form = park.edit(NO).await.form(SAVE).with("new-price", "100").with("new-quantity", "1");
        park.submit(fields.iter().fold(form, |form, (name, value)| form.with(name, value))).await.is(200);
    };
    let hers = minji.edit(NO).await.form(SAVE).with("quantity-1", "7").with("quantity-2", "5");
    changes(&[("remove-2", "on"), ("new-product", "A")]).await;
    let again = minji.submit(minji.submit(hers).await.form(OPEN)).await;
    let compared = minji.submit(again.form(SAVE)).await;
    compared.is(409).says("One of the products that you changed was removed");
    changes(&[("remove-5", "on"), ("new-product", "B")]).await;
    let form = minji.submit(compared.press(SAVE, "edit-first")).await.is(200).form(SAVE);
    let compared = minji.submit(form).await;
    compared.is(409).says("both can be saved");
    assert!(!compared.text().contains("Line 2: Quantity"), "{}", compared.text());
    minji.submit(compared.press(SAVE, "both")).await.is(200);
    let lines: Vec<_> = server.order(NO).await.0.lines().iter().map(|line| (line.line_no(), line.quantity())).collect();
    assert_eq!(lines, [(1, 7), (3, 2), (4, 1), (6, 1)]);
}

#[tokio::test]
async fn quantity_that_others_changed_is_not_called_ones_own_after_editing_again() {
    const NO: &str = "2026-000290";
    const SAVE: &str = "/orders/2026-000290/edit/save";
    const OPEN: &str = "/orders/2026-000290/edit";
    // Text about the line that was removed in the form; and text of the address, in whose form there are no lines.
    for is_whole in [true, false] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let saves = async |quantity: &str| {
            server.clock.advance(Duration::from_secs(400));
            park.submit(park.edit(NO).await.form(SAVE).with("quantity-2", quantity)).await.is(200);
            server.clock.advance(Duration::from_secs(400));
        };
        let form = minji.edit(NO).await.form(SAVE).with("message", "Ring");
        let before = form.value("quantity-2").to_owned();
        saves("7").await;
        let form = match is_whole {
            true => Form { action: OPEN.into(), ..form.with("remove-2", "on") },
            false => (1..=9)
                .fold(Form { action: OPEN.into(), ..form }, |form, line| form.without(&format!("quantity-{line}"))),
        };
        let again = minji.submit(form.with("edit-first", "1").with("next-form", &"2".repeat(32))).await;
        let field = again.is(200).html.split("name=\"quantity-2\"").nth(1).unwrap().split('>').next().unwrap();
        assert!(field.contains(&format!("value=\"{before}\"")) && !field.contains("data-base"), "{field}");
        // The product stays after all, and its number is the one of the others.
        let form = again.form(SAVE).without("remove-2");
        saves("9").await;
        let compared = minji.submit(form).await;
        compared.is(409).says("both can be saved");
        minji.submit(compared.press(SAVE, "both")).await.is(200);
        let order = server.order(NO).await.0;
        let quantity = order.lines().iter().find(|line| line.line_no() == 2).map(OrderLine::quantity);
        assert_eq!((quantity, order.shipping().message()), (Some(9), "Ring"));
    }
}

#[tokio::test]
async fn a_product_that_is_removed_after_the_comparison_is_compared_again() {
    const NO: &str = "2026-000290";
    const SAVE: &str = "/orders/2026-000290/edit/save";
    // With something to choose, and without.
    for theirs in [("quantity-1", "8"), ("message", "Theirs")] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let saves = async |field: (&str, &str)| {
            server.clock.advance(Duration::from_secs(400));
            park.submit(park.edit(NO).await.form(SAVE).with(field.0, field.1)).await.is(200);
        };
        let hers = minji.edit(NO).await.form(SAVE).with("quantity-1", "7").with("quantity-2", "5");
        saves(theirs).await;
        let compared = minji.submit(hers).await;
        saves(("remove-2", "on")).await;
        let form = match theirs.0 {
            "message" => compared.press(SAVE, "both"),
            _ => compared.form(SAVE).with("quantity-1", "7"),
        };
        let compared = minji.submit(form).await;
        compared.is(409).says("One of the products that you changed was removed").says("5");
        minji.submit(compared.form(SAVE).with("quantity-1", "7")).await.is(200);
        let order = server.order(NO).await.0;
        assert_eq!(order.lines().iter().map(|line| line.quantity()).next(), Some(7));
        assert!(order.lines().iter().all(|line| line.line_no() != 2), "{}", theirs.0);
    }
}

#[tokio::test]
async fn a_product_that_was_added_stays_when_every_other_line_is_replaced() {
    const NEW: [&str; 3] = ["new-product", "new-price", "new-quantity"];
    // With something to choose, and without.
    for is_message_changed in [true, false] {
        let server = Server::start().await;
        let (olivia, park) = (server.sign_in("olivia").await, server.sign_in("park").await);
        let replaced = async |browser: &Browser, values: [&str; 3]| {
            let form = browser.edit(ORDER).await.form(SAVE).with("remove-1", "on");
            let form = if is_message_changed { form.with("message", values[0]) } else { form };
            NEW.into_iter().zip(values).fold(form, |form, (name, value)| form.with(name, value))
        };
        let his = replaced(&park, ["Erasers", "1000", "2"]).await;
        olivia.submit(olivia.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
        olivia.submit(replaced(&olivia, ["Charger", "32900", "1"]).await).await.is(200);
        let again = park.submit(park.submit(his).await.form("/orders/2026-000300/edit")).await;
        let compared = park.submit(again.form(SAVE)).await;
        compared.is(409).says("Charger");
        assert!(!compared.text().contains("Total"), "{}", compared.text());
        assert!(!compared.text().contains("If it is still wanted"), "he removed it as well: {}", compared.text());
        let form = compared.form(SAVE);
        park.submit(if is_message_changed { form.with("message", "Erasers") } else { form }).await.is(200);
        let order = server.order(ORDER).await.0;
        assert_eq!(order.lines().iter().map(OrderLine::product).collect::<Vec<_>>(), ["Charger", "Erasers"]);
    }
}

#[tokio::test]
async fn a_mistake_in_a_line_that_was_removed_since_is_no_dead_end() {
    const NO: &str = "2026-000290";
    const SAVE: &str = "/orders/2026-000290/edit/save";
    for typed in ["", "2 ea", "0"] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let hers = minji.edit(NO).await.form(SAVE).with("quantity-1", typed).with("message", "Ring twice");
        park.submit(park.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
        park.submit(park.edit(NO).await.form(SAVE).with("remove-1", "on")).await.is(200);
        let again = minji.submit(minji.submit(hers).await.form("/orders/2026-000290/edit")).await;
        let compared = minji.submit(again.form(SAVE)).await;
        assert!(!compared.is(409).text().contains("Line 1"), "{}", compared.text());
        // It is named, and the rest can be saved.
        let named = if typed.is_empty() { "(empty)" } else { typed };
        compared.says(&format!("Yours {named}")).says("was removed from the order meanwhile");
        minji.submit(compared.form(SAVE)).await.is(200);
        let order = server.order(NO).await.0;
        assert_eq!(order.shipping().message(), "Ring twice", "{typed}");
        assert!(order.lines().iter().all(|line| line.line_no() != 1));
    }
}

#[tokio::test]
async fn a_comparison_without_anything_to_choose_does_not_speak_of_choices() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = address_form(&minji).await.with("message", "Hers");
    park.submit(address_form(&park).await.with("message", "His")).await.is(200);
    let compared = minji.submit(hers).await;
    park.submit(park.open(ORDER).await.form(START)).await.is(200);
    let compared = minji.submit(compared.form(SHIPPING).with("message", "Hers")).await;
    compared.is(409).says("Hers").says("(not changed by you)");
    assert!(!compared.text().contains("What you chose before"), "{}", compared.text());
}

#[tokio::test]
async fn a_line_whose_product_was_added_again_is_not_to_be_added_once_more() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.edit(ORDER).await.form(SAVE).with("quantity-1", "3");
    let product = server.order(ORDER).await.0.lines()[0].product().to_owned();
    server.clock.advance(Duration::from_secs(400));
    let his = park.edit(ORDER).await.form(SAVE).with("remove-1", "on").with("new-product", &product);
    park.submit(his.with("new-price", "1000").with("new-quantity", "1")).await.is(200);
    let compared = minji.submit(hers).await;
    compared.is(409).says("in the order again, on another line").says("its product was added again");
    assert!(!compared.text().contains("If it is still wanted"), "{}", compared.text());
}

#[tokio::test]
async fn two_removals_that_would_leave_no_product_are_not_offered_together() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    const NO: &str = "2026-000290";
    const SAVE: &str = "/orders/2026-000290/edit/save";
    let lines = server.order(NO).await.0.lines().len();
    let remove =
        |form: Form, lines: &[usize]| lines.iter().fold(form, |form, line| form.with(&format!("remove-{line}"), "on"));
    let lunch = remove(park.edit(NO).await.form(SAVE), &(2..=lines).collect::<Vec<_>>());
    server.clock.advance(Duration::from_secs(400));
    olivia.submit(remove(olivia.edit(NO).await.form(SAVE), &[1])).await.is(200);
    let conflict = park.submit(lunch).await;
    conflict.is(409).says("would leave no product");
    assert!(
        !conflict.html.contains("name=\"both\"") && !conflict.text().contains("both can be"),
        "{}",
        conflict.text()
    );
    park.submit(conflict.form(SAVE).with("quantity-2", "3")).await.is(200);
    let left: Vec<_> = server.order(NO).await.0.lines().iter().map(OrderLine::line_no).collect();
    assert_eq!(left, [2]);
}

#[tokio::test]
async fn choice_between_what_only_the_others_changed_is_named_where_there_is_one() {
    let chooses = "theirs stay, unless you choose yours";
    for (field, value, has_a_choice) in [("quantity-1", "2", false), ("receiver.phone", "010-2222-3333", true)] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let mine = minji.get(SHIPPING).await.form(SHIPPING).with("message", "Mine");
        park.submit(park.edit(ORDER).await.form(SAVE).with("message", "Theirs").with(field, value)).await.is(200);
        let compared = minji.submit(mine).await;
        compared.is(409).says("Fields that only the other side changed (1)");
        assert_eq!(compared.text().contains(chooses), has_a_choice, "{field}: {}", compared.text());
    }
}
