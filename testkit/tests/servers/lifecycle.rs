//! Each test for both kinds of servers.

use std::net::TcpStream;
use std::thread;

use crate::support::{processes_in, soon};

/// The port in a server's URL.
fn port(url: &str) -> u16 {
    let place = url.split(['@', '/']).nth(3).expect("scheme://user@host:port/database");
    place.rsplit_once(':').expect("a port").1.parse().expect("a number")
}

macro_rules! lifecycle {
    ($kind:ident: $Server:ty, work: $work:literal, workers: $workers:literal) => {
        mod $kind {
            use super::*;

            #[test]
            fn shared_server_is_started_once_and_responds() {
                let server = testkit::$kind();
                assert!(std::ptr::eq(server, testkit::$kind()));
                server.create_database("answers").expect("a database");
                assert_eq!(server.query("answers", "SELECT 'yes'").expect("an answer"), "yes");
                assert_eq!(server.query(testkit::DATABASE, "SELECT 1").expect("an answer"), "1");
            }

            #[test]
            fn two_servers_are_two() {
                let (one, two) = (testkit::$kind(), <$Server>::start().expect("a server"));
                assert_ne!(port(&one.url("x")), port(&two.url("x")));
                two.create_database("only_here").expect("a database");
                assert!(two.query("only_here", "SELECT 1").is_ok());
                let error = one.query("only_here", "SELECT 1").expect_err("it is on the other").to_string();
                assert!(error.contains("only_here"), "{error}");
            }

            #[test]
            fn committed_data_survives_a_kill_in_the_middle_of_work() {
                let server = <$Server>::start().expect("a server");
                let (url, query) = (server.url("tenure"), |sql| server.query("tenure", sql));
                query("CREATE TABLE kept (id INT PRIMARY KEY)").expect("a table");
                query("INSERT INTO kept VALUES (1), (2)").expect("two rows");
                let first = server.process().expect("it runs");
                thread::scope(|scope| {
                    let worker = scope.spawn(|| query($work));
                    soon("it works", || query($workers).is_ok_and(|count| count == "1"));
                    server.kill();
                    assert_eq!(processes_in(server.folder()), []);
                    assert!(worker.join().expect("no panic").is_err(), "nobody can have answered");
                });
                assert_eq!(server.process(), None);
                assert!(TcpStream::connect(("127.0.0.1", port(&url))).is_err(), "nobody listens");
                server.restart().expect("it starts again");
                assert_ne!(server.process(), Some(first));
                assert_eq!(server.url("tenure"), url);
                assert_eq!(query("SELECT SUM(id) FROM kept").expect("an answer"), "3");
            }

            #[test]
            fn it_can_be_stopped_and_restarted_at_any_time() {
                let server = <$Server>::start().expect("a server");
                server.restart().expect("it starts again");
                server.stop();
                server.stop();
                assert_eq!(processes_in(server.folder()), []);
                server.restart().expect("it starts again");
                assert_eq!(server.query("tenure", "SELECT 1").expect("an answer"), "1");
            }

            #[test]
            fn a_drop_leaves_nothing_even_in_a_panic() {
                let server = <$Server>::start().expect("a server");
                let folder = server.folder().to_owned();
                assert!(!processes_in(&folder).is_empty());
                let panicking = thread::spawn(move || {
                    let _server = server;
                    panic!("on purpose");
                });
                assert!(panicking.join().is_err());
                assert!(!folder.exists());
                assert_eq!(processes_in(&folder), []);
            }
        }
    };
}

lifecycle! {
    postgres: testkit::Postgres,
    // Too busy to detect that its parent has died, so it has to be killed too.
    work: "DO 'BEGIN WHILE clock_timestamp() < now() + interval ''20 s'' LOOP END LOOP; END'",
    workers: "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %'"
}

lifecycle! {
    mariadb: testkit::MariaDb,
    work: "SELECT SLEEP(20)",
    workers: "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(20)'"
}
