//! `cargo xtask diagrams`: draws the sequence diagrams of the guide from the texts beside them. `tests/repository/guide.rs` compares.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use testkit::tasks::{diagram, root};

/// Draws all of them.
pub(crate) fn run() -> ExitCode {
    let folders = ["docs/guide/diagrams", "docs/guide/ko/diagrams"];
    match folders.iter().try_for_each(|folder| drawn(&root().join(folder))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("not every diagram was drawn: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn drawn(folder: &Path) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let problem = |error: String| format!("{}: {error}", path.display());
            let text = fs::read_to_string(&path).map_err(|error| problem(error.to_string()))?;
            let picture = diagram::svg(&text).map_err(problem)?;
            fs::write(path.with_extension("svg"), picture).map_err(|error| problem(error.to_string()))?;
        }
    }
    Ok(())
}
