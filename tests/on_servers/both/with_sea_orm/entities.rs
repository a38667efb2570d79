//! The entities of the suite: a parcel with a generated key, and a stock with a key of two columns and a hook.

use sea_orm::{ActiveModelTrait, EntityTrait, Set};
use tenure::Version;
use tenure::sea_orm::Versioned;

use crate::conformance::support::{TestDb, random};

pub mod parcel {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "test_parcel")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        #[sea_orm(unique)]
        pub label: String,
        pub version: tenure::Version,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

impl Versioned for parcel::Entity {
    const VERSION: parcel::Column = parcel::Column::Version;
}

pub mod stock {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "test_stock")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub warehouse: String,
        #[sea_orm(primary_key, auto_increment = false)]
        pub product: String,
        pub count: i32,
        pub version: i32,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    #[async_trait::async_trait]
    impl ActiveModelBehavior for ActiveModel {
        async fn before_save<C: ConnectionTrait>(mut self, _: &C, _: bool) -> Result<Self, DbErr> {
            match self.count.try_as_ref() {
                Some(count) if *count < 0 => Err(DbErr::Custom("there cannot be less than nothing".into())),
                // A well-meaning hook.
                Some(100) => {
                    self.version = sea_orm::Set(100);
                    Ok(self)
                }
                _ => Ok(self),
            }
        }
    }
}

impl Versioned for stock::Entity {
    const VERSION: stock::Column = stock::Column::Version;
}

/// Inserts a parcel under a random label.
pub async fn insert_parcel(t: &TestDb) -> parcel::Model {
    let mut tx = t.db.begin().await.unwrap();
    let new = parcel::ActiveModel { label: Set(random()), version: Set(Version::FIRST), ..Default::default() };
    let parcel = new.insert(&tx.sea_orm().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    parcel
}

/// The stored parcel.
pub async fn stored(t: &TestDb, id: i64) -> Option<parcel::Model> {
    let mut tx = t.db.begin().await.unwrap();
    parcel::Entity::find_by_id(id).one(&tx.sea_orm().unwrap()).await.unwrap()
}

/// The parcel with another label, with the version it was read with.
pub fn labelled(parcel: &parcel::Model, label: &str) -> parcel::ActiveModel {
    let mut edited = parcel::ActiveModel::from(parcel.clone());
    edited.label = Set(label.to_owned());
    edited
}
