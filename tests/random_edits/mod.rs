//! For any sequence of random edits at any depth, the database equals the model, and the version equals 1 + the number of
//! saves that changed something that counts for it. A leaf opens its database and sets the number of cases.

mod edit;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tenure::{Database, LockId, Repository};

use edit::{Edit, edit};

use crate::conformance::assembly::Assembly;

/// Runs `cases` random sequences of edits of an assembly, all of them in one database and over one pool.
pub fn the_database_equals_the_model_after_any_edits(cases: u32, open: impl AsyncFnOnce() -> Database) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let db = runtime.block_on(open());
    let saves = prop::collection::vec(prop::collection::vec(edit(), 0..5), 1..8);
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let lived = runner.run(&saves, |saves| {
        runtime.block_on(live(&db, saves));
        Ok(())
    });
    lived.unwrap_or_else(|failure| panic!("{failure}"));
}

async fn live(db: &Database, saves: Vec<Vec<Edit>>) {
    let assemblies = Repository::<Assembly>::new(db);
    let mut model = Assembly::new(&LockId::random().reveal()[48..]);
    let id = model.id.clone();
    let mut tx = db.begin().await.unwrap();
    assemblies.insert(&mut tx, model.clone()).await.unwrap();
    tx.commit().await.unwrap();
    let mut version = 1;
    for edits in saves {
        let before = model.clone();
        apply(&edits, &mut model);
        version += i64::from(model != Assembly { seen: model.seen, ..before });
        let command = |assembly: &mut Assembly| {
            apply(&edits, assembly);
            Ok::<_, std::convert::Infallible>(())
        };
        assert_eq!(assemblies.update(&id).run(command).await.unwrap().version().number(), version);
        let stored = assemblies.get(&id).await.unwrap().unwrap();
        assert_eq!((&*stored, stored.version().number()), (&model, version));
    }
}

fn apply(edits: &[Edit], assembly: &mut Assembly) {
    for edit in edits {
        // An edit of a missing child changes nothing, in the model and in the database.
        let _ = edit.apply(assembly);
    }
}
