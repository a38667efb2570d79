//! Values that a column cannot store: what a person typed is no failure of the database.

use tenure::error::{DatabaseError, DoesNotFit, ErrorCode};
use tenure::{Aggregate, Entity, Error, Loaded, LockMode, Repository};

use super::support::{TestDb, random, version};

/// `0026_narrow.sql` has its columns.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_narrow")]
struct Narrow {
    #[aggregate(id)]
    id: String,
    title: String,
    small: i64,
    latin: String,
    #[aggregate(children, table = "test_narrow_line", owner = "narrow_id")]
    lines: Vec<Line>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Line {
    #[aggregate(key)]
    no: i64,
    text: String,
}

async fn narrow(t: &TestDb) -> (Repository<Narrow>, Loaded<Narrow>) {
    let all = Repository::<Narrow>::new(&t.db);
    let lines = vec![Line { no: 1, text: "a".into() }];
    let new = Narrow { id: random(), title: "a".into(), small: 1, latin: "a".into(), lines };
    let mut tx = t.db.begin().await.unwrap();
    let narrow = all.insert(&mut tx, new).await.unwrap();
    tx.commit().await.unwrap();
    (all, narrow)
}

fn misfit(refused: Result<impl std::fmt::Debug, Error>) -> DoesNotFit {
    let error = refused.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::DoesNotFit, false), "{error:?}");
    let Error::Database(DatabaseError::DoesNotFit(misfit)) = error else { panic!("{error:?}") };
    *misfit
}

pub async fn nul_is_refused_with_its_column_and_transaction_continues(t: &TestDb) {
    let (all, mut narrow) = narrow(t).await;
    let mut tx = t.db.begin().await.unwrap();
    narrow.title = "a\0b".into();
    let refused = misfit(all.save(&mut tx, &mut narrow).await);
    assert_eq!((refused.table.as_deref(), refused.column.as_deref()), (Some("test_narrow"), Some("title")));
    narrow.title = "ab".into();
    narrow.lines[0].text = "\0".into();
    let refused = misfit(all.save(&mut tx, &mut narrow).await);
    assert_eq!((refused.table.as_deref(), refused.column.as_deref()), (Some("test_narrow_line"), Some("text")));
    let refused = misfit(all.insert(&mut tx, Narrow { id: random() + "\0", ..narrow.clone().into_inner() }).await);
    assert_eq!(refused.column.as_deref(), Some("id"));
    narrow.lines[0].text = "b".into();
    assert_eq!(all.save(&mut tx, &mut narrow).await.unwrap(), version(2));
    tx.commit().await.unwrap();
}

pub async fn value_that_does_not_fit_names_table_and_limit(t: &TestDb) {
    let (all, narrow) = narrow(t).await;
    let is_mysql = t.begins_by_itself();
    type Change = fn(&mut Narrow);
    let changes: [(&str, &str, &str, Change); 4] = [
        ("test_narrow", "title", "5", |narrow| narrow.title = "longer".into()),
        ("test_narrow", "small", "", |narrow| narrow.small = 32_768),
        ("test_narrow_line", "text", "7", |narrow| narrow.lines[0].text = "far longer".into()),
        ("test_narrow_line", "text", "7", |narrow| narrow.lines.push(Line { no: 2, text: "far longer".into() })),
    ];
    let outside: (_, _, _, Change) = ("test_narrow", "latin", "", |narrow| narrow.latin = "한".into());
    for (table, column, limit, change) in changes.into_iter().chain(is_mysql.then_some(outside)) {
        let mut tx = t.db.begin().await.unwrap();
        let mut changed = all.find(&mut tx, &narrow.id, LockMode::None).await.unwrap().unwrap();
        change(&mut changed);
        let refused = misfit(all.save(&mut tx, &mut changed).await);
        assert_eq!(refused.table.as_deref(), Some(table), "{refused}");
        // MariaDB and MySQL tell the column, PostgreSQL the limit. MySQL says of a character set only that a conversion is impossible.
        match is_mysql {
            true if refused.problem.starts_with("Conversion from") => assert_eq!(column, "latin", "{refused}"),
            true => assert_eq!(refused.column.as_deref(), Some(column), "{refused}"),
            false => assert!(refused.problem.contains(limit), "{refused}"),
        }
        drop(tx);
        let mut tx = t.db.begin().await.unwrap();
        let mut other = narrow.clone().into_inner();
        other.id = random();
        change(&mut other);
        assert_eq!(misfit(all.insert(&mut tx, other).await).table.as_deref(), Some(table));
    }
    assert_eq!(all.get(&narrow.id).await.unwrap().unwrap().version(), version(1));
}

/// The server would end the connection in the middle of the message, which reads as a lost connection.
pub async fn text_larger_than_a_message_of_the_server_is_refused(t: &TestDb) {
    let (all, mut narrow) = narrow(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let Ok(connection) = tx.mysql() else { return };
    let limit = sqlx::query_scalar::<_, i64>("select cast(@@max_allowed_packet as signed)");
    let limit = usize::try_from(limit.fetch_one(connection).await.unwrap()).unwrap();
    narrow.title = "a".repeat(limit + 1);
    let refused = misfit(all.save(&mut tx, &mut narrow).await);
    assert_eq!(refused.table.as_deref(), Some("test_narrow"));
    assert!(refused.problem.contains(&limit.to_string()), "{refused}");
    drop(tx);
    assert_eq!(all.get(&narrow.id).await.unwrap().unwrap().version(), version(1));
}

pub async fn own_statement_that_does_not_fit_is_no_failure(t: &TestDb) {
    let (_, narrow) = narrow(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let long = format!("update test_narrow set title = 'far longer' where id = '{}'", narrow.id);
    let refused = misfit(t.by_hand_in(&mut tx, long).await.map_err(Error::from));
    assert_eq!(refused.table, None);
}
