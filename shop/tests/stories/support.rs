//! A real server on a free port, and people with browsers: cookies, pages and their forms.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::{Client, StatusCode};
use scraper::{Html, Selector};
use shop::domain::{Address, Member, MemberId, Money, Order, OrderLine, OrderNo, Receiver, Role, ShippingInfo};
use shop::seed::DEMO_PASSWORD;
use shop::use_cases::Shop;
use shop::{Accounts, Settings};
use tempfile::TempDir;
use tenure::{
    Database, LockManager, LockMode, Repository, Version, VersionToken, clock::ManualClock, db::ConnectOptions,
};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Minji's newest order: paid, being prepared.
pub const ORDER: &str = "2026-000300";
/// The time to live of a lease.
pub const TTL: Duration = Duration::from_secs(300);

pub struct Server {
    pub base: String,
    pub clock: ManualClock,
    pub db: Database,
    stop: Option<oneshot::Sender<()>>,
    _directory: TempDir,
}

/// A new database: a file in this directory, or one on the server under test.
pub fn database_url(directory: &TempDir) -> String {
    match std::env::var("SHOP_STORIES_ON").as_deref() {
        Err(_) | Ok("sqlite") => format!("sqlite://{}/shop.db", directory.path().display()),
        Ok("postgres") => testkit::new_database(testkit::Kind::Postgres),
        Ok("mysql") => testkit::new_database(testkit::Kind::MariaDb),
        Ok(other) => panic!("SHOP_STORIES_ON={other}: the stories are told on sqlite, postgres and mysql"),
    }
}

impl Server {
    pub async fn start() -> Server {
        Server::start_as(|shop| shop).await
    }

    pub async fn start_as(set_up: impl FnOnce(Shop) -> Shop) -> Server {
        Server::start_with(Settings::default(), set_up).await
    }

    /// A shop with other settings.
    pub async fn start_with(settings: Settings, set_up: impl FnOnce(Shop) -> Shop) -> Server {
        let directory = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let url = database_url(&directory);
        let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
        // Stories ask at once what is new.
        let shop = set_up(shop::open(db.clone(), Accounts::Demo).await.unwrap().live_every(Duration::ZERO));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(shop::serve(listener, shop, settings, async move { drop(stopped.await) }));
        Server { base, clock, db, stop: Some(stop), _directory: directory }
    }

    /// A browser without a session.
    pub fn browser(&self) -> Browser {
        let client = Client::builder().cookie_store(true).build().unwrap();
        Browser { client, base: self.base.clone() }
    }

    /// A browser with this user agent.
    pub fn browser_that_says(&self, agent: &str) -> Browser {
        let client = Client::builder().cookie_store(true).user_agent(agent).build().unwrap();
        Browser { client, base: self.base.clone() }
    }

    /// A browser in which this member is signed in.
    pub async fn sign_in(&self, login: &str) -> Browser {
        let browser = self.browser();
        let form = browser.get("/sign-in").await.form("/sign-in").with("login", login).with("password", DEMO_PASSWORD);
        let page = browser.submit(form).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.html);
        browser
    }

    pub async fn order(&self, no: &str) -> (Order, i64) {
        let order = Repository::<Order>::new(&self.db).get(&OrderNo::new(no).unwrap()).await.unwrap().unwrap();
        (Order::clone(&order), order.version().number())
    }

    /// A new order of minji's under any number.
    pub async fn place(&self, no: &str) {
        self.place_of(no, "김민지").await;
    }

    /// The same, of a customer of this name.
    pub async fn place_of(&self, no: &str, name: &str) {
        let receiver = Receiver { name: "김민지".into(), phone: "010-0000-1234".into() };
        let address = Address { postal_code: "06236".into(), line1: "테헤란로 1".into(), line2: String::new() };
        let shipping = ShippingInfo::new(receiver, address, "").unwrap();
        let lines = vec![OrderLine::new(1, "tea", Money::won(9_000), 1).unwrap()];
        let (no, minji) = (OrderNo::new(no).unwrap(), MemberId::new("minji").unwrap());
        let order = Order::place(no, minji, name, shipping, lines, Timestamp::now()).unwrap();
        let mut tx = self.db.begin().await.unwrap();
        Repository::<Order>::new(&self.db).insert(&mut tx, order).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// A member, as the shop knows them.
    pub async fn member(&self, login: &str) -> Member {
        let members = Repository::<Member>::new(&self.db);
        let mut tx = self.db.begin().await.unwrap();
        members.find(&mut tx, &MemberId::new(login).unwrap(), LockMode::Optimistic).await.unwrap().unwrap().into_inner()
    }

    /// An operator becomes a customer, with the same sessions.
    pub async fn becomes_a_customer(&self, login: &str) {
        let members = Repository::<Member>::new(&self.db);
        let mut tx = self.db.begin().await.unwrap();
        let id = MemberId::new(login).unwrap();
        let member = members.find(&mut tx, &id, LockMode::Optimistic).await.unwrap().unwrap();
        let customer = Member::new(id, member.name(), Role::Customer, member.password_hash()).unwrap();
        members.delete(&mut tx, member).await.unwrap();
        members.insert(&mut tx, customer).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Waits until a transaction waits for another one. On SQLite they queue before they begin, which cannot be observed.
    pub async fn until_somebody_waits(&self) {
        const POSTGRES: &str = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'";
        const MARIADB: &str = "select count(*) from information_schema.innodb_trx
            join information_schema.processlist on id = trx_mysql_thread_id
            where db = database() and trx_state = 'LOCK WAIT'";
        loop {
            let waiting: i64 = if let Ok(pool) = self.db.postgres() {
                sqlx::query_scalar(POSTGRES).fetch_one(pool).await.unwrap()
            } else if let Ok(pool) = self.db.mysql() {
                sqlx::query_scalar(MARIADB).fetch_one(pool).await.unwrap()
            } else {
                return;
            };
            if waiting > 0 {
                return;
            }
            // MariaDB refreshes its data only if nobody has read it within a tenth of a second.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    }

    /// The holder of a lock, and its generation.
    pub async fn held(&self) -> Vec<(String, i64)> {
        let held = LockManager::new(&self.db).list().run().await.unwrap().items;
        held.into_iter().map(|listed| (listed.holder.owner.id.clone(), listed.holder.generation)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

#[derive(Clone)]
pub struct Browser {
    client: Client,
    base: String,
}

impl Browser {
    pub async fn get(&self, path: &str) -> Page {
        self.send(self.client.get(format!("{}{path}", self.base))).await
    }

    /// A page, requested with these headers.
    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Page {
        let request = self.client.get(format!("{}{path}", self.base));
        self.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    }

    pub async fn submit(&self, form: Form) -> Page {
        self.send(self.client.post(format!("{}{}", self.base, form.action)).form(&form.fields)).await
    }

    /// A raw request: for invalid content.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Page {
        let request = self.client.post(format!("{}{path}", self.base)).form(fields);
        self.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    }

    /// The page of an order.
    pub async fn open(&self, no: &str) -> Page {
        self.get(&order_path(no)).await
    }

    /// Presses *Edit* on the page of an order.
    pub async fn edit(&self, no: &str) -> Page {
        let form = self.open(no).await.form(&format!("{}/edit", order_path(no)));
        self.submit(form).await
    }

    /// The heartbeat of an open form, as the page's script sends it.
    pub async fn beat(&self, kind: &str, form: &Form, want: &str) -> (u16, serde_json::Value) {
        let no = form.action.split('/').nth(2).unwrap();
        let names = ["csrf", "person", "form_id", "lid", "version"];
        let mut fields: Vec<_> = names.iter().map(|name| (*name, form.value(name))).collect();
        fields.push(("want", want));
        fields.extend(
            form.fields
                .iter()
                .filter(|(name, _)| name == "instead_of")
                .map(|(_, value)| ("instead_of", value.as_str())),
        );
        let page = self.post(&format!("/orders/{no}/beat?form={kind}"), &fields, &[]).await;
        (page.status.as_u16(), serde_json::from_str(&page.html).unwrap_or_default())
    }

    /// The same form as the page's script sends it.
    pub async fn send_by_script(&self, form: &Form) -> (u16, serde_json::Value) {
        let fields: Vec<_> = form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let page = self.post(&form.action, &fields, &[("accept", "application/json")]).await;
        (page.status.as_u16(), serde_json::from_str(&page.html).unwrap_or_default())
    }

    /// The hidden fields of a new form, as the page of this person's script requests them.
    pub async fn new_form(&self, person: &str) -> (u16, serde_json::Value) {
        let page = self.get(&format!("/tenure/form?person={person}")).await;
        let answer: serde_json::Value = serde_json::from_str(&page.html).unwrap_or_default();
        (page.status.as_u16(), answer["fields"].clone())
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Page {
        Page::of(request.send().await.unwrap()).await
    }
}

impl Page {
    pub async fn of(response: reqwest::Response) -> Page {
        let (status, path) = (response.status(), response.url()[url::Position::BeforePath..].to_owned());
        let headers = response.headers().clone();
        Page { status, path, headers, html: response.text().await.unwrap() }
    }
}

/// The version of an order in the format of forms.
pub fn token(no: &str, version: i64) -> String {
    VersionToken::<Order>::new(&OrderNo::new(no).unwrap(), Version::new(version).unwrap()).to_string()
}

/// The path of an order's page, for any number.
pub fn order_path(no: &str) -> String {
    let escaped: String = no
        .bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    format!("/orders/{escaped}")
}

#[derive(Debug, Clone)]
pub struct Page {
    pub status: StatusCode,
    pub path: String,
    pub headers: reqwest::header::HeaderMap,
    pub html: String,
}

impl Page {
    /// The form that posts to this path, with the page's values.
    pub fn form(&self, action: &str) -> Form {
        self.find_form(action).unwrap_or_else(|| panic!("no form for {action} in {}:\n{}", self.path, self.html))
    }

    pub fn has_form(&self, action: &str) -> bool {
        self.find_form(action).is_some()
    }

    fn find_form(&self, action: &str) -> Option<Form> {
        self.forms(action).into_iter().next()
    }

    /// All forms that post to this path, but for the one that puts earlier text into a form.
    pub fn forms(&self, action: &str) -> Vec<Form> {
        let document = Html::parse_document(&self.html);
        let posting = selector("form[method=post]:not([data-tenure-sent])");
        let forms = document.select(&posting);
        forms.filter(|form| form.attr("action") == Some(action)).map(|form| read_form(action, form)).collect()
    }

    /// The form that posts to this path, as its button of this name sends it.
    pub fn press(&self, action: &str, button: &str) -> Form {
        let document = Html::parse_document(&self.html);
        let found = document.select(&selector(&format!("form[action='{action}'] button[name='{button}']"))).next();
        let found = found.unwrap_or_else(|| panic!("no button {button} in {}:\n{}", self.path, self.html));
        let to = found.attr("formaction").unwrap_or(action).to_owned();
        Form { action: to, ..self.form(action) }.with(button, found.attr("value").unwrap_or_default())
    }

    /// The state of the page, from its `<main>`.
    pub fn state(&self) -> String {
        let document = Html::parse_document(&self.html);
        let main = document.select(&selector("main")).next().unwrap_or_else(|| panic!("no main in {}", self.html));
        main.attr("data-state").unwrap_or_default().to_owned()
    }

    /// The visible text of the page's main part, with the contents of its fields.
    pub fn text(&self) -> String {
        let document = Html::parse_document(&self.html);
        let main = document.select(&selector("main")).next().unwrap_or_else(|| panic!("no main in {}", self.html));
        let words: Vec<_> = main.text().flat_map(str::split_whitespace).collect();
        let fields = selector("input:not([type=hidden])");
        let typed: Vec<_> = main.select(&fields).filter_map(|field| field.attr("value")).collect();
        format!("{} | {}", words.join(" "), typed.join(" | "))
    }

    pub fn says(&self, words: &str) -> &Self {
        assert!(self.text().contains(words), "{} ({}) does not say {words:?}: {}", self.path, self.status, self.text());
        self
    }

    /// The page begins with this message about what was done before.
    pub fn tells(&self, words: &str) -> &Self {
        let document = Html::parse_document(&self.html);
        let told: String = document.select(&selector(".flash")).flat_map(|flash| flash.text()).collect();
        assert!(told.contains(words), "{} ({}) does not tell {words:?}, but {told:?}", self.path, self.status);
        self
    }

    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{}: {}", self.path, self.html);
        self
    }
}

#[derive(Debug, Clone)]
pub struct Form {
    pub action: String,
    pub fields: Vec<(String, String)>,
}

impl Form {
    pub fn with(mut self, name: &str, value: &str) -> Form {
        self.fields.retain(|(field, _)| field != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Form {
        self.fields.retain(|(field, _)| field != name);
        self
    }

    pub fn value(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("{} has no field {name}", self.action))
    }
}

fn selector(css: &str) -> Selector {
    Selector::parse(css).unwrap()
}

fn read_form(action: &str, form: scraper::ElementRef<'_>) -> Form {
    let mut fields = Vec::new();
    for field in form.select(&selector("input[name], textarea[name], select[name]")) {
        let value = match field.value().name() {
            "textarea" => field.text().collect::<String>().trim_start_matches('\n').to_owned(),
            _ => field.attr("value").unwrap_or_default().to_owned(),
        };
        let unchecked = matches!(field.attr("type"), Some("checkbox" | "radio")) && field.attr("checked").is_none();
        if !unchecked && field.attr("type") != Some("submit") {
            fields.push((field.attr("name").unwrap().to_owned(), value));
        }
    }
    Form { action: action.to_owned(), fields }
}
