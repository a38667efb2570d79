//! What clients did, as lines of JSON: one before a call is sent, one after its answer.

mod event;
mod operation;
mod recorder;

pub(crate) use event::{Args, Event, Function, Gesture, Guarded, Stage};
pub(crate) use operation::{Operation, Outcome, read};
pub(crate) use recorder::{Answered, Recorder};
