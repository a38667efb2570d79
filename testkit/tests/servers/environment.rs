use std::env;
use std::process::Command;

use testkit::Kind;

/// Set for the test below when it runs in the process that it starts.
const INNER: &str = "TESTKIT_INNER";

#[test]
fn a_server_named_by_the_environment_is_used() {
    if env::var_os(INNER).is_some() {
        for kind in [Kind::Postgres, Kind::MariaDb] {
            println!("made {}", testkit::new_database(kind));
            println!("made {}", testkit::new_database(kind));
        }
        return;
    }
    let (postgres, mariadb) = (testkit::postgres(), testkit::mariadb());
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "environment::a_server_named_by_the_environment_is_used", "--nocapture"]).env(INNER, "1");
    command.env(Kind::Postgres.variable(), postgres.url("tenure")).env(Kind::MariaDb.variable(), mariadb.url("tenure"));
    let output = command.output().expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let made: Vec<_> = printed.lines().filter_map(|line| line.split_once("made ").map(|(_, url)| url)).collect();
    assert_eq!(made.len(), 4, "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    for url in &made {
        let name = url.rsplit('/').next().expect("a database");
        assert_eq!(made.iter().filter(|other| other.ends_with(name)).count(), 1, "{made:?}");
        let found = if url.starts_with("postgres:") {
            assert_eq!(**url, postgres.url(name));
            postgres.query(name, "SELECT 1")
        } else {
            assert_eq!(**url, mariadb.url(name));
            mariadb.query(name, "SELECT 1")
        };
        assert_eq!(found.expect("the database is there"), "1");
    }
}
