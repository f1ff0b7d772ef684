//! Arguments for engines.

use std::{path::PathBuf, time::Duration};

use aime_messages::message;
use aime_runs::engine::{Address, Capability, EngineOptions, EngineTls, Queues};
use clap::Args;

use super::ArgumentFault;

/// Help heading of the options for an engine.
const ENGINE: &str = "Runs on an engine";

/// Engine of a run that is carried out elsewhere.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
    /// Use runs on Temporal, where workers do the work: HOST:PORT, temporal://HOST:PORT/NAMESPACE, or temporals:// with TLS
    #[arg(long, value_name = "ADDRESS", global = true, value_parser = address, help_heading = ENGINE)]
    pub(crate) engine: Option<Address>,
    /// Store of large contents that workers and clients share: a folder, or a bucket as s3://BUCKET/PREFIX, with its key in
    /// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; .aime/blobs of the working folder by default
    #[arg(long, value_name = "DIR", global = true, help_heading = ENGINE)]
    pub(crate) blobs: Option<PathBuf>,
    /// File of keys that encrypt everything that goes to the engine and to --blobs; or set AIME_TEMPORAL_PAYLOAD_KEY to one
    #[arg(long, value_name = "FILE", global = true, help_heading = ENGINE)]
    pub(crate) payload_key: Option<PathBuf>,
    /// CA certificates to trust for the engine with temporals://, as PEM; those of the system by default
    #[arg(long, value_name = "FILE", global = true, help_heading = ENGINE)]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Client certificate for the engine, as PEM
    #[arg(long, value_name = "FILE", global = true, requires = "tls_key", help_heading = ENGINE)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert, as PEM
    #[arg(long, value_name = "FILE", global = true, requires = "tls_cert", help_heading = ENGINE)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Name in the engine's certificate, if it differs from its address
    #[arg(long, value_name = "NAME", global = true, help_heading = ENGINE)]
    pub(crate) tls_name: Option<String>,
    /// Name of the workspace (the working folder), if not all workers share it: only workers with this name do what needs it
    #[arg(long, value_name = "NAME", global = true, help_heading = ENGINE)]
    pub(crate) workspace: Option<String>,
    /// Hand the working folder from host to host as git commits; workers need this option too, --blobs, and git on every host
    #[arg(long, global = true, conflicts_with = "workspace", requires = "blobs", help_heading = ENGINE)]
    pub(crate) git_handoff: bool,
    /// Time to wait for a worker of --workspace before its host counts as lost, such as 90s, 10m; 10m by default
    #[arg(long, value_name = "TIME", global = true, requires = "workspace", value_parser = super::parse_duration, help_heading = ENGINE)]
    pub(crate) worker_timeout: Option<Duration>,
    /// Prefix of the queue names
    #[arg(long, value_name = "PREFIX", global = true, default_value = "aime", help_heading = ENGINE)]
    pub(crate) queue_prefix: String,
}

impl EngineArgs {
    /// Returns the name of a given option that only makes sense with an engine.
    pub(crate) fn any(&self) -> Option<&'static str> {
        let given = [
            ("--blobs", self.blobs.is_some()),
            ("--payload-key", self.payload_key.is_some()),
            ("--tls-ca", self.tls_ca.is_some()),
            ("--tls-cert", self.tls_cert.is_some()),
            ("--tls-name", self.tls_name.is_some()),
            ("--workspace", self.workspace.is_some()),
            ("--git-handoff", self.git_handoff),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// Returns the options of the engine at this address.
    pub(crate) fn options(&self, address: &Address) -> EngineOptions {
        let Self { blobs, payload_key, tls_ca: authority, tls_name: name, git_handoff, .. } = self.clone();
        let tls = EngineTls { authority, own: self.tls_cert.clone().zip(self.tls_key.clone()), name };
        EngineOptions { address: address.clone(), blobs, payload_key, tls, queues: self.queues(), git_handoff }
    }

    fn queues(&self) -> Queues {
        let queues = Queues {
            prefix: self.queue_prefix.clone(),
            place: self.workspace.clone(),
            lost_after_s: self.worker_timeout.map(|time| time.as_secs()),
        };
        if self.git_handoff { queues.for_moving_workspaces() } else { queues }
    }
}

/// Work of a worker, and its engine.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Work that it takes: runs, llm, planner, tools.files, tools.shell, tools.web, tools.mcp; all of them by default
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = capability)]
    pub(crate) serve: Vec<Capability>,
    /// The model, as for `aime run`
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

fn address(text: &str) -> Result<Address, ArgumentFault> {
    text.parse().map_err(|_| ArgumentFault(message!("typed-engine")))
}

fn capability(word: &str) -> Result<Capability, ArgumentFault> {
    Capability::of_word(word)
        .ok_or_else(|| ArgumentFault(message!("typed-serve", names = Capability::ALL.map(Capability::word).join(", "))))
}
