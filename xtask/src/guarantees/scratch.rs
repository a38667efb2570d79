//! A copy of the project for the changes. It stays, with its build, so that the next run is fast.

use std::fs;
use std::path::{Path, PathBuf};

use crate::copy::{self, write};
use crate::guarantees::change::Edit;
use crate::servers::root;

/// The copy.
pub(super) struct Scratch {
    tree: PathBuf,
}

impl Scratch {
    /// The folder of all files of the runs.
    pub(super) fn folder() -> PathBuf {
        root().join("target/guarantees")
    }

    /// The copy of the present project.
    ///
    /// # Errors
    /// The path that could not be read or written.
    pub(super) fn refresh() -> Result<Self, String> {
        Ok(Scratch { tree: copy::refresh(&Self::folder().join("tree"))? })
    }

    /// Its path.
    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// Makes the edits. They are undone when the returned value is dropped.
    ///
    /// # Errors
    /// An edit that does not apply. Nothing is changed then.
    pub(super) fn make(&self, edits: &[Edit]) -> Result<Made, String> {
        let mut made = Made { before: Vec::new() };
        for edit in edits {
            let path = self.tree.join(&edit.file);
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", edit.file))?;
            let changed = edit.apply(&text)?;
            made.before.push((path.clone(), text));
            write(&path, changed.as_bytes())?;
        }
        Ok(made)
    }
}

/// Edits that last until this is dropped. A killed run leaves them; the next one begins with
/// [`Scratch::refresh`].
#[must_use]
pub(super) struct Made {
    /// The files with their previous contents.
    before: Vec<(PathBuf, String)>,
}

impl Drop for Made {
    fn drop(&mut self) {
        // The last first: a file may have been edited twice.
        for (path, text) in self.before.iter().rev() {
            fs::write(path, text).expect("the copy of the project can be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { file: "a.txt".to_owned(), old: old.to_owned(), new: new.to_owned() }
    }

    fn scratch(name: &str) -> Scratch {
        let tree = std::env::temp_dir().join(format!("guarantees-{name}-{}", std::process::id()));
        fs::create_dir_all(&tree).expect("a folder");
        fs::write(tree.join("a.txt"), "one two").expect("a file");
        Scratch { tree }
    }

    #[test]
    fn edits_are_undone_when_they_are_dropped() {
        let scratch = scratch("undone");
        let content = || fs::read_to_string(scratch.tree.join("a.txt")).expect("a file");
        let made = scratch.make(&[edit("one", "1"), edit("1 two", "3")]).expect("edits");
        assert_eq!(content(), "3");
        drop(made);
        assert_eq!(content(), "one two");
        fs::remove_dir_all(&scratch.tree).expect("the folder");
    }

    #[test]
    fn edits_that_do_not_apply_leave_nothing() {
        let scratch = scratch("nothing");
        assert!(scratch.make(&[edit("one", "1"), edit("three", "3")]).is_err());
        assert_eq!(fs::read_to_string(scratch.tree.join("a.txt")).expect("a file"), "one two");
        fs::remove_dir_all(&scratch.tree).expect("the folder");
    }
}
