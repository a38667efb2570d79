//! Row security that lets a user read a row and not write it. A lock does not see such a row.

use tenure::error::DatabaseError;
use tenure::{Aggregate, Error, LockMode, Repository};

#[derive(Aggregate, Debug)]
#[aggregate(table = "read_only_row")]
struct ReadOnlyRow {
    #[aggregate(id)]
    id: String,
    count: i64,
}

const TABLE: &str = "
    create table read_only_row (id text primary key, count bigint not null, version bigint not null);
    alter table read_only_row enable row level security;
    create policy reading on read_only_row for select using (true);
    create role reading_role;
    grant select, update, delete on read_only_row to reading_role;
    grant select, insert, update, delete on all tables in schema public to reading_role";

#[tokio::test]
async fn row_that_may_be_read_only_is_neither_a_conflict_nor_deleted() {
    let t = super::open().await;
    t.by_hand(TABLE.to_owned()).await.unwrap();
    let rows = Repository::<ReadOnlyRow>::new(&t.db);
    let mut tx = t.db.begin().await.unwrap();
    rows.insert(&mut tx, ReadOnlyRow { id: "a".into(), count: 1 }).await.unwrap();
    tx.commit().await.unwrap();
    for delete in [false, true] {
        let mut tx = t.db.begin().await.unwrap();
        t.by_hand_in(&mut tx, "set local role reading_role".to_owned()).await.unwrap();
        let mut row = rows.find(&mut tx, &"a".into(), LockMode::None).await.unwrap().unwrap();
        row.count = 2;
        let refused = match delete {
            true => rows.delete(&mut tx, row).await,
            false => rows.save(&mut tx, &mut row).await.map(drop),
        };
        let Err(Error::Database(DatabaseError::NotWritten { table })) = refused else { panic!("{refused:?}") };
        assert_eq!(table, "read_only_row");
    }
}
