//! Tests of the crate from outside, in one binary.

#[cfg(test)]
mod alone;
#[cfg(test)]
mod drive;
#[cfg(test)]
mod lead;
#[cfg(test)]
mod run;
