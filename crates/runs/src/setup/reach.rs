//! Network access of processes. Access to certain hosts goes through a dedicated proxy.

use aime_hosts::{HostGrants, HostProxy};
use aime_sandbox::{Launcher, Network, ProxyFactory, RunningProxy};

use crate::config::NetworkConfig;

/// Converts the network settings under this key; a launcher gives commands their own network. The grants were validated with the settings;
/// an invalid one grants nothing.
pub(super) fn network(config: &NetworkConfig, setting: &str, launcher: Option<&Launcher>) -> Network {
    match config {
        NetworkConfig::None => Network::None,
        NetworkConfig::All => Network::All,
        NetworkConfig::Hosts(hosts) => {
            let proxy = HostProxy::new(HostGrants::read(hosts).unwrap_or_default(), setting);
            let gate = ProxyFactory::new(hosts, move |listener| {
                let open = proxy.open_on(listener)?;
                Ok(RunningProxy::new(move || open.refused()))
            });
            Network::Hosts(match launcher {
                Some(launcher) => gate.launched_by(launcher.clone()),
                None => gate,
            })
        }
    }
}
