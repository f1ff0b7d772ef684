//! Attacks on the machine: mounts, namespaces, rights, the kernel, and exhausting its resources.

use crate::{Attempt, attempt, python};

pub(crate) fn attempts() -> Vec<Attempt> {
    let calls: &[(&str, &str)] = &[
        ("mount", "call('mount', b'none', b'inner', b'tmpfs', 0, None)"),
        ("bind a folder from outside", "call('mount', E['OUT'].encode(), b'inner', None, 4096, None)"),
        ("unmount", "call('umount2', b'/proc', 2)"),
        ("another root", "call('chroot', b'.')"),
        ("turn the root", "number(155, b'.', b'.')"),
        ("a tree of mounts", "number(428, -100, E['OUT'].encode(), 1)\nnumber(467, -100, E['OUT'].encode(), 1, 0, 0)"),
        ("a file system by parts", "number(430, b'tmpfs', 0)\nnumber(433, -100, b'/', 0)"),
        ("change a mount", "number(442, -100, b'/', 0, b'\\0' * 32, 32)\nnumber(429, -100, b'.', -100, b'inner', 0)"),
        (
            "namespaces",
            "for f in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000, 0x80, 0x10020000): call('unshare', f)",
        ),
        ("namespaces of a child", "for f in (0x10000000, 0x20000, 0x40000000): number(56, f | 17, 0, 0, 0, 0)"),
        ("namespaces by the newer call", "number(435, struct.pack('Q', 0x10000000) + b'\\0' * 80, 88)"),
        ("programs in the kernel", "number(321, 5, b'\\0' * 72, 72)"),
        ("the kernel's counters", "number(298, b'\\0' * 112, 0, -1, -1, 0)"),
        ("faults of memory", "number(323, 1)"),
        ("a module of the kernel", "number(175, b'x', 1, b'')\nnumber(313, 0, b'', 0)\nnumber(176, b'x', 0)"),
        ("another kernel", "number(246, 0, 0, None, 0)\nnumber(320, -1, -1, 0, None, 0)"),
        ("restart", "call('reboot', 0x12345678)"),
        ("the kernel's log", "b = ctypes.create_string_buffer(64)\nr = libc.klogctl(3, b, 64)\nprint('ESCAPED' if r > 0 else 'no')"),
        (
            "the clock",
            "call('settimeofday', struct.pack('QQ', 1, 0), None)\ncall('clock_settime', 0, struct.pack('QQ', 1, 0))\ncall('adjtimex', struct.pack('I', 1) + b'\\0' * 204)",
        ),
        ("the name of the machine", "call('sethostname', b'x', 1)\ncall('setdomainname', b'x', 1)"),
        ("the ports of the machine", "call('iopl', 3)\ncall('ioperm', 0, 8, 1)"),
        ("swap", "call('swapon', b'/etc/passwd', 0)\ncall('swapoff', b'/etc/passwd')"),
        ("accounts of processes", "call('acct', b'a')"),
        ("watch the whole machine", "call('fanotify_init', 0, 0)"),
        (
            "another user",
            "call('setuid', 1) if os.getuid() == 0 else call('setuid', 0)\ncall('setgid', 1) if os.getuid() == 0 else call('setgid', 0)",
        ),
        ("other groups", "call('setgroups', 1, struct.pack('I', 0))"),
        (
            "more rights",
            "h = struct.pack('Ii', 0x20080522, 0); d = b'\\xff' * 24\nr = libc.capset(h, d); print('ESCAPED' if r == 0 else 'no')",
        ),
        ("rights that are handed on", "r = libc.prctl(47, 2, 21, 0, 0); print('ESCAPED' if r == 0 else 'no')"),
        (
            "new privileges after all",
            "r = libc.prctl(38, 0, 0, 0, 0); print('ESCAPED' if r == 0 and libc.prctl(39, 0, 0, 0, 0) == 0 else 'no')",
        ),
        (
            "take off the filter",
            "r = libc.prctl(22, 0); print('ESCAPED' if r == 0 else 'no')\nnumber(317, 0, 0, None) if 'seccomp' not in open('/proc/self/status').read().lower() else None",
        ),
        (
            "calls of another kind",
            "for n in (41, 42, 101, 165, 272): \n    r = libc.syscall(ctypes.c_long(0x40000000 + n), 2, 1, 0)\n    if r >= 0: print('ESCAPED', n)",
        ),
        (
            "calls that nobody knows",
            "for n in range(468, 600):\n    r = libc.syscall(ctypes.c_long(n), 0, 0, 0, 0, 0)\n    if r >= 0: print('ESCAPED', n)",
        ),
        (
            "calls below nought",
            "for n in (-1, -2, 0x7fffffff, 0x80000000):\n    r = libc.syscall(ctypes.c_long(n), 2, 1, 0)\n    if r >= 0: print('ESCAPED', n)",
        ),
        ("a process in a group outside", "r = libc.setpgid(0, int(E['AIME'])); print('ESCAPED' if r == 0 else 'no')"),
        (
            "a higher limit of files",
            "import resource\nfor r in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):\n    try: resource.setrlimit(r, (resource.RLIM_INFINITY,) * 2); print('ESCAPED', r)\n    except (ValueError, PermissionError): pass",
        ),
        ("quotas", "number(179, 0x800002, b'/dev/root', 0, b'\\0' * 64)\nnumber(443, 0, 0, 0, 0)"),
        ("the tables of segments", "r = libc.syscall(ctypes.c_long(154), 1, b'\\0' * 16, 16); print('ESCAPED' if r == 0 else 'no')"),
        (
            "the mounts by number",
            "number(457, struct.pack('IIQQQ', 32, 0, 1, 1, 0), ctypes.create_string_buffer(512), 512, 0)\nnumber(458, struct.pack('IIQQQ', 32, 0, 0xffffffffffffffff, 0, 0), ctypes.create_string_buffer(64), 8, 0)",
        ),
    ];
    let shell: &[(&str, &str)] = &[
        ("be root by sudo", "sudo -n id 2>/dev/null | grep -q uid && echo ESCAPED"),
        ("be another by su", "[ \"$(id -u)\" = 0 ] && su -s /bin/sh nobody -c id 2>/dev/null | grep -q uid && echo ESCAPED"),
        (
            "be another by setpriv",
            "[ \"$(id -u)\" = 0 ] && setpriv --reuid=1000 --clear-groups id 2>/dev/null | grep -q uid=1000 && echo ESCAPED",
        ),
        (
            "namespaces by unshare",
            "unshare -Ur id 2>/dev/null | grep -q uid && echo ESCAPED; unshare -n true 2>/dev/null && echo ESCAPED; unshare -m true 2>/dev/null && echo ESCAPED",
        ),
        ("namespaces by bubblewrap", "bwrap --bind / / true 2>/dev/null && echo ESCAPED"),
        ("mount by mount", "mount --bind \"$OUT\" inner 2>/dev/null && echo ESCAPED; mount -t proc proc inner 2>/dev/null && echo ESCAPED"),
        ("another root by chroot", "chroot / true 2>/dev/null && echo ESCAPED"),
        (
            "a program that lends root's rights",
            "find /usr/bin /bin -perm -4000 2>/dev/null | while read -r p; do case $p in *passwd|*chfn|*chsh|*newgrp|*gpasswd|*mount*) ;; *) timeout 1 $p -n id </dev/null 2>/dev/null | grep -q 'uid=0' && [ \"$(id -u)\" != 0 ] && echo ESCAPED $p ;; esac; done",
        ),
        ("a timer of the kernel", "hwclock -w 2>/dev/null && echo ESCAPED; date -s 2001-01-01 2>/dev/null && echo ESCAPED"),
        (
            "the queues of the machine",
            "before=$(ps -o ni= -p $$); renice -n $((before - 5)) -p $$ 2>/dev/null && [ \"$(ps -o ni= -p $$)\" -lt $before ] && echo ESCAPED",
        ),
    ];
    let calls = calls.iter().map(|(name, code)| attempt(name, &python(code)));
    calls.chain(shell.iter().map(|(name, script)| attempt(name, script))).collect()
}
