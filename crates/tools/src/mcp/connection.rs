//! Connection to one server.

use std::{sync::Arc, time::Duration};

use aime_messages::{Message, message};
use aime_sandbox::{Service, ServiceRequest};
use rmcp::{
    RoleClient,
    model::{ErrorData, ProtocolVersion, SubscriptionFilter},
    service::{ClientInitializeError, ClientLifecycleMode, Peer, RunningService, serve_client_with_lifecycle},
    transport::{StreamableHttpClientTransport, async_rw::AsyncRwTransport, auth::AuthClient},
};
use tokio::{task::JoinHandle, time::timeout};

use super::{
    McpAbilities, McpError, McpPlace, McpServerSettings, McpTransport, auth,
    challenge::Challenge,
    handler::Handler,
    http,
    listed::{MAX_ENTRIES, one_line},
    pages::List,
};
use crate::ToolError;

/// Maximum bytes kept of a server's standard error.
const ERROR_LIMIT: usize = 16 * 1024;
/// Maximum characters of a server's name and version.
const MAX_SOFTWARE: usize = 200;
/// Maximum characters of the error with which a server answers an initialization.
const MAX_MESSAGE: usize = 500;
/// Time that a server has to exit by itself.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for a server that refused the handshake to write the reason to its standard error and to close it.
const REASON_LIMIT: Duration = Duration::from_secs(1);

/// Connection to an initialized server. Dropping it kills the server's process.
pub(super) struct Connection {
    running: RunningService<RoleClient, Arc<Handler>>,
    process: Option<std::sync::Mutex<Service>>,
    handler: Arc<Handler>,
    pub(super) offer: McpAbilities,
    /// Task that receives change notifications from servers that send them only to subscribers.
    listens: Option<JoinHandle<()>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(listens) = &self.listens {
            listens.abort();
        }
    }
}

impl Connection {
    /// Starts the server if it is a program, initializes it, and requests its offer.
    pub(super) async fn open(settings: &McpServerSettings, place: &McpPlace) -> Result<Self, McpError> {
        // Try the initialization that every server understands first; a server that only supports the newer one rejects it at once.
        let newer = || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
        let first = match Self::greet(settings, place, ClientLifecycleMode::Initialize).await {
            Err(Refusal::Answered { message, .. }) => message,
            Err(Refusal::Failed(error)) => return Err(error),
            Ok(connection) => return Ok(connection),
        };
        // The process of the first attempt has ended here, because two may not be able to run at once.
        match Self::greet(settings, place, newer()).await {
            Err(Refusal::Answered { process, .. }) => {
                wait_for_reason(&process).await;
                Err(broken(settings, &format!("it refuses the initialization: {first}"), &process))
            }
            Err(Refusal::Failed(McpError::Handshake { server, reason, stderr, hint })) => {
                let reason = format!("{reason}; it refused another initialization: {first}");
                Err(McpError::Handshake { server, reason, stderr, hint })
            }
            Err(Refusal::Failed(error)) => Err(error),
            Ok(connection) => Ok(connection),
        }
    }

    async fn greet(settings: &McpServerSettings, place: &McpPlace, lifecycle: ClientLifecycleMode) -> Result<Self, Refusal> {
        let handler = Arc::new(Handler::new(&settings.name));
        let asks = matches!(lifecycle, ClientLifecycleMode::Discover { .. });
        let mut process = None;
        let limit = settings.start_limit;
        let running = match &settings.transport {
            McpTransport::Stdio { program, arguments, environment, confinement } => {
                let mut all = place.environment.as_ref().clone();
                all.extend(environment.clone());
                let request = ServiceRequest {
                    program: program.clone(),
                    arguments: arguments.clone(),
                    working_folder: place.working_folder.clone(),
                    environment: all,
                    error_limit: ERROR_LIMIT,
                    confinement: confinement.clone(),
                };
                let started = Service::start(request).map_err(|source| McpError::Start { server: settings.name.clone(), source });
                let mut service = started.map_err(Refusal::Failed)?;
                let streams = service.streams();
                process = Some(std::sync::Mutex::new(service));
                let Some((output, input)) = streams else { return Err(Refusal::Failed(broken(settings, "no streams", &process))) };
                let transport = AsyncRwTransport::new_client(output, input);
                timeout(limit, serve_client_with_lifecycle(Arc::clone(&handler), transport, lifecycle)).await
            }
            McpTransport::Http { url, bearer, login, headers } => {
                let fault = |reason: String| McpError::Settings { server: settings.name.clone(), reason };
                let (client, config) = http::client(url, bearer.as_ref(), headers).map_err(|reason| Refusal::Failed(fault(reason)))?;
                let logged_in = match login.as_ref().filter(|_| bearer.is_none()) {
                    Some(login) => match timeout(limit, auth::manager(url, login)).await {
                        Ok(found) => found.map_err(|error| Refusal::Failed(broken(settings, &chain(&error), &process)))?,
                        Err(_) => return Err(Refusal::Failed(slow(settings, &process))),
                    },
                    None => None,
                };
                let client = match logged_in {
                    Some(manager) => http::Client::LoggedIn(AuthClient::new(client, manager)),
                    None => http::Client::Plain(client),
                };
                let transport = StreamableHttpClientTransport::with_client(client, config);
                timeout(limit, serve_client_with_lifecycle(Arc::clone(&handler), transport, lifecycle)).await
            }
        };
        let running = match running {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => {
                if let Some(error) = json_rpc_error(&error) {
                    let message = one_line(&error.message).chars().take(MAX_MESSAGE).collect();
                    return Err(Refusal::Answered { message, process: Box::new(process) });
                }
                if let Some(challenge) = Challenge::of_greeting(&error) {
                    return Err(Refusal::Failed(challenge.into_error(settings)));
                }
                wait_for_reason(&process).await;
                return Err(Refusal::Failed(broken(settings, &chain(&error), &process)));
            }
            Err(_) => return Err(Refusal::Failed(slow(settings, &process))),
        };
        let mut connection = Self { running, process, handler, offer: McpAbilities::default(), listens: None };
        connection.offer = connection.ask_offer(settings).await.map_err(Refusal::Failed)?;
        if asks && connection.offer.changes {
            connection.listens = Some(tokio::spawn(listen(connection.peer().clone(), Arc::clone(&connection.handler))));
        }
        Ok(connection)
    }

    /// Requests the tools, resources and prompts of the server.
    pub(super) async fn ask_offer(&self, settings: &McpServerSettings) -> Result<McpAbilities, McpError> {
        let peer = self.peer();
        let mut offer = McpAbilities::default();
        let Some(server) = peer.peer_info() else {
            return Err(broken(settings, "it has not told who it is", &self.process));
        };
        let software = server.server_info.as_ref().map(|known| one_line(&format!("{} {}", known.name, known.version)));
        offer.software = software.unwrap_or_default().chars().take(MAX_SOFTWARE).collect();
        offer.resources = server.capabilities.resources.is_some();
        offer.prompts = server.capabilities.prompts.is_some();
        let Some(tools) = &server.capabilities.tools else { return Ok(offer) };
        offer.changes = tools.list_changed.unwrap_or(false);
        let all = List::Tools.read(MAX_ENTRIES, |request| peer.send_request(request));
        match timeout(settings.start_limit, all).await {
            Ok(Ok(listed)) => {
                offer.take_listed(listed, settings);
                Ok(offer)
            }
            Ok(Err(error)) => Err(match Challenge::of_request(&error) {
                Some(challenge) => challenge.into_error(settings),
                None => broken(settings, &format!("it does not list its tools: {error}"), &self.process),
            }),
            Err(_) => Err(slow(settings, &self.process)),
        }
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    pub(super) const fn handler(&self) -> &Arc<Handler> {
        &self.handler
    }

    /// Returns true if the connection is no longer usable.
    pub(super) fn is_over(&self) -> bool {
        self.running.is_closed() || self.peer().is_transport_closed()
    }

    /// Returns the output of its process to standard error.
    pub(super) fn stderr(&self) -> String {
        process_stderr(&self.process)
    }

    /// Returns a snapshot of the sandbox denials so far.
    pub(super) fn denials(&self) -> Denials {
        Denials { stderr: self.stderr(), refused: refused(&self.process) }
    }

    /// Extends an error with sandbox denials since the snapshot, as far as the server's messages show them, and with the settings that
    /// would allow more.
    pub(super) fn explained(&self, error: ToolError, settings: &McpServerSettings, before: &Denials) -> ToolError {
        let McpTransport::Stdio { confinement, .. } = &settings.transport else { return error };
        let now = self.denials();
        let explain = |text: &str| {
            let reply = now.stderr.strip_prefix(&before.stderr).unwrap_or(&now.stderr);
            // Repeat an earlier denial of a host if the error names that host.
            let named = |refusal: &String| refusal.split([':', ' ']).next().is_some_and(|host| text.contains(host));
            let refused: Vec<String> =
                now.refused.iter().filter(|refusal| !before.refused.contains(refusal) || named(refusal)).cloned().collect();
            let explained = confinement.explain(&format!("{text}\n{reply}"), &refused)?;
            Some(format!("{text}\n{explained}\n{}", confined(settings)))
        };
        match error {
            ToolError::Failed(text) => ToolError::Failed(explain(&text).unwrap_or(text)),
            ToolError::TimedOut(text) => ToolError::TimedOut(explain(&text).unwrap_or(text)),
            other => other,
        }
    }

    /// Shuts the server down, and kills its process tree.
    pub(super) async fn close(mut self) {
        // Kill the process even if the server does not shut down in time.
        let _left = self.running.close_with_timeout(EXIT_TIMEOUT).await;
        if let Some(process) = self.process.take() {
            let process = process.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Err(error) = process.end(EXIT_TIMEOUT).await {
                tracing::debug!(%error, "the end of an MCP server could not be learnt");
            }
        }
    }
}

/// Snapshot of a server's standard error and of its sandbox denials.
pub(super) struct Denials {
    stderr: String,
    refused: Vec<String>,
}

/// Subscribes to change notifications of a server, and records them until it ends.
async fn listen(peer: Peer<RoleClient>, handler: Arc<Handler>) {
    let Ok(mut changes) = peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await else { return };
    while let Ok(Some(_)) = changes.next().await {
        handler.set_changed();
    }
}

/// Reason why an initialization failed.
enum Refusal {
    /// The server answered with an error of the protocol: it may support another kind of initialization only.
    Answered {
        message: String,
        process: Box<Process>,
    },
    Failed(McpError),
}

type Process = Option<std::sync::Mutex<Service>>;

/// Returns the error of the protocol with which a server answered an initialization, if it did.
fn json_rpc_error(error: &ClientInitializeError) -> Option<&ErrorData> {
    match error {
        ClientInitializeError::JsonRpcError(error) => Some(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => json_rpc_error(fallback),
        _ => None,
    }
}

/// Waits for the end of a server's standard error: a program that exits at once writes the reason there.
async fn wait_for_reason(process: &Process) {
    let Some(process) = process else { return };
    let closed = process.lock().unwrap_or_else(std::sync::PoisonError::into_inner).error_closed();
    let _still_open = timeout(REASON_LIMIT, closed.cancelled()).await;
}

fn process_stderr(process: &Process) -> String {
    let Some(process) = process else { return String::new() };
    let process = process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let reply = process.stderr();
    process.exceeded().map_or_else(|| reply.clone(), |bound| format!("{reply}\n[aime has killed it: it took {bound}]"))
}

fn refused(process: &Process) -> Vec<String> {
    process.as_ref().map(|process| process.lock().unwrap_or_else(std::sync::PoisonError::into_inner).refused()).unwrap_or_default()
}

fn broken(settings: &McpServerSettings, reason: &str, process: &Process) -> McpError {
    let reply = process_stderr(process);
    McpError::Handshake {
        server: settings.name.clone(),
        reason: reason.to_owned(),
        hint: hint(settings, &reply, &refused(process)),
        stderr: reply,
    }
}

fn slow(settings: &McpServerSettings, process: &Process) -> McpError {
    let reply = process_stderr(process);
    McpError::Slow {
        server: settings.name.clone(),
        limit: settings.start_limit,
        hint: hint(settings, &reply, &refused(process)),
        stderr: reply,
    }
}

/// Describes the sandbox denials for a program with this output, and the settings that would allow more. Empty for a program outside of the
/// sandbox.
fn hint(settings: &McpServerSettings, reply: &str, refused: &[String]) -> Message {
    let McpTransport::Stdio { confinement, .. } = &settings.transport else { return Message::default() };
    if confinement.is_off() {
        return Message::default();
    }
    let explained = confinement.explain(reply, refused).map(Message::text);
    let parts: Vec<Message> = explained.into_iter().chain([confined(settings)]).collect();
    Message::list("\n", &parts)
}

/// Describes the settings that allow a server more.
fn confined(settings: &McpServerSettings) -> Message {
    message!("mcp-confined", server = settings.name)
}

/// Formats an error with its causes, without repetitions.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
