//! Grandchildren whose tables refer only to their parent: neither to the root's id nor to the keys above.

use tenure::{Aggregate, Entity, LockMode, Repository, error::UpdateError};

use super::support::{TestDb, random, version};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_tree", revisions = 3)]
pub struct Tree {
    #[aggregate(id)]
    id: String,
    name: String,
    #[aggregate(children, table = "test_branch", owner = "tree_id")]
    branches: Vec<Branch>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Branch {
    #[aggregate(key)]
    id: i64,
    name: String,
    #[aggregate(children, table = "test_leaf", owner = "branch_id")]
    leaves: Vec<Leaf>,
    #[aggregate(children, table = "test_twig", owner = "on_branch")]
    twigs: Vec<Twig>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Leaf {
    #[aggregate(key)]
    no: i64,
    text: String,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Twig {
    #[aggregate(key)]
    id: i64,
    name: String,
    #[aggregate(children, table = "test_bud", owner = "twig_id", key = "position")]
    buds: Vec<Bud>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Bud {
    text: String,
}

/// A number that no other case uses, with room for a few after it.
fn number() -> i64 {
    i64::from(u32::from_str_radix(&random()[..8], 16).unwrap()) * 16
}

fn tree() -> Tree {
    let first = number();
    let leaf = |no| Leaf { no, text: format!("leaf {no}") };
    let bud = |text: &str| Bud { text: text.into() };
    let twig =
        |id, buds: &[&str]| Twig { id, name: format!("twig {id}"), buds: buds.iter().copied().map(bud).collect() };
    let branches = vec![
        Branch {
            id: first,
            name: "low".into(),
            leaves: vec![leaf(1), leaf(2)],
            twigs: vec![twig(first, &["red", "green"]), twig(first + 1, &[])],
        },
        // With leaves of the same numbers.
        Branch { id: first + 1, name: "high".into(), leaves: vec![leaf(1)], twigs: vec![twig(first + 2, &["blue"])] },
    ];
    Tree { id: random(), name: "oak".into(), branches }
}

pub async fn planted(t: &TestDb) -> (Repository<Tree>, Tree) {
    let (trees, tree) = (Repository::new(&t.db), tree());
    let mut tx = t.db.begin().await.unwrap();
    trees.insert(&mut tx, tree.clone()).await.unwrap();
    tx.commit().await.unwrap();
    (trees, tree)
}

/// Saves each change separately, and expects it after every kind of load, and another tree unchanged.
async fn saved(t: &TestDb, changes: &[fn(&mut Tree)]) {
    let ((trees, mut expected), (_, other)) = (planted(t).await, planted(t).await);
    for (number, change) in (2..).zip(changes) {
        change(&mut expected);
        let command = |tree: &mut Tree| {
            change(tree);
            Ok::<_, std::convert::Infallible>(())
        };
        let saved: Result<_, UpdateError<_>> = trees.update(&expected.id).run(command).await;
        assert_eq!(saved.unwrap().version(), version(number));
        assert_eq!(*trees.get(&expected.id).await.unwrap().unwrap(), expected);
        let mut tx = t.db.begin().await.unwrap();
        let locked = trees.find(&mut tx, &expected.id, LockMode::PessimisticWrite).await.unwrap().unwrap();
        assert_eq!((&*locked, locked.version()), (&expected, version(number)));
        drop(tx);
        assert_eq!(*trees.get(&other.id).await.unwrap().unwrap(), other);
    }
}

pub async fn grandchildren_naming_only_their_parent_round_trip(t: &TestDb) {
    saved(t, &[|tree| tree.name = "elm".into()]).await;
}

pub async fn their_changes_at_any_depth_are_saved(t: &TestDb) {
    let changes: [fn(&mut Tree); 6] = [
        |tree| tree.branches[0].leaves[1].text = "brown".into(),
        |tree| tree.branches[1].leaves.push(Leaf { no: 2, text: "new".into() }),
        |tree| drop(tree.branches[0].leaves.remove(0)),
        |tree| tree.branches[0].twigs[0].buds[1].text = "open".into(),
        |tree| tree.branches[0].twigs[0].buds.reverse(),
        |tree| tree.branches[1].twigs[0].buds.clear(),
    ];
    saved(t, &changes).await;
}

pub async fn twig_moved_to_another_branch_takes_its_buds_along(t: &TestDb) {
    let changes: [fn(&mut Tree); 2] = [
        |tree| {
            let twig = tree.branches[0].twigs.remove(0);
            tree.branches[1].twigs.insert(0, twig);
        },
        // A branch is deleted with all of its children.
        |tree| drop(tree.branches.remove(1)),
    ];
    saved(t, &changes).await;
}

pub async fn deleted_tree_leaves_no_grandchildren_behind(t: &TestDb) {
    let ((trees, mut tree), (_, other)) = (planted(t).await, planted(t).await);
    let mut tx = t.db.begin().await.unwrap();
    let loaded = trees.find(&mut tx, &tree.id, LockMode::Optimistic).await.unwrap().unwrap();
    trees.delete(&mut tx, loaded).await.unwrap();
    // The same numbers are free again, without children.
    for branch in &mut tree.branches {
        branch.leaves.clear();
        branch.twigs.iter_mut().for_each(|twig| twig.buds.clear());
    }
    trees.insert(&mut tx, tree.clone()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(*trees.get(&tree.id).await.unwrap().unwrap(), tree);
    assert_eq!(*trees.get(&other.id).await.unwrap().unwrap(), other);
}
