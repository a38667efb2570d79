//! Audit columns of the root: the author of the latest change.

use tenure::{Error, Version, error::UpdateError};

use super::order::Note;
use super::support::{TestDb, kim, lee, random, version};

fn write(text: &'static str) -> impl Fn(&mut Note) -> Result<(), std::convert::Infallible> {
    move |note| {
        note.text = text.into();
        Ok(())
    }
}

pub async fn audit_columns_hold_the_last_author_time_and_command(t: &TestDb) {
    let id = t.note(&random(), "empty").await;
    t.notes.update(&id).by(&kim()).command("write").run(write("kim's")).await.unwrap();
    t.clock.advance(std::time::Duration::from_millis(1_234));
    t.notes.update(&id).by(&lee()).command("고치다 \"it's\"").run(write("lee's")).await.unwrap();
    let [change] = &t.notes.changes(&id, 9).await.unwrap()[..] else { panic!("there is one row") };
    assert_eq!((change.version, change.by.clone(), change.at), (version(3), Some(lee()), t.clock.now()));
    assert_eq!(change.command.as_deref(), Some("고치다 \"it's\""));
    assert!(t.notes.changes(&id, 0).await.unwrap().is_empty());
}

pub async fn conflict_names_the_author_without_revisions(t: &TestDb) {
    let id = t.note(&random(), "empty").await;
    t.notes.update(&id).by(&lee()).command("write").run(write("lee's")).await.unwrap();
    let refused = t.notes.update(&id).by(&kim()).expecting(Version::FIRST).run(write("kim's")).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    let change = conflict.changed.unwrap();
    assert_eq!((change.version, change.by, change.command.as_deref()), (version(2), Some(lee()), Some("write")));
    assert!(!conflict.opened_known);
}

pub async fn save_without_an_author_records_none(t: &TestDb) {
    let id = t.note(&random(), "empty").await;
    t.notes.update(&id).by(&lee()).command("write").run(write("lee's")).await.unwrap();
    t.notes.update(&id).run(write("nobody's")).await.unwrap();
    let [change] = &t.notes.changes(&id, 1).await.unwrap()[..] else { panic!("there is one row") };
    assert_eq!((change.version, change.by.clone(), change.command.clone()), (version(3), None, None));
}

/// As in a table that got the columns after the row.
pub async fn row_that_nobody_has_saved_since_has_no_change(t: &TestDb) {
    let id = t.note(&random(), "empty").await;
    t.by_hand(format!("update test_note set changed_at = null, version = version + 1 where id = '{id}'"))
        .await
        .unwrap();
    assert!(t.notes.changes(&id, 9).await.unwrap().is_empty());
    let refused = t.notes.update(&id).by(&kim()).expecting(Version::FIRST).run(write("kim's")).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    assert_eq!((conflict.actual, conflict.changed), (Some(version(2)), None));
    t.notes.update(&id).by(&lee()).run(write("lee's")).await.unwrap();
    assert_eq!(t.notes.changes(&id, 9).await.unwrap()[0].by, Some(lee()));
    let report = t.db.check::<Note>().await.unwrap();
    assert!(!report.to_string().contains("changed_at"), "{report}");
}
