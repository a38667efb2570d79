//! What becomes of a change that meets somebody else's: a policy, field by field. No I/O here.

use std::fmt;
use std::sync::Arc;

use crate::aggregate::mapping::{Mapping, Rows};
use crate::version::conflict::{Cell, FieldConflict, Side, compare_cells, is_contested};

/// Whose change of a field is kept, when both changed it to different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resolution {
    /// Yours.
    Mine,
    /// Theirs.
    Theirs,
    /// Nobody's, without asking a person: the whole update is refused with the conflict.
    Conflict,
}

/// How an update goes on that was made on a state which somebody has changed since.
///
/// Fields that only one side changed are no question: its change is kept. The policy says what is to be done about those
/// that both changed. Whatever it says, the domain has the last word: see [`RepeatableUpdate::merging`].
///
/// [`RepeatableUpdate::merging`]: crate::unit_of_work::RepeatableUpdate::merging
#[derive(Clone)]
pub struct Merge(Option<Rule>);

type Rule = Arc<dyn Fn(&FieldConflict) -> Resolution + Send + Sync>;

impl Merge {
    /// Does not merge: an outdated version is a conflict. The default.
    pub fn never() -> Self {
        Merge(None)
    }

    /// Merges changes of different fields; where both changed the same one, it is a conflict.
    pub fn disjoint() -> Self {
        Self::by_field(|_| Resolution::Conflict)
    }

    /// Yours are kept where both changed the same field. A field that is computed from others, such as a sum of lines, is one
    /// field of its own: merge aggregates that have one with a command that changes something, not with one that sets everything.
    pub fn mine() -> Self {
        Self::by_field(|_| Resolution::Mine)
    }

    /// Theirs are kept where both changed the same field.
    pub fn theirs() -> Self {
        Self::by_field(|_| Resolution::Theirs)
    }

    /// Asks for each field that both changed.
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

    /// Which fields keep their value of now, whatever the command sets them to; `None` if a person has to decide.
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
                // A command that sets a whole form sets what it did not change as well, to what it was.
                Side::Theirs => theirs.push(cell.clone()),
                Side::Mine | Side::Same | Side::Both => {}
            }
        }
        theirs.retain(|cell| !kept.contains(&&cell.child));
        Some(theirs)
    }
}

/// Puts fields back to their values of now: also a child that is there now, and takes away one that is not.
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

/// Whether what a command made of the state of now went by what the others had changed there, so that putting that back leaves
/// halves which do not fit together: a sum of their lines beside lines that it has replaced. A command that only sets what a form
/// says makes the same of the opened state.
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
