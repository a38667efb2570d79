//! Mappings from files, compared with the live tables.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use tenure::Database;
use tenure::aggregate::mapping::Mapping;
use tenure::aggregate::schema::Severity;

/// The mappings of all files, each of which has one mapping or a list.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<Mapping>, String> {
    let mut mappings = Vec::new();
    for file in files {
        let name = file.display();
        let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
        let read = match text.trim_start().starts_with('[') {
            true => serde_json::from_str(&text),
            false => serde_json::from_str(&text).map(|mapping| vec![mapping]),
        };
        mappings.extend(read.map_err(|error| format!("{name} has no mapping of this release: {error}"))?);
    }
    Ok(mappings)
}

/// Prints every difference. Whether there is no error among them.
pub(crate) async fn fit(db: &Database, mappings: &[Mapping]) -> Result<bool, Box<dyn Error>> {
    let mut fit = true;
    for mapping in mappings {
        let report = db.check_mapping(mapping).await?;
        let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        println!("{:<25} {errors} errors, {} warnings", report.aggregate, report.findings.len() - errors);
        report.findings.iter().for_each(|finding| println!("  {finding}"));
        fit &= errors == 0;
    }
    Ok(fit)
}
