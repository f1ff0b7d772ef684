//! What needs a server: `cargo xtask test temporal` starts one and names it in `AIME_TEMPORAL_ADDRESS`.

#![cfg(test)]

mod contract;
mod tls;
mod toy;
