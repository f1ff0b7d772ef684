//! Place of the attempts: a working folder, surrounded by files and processes that must not be reached.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{Read, Write},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::MetadataExt,
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use aime_sandbox::{Confinement, ProcessOutcome, ProcessRequest, run};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::Attempt;

/// Word in every file, environment and process that must not be read.
const SECRET: &str = "the-secret-word";
/// Files of the home folder that contain the word.
const KEYS: [&str; 12] = [
    ".ssh/id_rsa",
    ".aws/credentials",
    ".config/aime/config.toml",
    ".netrc",
    ".git-credentials",
    ".cargo/credentials.toml",
    ".docker/config.json",
    ".gnupg/private-keys",
    ".bash_history",
    ".npmrc",
    ".kube/config",
    "notes.txt",
];

pub(crate) struct Place {
    root: TempDir,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    path_socket: UnixListener,
    path_datagram: UnixDatagram,
    abstract_socket: UnixListener,
    granted: u16,
    before: BTreeMap<PathBuf, String>,
}

impl Place {
    #[expect(clippy::disallowed_methods, reason = "the test needs a process outside of confinement")]
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["work/inner", "temp", "home", "outside/folder"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let file = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        KEYS.iter().for_each(|key| file(root.path().join("home").join(key), SECRET));
        file(root.path().join("home/.cargo/bin/tool"), "#!/bin/sh\necho tool\n");
        for name in ["outside/secret.txt", "outside/folder/inner.txt", "outside/victim.txt"] {
            file(root.path().join(name), SECRET);
        }
        let outside = root.path().join("outside");
        for (link, target) in [("link", outside.clone()), ("link.txt", outside.join("secret.txt")), ("inner/up", "../../outside".into())] {
            std::os::unix::fs::symlink(target, root.path().join("work").join(link)).unwrap();
        }
        let victim = Command::new("sleep")
            .arg("1000")
            .env("VICTIM_KEY", SECRET)
            .current_dir(&outside)
            .stdin(fs::File::open(outside.join("secret.txt")).unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let abstract_name = SocketAddr::from_abstract_name(format!("aime-escape-{}", victim.id())).unwrap();
        let mut place = Self {
            victim,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            path_socket: UnixListener::bind(root.path().join("socket")).unwrap(),
            path_datagram: UnixDatagram::bind(root.path().join("datagram")).unwrap(),
            abstract_socket: UnixListener::bind_addr(&abstract_name).unwrap(),
            granted: serve(),
            root,
            before: BTreeMap::new(),
        };
        place.tcp.set_nonblocking(true).unwrap();
        place.udp.set_nonblocking(true).unwrap();
        place.path_socket.set_nonblocking(true).unwrap();
        place.path_datagram.set_nonblocking(true).unwrap();
        place.abstract_socket.set_nonblocking(true).unwrap();
        place.before = place.outside();
        place
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Returns the environment of commands: the usual variables, and the locations of everything.
    pub(crate) fn environment(&self) -> BTreeMap<OsString, OsString> {
        let at = |name: &str| self.root.path().join(name).into_os_string();
        let number = |number: u16| OsString::from(number.to_string());
        let mut path = at("home/.cargo/bin");
        path.push(":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        [
            ("PATH", path),
            ("HOME", at("home")),
            ("TMPDIR", at("temp")),
            ("OUT", at("outside")),
            ("ROOT", self.root.path().into()),
            ("SOCKET", at("socket")),
            ("DATAGRAM", at("datagram")),
            ("ABSTRACT", format!("aime-escape-{}", self.victim.id()).into()),
            ("VICTIM", self.victim.id().to_string().into()),
            ("AIME", std::process::id().to_string().into()),
            ("TCP", number(self.tcp.local_addr().unwrap().port())),
            ("GRANTED", number(self.granted)),
            ("UDP", number(self.udp.local_addr().unwrap().port())),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect()
    }

    /// Returns host and port of the only server that may be reached, if one may.
    pub(crate) fn granted(&self) -> String {
        format!("127.0.0.1:{}", self.granted)
    }

    /// Runs an attempt; returns how it succeeded, or `None`.
    pub(crate) async fn run(&self, attempt: &Attempt, confinement: &Confinement) -> Option<String> {
        let outcome = self.outcome(attempt, confinement).await;
        let printed = format!("{}\n{}", outcome.stdout.text(), outcome.stderr.text());
        self.breach(&printed)
    }

    /// Runs an attempt and returns its outcome.
    pub(crate) async fn outcome(&self, attempt: &Attempt, confinement: &Confinement) -> ProcessOutcome {
        let request = ProcessRequest {
            program: "bash".into(),
            arguments: vec!["-c".into(), attempt.script.clone().into()],
            working_folder: self.work(),
            environment: self.environment(),
            input: Vec::new(),
            time_limit: Duration::from_secs(20),
            output_limit: 200_000,
            confinement: confinement.clone(),
        };
        run(request, &CancellationToken::new()).await.unwrap()
    }

    fn breach(&self, printed: &str) -> Option<String> {
        if printed.contains(SECRET) {
            return Some(format!("it printed a secret: {printed}"));
        }
        // The environment of the test represents aime's own.
        if printed.contains("CARGO_MANIFEST_DIR=") || printed.contains("RUST_TEST_") {
            return Some(format!("it printed aime's environment: {printed}"));
        }
        if printed.contains("ESCAPED") {
            return Some(printed.to_owned());
        }
        let after = self.outside();
        if after != self.before {
            let changed: Vec<_> = after.iter().filter(|entry| self.before.get(entry.0) != Some(entry.1)).collect();
            let gone: Vec<_> = self.before.keys().filter(|path| !after.contains_key(*path)).collect();
            return Some(format!("outside there changed {changed:?}, and there is no more {gone:?}: {printed}"));
        }
        let mut buffer = [0; 64];
        let reached = [
            ("TCP", self.tcp.accept().is_ok()),
            ("UDP", self.udp.recv(&mut buffer).is_ok()),
            ("a socket with a path", self.path_socket.accept().is_ok()),
            ("a datagram socket with a path", self.path_datagram.recv(&mut buffer).is_ok()),
            ("an abstract socket", self.abstract_socket.accept().is_ok()),
        ];
        if let Some((what, _)) = reached.iter().find(|(_, reached)| *reached) {
            return Some(format!("it reached {what}: {printed}"));
        }
        (self.of_victim() != Some(VICTIM.to_owned()))
            .then(|| format!("it did something to a process outside: {:?}: {printed}", self.of_victim()))
    }

    /// Returns the state of the outside process: asleep or not, its niceness and its limits.
    fn of_victim(&self) -> Option<String> {
        let pid = self.victim.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        let seconds = limits.lines().find(|line| line.starts_with("Max cpu time"))?.split_ascii_whitespace().nth(3)?.to_owned();
        // It runs for a moment before it sleeps.
        let state = if fields[0] == "R" { "S" } else { fields[0] };
        Some(format!("{state} {seconds}"))
    }

    /// Returns everything outside of the working folder: kinds, modes, owners, contents.
    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for folder in ["home", "outside"] {
            collect(&self.root.path().join(folder), &mut found);
        }
        let entries = fs::read_dir(self.root.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut entries: Vec<_> = entries.collect();
        entries.sort();
        found.insert("entries".into(), entries.join(" "));
        let made =
            ["/tmp/aime-escape", "/var/tmp/aime-escape", "/dev/shm/aime-escape", "/etc/aime-escape", "/aime-escape", "/usr/aime-escape"];
        for path in made.iter().map(Path::new).filter(|path| path.symlink_metadata().is_ok()) {
            found.insert(path.to_owned(), "is there".to_owned());
        }
        found
    }
}

/// Starts a server that answers `granted`, and redirects `/to/PORT` to that port. It ends with the test.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).unwrap_or_default();
            let asked = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let answer = match asked.split_ascii_whitespace().nth(1).and_then(|path| path.strip_prefix("/to/")) {
                Some(port) => {
                    format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                }
                None => "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\ngranted\n".to_owned(),
            };
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    port
}

const VICTIM: &str = "S unlimited";

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.victim.kill());
        drop(self.victim.wait());
        for path in ["/tmp/aime-escape", "/var/tmp/aime-escape", "/dev/shm/aime-escape"] {
            drop(fs::remove_file(path));
        }
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = path.symlink_metadata().unwrap();
        let content =
            if facts.is_file() { fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) } else { Ok(String::new()) };
        found.insert(path.clone(), format!("{:o} {} {} {}", facts.mode(), facts.uid(), facts.nlink(), content.unwrap_or_default()));
        if facts.is_dir() {
            collect(&path, found);
        }
    }
}
