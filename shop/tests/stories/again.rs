//! Repeated forms, revisited pages, and kept texts.

use shop::domain::{OrderLine, OrderState};

use tenure_web::form_id::FormId;

use super::support::{Form, ORDER, Server, TTL, token};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const EDIT: &str = "/orders/2026-000300/edit";
const SAVE: &str = "/orders/2026-000300/edit/save";
const START: &str = "/orders/2026-000300/start-shipping";

#[tokio::test]
async fn a_form_that_is_sent_twice_saves_once_and_says_saved_twice() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    for whole in [false, true] {
        let form = if whole { minji.edit(ORDER).await.form(SAVE) } else { minji.get(SHIPPING).await.form(SHIPPING) };
        let form = form.with("message", &format!("문 앞에 {whole}"));
        let before = server.order(ORDER).await.1;
        for _ in 0..2 {
            let saved = minji.submit(form.clone()).await;
            assert!(saved.is(200).html.contains("Saved."), "{}", saved.html);
        }
        assert_eq!(server.order(ORDER).await.1, before + 1);
    }
}

#[tokio::test]
async fn concurrent_sends_of_one_form_save_once_without_conflict() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    for round in 1..=10 {
        let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", &format!("{round}"));
        let (one, two) = tokio::join!(minji.submit(form.clone()), minji.submit(form));
        one.is(200);
        two.is(200);
        assert_eq!(server.order(ORDER).await.1, round + 1);
    }
}

#[tokio::test]
async fn corrected_form_after_a_lost_response_saves_on_itself() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "first");
    minji.submit(form.clone()).await.is(200);
    minji.submit(form.clone().with("message", "second")).await.is(200).says("second");
    assert_eq!(server.order(ORDER).await.1, 3);
    // A change by somebody else in between is a conflict as always.
    let park = server.sign_in("park").await;
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "his")).await.is(200);
    minji.submit(form.with("message", "third")).await.is(409).says("his").says("third");
}

#[tokio::test]
async fn corrected_order_form_does_not_conflict_with_itself() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form(SAVE).with("message", "first");
    minji.submit(form.clone()).await.is(200);
    // The save released the lease. While somebody else has the order, nothing says that "second" is saved.
    let park = server.sign_in("park").await;
    let his = park.edit(ORDER).await.is(200).form("/orders/2026-000300/leave");
    let refused = minji.submit(form.clone().with("message", "second")).await;
    assert_eq!(refused.is(423).says("second").state(), "LP-1");
    park.submit(his).await.is(200);
    // Then it is her own version that she changes.
    minji.submit(form.with("message", "second")).await.is(200).says("second");
    assert_eq!((server.order(ORDER).await.1, server.held().await), (3, vec![]));
}

#[tokio::test]
async fn double_click_does_not_conflict_with_itself() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let start = park.open(ORDER).await.form(START);
    for _ in 0..2 {
        park.submit(start.clone()).await.is(200);
    }
    assert_eq!((server.order(ORDER).await.0.state(), server.order(ORDER).await.1), (OrderState::Shipped, 2));
}

#[tokio::test]
async fn foreign_form_is_neither_replayed_nor_saved() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.get(SHIPPING).await.form(SHIPPING).with("message", "hers");
    // She shared an address with her form's id. His save with it neither returns her result, nor is based on hers.
    let his = park.get(SHIPPING).await.form(SHIPPING).with("form_id", hers.value("form_id")).with("message", "his");
    minji.submit(hers.clone()).await.is(200);
    park.submit(his.clone()).await.is(409).says("hers").says("his");
    let his = park.get(SHIPPING).await.form(SHIPPING).with("form_id", hers.value("form_id")).with("message", "his");
    park.submit(his.clone()).await.is(200).says("his");
    // Nor is hers based on his, when she corrects it.
    minji.submit(hers.with("message", "hers again")).await.is(409).says("his").says("hers again");
    // Her typed text is not saved in his name.
    let as_him = his.with("person", "minji").with("message", "typed by her");
    let refused = park.submit(as_him).await;
    assert_eq!(refused.is(409).state(), "other-person");
    // Nor when it is sent again, as long as she has not signed in.
    assert_eq!(park.submit(refused.form(SHIPPING)).await.is(409).state(), "other-person");
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "his");
}

#[tokio::test]
async fn every_refusal_page_can_be_reloaded_without_resending() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let (hers, edit) = (minji.get(SHIPPING).await.form(SHIPPING), minji.edit(ORDER).await.form(SAVE));
    let locked = park.edit(ORDER).await;
    minji.submit(edit.clone().with("message", "saved")).await.is(200);
    let conflict = minji.submit(hers.clone().with("message", "typed")).await;
    let mistake = minji.submit(minji.get(SHIPPING).await.form(SHIPPING).with("receiver.name", "")).await;
    assert_eq!((conflict.status.as_u16(), mistake.status.as_u16(), locked.status.as_u16()), (409, 422, 423));
    assert_eq!(minji.get(&conflict.path).await.is(409).says("typed").state(), conflict.state());
    assert_eq!(minji.get(&mistake.path).await.is(422).state(), "OE-17");
    // By now nobody blocks him.
    park.get(&locked.path).await.is(200);
    let version = server.order(ORDER).await.1;
    assert_eq!((version, server.held().await), (2, vec![]));
}

#[tokio::test]
async fn lock_page_is_current_after_a_reload() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let his = park.get(SHIPPING).await.form(SHIPPING).with("message", "불량 확인");
    let hers = minji.edit(ORDER).await;
    let locked = park.submit(his).await;
    assert_eq!(locked.is(423).says("김민지").says("불량 확인").state(), "LP-1");
    minji.submit(hers.form("/orders/2026-000300/leave")).await.is(200);
    let free = park.get(&locked.path).await;
    assert_eq!(free.is(200).says("불량 확인").state(), "LP-6");
    park.submit(free.form(SHIPPING)).await.is(200).says("불량 확인");
    assert_eq!(park.get(&locked.path).await.is(410).state(), "OE-20");
}

#[tokio::test]
async fn a_refused_button_leads_to_the_order_once_nothing_blocks_it() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    for button in [START, "/orders/2026-000300/cancel"] {
        let (pressed, hers) = (park.open(ORDER).await.form(button), minji.edit(ORDER).await);
        let locked = park.submit(pressed).await;
        assert_eq!(locked.is(423).state(), "OV-7");
        minji.submit(hers.form("/orders/2026-000300/leave")).await.is(200);
        // Nothing was typed, so nothing is to be saved.
        assert_eq!(park.get(&locked.path).await.is(200).path, "/orders/2026-000300");
    }
    assert_eq!((server.order(ORDER).await.0.state(), server.order(ORDER).await.1), (OrderState::Preparing, 1));
}

#[tokio::test]
async fn kept_text_is_visible_only_to_its_author_and_order() {
    let server = Server::start().await;
    let (minji, park, lee) = (server.sign_in("minji").await, server.sign_in("park").await, server.sign_in("lee").await);
    park.submit(park.open(ORDER).await.form(START)).await.is(200);
    let opened = token(ORDER, 1);
    let form = minji.open("2026-000299").await.form("/sign-out");
    let typed = Form { action: SHIPPING.into(), ..form }
        .with("version", &opened)
        .with("form_id", &"1".repeat(32))
        .with("lid", &"2".repeat(64))
        .with("receiver.name", "비밀 김")
        .with("receiver.phone", "010-0000-1234")
        .with("address.postal_code", "06236")
        .with("address.line1", "비밀로 1");
    let kept = minji.submit(typed).await;
    kept.is(409).says("비밀로 1");
    for other in [&park, &lee] {
        assert!(!other.get(&kept.path).await.html.contains("비밀로 1"));
    }
    let elsewhere = kept.path.replace("000300", "000299");
    assert!(!minji.get(&elsewhere).await.is(404).html.contains("비밀로 1"));
    // Nor can it be loaded into one's own form.
    let his = park.get("/orders/2026-000298/shipping").await;
    if his.has_form("/orders/2026-000298/shipping") {
        let id = kept.path.rsplit('/').next().unwrap().to_owned();
        let fetched = park.submit(his.form("/orders/2026-000298/shipping").with("kept", &id)).await;
        assert!(!fetched.is(404).html.contains("비밀로 1"));
    }
}

#[tokio::test]
async fn only_the_latest_refused_forms_are_stored_and_one_sent_again_counts_once() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let other = minji.get(SHIPPING).await.form(SHIPPING).with("receiver.name", "");
    let other = minji.submit(other.with("message", "first")).await.is(422).path.clone();
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("receiver.name", "");
    let mut pages = Vec::new();
    for round in 0..52 {
        pages.push(minji.submit(form.clone().with("message", &format!("{round}"))).await.is(422).path.clone());
    }
    minji.get(&pages[0]).await.is(404);
    minji.get(&pages[2]).await.is(404);
    assert_eq!(minji.get(&pages[3]).await.is(422).form(SHIPPING).value("message"), "3");
    assert_eq!(minji.get(&other).await.is(422).form(SHIPPING).value("message"), "first");
}

#[tokio::test]
async fn dropped_text_is_named_nowhere() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let (order, leave) = (format!("/orders/{ORDER}"), format!("/orders/{ORDER}/leave"));
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "mine");
    minji.submit(form.clone().with("address.postal_code", "")).await.is(422);
    let page = minji.get(&order).await;
    page.says("Your text of");
    let drop = page.form(&format!("{order}/text"));
    park.submit(drop.clone().with("csrf", park.get(&order).await.form("/sign-out").value("csrf"))).await.is(200);
    minji.get(&order).await.says("Your text of");
    let dropped = minji.submit(drop).await;
    assert!(dropped.is(200).html.contains("Discarded.") && !dropped.html.contains("Your text of"));

    // Put into a form again, it is named, and saved with that.
    let next = minji.get(SHIPPING).await.form(SHIPPING).with("message", "mine");
    let moved = Form { action: format!("{order}/text"), ..form.clone() }.with("next-form", next.value("form_id"));
    minji.submit(moved).await.is(200);
    minji.get(&order).await.says("Your text of");
    minji.submit(next).await.is(200);
    assert!(!minji.get(&order).await.html.contains("Your text of"));

    // Also what it went on from: a comparison that was edited first.
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "mine again");
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "theirs")).await.is(200);
    let conflict = minji.submit(form).await;
    let first = minji.submit(conflict.is(409).press(SHIPPING, "edit-first")).await;
    let refused = minji.submit(first.form(SHIPPING).with("address.postal_code", "")).await;
    minji.submit(refused.is(422).form(&leave)).await.is(200);
    assert!(!minji.get(&order).await.html.contains("Your text of"));
    assert!(!minji.get("/orders?only=drafts").await.html.contains(ORDER));
}

#[tokio::test]
async fn each_refused_text_is_named_until_it_is_saved() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let [one, two] = [("message", "one"), ("address.line2", "two")].map(|typed| async {
        let form = minji.get(SHIPPING).await.form(SHIPPING).with(typed.0, typed.1);
        minji.submit(form.clone().with("address.postal_code", "")).await.is(422);
        form
    });
    let (one, two) = (one.await, two.await);
    let order = format!("/orders/{ORDER}");
    minji.submit(two).await.is(200);
    minji.get(&order).await.says("Your text of");
    let conflict = minji.submit(one).await;
    minji.submit(conflict.is(409).press(SHIPPING, "both")).await.is(200);
    assert!(!minji.get(&order).await.html.contains("Your text of"));
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "one");
}

#[tokio::test]
async fn back_to_refused_text_shows_whether_its_form_was_saved_since() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    for action in [SHIPPING, SAVE] {
        let page = if action == SAVE { minji.edit(ORDER).await } else { minji.get(SHIPPING).await };
        let form = page.form(action).with("message", action);
        let refused = minji.submit(form.clone().with("address.postal_code", "")).await;
        let corrected = refused.is(422).form(action).with("address.postal_code", "06236");
        minji.submit(corrected.clone()).await.is(200).says(action);
        assert_eq!(minji.get(&refused.path).await.is(410).says(action).state(), "OE-20");
        // Sent again, as after Back without scripts: what was saved before does not hide it.
        let later = corrected.with("receiver.name", "").with("message", "later");
        let later = minji.submit(later).await;
        for page in [minji.get(&later.path).await, later] {
            assert_ne!(page.says("later").state(), "OE-20", "{action}");
        }
    }
}

#[tokio::test]
async fn text_too_long_to_keep_is_still_shown() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let long = "가".repeat(24_000);
    let page = minji.submit(minji.get(SHIPPING).await.form(SHIPPING).with("message", &long)).await;
    assert_eq!((page.is(422).path.as_str(), page.form(SHIPPING).value("message")), (SHIPPING, long.as_str()));
}

#[tokio::test]
async fn restored_old_text_keeps_its_version() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let draft = minji.get(SHIPPING).await.form(SHIPPING).with("address.line1", "세종대로 9");
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "불량 확인")).await.is(200);
    // As the script sends a draft that was typed on another version.
    for (action, open) in [(SHIPPING, SHIPPING), (EDIT, SAVE)] {
        let sent = Form { action: action.into(), ..draft.clone() }.with("edit-first", "1");
        let page = minji.submit(sent).await;
        let label =
            page.html.split("data-label=\"At ").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        assert_eq!(label.len(), "10:00".len(), "the head of a column is no markup: {label}");
        let form = page.is(200).says("박서연").says("불량 확인").form(open);
        assert_eq!((form.value("version"), form.value("address.line1")), (token(ORDER, 1).as_str(), "세종대로 9"));
        let conflict = minji.submit(form).await;
        assert_eq!(conflict.is(409).says("불량 확인").says("세종대로 9").state(), "CP-1");
        assert_eq!(server.order(ORDER).await.1, 2);
        if open == SAVE {
            let both = minji.submit(conflict.press(SAVE, "both")).await;
            both.is(200).says("불량 확인").says("세종대로 9");
        }
    }
}

#[tokio::test]
async fn expired_lease_resumes_only_if_nothing_changed() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form(SAVE).with("message", "after lunch");
    server.clock.advance(TTL);
    let (_, told) = minji.beat("edit", &form, "keep").await;
    assert_eq!((&told["mode"], &told["state"]), (&"held".into(), &"OE-7".into()));
    assert_eq!(server.held().await, [("minji".into(), 1)]);
    server.clock.advance(TTL);
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("address.line1", "한강대로 2")).await.is(200);
    let (_, told) = minji.beat("edit", &form, "keep").await;
    assert_eq!(
        (&told["mode"], &told["state"], &told["actions"]),
        (&"moved".into(), &"OE-25".into(), &serde_json::json!(["save"]))
    );
    assert!(told["said"].as_str().unwrap().contains("박서연"), "{told}");
    let compared = minji.submit(form).await;
    assert_eq!(compared.is(409).says("박서연").says("after lunch").state(), "CP-1");
}

#[tokio::test]
async fn script_responses_are_redirect_targets_not_pages() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.get(SHIPPING).await.form(SHIPPING);
    let (status, mistake) = minji.send_by_script(&form.clone().with("receiver.name", "")).await;
    assert_eq!((status, &mistake["done"]), (200, &false.into()));
    minji.get(mistake["next"].as_str().unwrap()).await.is(422);
    let (status, saved) = minji.send_by_script(&form.clone().with("message", "hi")).await;
    assert_eq!((status, &saved["done"], &saved["next"]), (200, &true.into(), &"/orders/2026-000300".into()));
    let (status, refused) = minji.send_by_script(&form.clone().with("csrf", "0")).await;
    assert_eq!((status, &refused["code"]), (403, &"csrf-failed".into()));
    let (status, refused) = server.browser().send_by_script(&form).await;
    assert!(status == 401 && refused["detail"].as_str().unwrap().contains("signed in"), "{refused}");
    let (status, other) = park.send_by_script(&form).await;
    assert_eq!((status, &other["code"]), (409, &"other-person".into()));
}

#[tokio::test]
async fn form_address_is_useless_to_others_and_after_the_save() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.edit(ORDER).await;
    let lid = hers.form(SAVE).value("lid").to_owned();
    // For another person, it shows who is editing; in another browser of hers, that it is herself.
    let seen = park.get(&hers.path).await;
    assert_eq!((seen.is(423).state().as_str(), seen.html.contains(&lid)), ("LP-1", false));
    let other_browser = server.sign_in("minji").await.get(&hers.path).await;
    assert_eq!((other_browser.is(423).state().as_str(), other_browser.html.contains(&lid)), ("LP-16", false));
    // A second window of the same browser shows the same form.
    assert_eq!(minji.get(&hers.path).await.is(200).form(SAVE).value("lid"), lid);
    minji.submit(hers.form("/orders/2026-000300/leave")).await.is(200);
    assert_eq!(minji.get(&hers.path).await.is(410).state(), "OE-20");
    // For him there is no form: he is shown the order, and nothing is acquired.
    assert_eq!(park.get(&hers.path).await.is(200).path, "/orders/2026-000300");
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn back_after_a_resolved_conflict_never_overwrites() {
    // Both kept; mine on top; theirs taken, so that nothing of mine was saved.
    for way in ["both", "mine", "theirs"] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let form = minji.get(SHIPPING).await.form(SHIPPING);
        let (mine, his) = if way == "both" { ("address.line1", "message") } else { ("message", "message") };
        park.submit(park.get(SHIPPING).await.form(SHIPPING).with(his, "불량 확인")).await.is(200);
        let conflict = minji.submit(form.clone().with(mine, "세종대로 9")).await;
        let resolved = match way {
            "both" => conflict.is(409).press(SHIPPING, "both"),
            "mine" => conflict.is(409).form(SHIPPING),
            _ => conflict.is(409).form(SHIPPING).with("message", "불량 확인"),
        };
        minji.submit(resolved).await.is(200);
        let (before, version) = server.order(ORDER).await;
        // The opened form, with other text in it: by its button, and by [Edit again].
        let back = form.with("address.line2", "3층");
        minji.submit(back.clone()).await.is(409);
        let again = minji.submit(back.with("edit-first", "1")).await.is(200).form(SHIPPING);
        assert_eq!(again.value("version"), token(ORDER, 1), "{way}");
        minji.submit(again).await.is(409);
        let (after, now) = server.order(ORDER).await;
        assert_eq!((after.shipping(), now), (before.shipping(), version), "{way}");
    }
}

#[tokio::test]
async fn editing_again_keeps_no_text_of_a_form_in_which_nothing_was_typed() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let address = minji.get(SHIPPING).await.form(SHIPPING).with("edit-first", "1");
    let whole = Form { action: EDIT.into(), ..minji.edit(ORDER).await.form(SAVE) }.with("next-form", &"2".repeat(32));
    server.clock.advance(TTL + std::time::Duration::from_secs(1));
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "theirs")).await.is(200);
    for form in [address, whole] {
        minji.submit(form).await.is(200).says("theirs");
        minji.get("/orders?only=drafts").await.says("0 orders");
    }
}

#[tokio::test]
async fn page_about_an_editor_lists_only_what_was_typed() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice");
    let before = format!(">{}<", form.value("receiver.phone"));
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("receiver.phone", "02-000-1234")).await.is(200);
    park.edit(ORDER).await.is(200);
    let refused = minji.submit(form).await;
    assert!(!refused.is(423).says("Ring twice").html.contains(&before), "{}", refused.html);
}

#[tokio::test]
async fn refused_form_in_which_nothing_was_typed_is_not_called_unsaved() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.get(SHIPPING).await.form(SHIPPING);
    park.edit(ORDER).await.is(200);
    minji.submit(form.clone()).await.is(423);
    minji.get("/orders?only=drafts").await.says("0 orders");
    assert!(!minji.open(ORDER).await.html.contains("was not saved"));
    minji.submit(form.with("message", "Ring twice")).await.is(423);
    minji.get("/orders?only=drafts").await.says("1 order");
}

#[tokio::test]
async fn editing_again_keeps_no_text_that_was_saved_as_it_is() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", " Ring twice ");
    minji.submit(form.clone()).await.is(200);
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "theirs")).await.is(200);
    let page = minji.submit(form.with("edit-first", "1")).await;
    assert_eq!((page.is(200).path.as_str(), page.form(SHIPPING).value("message")), (SHIPPING, "theirs"));
    minji.get("/orders?only=drafts").await.says("0 orders");
    assert!(!minji.open(ORDER).await.html.contains("was not saved"));
}

#[tokio::test]
async fn page_of_an_ended_form_does_not_say_that_nobody_changed_the_order() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await;
    park.submit(park.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "theirs")).await.is(200);
    let page = minji.get(&form.path).await;
    page.is(410).says("The form can be opened again, with the order as it is now.");
    assert!(!page.text().contains("Nobody had changed"), "{}", page.text());
}

#[tokio::test]
async fn leaving_a_form_whose_save_had_arrived_says_that_it_was_saved() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.get(SHIPPING).await;
    let leave = page.form("/orders/2026-000300/leave");
    minji.submit(page.form(SHIPPING).with("message", "Ring twice")).await.is(200);
    let left = minji.submit(leave).await;
    left.is(200).tells("It had been saved before you left the form");
    assert!(!left.text().contains("without saving"), "{}", left.text());
}

#[tokio::test]
async fn taking_theirs_after_a_comparison_was_saved_without_an_answer_says_that_it_was_saved() {
    const SAVE: &str = "/orders/2026-000300/edit/save";
    const LEAVE: &str = "/orders/2026-000300/leave";
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let older = minji.edit(ORDER).await;
    minji.submit(older.form(LEAVE)).await;
    let shipping = minji.get(SHIPPING).await;
    park.submit(park.edit(ORDER).await.form(SAVE).with("message", "Theirs")).await;
    let whole = minji.edit(ORDER).await.form(SAVE).with("version", older.form(SAVE).value("version"));
    for (mine, at) in [(whole, SAVE), (shipping.form(SHIPPING), SHIPPING)] {
        let compared = minji.submit(mine.with("message", at)).await;
        compared.is(409);
        let leave = compared.form(LEAVE);
        minji.submit(compared.form(at).with("message", at)).await.is(200);
        minji.submit(leave).await.is(200).tells("It had been saved before you left the form");
    }
}

#[tokio::test]
async fn product_whose_removal_was_saved_and_is_taken_back_is_compared() {
    const NO: &str = "2026-000290";
    const SAVE: &str = "/orders/2026-000290/edit/save";
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(NO).await.form(SAVE);
    // Its answer is lost, so she does not know that it was saved.
    minji.submit(form.clone().with("remove-2", "on")).await.is(200);
    let late = minji.submit(form.with("quantity-2", "9").with("message", "Ring")).await;
    late.is(409).says("was removed from the order meanwhile");
    assert!(late.text().contains("Yours 9"), "{}", late.text());
    assert_eq!((minji.get(&late.path).await.status, server.order(NO).await.1), (late.status, 2));
    minji.submit(late.form(SAVE).with("message", "Ring")).await.is(200);
    assert_eq!(server.order(NO).await.0.shipping().message(), "Ring");
    assert!(!minji.open(NO).await.text().contains("was not saved"));
}

#[tokio::test]
async fn comparison_of_text_after_a_save_without_an_answer_is_not_finished() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.get(SHIPPING).await.form(SHIPPING);
    let (mine, his) = (form.clone().with("message", "first"), form.with("message", "second"));
    minji.submit(mine).await.is(200);
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "theirs")).await.is(200);
    let compared = minji.submit(his).await;
    let (status, told) = minji.beat("comparison", &compared.is(409).form(SHIPPING), "look").await;
    assert!(status == 200 && told["mode"] != "saved", "{told}");
    minji.submit(compared.form(SHIPPING).with("message", "second")).await.is(200);
    let (_, told) = minji.beat("comparison", &compared.form(SHIPPING), "look").await;
    assert_eq!(told["mode"], "saved");
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "second");
}

#[tokio::test]
async fn text_that_was_overtaken_on_its_way_does_not_replace_a_later_one() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let note = "/orders/2026-000300/note/save";
    let open = || async {
        let opens = park.open(ORDER).await.form("/orders/2026-000300/note/edit");
        park.submit(opens).await
    };
    for (path, field) in [(SHIPPING, "message"), (SAVE, "message"), (note, "text")] {
        let page = match path {
            SHIPPING => park.get(SHIPPING).await,
            SAVE => park.edit(ORDER).await,
            _ => open().await,
        };
        let form = page.is(200).form(path);
        park.submit(form.clone().with(field, "second").with("nth", "2")).await.is(200);
        park.submit(form.clone().with(field, "first").with("nth", "1")).await.is(410).says("first");
        // The later text again, and one that is later still.
        park.submit(form.clone().with(field, "second").with("nth", "1")).await.is(200);
        park.submit(form.with(field, "third").with("nth", "3")).await.is(200);
        assert!(!park.open(ORDER).await.text().contains("was not saved"));
        let now = if path == note { open().await } else { park.get(SHIPPING).await };
        assert_eq!(now.form(if path == note { note } else { SHIPPING }).value(field), "third", "{path}");
    }
}

#[tokio::test]
async fn text_that_was_taken_back_is_not_saved_by_a_request_that_was_on_its_way() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING);
    minji.submit(form.clone().with("nth", "2")).await.is(200);
    minji.submit(form.with("message", "first").with("nth", "1")).await.is(410);
    assert_eq!(server.order(ORDER).await.1, 1);
}

#[tokio::test]
async fn product_that_was_added_and_saved_is_not_added_again() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    for (pieces, message) in [("2", "Ring"), ("3", "Ring"), ("2", "")] {
        let form = park.edit(ORDER).await.form(SAVE);
        let form = form.with("new-product", "찻잔").with("new-price", "12,000").with("new-quantity", "2");
        let before = server.order(ORDER).await.0.lines().len();
        park.submit(form.clone()).await.is(200);
        // There was no answer. What was typed since goes on in another form, by [Edit again] or as a draft.
        let more =
            form.with("new-quantity", pieces).with("message", message).with("next-form", &FormId::random().to_string());
        let again = park.submit(Form { action: EDIT.into(), ..more }).await.is(200).form(SAVE);
        park.submit(again).await.is(200);
        let order = server.order(ORDER).await.0;
        let added: Vec<_> = order.lines()[before..].iter().map(|line| line.quantity().to_string()).collect();
        assert_eq!((added, order.shipping().message()), (vec![pieces.to_owned()], message));
    }
}

#[tokio::test]
async fn product_that_was_added_and_saved_is_not_added_again_beside_the_change_of_another() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let form = park.edit(ORDER).await.form(SAVE);
    let form = form.with("new-product", "찻잔").with("new-price", "12,000").with("new-quantity", "2");
    park.submit(form.clone()).await.is(200);
    olivia.submit(olivia.get(SHIPPING).await.form(SHIPPING).with("message", "theirs")).await.is(200);
    // There was no answer, and the same form is sent with more.
    let met = park.submit(form.with("new-quantity", "3").with("address.line2", "3층")).await;
    assert!(
        met.is(409).says("Quantity of 찻잔").html.contains("3층") && !met.text().contains("new line"),
        "{}",
        met.text()
    );
    park.submit(met.press(SAVE, "both")).await.is(200);
    let order = server.order(ORDER).await.0;
    let pieces: Vec<_> =
        order.lines().iter().filter(|line| line.product() == "찻잔").map(OrderLine::quantity).collect();
    assert_eq!(
        (pieces, order.shipping().message(), order.shipping().address().line2.as_str()),
        (vec![3], "theirs", "3층")
    );
}
