//! A full disk, and a file that cannot be written: reads succeed, writes are refused together with the typed
//! text, and nothing is stored partially.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use shop::domain::{Order, OrderNo};
use shop::{Accounts, Settings};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;
use tenure::{Database, Repository, db::ConnectOptions};
use tokio::net::TcpListener;

use super::client::Visitor;
use super::program::Program;
use super::support::{Form, ORDER};

const SHIPPING: &str = "/orders/2026-000300/shipping";

/// A shop on a SQLite file, also if other tests use a server.
struct OnFile {
    db: Database,
    base: String,
    directory: TempDir,
}

impl OnFile {
    async fn start() -> OnFile {
        OnFile::on(tempfile::tempdir().unwrap(), "1000000").await
    }

    /// A shop on the file in this folder, which grows to so many pages, or as it is: like a full disk.
    async fn on(directory: TempDir, pages: &'static str) -> OnFile {
        let file = directory.path().join("shop.db");
        let driver = SqliteConnectOptions::new().filename(file).create_if_missing(true).pragma("max_page_count", pages);
        let db = Database::connect_driver(driver, ConnectOptions::new()).await.unwrap();
        let shop = shop::open(db.clone(), Accounts::Demo).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(shop::serve(listener, shop, Settings::default(), std::future::pending()));
        OnFile { db, base, directory }
    }

    /// Another session writes, and does not end until this is dropped.
    async fn is_written_by_another(&self) -> SqliteConnection {
        let file = SqliteConnectOptions::new().filename(self.directory.path().join("shop.db"));
        let mut other = SqliteConnection::connect_with(&file).await.unwrap();
        sqlx::raw_sql("begin immediate").execute(&mut other).await.unwrap();
        other
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
    let OnFile { db, directory, .. } = OnFile::start().await;
    db.close().await;
    let shop = OnFile::on(directory, "1").await;
    let mut minji = Visitor::signed_in(&shop.base, "minji").await;
    let mut park = Visitor::signed_in(&shop.base, "park").await;
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
    let OnFile { db, directory, .. } = shop;
    db.close().await;
    let shop = OnFile::on(directory, "1000000").await;
    minji.base = shop.base.clone();
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
    let _other = shop.is_written_by_another().await;
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
