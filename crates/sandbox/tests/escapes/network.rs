//! Reaching the network, and services of this machine.

use crate::{Attempt, attempt, python, shown};

pub(crate) fn attempts() -> Vec<Attempt> {
    let code: &[(&str, &str)] = &[
        ("TCP", "socket.create_connection(('127.0.0.1', int(E['TCP'])))"),
        ("TCP by number", "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM); s.connect(('127.0.0.1', int(E['TCP'])))"),
        ("TCP without waiting", "s = socket.socket(); s.setblocking(False); s.connect_ex(('127.0.0.1', int(E['TCP']))); time.sleep(0.1)"),
        ("TCP with the first data", "s = socket.socket(); s.sendto(b'x', 0x20000000, ('127.0.0.1', int(E['TCP'])))"),
        ("UDP", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'key', ('127.0.0.1', int(E['UDP'])))"),
        (
            "a connected UDP socket",
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', int(E['UDP']))); s.send(b'key')",
        ),
        ("UDP by sendmsg", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b'key'], [], 0, ('127.0.0.1', int(E['UDP'])))"),
        (
            "IPv6 that is IPv4",
            "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(b'key', ('::ffff:127.0.0.1', int(E['UDP'])))",
        ),
        ("a socket with a path", "s = socket.socket(socket.AF_UNIX); s.connect(E['SOCKET'])"),
        ("a socket with a path, by a link", "os.symlink(E['SOCKET'], 's'); s = socket.socket(socket.AF_UNIX); s.connect('s')"),
        ("a datagram to a path", "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b'key', E['DATAGRAM'])"),
        ("a pair that sends to a path", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'key', E['DATAGRAM'])"),
        (
            "a pair that connects to a path",
            "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.connect(E['DATAGRAM']); a.send(b'key')",
        ),
        ("an abstract socket", "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + E['ABSTRACT'])"),
        ("the second kind of pair", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW); a.sendto(b'key', E['DATAGRAM'])"),
    ];
    let tried: &[(&str, &str)] = &[
        ("raw packets", "s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('ESCAPED')"),
        ("packets of the wire", "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('ESCAPED')"),
        ("the kernel's routes", "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print('ESCAPED')"),
        ("the host of this machine", "s = socket.socket(40, socket.SOCK_STREAM); print('ESCAPED')"),
        ("the kernel's ciphers", "s = socket.socket(38, socket.SOCK_SEQPACKET); print('ESCAPED')"),
        ("Bluetooth", "s = socket.socket(31, socket.SOCK_RAW, 1); print('ESCAPED')"),
        ("a port of its own", "s = socket.socket(); s.bind(('0.0.0.0', 0)); s.listen(); print('ESCAPED')"),
        ("a socket file of its own", "s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(); print('ESCAPED')"),
        (
            "every family",
            "for f in range(46):\n    for t in (1, 2, 3, 5):\n        r = libc.socket(f, t, 0)\n        if r >= 0: print('ESCAPED', f, t)",
        ),
        (
            "every family with every flag",
            "for f in range(46):\n    r = libc.socket(f, 1 | 0o2000000 | 0o4000, 0)\n    if r >= 0: print('ESCAPED', f)",
        ),
        (
            "a family in the upper bits",
            "for h in (1 << 32, 1 << 63, -1 << 32):\n    r = libc.syscall(ctypes.c_long(41), ctypes.c_ulong((h | 2) & (2**64 - 1)), ctypes.c_ulong(1), ctypes.c_ulong(0))\n    if r >= 0: print('ESCAPED', h)",
        ),
        ("rings", "number(425, 8, ctypes.create_string_buffer(256))"),
        ("rings of another process", "number(426, 3, 0, 0, 0, 0, 0)\nnumber(427, 3, 0, 0, 0)"),
        (
            "the descriptors of another process",
            "p = libc.syscall(ctypes.c_long(434), int(E['AIME']), 0)\nfor f in range(30): \n    r = libc.syscall(ctypes.c_long(438), p, f, 0)\n    if r >= 0: print('ESCAPED', f)",
        ),
        (
            "sockets among its own descriptors",
            "import stat\nfor f in range(200):\n    try: m = os.fstat(f).st_mode\n    except OSError: continue\n    if stat.S_ISSOCK(m) or stat.S_ISDIR(m): print('ESCAPED', f)",
        ),
    ];
    let shell: &[(&str, &str)] = &[
        ("bash's TCP", "echo key > /dev/tcp/127.0.0.1/$TCP"),
        ("bash's UDP", "echo key > /dev/udp/127.0.0.1/$UDP"),
        ("curl", "curl -s -m 1 http://127.0.0.1:$TCP/?key"),
        ("curl by a name", "curl -s -m 1 http://localhost:$TCP/?key"),
        ("curl by a socket", "curl -s -m 1 --unix-socket \"$SOCKET\" http://x/"),
        ("git", "timeout 2 git ls-remote git://127.0.0.1:$TCP/x"),
        ("perl", "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"127.0.0.1:$ENV{TCP}\")'"),
    ];
    let named: &[(&str, &str)] = &[
        ("a name", "getent ahosts example.com | grep -q STREAM && echo ESCAPED"),
        ("a name in Python", "python3 -c 'import socket; print(\"ESCAPED\", socket.getaddrinfo(\"key.example.com\", 80))'"),
        (
            "a name by a resolver of its own",
            "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"8.8.8.8\", 53)); print(\"ESCAPED\")'",
        ),
        ("a name by bash", "echo x > /dev/udp/8.8.8.8/53 && echo ESCAPED"),
        ("ping", "ping -c 1 -W 1 127.0.0.1 >/dev/null 2>&1 && echo ESCAPED"),
        ("ssh", "ssh -o BatchMode=yes -o ConnectTimeout=1 127.0.0.1 true && echo ESCAPED"),
        (
            "the service that starts services",
            "systemd-run --user true 2>/dev/null && echo ESCAPED; busctl list 2>/dev/null | grep -q . && echo ESCAPED",
        ),
        (
            "containers",
            "for s in /run/docker.sock /var/run/docker.sock /run/podman/podman.sock; do curl -s -m 1 --unix-socket $s http://x/version | grep -q . && echo ESCAPED; done",
        ),
        (
            "jobs for later",
            "echo 'touch /tmp/aime-escape' | at now 2>/dev/null && echo ESCAPED; echo '* * * * * touch /tmp/aime-escape' | crontab - 2>/dev/null && echo ESCAPED",
        ),
        (
            "the log of the machine",
            "logger key 2>/dev/null && [ -S /dev/log ] && python3 -c 'import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect(\"/dev/log\"); print(\"ESCAPED\")'",
        ),
    ];
    let code = code.iter().map(|(name, code)| shown(&format!("reach by {name}"), &python(code)));
    let shell = shell.iter().map(|(name, script)| shown(&format!("reach by {name}"), script));
    let tried = tried.iter().map(|(name, code)| attempt(&format!("reach by {name}"), &python(code)));
    let named = named.iter().map(|(name, script)| attempt(&format!("reach by {name}"), script));
    code.chain(shell).chain(tried).chain(named).collect()
}
