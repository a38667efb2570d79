//! The plan against a table that checks each row as it is written, as InnoDB does.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::aggregate::mapping::Column;

/// Two collections: items with a parent among them, a place that is unique, not null, and a code that is unique or null; links to items.
fn mapping() -> Mapping {
    let column = |name: &str| Column::new(name, name, Kind::Integer);
    let nullable = |name: &str| Column { nullable: true, ..column(name) };
    let table = |name: &str, owner: Vec<String>, columns: Vec<Column>| Table {
        name: name.into(),
        path: name.into(),
        owner,
        parent: None,
        columns,
        key: 1,
    };
    let owner = || vec!["doc_id".into()];
    Mapping {
        name: "Doc".into(),
        root: Table { path: String::new(), ..table("doc", vec![], vec![column("id")]) },
        version: "version".into(),
        children: vec![
            // Before the items, which is the wrong order for its references.
            table("link", owner(), vec![column("no"), nullable("item_no")]),
            table("item", owner(), vec![column("no"), nullable("parent_no"), column("place"), nullable("code")]),
        ],
        revisions: 0,
        generated: false,
        audit: None,
    }
}

fn described() -> [Described; 2] {
    let pairs = |from: &str| vec![("doc_id".into(), "doc_id".into()), (from.into(), "no".into())];
    let unique = |name: &str| vec!["doc_id".to_owned(), name.into()];
    let link = Described { uniques: vec![unique("no")], references: vec![("item".into(), pairs("item_no"))] };
    let uniques = vec![unique("no"), unique("place"), unique("code")];
    [link, Described { uniques, references: vec![("item".into(), pairs("parent_no"))] }]
}

fn rules() -> Rules {
    Rules::of(&mapping(), &described())
}

type Tables = [BTreeMap<i64, Row>; 2];

fn tables(rows: &Rows) -> Tables {
    let by_key = |rows: &Vec<Row>| rows.iter().map(|row| (number(&row[0]).unwrap(), row.clone())).collect();
    [by_key(&rows.children[0]), by_key(&rows.children[1])]
}

fn number(value: &Value) -> Option<i64> {
    if let Value::Integer(number) = value { Some(*number) } else { None }
}

/// The first violated rule.
fn violation(tables: &Tables) -> Option<String> {
    let items = &tables[1];
    let refers = |from: &BTreeMap<i64, Row>| {
        from.values()
            .filter_map(|row| number(&row[1]))
            .find(|to| !items.contains_key(to))
            .map(|to| format!("no item {to}"))
    };
    let twice = |column: usize| {
        let mut all: Vec<_> = items.values().filter_map(|row| number(&row[column])).collect();
        all.sort_unstable();
        all.windows(2).any(|two| two[0] == two[1]).then(|| format!("column {column} of the items is not unique"))
    };
    refers(&tables[0]).or_else(|| refers(items)).or_else(|| twice(2)).or_else(|| twice(3))
}

/// Runs the plan, and checks every rule after each step.
fn run(old: &Rows, new: &Rows) -> Result<(), String> {
    let (mapping, mut tables) = (mapping(), tables(old));
    let diff = Diff::between(&mapping, old, new);
    for step in plan(&mapping, &rules(), old, &diff) {
        match &step {
            Step::Delete { table, key } => {
                let row = tables[*table].remove(&number(&key[0]).unwrap()).ok_or("nothing to delete")?;
                if *table == 1 && row[1] == row[0] {
                    return Err("a row that refers to itself was deleted".into());
                }
            }
            Step::Update { table, row, changed } => {
                let there = tables[*table].get_mut(&number(&row[0]).unwrap()).ok_or("nothing to update")?;
                changed.iter().for_each(|&column| there[column] = row[column].clone());
            }
            Step::Insert { table, row } => {
                if tables[*table].insert(number(&row[0]).unwrap(), row.clone().into_owned()).is_some() {
                    return Err("inserted twice".into());
                }
            }
        }
        if let Some(violation) = violation(&tables) {
            return Err(format!("{violation} after {step:?}"));
        }
    }
    if tables == self::tables(new) { Ok(()) } else { Err(format!("ended as {tables:?}")) }
}

fn item(no: i64, parent: Option<i64>, place: i64, code: Option<i64>) -> Row {
    let perhaps = |value: Option<i64>| value.map_or(Value::Null(Kind::Integer), Value::Integer);
    vec![Value::Integer(no), perhaps(parent), Value::Integer(place), perhaps(code)]
}

fn rows(links: Vec<Row>, items: Vec<Row>) -> Rows {
    Rows { root: vec![Value::Integer(1)], children: vec![links, items] }
}

/// A state without a violation: the numbers only choose among what is there.
fn state() -> impl Strategy<Value = Rows> {
    let choice = || proptest::option::of(0..7_usize);
    let items = proptest::sample::subsequence((0..7_i64).collect::<Vec<_>>(), 0..=7);
    let choices = proptest::collection::vec((choice(), any::<bool>()), 7);
    let places = Just((0..7_i64).collect::<Vec<_>>()).prop_shuffle();
    let links = proptest::collection::btree_map(0..4_i64, choice(), 0..4);
    (items, choices, places.clone(), places, links).prop_map(|(nos, choices, places, codes, links)| {
        let among = |at: Option<usize>| at.filter(|_| !nos.is_empty()).map(|at| nos[at % nos.len()]);
        let item = |(at, no): (usize, &i64)| {
            let (parent, coded) = choices[at];
            item(*no, among(parent), places[at], coded.then_some(codes[at]))
        };
        let items: Vec<Row> = nos.iter().enumerate().map(item).collect();
        let link = |(no, to): (i64, Option<usize>)| {
            vec![Value::Integer(no), among(to).map_or(Value::Null(Kind::Integer), Value::Integer)]
        };
        rows(links.into_iter().map(link).collect(), items)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_change_between_valid_states_violates_nothing_on_its_way(old in state(), new in state()) {
        prop_assert_eq!(run(&old, &new), Ok(()));
    }

    #[test]
    fn new_and_deleted_aggregates_violate_nothing_on_their_way(state in state()) {
        let none = rows(Vec::new(), Vec::new());
        prop_assert_eq!(run(&none, &state), Ok(()));
        prop_assert_eq!(run(&state, &none), Ok(()));
    }
}

#[test]
fn changes_that_no_rule_concerns_keep_their_order_and_their_number() {
    let old = rows(vec![], vec![item(1, None, 1, None), item(2, None, 2, None), item(3, None, 3, None)]);
    let new = rows(vec![], vec![item(1, None, 9, None), item(3, None, 8, None), item(4, None, 2, None)]);
    let mapping = mapping();
    let diff = Diff::between(&mapping, &old, &new);
    assert_eq!(plan(&mapping, &rules(), &old, &diff), plan(&mapping, &Rules::default(), &old, &diff));
}

#[test]
fn two_rows_that_swap_a_value_need_one_statement_more() {
    let old = rows(vec![], vec![item(1, None, 1, None), item(2, None, 2, None)]);
    let new = rows(vec![], vec![item(1, None, 2, None), item(2, None, 1, None)]);
    let mapping = mapping();
    let diff = Diff::between(&mapping, &old, &new);
    assert_eq!((plan(&mapping, &rules(), &old, &diff).len(), run(&old, &new)), (3, Ok(())));
}

#[test]
fn value_is_given_up_before_all_that_take_it() {
    let old = rows(vec![], vec![item(1, None, 1, None), item(2, None, 2, None), item(3, None, 3, None)]);
    // Valid where only rows that meet a condition have to differ.
    let new = rows(vec![], vec![item(1, None, 2, None), item(2, None, 9, None), item(3, None, 2, None)]);
    let mapping = mapping();
    let diff = Diff::between(&mapping, &old, &new);
    let first = plan(&mapping, &rules(), &old, &diff).swap_remove(0);
    assert!(matches!(&first, Step::Update { row, .. } if row[0] == Value::Integer(2)), "{first:?}");
}

#[test]
fn only_rules_of_mapped_columns_that_can_change_are_kept() {
    let rules = rules();
    assert_eq!(
        rules.uniques.iter().map(|unique| (unique.table, unique.columns[0])).collect::<Vec<_>>(),
        [(1, 2), (1, 3)]
    );
    assert!(rules.uniques.iter().all(|unique| unique.per_root));
    let reference = |table, to| Reference { table, columns: vec![1], to, targets: vec![0] };
    assert_eq!(rules.references, [reference(0, 1), reference(1, 1)]);
    let foreign = Described { uniques: vec![vec!["unmapped".into()]], references: vec![("elsewhere".into(), vec![])] };
    assert_eq!(Rules::of(&mapping(), &[foreign.clone(), foreign]), Rules::default());
}
