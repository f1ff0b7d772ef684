//! Tests of a report's content and of its safety against hostile runs.

#![cfg(test)]

mod bounds;
mod comparison;
mod harness;
mod hostile;
mod pieces;
mod structure;
mod view;
