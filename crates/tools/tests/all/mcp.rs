//! Tests of MCP servers, over both transports.

mod calls;
mod demand;
mod http_failures;
mod life;
mod malformed;
mod people;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aime_sandbox::{ConfinedFolder, Confinement, Service, ServiceRequest};
use aime_tools::{McpPlace, McpServerSettings, McpServers, McpSettings, McpTransport, ToolContext, ToolError, ToolOutput, ToolRegistry};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_util::sync::CancellationToken;

/// Interval of checks in a test that waits for an event; it waits for one minute at most.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: u32 = 12_000;

/// Returns the path of the server in `examples/odd_server.rs`. `cargo test` builds it, but a run of one test binary alone does not.
fn odd_server() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let program = here.parent().unwrap().parent().unwrap().join("examples/odd_server");
    assert!(program.exists(), "{} is missing: cargo build -p aime-tools --features mcp --example odd_server", program.display());
    program
}

fn environment() -> BTreeMap<std::ffi::OsString, std::ffi::OsString> {
    [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into()
}

fn stdio(arguments: &[&str]) -> McpTransport {
    let arguments = ["stdio"].iter().chain(arguments).map(|argument| (*argument).into()).collect();
    McpTransport::Stdio { program: odd_server().into(), arguments, environment: BTreeMap::new(), confinement: Confinement::off() }
}

/// A server over HTTP, killed on drop.
struct Http {
    url: String,
    service: Service,
}

impl Http {
    async fn start(folder: &Path, arguments: &[&str]) -> Self {
        let request = ServiceRequest {
            program: odd_server().into(),
            arguments: ["http"].iter().chain(arguments).map(|argument| (*argument).into()).collect(),
            working_folder: folder.into(),
            environment: environment(),
            error_limit: 10_000,
            confinement: Confinement::off(),
        };
        let mut service = Service::start(request).unwrap();
        let (stdout, _stdin) = service.streams().unwrap();
        let url = BufReader::new(stdout).lines().next_line().await.unwrap().unwrap();
        Self { url, service }
    }

    fn transport(&self, bearer: Option<&str>) -> McpTransport {
        let bearer = bearer.map(|token| token.to_owned().into());
        McpTransport::Http { url: self.url.clone(), bearer, login: None, headers: BTreeMap::new() }
    }
}

/// A folder, servers in it, and their tools.
struct World {
    folder: TempDir,
    servers: McpServers,
    tools: ToolRegistry,
    context: ToolContext,
}

impl World {
    /// Creates the odd server over stdio, and requests its tools.
    async fn odd(change: impl FnOnce(&mut McpServerSettings)) -> Self {
        Self::with(&[], change).await
    }

    async fn with(arguments: &[&str], change: impl FnOnce(&mut McpServerSettings)) -> Self {
        let mut settings = McpServerSettings::new("odd", stdio(arguments));
        change(&mut settings);
        Self::of(McpSettings::new(vec![settings])).await
    }

    async fn of(settings: McpSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = McpPlace { working_folder: folder.path().to_path_buf(), environment: Arc::new(environment()) };
        let servers = McpServers::new(settings, &place, BTreeMap::new());
        let faults = servers.learn(&CancellationToken::new()).await;
        assert!(faults.is_empty(), "{faults:?}");
        let tools = servers.tools().into_iter().collect();
        let context = ToolContext::new(ConfinedFolder::open(folder.path()).unwrap(), environment());
        Self { folder, servers, tools, context }
    }

    async fn call(&self, tool: &str, parameters: Value) -> Result<ToolOutput, ToolError> {
        self.tools.call_with_consent(tool, object(parameters), &self.context).await
    }

    async fn text(&self, tool: &str, parameters: Value) -> String {
        self.call(tool, parameters).await.unwrap().text
    }

    async fn fault(&self, tool: &str, parameters: Value) -> String {
        self.call(tool, parameters).await.unwrap_err().to_string()
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// A zombie process counts as dead.
fn alive(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if holds() {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    panic!("never: {what}");
}
