//! `uuid::Uuid` in a column.

use ::uuid::Uuid;

use super::{Kind, RowReader, Value, ValueObject};
use crate::aggregate::mapping::{Column, MappingError};

scalar!(Uuid, Uuid, |value| *value.as_bytes(), |stored| Ok::<_, String>(Uuid::from_bytes(*stored)));
