//! A full disk, and a file that cannot be written: reads succeed, writes are refused together with the typed
//! text, and nothing is stored partially.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use shop::domain::{Order, OrderNo};
use shop::{Accounts, Settings};
use tempfile::TempDir;
use tenure::{Database, Repository};
use tokio::net::TcpListener;

use super::client::Visitor;
use super::program::Program;
use super::support::{Form, ORDER};

const SHIPPING: &str = "/orders/2026-000300/shipping";

/// A shop on a SQLite file, also if other tests use a server.
struct OnFile {
    db: Database,
    base: String,
    _directory: TempDir,
}

impl OnFile {
    async fn start() -> OnFile {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await.unwrap();
        let shop = shop::open(db.clone(), Accounts::Demo).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(shop::serve(listener, shop, Settings::default(), std::future::pending()));
        OnFile { db, base, _directory: directory }
    }

    /// Sets a pragma on the writing connection.
    async fn set(&self, pragma: &str) {
        let mut tx = self.db.begin().await.unwrap();
        let text = sqlx::AssertSqlSafe(format!("pragma {pragma}"));
        sqlx::query(text).fetch_all(tx.sqlite().unwrap()).await.unwrap();
        tx.rollback().await.unwrap();
    }

    /// Stops the growth of the file, like a full disk; or allows it again.
    async fn fill(&self, is_full: bool) {
        let pages: i64 = sqlx::query_scalar("pragma page_count").fetch_one(self.db.sqlite().unwrap()).await.unwrap();
        self.set(&format!("max_page_count = {}", if is_full { pages } else { 1_000_000 })).await;
    }

    async fn order(&self) -> (String, i64) {
        let order = Repository::<Order>::new(&self.db).get(&OrderNo::new(ORDER).unwrap()).await.unwrap().unwrap();
        (order.shipping().message().to_owned(), order.version().number())
    }
}

/// Pages can be read, and do not mention the problem.
async fn reads_are_answered(shop: &OnFile, minji: &mut Visitor, park: &mut Visitor) {
    for path in ["/orders", "/orders/2026-000300", SHIPPING, "/sign-in", "/orders?state=Shipped&page=2"] {
        let answer = minji.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
    assert_eq!(park.get("/locks").await.status, 200);
    assert_eq!(Visitor::new(&shop.base).get("/sign-in").await.status, 200);
    assert_eq!(Visitor::new(&shop.base).get("/assets/shop.css").await.status, 200);
}

/// A save that cannot be stored: a page says so, shows the typed text, and offers to send it again.
async fn is_refused_with_its_text(shop: &OnFile, minji: &mut Visitor, form: &Form, before: &(String, i64)) {
    let answer = minji.send(form.clone()).await;
    assert!((500..600).contains(&answer.status), "{} {}", answer.status, answer.location());
    let page = answer.page(&form.action);
    page.says(form.value("message"));
    assert_eq!(page.form(&form.action).value("message"), form.value("message"));
    assert_eq!(&shop.order().await, before);
}

#[tokio::test]
async fn on_a_full_disk_pages_are_read_and_no_text_is_lost() {
    let shop = OnFile::start().await;
    let mut minji = Visitor::signed_in(&shop.base, "minji").await;
    let mut park = Visitor::signed_in(&shop.base, "park").await;
    shop.fill(true).await;
    // The existing pages of the file have some free space.
    let (form, before) = loop {
        let before = shop.order().await;
        assert!(before.1 < 200, "it never got full");
        let form =
            minji.page(SHIPPING).await.form(SHIPPING).with("message", &format!("{} {}", before.1, "가".repeat(490)));
        let answer = minji.send(form.clone()).await;
        if answer.status != 303 {
            break (form, before);
        }
        let stored = shop.order().await;
        assert_eq!((answer.location(), stored.1), ("/orders/2026-000300", before.1 + 1), "it was acknowledged");
    };
    is_refused_with_its_text(&shop, &mut minji, &form, &before).await;
    reads_are_answered(&shop, &mut minji, &mut park).await;
    // With free space the same form is saved.
    shop.fill(false).await;
    assert_eq!(minji.send(form.clone()).await.location(), "/orders/2026-000300");
    assert_eq!(shop.order().await, (form.value("message").to_owned(), before.1 + 1));
}

#[tokio::test]
async fn unwritable_storage_keeps_pages_readable_and_the_text() {
    let shop = OnFile::start().await;
    let mut minji = Visitor::signed_in(&shop.base, "minji").await;
    let mut park = Visitor::signed_in(&shop.base, "park").await;
    let form = minji.page(SHIPPING).await.form(SHIPPING).with("message", "typed");
    let before = shop.order().await;
    shop.set("query_only = on").await;
    is_refused_with_its_text(&shop, &mut minji, &form, &before).await;
    reads_are_answered(&shop, &mut minji, &mut park).await;
    // Sign-in and sign-out report the failure, too.
    let mut lee = Visitor::new(&shop.base);
    let sign_in = lee.page("/sign-in").await.form("/sign-in").with("login", "lee");
    let answer = lee.send(sign_in.with("password", shop::seed::DEMO_PASSWORD)).await;
    assert!((500..600).contains(&answer.status) && !answer.body.is_empty(), "{}", answer.status);
    assert_eq!(lee.get("/orders").await.status, 303, "nobody is signed in without a session");
    let out = minji.page("/orders").await.form("/sign-out");
    let answer = minji.send(out).await;
    assert!((500..600).contains(&answer.status) && !answer.body.is_empty(), "{}", answer.status);
    assert_eq!(shop.order().await, before);
}

#[test]
fn a_file_that_cannot_be_written_ends_the_start_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    drop(Program::start(folder.path()));
    let file = folder.path().join("shop.db");
    // Content of the log that is not in the file yet needs a writer.
    let before = fs::read(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let (status, said) = Program::run_without_rights(folder.path());
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("The shop could not start"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), before);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}
