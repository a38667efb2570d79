//! Children of every kind, at any depth: maps, lists by position, optional and nested children.

use tenure::aggregate::value::Value;
use tenure::{Aggregate, Entity, Error, LockMode, Repository, Version, error::UpdateError, version::Merge};

use super::assembly::{Assembly, Invoice, Module, Seal, Size, Step, note};
use super::support::{TestDb, random, version};

/// Inserts an assembly, and returns its stored state.
pub async fn inserted(t: &TestDb) -> (Repository<Assembly>, Assembly) {
    let (assemblies, assembly) = (Repository::new(&t.db), Assembly::new(&random()));
    let mut tx = t.db.begin().await.unwrap();
    assemblies.insert(&mut tx, assembly.clone()).await.unwrap();
    tx.commit().await.unwrap();
    (assemblies, assembly)
}

/// Saves each change separately, and expects it in the database, one version higher.
async fn saved(t: &TestDb, changes: &[fn(&mut Assembly)]) -> Assembly {
    let (assemblies, mut expected) = inserted(t).await;
    for (number, change) in (2..).zip(changes) {
        change(&mut expected);
        let command = |assembly: &mut Assembly| {
            change(assembly);
            Ok::<_, std::convert::Infallible>(())
        };
        assert_eq!(assemblies.update(&expected.id).run(command).await.unwrap().version(), version(number));
        let stored = assemblies.get(&expected.id).await.unwrap().unwrap();
        assert_eq!((&*stored, stored.version()), (&expected, version(number)));
    }
    expected
}

pub async fn nested_children_round_trip_after_insert(t: &TestDb) {
    let (assemblies, assembly) = inserted(t).await;
    let stored = assemblies.get(&assembly.id).await.unwrap().unwrap();
    assert_eq!((&*stored, stored.version()), (&assembly, Version::FIRST));
    let mut tx = t.db.begin().await.unwrap();
    let locked = assemblies.find(&mut tx, &assembly.id, LockMode::PessimisticWrite).await.unwrap().unwrap();
    assert_eq!(*locked, assembly);
}

pub async fn a_change_at_any_depth_raises_the_version_by_one(t: &TestDb) {
    let changes: [fn(&mut Assembly); 10] = [
        |assembly| assembly.modules[0].weight = 0.1 + 0.2,
        |assembly| assembly.modules[1].size = Some(Size { width: i64::MAX, fragile: false }),
        |assembly| assembly.modules[0].parts[1].name = "뚜껑".into(),
        |assembly| drop(assembly.modules[0].parts[0].notes.insert("de".into(), note("Griff"))),
        |assembly| assembly.modules[0].parts[0].notes.get_mut("ko").unwrap().text = "손잡이".into(),
        |assembly| drop(assembly.modules[0].parts[0].notes.remove("en")),
        |assembly| assembly.modules[0].seal = Some(Seal { stamp: Some(String::new()) }),
        |assembly| assembly.steps[0].tools[1].text = "mask".into(),
        |assembly| drop(assembly.invoice.as_mut().unwrap().items.remove(&1)),
        |assembly| assembly.modules.push(Module::new("여", 2).with(1, "spout")),
    ];
    saved(t, &changes).await;
}

pub async fn a_removed_child_takes_its_children_along(t: &TestDb) {
    let changes: [fn(&mut Assembly); 4] = [
        |assembly| drop(assembly.modules.remove(0)),
        // Remaining rows would be found again under the same key.
        |assembly| assembly.modules.insert(0, Module::new("tea", 1)),
        |assembly| assembly.modules.clear(),
        |assembly| assembly.modules.push(Module::new("tea ", 1)),
    ];
    saved(t, &changes).await;
}

pub async fn a_deleted_aggregate_takes_children_of_any_depth_along(t: &TestDb) {
    let (assemblies, assembly) = inserted(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let loaded = assemblies.find(&mut tx, &assembly.id, LockMode::Optimistic).await.unwrap().unwrap();
    assemblies.delete(&mut tx, loaded).await.unwrap();
    let bare = Assembly { name: None, size: None, modules: vec![], steps: vec![], invoice: None, ..assembly };
    assemblies.insert(&mut tx, bare.clone()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(*assemblies.get(&bare.id).await.unwrap().unwrap(), bare);
}

pub async fn a_child_moves_from_one_parent_to_another(t: &TestDb) {
    let changes: [fn(&mut Assembly); 2] = [
        |assembly| {
            let lid = assembly.modules[0].parts.remove(1);
            assembly.modules[1].parts.push(lid);
        },
        // Two with the same key swap places.
        |assembly| {
            let [first, second] = &mut assembly.modules[..] else { panic!("two modules") };
            std::mem::swap(&mut first.parts[0], &mut second.parts[0]);
        },
    ];
    let moved = saved(t, &changes).await;
    assert_eq!(moved.modules[0].parts[0].name, "foot");
    let names: Vec<_> = moved.modules[1].parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["handle", "lid"]);
}

pub async fn optional_child_is_added_changed_and_removed(t: &TestDb) {
    let changes: [fn(&mut Assembly); 6] = [
        |assembly| assembly.invoice = None,
        |assembly| assembly.invoice = Some(Invoice { number: 2, items: [(5, note("cups"))].into() }),
        |assembly| assembly.invoice.as_mut().unwrap().number = 3,
        |assembly| assembly.modules[0].seal = None,
        |assembly| assembly.modules[1].seal = Some(Seal { stamp: Some("A".into()) }),
        |assembly| assembly.modules[1].seal = Some(Seal { stamp: None }),
    ];
    saved(t, &changes).await;
}

pub async fn a_list_keeps_its_order_when_its_head_is_removed(t: &TestDb) {
    let changes: [fn(&mut Assembly); 4] = [
        |assembly| drop(assembly.steps.remove(0)),
        |assembly| assembly.steps.reverse(),
        |assembly| assembly.steps.insert(1, Step { text: "dry".into(), tools: vec![note("fan"), note("time")] }),
        |assembly| assembly.steps[1].tools.swap(0, 1),
    ];
    let steps = saved(t, &changes).await.steps;
    assert_eq!(steps.iter().map(|step| step.text.as_str()).collect::<Vec<_>>(), ["paint", "dry", "glue"]);
}

/// The table of the tools, mapped without the steps.
#[derive(Aggregate)]
#[aggregate(table = "test_assembly", name = "Loose")]
struct Loose {
    #[aggregate(id)]
    id: String,
    #[aggregate(children, table = "test_step_tool", owner = "assembly_id")]
    tools: Vec<LooseTool>,
}

#[derive(Entity)]
struct LooseTool {
    #[aggregate(key)]
    step: u32,
    #[aggregate(key)]
    position: u32,
    text: String,
}

pub async fn a_row_without_its_parent_is_an_error_that_names_it(t: &TestDb) {
    let (id, tool) = (random(), LooseTool { step: 4, position: 0, text: "hammer".into() });
    let mut tx = t.db.begin().await.unwrap();
    Repository::new(&t.db).insert(&mut tx, Loose { id: id.clone(), tools: vec![tool] }).await.unwrap();
    tx.commit().await.unwrap();
    let Err(Error::Database(error)) = Repository::<Assembly>::new(&t.db).get(&id).await else { panic!("it was read") };
    let expected = format!(
        "table `test_step_tool`: where assembly_id = {id}, step = 4, position = 0: there is no such row in `test_step`"
    );
    assert!(error.to_string().contains(&expected), "{error}");
}

pub async fn a_conflict_names_the_field_of_a_child_of_a_child(t: &TestDb) {
    let (assemblies, assembly) = inserted(t).await;
    let theirs = |assembly: &mut Assembly| {
        assembly.modules[0].parts[1].notes.get_mut("ko").unwrap().text = "뚜껑".into();
        assembly.invoice = None;
        Ok::<_, ()>(())
    };
    assemblies.update(&assembly.id).run(theirs).await.unwrap();
    let mine = |assembly: &mut Assembly| {
        assembly.modules[1].parts[0].name = "leg".into();
        Ok::<_, ()>(())
    };
    let late = assemblies.update(&assembly.id).expecting(Version::FIRST).run(mine).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = late else { panic!("{late:?}") };
    let text = |text: &str| Some(Value::Text(text.into()));
    let fields: Vec<_> = conflict.fields.iter().map(|field| (field.path.as_str(), field.now.clone())).collect();
    assert_eq!(
        fields,
        [
            ("modules[tea ,1].parts[7].name", text("foot")),
            ("modules[tea,1].parts[8].notes[ko].text", text("뚜껑")),
            ("invoice.number", None),
            ("invoice.items[1]", None),
            ("invoice.items[1].text", None),
            ("invoice.items[30]", None),
            ("invoice.items[30].text", None),
        ]
    );
    assert_eq!((&conflict.fields[0].opened, &conflict.fields[0].mine), (&text("foot"), &text("leg")));
}

pub async fn fields_that_do_not_fit_together_are_not_merged(t: &TestDb) {
    let (assemblies, mut expected) = inserted(t).await;
    let theirs = |assembly: &mut Assembly| {
        let step = assembly.steps[2].clone();
        assembly.steps.push(step);
        Ok::<_, ()>(())
    };
    theirs(&mut expected).unwrap();
    assemblies.update(&expected.id).run(theirs).await.unwrap();
    let mine = |assembly: &mut Assembly| {
        assembly.steps.truncate(2);
        Ok::<_, ()>(())
    };
    // Their fourth step without the third would be no list.
    let late = assemblies.update(&expected.id).expecting(Version::FIRST).merging(Merge::Disjoint).run(mine).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = late else { panic!("{late:?}") };
    assert!(conflict.fields.iter().any(|field| field.path == "steps[3].text"), "{:?}", conflict.fields);
    assert_eq!(*assemblies.get(&expected.id).await.unwrap().unwrap(), expected);
}

pub async fn addition_to_a_removed_child_is_a_conflict(t: &TestDb) {
    let (assemblies, assembly) = inserted(t).await;
    let add = |assembly: &mut Assembly| {
        assembly.modules[0].parts[0].notes.insert("de".into(), note("Griff"));
        Ok::<_, ()>(())
    };
    assemblies.update(&assembly.id).run(add).await.unwrap();
    for remove in [(|assembly| drop(assembly.modules[0].parts.remove(0))) as fn(&mut Assembly), |assembly| {
        drop(assembly.modules.remove(0))
    }] {
        let removed = assemblies.update(&assembly.id).expecting(Version::FIRST).merging(Merge::Disjoint);
        let refused = removed.run(|assembly| {
            remove(assembly);
            Ok::<_, ()>(())
        });
        let refused = refused.await;
        let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
        assert!(!conflict.auto_mergeable());
    }
}
