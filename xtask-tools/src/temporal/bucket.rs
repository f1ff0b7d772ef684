//! Stores large data in a bucket.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use aime_scripted_server::ScriptedServer;
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{World, holds, script, tool, until};
use crate::install::node_script;
use crate::services::Server;

const PACKAGE: &str = include_str!("s3/package.json");
const PACKAGE_LOCK: &str = include_str!("s3/package-lock.json");
const SERVER: &str = include_str!("s3/server.mjs");
/// Name and secret of the key that the server accepts.
const KEY: &str = "S3RVER";
const BUCKET: &str = "s3://aime/team";

/// Store, which ends when it is dropped.
struct Store(Child);

impl Drop for Store {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl World {
    /// Runs workers and a client that share nothing but a bucket.
    pub(super) fn blobs_in_a_bucket(&self) -> Result<String> {
        let program = node_script(&self.program, "s3-server", [PACKAGE, PACKAGE_LOCK], ("server.mjs", SERVER))?;
        let (port, objects) = (TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(), self.root.join("objects"));
        fs::create_dir(&objects)?;
        let log = fs::File::create(self.root.join("s3.log"))?;
        let mut command = Command::new("node");
        command.arg(program).arg(port.to_string()).arg(&objects).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let _store = Store(command.spawn().context("the store does not start")?);
        until("the store can be spoken to", || Ok(TcpStream::connect(("127.0.0.1", port)).is_ok()))?;

        let plan = json!({"goal": "a page", "tasks": [tool("write", "cat title > page; echo text >> page", &[])]});
        let client = self.root.join("bucket");
        fs::write(client.join("plan.json"), plan.to_string())?;
        fs::write(client.join("title"), "title\n")?;
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("bucket-engine"))?);
        let on = format!("temporal://{}", engine.address());
        let keyed = |secret: &str| {
            let endpoint = format!("http://127.0.0.1:{port}");
            self.with(&[("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", secret), ("AWS_ENDPOINT_URL", &endpoint)])
        };
        let (ours, strangers) = (keyed(KEY), keyed("guessed"));
        let shared = ["--git-handoff", "--blobs", BUCKET];
        let work = |folder: &str, serves: &str| {
            let worker = ["worker", "--engine", &on, "--serve", serves];
            ours.start(folder, &format!("{folder}-worker"), &url, &[&worker[..], &shared].concat())
        };
        let _workers = [work("bucket-drives", "runs,llm,planner")?, work("bucket-host", "tools.files,tools.shell")?];
        let go =
            ["run", "--plan", "plan.json", "--run-id", "page", "--approve", "all", "--unattended", "--output", "json", "--engine", &on];
        let go = [&go[..], &shared].concat();
        strangers.start("bucket", "bucket-stranger", &url, &go)?.printed(2)?;
        let stderr = fs::read_to_string(self.root.join("bucket-stranger.err"))?;
        ensure!(stderr.contains("SignatureDoesNotMatch"), "another secret is not refused: {stderr}");
        let result = ours.start("bucket", "bucket-client", &url, &go)?.ended(0)?;
        let page = fs::read_to_string(client.join("page")).unwrap_or_default();
        ensure!(page == "title\ntext\n", "the work did not come by the bucket: {page:?}, {result:#}");
        ensure!(holds(&objects.join("aime"), "git bundle")?, "no state of the folder is in the bucket");
        Ok("a working folder and large payloads went through a bucket, and another key could not read them".to_owned())
    }
}
