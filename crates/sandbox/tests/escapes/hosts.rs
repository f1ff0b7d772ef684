//! Reaching more than the granted hosts, from a command that may reach one host.

use crate::{Attempt, attempt, python};

/// Python client: `ask` sends a text to the proxy and returns its answer; `opened` prints `ESCAPED` if a tunnel is opened.
const CLIENT: &str = "G, T = E['GRANTED'], E['TCP']
P = int(E['HTTPS_PROXY'].rsplit(':', 1)[1])
def ask(text):
    s = socket.create_connection(('127.0.0.1', P), 5)
    s.settimeout(1)
    s.sendall(text.encode() if isinstance(text, str) else text)
    found = b''
    try:
        while True:
            part = s.recv(4096)
            if not part: break
            found += part
    except OSError: pass
    return found.decode('latin1')
def opened(target):
    answer = ask(f'CONNECT {target} HTTP/1.1\\r\\nHost: 127.0.0.1:{G}\\r\\nConnection: close\\r\\n\\r\\n')
    print('ESCAPED' if ' 200' in answer.split('\\r\\n')[0] else 'no', target, answer)
def plain(target, host=None):
    print(ask(f'GET http://{target}/ HTTP/1.1\\r\\nHost: {host or \"127.0.0.1:\" + G}\\r\\nConnection: close\\r\\n\\r\\n'))
";

pub(crate) fn attempts() -> Vec<Attempt> {
    let by_proxy: &[(&str, &str)] = &[
        ("a tunnel to another port", "opened(f'127.0.0.1:{T}')"),
        ("a tunnel to a name of this machine", "opened(f'localhost:{T}'); opened(f'localhost.:{T}'); opened(f'LOCALHOST:{T}')"),
        (
            "a tunnel to another address of this machine",
            "opened(f'127.0.0.2:{T}'); opened(f'0.0.0.0:{T}'); opened(f'[::1]:{T}'); opened(f'[::]:{T}')",
        ),
        ("an address in one number", "opened(f'2130706433:{T}'); opened(f'0x7f000001:{T}'); opened(f'017700000001:{T}')"),
        ("an address in short", "opened(f'127.1:{T}'); opened(f'0x7f.1:{T}'); opened(f'0:{T}')"),
        (
            "an address within another",
            "opened(f'[::ffff:127.0.0.1]:{T}'); opened(f'[::ffff:7f00:1]:{T}'); opened(f'[64:ff9b::7f00:1]:{T}')",
        ),
        ("a port beyond the last", "opened(f'127.0.0.1:{int(T) + 65536}'); opened(f'127.0.0.1:0{T}'); opened(f'127.0.0.1:+{T}')"),
        ("a login that looks like the host", "opened(f'127.0.0.1:{G}@127.0.0.1:{T}'); opened(f'127.0.0.1:{T}@127.0.0.1:{G}')"),
        ("a host in odd letters", "opened(f'127。0。0。1:{T}'); opened(f'①②⑦.0.0.1:{T}'); opened(f'127.0.0.1%00:{T}')"),
        (
            "a tunnel to two hosts",
            "opened(f'127.0.0.1:{G} 127.0.0.1:{T}'); opened(f'127.0.0.1:{G},127.0.0.1:{T}'); opened(f'127.0.0.1:{G}#127.0.0.1:{T}')",
        ),
        ("a tunnel to an address with its scheme", "opened(f'http://127.0.0.1:{T}'); opened(f'http://127.0.0.1:{T}/')"),
        ("a host that is not granted", "opened('evil.example:443'); opened('1.1.1.1:443'); opened('8.8.8.8:53')"),
        ("the metadata of a cloud", "opened('169.254.169.254:80'); opened('[fd00:ec2::254]:80'); opened('metadata.google.internal:80')"),
        ("a plain request", "plain(f'127.0.0.1:{T}')"),
        ("a plain request by a name", "plain(f'localhost:{T}')"),
        ("a plain request with a login", "plain(f'127.0.0.1:{G}@127.0.0.1:{T}'); plain(f'127.0.0.1:{G}%40127.0.0.1:{T}')"),
        (
            "a plain request and another host",
            "plain(f'127.0.0.1:{G}', f'127.0.0.1:{T}'); print(ask(f'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{T}\\r\\n\\r\\n'))",
        ),
        (
            "a request with two hosts",
            "print(ask(f'GET http://127.0.0.1:{G}/ HTTP/1.1\\r\\nHost: 127.0.0.1:{G}\\r\\nHost: 127.0.0.1:{T}\\r\\n\\r\\n'))",
        ),
        (
            "a request of an older kind",
            "print(ask(f'GET http://127.0.0.1:{T}/ HTTP/1.0\\r\\n\\r\\n')); print(ask(f'GET http://127.0.0.1:{T}/\\r\\n'))",
        ),
        (
            "a request behind another",
            "one = f'GET http://127.0.0.1:{G}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'; print(ask(one + one.replace(G, T)))",
        ),
        (
            "a request in the body of another",
            "inner = f'GET http://127.0.0.1:{T}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'\nfor length in (0, 5):\n    print(ask(f'POST http://127.0.0.1:{G}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nContent-Length: {length}\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n{inner}'))",
        ),
        (
            "a request in a header",
            "print(ask(f'GET http://127.0.0.1:{G}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nX: y\\nGET http://127.0.0.1:{T}/ HTTP/1.1\\r\\n\\r\\n'))",
        ),
        (
            "a tunnel behind a request",
            "print(ask(f'GET http://127.0.0.1:{G}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nCONNECT 127.0.0.1:{T} HTTP/1.1\\r\\n\\r\\n'))",
        ),
        (
            "another protocol over a request",
            "print(ask(f'GET http://127.0.0.1:{T}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nUpgrade: h2c\\r\\nConnection: Upgrade\\r\\n\\r\\n'))",
        ),
        ("a proxy behind the proxy", "opened(f'127.0.0.1:{P}'); plain(f'127.0.0.1:{P}')"),
        (
            "another kind of proxy",
            "a = bytes([127, 0, 0, 1]) + struct.pack('>H', int(T))\nask(b'\\x05\\x01\\x00' + b'\\x05\\x01\\x00\\x01' + a)\nask(b'\\x04\\x01' + a[4:] + a[:4] + b'\\x00')",
        ),
        ("the second version of HTTP", "print(ask('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'))"),
        (
            "other schemes",
            "print(ask(f'GET https://127.0.0.1:{T}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')); print(ask(f'GET ftp://127.0.0.1:{T}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'))",
        ),
    ];
    let past: &[(&str, &str)] = &[
        ("connecting past the proxy", "socket.create_connection(('127.0.0.1', int(T)), 1)"),
        ("connecting without waiting", "s = socket.socket(); s.setblocking(False); s.connect_ex(('127.0.0.1', int(T))); time.sleep(0.1)"),
        ("connecting to the granted host itself", "s = socket.socket(); s.connect(('127.0.0.1', int(G))); print('ESCAPED')"),
        ("connecting while it sends", "s = socket.socket(); s.sendto(b'x', 0x20000000, ('127.0.0.1', int(T)))"),
        ("connecting while it sends a message", "s = socket.socket(); s.sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', int(T)))"),
        ("connecting when it first sends", "s = socket.socket(); s.setsockopt(6, 30, 1); s.connect(('127.0.0.1', int(T))); s.send(b'x')"),
        ("connecting by more ways at once", "s = socket.socket(2, 1, 262); s.connect(('127.0.0.1', int(T))); print('ESCAPED')"),
        (
            "other protocols of streams",
            "for f, t, p in [(2, 1, 132), (2, 5, 132), (43, 1, 0), (43, 1, 1), (2, 6, 33), (2, 1, 143)]:\n    r = libc.socket(f, t, p)\n    if r >= 0: print('ESCAPED', f, t, p)",
        ),
        (
            "the other version of addresses",
            "for a in ('::1', '::ffff:127.0.0.1'):\n    s = socket.socket(socket.AF_INET6); s.connect((a, int(T))); print('ESCAPED')",
        ),
        (
            "an address of no family",
            "s = socket.socket(); a = ctypes.create_string_buffer(struct.pack('=H', 0) + struct.pack('>H', int(T)) + bytes([127, 0, 0, 1]) + bytes(8), 16); libc.connect(s.fileno(), a, 16); s.send(b'x')",
        ),
        (
            "a connection turned to another port",
            "s = socket.create_connection(('127.0.0.1', P)); a = ctypes.create_string_buffer(16); libc.connect(s.fileno(), a, 16); s.connect(('127.0.0.1', int(T)))",
        ),
        (
            "another protocol over a connection",
            "s = socket.create_connection(('127.0.0.1', P)); s.setsockopt(6, 31, b'tls'); print('ESCAPED')",
        ),
        ("a way by other machines", "s = socket.socket(); s.setsockopt(0, 4, bytes([131, 7, 4, 127, 0, 0, 1, 0])); print('ESCAPED')"),
        ("listening", "s = socket.socket(); s.bind(('127.0.0.1', 0)); print('ESCAPED')"),
        ("listening without an address", "s = socket.socket(); s.listen(); print('ESCAPED')"),
        ("datagrams", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print('ESCAPED')"),
        ("a name by a datagram", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', int(E['UDP'])))"),
        ("a name", "print('ESCAPED', socket.getaddrinfo('key.example.com', 80))"),
        ("raw packets", "s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 6); print('ESCAPED')"),
        (
            "every kind with every protocol",
            "for t in (2, 3, 4, 5, 6, 10):\n    for p in (0, 1, 6, 17, 41, 58, 132, 255, 262):\n        r = libc.socket(2, t, p)\n        if r >= 0: print('ESCAPED', t, p)",
        ),
        (
            "every other kind of address",
            "for f in set(range(46)) - {2}:\n    for t in (1, 2, 3, 5):\n        r = libc.socket(f, t, 0)\n        if r >= 0: print('ESCAPED', f, t)",
        ),
        (
            "a protocol in the upper bits",
            "for p in ((1 << 32) | 262, 262 | (1 << 63)):\n    r = libc.syscall(ctypes.c_long(41), ctypes.c_ulong(2), ctypes.c_ulong(1), ctypes.c_ulong(p))\n    if r >= 0: print('ESCAPED', p)",
        ),
    ];
    let shell: &[(&str, &str)] = &[
        ("a redirect of the granted host", "curl -s -m 5 -L http://127.0.0.1:$GRANTED/to/$TCP"),
        ("curl without the proxy", "curl -s -m 1 --noproxy '*' http://127.0.0.1:$TCP/?key"),
        (
            "an environment without the proxy",
            "env -u HTTP_PROXY -u http_proxy -u ALL_PROXY -u all_proxy curl -s -m 1 http://127.0.0.1:$TCP/?key",
        ),
        ("bash's own TCP", "exec 9<>/dev/tcp/127.0.0.1/$TCP && echo key >&9"),
        ("a tunnel for another protocol", "curl -s -m 2 -p telnet://127.0.0.1:$TCP </dev/null"),
        ("a tunnel of curl", "curl -s -m 2 -p http://127.0.0.1:$TCP/"),
    ];
    let coded = |what: &str, list: &[(&str, &str)]| -> Vec<Attempt> {
        list.iter().map(|(name, code)| attempt(&format!("{what}: {name}"), &python(&format!("{CLIENT}{code}")))).collect()
    };
    let mut all = coded("by the proxy", by_proxy);
    all.extend(coded("past the proxy", past));
    all.extend(shell.iter().map(|(name, script)| attempt(&format!("beside the proxy: {name}"), script)));
    all
}

/// Returns ways by which the granted host must be reachable; each prints `granted`.
pub(crate) fn ways() -> Vec<Attempt> {
    vec![
        attempt("curl", "curl -s -m 10 http://127.0.0.1:$GRANTED/"),
        attempt("curl with a tunnel", "curl -s -m 10 -p http://127.0.0.1:$GRANTED/"),
        attempt(
            "Python",
            "python3 -c 'import os, urllib.request as r; print(r.urlopen(\"http://127.0.0.1:\" + os.environ[\"GRANTED\"]).read().decode())'",
        ),
        attempt(
            "a tunnel by hand",
            &python(&format!("{CLIENT}print(ask(f'CONNECT 127.0.0.1:{{G}} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n'))")),
        ),
    ]
}
