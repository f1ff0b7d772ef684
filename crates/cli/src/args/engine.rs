//! Arguments for engines.

use std::{path::PathBuf, time::Duration};

use aime_temporal::{Address, Capability, Queues};
use clap::Args;

/// Help heading of the options for an engine.
const ENGINE: &str = "Runs on an engine";

/// Engine of a run that is carried out elsewhere.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineArgs {
    /// Carry the run out on Temporal, where workers do it: temporal://HOST:PORT/NAMESPACE, or temporals:// with TLS
    #[arg(long, value_name = "ADDRESS", global = true, help_heading = ENGINE)]
    pub(crate) on: Option<Address>,
    /// Where workers and clients share what is large: a folder, or a bucket as s3://BUCKET/PREFIX, with its key in AWS_ACCESS_KEY_ID and
    /// AWS_SECRET_ACCESS_KEY; .aime/blobs of the working folder unless given
    #[arg(long, value_name = "DIR", global = true, help_heading = ENGINE)]
    pub(crate) blobs: Option<PathBuf>,
    /// A file of keys with which all is encrypted that goes to the engine and to --blobs; or AIME_TEMPORAL_PAYLOAD_KEY holds one
    #[arg(long, value_name = "FILE", global = true, help_heading = ENGINE)]
    pub(crate) payload_key: Option<PathBuf>,
    /// Whose certificates are trusted in the engine, as PEM, beside temporals://; those that the system trusts unless given
    #[arg(long, value_name = "FILE", global = true, help_heading = ENGINE)]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The certificate that is shown to the engine, as PEM
    #[arg(long, value_name = "FILE", global = true, requires = "tls_key", help_heading = ENGINE)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", global = true, requires = "tls_cert", help_heading = ENGINE)]
    pub(crate) tls_key: Option<PathBuf>,
    /// The name in the engine's certificate, where it is another than that in its address
    #[arg(long, value_name = "NAME", global = true, help_heading = ENGINE)]
    pub(crate) tls_name: Option<String>,
    /// The name of the working folder, where not all workers share it: only those of this name do what needs it
    #[arg(long, value_name = "NAME", global = true, help_heading = ENGINE)]
    pub(crate) place: Option<String>,
    /// Hand the working folder over as states of git, which workers that say the same check out; needs --blobs, and git on every host
    #[arg(long, global = true, conflicts_with = "place", requires = "blobs", help_heading = ENGINE)]
    pub(crate) trees: bool,
    /// How long it is waited for a worker of --place before its host counts as lost, such as 90s, 10m; 10m unless given
    #[arg(long, value_name = "TIME", global = true, requires = "place", value_parser = super::parse_duration, help_heading = ENGINE)]
    pub(crate) lost_after: Option<Duration>,
    /// Beginning of the names of the queues
    #[arg(long, value_name = "PREFIX", global = true, default_value = "aime", help_heading = ENGINE)]
    pub(crate) queues: String,
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
            ("--place", self.place.is_some()),
            ("--trees", self.trees),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    pub(crate) fn queues(&self) -> Queues {
        let queues =
            Queues { prefix: self.queues.clone(), place: self.place.clone(), lost_after_s: self.lost_after.map(|time| time.as_secs()) };
        if self.trees { queues.of_trees() } else { queues }
    }
}

/// Work of a worker, and its engine.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The engine: HOST:PORT, or as for --on
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) temporal: Address,
    /// What it serves: runs, llm, planner, tools.files, tools.shell, tools.web, tools.mcp; all of it unless given
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = capability)]
    pub(crate) serve: Vec<Capability>,
    /// The model, as for `aime run`
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

fn capability(word: &str) -> Result<Capability, String> {
    Capability::of_word(word).ok_or_else(|| {
        let known: Vec<&str> = Capability::ALL.into_iter().map(Capability::word).collect();
        format!("a worker serves {}", known.join(", "))
    })
}
