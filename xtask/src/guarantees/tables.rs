//! The tables of a Markdown document.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A table: its heads, and the cells of its rows.
pub(super) struct Table {
    /// The last heading above it.
    pub(super) section: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// The parts of a cell, in order.
pub(super) type Cell = Vec<Piece>;

/// A part of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text between backticks.
    Code(String),
    /// Other text.
    Text(String),
}

impl Piece {
    /// The text between backticks, if it is code.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Piece::Code(code) => Some(code),
            Piece::Text(_) => None,
        }
    }
}

/// The words of a cell, without its backticks.
pub(super) fn words(cell: &[Piece]) -> String {
    let texts = cell.iter().map(|piece| match piece {
        Piece::Code(text) | Piece::Text(text) => text.as_str(),
    });
    texts.collect::<String>().trim().to_owned()
}

/// Every table of a document.
pub(super) fn tables(markdown: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let (mut section, mut cell, mut row) = (String::new(), Cell::new(), Vec::new());
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::TableCell) => cell = Cell::new(),
            Event::End(TagEnd::Heading(_)) => section = words(&cell),
            Event::Start(Tag::Table(_)) => {
                tables.push(Table { section: section.clone(), heads: Vec::new(), rows: Vec::new() });
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => row = Vec::new(),
            Event::End(TagEnd::TableCell) => row.push(std::mem::take(&mut cell)),
            Event::End(TagEnd::TableHead) => {
                tables.last_mut().expect("a head is in a table").heads = row.iter().map(|cell| words(cell)).collect();
            }
            Event::End(TagEnd::TableRow) => {
                tables.last_mut().expect("a row is in a table").rows.push(std::mem::take(&mut row));
            }
            Event::Code(code) => cell.push(Piece::Code(code.into_string())),
            Event::Text(text) => match cell.last_mut() {
                Some(Piece::Text(before)) => before.push_str(&text),
                _ => cell.push(Piece::Text(text.into_string())),
            },
            _ => {}
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_heading_its_heads_and_its_cells() {
        let found = tables("# Big\n\n## *Small* one\n\n| a | `b` |\n|---|---|\n| x `y \\| z` | |\n| 1 | ``a ` b`` |\n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].section, "Small one");
        assert_eq!(found[0].heads, ["a", "b"]);
        let code = |text: &str| Piece::Code(text.to_owned());
        assert_eq!(found[0].rows[0], [vec![Piece::Text("x ".to_owned()), code("y | z")], vec![]]);
        assert_eq!(found[0].rows[1], [vec![Piece::Text("1".to_owned())], vec![code("a ` b")]]);
    }
}
