//! A network of its own for a command that may reach single hosts.
//!
//! A namespace of users can be made by a process of one thread alone. So another program is started first, the launcher: it enters a network
//! namespace that holds a loopback device and nothing else, listens there, hands the listening socket back, confines itself and becomes the
//! command. What the command connects to at that port is the proxy in this process, and there is no other machine that it could name.

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

/// The port that the proxy has in a namespace of its own, where every port is free: the one that proxies usually have.
pub(crate) const PORT: u16 = 3128;

/// A program that calls [`launch`] first of all, before it has a second thread. Clones share what was found out about it.
#[derive(Debug, Clone)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux alone needs one"))]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    works: Arc<OnceLock<Result<(), String>>>,
}

impl Launcher {
    /// This program with these arguments. It is given no environment and no other argument.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: program.into(), arguments: arguments.into_iter().map(Into::into).collect(), works: Arc::default() }
    }

    /// The program that runs, as it was when it was started, with these arguments.
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

    /// Whether it can give a command a network of its own here: tried once, and remembered. The text tells why not.
    pub(crate) fn works(&self) -> Result<(), String> {
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
