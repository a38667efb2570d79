//! Merging concurrent changes: a policy, field by field. No I/O here.

use crate::aggregate::mapping::{Mapping, Rows};
use crate::version::conflict::{Cell, Side, compare_cells, is_contested};

/// How an update continues if another session changed its state in the meantime.
///
/// A field that only one side changed keeps that change. In any case the domain validates the result: see
/// [`RepeatableUpdate::merging`].
///
/// [`RepeatableUpdate::merging`]: crate::unit_of_work::RepeatableUpdate::merging
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merge {
    /// Does not merge: a stale version is a conflict.
    #[default]
    Never,
    /// Merges changes of different fields; if both sides changed the same field, it is a conflict.
    Disjoint,
}

impl Merge {
    /// The fields that keep their current value, even if the command sets them; `None` if a person has to decide.
    pub(crate) fn decide(self, mapping: &Mapping, opened: &Rows, now: &Rows, mine: &Rows) -> Option<Vec<Cell>> {
        if self == Merge::Never {
            return None;
        }
        let compared = compare_cells(mapping, Some(opened), Some(now), Some(mine));
        let fields = || compared.iter().map(|(_, field)| field);
        if fields().any(|field| is_contested(field, fields())) {
            return None;
        }
        // A command that sets a whole form also sets fields that it did not change, to their old values.
        let theirs = compared.into_iter().filter(|(_, field)| field.side() == Side::Theirs);
        Some(theirs.map(|(cell, _)| cell).collect())
    }
}

/// Resets fields to their current values; this also restores a child that exists now, and removes one that does not.
pub(crate) fn put_back(cells: &[Cell], now: &Rows, merged: &mut Rows) {
    for Cell { child, column } in cells {
        let Some((table, key)) = child else {
            merged.root[*column] = now.root[*column].clone();
            continue;
        };
        let theirs = now.children[*table].iter().find(|row| row.starts_with(key));
        let rows = &mut merged.children[*table];
        let at = rows.iter().position(|row| row.starts_with(key));
        match (theirs, at) {
            (Some(theirs), Some(at)) => rows[at][*column] = theirs[*column].clone(),
            (Some(theirs), None) => rows.push(theirs.clone()),
            (None, Some(at)) => drop(rows.remove(at)),
            (None, None) => {}
        }
    }
}

/// Whether the command's result on the current state depends on others' changes that are then reset, which would leave
/// inconsistent halves: a sum of their lines beside lines that it replaced. A command that only sets the values of a form
/// has the same result on the opened state.
pub(crate) fn is_torn(mapping: &Mapping, put_back: &[Cell], mine: &Rows, after: &Rows, merged: &Rows) -> bool {
    let went_by_theirs = compare_cells(mapping, None, Some(after), Some(mine));
    let changed = compare_cells(mapping, None, Some(after), Some(merged));
    let is_changed = |cell: &Cell| changed.iter().any(|(changed, _)| changed == cell);
    let children = changed.iter().any(|(cell, _)| cell.child.is_some());
    went_by_theirs.iter().any(|(cell, _)| is_changed(cell) || (children && !put_back.contains(cell)))
}

#[cfg(test)]
mod tests;
