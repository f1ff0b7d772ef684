//! Tests that need a server: `cargo xtask test temporal` starts one and names it in `AIME_TEMPORAL_ADDRESS`, and
//! another one that suggests new histories after a few events in `AIME_TEMPORAL_SOON_ADDRESS`.

#![cfg(test)]

mod contract;
mod forget;
mod tls;
mod toy;
