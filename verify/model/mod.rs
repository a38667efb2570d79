//! The offline lock and the optimistic save, explored state by state with [stateright]: clients that crash, pause and repeat
//! their requests; messages that are delayed, duplicated and lost; a clock that ticks and steps; a sweeper.
//!
//! The decisions about leases are those of the library's engine, not a copy. The promises are judged by facts that clients can observe,
//! stored apart from the engine's rows. Each faulty variant in [`Bug`] breaks the promise that its test names.
//!
//! [stateright]: https://docs.rs/stateright

mod bug;
mod clients;
mod database;
mod facts;
mod promises;
mod scenarios;
mod state;

use std::collections::BTreeSet;

use stateright::{Model, Property};

use super::Rows;
use bug::Bug;
use state::{AggregateRow, Client, ClientId, Facts, Half, Message, Op, Phase, Role, Seen, State, Store};

/// The clients of a scenario, and the events that may happen.
#[derive(Debug, Clone)]
struct Scenario {
    clients: Vec<(Role, u8)>,
    /// The last tick.
    until: i64,
    /// How many requests may be sent twice.
    repeats: u8,
    heartbeats: u8,
    crashes: u8,
    /// How many times the database's clock may step.
    steps: u8,
    sweeps: u8,
    bug: Option<Bug>,
}

/// The next event.
#[derive(Debug, Clone, PartialEq)]
enum Action {
    Send(ClientId, Op),
    /// The client repeats the request whose answer it waits for.
    Repeat(ClientId),
    /// A request reaches the database, or an answer its client.
    Arrive(Message),
    /// A faulty variant continues its split operation.
    Finish(Half),
    Crash(ClientId),
    /// The database stops and starts again.
    CrashDatabase,
    Tick,
    Step(i64),
    Sweep,
}

impl Scenario {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

impl Model for Scenario {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let client = |&(role, owner): &(Role, u8)| Client {
            role,
            owner,
            phase: Phase::Start,
            believes_until: 0,
            waits_for: None,
            heartbeats: self.heartbeats,
        };
        let aggregate = AggregateRow { exists: true, at: Seen { life: 1, version: 1 }, log: Vec::new() };
        vec![State {
            time: 0,
            skew: 0,
            store: Store { rows: Rows::default(), aggregate },
            durable: None,
            clients: self.clients.iter().map(client).collect(),
            network: Vec::new(),
            halves: Vec::new(),
            facts: Facts::default(),
            repeats: self.repeats,
            crashes: self.crashes,
            steps: self.steps,
            sweeps: self.sweeps,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (id, client) in state.clients.iter().enumerate() {
            match client.waits_for {
                None => actions.extend(clients::next_ops(state, id).into_iter().map(|op| Action::Send(id, op))),
                Some(_) if state.repeats > 0 => actions.push(Action::Repeat(id)),
                Some(_) => {}
            }
            if state.crashes > 0 && client.phase != Phase::Ended {
                actions.push(Action::Crash(id));
            }
        }
        let different: BTreeSet<Message> = state.network.iter().copied().collect();
        actions.extend(different.into_iter().map(Action::Arrive));
        actions.extend(state.halves.iter().copied().map(Action::Finish));
        if state.time < self.until {
            actions.push(Action::Tick);
        }
        if state.steps > 0 {
            actions.extend([Action::Step(-1), Action::Step(database::TTL)]);
        }
        if state.sweeps > 0 {
            actions.push(Action::Sweep);
        }
        if state.durable.is_some() {
            actions.push(Action::CrashDatabase);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Send(id, op) => clients::send(&mut next, id, op),
            Action::Repeat(id) => {
                next.repeats -= 1;
                let op = next.clients[id].waits_for?;
                next.send(Message { client: id, op, sent: state.time, answer: None });
            }
            Action::Arrive(message) => {
                next.network.remove(next.network.iter().position(|other| *other == message)?);
                match message.answer {
                    Some(outcome) => clients::receive(self, &mut next, &message, outcome),
                    None => {
                        if let Some(outcome) = database::execute(self, &mut next, &message) {
                            answer(&mut next, message, outcome);
                        }
                    }
                }
            }
            Action::Finish(half) => {
                next.halves.retain(|other| *other != half);
                let (message, outcome) = database::finish(self, &mut next, half);
                answer(&mut next, message, outcome);
            }
            Action::Crash(id) => {
                next.crashes -= 1;
                let client = &mut next.clients[id];
                *client = Client { phase: Phase::Ended, believes_until: 0, waits_for: None, ..client.clone() };
                next.network.retain(|message| message.client != id || message.answer.is_none());
            }
            Action::CrashDatabase => {
                if let Some(durable) = next.durable.take() {
                    next.store = *durable;
                }
            }
            Action::Tick => next.time += 1,
            Action::Step(by) => {
                next.steps -= 1;
                next.skew += by;
            }
            Action::Sweep => {
                next.sweeps -= 1;
                database::sweep(self, &mut next);
            }
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::all()
    }
}

/// Sends an answer. A client that does not wait for it would discard it.
fn answer(state: &mut State, message: Message, outcome: state::Outcome) {
    if state.clients[message.client].waits_for == Some(message.op) {
        state.send(Message { answer: Some(outcome), ..message });
    }
}
