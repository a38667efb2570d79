//! What callgrind writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What was passed.
pub(crate) struct Walk {
    /// Files of the library.
    pub(crate) files: BTreeSet<String>,
    /// The number of functions in them; closures and the bodies of `async` functions count as their function.
    pub(crate) functions: usize,
}

/// Reads a profile: a function has a line `fn=`, in the file of the latest line `fl=`, `fi=` or `fe=`. A name is written once, with a number in
/// parentheses, and is only the number after that.
pub(crate) fn read(profile: &Path, library: &Path) -> Result<Walk, String> {
    let text = fs::read_to_string(profile).map_err(|error| format!("{}: {error}", profile.display()))?;
    let (mut names, mut file) = (BTreeMap::<(bool, &str), &str>::new(), "");
    let mut walk = (BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        let Some((kind, value)) = line.split_once('=') else { continue };
        let is_file = matches!(kind, "fl" | "fi" | "fe" | "cfi" | "cfl");
        if !is_file && !matches!(kind, "fn" | "cfn") {
            continue;
        }
        let (number, name) = value.split_once(' ').unwrap_or((value, ""));
        let name = if name.is_empty() { names.get(&(is_file, number)).copied().unwrap_or_default() } else { name };
        names.insert((is_file, number), name);
        match kind {
            "fl" | "fi" | "fe" => file = name,
            "fn" => {
                if let Some(file) = Path::new(file).strip_prefix(library).ok().and_then(Path::to_str) {
                    walk.0.insert(file.to_owned());
                    walk.1.insert((file.to_owned(), name.split("::{closure").next().unwrap_or(name).to_owned()));
                }
            }
            _ => {}
        }
    }
    let (files, functions) = walk;
    if files.is_empty() {
        return Err(format!("{}: no function of the library", profile.display()));
    }
    Ok(Walk { files, functions: functions.len() })
}
