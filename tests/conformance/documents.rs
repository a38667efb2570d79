//! Rows that refer to rows of the same collection, and unique values within a collection: `0028_document.sql` has the tables. Each change is
//! valid at its end, so it is saved, whatever the database checks on the way.

use std::convert::Infallible;

use tenure::{Aggregate, Entity, Loaded, Repository};

use super::support::{TestDb, random};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_doc")]
struct Doc {
    #[aggregate(id)]
    id: String,
    #[aggregate(children, table = "test_doc_item", owner = "doc_id")]
    items: Vec<Item>,
    #[aggregate(children, table = "test_doc_topic", owner = "doc_id")]
    topics: Vec<Topic>,
}

/// Its place is unique, and its code if there is one.
#[derive(Entity, Debug, Clone, PartialEq)]
struct Item {
    #[aggregate(key)]
    no: i64,
    parent_no: Option<i64>,
    place: i64,
    code: Option<i64>,
}

/// Its row goes with the one above it, by `on delete cascade`. Its turn is unique if it is not 0; MariaDB and MySQL have no such index.
#[derive(Entity, Debug, Clone, PartialEq)]
struct Topic {
    #[aggregate(key)]
    no: i64,
    above_no: Option<i64>,
    turn: i64,
}

fn item(no: i64, parent_no: Option<i64>, place: i64) -> Item {
    Item { no, parent_no, place, code: None }
}

fn topic(no: i64, above_no: Option<i64>) -> Topic {
    Topic { no, above_no, turn: 0 }
}

async fn insert(t: &TestDb, items: Vec<Item>, topics: Vec<Topic>) -> Loaded<Doc> {
    let mut tx = t.db.begin().await.unwrap();
    let doc = Repository::<Doc>::new(&t.db).insert(&mut tx, Doc { id: random(), items, topics }).await.unwrap();
    tx.commit().await.unwrap();
    doc
}

/// Saves the change, and checks what is stored.
async fn change(t: &TestDb, doc: &Doc, change: impl Fn(&mut Doc) + Send + Sync) -> Doc {
    let docs = Repository::<Doc>::new(&t.db);
    let command = |doc: &mut Doc| {
        change(doc);
        Ok::<_, Infallible>(())
    };
    let saved = docs.update(&doc.id).run(command).await.unwrap().into_inner();
    let mut stored = docs.get(&doc.id).await.unwrap().unwrap().into_inner();
    let mut expected = saved.clone();
    for doc in [&mut stored, &mut expected] {
        doc.items.sort_by_key(|item| item.no);
        doc.topics.sort_by_key(|topic| topic.no);
    }
    assert_eq!(stored, expected);
    stored
}

async fn delete(t: &TestDb, doc: &Doc) {
    let docs = Repository::<Doc>::new(&t.db);
    docs.update(&doc.id).delete(|_| Ok::<_, Infallible>(())).await.unwrap();
    assert!(docs.get(&doc.id).await.unwrap().is_none());
}

pub async fn parent_and_child_are_removed_together(t: &TestDb) {
    let items = vec![item(1, None, 1), item(2, Some(1), 2), item(3, Some(2), 3)];
    let topics = vec![topic(1, None), topic(2, Some(1))];
    let doc = insert(t, items, topics).await;
    let doc = change(t, &doc, |doc| {
        doc.items.clear();
        doc.topics.clear();
    })
    .await;
    delete(t, &doc).await;
}

pub async fn rows_swap_and_shift_unique_values(t: &TestDb) {
    let mut items = vec![item(1, None, 1), item(2, None, 2), item(3, None, 3)];
    items[0].code = Some(7);
    items[1].code = Some(8);
    let doc = insert(t, items, Vec::new()).await;
    let doc = change(t, &doc, |doc| {
        (doc.items[0].place, doc.items[1].place) = (2, 1);
        (doc.items[0].code, doc.items[1].code) = (Some(8), Some(7));
    })
    .await;
    // In a circle of three.
    let doc = change(t, &doc, |doc| doc.items.iter_mut().for_each(|item| item.place = item.place % 3 + 1)).await;
    // To the front, and the others one place on; then back.
    let doc = change(t, &doc, |doc| {
        doc.items.iter_mut().for_each(|item| item.place += 1);
        doc.items.push(item(4, None, 1));
    })
    .await;
    let doc = change(t, &doc, |doc| {
        doc.items.retain(|item| item.place > 1);
        doc.items.iter_mut().for_each(|item| item.place -= 1);
    })
    .await;
    delete(t, &doc).await;
}

pub async fn values_that_are_unique_in_some_rows_are_swapped(t: &TestDb) {
    let topics = [(1, 0), (2, 0), (3, 1), (4, 2)].map(|(no, turn)| Topic { no, above_no: None, turn });
    let doc = insert(t, Vec::new(), topics.to_vec()).await;
    let doc = change(t, &doc, |doc| {
        doc.topics.iter_mut().zip([2, 0, 0, 1]).for_each(|(topic, turn)| topic.turn = turn);
    })
    .await;
    delete(t, &doc).await;
}

pub async fn references_need_no_order_in_the_collection(t: &TestDb) {
    let doc = insert(t, vec![item(1, Some(3), 1), item(2, Some(1), 2), item(3, None, 3)], Vec::new()).await;
    let doc = change(t, &doc, |doc| {
        doc.items.insert(0, item(0, Some(9), 8));
        doc.items.push(item(9, Some(3), 9));
    })
    .await;
    delete(t, &doc).await;
}

pub async fn rows_that_refer_to_each_other_are_saved_and_deleted(t: &TestDb) {
    let doc = insert(t, vec![item(1, Some(2), 1), item(2, Some(1), 2), item(3, Some(3), 3)], Vec::new()).await;
    let doc = change(t, &doc, |doc| {
        doc.items.retain(|item| item.no == 3);
        doc.items.extend([item(4, Some(5), 1), item(5, Some(4), 2)]);
    })
    .await;
    delete(t, &doc).await;
}

pub async fn child_moves_away_from_a_removed_parent(t: &TestDb) {
    let topics = vec![topic(1, None), topic(2, Some(1))];
    let doc = insert(t, vec![item(1, None, 1), item(2, Some(1), 2)], topics).await;
    // Its new parent takes the place of the old one. A topic that stays does not go with the one that was above it.
    let doc = change(t, &doc, |doc| {
        doc.items = vec![item(2, Some(3), 2), item(3, None, 1)];
        doc.topics = vec![topic(2, None)];
    })
    .await;
    delete(t, &doc).await;
}

/// Numbers that depend on their seed only.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn state(&mut self) -> (Vec<Item>, Vec<Topic>) {
        let nos: Vec<i64> = (1..7).filter(|_| self.below(3) > 0).collect();
        let mut places: Vec<i64> = (1..=6).collect();
        for at in 0..5 {
            let other = at + self.below(6 - at);
            places.swap(at, other);
        }
        let among = |numbers: &mut Numbers| (numbers.below(3) > 0).then(|| nos[numbers.below(nos.len())]);
        let items = nos.iter().zip(&places).map(|(&no, &place)| Item {
            no,
            parent_no: among(self),
            place,
            code: (self.below(2) > 0).then_some(7 - place),
        });
        let items = items.collect();
        let topic = |(&no, &place): (&i64, &i64)| Topic { no, above_no: among(self), turn: place - 1 };
        (items, nos.iter().zip(&places).map(topic).collect())
    }
}

pub async fn any_valid_state_becomes_any_other(t: &TestDb) {
    let mut numbers = Numbers(37);
    let (items, topics) = numbers.state();
    let mut doc = insert(t, items, topics).await.into_inner();
    for _ in 0..40 {
        let (items, topics) = numbers.state();
        doc = change(t, &doc, |doc| (doc.items, doc.topics) = (items.clone(), topics.clone())).await;
    }
    delete(t, &doc).await;
}
