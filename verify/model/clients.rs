//! The programs of the clients: their next requests, and how they handle answers.

use super::Scenario;
use super::bug::Bug;
use super::database::TTL;
use super::state::{ClientId, Lock, Message, Op, Outcome, Phase, Role, State};

/// The lock id of a client. A client asks for one lease only.
fn lock_of(client: ClientId) -> Lock {
    client as Lock + 1
}

/// The requests that a client may send if it does not wait for an answer.
pub(super) fn next_ops(state: &State, id: ClientId) -> Vec<Op> {
    let (client, lock) = (&state.clients[id], lock_of(id));
    match (client.role, client.phase) {
        (Role::Editor | Role::Returning, Phase::Start) => vec![Op::Take(lock)],
        (_, Phase::Start) => vec![Op::Read],
        (Role::Writer, Phase::HasRead(seen, _)) => vec![Op::SaveFree(seen)],
        (Role::Replacer, Phase::HasRead(seen, _)) => vec![Op::Replace(seen)],
        (Role::Breaking, Phase::HasRead(_, Some(generation))) => vec![Op::Break(generation)],
        (Role::TakingOver, Phase::HasRead(_, Some(generation))) => vec![Op::TakeOver(lock, generation)],
        (role, Phase::Holds(seen)) => {
            let mut ops = vec![Op::Save(lock, seen)];
            if client.heartbeats > 0 {
                ops.push(if role == Role::Returning { Op::Resume(lock) } else { Op::Keep(lock) });
            }
            ops
        }
        (_, Phase::Saved) => vec![Op::Release(lock)],
        (_, Phase::HasRead(..) | Phase::Ended) => Vec::new(),
    }
}

/// The client sends a request.
pub(super) fn send(state: &mut State, id: ClientId, op: Op) {
    let sent = state.time;
    let client = &mut state.clients[id];
    client.waits_for = Some(op);
    match op {
        Op::Keep(_) | Op::Resume(_) => client.heartbeats -= 1,
        // The client gives up the lease, even if the message is lost.
        Op::Release(_) => client.believes_until = 0,
        _ => {}
    }
    state.send(Message { client: id, op, sent, answer: None });
}

/// The client receives an answer. It ignores an answer that it does not wait for.
pub(super) fn receive(scenario: &Scenario, state: &mut State, message: &Message, outcome: Outcome) {
    let time = state.time;
    let client = &mut state.clients[message.client];
    if client.waits_for != Some(message.op) {
        return;
    }
    client.waits_for = None;
    // From the sending of the request: the lease was granted later than that.
    let from = if scenario.has(Bug::DeadlineFromReceipt) { time } else { message.sent };
    match (message.op, outcome) {
        (Op::Read, Outcome::Read(seen, live)) => client.phase = Phase::HasRead(seen, live),
        (Op::Take(_) | Op::TakeOver(..), Outcome::Granted(seen)) => {
            if client.role != Role::Returning {
                client.role = Role::Editor;
            }
            client.phase = Phase::Holds(seen);
            client.believes_until = from + TTL;
        }
        (Op::Keep(_) | Op::Resume(_), Outcome::Done) => client.believes_until = client.believes_until.max(from + TTL),
        (Op::Save(..), Outcome::Done) => {
            client.phase = Phase::Saved;
            state.facts.acknowledged.insert(message.client);
        }
        (Op::SaveFree(_) | Op::Replace(_), Outcome::Done) => {
            client.phase = Phase::Ended;
            state.facts.acknowledged.insert(message.client);
        }
        _ => {
            client.phase = Phase::Ended;
            client.believes_until = 0;
        }
    }
}
