//! Tests of the real loading and generation code on tiny models that the tests write themselves.
#![cfg(test)]
#![cfg(feature = "engine")]

mod answers;
mod calls;
mod damaged;
mod sharing;
mod tiny;
