//! A cache of the statement texts of mappings.
//!
//! A text depends only on the mapping, which is never freed, and on the changed columns. Building it for every statement would cost as much
//! as the driver's work on it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::aggregate::mapping::Table;

/// The maximum number of cached texts: an aggregate whose columns change in ever new combinations would reach it.
const MOST: usize = 4_096;

/// The purpose of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "each database needs some of them")]
pub(in crate::storage) enum What {
    SelectRoot,
    SelectVersion,
    SelectWhole,
    SelectMany,
    SelectChildren,
    InsertRoot,
    InsertGenerated,
    InsertChildren,
    UpdateRoot,
    UpdateChild,
    DeleteChild,
    DeleteChildren,
    DeleteRoot,
    /// Not a statement: the fingerprint of the columns.
    Shape,
}

/// The texts of one database's dialect.
pub(in crate::storage) struct Texts(LazyLock<RwLock<HashMap<Asked, Arc<str>>>>);

/// The table by its address, which is unique, because it is never freed.
#[derive(PartialEq, Eq, Hash)]
struct Asked {
    what: What,
    table: usize,
    numbers: u64,
}

impl Texts {
    pub(in crate::storage) const fn new() -> Self {
        Texts(LazyLock::new(RwLock::default))
    }

    /// The text for a table of a mapping. The numbers are its other parameters: indexes of columns, a count.
    pub(in crate::storage) fn get(
        &self,
        what: What,
        table: &'static Table,
        numbers: &[usize],
        make: impl FnOnce() -> String,
    ) -> Arc<str> {
        if numbers.iter().any(|&number| number >= 64) {
            return make().into();
        }
        let numbers = numbers.iter().fold(0, |all, number| all | 1 << number);
        let asked = Asked { what, table: std::ptr::from_ref(table).addr(), numbers };
        if let Some(text) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&asked) {
            return Arc::clone(text);
        }
        let text: Arc<str> = make().into();
        let mut texts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if texts.len() < MOST {
            texts.insert(asked, Arc::clone(&text));
        }
        text
    }
}
