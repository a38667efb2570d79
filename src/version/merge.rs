//! Merging concurrent changes: a policy, field by field. No I/O here.

use std::fmt;
use std::sync::Arc;

use crate::aggregate::mapping::{Mapping, Rows};
use crate::version::conflict::{Cell, FieldConflict, Side, compare_cells, is_contested};

/// The side whose change of a field is kept if both sides changed it to different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// Yours.
    Mine,
    /// Theirs.
    Theirs,
    /// Neither: a person has to decide, and the whole update is refused with the conflict.
    Conflict,
}

/// How an update continues if another session changed its state in the meantime.
///
/// A field that only one side changed keeps that change. The policy decides about fields that
/// both sides changed. In any case the domain validates the result: see [`RepeatableUpdate::merging`].
///
/// [`RepeatableUpdate::merging`]: crate::unit_of_work::RepeatableUpdate::merging
#[derive(Clone)]
pub struct Merge(Option<Rule>);

type Rule = Arc<dyn Fn(&FieldConflict) -> Resolution + Send + Sync>;

impl Merge {
    /// Does not merge: a stale version is a conflict. The default.
    pub fn never() -> Self {
        Merge(None)
    }

    /// Merges changes of different fields; if both sides changed the same field, it is a conflict.
    pub fn disjoint() -> Self {
        Self::by_field(|_| Resolution::Conflict)
    }

    /// Keeps yours if both sides changed the same field. A field that is computed from others, such as a sum of lines, is a
    /// field of its own: merge such an aggregate with a command that changes something, not with one that sets everything.
    pub fn mine() -> Self {
        Self::by_field(|_| Resolution::Mine)
    }

    /// Keeps theirs if both sides changed the same field.
    pub fn theirs() -> Self {
        Self::by_field(|_| Resolution::Theirs)
    }

    /// Calls a rule for each field that both sides changed.
    ///
    /// ```
    /// use tenure::version::{Resolution, Merge};
    /// let notes_are_mine = Merge::by_field(|field| match field.path.as_str() {
    ///     "note" => Resolution::Mine,
    ///     path if path.starts_with("lines[") => Resolution::Theirs,
    ///     _ => Resolution::Conflict,
    /// });
    /// ```
    pub fn by_field(rule: impl Fn(&FieldConflict) -> Resolution + Send + Sync + 'static) -> Self {
        Merge(Some(Arc::new(rule)))
    }

    /// The fields that keep their current value, even if the command sets them; `None` if a person has to decide.
    pub(crate) fn decide(&self, mapping: &Mapping, opened: &Rows, now: &Rows, mine: &Rows) -> Option<Vec<Cell>> {
        let rule = self.0.as_ref()?;
        let (mut theirs, mut kept) = (Vec::new(), Vec::new());
        let compared = compare_cells(mapping, Some(opened), Some(now), Some(mine));
        for (cell, field) in &compared {
            match field.side() {
                _ if is_contested(field, compared.iter().map(|(_, field)| field)) => match rule(field) {
                    // Mine, although they removed the whole child.
                    Resolution::Mine if field.now.is_none() => kept.push(&cell.child),
                    Resolution::Mine => {}
                    Resolution::Theirs => theirs.push(cell.clone()),
                    Resolution::Conflict => return None,
                },
                // A command that sets a whole form also sets fields that it did not change, to their old values.
                Side::Theirs => theirs.push(cell.clone()),
                Side::Mine | Side::Same | Side::Both => {}
            }
        }
        theirs.retain(|cell| !kept.contains(&&cell.child));
        Some(theirs)
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

impl Default for Merge {
    fn default() -> Self {
        Self::never()
    }
}

impl fmt::Debug for Merge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_none() { "Merge(never)" } else { "Merge(by field)" })
    }
}

#[cfg(test)]
mod tests;
