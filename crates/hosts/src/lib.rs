#![doc = include_str!("../README.md")]

mod address;
mod grants;
mod names;
#[cfg(feature = "proxy")]
mod proxy;

pub use address::is_public;
pub use grants::{Denied, HostGrants, Target, UnreadableGrant, check_pattern, check_single};
pub use names::{host, host_fits, host_of};
#[cfg(feature = "proxy")]
pub use proxy::{HostProxy, OpenProxy, ProxyBounds};
