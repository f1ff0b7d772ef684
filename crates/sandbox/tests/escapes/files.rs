//! Writing, creating, moving and removing outside of the working folder.

use crate::{Attempt, attempt, python, shown};

pub(crate) fn attempts() -> Vec<Attempt> {
    let shell: &[(&str, &str)] = &[
        ("a redirection", "echo x > \"$OUT/victim.txt\""),
        ("an appending redirection", "echo x >> \"$OUT/victim.txt\""),
        ("a new file", "echo x > \"$OUT/new.txt\""),
        ("touch", "touch \"$OUT/new.txt\""),
        ("tee", "echo x | tee \"$OUT/victim.txt\""),
        ("cp", "echo x > a; cp a \"$OUT/victim.txt\""),
        ("mv into it", "echo x > a; mv a \"$OUT/new.txt\""),
        ("mv over it", "echo x > a; mv -f a \"$OUT/victim.txt\""),
        ("mv out of it", "mv \"$OUT/victim.txt\" ."),
        ("mv of a folder", "mv \"$OUT/folder\" ."),
        ("rm", "rm -f \"$OUT/victim.txt\""),
        ("rm of a folder", "rm -rf \"$OUT\"/*"),
        ("rmdir", "mkdir \"$OUT/d\" && rmdir \"$OUT/d\"; rm -rf \"$OUT/folder\""),
        ("mkdir", "mkdir \"$OUT/d\""),
        ("mkfifo", "mkfifo \"$OUT/p\""),
        ("a symbolic link made there", "ln -s x \"$OUT/l\""),
        ("a hard link made there", "echo x > a; ln a \"$OUT/l\""),
        ("a hard link of it", "ln \"$OUT/victim.txt\" l && echo x >> l"),
        ("truncate", "truncate -s 0 \"$OUT/victim.txt\""),
        ("dd", "echo x | dd of=\"$OUT/victim.txt\" conv=notrunc 2>/dev/null"),
        ("sed in place", "sed -i s/the/no/ \"$OUT/victim.txt\""),
        ("install", "echo x > a; install a \"$OUT/new.txt\""),
        (
            "tar with dots",
            "mkdir -p t/u; echo x > t/new.txt; (cd t/u && tar -cPf ../../a.tar ../new.txt); mkdir -p \"$ROOT/work/inner/v\"; tar -xPf a.tar -C inner/v; tar -xPf a.tar -C \"$OUT/folder\"",
        ),
        (
            "tar through a link",
            "mkdir s; ln -s \"$OUT\" s/e; tar cf a.tar -C s e; rm -rf s; mkdir -p s/e; echo x > s/e/new.txt; tar cf b.tar -C s e/new.txt; tar xf a.tar; tar xf b.tar; tar -x --keep-directory-symlink -f b.tar",
        ),
        ("a link that was there", "echo x > link/new.txt"),
        ("a file's link that was there", "echo x > link.txt"),
        ("a relative link that was there", "echo x > inner/up/new.txt"),
        ("dots", "echo x > ../outside/new.txt"),
        ("dots beside", "echo x > ../new.txt"),
        ("the root of the process", "echo x > \"/proc/self/root$OUT/new.txt\""),
        ("the working folder of the process", "echo x > /proc/self/cwd/../outside/new.txt"),
        ("a descriptor by name", "exec 9<>\"$OUT/victim.txt\" && echo x >&9"),
        ("git", "git init -q --separate-git-dir=\"$OUT/git\" ."),
        (
            "git's working folder",
            "git init -q g && cd g && git config core.worktree \"$OUT\" && git config user.email a@b && git config user.name n && echo x > \"$OUT/../work/new.txt\" && git --work-tree=\"$OUT/../work\" add new.txt && git commit -qm m && git checkout-index -f --prefix=\"$OUT/\" new.txt",
        ),
        ("the compiler", "echo 'int main(){}' | gcc -x c - -o \"$OUT/new\""),
        ("a home's start-up file", "echo x >> \"$HOME/.bashrc\""),
        ("a home's keys", "mkdir -p \"$HOME/.ssh\"; echo x >> \"$HOME/.ssh/authorized_keys\""),
        ("aime's own settings", "echo '[sandbox]' > \"$HOME/.config/aime/config.toml\""),
        ("a toolchain", "echo x > \"$HOME/.cargo/bin/tool\""),
        ("a new tool", "echo x > \"$HOME/.cargo/bin/cargo\""),
        (
            "a patch",
            "printf -- '--- a\\n+++ ../outside/new.txt\\n@@ -0,0 +1 @@\\n+x\\n' > p; patch -p0 -N --posix ../outside/new.txt < p || cp p \"$OUT/new.txt\"",
        ),
        ("find", "find . -maxdepth 0 -exec touch \"$OUT/new.txt\" ';'"),
        ("a trap at the end", "trap 'echo x > \"$OUT/new.txt\"' EXIT; exit 0"),
        ("what stays in the background", "(sleep 0.1; echo x > \"$OUT/new.txt\") & sleep 0.3"),
        ("a session of its own", "setsid bash -c 'echo x > \"$OUT/new.txt\"'; sleep 0.1"),
        ("an emptied environment", "env -i O=\"$OUT\" bash -c 'echo x > \"$O/new.txt\"'"),
        ("another shell", "sh -c 'echo x > \"$OUT/new.txt\"'"),
        ("awk", "awk 'BEGIN { print \"x\" > ENVIRON[\"OUT\"] \"/new.txt\" }'"),
        ("perl", "perl -e 'open F, \">\", \"$ENV{OUT}/new.txt\" and print F \"x\"'"),
        ("a quoted command", "bash -c \"$(printf 'echo x > \\\"$OUT/new.txt\\\"')\""),
        ("a name with a line", "mkdir -p $'a\\nb'; echo x > $'a\\nb/../../outside/new.txt'"),
        (
            "a race of a link",
            "mkdir -p r; (for i in $(seq 300); do rm -rf x; ln -s r x; rm -f x; ln -s \"$OUT\" x; done) & for i in $(seq 300); do echo x 2>/dev/null > x/new.txt; done 2>/dev/null; wait",
        ),
    ];
    let code: &[(&str, &str)] = &[
        ("open", "open(E['OUT'] + '/new.txt', 'w').write('x')"),
        ("truncate by name", "os.truncate(E['OUT'] + '/victim.txt', 0)"),
        ("rename by descriptors", "o = os.open(E['OUT'], os.O_PATH); open('a', 'w').write('x')\nos.rename('a', 'new.txt', dst_dir_fd=o)"),
        ("an exchange of names", "open('a','w').write('x')\nlibc.renameat2(-100, b'a', -100, (E['OUT'] + '/victim.txt').encode(), 2)"),
        (
            "a file without a name that is linked",
            "f = os.open('.', os.O_TMPFILE | os.O_RDWR)\nos.write(f, b'x')\nos.link('/proc/self/fd/%d' % f, E['OUT'] + '/new.txt', follow_symlinks=True)",
        ),
        ("a file without a name there", "f = os.open(E['OUT'], os.O_TMPFILE | os.O_RDWR); os.write(f, b'x'); print('ESCAPED')"),
        ("a path that is opened again", "f = os.open(E['OUT'] + '/victim.txt', os.O_PATH)\nopen('/proc/self/fd/%d' % f, 'w').write('x')"),
        (
            "openat2",
            "how = struct.pack('QQQ', os.O_WRONLY | os.O_CREAT, 0o644, 0)\nf = libc.syscall(437, -100, (E['OUT'] + '/new.txt').encode(), how, 24)\nprint('ESCAPED' if f >= 0 else 'no')",
        ),
        ("unlink by a descriptor", "o = os.open(E['OUT'], os.O_PATH); os.unlink('victim.txt', dir_fd=o)"),
        (
            "copy_file_range",
            "open('a','w').write('xyz'); f = os.open('a', os.O_RDONLY); o = os.open(E['OUT'] + '/victim.txt', os.O_WRONLY); os.copy_file_range(f, o, 3)",
        ),
        (
            "a race of renamed folders",
            "import threading\nos.mkdir('a'); os.symlink(E['OUT'], 'b')\ndef swap():\n    for i in range(2000):\n        try:\n            os.rename('a', 't'); os.rename('b', 'a'); os.rename('t', 'b')\n        except OSError: pass\nt = threading.Thread(target=swap); t.start()\nfor i in range(2000):\n    try: open('a/new.txt', 'w').write('x')\n    except OSError: pass\nt.join()",
        ),
    ];
    let shell = shell.iter().map(|(name, script)| shown(&format!("write by {name}"), script));
    let code = code.iter().map(|(name, code)| match *name {
        // Some of these are refused to an ordinary user even without confinement.
        "openat2" | "a file without a name there" => attempt(&format!("write by Python: {name}"), &python(code)),
        _ => shown(&format!("write by Python: {name}"), &python(code)),
    });
    let elsewhere = ["/tmp", "/var/tmp", "/dev/shm", "/etc", "", "/usr"]
        .map(|folder| attempt(&format!("write in {folder}/"), &format!("echo x > {folder}/aime-escape && echo ESCAPED")));
    shell.chain(code).chain(elsewhere).chain(others()).collect()
}

fn others() -> Vec<Attempt> {
    vec![
        attempt("lend one's rights with a file", "cp /bin/true t; chmod u+s t && echo ESCAPED; chmod 4755 t && echo ESCAPED"),
        attempt("lend one's group's rights with a file", "cp /bin/true t; chmod g+s t && echo ESCAPED"),
        attempt("lend rights by a descriptor", &python("f = os.open('t', os.O_CREAT | os.O_RDWR)\ncall('fchmod', f, 0o4755)")),
        attempt(
            "lend rights from the start",
            &python("f = os.open('t', os.O_CREAT | os.O_RDWR, 0o4755)\nprint('ESCAPED' if os.fstat(f).st_mode & 0o4000 else 'no')"),
        ),
        attempt("lend rights by fchmodat2", &python("open('t', 'w')\nnumber(452, -100, b't', 0o4755, 0)")),
        attempt(
            "give a file capabilities",
            &python("open('t', 'w')\ncall('setxattr', b't', b'security.capability', b'\\x01\\0\\0\\x02' + b'\\xff' * 16, 20, 0)"),
        ),
        attempt("give a file outside away", "chown 1:1 \"$OUT/victim.txt\" && echo ESCAPED"),
        attempt("attributes of a file outside", &python("call('setxattr', (E['OUT'] + '/victim.txt').encode(), b'user.a', b'b', 1, 0)")),
        attempt(
            "attributes by a newer call",
            &python(
                "number(463, -100, (E['OUT'] + '/victim.txt').encode(), 0, b'user.a', struct.pack('QII', 0, 0, 0), 16)\nnumber(469, -100, (E['OUT'] + '/victim.txt').encode(), b'\\0' * 32, 32, 0)",
            ),
        ),
        attempt(
            "write to a terminal",
            "for t in /dev/tty /dev/console /dev/pts/[0-9]* /dev/tty1; do echo x 2>/dev/null > $t && echo ESCAPED $t; done",
        ),
        attempt("type at a terminal", &python("for f in range(3): call('ioctl', f, 0x5412, b'x')")),
        attempt(
            "settings of the kernel",
            "echo x 2>/dev/null > /proc/sys/kernel/core_pattern && echo ESCAPED; echo x > /proc/sys/kernel/hostname && echo ESCAPED; echo h > /proc/sysrq-trigger && echo ESCAPED",
        ),
        attempt(
            "settings of groups of processes",
            "mkdir /sys/fs/cgroup/aime-escape && echo ESCAPED; echo $$ > /sys/fs/cgroup/cgroup.procs && echo ESCAPED",
        ),
        attempt("more of the disk than a file may take", "truncate -s 20G large && echo ESCAPED"),
    ]
}
