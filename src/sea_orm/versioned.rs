//! Optimistic versions for SeaORM's active models.

use async_trait::async_trait;
use sea_orm::sea_query::{Expr, ExprTrait, FromValueTuple, QueryBuilder, SqliteQueryBuilder, ValueTuple};
use sea_orm::{
    ActiveModelBehavior, ActiveModelTrait, ActiveValue, ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityName,
    EntityTrait, IdenStatic, IntoActiveModel, Iterable, ModelTrait, PrimaryKeyToColumn, PrimaryKeyTrait, QueryFilter,
    QuerySelect, QueryTrait, Value,
};

use super::SeaOrm;
use super::column::from_value;
use crate::aggregate::mapping::MappingError;
use crate::aggregate::version::Version;
use crate::error::{DatabaseError, Error};
use crate::version::conflict::VersionConflict;

/// An entity with a version column: an integer, not null, and 1 in a new row.
pub trait Versioned: EntityTrait {
    /// The version column.
    const VERSION: Self::Column;
}

type EntityOf<A> = <A as ActiveModelTrait>::Entity;
type ModelOf<A> = <EntityOf<A> as EntityTrait>::Model;

/// Saves with a version check, for the active models of every [`Versioned`] entity.
///
/// The expected version is the one that the active model was loaded with. It is never omitted: if it is unknown,
/// the save is an error. The hooks of [`ActiveModelBehavior`] run as for SeaORM's own `update`.
#[async_trait]
pub trait VersionedActiveModel: ActiveModelBehavior
where
    EntityOf<Self>: Versioned,
{
    /// Checks a version from a form against the loaded one, before anything is done.
    ///
    /// # Errors
    /// [`Error::VersionConflict`] if the row was changed after the form was opened. [`Error::Database`] if the active
    /// model does not know its version.
    fn expecting(self, seen: Version) -> Result<Self, Error> {
        match version_of(&self)? {
            (loaded, _) if loaded == seen => Ok(self),
            (loaded, _) => Err(Error::VersionConflict(Box::new(conflict(&self, seen, Some(loaded))))),
        }
    }

    /// Writes the fields that are set, if the row still has the loaded version, and raises the version by one.
    /// If no field besides the key is set, it writes nothing and keeps the version, but still checks it.
    ///
    /// # Errors
    /// [`Error::OptimisticLockingFailure`] if another session saved the row since it was loaded, with the expected and the
    /// actual version; [`Error::NotFound`] if it was deleted. In both cases nothing was written and the transaction continues.
    /// [`Error::Database`] if the version or the primary key is unknown, or the database failed; in the last case
    /// nothing can be committed any more.
    async fn update_versioned(mut self, conn: &SeaOrm<'_>) -> Result<ModelOf<Self>, Error>
    where
        ModelOf<Self>: IntoActiveModel<Self>,
    {
        let column = <EntityOf<Self> as Versioned>::VERSION;
        let (expected, _) = version_of(&self)?;
        if !is_edited(&self) {
            let found = <EntityOf<Self>>::find_by_id(key_of(&self)?).one(conn).await?;
            return match stored_version(&found)? {
                Some(actual) if actual != expected => Err(lost_race(&self, expected, actual)),
                _ => found.ok_or_else(|| not_found(&self)),
            };
        }
        self = self.before_save(conn, false).await?;
        // Read again, because the hook may have set it.
        let (_, value) = version_of(&self)?;
        let mut update = <EntityOf<Self>>::update(self.clone()).validate()?.filter(column.eq(value));
        QueryTrait::query(&mut update).value(column, Expr::col(column).add(1));
        match update.exec(conn).await {
            Ok(model) => Ok(Self::after_save(model, conn, false).await?),
            Err(DbErr::RecordNotUpdated) => Err(why(self, conn, expected).await?),
            Err(error) => Err(error.into()),
        }
    }
}

impl<A: ActiveModelBehavior> VersionedActiveModel for A where A::Entity: Versioned {}

/// Whether there is anything to write. The primary key only identifies the row, also when it is set.
fn is_edited<A: ActiveModelTrait>(model: &A) -> bool {
    let key = <A::Entity as EntityTrait>::PrimaryKey::from_column;
    <A::Entity as EntityTrait>::Column::iter().any(|column| key(column).is_none() && model.get(column).is_set())
}

/// The version that an active model was loaded with, and its original value.
fn version_of<A>(model: &A) -> Result<(Version, Value), MappingError>
where
    A: ActiveModelTrait<Entity: Versioned>,
{
    let column = <A::Entity as Versioned>::VERSION;
    let problem = match model.get(column) {
        ActiveValue::Unchanged(value) => match from_value(&value) {
            Some(version) => return Ok((version, value)),
            None => "a version is a whole number from 0; insert new rows with 1",
        },
        ActiveValue::Set(_) => "the version was set by hand, so the one that was loaded is not known; leave it alone",
        ActiveValue::NotSet => "the version that was loaded is not known, so it cannot be checked; load the whole row",
    };
    Err(misfit::<A::Entity>(problem))
}

/// The reason that no row had the expected version. Queried with a lock, so that the answer stays valid to the end
/// of the transaction.
async fn why<A>(model: A, conn: &SeaOrm<'_>, expected: Version) -> Result<Error, Error>
where
    A: ActiveModelTrait<Entity: Versioned>,
{
    let mut found = A::Entity::find_by_id(key_of(&model)?).lock_shared().one(conn).await?;
    if found.is_none() && conn.get_database_backend() == DbBackend::Postgres {
        // Row security may hide it from a lock.
        found = A::Entity::find_by_id(key_of(&model)?).one(conn).await?;
    }
    Ok(match stored_version(&found)? {
        Some(actual) if actual == expected => DatabaseError::NotWritten { table: table::<A::Entity>() }.into(),
        Some(actual) => lost_race(&model, expected, actual),
        None => not_found(&model),
    })
}

fn stored_version<M>(found: &Option<M>) -> Result<Option<Version>, MappingError>
where
    M: ModelTrait<Entity: Versioned>,
{
    let Some(model) = found else { return Ok(None) };
    let version = from_value(&model.get(<M::Entity as Versioned>::VERSION));
    version.map(Some).ok_or_else(|| misfit::<M::Entity>("what is stored is not a version, a whole number from 0"))
}

fn lost_race<A: ActiveModelTrait>(model: &A, expected: Version, actual: Version) -> Error {
    Error::OptimisticLockingFailure(Box::new(conflict(model, expected, Some(actual))))
}

fn not_found<A: ActiveModelTrait>(model: &A) -> Error {
    Error::NotFound { aggregate: table::<A::Entity>(), id: id_text(model) }
}

/// Only the versions are known: there are no revisions with the changes and their author.
fn conflict<A: ActiveModelTrait>(model: &A, expected: Version, actual: Option<Version>) -> VersionConflict {
    VersionConflict {
        aggregate: table::<A::Entity>(),
        id: id_text(model),
        expected,
        actual,
        changed: None,
        fields: Vec::new(),
        opened_known: false,
        mine_known: false,
    }
}

type KeyOf<E> = <<E as EntityTrait>::PrimaryKey as PrimaryKeyTrait>::ValueType;

fn key_of<A: ActiveModelTrait>(model: &A) -> Result<KeyOf<A::Entity>, DbErr> {
    let key = model.get_primary_key_value().ok_or(DbErr::PrimaryKeyNotSet { ctx: "a versioned save" })?;
    Ok(KeyOf::<A::Entity>::from_value_tuple(key))
}

fn misfit<E: Versioned>(problem: &str) -> MappingError {
    MappingError::new(table::<E>(), E::VERSION.as_str(), problem)
}

fn table<E: EntityName>() -> String {
    E::default().table_name().to_owned()
}

/// The primary key for messages.
fn id_text<A: ActiveModelTrait>(model: &A) -> String {
    let key = model.get_primary_key_value().into_iter().flat_map(ValueTuple::into_iter);
    let text = key.map(|value| match value {
        Value::String(Some(text)) => text,
        // As a literal, which quotes any other type.
        value => SqliteQueryBuilder.value_to_string(&value).trim_matches('\'').to_owned(),
    });
    text.collect::<Vec<_>>().join(", ")
}
