//! Versions of an aggregate: the token that carries a version through a form, the conflict after a concurrent save,
//! and the merge that resolves it. No I/O here.

pub(crate) mod conflict;
pub(crate) mod merge;
pub(crate) mod token;

pub use crate::aggregate::version::{InvalidVersion, Version};
pub use conflict::{Change, FieldConflict, Side, VersionConflict};
pub use merge::Merge;
pub use token::{Expected, InvalidVersionToken, VersionToken};
