//! The shop's statements on PostgreSQL.

use tenure::{Database, DatabaseError, Error};

use super::{Listed, StoredSession, failed};

pub(super) async fn migrate(db: &Database) -> Result<(), DatabaseError> {
    db.migrate(&sqlx::migrate!("migrations/postgres")).await
}

const COUNT_ORDERS: &str =
    "select count(*) from orders where ($1::text is null or orderer = $1) and ($2::text is null or state = $2)";

pub(super) async fn count_orders(
    db: &Database,
    orderer: Option<&str>,
    state: Option<&str>,
) -> Result<i64, DatabaseError> {
    let count = sqlx::query_scalar(COUNT_ORDERS).bind(orderer).bind(state);
    count.fetch_one(db.postgres()?).await.map_err(failed)
}

const LIST_ORDERS: &str = "
    select no, orderer_name, state, total, (extract(epoch from placed_at) * 1000000)::bigint as placed_at from orders
     where ($1::text is null or orderer = $1) and ($2::text is null or state = $2)
     order by orders.placed_at desc, no desc limit $3 offset $4";

pub(super) async fn list_orders(
    db: &Database,
    orderer: Option<&str>,
    state: Option<&str>,
    limit: i64,
    offset: i64,
) -> Result<Vec<Listed>, DatabaseError> {
    let list = sqlx::query_as(LIST_ORDERS).bind(orderer).bind(state).bind(limit).bind(offset);
    list.fetch_all(db.postgres()?).await.map_err(failed)
}

pub(super) async fn has_members(db: &Database) -> Result<bool, DatabaseError> {
    sqlx::query_scalar("select exists (select 1 from member)").fetch_one(db.postgres()?).await.map_err(failed)
}

const WRITE_SESSION: &str = "
    insert into sign_in (id, data, expires_at) values ($1, $2, $3)
        on conflict (id) do update set data = excluded.data, expires_at = excluded.expires_at";

pub(super) async fn write_session(db: &Database, id: &str, data: &str, expires_at: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    let upsert = sqlx::query(WRITE_SESSION).bind(id).bind(data).bind(expires_at);
    upsert.execute(tx.postgres()?).await.map_err(failed)?;
    tx.commit().await
}

pub(super) async fn read_session(db: &Database, id: &str, now: i64) -> Result<Option<StoredSession>, DatabaseError> {
    let select = sqlx::query_as("select data, expires_at from sign_in where id = $1 and expires_at > $2");
    select.bind(id).bind(now).fetch_optional(db.postgres()?).await.map_err(failed)
}

pub(super) async fn delete_session(db: &Database, id: &str) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    let delete = sqlx::query("delete from sign_in where id = $1").bind(id);
    delete.execute(tx.postgres()?).await.map_err(failed)?;
    tx.commit().await
}

pub(super) async fn sweep_sessions(db: &Database, now: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    let delete = sqlx::query("delete from sign_in where expires_at <= $1").bind(now);
    delete.execute(tx.postgres()?).await.map_err(failed)?;
    tx.commit().await
}
