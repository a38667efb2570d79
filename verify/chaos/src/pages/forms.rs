//! The forms that were saved.

use tenure::error::DatabaseError;
use tenure::{Database, Transaction};
use tenure_web::form_id::FormId;

use super::Pages;
use crate::backend::Backend;

/// Writes a form's id in the transaction of its save. A second save of the same form fails here.
pub(super) async fn remember(
    tx: &mut Transaction,
    backend: Backend,
    form: FormId,
    op: &str,
    version: i64,
) -> Result<(), DatabaseError> {
    let sql = backend.with_placeholders("insert into chaos_form (form, op, version) values (?, ?, ?)");
    macro_rules! insert {
        ($connection:expr) => {{
            let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(form.to_string()).bind(op).bind(version);
            query.execute($connection).await?;
        }};
    }
    match backend {
        Backend::Sqlite => insert!(tx.sqlite()?),
        _ if backend.is_postgres() => insert!(tx.postgres()?),
        _ => insert!(tx.mysql()?),
    }
    Ok(())
}

/// The version that this form made, if it was saved with this content.
pub(super) async fn saved(pages: &Pages, form: FormId, op: &str) -> Result<Option<i64>, DatabaseError> {
    let (backend, db) = (pages.backend, pages.subject.database());
    let sql = backend.with_placeholders("select version from chaos_form where form = ? and op = ?");
    macro_rules! fetch {
        ($pool:expr) => {{
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).bind(form.to_string()).bind(op);
            Ok(query.fetch_optional($pool).await?)
        }};
    }
    match backend {
        Backend::Sqlite => fetch!(db.sqlite()?),
        _ if backend.is_postgres() => fetch!(db.postgres()?),
        _ => {
            let saved: Result<Option<i64>, DatabaseError> = fetch!(db.mysql()?);
            let Some(version) = saved? else { return Ok(None) };
            Ok(flushes(db, form).await?.then_some(version))
        }
    }
}

/// InnoDB shows a commit before it is flushed. The commit of this change flushes it too.
async fn flushes(db: &Database, form: FormId) -> Result<bool, DatabaseError> {
    let flush = sqlx::query("update chaos_form set asked = asked + 1 where form = ?").bind(form.to_string());
    Ok(flush.execute(db.mysql()?).await?.rows_affected() == 1)
}
