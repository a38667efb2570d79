//! What open pages cost: a shop with many orders, many signed-in people whose pages ask what is new, and some who edit.
//!
//! ```text
//! cargo run --release --package shop --example open_pages                      # SQLite, 1,000 pages, 100,000 orders, a minute
//! cargo run --release --package shop --example open_pages -- --database postgres://… --seconds 30
//! ```
//!
//! The server is a process of its own, so that its processor time is its own. Of the pages, 40 in 100 are the list, 40 an order, 20 a form; each
//! asks with its tag, at the pace of the script when something changed lately. Every second somebody takes an order, saves it, and lets go.
//! It also measures the list itself.

use std::error::Error;
use std::fs;
use std::future::pending;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client, StatusCode};
use sha2::{Digest, Sha256};
use shop::domain::{Address, MemberId, Money, Order, OrderLine, OrderNo, Receiver, ShippingInfo};
use shop::{Accounts, Settings};
use tenure::{Database, LockKey, LockManager, Owner, Repository};
use tokio::net::TcpListener;
use tokio::time::sleep;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The customers and operators of the demo.
const PEOPLE: [&str; 5] = ["minji", "lee", "emma", "park", "olivia"];
/// The first of them are customers.
const CUSTOMERS: usize = 3;
/// The script's interval, with its jitter.
const PACE_MS: u64 = 2_000;
const JITTER_MS: u64 = 500;

#[derive(Parser, Clone)]
struct Arguments {
    /// The database; a new file of SQLite if it is missing
    #[arg(long)]
    database: Option<String>,
    #[arg(long, default_value_t = 1_000)]
    pages: usize,
    #[arg(long, default_value_t = 100_000)]
    orders: usize,
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Serve this database, and print the address
    #[arg(long, hide = true)]
    serve: Option<String>,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    if let Some(url) = &arguments.serve {
        return serve(url).await;
    }
    let directory = tempfile::tempdir()?;
    let url = arguments.database.clone().unwrap_or_else(|| format!("sqlite://{}/shop.db", directory.path().display()));
    let db = Database::connect(&url).await?;
    drop(shop::open(db.clone(), Accounts::Demo).await?);
    let begun = Instant::now();
    let numbers = seed(&db, arguments.orders).await?;
    let cookies = sign_in(&db, arguments.pages).await?;
    println!("{} orders, {} sessions, in {:.0?}", numbers.len(), cookies.len(), begun.elapsed());

    let mut server = Command::new(std::env::current_exe()?).args(["--serve", &url]).stdout(Stdio::piped()).spawn()?;
    let mut base = String::new();
    BufReader::new(server.stdout.take().ok_or("no output")?).read_line(&mut base)?;
    let base = base.trim().to_owned();
    let result = measure(&arguments, &db, &base, server.id(), &numbers, cookies).await;
    server.kill()?;
    server.wait()?;
    result
}

async fn serve(url: &str) -> Outcome<()> {
    let shop = shop::open(Database::connect(url).await?, Accounts::Demo).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let settings = Settings { connections: 4_096, ..Settings::default() };
    Ok(shop::serve(listener, shop, settings, pending()).await?)
}

/// Orders of the demo's customers, beside those of the demo.
async fn seed(db: &Database, count: usize) -> Outcome<Vec<OrderNo>> {
    let orders = Repository::<Order>::new(db);
    let now = Timestamp::now() - SignedDuration::from_hours(24 * 60);
    let mut numbers = Vec::with_capacity(count);
    for start in (0..count).step_by(1_000) {
        let mut tx = db.begin_within(tenure::Wait::Within(Duration::from_secs(60))).await?;
        for at in start..(start + 1_000).min(count) {
            let no = OrderNo::new(format!("S-{at:07}"))?;
            let receiver = Receiver { name: "김민지".into(), phone: "010-0000-1234".into() };
            let address = Address { postal_code: "06236".into(), line1: "테헤란로 1".into(), line2: String::new() };
            let lines = vec![OrderLine::new(1, "주전자 1.5L", Money::won(9_000 + at as i64 % 50_000), 1)?];
            let (member, name) = [("minji", "김민지"), ("lee", "Lee Junho"), ("emma", "Emma")][at % CUSTOMERS];
            let placed = now - SignedDuration::from_secs(at as i64 * 60);
            let shipping = ShippingInfo::new(receiver, address, "").map_err(|wrong| format!("{wrong:?}"))?;
            let mut order = Order::place(no.clone(), MemberId::new(member)?, name, shipping, lines, placed)?;
            if at % 4 != 0 {
                order.confirm_payment()?;
            }
            orders.insert(&mut tx, order).await?;
            numbers.push(no);
        }
        tx.commit().await?;
    }
    Ok(numbers)
}

/// A session for each page.
async fn sign_in(db: &Database, count: usize) -> Outcome<Vec<String>> {
    let now = Timestamp::now().as_second();
    let mut cookies = Vec::with_capacity(count);
    let mut rows = Vec::new();
    for at in 0..count {
        let secret = format!("{at:064x}");
        let id: String = Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        rows.push(format!("('{id}', '{}', 1, 'open_pages', {now}, {now})", PEOPLE[at % PEOPLE.len()]));
        cookies.push(format!("shop={secret}; lang=ko"));
    }
    let sql =
        format!("insert into sign_in (id, member, epoch, browser, started_at, seen_at) values {}", rows.join(", "));
    let mut tx = db.begin().await?;
    let sql = sqlx::AssertSqlSafe(sql);
    if db.postgres().is_ok() {
        sqlx::query(sql).execute(tx.postgres()?).await?;
    } else if db.mysql().is_ok() {
        sqlx::query(sql).execute(tx.mysql()?).await?;
    } else {
        sqlx::query(sql).execute(tx.sqlite()?).await?;
    }
    tx.commit().await?;
    Ok(cookies)
}

#[derive(Default)]
struct Counts {
    same: AtomicU64,
    new: AtomicU64,
    other: AtomicU64,
    slowest_us: AtomicU64,
}

async fn measure(
    arguments: &Arguments,
    db: &Database,
    base: &str,
    server: u32,
    numbers: &[OrderNo],
    cookies: Vec<String>,
) -> Outcome<()> {
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    lists(&client, base, &cookies).await?;
    let counts = Arc::new(Counts::default());
    let mut pages = Vec::new();
    for (at, cookie) in cookies.into_iter().enumerate() {
        // The demo's operators see all orders, and each customer those that were seeded for them.
        let own = if at % PEOPLE.len() < CUSTOMERS { at - at % CUSTOMERS + at % PEOPLE.len() } else { at };
        let no = &numbers[own % 300.min(numbers.len())];
        let path = match at / PEOPLE.len() % 5 {
            0 | 1 => question(&client, base, &cookie, &format!("/orders?page={}", 1 + at % 7)).await?,
            2 | 3 => format!("/orders/{no}/now?page=order&v=1"),
            _ => format!("/orders/{no}/now"),
        };
        let (client, url, counts) = (client.clone(), format!("{base}{path}"), counts.clone());
        pages.push(tokio::spawn(asks(client, url, cookie, at as u64, counts)));
    }
    let editing = tokio::spawn(edits(db.clone(), numbers.to_vec()));
    // All pages have asked before the measurement begins.
    sleep(Duration::from_secs(5)).await;
    let database = database_process(db).await?;
    let begun = (cpu(server)?, database.map(family_cpu).transpose()?, Instant::now());
    let before = [&counts.same, &counts.new, &counts.other].map(|count| count.load(Ordering::Relaxed));
    sleep(Duration::from_secs(arguments.seconds)).await;
    let seconds = begun.2.elapsed().as_secs_f64();
    let server_cores = (cpu(server)? - begun.0) / seconds;
    let database_cores = database.map(family_cpu).transpose()?.zip(begun.1).map(|(now, then)| (now - then) / seconds);
    let after = [&counts.same, &counts.new, &counts.other].map(|count| count.load(Ordering::Relaxed));
    pages.iter().for_each(|page| page.abort());
    editing.abort();
    let [same, new, other] = std::array::from_fn(|at| (after[at] - before[at]) as f64 / seconds);
    println!(
        "{} open pages for {seconds:.0} s: {same:.0} times 304, {new:.1} times 200, {other:.1} others a second",
        pages.len()
    );
    println!("slowest answer: {:.1} ms", counts.slowest_us.load(Ordering::Relaxed) as f64 / 1_000.0);
    println!("server: {server_cores:.3} of a core");
    match database_cores {
        Some(cores) => println!("database: {cores:.3} of a core, with the edits"),
        None => println!("database: part of the server"),
    }
    Ok(())
}

/// The address in `data-now` of a page.
async fn question(client: &Client, base: &str, cookie: &str, path: &str) -> Outcome<String> {
    let page = client.get(format!("{base}{path}")).header("cookie", cookie).send().await?.text().await?;
    let address = page.split("data-now=\"").nth(1).and_then(|rest| rest.split('"').next()).ok_or("no data-now")?;
    Ok(address.replace("&#38;", "&").replace("&amp;", "&"))
}

async fn asks(client: Client, url: String, cookie: String, seed: u64, counts: Arc<Counts>) {
    let (mut tag, mut dice) = (String::new(), seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    loop {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        sleep(Duration::from_millis(PACE_MS + dice % JITTER_MS)).await;
        let request = client.get(&url).header("cookie", &cookie).header("if-none-match", &tag);
        let begun = Instant::now();
        let Ok(response) = request.send().await else {
            counts.other.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let count = match response.status() {
            StatusCode::NOT_MODIFIED => &counts.same,
            StatusCode::OK => &counts.new,
            _ => &counts.other,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(new) = response.headers().get("etag").and_then(|tag| tag.to_str().ok()) {
            new.clone_into(&mut tag);
        }
        drop(response.bytes().await);
        counts.slowest_us.fetch_max(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
    }
}

/// Somebody takes an order, saves it, and lets go, once a second.
async fn edits(db: Database, numbers: Vec<OrderNo>) -> Outcome<()> {
    let (orders, locks, park) = (Repository::<Order>::new(&db), LockManager::new(&db), Owner::new("park", "박서연"));
    for at in 0usize.. {
        let no = &numbers[at * 7 % 300.min(numbers.len())];
        let lease = locks.try_lock(&LockKey::of::<Order>(no), &park).await?;
        sleep(Duration::from_millis(900)).await;
        let update = orders.update(no).by(&park).command("change shipping info").holding(lease.id());
        update
            .run(|order: &mut Order| {
                let mut receiver = order.shipping().receiver().clone();
                receiver.name = format!("김민지 {at}");
                let info =
                    ShippingInfo::new(receiver, order.shipping().address().clone(), "").map_err(|_| "invalid")?;
                order.change_shipping_info(info).map_err(|_| "refused")
            })
            .await
            .map_err(|error| format!("{error:?}"))?;
        locks.release_lock(lease.id()).await?;
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// How long the list takes, as an operator and as a customer.
async fn lists(client: &Client, base: &str, cookies: &[String]) -> Outcome<()> {
    let paths = [
        "/orders",
        "/orders?state=Preparing",
        "/orders?page=2000",
        "/orders?q=S-0099999",
        "/orders?q=Emma",
        "/orders?q=no+such+thing",
        "/orders?sort=total",
        "/orders?only=edited",
    ];
    for path in paths {
        for (who, cookie) in [("operator", 3), ("customer", 0)] {
            let mut took = Vec::new();
            for _ in 0..11 {
                let begun = Instant::now();
                let response = client.get(format!("{base}{path}")).header("cookie", &cookies[cookie]).send().await?;
                let status = response.status();
                response.text().await?;
                if status != StatusCode::OK {
                    return Err(format!("{path}: {status}").into());
                }
                took.push(begun.elapsed());
            }
            took.sort();
            println!("{path:<28} {who:<9} median {:>6.1} ms, slowest {:>6.1} ms", ms(took[5]), ms(took[10]));
        }
    }
    Ok(())
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// The first process of the database's server.
async fn database_process(db: &Database) -> Outcome<Option<u32>> {
    if let Ok(pool) = db.postgres() {
        let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(pool).await?;
        return Ok(Some(stat(u32::try_from(backend)?)?.0));
    }
    if let Ok(pool) = db.mysql() {
        let file: String = sqlx::query_scalar("select @@pid_file").fetch_one(pool).await?;
        return Ok(Some(fs::read_to_string(file)?.trim().parse()?));
    }
    Ok(None)
}

/// Seconds of a core that a process has used.
fn cpu(process: u32) -> Outcome<f64> {
    Ok(stat(process)?.1)
}

/// The same with its children, also those that have ended.
fn family_cpu(first: u32) -> Outcome<f64> {
    let (_, own, ended) = stat(first)?;
    let processes = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let children = processes.filter_map(|process: u32| stat(process).ok()).filter(|(parent, ..)| *parent == first);
    Ok(own + ended + children.map(|(_, own, _)| own).sum::<f64>())
}

/// The parent, the seconds, and the seconds of ended children.
fn stat(process: u32) -> Outcome<(u32, f64, f64)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = text.rsplit_once(')').ok_or("no name")?.1.split_whitespace().collect();
    let seconds = |at: usize| -> Outcome<f64> { Ok(fields.get(at).ok_or("too short")?.parse::<f64>()? / 100.0) };
    let parent = fields.get(1).ok_or("too short")?.parse()?;
    Ok((parent, seconds(11)? + seconds(12)?, seconds(13)? + seconds(14)?))
}
