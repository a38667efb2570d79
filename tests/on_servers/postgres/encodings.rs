//! Databases with another encoding than UTF8: what fits is saved, anything else is refused as that.

use tenure::error::{DatabaseError, ErrorCode};
use tenure::{Aggregate, Database, Error, LockKey, LockManager, Owner, Repository};

#[derive(Aggregate, Debug)]
#[aggregate(table = "letter")]
struct Letter {
    #[aggregate(id)]
    id: String,
    text: String,
}

async fn in_encoding(encoding: &str, fits: &str, does_not: &str) {
    let server = Database::connect(&testkit::server_url(testkit::Kind::Postgres)).await.unwrap();
    let name = format!("encoded_{}", encoding.to_lowercase());
    let create = format!("create database {name} encoding '{encoding}' locale 'C' template template0");
    sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(server.postgres().unwrap()).await.unwrap();
    let url = testkit::server_url(testkit::Kind::Postgres);
    let url = format!("{}/{name}", url.rsplit_once('/').unwrap().0);
    let db = Database::connect(&url).await.unwrap();
    let letters = Repository::<Letter>::new(&db);
    let mut tx = db.begin().await.unwrap();
    let table = "create table letter (id text primary key, text text not null, version bigint not null)";
    sqlx::raw_sql(table).execute(tx.postgres().unwrap()).await.unwrap();
    letters.insert(&mut tx, Letter { id: "1".into(), text: fits.into() }).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(letters.get(&"1".into()).await.unwrap().unwrap().text, fits);
    let mut tx = db.begin().await.unwrap();
    let refused = letters.insert(&mut tx, Letter { id: "2".into(), text: does_not.into() }).await.unwrap_err();
    let Error::Database(DatabaseError::DoesNotFit(misfit)) = &refused else { panic!("{refused:?}") };
    assert!(misfit.table.as_deref() == Some("letter") && misfit.problem.contains(encoding), "{misfit}");
    let nobody = Owner::new("kim", does_not);
    let refused = LockManager::new(&db).try_lock(&LockKey::new("Letter", "1"), &nobody).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::DoesNotFit, "{refused:?}");
    let diagnosis = Database::diagnose(&url).await.unwrap();
    let shown = diagnosis.to_string();
    assert!(diagnosis.is_healthy() && shown.contains(&format!("server_encoding           {encoding} (")), "{shown}");
}

#[tokio::test]
async fn text_outside_latin1_is_refused_as_that() {
    in_encoding("LATIN1", "café", "한글").await;
}

#[tokio::test]
async fn emoji_in_euc_kr_is_refused_as_that() {
    in_encoding("EUC_KR", "한글", "💐").await;
}
