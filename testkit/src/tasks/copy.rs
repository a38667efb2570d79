//! A copy of the project that a task may change. It stays, with its build, so that the next run is fast.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::root;

/// Makes this folder a copy of the present project. Unchanged files are not touched, so that cargo does not rebuild them. Returns the
/// absolute path.
///
/// # Errors
/// The path that could not be read or written.
pub fn refresh(tree: &Path) -> Result<PathBuf, String> {
    let files = files()?;
    for file in &files {
        let content = fs::read(root().join(file)).map_err(|error| format!("{}: {error}", file.display()))?;
        write(&tree.join(file), &content)?;
    }
    remove_others(tree, tree, &files)?;
    tree.canonicalize().map_err(|error| format!("{}: {error}", tree.display()))
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
///
/// # Errors
/// The path that could not be written.
pub fn write(path: &Path, content: &[u8]) -> Result<(), String> {
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

    #[test]
    fn files_that_the_project_has_not_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let tree = folder.path();
        write(&tree.join("a.txt"), b"new").expect("a file");
        write(&tree.join("sub/b.txt"), b"old").expect("a file");
        remove_others(tree, tree, &BTreeSet::from([PathBuf::from("a.txt")])).expect("removed");
        assert!(tree.join("a.txt").exists());
        assert!(!tree.join("sub/b.txt").exists());
    }
}
