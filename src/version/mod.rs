//! What two versions of an aggregate mean to each other: the token that carries a version through a form, the conflict when
//! somebody saved in between, and the merge that resolves it. No I/O here.

pub(crate) mod conflict;
pub(crate) mod merge;
pub(crate) mod token;

pub use crate::aggregate::version::{InvalidVersion, Version};
pub use conflict::{Change, FieldConflict, Side, VersionConflict};
pub use merge::{Merge, Resolution};
pub use token::{Expected, InvalidVersionToken, VersionToken};
