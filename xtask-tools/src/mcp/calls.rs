//! MCP servers of the scenario, with their calls and expected results.

use std::path::Path;

use serde_json::{Value, json};

use super::install::Installed;

/// Call of an actor, with a text that its result must contain.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) parameters: Value,
    pub(crate) expects: Vec<String>,
}

impl Call {
    pub(crate) fn new(tool: impl Into<String>, parameters: Value, expects: &[&str]) -> Self {
        Self { tool: tool.into(), parameters, expects: expects.iter().map(|text| (*text).to_owned()).collect() }
    }

    /// Returns true if it calls a tool of this server.
    pub(crate) fn is_of(&self, server: &str) -> bool {
        self.tool.starts_with(&format!("mcp__{server}__"))
    }

    /// Returns the same call through the tool that calls tools found on demand.
    pub(crate) fn on_demand(&self) -> Self {
        let parameters = json!({"name": self.tool, "parameters": self.parameters});
        Self { tool: "mcp_call_tool".to_owned(), parameters, expects: self.expects.clone() }
    }
}

/// Server that uses its standard input and output.
pub(crate) struct Driven {
    pub(crate) name: &'static str,
    command: String,
    arguments: Vec<String>,
    /// Further lines of its settings.
    more: String,
    reads: Vec<String>,
    calls: Vec<Call>,
}

impl Driven {
    /// Returns its section of a configuration file. The server is trusted, because nobody is there to consent to a call after another
    /// server's text was read.
    pub(crate) fn settings(&self) -> String {
        let Self { name, command, arguments, more, reads, .. } = self;
        format!("[mcp.servers.{name}]\ntrusted = true\ncommand = {command:?}\nargs = {arguments:?}\nread = {reads:?}\n{more}")
    }

    /// Returns the calls of an actor, in order.
    pub(crate) fn calls(&self) -> &[Call] {
        &self.calls
    }
}

/// Returns the calls to `server-everything` under a name.
pub(crate) fn of_everything(name: &str) -> Vec<Call> {
    let tool = |tool: &str| format!("mcp__{name}__{tool}");
    vec![
        Call::new(tool("echo"), json!({"message": "good morning"}), &["Echo: good morning"]),
        Call::new(tool("get-sum"), json!({"a": 2, "b": 40}), &["42"]),
        Call::new(tool("get-structured-content"), json!({"location": "New York"}), &["temperature", "humidity"]),
        Call::new(tool("get-tiny-image"), json!({}), &["(image/png, "]),
        Call::new(tool("trigger-long-running-operation"), json!({"duration": 1, "steps": 4}), &["completed", "Steps: 4"]),
        Call::new("mcp_list", json!({"kind": "prompts"}), &["args-prompt(city, state?)"]),
        Call::new("mcp_list", json!({"kind": "resources"}), &["demo://resource/dynamic/text/{resourceId}"]),
        Call::new("mcp_read_resource", json!({"server": name, "uri": "demo://resource/dynamic/text/1"}), &["Resource 1: "]),
        Call::new("mcp_get_prompt", json!({"server": name, "name": "args-prompt", "arguments": {"city": "Rome"}}), &["Rome"]),
    ]
}

/// Returns the servers. `page` is the address of a page with the text `the sea is salt`; `work` is aime's working folder.
pub(crate) fn driven(installed: &Installed, work: &Path, page: &str) -> Vec<Driven> {
    let of_npm = |name, server: &str, arguments: &[&str], more: &str, calls| {
        let script = [installed.script(server)].into_iter();
        let arguments = script.chain(arguments.iter().map(|argument| (*argument).to_owned())).collect();
        Driven { name, command: installed.node.display().to_string(), arguments, more: more.to_owned(), reads: installed.reads(), calls }
    };
    let of_pypi = |name, server: &str, arguments: &[&str], more: &str, calls| Driven {
        name,
        command: installed.program(server),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        more: more.to_owned(),
        reads: installed.reads(),
        calls,
    };
    vec![
        of_npm("everything", "server-everything", &["stdio"], "", of_everything("everything")),
        of_npm(
            "filesystem",
            "server-filesystem",
            &["."],
            "",
            vec![
                Call::new(
                    "mcp__filesystem__write_file",
                    json!({"path": "salt.txt", "content": "the sea is salt\n"}),
                    &["Successfully wrote"],
                ),
                Call::new("mcp__filesystem__read_text_file", json!({"path": "salt.txt"}), &["the sea is salt"]),
                Call::new("mcp__filesystem__list_directory", json!({"path": "."}), &["[FILE] salt.txt"]),
                Call::new("mcp__filesystem__read_text_file", json!({"path": "/etc/hostname"}), &["Error: ", "outside allowed directories"]),
            ],
        ),
        of_npm(
            "memory",
            "server-memory",
            &[],
            // By default it would store its file beside its program, where it cannot write.
            &format!("env = {{ MEMORY_FILE_PATH = {:?} }}\n", work.join("memory.jsonl")),
            vec![
                Call::new(
                    "mcp__memory__create_entities",
                    json!({"entities": [{"name": "sea", "entityType": "place", "observations": ["it is salt"]}]}),
                    &["it is salt"],
                ),
                Call::new("mcp__memory__search_nodes", json!({"query": "salt"}), &["sea"]),
            ],
        ),
        of_npm(
            "thinking",
            "server-sequential-thinking",
            &[],
            "",
            vec![Call::new(
                "mcp__thinking__sequentialthinking",
                json!({"thought": "The sea is salt.", "thoughtNumber": 1, "totalThoughts": 2, "nextThoughtNeeded": true}),
                &["thoughtHistoryLength"],
            )],
        ),
        of_pypi(
            "git",
            "mcp-server-git",
            &["--repository", "."],
            "",
            vec![
                Call::new("mcp__git__git_status", json!({"repo_path": "."}), &["On branch"]),
                Call::new("mcp__git__git_log", json!({"repo_path": ".", "max_count": 1}), &["the first of this repository"]),
                Call::new("mcp__git__git_show", json!({"repo_path": ".", "revision": "no-such-revision"}), &["Error: "]),
            ],
        ),
        of_pypi(
            "time",
            "mcp-server-time",
            &["--local-timezone", "UTC"],
            "",
            vec![
                Call::new(
                    "mcp__time__convert_time",
                    json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
                    &["T21:00:00+09:00"],
                ),
                Call::new("mcp__time__get_current_time", json!({"timezone": "Nowhere/Else"}), &["Error: "]),
            ],
        ),
        of_pypi(
            "fetch",
            "mcp-server-fetch",
            &["--ignore-robots-txt", "--allow-private-ips"],
            "network = true\n",
            vec![Call::new("mcp__fetch__fetch", json!({"url": page, "raw": true}), &["the sea is salt"])],
        ),
    ]
}
