//! Mappings compared with the live tables.

use std::time::SystemTime;

use tenure::aggregate::schema::{SchemaReport, Severity};
use tenure::error::{DatabaseError, UpdateError};
use tenure::{Aggregate, Entity, Error, Repository};

use super::assembly::Assembly;
use super::order::{Counter, Note, Order};
use super::support::{TestDb, random};
use super::trees::Tree;

/// Its tables contain mistakes: see `0021_check.sql`.
#[derive(Aggregate, Debug)]
#[aggregate(table = "test_faulty")]
struct Faulty {
    #[aggregate(id)]
    id: String,
    amount: i64,
    note: String,
    colour: Option<String>,
    #[aggregate(children, table = "test_faulty_line", owner = "faulty_id")]
    lines: Vec<Line>,
    #[aggregate(children, table = "test_nowhere", owner = "faulty_id")]
    nowhere: Vec<Line>,
}

#[derive(Entity, Debug)]
struct Line {
    #[aggregate(key)]
    no: i64,
    text: String,
}

/// Its id is compared case-insensitively.
#[derive(Aggregate, Debug)]
#[aggregate(table = "test_tag")]
struct Tag {
    #[aggregate(id)]
    code: String,
    text: String,
}

/// A finding: severity, table, column, and a part of its message.
type Expected = (Severity, &'static str, Option<&'static str>, &'static str);

fn assert_findings(report: &SchemaReport, expected: &[Expected]) {
    assert_eq!(report.findings.len(), expected.len(), "{report}");
    for (finding, (severity, table, column, message)) in report.findings.iter().zip(expected) {
        let found = (finding.severity, finding.table.as_str(), finding.column.as_deref());
        assert_eq!(found, (*severity, *table, *column), "{report}");
        assert!(finding.message.contains(message), "{finding}: {message}");
    }
}

pub async fn check_lists_every_difference_errors_first(t: &TestDb) {
    use Severity::{Error, Warning};
    let report = t.db.check::<Faulty>().await.unwrap();
    let expected = [
        (Error, "test_faulty", Some("amount"), "its type is"),
        (Error, "test_faulty", Some("colour"), "no such column"),
        (Error, "test_faulty", None, "unique key"),
        (Error, "test_faulty_line", Some("text"), "no such column"),
        (Error, "test_faulty_line", Some("required"), "no field maps to it"),
        (Error, "test_faulty_line", None, "unique key"),
        (Error, "test_nowhere", None, "no such table"),
        (Warning, "test_faulty", Some("note"), "may be NULL"),
        (Warning, "test_faulty", Some("version"), "may be NULL"),
        (Warning, "test_faulty_line", None, "no index"),
    ];
    assert_findings(&report, &expected);
    let refused = report.clone().require().unwrap_err().to_string();
    assert!(report.findings.iter().all(|finding| refused.contains(&finding.to_string())), "{refused}");
}

pub async fn check_finds_nothing_in_fitting_tables(t: &TestDb) {
    let reports = [
        t.db.check::<Order>().await.unwrap(),
        t.db.check::<Counter>().await.unwrap(),
        t.db.check::<Note>().await.unwrap(),
        t.db.check::<Assembly>().await.unwrap(),
        t.db.check::<super::every_kind::Kinds>().await.unwrap(),
        t.db.check::<Tree>().await.unwrap(),
    ];
    for report in reports {
        assert_findings(&report, &[]);
    }
}

pub async fn check_warns_of_a_collation_that_merges_spellings(t: &TestDb) {
    let report = t.db.check::<Tag>().await.unwrap().require().unwrap();
    assert_findings(&report, &[(Severity::Warning, "test_tag", Some("code"), "different spellings")]);
}

/// Its tables break promises: see `0027_odd.sql`.
#[derive(Aggregate, Debug)]
#[aggregate(table = "test_odd")]
struct Odd {
    #[aggregate(id)]
    id: String,
    amount: i64,
    seen: SystemTime,
    doubled: Option<i64>,
}

#[derive(Aggregate, Debug)]
#[aggregate(table = "test_lossy")]
struct Lossy {
    #[aggregate(id)]
    id: String,
    note: String,
}

#[derive(Aggregate, Debug)]
#[aggregate(table = "test_sound")]
struct Sound {
    #[aggregate(id)]
    id: String,
    note: String,
    #[aggregate(children, table = "test_sound_line", owner = "sound_id")]
    lines: Vec<Line>,
}

pub async fn check_names_what_no_insert_can_write_and_what_is_narrow(t: &TestDb) {
    let report = t.db.check::<Odd>().await.unwrap();
    let computed = (Severity::Error, "test_odd", Some("doubled"), "every insert fails");
    let narrow = |column| (Severity::Warning, "test_odd", Some(column), "as `");
    // Every integer of SQLite has 64 bits.
    let expected = if t.has_one_writer() { vec![computed] } else { vec![computed, narrow("seen"), narrow("version")] };
    assert_findings(&report, &expected);
}

pub async fn tables_that_cannot_keep_a_promise_are_errors_of_check(t: &TestDb) {
    let reports = [t.db.check::<Lossy>().await.unwrap(), t.db.check::<Sound>().await.unwrap()];
    for (report, table) in reports.iter().zip(["test_lossy", "test_sound_line"]) {
        assert_findings(report, &[(Severity::Error, table, None, "")]);
    }
}

pub async fn first_save_refuses_tables_that_cannot_keep_a_promise(t: &TestDb) {
    let lossy = Repository::<Lossy>::new(&t.db);
    let sound = Repository::<Sound>::new(&t.db);
    // The second one as well: a refusal is not forgotten.
    for _ in 0..2 {
        let mut tx = t.db.begin().await.unwrap();
        let refused = lossy.insert(&mut tx, Lossy { id: random(), note: "a".into() }).await.unwrap_err();
        is_refused(&refused, "test_lossy");
    }
    let mut tx = t.db.begin().await.unwrap();
    let refused = sound.insert(&mut tx, Sound { id: random(), note: "a".into(), lines: Vec::new() }).await.unwrap_err();
    is_refused(&refused, "test_sound_line");
    drop(tx);
    let id = random();
    t.by_hand(format!("insert into test_lossy values ('{id}', 'a', 1)")).await.unwrap();
    let change = |lossy: &mut Lossy| {
        lossy.note = "b".into();
        Ok::<_, std::convert::Infallible>(())
    };
    let Err(UpdateError::Failed(refused)) = lossy.update(&id).run(change).await else { panic!("it is refused") };
    is_refused(&refused, "test_lossy");
    assert_eq!(lossy.get(&id).await.unwrap().unwrap().note, "a");
}

fn is_refused(error: &Error, table: &str) {
    assert!(matches!(error, Error::Database(DatabaseError::Mapping(_))), "{error:?}");
    assert!(error.to_string().contains(&format!("table `{table}`: it")), "{error}");
}
