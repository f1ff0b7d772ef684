//! A network namespace of its own for a command that may reach single hosts.
//!
//! Only a single-threaded process can create a user namespace. So another program is started first, the launcher. It enters a network
//! namespace with only a loopback device, listens there, passes the listening socket back, confines itself and becomes the command. At that
//! port the command reaches the proxy in this process, and it cannot reach any other machine.

#[cfg(target_os = "linux")]
mod call;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod order;

#[cfg(target_os = "linux")]
use std::path::Path;
use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

#[cfg(target_os = "linux")]
pub use self::enter::{LaunchError, launch};
#[cfg(target_os = "linux")]
pub(crate) use self::{call::Call, order::Order};

/// Port of the proxy in a namespace of its own, where every port is free: the usual one for proxies.
pub(crate) const PORT: u16 = 3128;

/// A program that calls [`launch`] first, before it starts a second thread. Clones share the result of the trial.
#[derive(Debug, Clone)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux alone needs one"))]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    works: Arc<OnceLock<Result<(), String>>>,
}

impl Launcher {
    /// Creates a launcher from a program and its arguments. It gets no environment and no other argument.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: program.into(), arguments: arguments.into_iter().map(Into::into).collect(), works: Arc::default() }
    }

    /// Uses the running program itself, as it was at its start, with these arguments.
    #[must_use]
    pub fn this_program(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self::new("/proc/self/exe", arguments)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// Succeeds if the launcher can create a network namespace on this machine. Tries it once and caches the result. The error is the
    /// reason why not.
    pub(crate) fn probe(&self) -> Result<(), String> {
        self.works.get_or_init(|| self.attempt()).clone()
    }

    #[cfg(target_os = "linux")]
    fn attempt(&self) -> Result<(), String> {
        call::attempt(self).map_err(|error| error.to_string())
    }

    /// Other systems tell machines apart in the rules themselves.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the same question as on Linux")]
    fn attempt(&self) -> Result<(), String> {
        Ok(())
    }
}
