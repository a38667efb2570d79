//! Commits whose answers are lost, on MariaDB.

use tenure::Database;
use testkit::{Kind, Proxy};

use crate::lost_answers;

lost_answers::cases!(Kind::MariaDb);

/// InnoDB shows a commit before it is flushed. Only the commit of a later write of the same row shows that it was.
#[tokio::test]
async fn outcome_of_a_commit_is_flushed_before_it_is_reported() {
    let url = testkit::new_database(Kind::MariaDb);
    let proxy = Proxy::to(&url).unwrap();
    let db = Database::connect(proxy.url()).await.unwrap().resolving_commits();
    let server = sqlx::MySqlPool::connect(&url).await.unwrap();
    let tables = "create table note (id int primary key) engine = InnoDB;
         alter table tenure_operation add column again timestamp(6) null default null on update current_timestamp(6)";
    sqlx::raw_sql(tables).execute(&server).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    sqlx::raw_sql("insert into note values (1)").execute(tx.mysql().unwrap()).await.unwrap();
    proxy.lose_answer_to("commit");
    tx.commit().await.unwrap();
    let written = "select count(*) from tenure_operation where committed = 1 and again is not null";
    assert_eq!(sqlx::query_scalar::<_, i64>(written).fetch_one(&server).await.unwrap(), 1);
}
