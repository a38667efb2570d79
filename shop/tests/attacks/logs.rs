//! The content of the logs at the most verbose level.

use std::fs;

use super::client::{Visitor, encoded};
use super::program::{Program, log};
use super::support::ORDER;

const TYPED: &str = "0000-typed-by-minji";
const NOTE: &str = "0000-noted-by-park";
const WRONG: &str = "0000-wrong-password";

/// The secrets and texts of a session of two people.
struct Secrets {
    /// Secrets that sign in, or hold a lock.
    credentials: Vec<String>,
    /// Typed texts and addresses.
    personal: Vec<String>,
}

/// Two people work with an order: from a wrong password to signing out.
async fn work(program: &Program) -> Secrets {
    let (order, edit) = (format!("/orders/{ORDER}"), format!("/orders/{ORDER}/edit"));
    let mut credentials = vec![WRONG.to_owned(), shop::seed::DEMO_PASSWORD.to_owned()];

    // A wrong password, and the right one.
    let mut minji = Visitor::new(&program.base);
    let form = minji.page("/sign-in").await.form("/sign-in").with("login", "minji");
    credentials.push(form.value("csrf").to_owned());
    assert_eq!(minji.send(form.with("password", WRONG)).await.status, 422);
    credentials.extend(minji.cookies.values().cloned());
    let (mut minji, mut park) = (program.sign_in("minji").await, program.sign_in("park").await);

    // An order from opening to the end: opened, kept alive, refused, saved, left, broken, cancelled.
    let opened = minji.page(&order).await.form(&edit);
    let form = minji.follow(opened).await.form(&format!("{edit}/save"));
    credentials.extend(["lid", "csrf"].map(|name| form.value(name).to_owned()));
    let body = encoded(&form.clone().with("want", "keep").fields);
    assert_eq!(minji.post(&format!("{order}/beat?form=edit"), &body).await.status, 200);
    minji.follow(form.clone().with("receiver.phone", "x").with("message", TYPED)).await.is(422);
    minji.follow(form.with("message", TYPED)).await.is(200);
    let opened = minji.page(&order).await.form(&edit);
    let form = minji.follow(opened).await.form(&format!("{edit}/save")).with("message", TYPED);
    credentials.push(form.value("lid").to_owned());
    let broken = park.page("/locks").await.form("/locks/break").with("reason", "She has gone home.");
    assert_eq!(park.send(broken).await.status, 303);
    minji.follow(form.clone().with("message", "late")).await;
    minji.send(form.without("csrf")).await;
    let note = park.page(&order).await.form(&format!("{order}/note/edit"));
    let note = park.follow(note).await.form(&format!("{order}/note/save"));
    credentials.extend(["lid", "csrf"].map(|name| note.value(name).to_owned()));
    park.follow(note.with("text", NOTE)).await.is(200);
    let cancel = minji.page(&order).await.form(&format!("{order}/cancel"));
    minji.follow(cancel).await.is(200);
    credentials.extend(minji.cookies.values().chain(park.cookies.values()).filter(|value| value.len() > 8).cloned());
    let out = minji.page("/orders").await.form("/sign-out");
    assert_eq!(minji.send(out).await.status, 303);

    let personal = [TYPED, NOTE, "010-0000-1001", "테헤란로14길", "가온빌"].map(str::to_owned).to_vec();
    Secrets { credentials, personal }
}

#[tokio::test]
async fn most_verbose_log_contains_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path());
    let secrets = work(&program).await;
    drop(program);
    let log = log(folder.path());
    assert!(log.contains("TRACE") && log.lines().count() > 100, "it logs next to nothing: {log}");
    for secret in secrets.credentials.iter().chain(&secrets.personal) {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret:?} is in the log");
    }
}

#[tokio::test]
async fn database_file_contains_no_usable_secret() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path());
    let secrets = work(&program).await;
    drop(program);
    let files = ["shop.db", "shop.db-wal"].map(|file| fs::read(folder.path().join(file)).unwrap());
    let is_there = |text: &str| files.iter().any(|file| file.windows(text.len()).any(|part| part == text.as_bytes()));
    assert!(secrets.personal.iter().any(|text| is_there(text)), "what was typed is not found either");
    for secret in &secrets.credentials {
        assert!(!is_there(secret), "{secret:?} is in the file");
    }
}
