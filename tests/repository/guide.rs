//! The README and the guide, in English and Korean: their code is part of running programs, and their links have targets, in the repository
//! and on the site that mdBook generates from `docs/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use testkit::tasks::diagram;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files of a folder and those below it, by their path from the root.
fn pages(folder: &str) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![root().join(folder)]);
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// The lines of code without comments, which are translated, and without indentation.
fn code(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| {
        let comment = line.match_indices("//").find(|(at, _)| *at == 0 || line[..*at].ends_with([' ', '\t']));
        comment.map_or(line, |(at, _)| &line[..at]).trim()
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// The blocks of Rust in a page, and of HTML, which programs have in their texts.
fn blocks(page: &str) -> Vec<&str> {
    let of = |fence| page.split(fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    of("```rust\n").chain(of("```html\n")).collect()
}

/// The sources of a page's code: the names of Rust files in backticks.
fn sources(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted.filter(|quoted| quoted.ends_with(".rs") && root().join(quoted).is_file()).collect()
}

#[test]
fn every_block_of_the_guide_is_part_of_a_program_that_runs() {
    let mut read_blocks = 0;
    for path in pages("docs/guide") {
        let page = read(&path);
        for block in blocks(&page) {
            let (names, block) = (sources(&page), code(block));
            let is_in = |name: &&str| code(&read(name)).windows(block.len()).any(|part| part == block);
            let is_there = names.iter().any(is_in);
            assert!(is_there, "{}: this is in none of {names:?}:\n{}", path.display(), block.join("\n"));
            read_blocks += 1;
        }
    }
    assert!(read_blocks > 40, "only {read_blocks} blocks were found");
}

#[test]
fn both_languages_have_the_same_pages_and_code() {
    let names = |folder| -> BTreeSet<_> {
        pages(folder).iter().filter_map(|page| page.strip_prefix(folder).unwrap().to_str().map(str::to_owned)).collect()
    };
    let english: BTreeSet<_> = names("docs/guide").into_iter().filter(|name| !name.starts_with("ko")).collect();
    assert_eq!(english, names("docs/guide/ko"));
    let guide = english.iter().map(|name| (format!("docs/guide/{name}"), format!("docs/guide/ko/{name}")));
    for (english, korean) in guide.chain([("README.md".to_owned(), "README.ko.md".to_owned())]) {
        let (english_page, korean_page) = (read(&english), read(&korean));
        let of = |page| blocks(page).into_iter().map(code).collect::<Vec<_>>();
        assert_eq!(of(&english_page), of(&korean_page), "{english} and {korean}");
        let headings = |page: &str| page.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(headings(&english_page), headings(&korean_page), "headings of {english} and {korean}");
    }
}

#[test]
fn every_column_of_the_lock_table_is_explained() {
    let migration = crate::migrations("sqlite");
    let table = migration.split_once("create table tenure_lock (").unwrap().1.split("primary key").next().unwrap();
    let mut columns: Vec<_> = table.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(columns.len() > 15, "{columns:?}");
    let added = migration.split("alter table tenure_lock add column ").skip(1);
    columns.extend(added.filter_map(|rest| rest.split_whitespace().next()));
    for page in ["docs/guide/chapter.md", "docs/guide/ko/chapter.md"] {
        let page = read(page);
        let rows: Vec<_> = page.lines().filter(|line| line.starts_with('|')).collect();
        let is_named = |column: &&&str| !rows.iter().any(|row| row.contains(&format!("`{column}`")));
        assert_eq!(columns.iter().filter(is_named).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}

/// Run `cargo xtask diagrams` after a change of a text.
#[test]
fn diagrams_are_drawn_from_the_texts_beside_them_in_both_languages() {
    let texts = |folder: &str| -> Vec<PathBuf> {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let mut texts: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect();
        texts.sort();
        texts
    };
    let (english, korean) = (texts("docs/guide/diagrams"), texts("docs/guide/ko/diagrams"));
    assert!(english.len() >= 5 && english.len() == korean.len());
    for (english, korean) in english.iter().zip(&korean) {
        let shape = |path| diagram::shape(&read(path)).unwrap();
        assert_eq!(shape(english), shape(korean), "{} and {}", english.display(), korean.display());
        for text in [english, korean] {
            let drawn = diagram::svg(&read(text)).unwrap();
            assert!(drawn == read(text.with_extension("svg")), "{} has another picture", text.display());
        }
    }
}

#[test]
fn every_picture_of_the_guide_has_a_text_for_those_who_do_not_see_it() {
    let mut seen = 0;
    for path in pages("docs/guide") {
        let page = read(&path);
        for (text, _) in page.split("![").skip(1).filter_map(|rest| rest.split_once("](")) {
            assert!(text.chars().count() > 40, "{}: ![{text}] says too little", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} pictures were found");
}

#[test]
fn readmes_install_the_same() {
    let (english, korean) = (read("README.md"), read("README.ko.md"));
    let install = |page: &str| page.split("```text\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    assert_eq!(install(&english), install(&korean));
    assert!(install(&english).starts_with("cargo add tenure "));
}

/// The text outside of blocks and of inline code.
fn prose(page: &str) -> String {
    let text: String = page.split("```").step_by(2).collect();
    text.split('`').step_by(2).collect()
}

/// The targets of links, inline and by reference.
fn links(page: &str) -> Vec<String> {
    let text = prose(page);
    let inline = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned());
    let is_definition = |line: &&str| line.starts_with('[') && line.contains("]: ");
    let defined = text.lines().filter(is_definition).map(|line| line.split_once("]: ").unwrap().1.to_owned());
    inline.chain(defined).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook generate them.
fn anchors(page: &str) -> Vec<String> {
    let text: String = page.split("```").step_by(2).collect();
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: char| if c == ' ' { Some('-') } else { (c.is_alphanumeric() || c == '-' || c == '_').then_some(c) };
    headings.map(|heading| heading.to_lowercase().chars().filter_map(kept).collect()).collect()
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let single = ["README.md", "README.ko.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    let others = ["derive/README.md", "web/README.md", "web/assets/README.md", "server/README.md"];
    let mut followed = 0;
    for path in pages("docs").into_iter().chain(single.into_iter().chain(others).map(PathBuf::from)) {
        for link in links(&read(&path)) {
            if link.contains("://") || !(link.contains('.') || link.contains('/') || link.starts_with('#')) {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let from = path.display();
            assert!(root().join(&target).exists(), "{from}: {link} leads nowhere");
            if path.starts_with("docs") {
                let within = root().join(&target).canonicalize().unwrap();
                assert!(
                    within.starts_with(root().join("docs").canonicalize().unwrap()),
                    "{from}: {link} is not in the book"
                );
            }
            if !anchor.is_empty() {
                let there = anchors(&read(&target));
                assert!(there.iter().any(|other| other == anchor), "{from}: {link}: its headings are {there:?}");
            }
            followed += 1;
        }
    }
    assert!(followed > 100, "only {followed} links were found");
}

#[test]
fn summary_lists_every_page_once() {
    let mut listed: Vec<_> =
        links(&read("docs/SUMMARY.md")).into_iter().map(|link| Path::new("docs").join(link)).collect();
    listed.sort();
    let pages: Vec<_> = pages("docs").into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, pages);
}

#[test]
fn links_of_the_readme_work_on_docs_rs() {
    let (readme, front) = (read("README.md"), read("src/lib.rs"));
    assert!(!prose(&readme).contains("]("), "a link that is not by reference cannot be given another target there");
    let definitions = readme.lines().filter(|line| line.starts_with('[')).filter_map(|line| line.split_once("]: "));
    let mut read = 0;
    for (name, target) in definitions {
        let given = front.lines().find_map(|line| line.strip_prefix(&format!("//! {name}]: https://docs.rs/")));
        let given = given.unwrap_or_else(|| panic!("src/lib.rs does not say where {name}] leads on docs.rs"));
        let is_source =
            given.strip_prefix("crate/tenure/latest/source/").is_some_and(|path| path.trim_end_matches('/') == target);
        assert!(is_source || target.starts_with("web/"), "{name}] leads to {target} here, and to {given} there");
        read += 1;
    }
    assert!(read > 10);
}
