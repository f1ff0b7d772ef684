//! Tests of the dashboard's access control, pages and commands.

#![cfg(test)]

mod access;
mod described;
mod harness;
mod live;
mod pages;
