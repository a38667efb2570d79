//! The shop as a program with real connections: their time limits, their maximum number, and the start
//! and the end of the program.

#![cfg(unix)]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "stories/support.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use shop::{Settings, Times};
use support::Server;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Much longer than anything here takes, and much shorter than unlimited.
const PATIENCE: Duration = Duration::from_secs(20);

async fn served_within(times: Times) -> Server {
    Server::start_with(Settings { times, ..Settings::default() }, |shop| shop).await
}

fn address(server: &Server) -> &str {
    server.base.trim_start_matches("http://")
}

/// Everything received until the other end closes.
async fn to_the_end(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    // A reset connection has ended as well.
    let _ = read.expect("the connection is closed");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn heads_that_are_never_finished_do_not_stay() {
    let server = served_within(Times { head: Duration::from_millis(200), ..Times::default() }).await;
    let mut half = Vec::new();
    for sent in ["", "G", "GET /orders HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: localhost\r\nx: "] {
        for _ in 0..25 {
            let mut stream = TcpStream::connect(address(&server)).await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            half.push(stream);
        }
    }
    for stream in half {
        let answer = to_the_end(stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}

#[tokio::test]
async fn a_connection_that_rests_between_two_requests_does_not_stay() {
    let server = served_within(Times { head: Duration::from_millis(200), ..Times::default() }).await;
    let mut stream = TcpStream::connect(address(&server)).await.unwrap();
    stream.write_all(b"GET /favicon.svg HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(to_the_end(stream).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn slow_body_is_answered_with_a_page() {
    let server = served_within(Times { body: Duration::from_millis(200), ..Times::default() }).await;
    let mut stream = TcpStream::connect(address(&server)).await.unwrap();
    let head = "POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\nlogin=";
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = to_the_end(stream).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("data-state=\"E-408\""), "{answer}");
    assert!(answer.contains("nosniff") && answer.contains("content-security-policy"), "{answer}");
}

#[tokio::test]
async fn connection_lifetime_is_limited() {
    let server = served_within(Times { connection: Duration::from_millis(300), ..Times::default() }).await;
    let stream = TcpStream::connect(address(&server)).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let asking = tokio::spawn(async move {
        while write.write_all(b"GET /favicon.svg HTTP/1.1\r\nhost: localhost\r\n\r\n").await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    let mut answers = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, read.read_to_end(&mut answers)).await.expect("it is closed");
    assert!(answers.starts_with(b"HTTP/1.1 200"));
    drop(read);
    asking.await.unwrap();
}

#[tokio::test]
async fn connections_are_limited_and_the_next_one_waits() {
    let server = Server::start_with(Settings { connections: 2, ..Settings::default() }, |shop| shop).await;
    let request = b"GET /favicon.svg HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address(&server)).await.unwrap();
        stream.write_all(request).await.unwrap();
        stream.read_exact(&mut [0; 12]).await.unwrap();
        open.push(stream);
    }
    let mut third = TcpStream::connect(address(&server)).await.unwrap();
    third.write_all(request).await.unwrap();
    let mut start = [0; 12];
    let early = tokio::time::timeout(Duration::from_millis(300), third.read_exact(&mut start)).await;
    assert!(early.is_err(), "it is answered while two are open");
    open.pop();
    tokio::time::timeout(PATIENCE, third.read_exact(&mut start)).await.expect("its turn").unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
}

/// The program, until the test ends.
struct Program {
    child: Child,
    /// Its later output must be read.
    _said: BufReader<std::process::ChildStdout>,
    /// Its output at startup.
    greeting: String,
    address: String,
}

impl Program {
    fn start(directory: &Path, arguments: &[&str]) -> Program {
        let mut command = shop(directory);
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut greeting = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        while !greeting.contains("Stop it with") {
            assert!(said.read_line(&mut greeting).unwrap() > 0, "it ended: {greeting}");
        }
        let (_, address) = greeting.split_once("http://").expect("it says where it is");
        let address = address.split('/').next().unwrap().to_owned();
        Program { child, _said: said, greeting, address }
    }

    fn is_told(&self, signal: &str) {
        let told = Command::new("sh").args(["-c", &format!("kill {signal} {}", self.child.id())]).status().unwrap();
        assert!(told.success());
    }

    /// Waits for its exit, and returns the duration.
    fn ends(&mut self) -> Duration {
        let since = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < 3 * PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        since.elapsed()
    }

    fn get(&self, path: &str) -> String {
        let mut stream = std::net::TcpStream::connect(&self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    async fn signs_in(&self, login: &str, password: &str) -> u16 {
        let client = reqwest::Client::builder().cookie_store(true).build().unwrap();
        let url = format!("http://{}/sign-in", self.address);
        let page = support::Page::of(client.get(&url).send().await.unwrap()).await;
        let form = page.form("/sign-in").with("login", login).with("password", password);
        client.post(&url).form(&form.fields).send().await.unwrap().status().as_u16()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn shop(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
    for variable in ["DATABASE_URL", "LISTEN", "SECURE_COOKIES", "SHOP_DEMO", "SHOP_HOSTS", "BEHIND_PROXY"] {
        command.env_remove(variable);
    }
    command.current_dir(directory);
    command
}

/// A command of the program, with this standard input: its output, and whether it succeeded.
fn run(directory: &Path, arguments: &[&str], input: &str) -> (bool, String) {
    let mut command = shop(directory);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    (output.status.success(), said)
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn shutdown_takes_ten_seconds_with_200_half_sent_requests() {
    let directory = directory();
    let mut program = Program::start(directory.path(), &[]);
    let mut half = Vec::new();
    for no in 0..200 {
        let mut stream = std::net::TcpStream::connect(&program.address).unwrap();
        let head = match no % 4 {
            0 => "",
            1 => "GET /orders HTTP/1.1\r\nhost: localhost\r\n",
            2 => "POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-length: 500\r\n\r\nlogin=",
            _ => "POST /sign-in HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n5\r\nlo",
        };
        stream.write_all(head.as_bytes()).unwrap();
        half.push(stream);
    }
    // It has accepted them, because this one came later.
    assert!(program.get("/sign-in").starts_with("HTTP/1.1 200"));
    program.is_told("-TERM");
    let took = program.ends();
    println!("200 half-sent requests: it ended after {took:?}");
    assert!(took < Duration::from_secs(10), "it took {took:?}");
    assert!(program.child.wait().unwrap().success());
}

#[test]
fn idle_server_shuts_down_at_once() {
    let directory = directory();
    let mut program = Program::start(directory.path(), &[]);
    program.is_told("-TERM");
    let took = program.ends();
    assert!(took < Duration::from_secs(5), "it took {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_database_on_this_machine_is_a_demo_and_says_so() {
    let directory = directory();
    for _ in 0..2 {
        let program = Program::start(directory.path(), &[]);
        assert!(program.greeting.contains("This is a demo") && program.greeting.contains("tenure-demo"));
        let page = program.get("/sign-in");
        assert!(page.contains("tenure-demo") && page.contains("?as=minji"));
        assert_eq!(program.signs_in("minji", "tenure-demo").await, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_databases_have_no_accounts_at_first() {
    let directory = directory();
    let database = ["--database-url", "sqlite://own.db"];
    let program = Program::start(directory.path(), &database);
    assert!(program.greeting.contains("Nobody can sign in yet") && program.greeting.contains("shop member add NAME"));
    assert!(!program.greeting.contains("tenure-demo") && !program.get("/sign-in").contains("tenure-demo"));
    for login in ["minji", "park", "olivia"] {
        assert_eq!(program.signs_in(login, "tenure-demo").await, 422);
    }
    let add =
        |id, input: &str| run(directory.path(), &["member", "add", id, "--operator", database[0], database[1]], input);
    for (password, why) in [
        ("q7#kd2\n", "at least 12"),
        ("tenure-demo\n", "at least 12"),
        ("seoyeon-seoyeon\n", "the name"),
        ("", "at least 12"),
    ] {
        let (is_well, said) = add("seoyeon", password);
        assert!(!is_well && said.contains(why), "{said}");
        assert!(password.is_empty() || !said.contains(password.trim_end()), "{said}");
    }
    let (is_well, said) = add("seoyeon", "a quiet blue bicycle\n");
    assert!(is_well && said.contains("seoyeon can sign in now"), "{said}");
    let (is_well, said) = add("seoyeon", "another blue bicycle\n");
    assert!(!is_well && said.contains("already"), "{said}");
    assert_eq!(program.signs_in("seoyeon", "another blue bicycle").await, 422);
    assert_eq!(program.signs_in("seoyeon", "a quiet blue bicycle").await, 200);
    let set = ["member", "password", "seoyeon", database[0], database[1]];
    assert!(run(directory.path(), &set, "another blue bicycle\r\n").0);
    assert_eq!(program.signs_in("seoyeon", "another blue bicycle").await, 200);
    assert_eq!(program.signs_in("seoyeon", "a quiet blue bicycle").await, 422);
    let (is_well, said) =
        run(directory.path(), &["member", "password", "nobody", database[0], database[1]], "a quiet blue bicycle\n");
    assert!(!is_well && said.contains("no member"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_of_the_demo_do_not_open_a_shop_that_is_none() {
    let directory = directory();
    let database = ["--database-url", "sqlite://own.db"];
    let demo = Program::start(directory.path(), &[database[0], database[1], "--demo"]);
    assert!(demo.greeting.contains("This is a demo"));
    assert_eq!(demo.signs_in("park", "tenure-demo").await, 200);
    drop(demo);
    let program = Program::start(directory.path(), &database);
    assert!(program.greeting.contains("cannot sign in without --demo"), "{}", program.greeting);
    assert!(!program.get("/sign-in").contains("tenure-demo"));
    assert_eq!(program.signs_in("park", "tenure-demo").await, 422);
    assert!(
        run(directory.path(), &["member", "password", "park", database[0], database[1]], "a quiet blue bicycle\n").0
    );
    assert_eq!(program.signs_in("park", "a quiet blue bicycle").await, 200);
}

#[test]
fn a_shop_for_other_machines_does_not_start_without_a_name() {
    let directory = directory();
    let (is_well, said) = run(directory.path(), &["--listen", "0.0.0.0:0"], "");
    assert!(!is_well && said.contains("--host"), "{said}");
    assert!(!directory.path().join("shop.db").exists());
}
