//! Attacks on outside processes: aime itself, and one of the same user.

use crate::{Attempt, attempt, python, shown};

pub(crate) fn attempts() -> Vec<Attempt> {
    let of_both = ["VICTIM", "AIME", "PPID"].into_iter().flat_map(|who| {
        let files = ["environ", "mem", "maps", "auxv", "stack", "syscall", "io", "pagemap", "smaps"];
        let read = files.map(|file| {
            let script = format!("head -c 4096 /proc/${who}/{file} 2>/dev/null | tr '\\0' '\\n' | grep -a . && echo ESCAPED");
            attempt(&format!("read {file} of {who}"), &script)
        });
        let through = [
            attempt(&format!("the files of {who}"), &format!("for f in /proc/${who}/fd/*; do timeout 1 head -c 64 $f 2>/dev/null; done")),
            attempt(&format!("what {who}'s descriptors are"), &format!("readlink /proc/${who}/fd/* /proc/${who}/cwd /proc/${who}/exe && echo ESCAPED")),
            attempt(&format!("the root of {who}"), &format!("cat /proc/${who}/root$OUT/secret.txt /proc/${who}/cwd/secret.txt")),
            attempt(&format!("a thread of {who}"), &format!("cat /proc/${who}/task/*/environ | tr '\\0' '\\n' | grep . && echo ESCAPED")),
            attempt(&format!("trace {who}"), &python(&format!("P = int(E.get('{who}') or os.getppid())\ncall('ptrace', 16, P, 0, 0)\ncall('ptrace', 0x4206, P, 0, 0)"))),
            attempt(&format!("the memory of {who}"), &python(&format!("P = int(E.get('{who}') or os.getppid())\nb = ctypes.create_string_buffer(8); v = struct.pack('QQ', ctypes.addressof(b), 8)\ncall('process_vm_readv', P, v, 1, v, 1, 0)\ncall('process_vm_writev', P, v, 1, v, 1, 0)"))),
            attempt(&format!("the limits of {who}"), &python(&format!("P = int(E.get('{who}') or os.getppid())\ncall('prlimit', P, 0, struct.pack('QQ', 100000, 100000), None)"))),
        ];
        read.into_iter().chain(through)
    });
    of_both.chain(others()).collect()
}

fn others() -> Vec<Attempt> {
    let signals = ["TERM", "KILL", "STOP", "INT", "HUP", "USR1", "0"].map(|signal| {
        let script = format!("kill -{signal} $VICTIM 2>/dev/null && echo ESCAPED");
        shown(&format!("send {signal}"), &script)
    });
    let others = vec![
        attempt("send a signal to aime", "kill -0 $AIME 2>/dev/null && echo ESCAPED; kill -WINCH $AIME 2>/dev/null && echo ESCAPED"),
        attempt("send a signal to the parent", "kill -WINCH $PPID 2>/dev/null && echo ESCAPED"),
        shown(
            "send a signal by a descriptor",
            &python("p = os.pidfd_open(int(E['VICTIM'])); import signal\nsignal.pidfd_send_signal(p, signal.SIGTERM); print('ESCAPED')"),
        ),
        shown(
            "queue a signal",
            &python(
                "i = struct.pack('iii', 10, 0, -1) + b'\\0' * 116\nr = libc.syscall(ctypes.c_long(129), int(E['VICTIM']), 10, i)\nprint('ESCAPED' if r == 0 else 'no')",
            ),
        ),
        shown(
            "send a signal to a thread",
            &python("r = libc.tgkill(int(E['VICTIM']), int(E['VICTIM']), 15)\nprint('ESCAPED' if r == 0 else 'no')"),
        ),
        attempt(
            "a signal when a file is ready",
            &python(
                "import fcntl\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, int(E['VICTIM'])); fcntl.fcntl(r, 10, 15)\nfcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)\nos.write(w, b'x'); time.sleep(0.1)",
            ),
        ),
        shown("the debugger's call", &python("call('ptrace', 0x4206, int(E['VICTIM']), 0, 0)")),
        shown("another's limits", "prlimit --pid $VICTIM --cpu=100000:100000"),
        attempt(
            "a tracer's child",
            "strace -p $VICTIM -o /dev/null true 2>/dev/null & sleep 0.2; kill %1 2>/dev/null; strace -o s true 2>/dev/null && echo ESCAPED",
        ),
        attempt(
            "what two processes share",
            &python(
                "call('kcmp', os.getpid(), int(E['VICTIM']), 2, 0, 0) if hasattr(libc, 'kcmp') else number(312, os.getpid(), int(E['VICTIM']), 2, 0, 0)",
            ),
        ),
        attempt(
            "move another's memory",
            &python("number(256, int(E['VICTIM']), 8, b'\\xff' * 8, b'\\xff' * 8)\nnumber(440, 3, 0, 0, 4, 0)"),
        ),
        attempt(
            "join its namespaces",
            "nsenter -t $VICTIM -a true 2>/dev/null && echo ESCAPED; nsenter -t 1 -m true 2>/dev/null && echo ESCAPED",
        ),
        attempt(
            "its memory segments",
            &python("call('shmget', 1234, 4096, 0o1666)\ncall('semget', 1234, 1, 0o1666)\ncall('msgget', 1234, 0o1666)"),
        ),
        attempt(
            "a message queue",
            &python(
                "rt = ctypes.CDLL('librt.so.1', use_errno=True)\nr = rt.mq_open(b'/aime-escape', 0o102, 0o600, None)\nprint('ESCAPED' if r >= 0 else 'no')",
            ),
        ),
        attempt(
            "aime's own keys in the kernel",
            &python("number(248, b'user', b'a', b'b', 1, -4)\nnumber(250, 0, -4, 1)\nnumber(249, b'user', b'a', None, -4)"),
        ),
        attempt(
            "what others run as",
            "tr '\\0' ' ' < /proc/$VICTIM/cmdline | grep -q VICTIM && echo ESCAPED; tr '\\0' '\\n' 2>/dev/null < /proc/1/environ | grep -q . && echo ESCAPED",
        ),
        attempt("the environments of all", "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -E 'VICTIM_KEY|CARGO_MANIFEST'"),
    ];
    signals.into_iter().chain(others).collect()
}
