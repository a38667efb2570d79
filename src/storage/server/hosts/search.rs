//! Asking all hosts, and the search in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sqlx::Connection;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::choice::{Answer, Seat, choose};
use super::{Candidate, Engine, Hosts, Options, PATIENCE};
use crate::error::DatabaseError;
use crate::storage::capabilities::WriterHost;
use crate::storage::diagnosis::HostState;

/// The pause between two searches. Also after one that found nothing new: many connections fail at once.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a search goes on without a writer. The next error starts another one.
const LONGEST: Duration = Duration::from_secs(60);

/// How long the answers of the hosts count for new connections. Not all losses are noticed: the application's own statements fail unseen.
const FRESH: Duration = Duration::from_secs(5);

/// The interval of searches without a reason, while the database is used. A primary that is isolated from its standbys still answers this
/// process, and does not know that it was replaced.
const REGULAR: Duration = Duration::from_secs(10);

/// The last searches.
#[derive(Debug)]
pub(super) struct Searches {
    /// The start of the last one that found the writer.
    found: Instant,
    /// The end of the last one, and its problem.
    ended: Instant,
    problem: Option<String>,
    /// The last loss of a connection.
    lost: Option<Instant>,
}

impl Searches {
    /// All hosts were asked at connect.
    pub(super) fn since(asked: Instant) -> Self {
        Searches { found: asked, ended: asked, problem: None, lost: None }
    }

    /// Whether all hosts were asked since the last loss, and not long ago.
    pub(super) fn are_fresh(&self) -> bool {
        self.lost.is_none_or(|lost| lost < self.found) && self.found.elapsed() < FRESH
    }

    /// Whether the last one is long ago.
    fn are_due(&self) -> bool {
        self.ended.elapsed() >= REGULAR
    }

    fn end(&mut self, begun: Instant, problem: Option<String>) {
        self.ended = Instant::now();
        if problem.is_none() {
            self.found = begun;
        }
        self.problem = problem;
    }

    /// The problem of the last one.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

/// The writer at connect, and what every host answered.
pub(in crate::storage) struct Found<E: Engine> {
    pub hosts: Vec<Candidate<E>>,
    pub answers: Vec<Answer>,
    pub at: usize,
    pub seat: Seat,
    /// When they were asked.
    pub asked: Instant,
}

impl<E: Engine> Found<E> {
    /// The options of the writer.
    pub(in crate::storage) fn options(&self) -> Options<E> {
        self.hosts[self.at].options.clone()
    }

    /// The hosts and the writer among them.
    pub(in crate::storage) fn writer(&self) -> WriterHost {
        let hosts: Vec<String> = self.hosts.iter().map(|host| host.name.clone()).collect();
        WriterHost { host: hosts[self.at].clone(), hosts, epoch: self.seat.epoch }
    }

    /// The answer of each host, for the doctor.
    pub(in crate::storage) fn states(&self) -> Vec<HostState> {
        let pairs = self.hosts.iter().zip(&self.answers);
        pairs.map(|(host, answer)| HostState { host: host.name.clone(), state: answer.says() }).collect()
    }
}

/// Asks all hosts, and chooses the writer.
///
/// # Errors
/// The problem of each host.
pub(in crate::storage) async fn find<E: Engine>(hosts: Vec<Candidate<E>>, first: &str) -> Result<Found<E>, String> {
    let asked = Instant::now();
    let answers = ask_all::<E>(hosts.iter().map(|host| host.options.clone()).collect(), first).await;
    match choose(&answers, None) {
        Ok(at) => match answers[at].clone() {
            Answer::Writer(seat) => Ok(Found { hosts, answers, at, seat, asked }),
            other => Err(other.says()),
        },
        Err(problems) => {
            let names: Vec<String> = hosts.into_iter().map(|host| host.name).collect();
            Err(none(&names, &problems))
        }
    }
}

/// The error that names each host.
fn none(names: &[String], problems: &[String]) -> String {
    let each: Vec<String> = names.iter().zip(problems).map(|(name, problem)| format!("{name}: {problem}")).collect();
    format!("no host can be used as the writer. {}", each.join(". "))
}

/// The answers, in the order of the hosts. They are asked at the same time.
async fn ask_all<E: Engine>(hosts: Vec<Options<E>>, first: &str) -> Vec<Answer> {
    let mut answers = vec![Answer::Silent("it could not be asked".into()); hosts.len()];
    let mut asking = JoinSet::new();
    for (at, options) in hosts.into_iter().enumerate() {
        let first = first.to_owned();
        asking.spawn(async move { (at, ask::<E>(&options, &first).await) });
    }
    while let Some(answer) = asking.join_next().await {
        if let Ok((at, answer)) = answer {
            answers[at] = answer;
        }
    }
    answers
}

async fn ask<E: Engine>(options: &Options<E>, first: &str) -> Answer {
    let asked = async {
        let mut connection = match E::open(options, first).await {
            Ok(connection) => connection,
            Err(problem) => return Answer::Silent(problem),
        };
        let answer = E::ask(&mut connection).await.unwrap_or_else(|error| Answer::Silent(error.to_string()));
        let _ = connection.close().await;
        answer
    };
    let silent = || Answer::Silent(format!("no answer within {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| silent())
}

impl<E: Engine> Hosts<E> {
    /// Looks for the writer in the background after a loss.
    pub(in crate::storage) fn suspect(self: &Arc<Self>) {
        self.searches().lost = Some(Instant::now());
        self.look();
    }

    /// Looks for the writer in the background, unless that is already done. Must run inside a runtime.
    pub(super) fn look(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.are_closed() || self.searching.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut searching = Searching { hosts: Arc::clone(self), done: false };
        runtime.spawn(async move { searching.run().await });
    }

    /// Looks for the writer in the background if that was not done for a while.
    pub(super) fn look_regularly(self: &Arc<Self>) {
        if self.searches().are_due() {
            self.look();
        }
    }

    /// Whether there are no open pools.
    fn are_closed(&self) -> bool {
        self.pools.get().is_none_or(|pools| pools.iter().all(sqlx::Pool::is_closed))
    }

    async fn search_once(self: &Arc<Self>) -> Result<(), String> {
        let hosts = self.hosts().iter().map(|host| host.options.clone()).collect();
        let answers = ask_all::<E>(hosts, &self.rules.first).await;
        let (at, seat) = self.in_use().seat();
        let chosen = choose(&answers, Some((at, &seat))).map_err(|problems| none(&self.names(), &problems))?;
        let Answer::Writer(seat) = &answers[chosen] else { return Err(answers[chosen].says()) };
        if chosen == at && self.in_use().is(seat, E::ORIGIN) {
            return Ok(());
        }
        let problem = |error: DatabaseError| none(&[self.names()[chosen].clone()], &[error.to_string()]);
        let (seat, pause) = self.settle(chosen, seat).await.map_err(problem)?;
        self.switch(chosen, seat, pause);
        Ok(())
    }
}

/// A search that is in progress. Dropping it ends it, also with its runtime.
struct Searching<E: Engine> {
    hosts: Arc<Hosts<E>>,
    done: bool,
}

impl<E: Engine> Searching<E> {
    async fn run(&mut self) {
        let hosts = Arc::clone(&self.hosts);
        let (started, mut told) = (Instant::now(), false);
        while started.elapsed() < LONGEST && !hosts.are_closed() {
            let rest = PAUSE.saturating_sub(hosts.searches().ended.elapsed());
            tokio::time::sleep(rest).await;
            let begun = Instant::now();
            let problem = hosts.search_once().await.err();
            hosts.searches().end(begun, problem.clone());
            match problem {
                None => {
                    // First, so that a loss from now on begins another search.
                    self.end();
                    hosts.found.send_modify(|searches| *searches += 1);
                    return;
                }
                Some(problem) if !told => {
                    told = true;
                    tracing::warn!(problem, "the database has no writer; its hosts are asked again until it has");
                }
                Some(_) => {}
            }
        }
    }

    fn end(&mut self) {
        if !self.done {
            self.done = true;
            self.hosts.searching.store(false, Ordering::Release);
        }
    }
}

impl<E: Engine> Drop for Searching<E> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_do_not_count_after_a_loss_or_a_while() {
        let now = Instant::now();
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).expect("the machine is up for longer");
        for (found, lost, fresh) in [(1, None, true), (1, Some(2), true), (2, Some(1), false), (6, None, false)] {
            let searches = Searches { lost: lost.map(ago), ..Searches::since(ago(found)) };
            assert_eq!(searches.are_fresh(), fresh, "{found} {lost:?}");
        }
    }
}
