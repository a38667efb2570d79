//! Random choices that a seed repeats.

pub(crate) use testkit::Random;
