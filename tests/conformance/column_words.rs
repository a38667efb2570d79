//! Features for existing tables: enums of the database and of numbers, arrays, validated newtypes, fields that are not stored, a
//! table in a schema, some of the audit columns.

use std::fmt;

use tenure::aggregate::value::Array;
use tenure::{Aggregate, Entity, LockMode, Repository, ValueObject};

use super::support::{TestDb, kim, random, version};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "main.test_word", audit_by = "edited_by", audit_at = "edited_at")]
struct Word {
    #[aggregate(id)]
    id: i64,
    mood: Mood,
    past: Option<Mood>,
    level: Level,
    email: Email,
    tags: Array<String>,
    scores: Option<Array<i64>>,
    #[aggregate(skip)]
    clicks: u32,
    #[aggregate(children, table = "main.test_word_mood", owner = "word_id")]
    moods: Vec<Moment>,
}

#[derive(ValueObject, Debug, Clone, Copy, PartialEq)]
#[aggregate(sql_type = "main.test_mood")]
enum Mood {
    #[aggregate(rename = "calm")]
    Calm,
    #[aggregate(rename = "very loud")]
    Loud,
}

#[derive(ValueObject, Debug, Clone, Copy, PartialEq)]
#[aggregate(integer)]
enum Level {
    Low = -1,
    High = 70,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
#[aggregate(try_from = "String")]
struct Email(String);

#[derive(Debug)]
struct NoEmail;

impl fmt::Display for NoEmail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address has an @")
    }
}

impl TryFrom<String> for Email {
    type Error = NoEmail;

    fn try_from(text: String) -> Result<Self, NoEmail> {
        if text.contains('@') { Ok(Email(text)) } else { Err(NoEmail) }
    }
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Moment {
    #[aggregate(key)]
    mood: Mood,
    level: Level,
    #[aggregate(skip)]
    seen: bool,
}

fn word() -> Word {
    let id = i64::from(u32::from_str_radix(&random()[..8], 16).unwrap());
    Word {
        id,
        mood: Mood::Calm,
        past: None,
        level: Level::Low,
        email: Email("kim@example.com".into()),
        tags: vec!["a,b".to_owned(), "{\"'\\}".to_owned(), "한국어".to_owned(), String::new()].into(),
        scores: None,
        clicks: 0,
        moods: vec![Moment { mood: Mood::Calm, level: Level::High, seen: false }],
    }
}

async fn inserted(t: &TestDb) -> (Repository<Word>, Word) {
    let (words, word) = (Repository::new(&t.db), word());
    let mut tx = t.db.begin().await.unwrap();
    words.insert(tx.by(&kim()), word.clone()).await.unwrap();
    tx.commit().await.unwrap();
    (words, word)
}

pub async fn enums_arrays_and_newtypes_round_trip(t: &TestDb) {
    let (words, mut expected) = inserted(t).await;
    let changes: [fn(&mut Word); 7] = [
        |word| word.mood = Mood::Loud,
        |word| word.past = Some(Mood::Loud),
        |word| word.level = Level::High,
        |word| word.tags.push("new".into()),
        |word| word.tags.clear(),
        |word| word.scores = Some(vec![i64::MIN, 0, i64::MAX].into()),
        |word| word.moods[0] = Moment { mood: Mood::Loud, level: Level::Low, seen: false },
    ];
    for (number, change) in (2..).zip(changes) {
        change(&mut expected);
        let command = |word: &mut Word| {
            change(word);
            Ok::<_, std::convert::Infallible>(())
        };
        assert_eq!(words.update(&expected.id).run(command).await.unwrap().version(), version(number));
        assert_eq!(*words.get(&expected.id).await.unwrap().unwrap(), expected);
        let mut tx = t.db.begin().await.unwrap();
        assert_eq!(*words.find(&mut tx, &expected.id, LockMode::PessimisticWrite).await.unwrap().unwrap(), expected);
    }
}

pub async fn skipped_field_is_neither_stored_nor_a_change(t: &TestDb) {
    let (words, word) = inserted(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let mut loaded = words.find(&mut tx, &word.id, LockMode::None).await.unwrap().unwrap();
    (loaded.clicks, loaded.moods[0].seen) = (7, true);
    assert_eq!(words.save(&mut tx, &mut loaded).await.unwrap(), version(1));
    tx.commit().await.unwrap();
    assert_eq!(*words.get(&word.id).await.unwrap().unwrap(), word);
}

pub async fn stored_value_that_a_newtype_refuses_names_its_row(t: &TestDb) {
    let (words, word) = inserted(t).await;
    let table = if t.url().starts_with("sqlite") { "test_word" } else { "main.test_word" };
    for (column, value, why) in [("email", "'nobody'", "an address has an @"), ("level", "3", "known are Low, High")] {
        t.by_hand(format!("update {table} set {column} = {value} where id = {}", word.id)).await.unwrap();
        let error = words.get(&word.id).await.unwrap_err().to_string();
        for part in ["`main.test_word`", &format!("column `{column}`"), &format!("Word {}", word.id), why] {
            assert!(error.contains(part), "{error}");
        }
        t.by_hand(format!("update {table} set email = 'a@b' where id = {}", word.id)).await.unwrap();
    }
}

pub async fn single_audit_columns_tell_author_and_time(t: &TestDb) {
    let (words, word) = inserted(t).await;
    let changes = words.changes(&word.id, 5).await.unwrap();
    let [change] = &changes[..] else { panic!("one change: {changes:?}") };
    assert_eq!((change.by.as_ref().map(|by| by.id.as_str()), change.command.as_deref()), (Some("kim"), None));
}

pub async fn check_accepts_enums_arrays_and_a_schema(t: &TestDb) {
    let report = t.db.check::<Word>().await.unwrap();
    assert_eq!(report.findings, [], "{report}");
}
