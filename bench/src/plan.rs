//! All measurements, and the ids of their figures.

use crate::aggregates::{self, Operation};
use crate::backend::{Backend, Databases};
use crate::cores::OneCore;
use crate::effort::Effort;
use crate::report::Report;
use crate::{Outcome, limits, locks};

/// The subject of a measurement.
#[derive(Debug, Clone, Copy)]
enum Subject {
    Disk,
    Database(Backend),
    Aggregate(Operation, Backend),
    Callers(Operation, usize, Backend),
    Cycle(usize, Backend),
    TryLock(Backend),
    Heartbeat(Backend),
    Refused(Backend),
    Growth(Backend),
    Memory(Backend),
}

/// A measurement.
#[derive(Debug)]
pub(crate) struct Measurement {
    /// The prefix of the ids of its figures.
    pub(crate) id: String,
    subject: Subject,
}

impl Measurement {
    fn new(subject: Subject) -> Self {
        let id = match subject {
            Subject::Disk => "limit.disk".to_owned(),
            Subject::Database(backend) => format!("limit.{}", backend.name()),
            Subject::Aggregate(operation, backend) => format!("aggregate.{}.{}", operation.name(), backend.name()),
            Subject::Callers(operation, callers, backend) => {
                format!("aggregate.{}.{}.callers{callers}", operation.name(), backend.name())
            }
            Subject::Cycle(editors, backend) => format!("lock.cycle.{}.editors{editors}", backend.name()),
            Subject::TryLock(backend) => format!("lock.try_lock.{}", backend.name()),
            Subject::Heartbeat(backend) => format!("lock.heartbeat.{}", backend.name()),
            Subject::Refused(backend) => format!("lock.refused.{}", backend.name()),
            Subject::Growth(backend) => format!("lock.growth.{}", backend.name()),
            Subject::Memory(backend) => format!("lock.memory.{}", backend.name()),
        };
        Measurement { id, subject }
    }

    /// The ids of its figures.
    pub(crate) fn figures(&self, effort: &Effort) -> Vec<String> {
        let share = "core_share_per_100k_per_minute";
        let leases = effort.leases;
        let figures: Vec<String> = match self.subject {
            Subject::Disk => vec!["flush".into()],
            Subject::Database(_) => vec!["answer".into(), "commit".into()],
            Subject::Aggregate(..) => aggregates::FIGURES.map(String::from).to_vec(),
            Subject::Callers(..) => aggregates::FIGURES_OF_CALLERS.map(String::from).to_vec(),
            Subject::Cycle(..) => {
                let rates = ["", "classic_", "single_", "by_hand_"]
                    .iter()
                    .flat_map(|side| ["cycles_per_second", "failed"].map(|figure| format!("{side}{figure}")));
                let ratios = ["vs_classic", "vs_single", "vs_by_hand"].map(String::from).into_iter();
                let verbs = locks::VERBS.map(String::from);
                ratios.chain(rates).chain(verbs).collect()
            }
            Subject::TryLock(_) => vec!["vs_bare_upsert".into()],
            Subject::Heartbeat(_) => vec![
                format!("leases{leases}.vs_one_by_one"),
                format!("leases{leases}.per_second"),
                format!("leases{leases}.one_by_one_per_second"),
                share.into(),
                format!("{share}_one_by_one"),
            ],
            Subject::Refused(_) => vec!["refusals_per_second".into(), "rows_written".into()],
            Subject::Growth(_) => vec!["p50_ratio".into(), "p99_ratio".into()],
            Subject::Memory(_) => vec!["per_10000_leases".into()],
        };
        figures.into_iter().map(|figure| format!("{}.{figure}", self.id)).collect()
    }

    /// Measures, and adds the figures. Databases are new, and deleted afterwards.
    pub(crate) async fn run(&self, effort: &Effort, report: &mut Report) -> Outcome<()> {
        let has_one_caller =
            matches!(self.subject, Subject::Aggregate(..) | Subject::Cycle(1, _) | Subject::TryLock(_));
        let _one_core = if has_one_caller { Some(OneCore::hold()?) } else { None };
        let (id, databases) = (self.id.as_str(), &Databases::new()?);
        match self.subject {
            Subject::Disk => limits::disk(id, effort, databases, report),
            Subject::Database(backend) => limits::database(id, backend, effort, databases, report).await,
            Subject::Aggregate(operation, backend) => {
                aggregates::measure(id, operation, backend, effort, databases, report).await
            }
            Subject::Callers(operation, callers, backend) => {
                aggregates::callers(id, (operation, callers), backend, effort, databases, report).await
            }
            Subject::Cycle(editors, backend) => locks::cycle(id, editors, backend, effort, databases, report).await,
            Subject::TryLock(backend) => locks::try_lock(id, backend, effort, databases, report).await,
            Subject::Heartbeat(backend) => locks::heartbeat(id, backend, effort, databases, report).await,
            Subject::Refused(backend) => locks::refused(id, backend, effort, databases, report).await,
            Subject::Growth(backend) => locks::growth(id, backend, effort, databases, report).await,
            Subject::Memory(backend) => locks::memory(id, backend, effort, databases, report).await,
        }
    }
}

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Measurement> {
    let each = |subject: fn(Backend) -> Subject| Backend::ALL.map(subject).into_iter();
    let aggregates = Operation::ALL
        .into_iter()
        .flat_map(|operation| Backend::ALL.map(|backend| Subject::Aggregate(operation, backend)));
    let callers = Operation::OF_CALLERS.into_iter().flat_map(|operation| {
        [1, 16]
            .into_iter()
            .flat_map(move |callers| Backend::ALL.map(|backend| Subject::Callers(operation, callers, backend)))
    });
    let cycles =
        Backend::ALL.into_iter().flat_map(|backend| [1, 16, 256].map(|editors| Subject::Cycle(editors, backend)));
    let subjects = [Subject::Disk]
        .into_iter()
        .chain(each(Subject::Database))
        .chain(aggregates)
        .chain(callers)
        .chain(cycles)
        .chain(each(Subject::TryLock))
        .chain(each(Subject::Heartbeat))
        .chain(each(Subject::Refused))
        .chain(each(Subject::Growth))
        .chain(each(Subject::Memory));
    subjects.map(Measurement::new).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_figures_have_one_id() {
        let ids: Vec<String> = all().iter().flat_map(|measurement| measurement.figures(&Effort::FULL)).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(ids.iter().any(|id| id == "lock.heartbeat.mysql.leases10000.vs_one_by_one"), "{ids:#?}");
    }
}
