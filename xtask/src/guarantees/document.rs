//! `docs/guarantees.md`: the commands of the tests, and a row for each guarantee.

use std::fs;

use testkit::Kind;

use crate::guarantees::change::{self, Change};
use crate::guarantees::tables::{Cell, Piece, Table, tables, words};
use crate::servers::root;

/// The path of the guarantees from the root of the project.
pub(super) const PATH: &str = "docs/guarantees.md";

/// The content of the document.
pub(super) struct Document {
    pub(super) programs: Vec<Program>,
    pub(super) rows: Vec<Row>,
}

/// A test program.
pub(super) struct Program {
    /// Its name in rows.
    pub(super) name: String,
    pub(super) environment: Vec<(String, String)>,
    /// The arguments of cargo.
    pub(super) arguments: Vec<String>,
    /// The servers that it needs.
    pub(super) servers: Vec<Kind>,
    /// Whether it needs the path of axe-core.
    pub(super) axe: bool,
}

/// A guarantee.
pub(super) struct Row {
    pub(super) section: String,
    pub(super) guarantee: String,
    /// The files that implement it, if they are named in full or by their name.
    pub(super) files: Vec<String>,
    /// Tests, of which at least one fails for each mutant.
    pub(super) tests: Vec<Test>,
    pub(super) change: Result<Change, String>,
}

/// `` `program name` ``, or `` `program` `` for all of its tests.
pub(super) struct Test {
    pub(super) program: String,
    pub(super) name: Option<String>,
}

impl Document {
    /// The document of the project.
    ///
    /// # Errors
    /// If it cannot be read, or a program cannot be parsed.
    pub(super) fn read() -> Result<Self, String> {
        let text = fs::read_to_string(root().join(PATH)).map_err(|error| format!("{PATH}: {error}"))?;
        Self::parse(&text)
    }

    /// Reads the tables.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let tables = tables(text);
        let (programs, others): (Vec<_>, Vec<_>) =
            tables.iter().partition(|table| table.heads == ["program", "command", "needs"]);
        let programs =
            programs.iter().flat_map(|table| &table.rows).map(|row| Program::parse(row)).collect::<Result<_, _>>()?;
        // Other tables are only for people.
        let guarantees = others.iter().filter(|table| table.heads.iter().any(|head| head == "test"));
        let rows = guarantees.flat_map(|table| table.rows.iter().map(|row| Row::parse(table, row))).collect();
        Ok(Document { programs, rows })
    }

    /// The program with this name.
    pub(super) fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }
}

impl Program {
    fn parse(row: &[Cell]) -> Result<Self, String> {
        let [name, command, needs] = row else { return Err("a program without three cells".to_owned()) };
        let (name, command) = (words(name), words(command));
        let mut parts = command.split_whitespace().peekable();
        let mut environment = Vec::new();
        while let Some((variable, value)) = parts.peek().and_then(|part| part.split_once('=')) {
            environment.push((variable.to_owned(), value.to_owned()));
            parts.next();
        }
        if parts.next() != Some("cargo") {
            return Err(format!("{name}: `{command}` is no command of cargo"));
        }
        let (mut servers, mut axe) = (Vec::new(), false);
        for need in words(needs).split(", ").filter(|need| !need.is_empty()) {
            match need {
                "PostgreSQL" => servers.push(Kind::Postgres),
                "MariaDB" => servers.push(Kind::MariaDb),
                "axe-core" => axe = true,
                other => return Err(format!("{name}: there is no `{other}` to provide")),
            }
        }
        Ok(Program { environment, arguments: parts.map(str::to_owned).collect(), servers, axe, name })
    }
}

impl Row {
    fn parse(table: &Table, row: &[Cell]) -> Self {
        let column = |heads: &[&str]| table.heads.iter().position(|head| heads.contains(&head.as_str()));
        let cell = |heads: &[&str]| column(heads).and_then(|at| row.get(at)).map_or(&[][..], Vec::as_slice);
        let codes = |cell: &[Piece]| cell.iter().filter_map(Piece::code).map(str::to_owned).collect::<Vec<_>>();
        let files: Vec<_> = codes(cell(&["kept in"]));
        Row {
            section: table.section.clone(),
            guarantee: words(cell(&["guarantee", "flaw"])),
            tests: codes(cell(&["test"])).iter().map(|code| Test::parse(code)).collect(),
            change: change::parse(cell(&["delete or change to see it fail"]), files.first().map(String::as_str)),
            files,
        }
    }
}

impl Test {
    fn parse(code: &str) -> Self {
        match code.split_once(' ') {
            Some((program, name)) => Test { program: program.to_owned(), name: Some(name.to_owned()) },
            None => Test { program: code.to_owned(), name: None },
        }
    }

    /// As in the document.
    pub(super) fn shown(&self) -> String {
        self.name.as_ref().map_or_else(|| self.program.clone(), |name| format!("{} {name}", self.program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "
## How

| program | command | needs |
|---|---|---|
| `both` | `A=b cargo test --test both` | PostgreSQL, MariaDB |
| `lib` | `cargo test --lib` | axe-core |

## Locks

| guarantee | kept in | test | delete or change to see it fail |
|---|---|---|---|
| One holder | `src/a.rs`: `take` | `lib one_wins`, `both` | `x` → `y` |

| section | made |
|---|---|
| Locks | 1 |
";

    #[test]
    fn a_program_has_its_environment_and_its_needs() {
        let document = Document::parse(SMALL).expect("a document");
        let both = document.program("both").expect("a program");
        assert_eq!(both.environment, [("A".to_owned(), "b".to_owned())]);
        assert_eq!(both.arguments, ["test", "--test", "both"]);
        assert_eq!(both.servers, [Kind::Postgres, Kind::MariaDb]);
        let lib = document.program("lib").expect("a program");
        assert_eq!((both.axe, &lib.servers[..], lib.axe), (false, &[][..], true));
    }

    #[test]
    fn a_row_names_its_tests_and_the_file_of_its_edit() {
        let document = Document::parse(SMALL).expect("a document");
        let [row] = &document.rows[..] else { panic!("one row") };
        assert_eq!((row.section.as_str(), row.guarantee.as_str()), ("Locks", "One holder"));
        assert_eq!(row.tests.iter().map(Test::shown).collect::<Vec<_>>(), ["lib one_wins", "both"]);
        let Ok(Change::Mutants(mutants)) = &row.change else { panic!("{:?}", row.change) };
        assert_eq!(mutants[0][0].file, "src/a.rs");
    }

    #[test]
    fn what_is_no_command_and_no_need_is_an_error() {
        for (old, new) in [("cargo test --lib", "make"), ("PostgreSQL, MariaDB", "Oracle")] {
            assert!(Document::parse(&SMALL.replace(old, new)).is_err(), "{new}");
        }
    }
}
