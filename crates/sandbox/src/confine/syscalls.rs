//! System calls that a confined command is refused, as a seccomp filter. Child processes inherit the filter, and nobody can remove it.
//!
//! The refused calls are listed, because programs use hundreds of calls. Calls that are newer than the list are refused as a whole.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use super::Reach;

const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
const AF_NETLINK: u64 = 16;

/// First call that is newer than this list: `file_getattr` of Linux 6.17. From 424 on the numbers are the same on every architecture.
const UNKNOWN_FROM: u32 = 468;

/// Refused with `EPERM`.
const FORBIDDEN: &[i64] = &[
    // Access to other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    448, // process_mrelease
    // Mounts.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    443, // quotactl_fd
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    442, // mount_setattr
    457, // statmount
    458, // listmount
    467, // open_tree_attr
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by number, which bypasses folders.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Keys in the kernel.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine itself.
    libc::SYS_bpf,
    libc::SYS_kexec_load,
    #[cfg(not(all(target_arch = "aarch64", target_env = "musl")))]
    libc::SYS_kexec_file_load,
    #[cfg(all(target_arch = "aarch64", target_env = "musl"))]
    294, // kexec_file_load, which the library of the kernel's names lacks there
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    460, // lsm_set_self_attr
    // Memory shared with outside processes by number.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
];

/// Refused unless the whole network is allowed.
const SERVING: &[i64] = &[libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// Refused as missing calls: programs then fall back to calls whose arguments the filter can check.
const ABSENT: &[i64] =
    &[libc::SYS_clone3, libc::SYS_openat2, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Refused as unsupported, as on a file system without the feature.
const UNSUPPORTED: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat
    466, // removexattrat
];

/// Flags of `clone` that create namespaces.
const NEW_NAMESPACES: [u64; 7] = [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
/// Terminal requests that inject input for the terminal's user.
const TYPING: [u64; 4] = [0x5412, 0x541C, 0x541D, 0x5423];
/// Mode bits that grant the rights of a file's owner or group to every user who runs it (set-uid, set-gid).
const LENDING: [u64; 2] = [0o4000, 0o2000];
const O_CREAT: u64 = 0o100;
const O_TMPFILE: u64 = 0o20_000_000;
const SOCKET_TYPE: u64 = 0xF;
const SOCK_STREAM: u64 = 1;
const IPPROTO_TCP: u64 = 6;
/// Socket option that layers another protocol over a connection.
const TCP_ULP: u64 = 31;
/// Socket option for IP options, which include source routing through other machines.
const IP_OPTIONS: u64 = 4;
/// Flag to connect while sending.
const MSG_FASTOPEN: u64 = 0x2000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Returns the filters, to be applied one after the other.
///
/// # Errors
/// The filter compiler's error, also for an unknown architecture.
pub(super) fn filters(reach: Reach) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let forbidden = forbidden(reach)?;
    let whole = |calls: &[i64]| -> Rules { calls.iter().map(|call| (*call, Vec::new())).collect() };
    // The kernel evaluates the last filter first; a call is refused if any filter refuses it.
    Ok(vec![
        with_end(program(forbidden, libc::EPERM)?),
        program(whole(ABSENT), libc::ENOSYS)?,
        program(whole(UNSUPPORTED), libc::EOPNOTSUPP)?,
    ])
}

fn forbidden(reach: Reach) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let ne = |argument, value| SeccompCondition::new(argument, Dword, SeccompCmpOp::Ne, value);
    let eq = |argument, value| SeccompCondition::new(argument, Dword, SeccompCmpOp::Eq, value);
    let has = |argument, mask, value| SeccompCondition::new(argument, Dword, SeccompCmpOp::MaskedEq(mask), value);
    match reach {
        Reach::Nothing => {
            rules.extend(SERVING.iter().chain(&[libc::SYS_connect, libc::SYS_socket]).map(|call| (*call, Vec::new())));
        }
        // Only TCP, because Landlock restricts no other protocol: no other stream protocols, and no connecting by sending.
        Reach::Port(_) => {
            rules.extend(SERVING.iter().map(|call| (*call, Vec::new())));
            let mut sockets = vec![SeccompRule::new(vec![ne(0, AF_INET)?])?, SeccompRule::new(vec![ne(2, 0)?, ne(2, IPPROTO_TCP)?])?];
            for kind in (0..=SOCKET_TYPE).filter(|kind| *kind != SOCK_STREAM) {
                sockets.push(SeccompRule::new(vec![has(1, SOCKET_TYPE, kind)?])?);
            }
            rules.insert(libc::SYS_socket, sockets);
            for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
                rules.insert(call, vec![SeccompRule::new(vec![has(flags, MSG_FASTOPEN, MSG_FASTOPEN)?])?]);
            }
            let options =
                [(IPPROTO_TCP, TCP_ULP), (0, IP_OPTIONS)].map(|(level, option)| SeccompRule::new(vec![eq(1, level)?, eq(2, option)?]));
            rules.insert(libc::SYS_setsockopt, options.into_iter().collect::<Result<_, _>>()?);
        }
        // Local sockets lead to services that start programs for any client.
        Reach::Everything => {
            let families = vec![ne(0, AF_INET)?, ne(0, AF_INET6)?, ne(0, AF_NETLINK)?];
            rules.insert(libc::SYS_socket, vec![SeccompRule::new(families)?]);
        }
    }
    // A connectionless socket pair can send to any local socket, so only stream and sequenced-packet pairs are allowed.
    let mut pairs = vec![SeccompRule::new(vec![ne(0, AF_UNIX)?])?];
    for kind in [2, 3] {
        pairs.push(SeccompRule::new(vec![has(1, SOCKET_TYPE, kind)?])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    let namespaces = NEW_NAMESPACES.iter().map(|flag| SeccompRule::new(vec![has(0, *flag, *flag)?]));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_ioctl, TYPING.iter().map(|request| SeccompRule::new(vec![eq(1, *request)?])).collect::<Result<_, _>>()?);
    // A command may lower its own limits, but not change those of another process.
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![ne(0, 0)?])?]);
    let lends = |argument| LENDING.iter().map(|bit| SeccompRule::new(vec![has(argument, *bit, *bit)?])).collect::<Result<Vec<_>, _>>();
    rules.insert(libc::SYS_fchmod, lends(1)?);
    rules.insert(libc::SYS_fchmodat, lends(2)?);
    rules.insert(452, lends(2)?); // fchmodat2
    rules.insert(libc::SYS_mknodat, lends(2)?);
    rules.insert(libc::SYS_openat, creating(2)?);
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(libc::SYS_chmod, lends(1)?);
        rules.insert(libc::SYS_creat, lends(1)?);
        rules.insert(libc::SYS_mknod, lends(1)?);
        rules.insert(libc::SYS_open, creating(1)?);
    }
    Ok(rules)
}

/// Refuses to create a file with a set-uid or set-gid mode. Without the creation flags the mode argument is undefined.
fn creating(flags: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = Vec::new();
    for make in [O_CREAT, O_TMPFILE] {
        for bit in LENDING {
            rules.push(SeccompRule::new(vec![
                SeccompCondition::new(flags, Dword, SeccompCmpOp::MaskedEq(make), make)?,
                SeccompCondition::new(flags + 1, Dword, SeccompCmpOp::MaskedEq(bit), bit)?,
            ])?);
        }
    }
    Ok(rules)
}

/// Compiles a filter that allows all calls except these. A call of another architecture kills the process.
fn program(rules: Rules, errno: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno.unsigned_abs()), arch)?.try_into()
}

/// Refuses calls newer than this list with `ENOSYS`. On x86-64, calls of the x32 ABI have such numbers, too.
fn with_end(program: BpfProgram) -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_NOT_LESS: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const RETURN_ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let end = [
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_NOT_LESS, 0, 1, UNKNOWN_FROM),
        step(RETURN, 0, 0, RETURN_ERRNO | libc::ENOSYS.unsigned_abs()),
    ];
    end.into_iter().chain(program).collect()
}
