//! What confines a command, as it is asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    str::FromStr,
};

use super::Gate;

/// What confinement keeps. Each can be given up by name where this machine cannot keep it; none is given up in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guarantee {
    /// Files: read and written only where it is allowed. Landlock, from Linux 5.13 on.
    Files,
    /// Files elsewhere are not emptied by name. Landlock's third version, from Linux 6.2 on.
    Truncation,
    /// No signal reaches a process outside. Landlock's sixth version, from Linux 6.12 on.
    Signals,
    /// No network, no tracing, no namespaces, no mounts: seccomp.
    SystemCalls,
    /// No folder that may be read holds keys or passwords. Not kept where the working folder itself is the home folder.
    Keys,
    /// A command that may reach single hosts cannot reach another machine at the port of its proxy. Network namespaces, which a [`Launcher`](super::Launcher) makes.
    NetworkNamespace,
}

impl Guarantee {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Files, Self::Truncation, Self::Signals, Self::SystemCalls, Self::Keys, Self::NetworkNamespace];

    /// Its name in settings.
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

    /// What a command may do where it is given up.
    #[must_use]
    pub const fn without(self) -> &'static str {
        match self {
            Self::Files => "commands may read and write every file that you may",
            Self::Truncation => "commands may empty files outside of the working folder",
            Self::Signals => "commands may send signals to processes outside, and so end them",
            Self::SystemCalls => "commands may use the network and trace processes",
            Self::Keys => "commands may read keys and passwords that lie in the folders they work in",
            Self::NetworkNamespace => "commands that may reach single hosts may reach any machine that listens at the port of their proxy",
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

/// There is no guarantee of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no guarantee {0:?}: write files, truncation, signals, system-calls, keys or network-namespace")]
pub struct UnknownGuarantee(String);

/// What of the network a command reaches.
#[derive(Debug, Clone, Default)]
pub enum Network {
    /// Nothing, not even this machine.
    #[default]
    None,
    /// What a proxy lets it reach. Landlock's fourth version, from Linux 6.7 on, and seccomp; never given up for less.
    Hosts(Gate),
    /// All of it.
    All,
}

/// How much a command, with all that it starts, may take. Each of its files has a bound too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Processes at once.
    pub processes: u64,
    /// Bytes of memory together, and of one process alone.
    pub memory_bytes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
}

impl Default for ResourceLimits {
    /// 1,024 processes, 16 GiB of memory, files of 8 GiB.
    fn default() -> Self {
        Self { processes: 1_024, memory_bytes: 16 << 30, file_bytes: 8 << 30 }
    }
}

/// What a command may do, and where.
#[derive(Debug, Clone)]
pub struct ConfinementSettings {
    /// The folder that it works in: read, written and run.
    pub working_folder: PathBuf,
    /// The home folder, of which only toolchains are read.
    pub home: Option<PathBuf>,
    /// Where the private temp folder is made.
    pub temp: PathBuf,
    /// Folders of programs: what stands beside a `bin` in `PATH` is read with it.
    pub program_folders: Vec<PathBuf>,
    /// More files and folders that are read and run: the homes of toolchains, certificates.
    pub toolchains: Vec<PathBuf>,
    /// More files and folders that the user lets it read, by name.
    pub read: Vec<PathBuf>,
    /// More files and folders that the user lets it write, by name.
    pub write: Vec<PathBuf>,
    /// What it may never read, beside the usual places of keys and passwords: aime's own configuration.
    pub secrets: Vec<PathBuf>,
    /// The network.
    pub network: Network,
    /// What it may take.
    pub limits: ResourceLimits,
    /// What the user goes without, by name, where this machine cannot keep it.
    pub go_without: BTreeSet<Guarantee>,
}

impl ConfinementSettings {
    /// What is usual for a folder: no network, the toolchains that the environment of the commands names, nothing given up.
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
            go_without: BTreeSet::new(),
        }
    }
}

/// What of cargo's home is read.
const CARGO: [&str; 6] = ["bin", "registry", "git", "config", "config.toml", "env"];

fn split(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).collect()
}
