//! Starts, kills and drops real servers, and checks the remains.

mod environment;
mod lifecycle;
mod settings;
mod support;
mod traces;
