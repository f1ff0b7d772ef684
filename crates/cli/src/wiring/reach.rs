//! What of the network processes reach: for single hosts, by a proxy of their own.

use aime_hosts::{HostGrants, HostProxy};
use aime_sandbox::{Gate, Network, Passage};

use crate::config::NetworkConfig;

/// The network of these settings, which stand under this key. Grants were read once when the settings were; one that cannot be read grants nothing.
pub(super) fn network(config: &NetworkConfig, setting: &str) -> Network {
    match config {
        NetworkConfig::None => Network::None,
        NetworkConfig::All => Network::All,
        NetworkConfig::Hosts(hosts) => {
            let proxy = HostProxy::new(HostGrants::read(hosts).unwrap_or_default(), setting);
            Network::Hosts(Gate::new(hosts, move || {
                let open = proxy.open()?;
                Ok(Passage::new(open.port(), move || open.refused()))
            }))
        }
    }
}
