//! Confinement of commands: readable and writable files, reachable network, resource limits.
//!
//! Only Linux supports all of it. On macOS the same rules become a Seatbelt profile. Elsewhere, as on Windows, commands are refused unless
//! the user gives up each guarantee by name.

mod explain;
#[cfg(target_os = "linux")]
mod kernel;
mod launcher;
#[cfg(unix)]
mod limits;
mod places;
mod private;
mod proxy;
mod repository;
mod rules;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
mod settings;
#[cfg(target_os = "linux")]
mod syscalls;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(target_os = "linux")]
pub use self::launcher::{LaunchError, launch};
pub use self::settings::{ConfinementSettings, Guarantee, Network, ResourceLimits, UnknownGuarantee};
#[cfg(target_os = "linux")]
pub(crate) use self::{
    kernel::{Kernel, confine_this_thread},
    launcher::{Call, Order},
};
pub use self::{
    launcher::Launcher,
    proxy::{ProxyFactory, RunningProxy},
};
pub(crate) use self::{
    proxy::{Reach, ReservedProxy},
    rules::Rules,
};
use aime_messages::{Describe, Message, message};

use self::{private::PrivateFolder, rules::ExposedFolder};

/// Confinement of the commands of one run. Cheap to clone; the clones share one private temporary folder, which is removed with the last of
/// them.
#[derive(Debug, Clone)]
pub struct Confinement(State);

#[derive(Debug, Clone)]
enum State {
    /// The user has disabled confinement by name.
    Off,
    /// The machine cannot provide the requested confinement, so no command is run.
    Refused(Arc<Message>),
    On(Arc<Confined>),
}

/// Inputs to start one command.
#[cfg_attr(windows, expect(dead_code, reason = "nothing there keeps the rules"))]
pub(crate) struct PreparedCommand {
    pub(crate) rules: Rules,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) reach: Reach,
    /// Connection to the command's proxy, if it gets one.
    pub(crate) door: Option<ReservedProxy>,
}

/// State of an active confinement.
#[derive(Debug)]
pub(crate) struct Confined {
    settings: ConfinementSettings,
    rules: Rules,
    folder: PrivateFolder,
    /// The last `PATH` of a command, and its folders that commands may read.
    programs: Mutex<Option<(OsString, OsString)>>,
    /// Guarantees that the machine cannot keep and the user gives up.
    missing: Vec<Guarantee>,
}

/// Reason why commands cannot be confined as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfinementError {
    /// The kernel cannot keep guarantees that the user has not given up.
    #[error("{}", self.describe())]
    Unkept(Vec<Guarantee>),
    /// The kernel cannot restrict commands to single hosts.
    #[error("{}", self.describe())]
    Hosts(String),
    /// The kernel cannot distinguish a command's proxy from another machine.
    #[error("{}", self.describe())]
    Machines {
        /// Granted hosts.
        hosts: String,
        /// Reason why there is no network namespace.
        reason: String,
    },
    /// A readable folder contains keys or passwords.
    #[error("{}", self.describe())]
    Exposed {
        /// The folder, as it is named.
        folder: String,
        /// The secret file in it.
        secret: String,
    },
}

impl Describe for ConfinementError {
    fn describe(&self) -> Message {
        match self {
            Self::Unkept(guarantees) => {
                let names: Vec<String> = guarantees.iter().map(|guarantee| format!("\"{guarantee}\"")).collect();
                let hint = hint(Path::new("/proc/self/status").exists());
                message!("unconfined", without = all_without(guarantees), hint, names = names.join(", "))
            }
            Self::Hosts(hosts) => message!("unconfined-hosts", hosts),
            Self::Machines { hosts, reason } => message!("unconfined-machines", hosts, reason),
            Self::Exposed { folder, secret } => message!("unconfined-exposed", folder, secret),
        }
    }
}

/// Describes the rights of a command without these guarantees.
pub(crate) fn all_without(guarantees: &[Guarantee]) -> Message {
    let without: Vec<Message> = guarantees.iter().map(|guarantee| guarantee.without()).collect();
    Message::list("; ", &without)
}

/// Returns advice on how to make this machine keep more; `tells` is true if `/proc` shows the capabilities of the kernel.
fn hint(tells: bool) -> Message {
    match (cfg!(target_os = "linux"), cfg!(windows)) {
        (true, _) if tells => message!("unconfined-kernel"),
        (true, _) => message!("unconfined-proc"),
        (_, true) => message!("unconfined-windows"),
        (false, false) => message!("unconfined-linux"),
    }
}

impl Confinement {
    /// Returns no confinement: a command has the rights of its user. Use it only if the user has asked for it by name.
    #[must_use]
    pub const fn off() -> Self {
        Self(State::Off)
    }

    /// Confines commands by these settings.
    ///
    /// # Errors
    /// [`ConfinementError`] if this machine cannot keep a guarantee that the settings do not give up.
    pub fn new(settings: ConfinementSettings) -> Result<Self, ConfinementError> {
        let allow_missing = |guarantee: &Guarantee| settings.allow_missing.contains(guarantee);
        let mut missing: Vec<Guarantee> = unkept_here();
        let refused: Vec<Guarantee> = missing.iter().copied().filter(|guarantee| !allow_missing(guarantee)).collect();
        if !refused.is_empty() {
            return Err(ConfinementError::Unkept(refused));
        }
        if let Network::Hosts(gate) = &settings.network {
            if !can_restrict_to_port() {
                return Err(ConfinementError::Hosts(gate.hosts()));
            }
            if let Err(reason) = gate.check_host_isolation() {
                if !allow_missing(&Guarantee::NetworkNamespace) {
                    return Err(ConfinementError::Machines { hosts: gate.hosts(), reason });
                }
                missing.push(Guarantee::NetworkNamespace);
            }
        }
        let (rules, exposed) = Rules::new(&settings);
        if let Some(ExposedFolder { folder, secret }) = exposed.into_iter().next() {
            if !allow_missing(&Guarantee::Keys) {
                return Err(ConfinementError::Exposed { folder: folder.display().to_string(), secret: secret.display().to_string() });
            }
            missing.push(Guarantee::Keys);
        }
        let folder = PrivateFolder::within(&settings.temp);
        Ok(Self(State::On(Arc::new(Confined { settings, rules, folder, programs: Mutex::default(), missing }))))
    }

    /// Confines commands by these settings. On an error, each command is refused with the reason.
    #[must_use]
    pub fn or_refuse(settings: ConfinementSettings) -> Self {
        Self::new(settings).unwrap_or_else(|error| Self(State::Refused(error.describe().into())))
    }

    /// Returns the confinement of commands that work in another folder, and also read `read`.
    #[must_use]
    pub fn in_folder(&self, folder: &Path, read: &[PathBuf]) -> Self {
        match &self.0 {
            State::Off | State::Refused(_) => self.clone(),
            State::On(confined) => {
                let mut settings = ConfinementSettings { working_folder: folder.to_owned(), ..confined.settings.clone() };
                settings.read.extend_from_slice(read);
                Self::or_refuse(settings)
            }
        }
    }

    /// Returns the paths outside of the working folder that commands may read in addition to the usual ones. There are
    /// none without a confinement.
    #[must_use]
    pub fn reads(&self) -> &[PathBuf] {
        match &self.0 {
            State::Off | State::Refused(_) => &[],
            State::On(confined) => &confined.settings.read,
        }
    }

    /// Returns the confinement of commands that cannot write in their working folder.
    #[must_use]
    pub fn read_only(&self) -> Self {
        match &self.0 {
            State::Off | State::Refused(_) => self.clone(),
            State::On(confined) => Self::or_refuse(ConfinementSettings { read_only: true, ..confined.settings.clone() }),
        }
    }

    /// Returns true if commands run unconfined.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        matches!(self.0, State::Off)
    }

    /// Returns true if commands can reach the network or a part of it, also if only because nothing on this machine prevents it.
    #[must_use]
    pub fn reaches_network(&self) -> bool {
        match &self.0 {
            State::Off => true,
            State::Refused(_) => false,
            State::On(confined) => {
                !matches!(confined.settings.network, Network::None) || confined.missing.contains(&Guarantee::SystemCalls)
            }
        }
    }

    /// Returns the reason why commands are refused, if they are.
    #[must_use]
    pub fn refusal(&self) -> Option<&Message> {
        match &self.0 {
            State::Refused(reason) => Some(reason),
            _ => None,
        }
    }

    /// Returns the places that commands may write and reach, in the words of [`explain`](Self::explain).
    #[must_use]
    pub fn in_words(&self) -> String {
        match &self.0 {
            State::Off => "Commands are not confined.".to_owned(),
            State::Refused(reason) => format!("No command can be run: {reason}"),
            State::On(confined) => explain::in_words(&confined.settings),
        }
    }

    /// Describes the denials for a command with this output and these refused hosts, and the settings that would allow them. `None` if
    /// there were no denials.
    #[must_use]
    pub fn explain(&self, printed: &str, refused: &[String]) -> Option<String> {
        match &self.0 {
            State::On(confined) => explain::explain(printed, refused, &confined.rules, &confined.settings),
            _ => None,
        }
    }

    pub(crate) fn confined(&self) -> Option<&Arc<Confined>> {
        match &self.0 {
            State::On(confined) => Some(confined),
            _ => None,
        }
    }
}

impl Describe for Confinement {
    /// Describes the effective level of confinement.
    fn describe(&self) -> Message {
        match &self.0 {
            State::Off => message!("confinement-off"),
            State::Refused(reason) => message!("confinement-refused", reason = **reason),
            State::On(confined) => {
                let network = match &confined.settings.network {
                    Network::None => message!("confinement-network-none"),
                    Network::Hosts(gate) => message!("confinement-network-hosts", hosts = gate.hosts()),
                    Network::All => message!("confinement-network-all"),
                };
                let mut parts = vec![message!("confinement-on", means = means(), network)];
                let more = confined.settings.read.len() + confined.settings.write.len();
                parts.extend((more > 0).then(|| message!("confinement-places", number = more)));
                let missing = confined.missing.iter();
                parts.extend(missing.map(|guarantee| message!("confinement-missing", guarantee, rights = guarantee.without())));
                Message::list("; ", &parts)
            }
        }
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl Confined {
    pub(crate) fn limits(&self) -> ResourceLimits {
        self.settings.limits
    }

    /// Creates the private folder if it does not exist yet.
    ///
    /// # Errors
    /// The intended path and the reason.
    pub(crate) fn make_temporary_folder(&self) -> Result<(), (PathBuf, io::Error)> {
        self.folder.path().map(drop).map_err(|error| (self.settings.temp.clone(), error))
    }

    /// Returns the rules for one command, with the private folder, a proxy if it gets one, and the environment variables for both.
    pub(crate) fn prepare(&self, environment: &BTreeMap<OsString, OsString>) -> io::Result<PreparedCommand> {
        let folder = self.folder.path()?;
        let cache = folder.join("cache");
        let mut environment = environment.clone();
        if let Some(path) = environment.get_mut(OsStr::new("PATH")) {
            *path = self.readable_programs(path);
        }
        for name in ["TMPDIR", "TMP", "TEMP"] {
            environment.insert(name.into(), folder.clone().into());
        }
        // The user's caches are read-only; many tools fail without a writable one.
        for (name, part) in [("XDG_CACHE_HOME", ""), ("npm_config_cache", "npm"), ("GOCACHE", "go-build")] {
            environment.insert(name.into(), cache.join(part).into());
        }
        let (door, reach) = match &self.settings.network {
            Network::Hosts(gate) => {
                let door = gate.reserve(!self.missing.contains(&Guarantee::NetworkNamespace))?;
                door.announce(&mut environment);
                let reach = Reach::Port(door.port());
                (Some(door), reach)
            }
            Network::None => (None, Reach::Nothing),
            Network::All => (None, Reach::Everything),
        };
        Ok(PreparedCommand { rules: self.rules.with_written(&folder), environment, reach, door })
    }

    /// Removes unreadable folders from `PATH`: a program there would be found, but could not be started.
    fn readable_programs(&self, path: &OsStr) -> OsString {
        let mut known = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kept)) = known.as_ref().filter(|(given, _)| given == path) {
            return kept.clone();
        }
        let kept = std::env::split_paths(path).filter(|folder| !folder.is_absolute() || self.rules.may_read(folder));
        let kept = std::env::join_paths(kept).unwrap_or_else(|_| path.to_owned());
        *known = Some((path.to_owned(), kept.clone()));
        kept
    }

    /// Returns the program and the arguments that start a command within its limits after reading one line. `reads` is true if the command
    /// reads the rest of the input.
    #[cfg(unix)]
    pub(crate) fn command(
        &self,
        prepared: &PreparedCommand,
        reads: bool,
        program: &OsStr,
        arguments: &[OsString],
    ) -> (OsString, Vec<OsString>) {
        let wrapped = limits::wrapped(self.limits(), reads, program, arguments);
        wrap(limits::SHELL, wrapped, &prepared.rules, prepared.reach)
    }

    /// Returns the program unchanged: no limits can be set before it on this system.
    #[cfg(windows)]
    pub(crate) fn command(&self, _: &PreparedCommand, _: bool, program: &OsStr, arguments: &[OsString]) -> (OsString, Vec<OsString>) {
        (program.to_owned(), arguments.to_vec())
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
fn wrap(shell: &str, arguments: Vec<OsString>, _: &Rules, _: Reach) -> (OsString, Vec<OsString>) {
    (shell.into(), arguments)
}

#[cfg(target_os = "macos")]
fn wrap(shell: &str, arguments: Vec<OsString>, rules: &Rules, reach: Reach) -> (OsString, Vec<OsString>) {
    let fixed = ["-p".into(), seatbelt::profile(rules, reach).into(), shell.into()];
    (seatbelt::PROGRAM.into(), fixed.into_iter().chain(arguments).collect())
}

/// Returns the guarantees that this machine cannot keep.
pub(crate) fn unkept_here() -> Vec<Guarantee> {
    #[cfg(target_os = "linux")]
    {
        let kernel = Kernel::of_this_machine();
        Guarantee::ALL.into_iter().filter(|guarantee| !kernel.enforces(*guarantee)).collect()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let kept = cfg!(target_os = "macos") && Path::new("/usr/bin/sandbox-exec").exists();
        if kept { Vec::new() } else { vec![Guarantee::Files, Guarantee::Signals, Guarantee::SystemCalls] }
    }
}

/// Returns true if this machine can restrict a command to one port.
pub(crate) fn can_restrict_to_port() -> bool {
    #[cfg(target_os = "linux")]
    {
        Kernel::of_this_machine().can_restrict_to_port()
    }
    #[cfg(not(target_os = "linux"))]
    {
        unkept_here().is_empty()
    }
}

/// Returns the names of the mechanisms in use.
pub(crate) fn means() -> String {
    #[cfg(target_os = "linux")]
    {
        let Kernel { landlock, seccomp } = Kernel::of_this_machine();
        match (landlock, seccomp) {
            (0, false) => "nothing".to_owned(),
            (0, true) => "seccomp".to_owned(),
            (version, true) => format!("Landlock {version} and seccomp"),
            (version, false) => format!("Landlock {version}"),
        }
    }
    #[cfg(not(target_os = "linux"))]
    if cfg!(target_os = "macos") { "Seatbelt".to_owned() } else { "nothing".to_owned() }
}
