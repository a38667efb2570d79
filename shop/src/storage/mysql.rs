//! The shop's statements on MySQL and MariaDB.

use tenure::{Database, Error, Transaction, Wait, error::DatabaseError};

use super::orders::{Asked, PageOf, select};
use super::sessions::SessionNowRow;
use super::{Ended, KeptRow, Listed, OrderNowRow, SavedRow, SessionRow, TextOf, UnsavedRow, failed};

pub(super) async fn migrate(db: &Database) -> Result<(), DatabaseError> {
    db.migrate(&sqlx::migrate!("migrations/mysql")).await
}

const LISTED: &str = "no, orderer_name, state, total,
    timestampdiff(microsecond, '1970-01-01', placed_at) as placed_at, version";

pub(super) async fn count_orders(db: &Database, asked: &Asked<'_>) -> Result<i64, DatabaseError> {
    let mut count = select::<sqlx::MySql>("count(*)", asked, None);
    count.build_query_scalar().fetch_one(db.mysql()?).await.map_err(failed)
}

pub(super) async fn list_orders(db: &Database, asked: &Asked<'_>, page: PageOf) -> Result<Vec<Listed>, DatabaseError> {
    let mut list = select::<sqlx::MySql>(LISTED, asked, Some(page));
    list.build_query_as().fetch_all(db.mysql()?).await.map_err(failed)
}

/// Runs a statement that ends with `in` for these keys. The number of placeholders is a power of two, so that few texts are prepared.
async fn among<R>(db: &Database, sql: &str, keys: &[&str]) -> Result<Vec<R>, DatabaseError>
where
    R: for<'r> sqlx::FromRow<'r, sqlx::mysql::MySqlRow> + Send + Unpin,
{
    let mut select = sqlx::QueryBuilder::<sqlx::MySql>::new(sql);
    let last = keys.last().copied().unwrap_or_default();
    let padded = keys.iter().copied().chain(std::iter::repeat(last)).take(keys.len().next_power_of_two());
    select.push("(");
    let mut list = select.separated(", ");
    padded.for_each(|key| {
        list.push_bind(key);
    });
    select.push(")");
    select.build_query_as().fetch_all(db.mysql()?).await.map_err(failed)
}

pub(super) async fn orders_now(db: &Database, numbers: &[&str]) -> Result<Vec<OrderNowRow>, DatabaseError> {
    among(db, "select no, orderer, state, version from orders where no in ", numbers).await
}

pub(super) async fn notes_now(db: &Database, numbers: &[&str]) -> Result<Vec<(String, i64)>, DatabaseError> {
    among(db, "select order_no, version from order_note where order_no in ", numbers).await
}

pub(super) async fn secret(db: &Database, name: &str, value: &str) -> Result<String, Error> {
    let mut tx = db.begin().await?;
    let insert = sqlx::query("insert ignore into shop_secret (name, value) values (?, ?)");
    insert.bind(name).bind(value).execute(tx.mysql()?).await.map_err(failed)?;
    tx.commit().await?;
    let read = sqlx::query_scalar("select value from shop_secret where name = ?").bind(name);
    Ok(read.fetch_one(db.mysql()?).await.map_err(failed)?)
}

pub(super) async fn list_products(db: &Database) -> Result<Vec<(String, i64, i64)>, DatabaseError> {
    let list = sqlx::query_as("select name, stock, version from product order by name");
    list.fetch_all(db.mysql()?).await.map_err(failed)
}

pub(super) async fn has_members(db: &Database) -> Result<bool, DatabaseError> {
    sqlx::query_scalar("select exists (select 1 from member)").fetch_one(db.mysql()?).await.map_err(failed)
}

pub(super) async fn demo_members(db: &Database) -> Result<Vec<String>, DatabaseError> {
    sqlx::query_scalar("select id from member where demo").fetch_all(db.mysql()?).await.map_err(failed)
}

const INSERT_SESSION: &str = "
    insert into sign_in (id, member, epoch, browser, started_at, seen_at) values (?, ?, ?, ?, ?, ?)";

/// All but the latest few of this member.
const DROP_SESSIONS: &str = "
    delete from sign_in where member = ? and id not in (
        select id from (select id from sign_in where member = ? order by started_at desc, id desc limit ?) latest)";

pub(super) async fn insert_session(tx: &mut Transaction, row: &SessionRow, most: i64) -> Result<(), DatabaseError> {
    let insert = sqlx::query(INSERT_SESSION).bind(&row.id).bind(&row.member).bind(row.epoch).bind(&row.browser);
    insert.bind(row.started_at).bind(row.seen_at).execute(tx.mysql()?).await.map_err(failed)?;
    let delete = sqlx::query(DROP_SESSIONS).bind(&row.member).bind(&row.member).bind(most);
    delete.execute(tx.mysql()?).await.map_err(failed).map(drop)
}

const READ_SESSION: &str = "select id, member, epoch, browser, started_at, seen_at from sign_in where id = ?";

pub(super) async fn read_session(db: &Database, id: &str) -> Result<Option<SessionRow>, DatabaseError> {
    sqlx::query_as(READ_SESSION).bind(id).fetch_optional(db.mysql()?).await.map_err(failed)
}

const SESSIONS_NOW: &str = "
    select s.id, s.member, s.epoch, s.browser, s.started_at, s.seen_at, m.version as member_version
      from sign_in s join member m on m.id = s.member where s.id in ";

pub(super) async fn sessions_now(db: &Database, ids: &[&str]) -> Result<Vec<SessionNowRow>, DatabaseError> {
    among(db, SESSIONS_NOW, ids).await
}

const LIST_SESSIONS: &str = "
    select id, member, epoch, browser, started_at, seen_at from sign_in where member = ? and epoch = ?
     order by started_at desc, id desc";

pub(super) async fn list_sessions(db: &Database, member: &str, epoch: i64) -> Result<Vec<SessionRow>, DatabaseError> {
    sqlx::query_as(LIST_SESSIONS).bind(member).bind(epoch).fetch_all(db.mysql()?).await.map_err(failed)
}

/// Never an insert: a session that was ended in between stays ended.
pub(super) async fn touch_session(db: &Database, id: &str, seen_at: i64, wait: Wait) -> Result<(), Error> {
    let mut tx = db.begin_within(wait).await?;
    let update = sqlx::query("update sign_in set seen_at = ? where id = ? and seen_at < ?");
    update.bind(seen_at).bind(id).bind(seen_at).execute(tx.mysql()?).await.map_err(failed)?;
    tx.commit().await
}

pub(super) async fn delete_session(db: &Database, id: &str, member: &str) -> Result<bool, Error> {
    let mut tx = db.begin().await?;
    let delete = sqlx::query("delete from sign_in where id = ? and member = ?").bind(id).bind(member);
    let deleted = delete.execute(tx.mysql()?).await.map_err(failed)?;
    tx.commit().await?;
    Ok(deleted.rows_affected() > 0)
}

pub(super) async fn delete_sessions(tx: &mut Transaction, member: &str) -> Result<(), DatabaseError> {
    for delete in ["delete from sign_in where member = ?", "delete from known_browser where member = ?"] {
        sqlx::query(delete).bind(member).execute(tx.mysql()?).await.map_err(failed)?;
    }
    Ok(())
}

const REMEMBER_BROWSER: &str = "
    insert into known_browser (member, browser, seen_at) values (?, ?, ?)
        on duplicate key update seen_at = values(seen_at)";

/// All but the latest few of this member.
const DROP_BROWSERS: &str = "
    delete from known_browser where member = ? and browser not in (
        select browser from (
            select browser from known_browser where member = ? order by seen_at desc, browser desc limit ?) latest)";

pub(super) async fn remember_browser(
    tx: &mut Transaction,
    member: &str,
    browser: &str,
    seen_at: i64,
    most: i64,
) -> Result<(), DatabaseError> {
    let upsert = sqlx::query(REMEMBER_BROWSER).bind(member).bind(browser).bind(seen_at);
    upsert.execute(tx.mysql()?).await.map_err(failed)?;
    let delete = sqlx::query(DROP_BROWSERS).bind(member).bind(member).bind(most);
    delete.execute(tx.mysql()?).await.map_err(failed).map(drop)
}

const KNOWS_BROWSER: &str = "
    select exists (select 1 from known_browser where member = ? and browser = ? and seen_at > ?)";

pub(super) async fn knows_browser(
    db: &Database,
    member: &str,
    browser: &str,
    since: i64,
) -> Result<bool, DatabaseError> {
    let select = sqlx::query_scalar(KNOWS_BROWSER).bind(member).bind(browser).bind(since);
    select.fetch_one(db.mysql()?).await.map_err(failed)
}

pub(super) async fn sweep_sessions(db: &Database, ended: Ended) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    let delete = sqlx::query("delete from sign_in where started_at <= ? or seen_at <= ?");
    delete.bind(ended.started_before).bind(ended.seen_before).execute(tx.mysql()?).await.map_err(failed)?;
    let delete = sqlx::query("delete from known_browser where seen_at <= ?").bind(ended.browsers_before);
    delete.execute(tx.mysql()?).await.map_err(failed)?;
    tx.commit().await
}

const KEEP_FORM: &str = "
    insert into kept_form (id, member, about, what, form, fields, kept_at) values (?, ?, ?, ?, ?, ?, ?)";

/// All but a few of this member: what nobody goes on with goes first.
const DROP_OLDEST: &str = "
    delete from kept_form where member = ? and id not in (
        select id from (
            select k.id from kept_form k where k.member = ?
            order by k.dropped or exists (
                select 1 from kept_form n where n.member = k.member and n.form = k.form
                    and (n.kept_at > k.kept_at or n.kept_at = k.kept_at and n.id > k.id)),
                k.kept_at desc, k.id desc
            limit ?) latest)";

pub(super) async fn keep_form(db: &Database, form: &KeptRow, most: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    let insert = sqlx::query(KEEP_FORM).bind(&form.id).bind(&form.member).bind(&form.about).bind(&form.what);
    insert.bind(&form.form).bind(&form.fields).bind(form.kept_at).execute(tx.mysql()?).await.map_err(failed)?;
    let delete = sqlx::query(DROP_OLDEST).bind(&form.member).bind(&form.member).bind(most);
    delete.execute(tx.mysql()?).await.map_err(failed)?;
    tx.commit().await
}

const KEPT_FORM: &str = "
    select id, member, about, what, form, fields, kept_at from kept_form where id = ? and member = ? and kept_at > ?";

pub(super) async fn kept_form(
    db: &Database,
    id: &str,
    member: &str,
    since: i64,
) -> Result<Option<KeptRow>, DatabaseError> {
    let select = sqlx::query_as(KEPT_FORM).bind(id).bind(member).bind(since);
    select.fetch_optional(db.mysql()?).await.map_err(failed)
}

const UNSAVED_FORMS: &str = "
    select id, about, form, kept_at from kept_form k
    where member = ? and kept_at > ? and form is not null and not dropped and not exists (
        select 1 from saved_form s where s.form_id = k.form and s.member = k.member and s.saved_at >= k.kept_at)
    order by kept_at desc, id desc";

pub(super) async fn unsaved_forms(db: &Database, member: &str, since: i64) -> Result<Vec<UnsavedRow>, DatabaseError> {
    sqlx::query_as(UNSAVED_FORMS).bind(member).bind(since).fetch_all(db.mysql()?).await.map_err(failed)
}

const MOVE_TEXT: &str = "
    update kept_form set form = coalesce(?, form), dropped = ? where member = ? and about = ? and form = ?";

pub(super) async fn move_text(db: &Database, text: &TextOf<'_>, to: Option<&str>) -> Result<bool, Error> {
    let mut tx = db.begin().await?;
    let update = sqlx::query(MOVE_TEXT).bind(to).bind(to.is_none()).bind(text.member).bind(text.about).bind(text.form);
    let updated = update.execute(tx.mysql()?).await.map_err(failed)?;
    tx.commit().await?;
    Ok(updated.rows_affected() > 0)
}

const MARK_SAVED: &str = "
    insert into saved_form (form_id, member, digest, version, made_on, saved_at) values (?, ?, ?, ?, ?, ?)
        on duplicate key update digest = values(digest), version = values(version), made_on = values(made_on)";

pub(super) async fn mark_saved(tx: &mut Transaction, form: &SavedRow) -> Result<(), DatabaseError> {
    let upsert = sqlx::query(MARK_SAVED).bind(&form.form_id).bind(&form.member).bind(&form.digest);
    upsert
        .bind(form.version)
        .bind(form.made_on)
        .bind(form.saved_at)
        .execute(tx.mysql()?)
        .await
        .map_err(failed)
        .map(drop)
}

const SAVED_FORM: &str = "
    select form_id, member, digest, version, made_on, saved_at from saved_form where form_id = ? and member = ?";

/// InnoDB shows a commit before it is flushed. This commit flushes it too, so that no answer reports a save that a crash undoes.
const FLUSH_SAVED_FORM: &str = "update saved_form set saved_at = saved_at + 1 where form_id = ? and member = ?";

pub(super) async fn saved_form(db: &Database, form_id: &str, member: &str) -> Result<Option<SavedRow>, DatabaseError> {
    let select = sqlx::query_as(SAVED_FORM).bind(form_id).bind(member);
    let Some(saved) = select.fetch_optional(db.mysql()?).await.map_err(failed)? else { return Ok(None) };
    let flush = sqlx::query(FLUSH_SAVED_FORM).bind(form_id).bind(member);
    let flushed = flush.execute(db.mysql()?).await.map_err(failed)?.rows_affected() == 1;
    Ok(flushed.then_some(saved))
}

pub(super) async fn sweep_forms(db: &Database, before: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    for delete in ["delete from kept_form where kept_at <= ?", "delete from saved_form where saved_at <= ?"] {
        sqlx::query(delete).bind(before).execute(tx.mysql()?).await.map_err(failed)?;
    }
    tx.commit().await
}
