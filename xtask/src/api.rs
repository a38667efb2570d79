//! `docs/api.md`: every public item of the library, with the first line of its documentation. Written from the pages of rustdoc,
//! so that it lists the names that a user can write, and nothing else.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use testkit::tasks::{cargo, root};

/// The file of the list.
const FILE: &str = "docs/api.md";

const HEAD: &str = "# The public items of `tenure`\n\n\
    One line for each item that a program can name, from the library's documentation, with all features. Methods stand with their \
    types in the documentation itself (`cargo doc --open`). This file is written by `cargo xtask api`; CI compares it.\n";

/// Writes the list, or compares it with the existing one.
pub(crate) fn run(check: bool) -> ExitCode {
    // Of the packages that others use. A warning is an error.
    let mut doc = cargo();
    doc.args([
        "doc",
        "--package=tenure",
        "--package=tenure-derive",
        "--package=tenure-web",
        "--no-deps",
        "--all-features",
    ])
    .env("RUSTDOCFLAGS", "-D warnings")
    .current_dir(root());
    let documented = doc.status();
    if !documented.is_ok_and(|status| status.success()) {
        eprintln!("the documentation could not be built");
        return ExitCode::FAILURE;
    }
    let pages = root().join("target/doc/tenure");
    let list = match list(&pages) {
        Ok(list) => list,
        Err(error) => {
            eprintln!("the pages under {} could not be read: {error}", pages.display());
            return ExitCode::FAILURE;
        }
    };
    let file = root().join(FILE);
    if !check {
        return match fs::write(&file, list) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{FILE} could not be written: {error}");
                ExitCode::FAILURE
            }
        };
    }
    if fs::read_to_string(&file).is_ok_and(|kept| kept == list) {
        return ExitCode::SUCCESS;
    }
    eprintln!("{FILE} is not what the documentation says; run `cargo xtask api` and look at what changed");
    ExitCode::FAILURE
}

fn list(pages: &Path) -> std::io::Result<String> {
    let mut text = HEAD.to_owned();
    module(pages, "tenure", &mut text)?;
    Ok(text)
}

/// One module, then its submodules, in the order of their names.
fn module(folder: &Path, path: &str, text: &mut String) -> std::io::Result<()> {
    let page = fs::read_to_string(folder.join("index.html"))?;
    let mut items = items(&page);
    items.sort();
    let (modules, others): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.kind == "mod");
    let _ = writeln!(text, "\n## `{path}`\n");
    for item in &others {
        let _ = writeln!(text, "- {} `{}`: {}", item.kind, item.name, item.line);
    }
    for item in modules {
        module(&folder.join(&item.name), &format!("{path}::{}", item.name), text)?;
    }
    Ok(())
}

/// An item in the table of a module's page.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    name: String,
    kind: String,
    line: String,
}

/// Each entry of the tables is `<dt><a class="KIND" href="…" title="KIND PATH">…</a></dt><dd>LINE</dd>`; a re-export is
/// in a `<dt id="reexport.NAME">` with the `<a>` of its target, and has no line.
fn items(page: &str) -> Vec<Item> {
    let entries = page.split("<dt").skip(1).filter_map(|entry| {
        let entry = entry.split("<dt").next()?;
        let kind = between(entry, "<a class=\"", "\"");
        if let Some(name) = between(entry, " id=\"reexport.", "\"") {
            let line = between(entry, "title=\"", "\"").map_or_else(
                || "this crate, exported again".to_owned(),
                |title| format!("`{}`", title.split(' ').next_back().unwrap_or(title)),
            );
            return Some(Item { name: name.to_owned(), kind: kind.unwrap_or("crate").to_owned(), line });
        }
        let name = between(entry, "title=\"", "\"")?.rsplit("::").next()?;
        let line = between(entry, "<dd>", "</dd>").unwrap_or_default();
        Some(Item { name: name.to_owned(), kind: kind?.to_owned(), line: plain(line) })
    });
    entries.collect()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found)
}

/// A line of HTML as Markdown: code stays code, other tags are removed.
fn plain(html: &str) -> String {
    let html = html.replace("<code>", "`").replace("</code>", "`");
    let mut text = String::new();
    let mut tag = false;
    for c in html.chars() {
        match c {
            '<' => tag = true,
            '>' => tag = false,
            '\n' if !tag => text.push(' '),
            c if !tag => text.push(c),
            _ => {}
        }
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    entities.iter().fold(text, |text, (entity, c)| text.replace(entity, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_its_kind_name_and_line() {
        let page = "<dl><dt><a class=\"struct\" href=\"x\" title=\"struct tenure::lease::Lease\">Lease</a></dt>\
                    <dd>Held by <a href=\"y\"><code>Owner</code></a>: A &amp; B.</dd></dl>";
        let item = Item { name: "Lease".into(), kind: "struct".into(), line: "Held by `Owner`: A & B.".into() };
        assert_eq!(items(page), [item]);
    }

    #[test]
    fn an_exported_name_says_what_it_is() {
        let page = "<dt id=\"reexport.Error\"><code>pub use error::<a class=\"enum\" href=\"e\" \
                    title=\"enum tenure::error::Error\">Error</a>;</code></dt>";
        let item = Item { name: "Error".into(), kind: "enum".into(), line: "`tenure::error::Error`".into() };
        assert_eq!(items(page), [item]);
    }
}
