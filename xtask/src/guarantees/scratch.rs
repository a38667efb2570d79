//! A copy of the project for the changes. It stays, with its build, so that the next run is fast.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

    /// The copy of the present project. Unchanged files are not touched, so that cargo does not rebuild
    /// them.
    ///
    /// # Errors
    /// The path that could not be read or written.
    pub(super) fn refresh() -> Result<Self, String> {
        let tree = Self::folder().join("tree");
        let files = files()?;
        for file in &files {
            let content = fs::read(root().join(file)).map_err(|error| format!("{}: {error}", file.display()))?;
            write(&tree.join(file), &content)?;
        }
        remove_others(&tree, &tree, &files)?;
        let tree = tree.canonicalize().map_err(|error| format!("{}: {error}", tree.display()))?;
        Ok(Scratch { tree })
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

/// The files of the project: tracked by git, or untracked and not ignored.
fn files() -> Result<BTreeSet<PathBuf>, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let output = git.output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| format!("git: {error}"))?;
    let files = text.split_terminator('\0').map(PathBuf::from);
    Ok(files.filter(|file| root().join(file).is_file()).collect())
}

/// Writes a file, unless it is unchanged.
fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|now| now == content) {
        return Ok(());
    }
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, content))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes files in a folder of the copy that are not in this set.
fn remove_others(tree: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            remove_others(tree, &path, files)?;
        } else if !path.strip_prefix(tree).is_ok_and(|file| files.contains(file)) {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
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

    #[test]
    fn files_that_the_project_has_not_are_removed() {
        let scratch = scratch("removed");
        fs::create_dir_all(scratch.tree.join("sub")).expect("a folder");
        fs::write(scratch.tree.join("sub/b.txt"), "old").expect("a file");
        remove_others(&scratch.tree, &scratch.tree, &BTreeSet::from([PathBuf::from("a.txt")])).expect("removed");
        assert!(scratch.tree.join("a.txt").exists());
        assert!(!scratch.tree.join("sub/b.txt").exists());
        fs::remove_dir_all(&scratch.tree).expect("the folder");
    }
}
