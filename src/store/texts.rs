//! A cache of the statement texts of mappings.
//!
//! A text depends only on the mapping, which is never freed, and on the changed columns. Building it for every statement would cost as much
//! as the driver's work on it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::aggregate::mapping::Table;
use crate::db::{Dialect, Sheet, Sql};

/// The maximum number of cached texts: an aggregate whose columns change in ever new combinations would reach it.
const MOST: usize = 4_096;

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum What {
    SelectVersion,
    SelectWhole,
    SelectMany,
    InsertRoot,
    InsertGenerated,
    InsertChildren,
    UpdateRoot,
    UpdateUnversioned,
    UpdateChild,
    SelectChild,
    DeleteChild,
    DeleteChildren,
    DeleteRoot,
}

/// The table by its address, which is unique, because it is never freed.
#[derive(PartialEq, Eq, Hash)]
struct TextKey {
    what: What,
    dialect: Dialect,
    table: usize,
    numbers: u64,
}

static TEXTS: LazyLock<RwLock<HashMap<TextKey, Arc<Sql>>>> = LazyLock::new(RwLock::default);

/// The text for a table of a mapping. The numbers are its other parameters: indexes of columns, a count.
pub(super) fn text(
    sheet: &Sheet,
    what: What,
    table: &'static Table,
    numbers: &[usize],
    make: impl FnOnce() -> String,
) -> Arc<Sql> {
    let make = || Arc::new(Sql::numbered(&make(), sheet));
    if numbers.iter().any(|&number| number >= 64) {
        return make();
    }
    let numbers = numbers.iter().fold(0, |all, number| all | 1 << number);
    let table = std::ptr::from_ref(table).addr();
    let asked = TextKey { what, dialect: sheet.dialect, table, numbers };
    if let Some(made) = TEXTS.read().unwrap_or_else(PoisonError::into_inner).get(&asked) {
        return Arc::clone(made);
    }
    let made = make();
    let mut all = TEXTS.write().unwrap_or_else(PoisonError::into_inner);
    if all.len() < MOST {
        all.insert(asked, Arc::clone(&made));
    }
    made
}
