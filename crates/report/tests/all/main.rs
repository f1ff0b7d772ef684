//! What a report shows, and what nothing in a run can make of it.

#![cfg(test)]

mod bounds;
mod harness;
mod hostile;
mod structure;
mod view;
