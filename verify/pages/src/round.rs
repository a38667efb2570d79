//! One round: a new shop, people with new browsers, faults; and then the evidence.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::{Database, sqlx};
use testkit::Random;
use tokio::time::sleep;

use super::Result;
use super::evidence::Evidence;
use super::gesture::Gesture;
use super::history::Recorder;
use super::nemesis::Nemesis;
use super::network::Network;
use super::script::Script;
use super::server::Server;
use super::visitor::Visitor;

/// What a round is made of.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) time: Duration,
    /// Two or three.
    pub(super) people: usize,
    pub(super) has_faults: bool,
    pub(super) planted: Option<&'static str>,
}

/// The people, each with their browser, and who else uses it. Olivia also has one of her own.
const PEOPLE: [(&str, &[&str]); 3] = [("minji", &["minji"]), ("park", &["park", "olivia"]), ("olivia", &["olivia"])];

/// How many orders they edit.
const ORDERS: i64 = 2;

/// What was sent before the pages were left has arrived after this time.
const ARRIVED: Duration = Duration::from_millis(1_500);

/// Runs it.
pub(super) async fn run(plan: &Plan) -> Result<Evidence> {
    let folder = tempfile::tempdir()?;
    let (path, planted) = (folder.path().to_owned(), plan.planted);
    let server = tokio::task::spawn_blocking(move || Server::start(&path, planted)).await??;
    let network = Network::to(server.address()).await?;
    let db = Database::connect(&server.database()).await?;
    let orders = orders(&db).await?;
    let recorder = Recorder::new();
    let mut people = Vec::new();
    for (browser, (person, all)) in PEOPLE.iter().take(plan.people).enumerate() {
        let mut random = Random::new(plan.seed, browser as u64 + 1);
        let visitor = Visitor::new(browser, person, network.base(), random.chance(60)).await?;
        let mut script = Script {
            visitor,
            recorder: recorder.clone(),
            random,
            orders: orders.clone(),
            people: all.to_vec(),
            typed: 0,
            due: due(browser, plan.people, all.len() > 1),
            saved: BTreeSet::new(),
            shown: None,
            drafts: Vec::new(),
        };
        script.signs_in(person).await?;
        people.push(script);
    }
    let until = Instant::now() + plan.time;
    let nemesis = Nemesis { server: server.clone(), network, random: Random::new(plan.seed, 0) };
    let has_faults = plan.has_faults;
    let injected = tokio::spawn(async move { if has_faults { nemesis.run(until).await } else { Ok(Vec::new()) } });
    let people = each(people, move |mut script| async move { script.run(until).await.map(|()| script) }).await?;
    let mut evidence = Evidence { faults: injected.await??, ..Evidence::default() };
    // One after the other; and who waited for a form that was open, once more.
    let mut people = people;
    for is_last in [false, true] {
        for script in &mut people {
            script.finishes(is_last).await?;
        }
    }
    let people = each(people, |mut script| async move { script.leaves_all_tabs().await.map(|()| script) }).await?;
    sleep(ARRIVED).await;
    evidence.events = recorder.events();
    evidence.read_revisions(&db, &orders).await?;
    let known = Arc::new(evidence.clone());
    let looks_for = move |mut script: Script| {
        let known = Arc::clone(&known);
        async move { script.looks_for(&known).await.map(|()| script) }
    };
    for script in each(people, looks_for).await? {
        script.visitor.leaves().await;
    }
    evidence.events = recorder.events();
    evidence.read_revisions(&db, &orders).await?;
    db.close().await;
    Ok(evidence)
}

/// What happens once in this browser before it happens by chance: a part of the faults, and a change of its person.
fn due(browser: usize, browsers: usize, is_shared: bool) -> Vec<Gesture> {
    let faults = Gesture::FAULTS.into_iter().skip(browser).step_by(browsers);
    faults.chain(is_shared.then_some(Gesture::OtherPerson)).collect()
}

/// Lets each person do something, at the same time.
async fn each<F>(people: Vec<Script>, step: impl Fn(Script) -> F) -> Result<Vec<Script>>
where
    F: Future<Output = Result<Script>> + Send + 'static,
{
    let tasks: Vec<_> = people.into_iter().map(|script| tokio::spawn(step(script))).collect();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await??);
    }
    Ok(done)
}

/// The newest orders of Minji that can be changed.
async fn orders(db: &Database) -> Result<Vec<String>> {
    let select = "select no from orders where orderer = 'minji' and state in ('PaymentWaiting', 'Preparing')
                  order by no desc limit ?";
    Ok(sqlx::query_scalar(select).bind(ORDERS).fetch_all(db.sqlite()?).await?)
}
