//! What a dashboard lets in, shows and passes on.

#![cfg(test)]

mod access;
mod described;
mod harness;
mod live;
mod pages;
