//! Settings of the confinement of a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    str::FromStr,
};

use aime_messages::{Message, message};

use super::ProxyFactory;

/// A guarantee of the confinement. The user can give up each by name if this machine cannot keep it; none is given up silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guarantee {
    /// Files are readable and writable only where it is allowed. Needs Landlock, Linux 5.13.
    Files,
    /// Other files cannot be truncated by name. Needs Landlock ABI 3, Linux 6.2.
    Truncation,
    /// Signals do not reach outside processes. Needs Landlock ABI 6, Linux 6.12.
    Signals,
    /// No network, no tracing, no namespaces, no mounts: seccomp.
    SystemCalls,
    /// No readable folder contains keys or passwords. Not kept if the working folder is the home folder.
    Keys,
    /// A command that may reach single hosts cannot reach another machine at the port of its proxy. Needs network namespaces, which a
    /// [`Launcher`](super::Launcher) creates.
    NetworkNamespace,
}

impl Guarantee {
    /// All guarantees.
    pub const ALL: [Self; 6] = [Self::Files, Self::Truncation, Self::Signals, Self::SystemCalls, Self::Keys, Self::NetworkNamespace];

    /// Returns its name in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Truncation => "truncation",
            Self::Signals => "signals",
            Self::SystemCalls => "system-calls",
            Self::Keys => "keys",
            Self::NetworkNamespace => "network-namespace",
        }
    }

    /// Describes the rights of a command without it.
    #[must_use]
    pub fn without(self) -> Message {
        match self {
            Self::Files => message!("without-files"),
            Self::Truncation => message!("without-truncation"),
            Self::Signals => message!("without-signals"),
            Self::SystemCalls => message!("without-calls"),
            Self::Keys => message!("without-keys"),
            Self::NetworkNamespace => message!("without-namespace"),
        }
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Guarantee {
    type Err = UnknownGuarantee;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|guarantee| guarantee.name() == name).ok_or_else(|| UnknownGuarantee(name.to_owned()))
    }
}

/// Error for an unknown guarantee name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no guarantee {0:?}: write files, truncation, signals, system-calls, keys or network-namespace")]
pub struct UnknownGuarantee(String);

/// Reachable part of the network.
#[derive(Debug, Clone, Default)]
pub enum Network {
    /// Nothing, not even this machine.
    #[default]
    None,
    /// Hosts that a proxy allows. Needs Landlock ABI 4, Linux 6.7, and seccomp; never weakened.
    Hosts(ProxyFactory),
    /// The whole network.
    All,
}

/// Resource limits of a command with all that it starts. Each of its files has a limit, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Maximum number of simultaneous processes.
    pub processes: u64,
    /// Maximum memory in bytes that all processes use together. Without `/proc`, the maximum data of each.
    pub memory_bytes: u64,
    /// Maximum size of a file in bytes.
    pub file_bytes: u64,
}

impl Default for ResourceLimits {
    /// Returns 1,024 processes, 16 GiB of memory, files of 8 GiB.
    fn default() -> Self {
        Self { processes: 1_024, memory_bytes: 16 << 30, file_bytes: 8 << 30 }
    }
}

/// Rights of a command.
#[derive(Debug, Clone)]
pub struct ConfinementSettings {
    /// Working folder: readable, executable, and writable unless `read_only` is set.
    pub working_folder: PathBuf,
    /// If true, the working folder cannot be written.
    pub read_only: bool,
    /// Home folder, of which only toolchains are readable.
    pub home: Option<PathBuf>,
    /// Parent of the private temporary folder.
    pub temp: PathBuf,
    /// Folders of programs. For a `bin` folder in `PATH`, the folder around it is readable, too.
    pub program_folders: Vec<PathBuf>,
    /// More readable and executable files and folders: the homes of toolchains, certificates.
    pub toolchains: Vec<PathBuf>,
    /// More readable files and folders, named by the user.
    pub read: Vec<PathBuf>,
    /// More writable files and folders, named by the user.
    pub write: Vec<PathBuf>,
    /// Places that are never readable, besides the usual places of keys and passwords: aime's own configuration.
    pub secrets: Vec<PathBuf>,
    /// Reachable network.
    pub network: Network,
    /// Resource limits.
    pub limits: ResourceLimits,
    /// Guarantees that the user gives up if this machine cannot keep them.
    pub allow_missing: BTreeSet<Guarantee>,
}

impl ConfinementSettings {
    /// Returns the default settings for a folder: no network, the toolchains that the environment of the commands names, all guarantees
    /// required.
    #[must_use]
    pub fn new(working_folder: impl Into<PathBuf>, environment: &BTreeMap<OsString, OsString>) -> Self {
        let path = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |path: &PathBuf| path.is_absolute();
        let home = path("HOME").filter(absolute);
        let cargo = path("CARGO_HOME").into_iter().flat_map(|home| CARGO.iter().map(move |part| home.join(part)));
        let go = path("GOPATH").into_iter().flat_map(|home| ["bin", "pkg", "src"].map(|part| home.join(part)));
        let others = ["RUSTUP_HOME", "GOROOT", "JAVA_HOME", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(path);
        let own = path("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config"))).map(|base| base.join("aime"));
        let programs = environment.get(OsStr::new("PATH")).map(|path| split(path)).unwrap_or_default();
        Self {
            working_folder: working_folder.into(),
            read_only: false,
            temp: ["TMPDIR", "TEMP", "TMP"]
                .into_iter()
                .find_map(|name| path(name).filter(absolute))
                .unwrap_or_else(|| PathBuf::from("/tmp")),
            program_folders: programs.into_iter().filter(absolute).collect(),
            toolchains: cargo.chain(go).chain(others).filter(absolute).collect(),
            home,
            read: Vec::new(),
            write: Vec::new(),
            secrets: own.into_iter().collect(),
            network: Network::None,
            limits: ResourceLimits::default(),
            allow_missing: BTreeSet::new(),
        }
    }
}

/// Readable parts of cargo's home.
const CARGO: [&str; 6] = ["bin", "registry", "git", "config", "config.toml", "env"];

fn split(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).collect()
}
