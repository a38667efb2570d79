//! `cargo xtask guide`: mdBook makes a site of `docs/`, in `target/book`. `tests/repository/guide.rs` checks the links in the sources; this checks
//! that each page is generated, and that the links on the site lead to one.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::tools::Tool;
use testkit::tasks::root;

const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    asked: &["--version"],
    prints: "mdbook v",
    options: &["--no-default-features"],
};

/// Builds it.
pub(crate) fn run() -> ExitCode {
    match built() {
        Ok(pages) => {
            println!("target/book: {pages} pages");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("the guide was not built: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn built() -> Result<usize, String> {
    let program = MDBOOK.installed()?;
    let book = root().join("target/book");
    if book.exists() {
        fs::remove_dir_all(&book).map_err(|error| format!("{}: {error}", book.display()))?;
    }
    let output = Command::new(program).args(["build", "docs"]).current_dir(root()).output();
    let output = output.map_err(|error| format!("mdbook could not be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // It only warns about errors, and continues.
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        return Err(said.into_owned());
    }
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).map_err(|error| error.to_string())?;
    let pages = pages(&summary);
    if pages.is_empty() {
        return Err("its summary lists no pages".into());
    }
    // mdBook writes a second copy of the first page as the index, in any place.
    for page in pages.iter().map(String::as_str).chain(["index.html"]) {
        let html = fs::read_to_string(book.join(page)).map_err(|error| format!("{page} was not made: {error}"))?;
        let folder = book.join(page).parent().unwrap_or(&book).to_owned();
        if let Some(link) = links(&html).find(|link| !leads_to_a_file(&folder, link)) {
            return Err(format!("{page}: the link {link} leads nowhere"));
        }
    }
    Ok(pages.len())
}

/// The targets of the links and pictures in the text of a page, on the site itself.
fn links(html: &str) -> impl Iterator<Item = &str> {
    let text = html.split_once("<main>").map_or("", |(_, rest)| rest.split("</main>").next().unwrap_or(rest));
    // Not what stands in code: its `<` is written as `&lt;`.
    let of = |tag| text.split(tag).skip(1);
    let after = of("<a href=\"").chain(of("<img src=\""));
    let targets = after.filter_map(|rest| rest.split_once('"')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

fn leads_to_a_file(folder: &Path, link: &str) -> bool {
    let (file, _) = link.split_once('#').unwrap_or((link, ""));
    file.is_empty() || folder.join(file).is_file()
}

/// The pages that a summary lists, as they are named on the site.
fn pages(summary: &str) -> Vec<String> {
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split_once(".md)"));
    let name = |page: &str| match page.strip_suffix("README") {
        Some(folder) => format!("{folder}index.html"),
        None => format!("{page}.html"),
    };
    links.map(|(page, _)| name(page)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_text_are_found() {
        let html = "<a href=\"menu.html\"></a><main><a href=\"two.html#part\"></a><a href=\"https://docs.rs\"></a><img src=\"a.svg\"></main>";
        assert_eq!(links(html).collect::<Vec<_>>(), ["two.html#part", "a.svg"]);
        assert!(!leads_to_a_file(Path::new("."), "no-such-page.html#part") && leads_to_a_file(Path::new("."), "#part"));
    }

    #[test]
    fn pages_are_those_of_the_summary() {
        let summary = "[Documents](README.md)\n\n- [One](guide/one.md)\n  - [Two](guide/two.md)\n";
        assert_eq!(pages(summary), ["index.html", "guide/one.html", "guide/two.html"]);
    }
}
