//! What stands in the logs when everything is logged.

use super::program::{Program, log};
use super::support::ORDER;

const TYPED: &str = "0000-typed-by-minji";
const NOTE: &str = "0000-noted-by-park";
const WRONG: &str = "0000-wrong-password";

#[tokio::test]
async fn the_most_talkative_log_tells_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path());
    let (order, edit) = (format!("/orders/{ORDER}"), format!("/orders/{ORDER}/edit"));
    let mut secrets = vec![WRONG.to_owned(), TYPED.to_owned(), NOTE.to_owned(), shop::seed::DEMO_PASSWORD.to_owned()];

    // A password that is wrong, and one that is right.
    let mut minji = super::client::Visitor::new(&program.base);
    let form = minji.page("/sign-in").await.form("/sign-in").with("login", "minji");
    secrets.push(form.value("csrf").to_owned());
    assert_eq!(minji.send(form.with("password", WRONG)).await.status, 422);
    secrets.extend(minji.cookies.values().cloned());
    let (mut minji, mut park) = (program.sign_in("minji").await, program.sign_in("park").await);

    // An order from the first look to the last: opened, kept alive, refused, saved, left, broken, cancelled.
    let opened = minji.page(&order).await.form(&edit);
    let form = minji.follow(opened).await.form(&format!("{edit}/save"));
    secrets.extend(["lid", "csrf"].map(|name| form.value(name).to_owned()));
    let beat = format!("{order}/beat?form=edit");
    let body = super::client::encoded(&form.clone().with("want", "keep").fields);
    assert_eq!(minji.post(&beat, &body).await.status, 200);
    minji.follow(form.clone().with("receiver.phone", "x").with("message", TYPED)).await.is(422);
    minji.follow(form.with("message", TYPED)).await.is(200);
    let opened = minji.page(&order).await.form(&edit);
    let form = minji.follow(opened).await.form(&format!("{edit}/save")).with("message", TYPED);
    secrets.push(form.value("lid").to_owned());
    let broken = park.page("/locks").await.form("/locks/break").with("reason", "out");
    assert_eq!(park.send(broken).await.status, 303);
    minji.follow(form.clone().with("message", "late")).await;
    minji.send(form.without("csrf")).await;
    let note = park.page(&order).await.form(&format!("{order}/note/edit"));
    let note = park.follow(note).await.form(&format!("{order}/note/save"));
    secrets.extend(["lid", "csrf"].map(|name| note.value(name).to_owned()));
    park.follow(note.with("text", NOTE)).await.is(200);
    let cancel = minji.page(&order).await.form(&format!("{order}/cancel"));
    minji.follow(cancel).await.is(200);
    secrets.extend(minji.cookies.values().chain(park.cookies.values()).filter(|value| value.len() > 8).cloned());
    let out = minji.page("/orders").await.form("/sign-out");
    minji.send(out).await;
    drop(program);

    // Where people live, by the order that minji has seen.
    secrets.extend(["010-0000-1001", "테헤란로14길", "가온빌"].map(str::to_owned));
    let log = log(folder.path());
    assert!(log.contains("TRACE") && log.lines().count() > 100, "it logs next to nothing: {log}");
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(&secret));
        assert_eq!(line, None, "{secret:?} is in the log");
    }
}
