//! Confinement of a thread by the Linux kernel: Landlock, seccomp, no new privileges, no capabilities.
//!
//! All of these apply to one thread and to what it starts, and cannot be removed. So a dedicated thread confines itself, starts the
//! command, and ends. The rest of this process stays unconfined, and can kill the command.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Guarantee, Reach, rules::Rules, syscalls};

/// Reason why a thread could not be confined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KernelError {
    #[error("Landlock: {0}")]
    Landlock(#[from] RulesetError),
    #[error("seccomp: {0}")]
    Compile(#[from] seccompiler::BackendError),
    #[error("seccomp: {0}")]
    Apply(#[from] seccompiler::Error),
    #[error("capabilities: {0}")]
    Capabilities(rustix::io::Errno),
}

/// Capabilities of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// ABI version of Landlock; 0 if it is missing.
    pub(crate) landlock: i32,
    /// True if seccomp filters can be set.
    pub(crate) seccomp: bool,
}

const VERSIONS: [ABI; 7] = [ABI::V7, ABI::V6, ABI::V5, ABI::V4, ABI::V3, ABI::V2, ABI::V1];

impl Kernel {
    /// Queries the kernel.
    pub(crate) fn of_this_machine() -> Self {
        Self { landlock: version().map_or(0, |version| version as i32), seccomp: seccomp() }
    }

    pub(crate) fn enforces(self, guarantee: Guarantee) -> bool {
        match guarantee {
            Guarantee::Files => self.landlock >= 1,
            Guarantee::Truncation => self.landlock >= 3,
            Guarantee::Signals => self.landlock >= 6,
            Guarantee::SystemCalls => self.seccomp,
            // The settings and a launcher decide on these.
            Guarantee::Keys | Guarantee::NetworkNamespace => true,
        }
    }

    /// Returns true if a command can be restricted to one port.
    pub(crate) fn can_restrict_to_port(self) -> bool {
        self.landlock >= 4 && self.seccomp
    }
}

fn version() -> Option<ABI> {
    VERSIONS.into_iter().find(|version| handled(*version, CompatLevel::HardRequirement).and_then(Ruleset::create).is_ok())
}

/// Returns true if `/proc` shows that this process can set a seccomp filter.
fn seccomp() -> bool {
    let known = std::fs::read_to_string("/proc/self/status").is_ok_and(|status| status.lines().any(|line| line.starts_with("Seccomp:")));
    known && syscalls::filters(Reach::Nothing).is_ok()
}

/// Creates a ruleset that handles all access rights of this version.
fn handled(version: ABI, level: CompatLevel) -> Result<Ruleset, RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(level).handle_access(AccessFs::from_all(version))?;
    if version >= ABI::V4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(version))?;
    }
    if version >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(version))?;
    }
    Ok(ruleset)
}

/// Confines this thread and all that it starts, permanently.
///
/// # Errors
/// [`KernelError`]; the thread is then partly confined, and must not start anything.
pub(crate) fn confine_this_thread(kernel: Kernel, rules: &Rules, reach: Reach) -> Result<(), KernelError> {
    let version = VERSIONS.into_iter().find(|version| *version as i32 == kernel.landlock);
    drop_capabilities().map_err(KernelError::Capabilities)?;
    if let Some(version) = version {
        landlock(version, rules, reach)?;
    } else {
        rustix::thread::set_no_new_privs(true).map_err(KernelError::Capabilities)?;
    }
    if kernel.seccomp {
        for filter in syscalls::filters(reach)? {
            seccompiler::apply_filter(&filter)?;
        }
    }
    Ok(())
}

fn landlock(version: ABI, rules: &Rules, reach: Reach) -> Result<(), RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(version))?;
    if version >= ABI::V4 && reach != Reach::Everything {
        // Without a rule for a port, no port can be connected to.
        ruleset = ruleset.handle_access(AccessNet::from_all(version))?;
    }
    if version >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(version))?;
    }
    // Commands may not create device files.
    let write: BitFlags<AccessFs> = AccessFs::from_all(version) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    let mut ruleset = ruleset.create()?;
    if let Reach::Port(port) = reach {
        ruleset = ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    ruleset
        .add_rules(path_beneath_rules(&rules.read, AccessFs::from_read(version)))?
        .add_rules(path_beneath_rules(&rules.write, write))?
        .add_rules(path_beneath_rules(&rules.devices, device))?
        .restrict_self()?;
    Ok(())
}

/// Drops capabilities. Root keeps the one that opens files, which Landlock restricts; other users keep none. Also reduces the bounding set,
/// so that a started program cannot regain any.
fn drop_capabilities() -> rustix::io::Result<()> {
    let held = rustix::thread::capabilities(None)?;
    if held.permitted.is_empty() && held.inheritable.is_empty() {
        return Ok(());
    }
    let kept = held.permitted & CapabilitySet::DAC_OVERRIDE;
    if held.permitted.contains(CapabilitySet::SETPCAP) {
        for capability in (0..64).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
            // Skip capabilities that this kernel does not have.
            if capability != CapabilitySet::DAC_OVERRIDE && rustix::thread::capability_is_in_bounding_set(capability).unwrap_or(false) {
                rustix::thread::remove_capability_from_bounding_set(capability)?;
            }
        }
    }
    // Kernels before 4.3 do not support this.
    let _ = rustix::thread::clear_ambient_capability_set();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
}
