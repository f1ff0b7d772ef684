//! Logging in to an MCP server that asks for it: a server and its authorisation server in one, as bare as the protocol allows.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
};

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, done, messages_text, wait_until};

/// What the server knows of logins.
#[derive(Default)]
struct Known {
    /// How often tokens were given: the last number is good.
    given: u32,
    /// Nothing that was given is good any more.
    revoked: bool,
    /// The person says no.
    refuses: bool,
    /// It greets whoever comes, and asks at a call. Only what it says then leads to its authorisation server.
    asks_at_calls: bool,
    /// A right that calls need.
    needs: Option<&'static str>,
    /// It registers nobody, and knows one client, by its id and secret.
    knows_one_client: bool,
    /// The rights of the tokens.
    granted: String,
    /// Seconds that a token is good for.
    expires_in: u64,
    challenge: String,
    /// What was asked, a line each.
    record: Vec<String>,
}

/// Id and secret of the client that a server knows, in base64: `team-client:our-client-secret`.
const CLIENT: &str = "dGVhbS1jbGllbnQ6b3VyLWNsaWVudC1zZWNyZXQ=";

/// A server, as long as this process lives.
#[derive(Clone)]
struct Authority {
    address: SocketAddr,
    known: Arc<Mutex<Known>>,
}

impl Authority {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = Self { address: listener.local_addr().unwrap(), known: Arc::default() };
        authority.known.lock().unwrap().expires_in = 1;
        let here = authority.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let here = here.clone();
                std::thread::spawn(move || here.answer(stream));
            }
        });
        authority
    }

    fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn answer(&self, mut stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let header = |name: &str| {
            let found = lines.iter().filter_map(|line| line.split_once(": ")).find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).unwrap();
        let mut words = lines[0].split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (status, headers, text) = self.route((method, path, query), &header("authorization"), &body);
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", text.len());
        stream.write_all((head + &text).as_bytes()).ok()
    }

    fn route(&self, (method, path, query): (&str, &str, &str), authorization: &str, body: &str) -> (&'static str, String, String) {
        let mut known = self.known.lock().unwrap();
        let json_type = || "Content-Type: application/json\r\n".to_owned();
        let good = |document: Value| ("200 OK", json_type(), document.to_string());
        let field = |text: &str, name: &str| {
            let found = text.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
            found.map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        match (method, path) {
            ("POST", "/mcp") if known.asks_at_calls && !body.contains("tools/call") => self.speaks(body),
            ("POST", "/mcp") if known.revoked || known.given == 0 || authorization != format!("Bearer access-{}", known.given) => {
                let (place, scope) = match known.asks_at_calls {
                    true => (self.at("/elsewhere"), ", scope=\"weather:look\""),
                    false => (self.at("/.well-known/oauth-protected-resource"), ""),
                };
                ("401 Unauthorized", format!("WWW-Authenticate: Bearer resource_metadata=\"{place}\"{scope}\r\n"), String::new())
            }
            ("POST", "/mcp") if known.needs.is_some_and(|right| !known.granted.contains(right)) => {
                let (place, right) = (self.at("/elsewhere"), known.needs.unwrap_or_default());
                let demand = format!("Bearer error=\"insufficient_scope\", scope=\"{right}\", resource_metadata=\"{place}\"");
                ("403 Forbidden", format!("WWW-Authenticate: {demand}\r\n"), String::new())
            }
            ("POST", "/mcp") => self.speaks(body),
            ("GET", "/.well-known/oauth-protected-resource") if known.asks_at_calls => ("404 Not Found", String::new(), String::new()),
            ("GET", "/.well-known/oauth-authorization-server") if known.asks_at_calls => ("404 Not Found", String::new(), String::new()),
            ("GET", "/elsewhere") => good(json!({"resource": self.at("/mcp"), "authorization_servers": [self.at("/authority")]})),
            ("GET", "/.well-known/oauth-protected-resource") => {
                good(json!({"resource": self.at("/mcp"), "authorization_servers": [self.at("")]}))
            }
            ("GET", "/.well-known/oauth-authorization-server") if known.knows_one_client => good(json!({
                "issuer": self.at(""), "authorization_endpoint": self.at("/authorize"), "token_endpoint": self.at("/token"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            })),
            ("GET", "/.well-known/oauth-authorization-server" | "/.well-known/oauth-authorization-server/authority") => good(json!({
                "issuer": self.at(path.strip_prefix("/.well-known/oauth-authorization-server").unwrap()), "authorization_endpoint": self.at("/authorize"), "token_endpoint": self.at("/token"),
                "registration_endpoint": self.at("/register"), "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            })),
            ("POST", "/register") if !known.knows_one_client => {
                let asked: Value = serde_json::from_str(body).unwrap();
                known.record.push(format!("register {}", asked["client_name"]));
                ("201 Created", json_type(), json!({"client_id": "client-7", "redirect_uris": asked["redirect_uris"]}).to_string())
            }
            ("GET", "/authorize") => {
                let (method, scope) = (field(query, "code_challenge_method"), field(query, "scope").replace("%3A", ":"));
                let client = field(query, "client_id");
                let client = if known.knows_one_client { client.as_str() } else { "" };
                known.record.push(format!("authorize {method} {scope}{client}").trim_end().to_owned());
                known.granted = scope.replace('+', " ").replace("%20", " ");
                known.challenge = field(query, "code_challenge");
                let (back, state) = (field(query, "redirect_uri").replace("%3A", ":").replace("%2F", "/"), field(query, "state"));
                let what = if known.refuses { "error=access_denied" } else { "code=code-7" };
                ("302 Found", format!("Location: {back}?{what}&state={state}\r\n"), String::new())
            }
            ("POST", "/token") => {
                let grant = field(body, "grant_type");
                let is_client = authorization == format!("Basic {CLIENT}");
                let fits = match grant.as_str() {
                    _ if known.knows_one_client && !is_client => false,
                    "authorization_code" if known.knows_one_client => {
                        field(body, "code") == "code-7" && field(body, "code_verifier").len() >= 43
                    }
                    "authorization_code" => {
                        let asked = ["code", "client_id"].map(|name| field(body, name));
                        asked == ["code-7", "client-7"] && field(body, "code_verifier").len() >= 43 && known.challenge.len() == 43
                    }
                    _ => !known.revoked && field(body, "refresh_token") == format!("refresh-{}", known.given),
                };
                known.record.push(format!("{grant} {fits}"));
                if !fits {
                    return ("400 Bad Request", json_type(), json!({"error": "invalid_grant"}).to_string());
                }
                known.given += 1;
                let (access, refresh) = (format!("access-{}", known.given), format!("refresh-{}", known.given));
                let expires_in = known.expires_in;
                let scope = known.granted.clone();
                let mut token = json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": expires_in});
                if !scope.is_empty() {
                    token["scope"] = scope.into();
                }
                good(token)
            }
            _ => ("404 Not Found", String::new(), String::new()),
        }
    }

    /// Speaks as a server for the weather.
    fn speaks(&self, body: &str) -> (&'static str, String, String) {
        match speak(&serde_json::from_str(body).unwrap()) {
            Some(document) => ("200 OK", "Content-Type: application/json\r\n".to_owned(), document.to_string()),
            None => ("202 Accepted", String::new(), String::new()),
        }
    }

    fn record(&self) -> Vec<String> {
        self.known.lock().unwrap().record.clone()
    }
}

/// What a server for the weather says.
fn speak(asked: &Value) -> Option<Value> {
    let result = match asked["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "weather", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "it rains"}]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

/// Gets a page as a browser does, and gives where it leads to.
fn visit(address: &str) -> Option<String> {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().find_map(|line| line.strip_prefix("Location: ")).map(str::to_owned)
}

/// A server that asks for a login, and a world that knows it.
fn world(script: Script) -> (Authority, World) {
    let authority = Authority::start();
    let mut world = World::with(script);
    world.user_settings(&format!(
        "[permissions]\napprove = \"all\"\n[mcp.servers.weather]\nurl = \"{}\"\ntrusted = true\n",
        authority.at("/mcp")
    ));
    let state = world.root().join("state").display().to_string();
    world.set("XDG_STATE_HOME", &state);
    (authority, world)
}

/// Logs in as a person does who says yes, or no.
fn log_in(world: &World) -> crate::harness::Ended {
    let running = world.start(["-vv", "mcp", "login", "weather"]);
    running.shows("/authorize?");
    wait_until("the address is whole", || running.stdout().ends_with('\n'));
    let back = visit(running.stdout().trim()).expect("the person is led back");
    assert!(visit(&back.replace("/callback", "/favicon.ico")).is_none());
    assert!(visit(&back).is_none());
    running.wait()
}

/// Whether a token stands in what was said, or in what runs keep.
fn has_token(world: &World, output: &str) -> bool {
    let tokens = |text: &str| ["access-", "refresh-", "code-7", "our-client-secret", CLIENT].iter().any(|token| text.contains(token));
    let kept = fs::read_dir(world.path(".aime")).into_iter().flatten().flatten().filter(|entry| entry.path().is_file());
    tokens(output) || kept.into_iter().any(|entry| tokens(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap())))
}

// Requirement: 8.21
#[test]
fn a_person_logs_in_and_the_token_is_used_renewed_and_forgotten() {
    let script = Script::new().on(When::tools().and_turn(0), [Reply::call("mcp__weather__look", json!({}))]);
    let (authority, world) = world(script.on(When::tools(), [done("it rains")]));
    world
        .aime(["mcp", "test", "weather"])
        .must(1)
        .stderr_contains(&["requires a login: log in to it", "log in with `aime mcp login weather`"]);

    let ended = log_in(&world).must(0).stderr_contains(&["logged in to weather"]);
    assert!(!has_token(&world, &ended.to_string()), "{ended}");
    assert_eq!(authority.record(), ["register \"aime\"", "authorize S256", "authorization_code true"]);
    let file = world.root().join("state/aime/mcp/weather.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&file).unwrap().contains("access-1"));
    assert!(world.aime(["mcp", "list"]).must(0).stdout.contains("logged in"));

    // It is good for a second, and so renewed before it is used.
    let ended = world.aime(["-vv", "run", "what is the weather?", "--mode", "direct"]).must(0);
    assert!(messages_text(&world.server().requests()[1]).contains("it rains"), "{ended}");
    assert!(!has_token(&world, &ended.to_string()), "{ended}");
    assert!(authority.record().contains(&"refresh_token true".to_owned()), "{:?}", authority.record());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    authority.known.lock().unwrap().revoked = true;
    world.aime(["mcp", "test", "weather"]).must(1).stderr_contains(&["log in with `aime mcp login weather`"]);
    world.aime(["mcp", "logout", "weather"]).must(0).stderr_contains(&["forgotten"]);
    assert!(!file.exists());
    world.aime(["mcp", "logout", "weather"]).must(0).stderr_contains(&["there was no login"]);
}

#[test]
fn a_server_that_asks_at_a_call_gets_the_login_that_it_demands() {
    let script = Script::new().on(When::tools().and_turn(0), [Reply::call("mcp__weather__look", json!({}))]);
    let (authority, world) = world(script.on(When::tools(), [done("I have looked")]));
    authority.known.lock().unwrap().asks_at_calls = true;
    authority.known.lock().unwrap().expires_in = 3_600;
    world.aime(["mcp", "test", "weather"]).must(0);
    let look = || {
        world.aime(["run", "what is the weather?", "--mode", "direct"]).must(0);
        messages_text(world.server().requests().last().unwrap())
    };
    let message = look();
    assert!(message.contains("requires a login: log in to it"), "{message}");
    assert!(!world.aime(["mcp", "list"]).must(0).stdout.contains("logged in"), "a demand is no login");

    log_in(&world).must(0);
    assert!(authority.record().contains(&"authorize S256 weather:look".to_owned()), "{:?}", authority.record());
    assert!(look().contains("it rains"));

    authority.known.lock().unwrap().needs = Some("weather:rain");
    let message = look();
    assert!(message.contains("refused the request: the login lacks the scopes `weather:rain`; log in again to request them"), "{message}");
    log_in(&world).must(0);
    let last = authority.record().into_iter().rfind(|line| line.starts_with("authorize")).unwrap();
    assert!(last.contains("weather:look") && last.contains("weather:rain"), "what it had is kept: {last}");
    assert!(look().contains("it rains"));
}

// Requirement: 8.21
#[test]
fn a_login_goes_to_no_other_address() {
    let (_, mut world) = world(Script::new());
    log_in(&world).must(0);
    let other = Authority::start();
    other.known.lock().unwrap().given = 1;
    world.user_settings(&format!("[mcp.servers.weather]\nurl = \"{}\"\n", other.at("/mcp")));
    world.aime(["mcp", "test", "weather"]).must(1).stderr_contains(&["requires a login"]);
    let noted = ["without tools: the MCP server `weather` requires a login", "hint: log in with `aime mcp login weather`"];
    world.aime(["tools", "list"]).must(0).stderr_contains(&noted);
    assert!(!world.aime(["mcp", "list"]).must(0).stdout.contains("logged in"));
}

// Requirement: 8.21
#[test]
fn a_login_that_is_refused_or_makes_no_sense_is_told() {
    let (authority, mut world) = world(Script::new());
    authority.known.lock().unwrap().refuses = true;
    log_in(&world).must(1).stderr_contains(&["the login at the MCP server `weather` failed: it was refused: access_denied"]);
    assert!(!world.root().join("state/aime/mcp/weather.json").exists());
    world.user_settings("[mcp.servers.clock]\ncommand = \"sh\"\n[mcp.servers.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    world.aime(["mcp", "login", "clock"]).must(2).stderr_contains(&["asks for no login"]);
    world.aime(["mcp", "login", "nowhere"]).must(2).stderr_contains(&["there is no MCP server `nowhere`"]);
    world.aime(["mcp", "login", "gone"]).must(1).stderr_contains(&["the login at the MCP server `gone` failed"]);
}

/// The authorisation server registers nobody. The secret of the client stays in its variable, and is there for each renewal.
// Requirement: 8.21
#[test]
fn a_client_that_is_registered_beforehand_logs_in() {
    let script = Script::new().on(When::tools().and_turn(0), [Reply::call("mcp__weather__look", json!({}))]);
    let (authority, mut world) = world(script.on(When::tools(), [done("it rains")]));
    authority.known.lock().unwrap().knows_one_client = true;
    let ended = world.aime(["mcp", "login", "weather"]).must(1);
    assert!(ended.to_string().contains("the login at the MCP server `weather` failed"), "{ended}");

    let settings = format!("[permissions]\napprove = \"all\"\n[mcp.servers.weather]\nurl = \"{}\"\ntrusted = true\n", authority.at("/mcp"));
    world.user_settings(&format!("{settings}client_id = \"team-client\"\nclient_secret_env = \"WEATHER_CLIENT\"\n"));
    world.aime(["mcp", "test", "weather"]).must(2).stderr_contains(&["the variable WEATHER_CLIENT is not set"]);
    world.set("WEATHER_CLIENT", "our-client-secret");
    let ended = log_in(&world).must(0).stderr_contains(&["logged in to weather"]);
    assert!(!has_token(&world, &ended.to_string()), "{ended}");
    let file = world.root().join("state/aime/mcp/weather.json");
    assert!(!fs::read_to_string(&file).unwrap().contains("our-client-secret"));

    // Its token is good for a second, and renewed with the secret.
    let ended = world.aime(["-vv", "run", "what is the weather?", "--mode", "direct"]).must(0);
    assert!(messages_text(&world.server().requests()[1]).contains("it rains"), "{ended}");
    assert!(!has_token(&world, &ended.to_string()), "{ended}");
    let record = authority.record();
    assert_eq!(record[..2], ["authorize S256 team-client", "authorization_code true"]);
    assert!(record.len() > 2 && record[2..].iter().all(|line| line == "refresh_token true"), "{record:?}");

    // The login of one client is not that of another.
    world.user_settings(&format!("{settings}client_id = \"other-client\"\n"));
    world.aime(["mcp", "test", "weather"]).must(1).stderr_contains(&["log in with `aime mcp login weather`"]);
}
