//! Starts, kills and drops real servers, and looks at what is left.

mod environment;
mod lifecycle;
mod settings;
mod support;
mod traces;
