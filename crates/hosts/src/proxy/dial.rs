//! Connecting to a host that is granted, at an address that may be reached.

use std::{io, net::SocketAddr};

use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use super::Shared;
use crate::{Denied, Target};

/// Reason why no connection was made.
pub(super) enum Unreached {
    Denied(Denied),
    /// The target is allowed, but the connection failed.
    Failed(String),
}

/// Resolves the name, and connects to the first of its addresses that answers. A name is refused if any of its
/// addresses is forbidden. The checked addresses are the ones that are connected to.
pub(super) async fn dial(shared: &Shared, target: &Target) -> Result<TcpStream, Unreached> {
    shared.grants.check(target).map_err(Unreached::Denied)?;
    let failed = |reason: &dyn std::fmt::Display| Unreached::Failed(format!("{target} could not be reached: {reason}"));
    let connect = async {
        let found: Vec<SocketAddr> = lookup_host((target.name(), target.port())).await.map_err(|error| failed(&error))?.collect();
        found.iter().try_for_each(|address| shared.grants.check_address(target, address.ip())).map_err(Unreached::Denied)?;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in found {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(failed(&last))
    };
    let limit = shared.bounds.connect;
    timeout(limit, connect).await.unwrap_or_else(|_| Err(failed(&format!("it took longer than {} s", limit.as_secs()))))
}
