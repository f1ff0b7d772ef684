//! The machine driven without a host: a scripted world answers its effects.

mod actors;
mod bounds;
mod build;
mod cancels;
mod claims;
mod criteria;
mod doubts;
mod failures;
pub(crate) mod form;
mod frequency;
mod growing;
mod lead;
mod needs;
mod people;
mod properties;
mod remembering;
mod replans;
mod schedule;
mod stops;
mod ways;
mod world;
