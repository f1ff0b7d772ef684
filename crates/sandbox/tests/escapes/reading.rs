//! Reading secrets: keys, other homes, files outside, by every way to a file.

use crate::{Attempt, attempt, python, shown};

/// Ways to read the file `F`.
const WAYS: [(&str, &str); 30] = [
    ("cat", "cat \"$F\""),
    ("a redirection", "while IFS= read -r l || [ \"$l\" ]; do echo \"$l\"; done < \"$F\""),
    ("head", "head -c 100 \"$F\""),
    ("base64", "base64 \"$F\" | base64 -d"),
    ("dd", "dd if=\"$F\" 2>/dev/null"),
    ("grep", "grep -r . \"$F\""),
    ("a copy", "cp \"$F\" copy && cat copy"),
    ("tar", "tar cf a.tar -C / \"${F#/}\" && tar xOf a.tar"),
    ("a symbolic link", "ln -sfn \"$F\" l && cat l"),
    ("a link through a link", "ln -sfn \"$(dirname \"$F\")\" d && ln -sfn d dd && cat \"dd/$(basename \"$F\")\""),
    ("a hard link", "ln -f \"$F\" h && cat h"),
    ("a move", "mv \"$F\" moved && cat moved"),
    ("dots", "cat \"../$(realpath --relative-to=.. \"$F\")\""),
    ("many dots", "cat \"../../../../../../../../../..$F\""),
    ("the working folder of the process", "cat \"/proc/self/cwd/../$(realpath --relative-to=.. \"$F\")\""),
    ("the root of the process", "cat \"/proc/self/root$F\""),
    ("the root of its thread", "cat \"/proc/thread-self/root$F\""),
    ("a descriptor by name", "exec 9<\"$F\"; cat /dev/fd/9"),
    ("sourcing", ". \"$F\"; bash -v \"$F\"; true"),
    ("the compiler", "printf '#include \"%s\"\\n' \"$F\" | gcc -E -x c - -o out.i; cat out.i; gcc -x c \"$F\" -o /dev/null"),
    ("git", "git diff --no-index /dev/null \"$F\""),
    ("sort", "sort --files0-from=<(printf '%s\\0' \"$F\")"),
    ("find", "find \"$F\" -type f -exec cat {} +"),
    ("xargs", "printf '%s' \"$F\" | xargs -d '\\n' cat"),
    ("sed", "sed -n p \"$F\""),
    ("awk", "awk 1 \"$F\""),
    ("perl", "perl -pe 1 \"$F\""),
    ("curl", "curl -s \"file://$F\""),
    ("quotes", "eval \"c\"'a't \\\"\\$F\\\""),
    ("an encoded command", "echo Y2F0ICIkRiIK | base64 -d | bash"),
];

/// Ways in Python.
const PYTHON: [(&str, &str); 7] = [
    ("open", "print(open(E['F']).read())"),
    (
        "a descriptor of the folder",
        "d = os.open(os.path.dirname(E['F']), os.O_PATH)\nprint(os.read(os.open(os.path.basename(E['F']), os.O_RDONLY, dir_fd=d), 99))",
    ),
    ("changing the folder", "os.chdir(os.path.dirname(E['F']))\nprint(open(os.path.basename(E['F'])).read())"),
    ("mapped memory", "import mmap\nf = open(E['F'], 'rb')\nprint(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:])"),
    ("sendfile", "f = os.open(E['F'], os.O_RDONLY)\nos.sendfile(1, f, 0, 99)"),
    ("a path that is opened again", "f = os.open(E['F'], os.O_PATH)\nprint(open('/proc/self/fd/%d' % f).read())"),
    (
        "copy_file_range",
        "f = os.open(E['F'], os.O_RDONLY)\no = os.open('c', os.O_RDWR | os.O_CREAT)\nos.copy_file_range(f, o, 99)\nprint(open('c').read())",
    ),
];

/// Secret files, so that each way is tried on a file of its own.
const SECRETS: [&str; 14] = [
    "$OUT/secret.txt",
    "$HOME/.ssh/id_rsa",
    "$HOME/.aws/credentials",
    "$HOME/.config/aime/config.toml",
    "$HOME/.netrc",
    "$HOME/.git-credentials",
    "$HOME/.cargo/credentials.toml",
    "$HOME/.docker/config.json",
    "$HOME/.gnupg/private-keys",
    "$HOME/.bash_history",
    "$HOME/.npmrc",
    "$HOME/.kube/config",
    "$HOME/notes.txt",
    "$OUT/folder/inner.txt",
];

pub(crate) fn attempts() -> Vec<Attempt> {
    let ways = WAYS.iter().map(|(name, script)| ((*name).to_owned(), (*script).to_owned()));
    let ways = ways.chain(PYTHON.iter().map(|(name, code)| (format!("Python: {name}"), python(code))));
    let of_ways = ways
        .zip(SECRETS.iter().cycle())
        .map(|((name, script), secret)| shown(&format!("read by {name}"), &format!("export F=\"{secret}\"\n{script}")));
    let of_secrets = SECRETS.iter().map(|secret| shown(&format!("cat {secret}"), &format!("cat \"{secret}\"")));
    of_ways.chain(of_secrets).chain(others()).collect()
}

fn others() -> Vec<Attempt> {
    vec![
        shown("read by a link that was there", "cat link.txt"),
        shown("read by a folder's link that was there", "cat link/secret.txt"),
        shown("read by a relative link that was there", "cat inner/up/secret.txt"),
        shown("search outside", "grep -rh . \"$OUT\" \"$HOME\""),
        shown("search up from the working folder", "grep -rh the-sec .. 2>/dev/null"),
        attempt("the passwords of the machine", "cat /etc/shadow | grep -q : && echo ESCAPED"),
        attempt("the passwords of its groups", "cat /etc/gshadow | grep -q : && echo ESCAPED"),
        attempt("the machine's own keys", "cat /etc/ssh/ssh_host_* /etc/ssl/private/* 2>/dev/null | grep -q . && echo ESCAPED"),
        attempt("who may be root", "cat /etc/sudoers | grep -q . && echo ESCAPED"),
        attempt("the root folder listed", "ls / 2>/dev/null | grep -q . && echo ESCAPED"),
        attempt("the home of root listed", "ls -a /root 2>/dev/null | grep -q ... && echo ESCAPED"),
        attempt("the homes listed", "ls /home /root/.ssh 2>/dev/null | grep -q . && echo ESCAPED"),
        attempt("the temp folder listed", "ls /tmp 2>/dev/null | grep -q . && echo ESCAPED"),
        shown("a home folder listed", "ls -a \"$HOME\" | grep -q ssh && echo ESCAPED"),
        shown("a folder outside listed", "ls \"$OUT\" | grep -q secret && echo ESCAPED"),
        shown("a folder outside by a glob", "cd \"$OUT\"; for f in *; do [ \"$f\" = '*' ] || echo ESCAPED $f; done"),
        shown(
            "a race of a link",
            "mkdir -p r; echo fine > r/secret.txt; (for i in $(seq 300); do rm -rf x; ln -s r x; rm -f x; ln -s \"$OUT\" x; done) & for i in $(seq 300); do cat x/secret.txt 2>/dev/null; done; wait",
        ),
        shown(
            "a race of a renamed folder",
            &python(
                "import threading\nos.mkdir('a'); open('a/secret.txt','w').write('fine')\nos.symlink(E['OUT'], 'b')\ndef swap():\n    for i in range(2000):\n        try:\n            os.rename('a', 't'); os.rename('b', 'a'); os.rename('t', 'b')\n        except OSError: pass\nt = threading.Thread(target=swap); t.start()\nseen = set()\nfor i in range(2000):\n    try: seen.add(open('a/secret.txt').read())\n    except OSError: pass\nt.join(); print(seen)",
            ),
        ),
        attempt(
            "a file by its number",
            &python(
                "class H(ctypes.Structure): _fields_ = [('n', ctypes.c_uint), ('t', ctypes.c_int), ('h', ctypes.c_char * 128)]\nh = H(128, 0, b''); m = ctypes.c_int()\nr = libc.name_to_handle_at(-100, E['OUT'].encode() + b'/secret.txt', ctypes.byref(h), ctypes.byref(m), 0)\nd = os.open('.', os.O_RDONLY)\nf = libc.open_by_handle_at(d, ctypes.byref(h), 0)\nif f >= 0: print('ESCAPED', os.read(f, 99))",
            ),
        ),
        attempt(
            "the disk itself",
            "for d in /dev/sda /dev/vda /dev/nvme0n1 /dev/mem /dev/kmem /dev/kmsg /proc/kcore /proc/kmsg; do head -c 16 $d >/dev/null 2>&1 && echo ESCAPED $d; done",
        ),
        attempt(
            "a node of the disk",
            "mknod disk b 8 0 && echo ESCAPED; mknod disk2 b 254 0 && echo ESCAPED; mknod mem c 1 1 && echo ESCAPED",
        ),
    ]
}
