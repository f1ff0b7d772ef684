//! A world for one scenario: a working folder, a home, a scripted server, and the binary in a clean environment.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use aime_scripted_server::{Reply, Script, ScriptedServer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A scenario that takes longer has failed.
const DEADLINE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(10);
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The surroundings of one scenario. Nothing outside its folder is read or written.
pub(crate) struct World {
    root: TempDir,
    captured: TempDir,
    server: Option<ScriptedServer>,
    variables: BTreeMap<String, String>,
    outside: BTreeMap<PathBuf, String>,
    runs: AtomicU32,
}

impl World {
    /// A world without any model.
    pub(crate) fn alone() -> Self {
        let root = TempDir::new().unwrap();
        for folder in ["work", "home", "config", "tmp"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        // No scenario fetches a model; nor is there one, since the home folder is new.
        // Most scripts answer as a one-shot planner does.
        let fixed = [("PATH", PATH), ("AIME_OFFLINE", "1"), ("AIME__PLANNING__ROUTE", "rules")];
        let mut variables = BTreeMap::from(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (name, folder) in [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("TMPDIR", "tmp")] {
            variables.insert(name.to_owned(), root.path().join(folder).display().to_string());
        }
        let mut world =
            Self { root, captured: TempDir::new().unwrap(), server: None, variables, outside: BTreeMap::new(), runs: AtomicU32::new(0) };
        world.outside = world.outside();
        world
    }

    /// A world with a model behind a scripted server.
    pub(crate) fn with(script: Script) -> Self {
        let mut world = Self::alone();
        world.serve(script);
        world
    }

    /// A world whose runs are led by one conversation.
    pub(crate) fn led(script: Script) -> Self {
        let mut world = Self::with(script);
        world.set("AIME__PLANNING__ROUTE", "auto");
        world
    }

    /// Has all tasks work in the working folder, so that a scenario sees and makes the files that their commands wait for.
    pub(crate) fn in_one_folder(mut self) -> Self {
        self.set("AIME__RUN__ISOLATION", "shared");
        self
    }

    /// Takes a new server in the place of the one before.
    pub(crate) fn serve(&mut self, script: Script) {
        let server = ScriptedServer::start_blocking(script);
        self.variables.insert("OPENAI_BASE_URL".to_owned(), server.url());
        self.server = Some(server);
    }

    /// Sets a variable for what follows.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// The project's settings.
    pub(crate) fn settings(self, text: &str) -> Self {
        self.file("aime.toml", text);
        self
    }

    /// The environment of its programs.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&String, &String)> {
        self.variables.iter()
    }

    pub(crate) fn server(&self) -> &ScriptedServer {
        self.server.as_ref().unwrap()
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The working folder.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Writes a file of the working folder.
    pub(crate) fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a plan of the working folder.
    pub(crate) fn plan(&self, name: &str, plan: &Value) {
        self.file(name, &plan.to_string());
    }

    /// A file of the working folder; empty when it is not there.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The user's own settings.
    pub(crate) fn user_settings(&mut self, text: &str) {
        self.user_file("config.toml", text);
    }

    /// A file that the user's own configuration folder holds from the start.
    pub(crate) fn user_file(&mut self, name: &str, text: &str) {
        let path = self.root.path().join("config/aime").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self.outside = self.outside();
    }

    /// Everything outside the working folder, with its content.
    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for folder in ["home", "config", "tmp"] {
            collect(&self.root.path().join(folder), &mut found);
        }
        // The temp folders of commands under way are no writing of the one that is looked at.
        found.retain(|path, _| !self.is_of_commands(path) && !self.is_of_offers(path));
        found
    }

    /// Returns true for the recorded offers of MCP servers, which no run can write, and for the folders that lead to them.
    fn is_of_offers(&self, path: &Path) -> bool {
        let offers = self.root.path().join("home/.local/state/aime/mcp-offers");
        path.starts_with(&offers) || offers.starts_with(path)
    }

    fn is_of_commands(&self, path: &Path) -> bool {
        let first = path.strip_prefix(self.root.path().join("tmp")).ok().and_then(|path| path.components().next());
        first.is_some_and(|first| first.as_os_str().to_string_lossy().starts_with("aime-"))
    }

    /// Whether commands have a temp folder.
    pub(crate) fn has_temp_folders(&self) -> bool {
        fs::read_dir(self.root.path().join("tmp")).unwrap().next().is_some()
    }

    /// Runs the command to its end.
    pub(crate) fn aime<S: AsRef<str>>(&self, arguments: impl IntoIterator<Item = S>) -> Ended {
        self.start(arguments).wait()
    }

    /// Runs the command with a text on its standard input.
    pub(crate) fn aime_reading<S: AsRef<str>>(&self, arguments: impl IntoIterator<Item = S>, input: &str) -> Ended {
        let file = self.captured.path().join("input");
        fs::write(&file, input).unwrap();
        let mut command = self.command();
        command.args(arguments.into_iter().map(|argument| argument.as_ref().to_owned())).stdin(File::open(file).unwrap());
        self.spawn(command).wait()
    }

    /// Starts the command.
    pub(crate) fn start<S: AsRef<str>>(&self, arguments: impl IntoIterator<Item = S>) -> Running<'_> {
        let mut command = self.command();
        command.args(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self.spawn(command)
    }

    /// The bare command, in the working folder and with nothing of the environment of the tests.
    pub(crate) fn command(&self) -> Command {
        self.program(env!("CARGO_BIN_EXE_aime"))
    }

    /// Another program in the same surroundings.
    #[expect(clippy::disallowed_methods, reason = "a scenario runs the built binary from outside")]
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.variables).current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// Starts a command whose output is kept in files, so that no pipe can be full.
    pub(crate) fn spawn(&self, mut command: Command) -> Running<'_> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let (stdout, stderr) = (self.captured.path().join(format!("{number}.out")), self.captured.path().join(format!("{number}.err")));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        let child = command.spawn().unwrap();
        Running { world: self, child, stdout, stderr, begun: Instant::now() }
    }

    /// Runs git in the working folder, and returns its standard output.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.program("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@b"]).args(arguments);
        let ended = self.spawn(command).wait();
        assert_eq!(ended.code, Some(0), "git {arguments:?}: {ended}");
        ended.stdout
    }

    /// Waits until a file of the working folder is there.
    pub(crate) fn wait_for_file(&self, name: &str) {
        wait_until(&format!("{name} is written"), || self.exists(name));
    }

    /// Waits until the server has got so many requests.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        assert!(self.server().wait_for_requests_blocking(count, DEADLINE), "only {} requests came", self.server().requests().len());
    }

    /// The requests of actors whose messages hold this text.
    pub(crate) fn actor_requests(&self, text: &str) -> Vec<Value> {
        let offers_tools = |request: &Value| request.get("tools").is_some_and(|tools| !tools.as_array().unwrap().is_empty());
        self.server().requests().into_iter().filter(|request| offers_tools(request) && messages_text(request).contains(text)).collect()
    }

    /// The requests for a structured answer of this name.
    pub(crate) fn schema_requests(&self, name: &str) -> Vec<Value> {
        let named = |request: &Value| request.pointer("/response_format/json_schema/name").and_then(Value::as_str) == Some(name);
        self.server().requests().into_iter().filter(named).collect()
    }
}

/// A command under way.
pub(crate) struct Running<'a> {
    world: &'a World,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    begun: Instant,
}

impl Running<'_> {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    #[expect(clippy::disallowed_methods, reason = "signals are what the scenario is about")]
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success(), "no {name} could be sent");
    }

    /// Kills it as a crash does.
    pub(crate) fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.wait()
    }

    /// Waits until it has printed this.
    pub(crate) fn shows(&self, text: &str) {
        wait_until(&format!("{text:?} is shown, not {}", self.stdout()), || self.stdout().contains(text));
    }

    /// What it has printed so far.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stdout).unwrap()).into_owned()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end; kills it, and fails, when it takes too long.
    pub(crate) fn wait(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.begun.elapsed() > DEADLINE {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                let ended = self.ended(None);
                panic!("the command did not end\n{ended}");
            }
            thread::sleep(LOOK);
        };
        let ended = self.ended(Some(status));
        assert!(!ended.stderr.contains("panicked"), "a panic\n{ended}");
        assert!(!ended.stdout.contains("panicked"), "a panic\n{ended}");
        let outside = self.world.outside();
        assert_eq!(outside, self.world.outside, "something was written outside the working folder\n{ended}");
        ended
    }

    fn ended(&self, status: Option<ExitStatus>) -> Ended {
        Ended {
            code: status.and_then(|status| status.code()),
            stdout: String::from_utf8_lossy(&fs::read(&self.stdout).unwrap()).into_owned(),
            stderr: String::from_utf8_lossy(&fs::read(&self.stderr).unwrap()).into_owned(),
            unmatched: self.world.server.as_ref().map(ScriptedServer::unmatched).unwrap_or_default(),
        }
    }
}

/// What a command came to.
pub(crate) struct Ended {
    /// The exit code; none after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Requests that the script does not know.
    unmatched: Vec<String>,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, unmatched } = self;
        write!(f, "exit code {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n--- requests without a reply\n{}", unmatched.join("\n"))
    }
}

impl Ended {
    /// Fails unless this is the exit code.
    #[track_caller]
    pub(crate) fn must(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "exit code\n{self}");
        self
    }

    /// Fails unless standard error holds each text.
    #[track_caller]
    pub(crate) fn stderr_contains(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "stderr does not tell {text:?}\n{self}");
        }
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is not JSON: {error}\n{self}"))
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON: {error}: {line}\n{self}"));
        self.stdout.lines().map(read).collect()
    }

    /// The events among the JSON lines of a type.
    #[track_caller]
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["type"] == kind).collect()
    }

    /// The result that ends the JSON lines.
    #[track_caller]
    pub(crate) fn last(&self) -> Value {
        self.lines().pop().unwrap_or_else(|| panic!("no result\n{self}"))
    }
}

/// Waits for a condition that must come true.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "in vain: {what}");
        thread::sleep(LOOK);
    }
}

/// Everything that stands in the messages of a request.
pub(crate) fn messages_text(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// How many assistant messages a request holds.
pub(crate) fn turn(request: &Value) -> usize {
    request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant").count()
}

/// The task of a result.
#[track_caller]
pub(crate) fn task<'a>(result: &'a Value, id: &str) -> &'a Value {
    let found = result["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id);
    found.unwrap_or_else(|| panic!("no task {id} in {result:#}"))
}

/// An actor task of a plan.
pub(crate) fn actor(id: &str, description: &str, dependencies: &[&str]) -> Value {
    json!({"id": id, "name": id, "kind": "actor", "description": description, "dependencies": dependencies, "profile": "sisyphus"})
}

/// A tool task of a plan.
pub(crate) fn tool(id: &str, tool: &str, parameters: Value, dependencies: &[&str]) -> Value {
    json!({"id": id, "name": id, "kind": "tool", "tool": tool, "parameters": parameters, "dependencies": dependencies})
}

/// A plan of these tasks.
pub(crate) fn plan(tasks: &[Value]) -> Value {
    json!({"goal": "the goal of this scenario", "strategic": {"approach": "as planned"}, "tasks": tasks})
}

/// The reply of an actor that has done its task.
pub(crate) fn done(message: &str) -> Reply {
    Reply::call("terminate", json!({"status": "success", "message": message}))
}

/// The reply of an actor that gives up.
pub(crate) fn gives_up(message: &str) -> Reply {
    Reply::call("terminate", json!({"status": "failure", "message": message}))
}

/// The reply of an actor that runs a command.
pub(crate) fn bash(command: &str) -> Reply {
    Reply::call("bash", json!({"command": command}))
}

/// The reply of an actor that writes a file.
pub(crate) fn write(path: &str, content: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": content}))
}

/// Adds the files below a folder. A process that still ends may remove a folder meanwhile.
fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        entries => entries.unwrap(),
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
            if path.is_dir() {
                found.insert(path, "a folder".to_owned());
            }
        } else {
            let content = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            found.insert(path, content.unwrap_or_default());
        }
    }
}
