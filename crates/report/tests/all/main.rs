//! What a report shows, and what nothing in a run can make of it.

#![cfg(test)]

mod bounds;
mod comparison;
mod harness;
mod hostile;
mod pieces;
mod structure;
mod view;
