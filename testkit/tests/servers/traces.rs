use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::support::{folders_of_children, processes_in, soon};

#[test]
fn a_test_program_that_is_killed_leaves_nothing() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testkit"));
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let lines = BufReader::new(program.stdout.take().expect("a pipe")).lines().take(2);
    assert_eq!(lines.map_while(Result::ok).count(), 2, "both servers run");
    let folders = folders_of_children(program.id());
    assert_eq!(folders.len(), 2, "{folders:?}");
    // None of its code can run any more: no drop, no panic, no signal handler.
    program.kill().expect("it runs");
    program.wait().expect("it was killed");
    for data in folders {
        let folder = data.parent().expect("the server's folder");
        soon("the folder is removed", || !folder.exists());
        soon("the server ends", || processes_in(folder).is_empty());
    }
}

#[test]
fn a_killed_server_leaves_no_shared_memory() {
    let server = testkit::Postgres::start().expect("a server");
    let file = fs::read_to_string(server.folder().join("data/postmaster.pid")).expect("a running server has it");
    let id = file.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)).expect("a key and an id").to_owned();
    let is_left = || {
        let all = fs::read_to_string("/proc/sysvipc/shm").expect("Linux has it");
        all.lines().any(|line| line.split_whitespace().nth(1) == Some(&id))
    };
    server.kill();
    assert!(is_left(), "the kill left it, or this test looks in the wrong place");
    drop(server);
    assert!(!is_left());
}
