//! The lock console.

use super::support::{ORDER, Server};

#[tokio::test]
async fn a_note_keeps_nobody_away_and_its_lock_is_not_ended() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    park.submit(park.open(ORDER).await.form("/orders/2026-000300/note/edit")).await.is(200);
    let console = olivia.get("/locks").await;
    console.is(200).says("Note on order").says("Keeps nobody away");
    assert_eq!(console.forms("/locks/break").len(), 0);
    park.edit(ORDER).await.is(200);
    let end = olivia.get("/locks").await.form("/locks/break").with("reason", "why");
    olivia.submit(end.with("kind", "Note")).await.is(400);
    assert_eq!(server.held().await.len(), 2);
}

#[tokio::test]
async fn an_operator_ends_a_forgotten_lease_and_its_holder_reads_why() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let editing = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save").with("message", "kept");
    let console = park.get("/locks").await;
    console.is(200).says("김민지").says(ORDER);
    let end = console.form("/locks/break");
    park.submit(end.clone().with("reason", " ")).await.is(422);
    // That was no text of the order: its page has nothing to give back.
    assert!(!park.get("/orders/2026-000300").await.is(200).html.contains("Your text of"));
    park.submit(end.with("reason", "고객이 전화로 요청")).await.is(200);
    let refused = minji.submit(editing).await;
    refused.is(410).says("박서연").says("고객이 전화로 요청").says("kept");
    assert_eq!((refused.state().as_str(), server.order(ORDER).await.1), ("OE-11", 1));
}

#[tokio::test]
async fn page_that_waited_with_text_says_that_the_order_is_free_when_it_is_loaded_again() {
    let server = Server::start().await;
    for (language, free, never) in
        [("en", "You can edit now", "cannot be saved"), ("ko", "지금 수정할 수 있습니다", "저장할 수 없는 양식")]
    {
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        minji.get(&format!("/orders/{ORDER}?lang={language}")).await;
        let editing = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save").with("message", language);
        park.submit(park.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
        let his = park.edit(ORDER).await;
        let refused = minji.submit(editing).await;
        let waits = minji.submit(refused.is(410).form("/orders/2026-000300/edit")).await;
        waits.is(423).says(language);
        park.submit(his.form("/orders/2026-000300/edit/save").with("receiver.phone", "010-2222-3333")).await.is(200);
        let page = minji.get(&waits.path).await;
        page.is(410).says(free).says(language);
        assert!(!page.text().contains(never), "{}", page.text());
        let form = minji.submit(page.form("/orders/2026-000300/edit")).await;
        minji.submit(form.is(200).form("/orders/2026-000300/edit/save")).await;
        minji.submit(form.form("/orders/2026-000300/leave")).await;
        server.clock.advance(std::time::Duration::from_secs(400));
    }
}

#[tokio::test]
async fn comparison_whose_editing_was_ended_does_not_promise_that_it_can_be_saved_later() {
    const SAVE: &str = "/orders/2026-000300/edit/save";
    let server = Server::start().await;
    let [minji, park, olivia] =
        [server.sign_in("minji").await, server.sign_in("park").await, server.sign_in("olivia").await];
    let older = minji.edit(ORDER).await;
    minji.submit(older.form("/orders/2026-000300/leave")).await;
    park.submit(park.edit(ORDER).await.form(SAVE).with("message", "Theirs")).await;
    let mine = minji.edit(ORDER).await.form(SAVE).with("message", "Mine");
    let compared = minji.submit(mine.with("version", older.form(SAVE).value("version"))).await;
    let compared = compared.is(409).form(SAVE);
    let said = async || {
        let told = minji.beat("comparison", &compared, "look").await.1;
        (told["said"].as_str().unwrap_or_default().to_owned(), told["actions"].to_string())
    };
    olivia.submit(olivia.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
    for is_held in [false, true] {
        if is_held {
            park.edit(ORDER).await.is(200);
        }
        let (said, actions) = said().await;
        assert!(said.contains("ended") && said.contains("[Edit mine first]"), "{said}");
        assert!(!said.contains("you can save here") && !actions.contains("retry"), "{said} {actions}");
    }
}

#[tokio::test]
async fn page_whose_editing_was_ended_says_who_edits_and_who_saved_since() {
    const SAVE: &str = "/orders/2026-000300/edit/save";
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let older = minji.edit(ORDER).await;
    minji.submit(older.form("/orders/2026-000300/leave")).await;
    park.submit(park.edit(ORDER).await.form(SAVE).with("message", "Theirs")).await;
    let mine = minji.edit(ORDER).await.form(SAVE);
    let compared = mine.clone().with("message", "Mine").with("version", older.form(SAVE).value("version"));
    let compared = minji.submit(compared).await.is(409).form(SAVE);
    let said =
        async |kind, form| minji.beat(kind, form, "look").await.1["said"].as_str().unwrap_or_default().to_owned();
    park.submit(park.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
    let theirs = park.edit(ORDER).await.form(SAVE).with("message", "Theirs again");
    for (kind, form) in [("comparison", &compared), ("edit", &mine)] {
        let said = said(kind, form).await;
        assert!(said.contains("ended your editing") && said.contains("has been editing since"), "{kind}: {said}");
    }
    park.submit(theirs).await.is(200);
    for (kind, form, told) in [("comparison", &compared, "“now” is older"), ("edit", &mine, "Compare before you go on")]
    {
        let said = said(kind, form).await;
        assert!(said.contains("ended your editing") && said.contains("edited the order"), "{kind}: {said}");
        assert!(said.contains(told), "{kind}: {said}");
    }
}

#[tokio::test]
async fn a_form_of_an_order_that_was_ended_and_shipped_is_not_offered_to_be_edited_again() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save").with("message", "Ring twice");
    park.submit(park.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
    park.submit(park.open(ORDER).await.form("/orders/2026-000300/start-shipping")).await.is(200);
    let refused = minji.submit(hers).await;
    assert_eq!(refused.is(409).says("Ring twice").state(), "OE-15");
    assert!(!refused.has_form("/orders/2026-000300/edit"));
}

#[tokio::test]
async fn an_operator_who_ends_their_own_lease_reads_that() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let editing = park.edit(ORDER).await.form("/orders/2026-000300/edit/save").with("message", "kept");
    park.submit(park.get("/locks").await.form("/locks/break").with("reason", "mine")).await.is(200);
    let refused = park.submit(editing).await;
    assert_eq!(refused.is(410).says("You ended this editing at").says("kept").state(), "OE-11");
}

#[tokio::test]
async fn break_after_a_holder_change_ends_nothing() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let first = minji.edit(ORDER).await;
    let end = park.get("/locks").await.form("/locks/break").with("reason", "stuck");
    minji.submit(first.form("/orders/2026-000300/leave")).await;
    minji.edit(ORDER).await.is(200);
    park.submit(end).await.is(409);
    assert_eq!(server.held().await, [("minji".into(), 2)]);
}

#[tokio::test]
async fn the_console_is_for_operators() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let csrf = minji.open(ORDER).await.form("/orders/2026-000300/edit").value("csrf").to_owned();
    minji.edit(ORDER).await.is(200);
    minji.get("/locks").await.is(403);
    let fields = [("csrf", csrf.as_str()), ("kind", "Order"), ("id", ORDER), ("generation", "1"), ("reason", "mine")];
    minji.post("/locks/break", &fields, &[]).await.is(403);
    assert_eq!(server.held().await.len(), 1);
}
