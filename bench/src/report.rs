//! The figures of a run: as a table for people, as JSON for comparing runs.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Outcome;
use crate::statistics::{Percentiles, Spread};

/// One figure, and its precision.
#[derive(Debug)]
pub(crate) struct Figure {
    id: String,
    value: f64,
    unit: &'static str,
    /// The smallest and the largest value of a round.
    spread: Option<Spread>,
    /// A remark for the table.
    remark: Option<String>,
    /// Whether it is only in the JSON.
    aside: bool,
    /// Latencies of tenure's side and of the other one.
    latencies: [Option<Percentiles>; 2],
}

impl Figure {
    pub(crate) fn new(id: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Figure { id: id.into(), value, unit, spread: None, remark: None, aside: false, latencies: [None; 2] }
    }

    /// A value per round: their median is the figure.
    pub(crate) fn of_rounds(id: impl Into<String>, spread: Spread, unit: &'static str) -> Self {
        Figure { spread: Some(spread), ..Self::new(id, spread.median, unit) }
    }

    /// Adds a remark, which replaces the rounds in the table.
    pub(crate) fn remark(self, remark: String) -> Self {
        Figure { remark: Some(remark), ..self }
    }

    /// Leaves it out of the table.
    pub(crate) fn aside(self) -> Self {
        Figure { aside: true, ..self }
    }

    /// Adds tenure's latencies.
    pub(crate) fn tenure(mut self, latencies: &[f64]) -> Self {
        self.latencies[0] = Some(Percentiles::of(latencies));
        self
    }

    /// Adds the other side's latencies.
    pub(crate) fn other(mut self, latencies: &[f64]) -> Self {
        self.latencies[1] = Some(Percentiles::of(latencies));
        self
    }

    fn row(&self) -> [String; 5] {
        let spread = self.spread.map(|spread| format!("{}..{}", short(spread.min), short(spread.max)));
        let latencies = self
            .latencies
            .map(|side| side.map(|side| format!("{} / {} / {}", short(side.p50), short(side.p95), short(side.p99))));
        let remark = spread.or_else(|| self.remark.clone()).unwrap_or_default();
        let [tenure, other] = latencies.map(Option::unwrap_or_default);
        [format!("`{}`", self.id), format!("{} {}", short(self.value), self.unit), remark, tenure, other]
    }

    fn entries(&self) -> Vec<Entry> {
        let Figure { id, value, unit, spread, latencies, .. } = self;
        let mut entries = vec![Entry { id: id.clone(), value: *value, unit }];
        let mut more = |suffix: &str, value, unit| entries.push(Entry { id: format!("{id}.{suffix}"), value, unit });
        if let Some(spread) = spread {
            more("min", spread.min, unit);
            more("max", spread.max, unit);
        }
        for (side, latencies) in ["tenure", "other"].into_iter().zip(latencies) {
            let Some(latencies) = latencies else { continue };
            more(&format!("{side}.p50"), latencies.p50, "ms");
            more(&format!("{side}.p95"), latencies.p95, "ms");
            more(&format!("{side}.p99"), latencies.p99, "ms");
        }
        entries
    }
}

/// A line of the JSON.
#[derive(Debug, Serialize)]
struct Entry {
    id: String,
    value: f64,
    unit: &'static str,
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

impl Report {
    /// # Errors
    /// If there are no samples for the figure.
    pub(crate) fn add(&mut self, figure: Figure) -> Outcome<()> {
        if !figure.entries().iter().all(|entry| entry.value.is_finite()) {
            return Err(format!("{}: there are no samples to make it from: {figure:?}", figure.id).into());
        }
        self.figures.push(figure);
        Ok(())
    }

    /// As a table in Markdown, so that it can be pasted into `docs/performance.md`.
    pub(crate) fn table(&self) -> String {
        let heading = ["figure", "value", "rounds", "tenure p50 / p95 / p99 ms", "other p50 / p95 / p99 ms"];
        let shown = self.figures.iter().filter(|figure| !figure.aside);
        let rows: Vec<[String; 5]> = [heading.map(String::from)].into_iter().chain(shown.map(Figure::row)).collect();
        let width: [usize; 5] =
            std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or_default());
        let mut table = String::new();
        for (number, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().zip(width).map(|(cell, width)| format!(" {cell:<width$} ")).collect();
            table += &format!("|{}|\n", cells.join("|"));
            if number == 0 {
                table += &format!("|{}|\n", width.map(|width| "-".repeat(width + 2)).join("|"));
            }
        }
        table
    }

    /// Writes the JSON list of `{ "id", "value", "unit" }`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Outcome<()> {
        let entries: Vec<Entry> = self.figures.iter().flat_map(Figure::entries).collect();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, serde_json::to_string_pretty(&entries)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        medium if medium >= 10.0 => format!("{value:.1}"),
        small if small >= 1.0 || small == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_spread_and_latencies_are_in_the_json() {
        let ratio = Spread { median: 1.1, min: 1.0, max: 1.5 };
        let figure = Figure::of_rounds("lock.x", ratio, "ratio").tenure(&[2.0]).other(&[1.0]);
        let entries: Vec<(String, f64)> = figure.entries().into_iter().map(|entry| (entry.id, entry.value)).collect();
        let id = |suffix: &str| format!("lock.x{suffix}");
        assert_eq!(
            entries,
            [
                (id(""), 1.1),
                (id(".min"), 1.0),
                (id(".max"), 1.5),
                (id(".tenure.p50"), 2.0),
                (id(".tenure.p95"), 2.0),
                (id(".tenure.p99"), 2.0),
                (id(".other.p50"), 1.0),
                (id(".other.p95"), 1.0),
                (id(".other.p99"), 1.0),
            ]
        );
    }

    #[test]
    fn a_figure_without_samples_is_refused() {
        let mut report = Report::default();
        assert!(report.add(Figure::new("lock.x", 1.0, "ratio").tenure(&[])).is_err());
        assert!(report.figures.is_empty());
    }

    #[test]
    fn the_table_shows_three_digits() {
        assert_eq!([0.0, 0.01234, 1.0, 12.345, 1234.5].map(short), ["0.00", "0.012", "1.00", "12.3", "1234"]);
    }
}
