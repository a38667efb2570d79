//! For any sequence of edits, the database equals the model, and the version counts the saves that changed something.

#![allow(missing_docs, clippy::unwrap_used)]

use proptest::prelude::*;
use tenure::{Aggregate, Database, Entity, Repository, ValueObject};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "basket", revisions = 2)]
struct Basket {
    #[aggregate(id)]
    id: u32,
    label: Option<String>,
    size: Size,
    items: u32,
    #[aggregate(children, table = "basket_item", owner = "basket_id")]
    contents: Vec<Item>,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct Size {
    width: i64,
    fragile: bool,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Item {
    #[aggregate(key)]
    aisle: String,
    #[aggregate(key)]
    slot: u8,
    weight: f64,
}

#[derive(Debug, Clone)]
enum Edit {
    Label(Option<String>),
    Width(i64),
    Fragile(bool),
    Put { aisle: u8, slot: u8, weight: f64 },
    Take(usize),
}

impl Basket {
    fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Label(label) => self.label = label,
            Edit::Width(width) => self.size.width = width,
            Edit::Fragile(fragile) => self.size.fragile = fragile,
            Edit::Put { aisle, slot, weight } => {
                let aisle = ["tea", "커피", "it's"][usize::from(aisle)].to_owned();
                self.contents.retain(|item| (&item.aisle, item.slot) != (&aisle, slot));
                self.contents.push(Item { aisle, slot, weight });
            }
            Edit::Take(at) if at < self.contents.len() => drop(self.contents.remove(at)),
            Edit::Take(_) => {}
        }
        self.contents.sort_by(|a, b| (&a.aisle, a.slot).cmp(&(&b.aisle, b.slot)));
        self.items = u32::try_from(self.contents.len()).unwrap();
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        proptest::option::of(".{0,8}").prop_map(Edit::Label),
        any::<i64>().prop_map(Edit::Width),
        any::<bool>().prop_map(Edit::Fragile),
        (0_u8..3, 0_u8..3, -1e6..1e6).prop_map(|(aisle, slot, weight)| Edit::Put { aisle, slot, weight }),
        (0_usize..6).prop_map(Edit::Take),
    ]
}

const TABLES: &str = "
    create table basket (id integer primary key, label text, size_width integer not null, size_fragile integer not null,
        items integer not null, version integer not null);
    create table basket_item (basket_id integer not null references basket (id), aisle text not null, slot integer not null,
        weight real not null, primary key (basket_id, aisle, slot));
";

async fn live(saves: Vec<Vec<Edit>>) {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&format!("sqlite://{}/test.db", directory.path().display())).await.unwrap();
    let baskets = Repository::<Basket>::new(&db);
    let mut model = Basket { id: 7, label: None, size: Size { width: 1, fragile: false }, items: 0, contents: vec![] };
    let mut tx = db.begin().await.unwrap();
    sqlx::raw_sql(TABLES).execute(tx.sqlite().unwrap()).await.unwrap();
    baskets.insert(&mut tx, model.clone()).await.unwrap();
    tx.commit().await.unwrap();
    let mut version = 1;
    for edits in saves {
        let before = model.clone();
        edits.iter().cloned().for_each(|edit| model.edit(edit));
        version += i64::from(model != before);
        let command = |basket: &mut Basket| {
            edits.into_iter().for_each(|edit| basket.edit(edit));
            Ok::<_, std::convert::Infallible>(())
        };
        assert_eq!(baskets.update(&7).run(command).await.unwrap().version().number(), version);
        let stored = baskets.get(&7).await.unwrap().unwrap();
        assert_eq!((&*stored, stored.version().number()), (&model, version));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn the_database_equals_the_model_after_any_edits(saves in prop::collection::vec(prop::collection::vec(edit(), 0..4), 1..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(live(saves));
    }
}
