use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use testkit::{MariaDb, Postgres, StartError};

#[test]
fn postgres_is_durable_and_keeps_utc() {
    let show = |name| testkit::postgres().query(testkit::DATABASE, &format!("SHOW {name}")).expect("a setting");
    for name in ["fsync", "synchronous_commit", "full_page_writes"] {
        assert_eq!(show(name), "on", "{name}");
    }
    assert_eq!(show("timezone"), "UTC");
    assert_eq!(show("server_encoding"), "UTF8");
}

#[test]
fn mariadb_is_durable_and_keeps_utc() {
    let show = |name| testkit::mariadb().query(testkit::DATABASE, &format!("SELECT @@{name}")).expect("a setting");
    for (name, value) in [("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "1"), ("log_bin", "0")] {
        assert_eq!(show(name), value, "{name}");
    }
    assert!(!show("innodb_flush_method").contains("nosync"));
    assert_eq!(show("system_time_zone"), "UTC");
    assert_eq!(show("character_set_server"), "utf8mb4");
}

#[test]
fn settings_of_the_test_come_last() {
    let postgres = Postgres::builder().setting("fsync", "off").setting("deadlock_timeout", "50ms").start();
    let postgres = postgres.expect("a server");
    assert_eq!(postgres.query("tenure", "SHOW fsync").expect("a setting"), "off");
    assert_eq!(postgres.query("tenure", "SHOW deadlock_timeout").expect("a setting"), "50ms");
    postgres.kill();
    postgres.restart().expect("it starts again");
    assert_eq!(postgres.query("tenure", "SHOW fsync").expect("a setting"), "off");

    let mariadb = MariaDb::builder().setting("innodb_flush_log_at_trx_commit", "2").start().expect("a server");
    let flush = "SELECT @@innodb_flush_log_at_trx_commit";
    assert_eq!(mariadb.query("tenure", flush).expect("a setting"), "2");
}

#[test]
fn variables_and_folder_of_a_server_are_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("others may enter it");
    let server = MariaDb::builder().environment("TZ", "XYZ-3").beneath(folder.path()).start().expect("a server");
    let shown = || server.query("tenure", "SELECT @@system_time_zone").expect("a setting");
    assert_eq!(shown(), "XYZ");
    assert!(server.folder().starts_with(folder.path()), "{:?}", server.folder());
    assert!(server.is_running());
    server.kill();
    assert!(!server.is_running());
    server.restart().expect("it starts again");
    assert_eq!(shown(), "XYZ");
}

#[test]
fn a_server_that_will_not_start_says_why() {
    let postgres = Postgres::builder().setting("fsync", "perhaps").start();
    let mariadb = MariaDb::builder().setting("no_such_setting", "1").start();
    let errors = [postgres.expect_err("no such value"), mariadb.expect_err("no such setting")];
    for (error, said) in errors.iter().zip(["fsync", "no_such_setting"]) {
        assert!(matches!(error, StartError::Exited { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
}
