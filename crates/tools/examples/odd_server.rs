//! An MCP server for tests with unusual behaviour: odd names and schemas, endless calls, questions, changing lists, sudden exits.
//!
//! `odd_server stdio [--tools N] [--noise] [--mute] [--die WORDS]`, or `odd_server http [--tools N] [--token T]`, which prints its address.
#![expect(clippy::disallowed_methods, reason = "it starts what has to be found and ended, and reads what it was given")]
#![expect(clippy::zombie_processes, reason = "what it starts and leaves is to be found by others")]
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a program for tests may fail loudly")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{extract::Request, http::StatusCode, middleware::Next, response::IntoResponse};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequestParams, ElicitationAction, ErrorCode,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::{StreamableHttpService, async_rw::AsyncRwTransport, streamable_http_server::session::local::LocalSessionManager},
};
use serde_json::{Map, Value, json};

/// Number of tools on a page of the list.
const PAGE: usize = 50;

#[derive(Clone)]
struct OddServer {
    more: usize,
    changed: Arc<AtomicBool>,
    /// Set once it has asked for a page.
    page_asked: Arc<AtomicBool>,
}

fn tool(name: &str, description: &str, schema: Value) -> Tool {
    Tool::new(name.to_owned(), description.to_owned(), schema.as_object().cloned().unwrap())
}

fn text(words: impl Into<String>) -> CallToolResponse {
    CallToolResponse::Complete(CallToolResult::success(vec![ContentBlock::text(words.into())]))
}

impl OddServer {
    fn tools(&self) -> Vec<Tool> {
        let none = || json!({"type": "object", "properties": {}});
        let mut tools = vec![
            tool("echo", "Give back a text", json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})),
            tool(
                "sum",
                "Add two whole numbers",
                json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}),
            ),
            tool("fails", "Always fail", none()),
            tool("die", "End in the middle of the call", none()),
            tool("endless", "Never answer", none()),
            tool(
                "slow",
                "Tell of progress, and answer in the end",
                json!({"type": "object", "properties": {"beats": {"type": "integer"}}}),
            ),
            tool(
                "asks",
                "Ask the person for a name and an age, or to open a page",
                json!({"type": "object", "properties": {"page": {"type": "boolean"}}}),
            ),
            tool("change", "Offer another tool from now on", none()),
            tool("pid", "Tell the id of the server's process", none()),
            tool("starts", "Start a process in a session of its own", none()),
            tool("environment", "Tell a variable and the folder", json!({"type": "object", "properties": {"name": {"type": "string"}}})),
            tool("files/read.all", "A name with a slash and a dot", none()),
            tool("files.read/all", "A name that looks the same", none()),
            tool("読む", "A name in another script", none()),
            tool(&format!("long_{}", "x".repeat(90)), "A long name", none()),
            tool(
                "elsewhere",
                "A schema that is elsewhere",
                json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}),
            ),
        ];
        tools.extend((0..self.more).map(|number| {
            let words = ["order", "cancel", "list", "weigh", "paint"].get(number % 5).unwrap();
            tool(&format!("{words}_thing_{number:03}"), &format!("{words} the thing number {number}"), none())
        }));
        if self.changed.load(Ordering::Relaxed) {
            tools.push(tool("later", "A tool that came later", none()));
        }
        tools
    }

    /// Refuses the first call until a person has opened a page.
    fn ask_page(&self) -> Result<CallToolResponse, ErrorData> {
        if self.page_asked.swap(true, Ordering::Relaxed) {
            return Ok(text("The page was opened."));
        }
        let page = json!({"mode": "url", "url": "https://shop.example/confirm", "message": "Confirm your account", "elicitationId": "e-1"});
        Err(ErrorData::new(ErrorCode(-32042), "confirm your account first", Some(json!({"elicitations": [page]}))))
    }

    async fn ask(&self, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "description": "Your name"}, "age": {"type": "integer", "minimum": 0}}});
        let asked = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: "Who are you?".to_owned(),
            requested_schema: serde_json::from_value(schema).unwrap(),
        };
        let answer = context.peer.create_elicitation(asked).await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(match answer.action {
            ElicitationAction::Accept => text(format!("You are {}", answer.content.unwrap_or_default())),
            _ => text("You do not say."),
        })
    }
}

impl ServerHandler for OddServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(&self, page: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let begin: usize = page.and_then(|page| page.cursor).and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let all = self.tools();
        let mut result = ListToolsResult::with_all_items(all.iter().skip(begin).take(PAGE).cloned().collect());
        result.next_cursor = (begin + PAGE < all.len()).then(|| (begin + PAGE).to_string());
        Ok(result)
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let parameters = call.arguments.unwrap_or_default();
        let word = |name: &str| parameters.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |name: &str| parameters.get(name).and_then(Value::as_i64).unwrap_or_default();
        Ok(match call.name.as_ref() {
            "echo" => text(word("text")),
            "sum" => CallToolResponse::Complete(CallToolResult::structured(json!({"sum": number("a") + number("b")}))),
            "fails" => CallToolResponse::Complete(CallToolResult::error(vec![ContentBlock::text("it is Tuesday")])),
            "die" => {
                eprintln!("dying as I was told");
                std::process::exit(3)
            }
            "endless" => {
                std::fs::write("endless.txt", "begun\n").unwrap();
                context.ct.cancelled().await;
                std::fs::write("endless.txt", "cancelled\n").unwrap();
                text("too late")
            }
            "slow" => {
                for beat in 1..=number("beats") {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    if let Some(token) = context.meta.get_progress_token() {
                        let news =
                            ProgressNotificationParam::new(token, beat as f64).with_total(number("beats") as f64).with_message("beat");
                        context.peer.notify_progress(news).await.unwrap();
                    }
                }
                text("done")
            }
            "asks" if parameters.get("page") == Some(&json!(true)) => self.ask_page()?,
            "asks" => self.ask(&context).await?,
            "change" => {
                self.changed.store(true, Ordering::Relaxed);
                context.peer.notify_tool_list_changed().await.unwrap();
                text("changed")
            }
            "pid" => text(std::process::id().to_string()),
            "starts" => {
                let child = std::process::Command::new("setsid").args(["sleep", "600"]).spawn().unwrap();
                text(child.id().to_string())
            }
            "environment" => {
                let value = std::env::var(word("name")).unwrap_or_else(|_| "(unset)".to_owned());
                text(format!("{value} in {}", std::env::current_dir().unwrap().display()))
            }
            other if self.tools().iter().any(|known| known.name == other) => text(format!("this is {other}")),
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("memo://one", "memo")]))
    }

    async fn read_resource(
        &self,
        asked: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match asked.uri.as_str() {
            "memo://one" => Ok(ReadResourceResult::new(vec![ResourceContents::text("buy milk", "memo://one")]).into()),
            other => Err(ErrorData::resource_not_found(format!("no resource {other}"), None)),
        }
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new("greet", Some("Greet somebody"), Some(vec![name]))]))
    }

    async fn get_prompt(&self, asked: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        let name = asked.arguments.as_ref().and_then(|known: &Map<String, Value>| known.get("name")?.as_str().map(str::to_owned));
        let words = format!("Say hello to {}.", name.unwrap_or_default());
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, words)]).into())
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| arguments.iter().position(|known| known == flag).and_then(|at| arguments.get(at + 1)).cloned();
    if let Some(words) = after("--die") {
        eprintln!("{words}");
        std::process::exit(4);
    }
    if arguments.iter().any(|known| known == "--mute") {
        std::future::pending::<()>().await;
    }
    let server = OddServer {
        more: after("--tools").and_then(|number| number.parse().ok()).unwrap_or(0),
        changed: Arc::default(),
        page_asked: Arc::default(),
    };
    if arguments.iter().any(|known| known == "stdio") {
        if arguments.iter().any(|known| known == "--noise") {
            println!("Welcome! This is no JSON.");
        }
        eprintln!("odd server at your service");
        let transport = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout());
        server.serve(transport).await.unwrap().waiting().await.unwrap();
        return;
    }
    let token = after("--token");
    let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::new(LocalSessionManager::default()), Default::default());
    let guarded = axum::middleware::from_fn(move |request: Request, next: Next| {
        let known = request.headers().get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let wanted = token.as_ref().map(|token| format!("Bearer {token}"));
        async move {
            if wanted.is_some() && known != wanted {
                return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response();
            }
            next.run(request).await
        }
    });
    let app = axum::Router::new().nest_service("/mcp", service).layer(guarded);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", after("--port").map_or(0, |port| port.parse().unwrap()))).await.unwrap();
    println!("http://{}/mcp", listener.local_addr().unwrap());
    axum::serve(listener, app).await.unwrap();
}
