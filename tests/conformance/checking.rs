//! Mappings compared with the live tables.

use tenure::aggregate::schema::{FindingKind, SchemaReport, Severity};
use tenure::{Aggregate, Entity};

use super::assembly::Assembly;
use super::order::{Counter, Note, Order};
use super::support::TestDb;
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

/// The findings without their messages.
fn findings(report: &SchemaReport) -> Vec<(Severity, FindingKind, &str, Option<&str>)> {
    let brief = report
        .findings
        .iter()
        .map(|finding| (finding.severity, finding.kind, finding.table.as_str(), finding.column.as_deref()));
    brief.collect()
}

pub async fn check_lists_every_difference_errors_first(t: &TestDb) {
    use FindingKind::{Index, MissingColumn, MissingTable, Null, Type, UniqueKey, UnmappedColumn};
    use Severity::{Error, Warning};
    let report = t.db.check::<Faulty>().await.unwrap();
    let expected = [
        (Error, Type, "test_faulty", Some("amount")),
        (Error, MissingColumn, "test_faulty", Some("colour")),
        (Error, UniqueKey, "test_faulty", None),
        (Error, MissingColumn, "test_faulty_line", Some("text")),
        (Error, UnmappedColumn, "test_faulty_line", Some("required")),
        (Error, UniqueKey, "test_faulty_line", None),
        (Error, MissingTable, "test_nowhere", None),
        (Warning, Null, "test_faulty", Some("note")),
        (Warning, Null, "test_faulty", Some("version")),
        (Warning, Index, "test_faulty_line", None),
    ];
    assert_eq!(findings(&report), expected, "{report}");
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
        assert_eq!(findings(&report), [], "{report}");
    }
}

pub async fn check_warns_of_a_collation_that_merges_spellings(t: &TestDb) {
    let report = t.db.check::<Tag>().await.unwrap().require().unwrap();
    assert_eq!(findings(&report), [(Severity::Warning, FindingKind::Collation, "test_tag", Some("code"))], "{report}");
}
