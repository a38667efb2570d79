//! A hand-written mapping has the same guarantees, also with nested children.

use std::convert::Infallible;
use std::sync::LazyLock;

use tenure::aggregate::mapping::{Column, Mapping, MappingError, Row, Rows, Table};
use tenure::aggregate::value::{Kind, Value};
use tenure::{Aggregate, Repository, Version};

use super::support::{TestDb, random, version};

/// Steps with their tools, in the tables of the assembly, without the library's collections.
#[derive(Debug, Clone, PartialEq)]
struct Recipe {
    id: String,
    steps: Vec<(String, Vec<String>)>,
}

static MAPPING: LazyLock<Mapping> = LazyLock::new(|| {
    let [id, text] = ["id", "text"].map(|name| Column::new(name, name, Kind::Text));
    let [step, position] = ["step", "position"].map(|name| Column::new(name, name, Kind::Integer));
    let table = |name: &str, path: &str, parent, columns: &[&Column], key| {
        let owner = if path.is_empty() { vec![] } else { vec!["assembly_id".into()] };
        let columns = columns.iter().map(|&column| column.clone()).collect();
        Table { name: name.into(), path: path.into(), owner, parent, columns, key }
    };
    let mapping = Mapping {
        name: "Recipe".into(),
        root: table("test_assembly", "", None, &[&id], 1),
        version: "version".into(),
        children: vec![
            table("test_step", "steps", None, &[&position, &text], 1),
            table("test_step_tool", "tools", Some(0), &[&step, &position, &text], 2),
        ],
        revisions: 0,
        generated: false,
        audit: None,
    };
    mapping.validate().unwrap();
    mapping
});

impl Aggregate for Recipe {
    type Id = String;

    fn id(&self) -> &String {
        &self.id
    }

    fn mapping() -> &'static Mapping {
        &MAPPING
    }

    fn to_rows(&self) -> Rows {
        let (mut steps, mut tools): (Vec<Row>, Vec<Row>) = Default::default();
        for (step, (text, names)) in (0..).zip(&self.steps) {
            steps.push(vec![Value::Integer(step), Value::Text(text.clone())]);
            for (position, name) in (0..).zip(names) {
                tools.push(vec![Value::Integer(step), Value::Integer(position), Value::Text(name.clone())]);
            }
        }
        Rows { root: vec![Value::Text(self.id.clone())], children: vec![steps, tools] }
    }

    fn from_rows(rows: &Rows) -> Result<Self, MappingError> {
        let text = |value: &Value| match value {
            Value::Text(text) => Ok(text.clone()),
            other => Err(MappingError::new("test_step", "text", format!("{other:?} is no text"))),
        };
        let step = |step: &Row| {
            let tools = rows.children[1].iter().filter(|tool| tool[0] == step[0]);
            Ok((text(&step[1])?, tools.map(|tool| text(&tool[2])).collect::<Result<_, _>>()?))
        };
        Ok(Recipe { id: text(&rows.root[0])?, steps: rows.children[0].iter().map(step).collect::<Result<_, _>>()? })
    }
}

pub async fn hand_written_mapping_saves_nested_children(t: &TestDb) {
    let (recipes, id) = (Repository::<Recipe>::new(&t.db), random());
    let step = |text: &str, tools: &[&str]| (text.to_owned(), tools.iter().map(|&tool| tool.to_owned()).collect());
    let mut recipe = Recipe { id: id.clone(), steps: vec![step("boil", &["kettle"]), step("pour", &["pot", "sieve"])] };
    let mut tx = t.db.begin().await.unwrap();
    recipes.insert(&mut tx, recipe.clone()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(*recipes.get(&id).await.unwrap().unwrap(), recipe);

    let stale = recipes.get(&id).await.unwrap().unwrap();
    let change = |recipe: &mut Recipe| {
        recipe.steps[0].1.push("towel".into());
        drop(recipe.steps.remove(1));
        Ok::<_, Infallible>(())
    };
    change(&mut recipe).unwrap();
    let saved = recipes.update(&id).run(change).await.unwrap();
    assert_eq!((&*saved, saved.version()), (&recipe, version(2)));
    assert_eq!(*recipes.get(&id).await.unwrap().unwrap(), recipe);

    let mut tx = t.db.begin().await.unwrap();
    let mut late = stale;
    late.steps[1].1.clear();
    let Err(tenure::Error::OptimisticLockingFailure(conflict)) = recipes.save(&mut tx, &mut late).await else {
        panic!("it was saved")
    };
    assert_eq!((conflict.expected, conflict.actual), (Version::FIRST, Some(version(2))));
    assert!(conflict.fields.iter().any(|field| field.path == "steps[0].tools[1].text"), "{:?}", conflict.fields);
    recipes.delete(&mut tx, recipes.get(&id).await.unwrap().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    assert!(recipes.get(&id).await.unwrap().is_none());
}
