//! `cargo xtask lines`: how large the library is. What only tests compile is counted apart, and so are comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use testkit::tasks::root;

/// The lines of some files.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Count {
    files: usize,
    code: usize,
    comments: usize,
    blank: usize,
    tests: usize,
}

impl Count {
    fn shipped(self) -> usize {
        self.code + self.comments + self.blank
    }

    fn add(&mut self, other: Count) {
        self.files += other.files;
        self.code += other.code;
        self.comments += other.comments;
        self.blank += other.blank;
        self.tests += other.tests;
    }
}

/// Prints the lines of each folder of `src/`, and of all.
pub(crate) fn run() -> ExitCode {
    match count(&root().join("src")) {
        Ok(folders) => {
            println!("{:<14} {:>6} {:>8} {:>8} {:>9} {:>6}", "", "files", "shipped", "code", "comments", "tests");
            let mut all = Count::default();
            for (folder, count) in folders {
                print(&folder, count);
                all.add(count);
            }
            print("all", all);
            ExitCode::SUCCESS
        }
        Err(reason) => {
            println!("FAILED lines: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn print(name: &str, count: Count) {
    let Count { files, code, comments, tests, .. } = count;
    println!("{name:<14} {files:>6} {:>8} {code:>8} {comments:>9} {tests:>6}", count.shipped());
}

/// The lines by folder. A file that only tests compile is no file of what is shipped.
fn count(src: &Path) -> Result<BTreeMap<String, Count>, String> {
    let mut texts = BTreeMap::new();
    read(src, &mut texts)?;
    let mut tested = BTreeSet::new();
    for (file, text) in &texts {
        let folder = match file.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs") {
            true => file.with_file_name(""),
            false => file.with_extension(""),
        };
        tested.extend(test_modules(text).into_iter().map(|name| folder.join(name)));
    }
    let mut folders: BTreeMap<String, Count> = BTreeMap::new();
    for (file, text) in &texts {
        let is_test = tested.iter().any(|module| file.with_extension("") == *module || file.starts_with(module));
        let of_file = match is_test {
            true => Count { tests: text.lines().count(), ..Count::default() },
            false => lines(text),
        };
        let inside = file.strip_prefix(src).map_err(|error| error.to_string())?;
        let folder = inside.components().next().expect("a file has a name").as_os_str().to_string_lossy().into_owned();
        folders.entry(folder).or_default().add(of_file);
    }
    Ok(folders)
}

fn read(folder: &Path, texts: &mut BTreeMap<PathBuf, String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            read(&path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(failed)?;
            texts.insert(path, text);
        }
    }
    Ok(())
}

/// Whether this attribute says that only tests compile the next item.
fn is_test(attribute: &str) -> bool {
    attribute == "#[cfg(test)]" || attribute.starts_with("#[cfg(all(test,")
}

/// The modules in files of their own that only tests compile.
fn test_modules(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let begins = (0..lines.len()).filter(|at| is_test(lines[*at]));
    let item = |at: usize| lines[at..].iter().find(|line| !line.starts_with("#["));
    let name = |line: &&str| Some(line.strip_suffix(';')?.rsplit_once("mod ")?.1.to_owned());
    begins.filter_map(|at| item(at).and_then(name)).collect()
}

/// The lines of a file. A module of tests in it reaches to the brace in the column of its attribute.
fn lines(text: &str) -> Count {
    let mut count = Count { files: 1, ..Count::default() };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if is_test(trimmed) && lines.peek().is_some_and(|next| next.contains("mod ") && next.ends_with('{')) {
            let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
            count.tests += 2;
            count.tests += lines.by_ref().skip(1).take_while(|line| *line != end).count() + 1;
        } else if trimmed.is_empty() {
            count.blank += 1;
        } else if trimmed.starts_with("//") {
            count.comments += 1;
        } else {
            count.code += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_tests_are_told_apart() {
        let text = "//! A file.\n\nuse a::b;\n\n/// One.\nfn one() {} // here\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    \
                    fn two() {\n    }\n}\n";
        assert_eq!(lines(text), Count { files: 1, code: 2, comments: 2, blank: 3, tests: 7 });
    }

    #[test]
    fn modules_of_tests_are_found() {
        let text = "mod a;\n#[cfg(test)]\n#[path = \"x/mod.rs\"]\nmod b;\n#[cfg(test)]\npub(crate) mod c;\n#[cfg(test)]\nmod d {\n}\nmod e;\n";
        assert_eq!(test_modules(text), ["b", "c"]);
    }
}
