//! Reading keys from the environment, and environments that change which program is run.

use crate::{Attempt, attempt, python};

pub(crate) fn attempts() -> Vec<Attempt> {
    vec![
        attempt("the environment", "env; printenv; export -p; set"),
        attempt("the environment as the kernel shows it", "tr '\\0' '\\n' < /proc/self/environ"),
        attempt(
            "the environment of all parents",
            "p=$$; while [ \"$p\" -gt 1 ]; do tr '\\0' '\\n' 2>/dev/null < /proc/$p/environ; p=$(awk '{print $4}' /proc/$p/stat); done",
        ),
        attempt(
            "another shell at the start",
            "printf 'echo ESCAPED' > sh; chmod +x sh; mkdir -p \"$HOME/.cargo/bin\"; cp sh \"$HOME/.cargo/bin/sh\" && echo ESCAPED",
        ),
        attempt(
            "a library before all",
            "echo 'int x;' | gcc -shared -x c - -o l.so; LD_PRELOAD=$PWD/l.so sudo -n true 2>/dev/null && echo ESCAPED; echo $PWD/l.so > /etc/ld.so.preload && echo ESCAPED",
        ),
        attempt("a start-up file by name", "echo 'cat \"$HOME/.netrc\"' > rc; BASH_ENV=rc bash -c true; ENV=rc sh -c true"),
        attempt(
            "a hook of git",
            "git init -q g; printf '#!/bin/sh\\ncat \"$HOME/.netrc\"; kill -TERM $VICTIM && echo ESCAPED' > g/.git/hooks/pre-commit; chmod +x g/.git/hooks/pre-commit; cd g; git -c user.name=n -c user.email=e commit -q --allow-empty -m m 2>&1",
        ),
        attempt(
            "a module of Python",
            "printf 'print(open(__import__(\"os\").environ[\"HOME\"] + \"/.netrc\").read())' > json.py; python3 -c 'import json'",
        ),
        attempt(
            "the keyring",
            "secret-tool search --all a b 2>/dev/null | grep -q . && echo ESCAPED; gpg --list-secret-keys 2>/dev/null | grep -q sec && echo ESCAPED",
        ),
        attempt(
            "the agent of ssh",
            "for s in /tmp/ssh-*/agent.* /run/user/*/keyring/ssh; do SSH_AUTH_SOCK=$s ssh-add -l 2>/dev/null && echo ESCAPED; done",
        ),
        attempt("the credentials of a cloud", "curl -s -m 1 http://169.254.169.254/latest/meta-data/ | grep -q . && echo ESCAPED"),
        attempt(
            "the descriptors it was given",
            &python(
                "for f in range(3, 1024):\n    try: os.fstat(f)\n    except OSError: continue\n    p = os.readlink('/proc/self/fd/%d' % f)\n    if not p.startswith('/dev/') and 'pipe' not in p: print('ESCAPED', f, p)",
            ),
        ),
        attempt("a home of its own", "HOME=/root bash -lc 'cat ~/.bashrc ~/.profile 2>/dev/null | grep -q . && echo ESCAPED'"),
        attempt(
            "the user's other homes",
            "for h in $(cut -d: -f6 /etc/passwd | grep -E '^/(home|root)'); do ls $h 2>/dev/null | grep -q . && echo ESCAPED $h; done",
        ),
    ]
}
