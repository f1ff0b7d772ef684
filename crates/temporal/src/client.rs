//! Client for runs on an engine: start, watch, answer, stop, fork and delete them.

mod forget;
mod fork;

use std::{
    fmt,
    str::FromStr,
    time::{Duration, Instant, SystemTime},
};

use aime_durable::{Recorded, UnixMillis};
use aime_messages::{Describe, Message, innermost, message};
use aime_orchestrator::{OrchestratorError, RunCheck, RunFact, RunView, check_published, view_from_facts};
use aime_progress_management::{ProgressState, RunId, TaskId, TimedEvent, Timestamp};
use futures::StreamExt as _;
use temporalio_client::{
    Client, ClientOptions, ClientTlsOptions, Connection, ConnectionOptions, TlsOptions, Url, WorkflowDescribeOptions, WorkflowHandle,
    WorkflowIdReusePolicy, WorkflowListOptions, WorkflowQueryOptions, WorkflowSignalOptions, WorkflowStartOptions,
    errors::{ClientConnectError, ClientError, WorkflowInteractionError, WorkflowQueryError, WorkflowStartError},
    tonic::Code,
};

use crate::{
    BlobCodec, Blobs, Capability, JournalPage, MachineStart, Queues, RunWorkflow, RunWorkflowInput, Timestamped, WatchReply, Wire,
    WorkspaceSnapshot, messages::RunInput, run_workflow,
};

/// Maximum time to establish a connection; the next constant is the wait between two attempts.
const CONNECT: Duration = Duration::from_secs(10);
const BETWEEN_CONNECTS: Duration = Duration::from_millis(200);
/// Maximum number of runs in a list.
const LISTED: usize = 1_000;
/// Query for the list: each run once, although it may continue over several histories.
const LIST: &str = "WorkflowType = 'aime.run' AND ExecutionStatus != 'ContinuedAsNew'";

/// Address of an engine: `temporal://HOST:PORT/NAMESPACE`, or `temporals://…` with TLS. The namespace is `default` if
/// the address has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    url: Url,
    namespace: String,
}

/// Reason why an address is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct AddressError {
    text: String,
    why: Message,
}

impl Describe for AddressError {
    fn describe(&self) -> Message {
        message!("engine-address", text = format!("{:?}", self.text), reason = self.why)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let failed = |why| AddressError { text: text.to_owned(), why };
        let (scheme, rest) = match text.split_once("://") {
            None => ("http", text),
            Some(("temporal", rest)) => ("http", rest),
            Some(("temporals", rest)) => ("https", rest),
            Some((other, _)) => return Err(failed(message!("engine-address-scheme", scheme = other))),
        };
        let (address, namespace) = rest.split_once('/').unwrap_or((rest, ""));
        if address.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
            return Err(failed(message!("engine-address-port")));
        }
        let url = format!("{scheme}://{address}").parse().map_err(|error| failed(Message::text(error)))?;
        let namespace = if namespace.is_empty() { "default" } else { namespace };
        if namespace.contains('/') {
            return Err(failed(message!("engine-address-namespace")));
        }
        Ok(Self { url, namespace: namespace.to_owned() })
    }
}

/// Reason why an engine could not be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine cannot be reached, or refuses the connection.
    #[error("{}", self.describe())]
    Connect {
        /// Address of the engine.
        url: Url,
        /// Error of the connection. It is no source, because its own text is in the notation of debuggers.
        error: Box<ClientConnectError>,
    },
    /// Credentials for TLS were given without TLS; a key would be readable on the network.
    #[error("{}", self.describe())]
    NoTls {
        /// The credentials.
        what: Message,
    },
    /// A client for the namespace could not be made.
    #[error("{}", self.describe())]
    Client(Message),
    /// There is a run of this name already.
    #[error("{}", self.describe())]
    RunExists {
        /// The run.
        run: String,
    },
    /// There is no run of this name.
    #[error("{}", self.describe())]
    NoSuchRun {
        /// The run.
        run: String,
    },
    /// The operation is for ended runs, and this run has not ended.
    #[error("{}", self.describe())]
    NotEnded {
        /// The run.
        run: String,
    },
    /// The engine has removed the history of an actor that was at work at the time of the fork.
    #[error("{}", self.describe())]
    ActorForgotten {
        /// The run.
        run: String,
        /// The task.
        task: TaskId,
        /// The version.
        version: u32,
    },
    /// The run never had the requested state.
    #[error(transparent)]
    Past(#[from] OrchestratorError),
    /// The engine refused what was asked of it.
    #[error("{}", self.describe())]
    Refused {
        /// Requested operation.
        what: Message,
        /// Answer of the engine.
        why: Message,
    },
}

impl EngineError {
    /// Returns the error of an operation that the engine refused.
    fn refused(what: Message, why: impl fmt::Display) -> Self {
        Self::Refused { what, why: Message::text(why) }
    }
}

/// Returns the first cause of a failed connection.
fn first_cause(error: &ClientConnectError) -> String {
    if let ClientConnectError::SystemInfoCallError(status) = error { status.message().to_owned() } else { innermost(error) }
}

impl Describe for EngineError {
    fn describe(&self) -> Message {
        match self {
            Self::Connect { url, error } => message!("engine-unusable", url, reason = first_cause(error)),
            Self::NoTls { what } => message!("engine-no-tls", what),
            Self::Client(reason) => message!("engine-no-client", reason),
            Self::RunExists { run } => message!("engine-run-exists", run),
            Self::NoSuchRun { run } => message!("engine-no-run", run),
            Self::NotEnded { run } => message!("engine-not-ended", run),
            Self::ActorForgotten { run, task, version } => message!("engine-at-work", task, run, version),
            Self::Past(error) => Message::text(error),
            Self::Refused { what, why } => message!("engine-refused", what, reason = why),
        }
    }
}

/// Access to an engine.
#[derive(Clone)]
pub struct Access {
    /// Address of the engine.
    pub address: Address,
    /// Store for large payloads, which all workers and clients share. If it is sealed, all payloads to the engine are
    /// encrypted too.
    pub blobs: Blobs,
    /// API key, if the engine requires one.
    pub api_key: Option<String>,
    /// Certificates for TLS.
    pub certificates: Certificates,
}

/// Trusted authority and own certificate for TLS, in PEM.
#[derive(Clone, Default)]
pub struct Certificates {
    /// Authority that signed the engine's certificate; the system's authorities if absent.
    pub authority: Option<Vec<u8>>,
    /// Own certificate and its private key, if the engine requires client certificates.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the engine's certificate, where it is another than that in its address.
    pub name: Option<String>,
}

impl Certificates {
    fn tls(self) -> TlsOptions {
        let own = self.own.map(|(certificate, key)| ClientTlsOptions::builder().client_cert(certificate).client_private_key(key).build());
        TlsOptions::builder().maybe_server_root_ca_cert(self.authority).maybe_client_tls_options(own).maybe_domain(self.name).build()
    }
}

/// Connects to an engine.
///
/// # Errors
/// [`EngineError::Connect`] when it cannot be reached within 10 s; [`EngineError::NoTls`] for a key or certificates without TLS.
pub async fn connect(access: Access) -> Result<Client, EngineError> {
    let Access { address: Address { url, namespace }, blobs, api_key, certificates } = access;
    let secure = url.scheme() == "https";
    if !secure && api_key.is_some() {
        return Err(EngineError::NoTls { what: message!("engine-tls-key") });
    }
    if !secure && (certificates.authority.is_some() || certificates.own.is_some() || certificates.name.is_some()) {
        return Err(EngineError::NoTls { what: message!("engine-tls-certificate") });
    }
    let tls = secure.then(|| certificates.tls());
    let options = ConnectionOptions::new(url.clone()).connect_timeout(CONNECT).maybe_tls_options(tls).maybe_api_key(api_key).build();
    let begun = Instant::now();
    let connection = loop {
        match Connection::connect(options.clone()).await {
            Ok(connection) => break connection,
            // An engine that has just started accepts no connections at first.
            Err(ClientConnectError::SystemInfoCallError(status)) if status.code() == Code::Unavailable && begun.elapsed() < CONNECT => {
                tokio::time::sleep(BETWEEN_CONNECTS).await;
            }
            Err(error) => return Err(EngineError::Connect { url, error: Box::new(error) }),
        }
    };
    let options = ClientOptions::new(namespace).data_converter(BlobCodec::converter(blobs)).build();
    Client::new(connection, options).map_err(|error| EngineError::Client(Message::text(error)))
}

/// Client for the runs of an engine.
#[derive(Clone)]
pub struct RunsClient {
    client: Client,
    queues: Queues,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRun {
    /// Name of the run.
    pub run: String,
    /// Status of its workflow as the engine reports it.
    pub status: String,
    /// Start of the run, or of its newest history.
    pub since: Option<SystemTime>,
    /// When it ended for good.
    pub ended: Option<SystemTime>,
}

impl RunsClient {
    /// Creates the interface to runs by a client, on these queues.
    #[must_use]
    pub const fn new(client: Client, queues: Queues) -> Self {
        Self { client, queues }
    }

    /// Starts a run. It needs no client to continue. If its folder moves between hosts, it begins from `tree`.
    ///
    /// # Errors
    /// [`EngineError::RunExists`], and errors of the engine.
    pub async fn start(&self, at: UnixMillis, input: RunInput, tree: Option<WorkspaceSnapshot>) -> Result<(), EngineError> {
        let (begin, queues) = (MachineStart::fresh(at, input), self.queues.clone());
        self.begin(RunWorkflowInput { begin, queues, stopped: Vec::new(), tree, is_waiting: false, seeks_lead: true }).await
    }

    async fn begin(&self, begin: RunWorkflowInput) -> Result<(), EngineError> {
        let run = begin.begin.input.what.run().to_string();
        let options = WorkflowStartOptions::new(self.queues.name(Capability::Runs), run_workflow(&run));
        let options = options.id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate).build();
        match self.client.start_workflow(RunWorkflow::run, Wire(begin), options).await {
            Ok(_) => Ok(()),
            Err(WorkflowStartError::AlreadyStarted { .. }) => Err(EngineError::RunExists { run }),
            Err(error) => Err(EngineError::refused(message!("engine-to-start"), error)),
        }
    }

    /// Returns the events of a run starting with number `from`, counted from 0. A worker that drives runs must be
    /// running to answer.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn watch(&self, run: &RunId, from: usize) -> Result<WatchReply, EngineError> {
        self.handle(run)
            .query(RunWorkflow::watch, from, WorkflowQueryOptions::default())
            .await
            .map(|reply| reply.0)
            .map_err(|error| unqueried(run, &error))
    }

    /// Returns the input of a run, and all its facts since. A worker that drives runs must be running.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn journal(&self, run: &RunId) -> Result<(Recorded<RunInput>, Vec<Recorded<RunFact>>), EngineError> {
        let mut facts: Vec<Recorded<RunFact>> = Vec::new();
        loop {
            let asked = self.handle(run).query(RunWorkflow::journal, facts.len(), WorkflowQueryOptions::default()).await;
            let Wire(JournalPage { input, facts: more, all }) = asked.map_err(|error| unqueried(run, &error))?;
            let nothing = more.is_empty();
            facts.extend(more.into_iter().map(Recorded::from));
            match input {
                Some(input) if facts.len() >= all || nothing => return Ok((input.into(), facts)),
                Some(_) => {}
                None => return Err(EngineError::Refused { what: message!("engine-to-read"), why: message!("engine-not-begun") }),
            }
        }
    }

    /// Returns a run with all its events, built from its journal. A worker that drives runs must be running.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn view(&self, run: &RunId) -> Result<RunView, EngineError> {
        self.journal(run).await.map(|(input, facts)| view_from_facts(input, &facts))
    }

    /// Checks that a run's journal, its published events and its state are consistent. A worker that drives runs must
    /// be running.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn check(&self, run: &RunId) -> Result<RunCheck, EngineError> {
        let mut published: Vec<TimedEvent> = Vec::new();
        loop {
            let WatchReply { events, all, .. } = self.watch(run, published.len()).await?;
            let nothing = events.is_empty();
            published.extend(events.into_iter().map(|Timestamped { at, what }| TimedEvent { at: Timestamp::from_millis(at), event: what }));
            if published.len() >= all || nothing {
                break;
            }
        }
        let (seen, state) = (self.view(run).await?, self.progress(run).await?);
        // A run in progress may continue during the query.
        let all = self.watch(run, usize::MAX).await?.all;
        Ok(check_published(run, &seen, &published, state.as_ref().filter(|_| all == seen.events.len())))
    }

    /// Returns the state of a run.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn progress(&self, run: &RunId) -> Result<Option<ProgressState>, EngineError> {
        self.handle(run)
            .query(RunWorkflow::progress, (), WorkflowQueryOptions::default())
            .await
            .map(|state| state.0)
            .map_err(|error| unqueried(run, &error))
    }

    /// Sends facts to a run: an answer, a message, or a request to stop, resume or end it. They are durable when this
    /// returns.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn send_facts(&self, run: &RunId, facts: Vec<RunFact>) -> Result<(), EngineError> {
        let signalled = self.handle(run).signal(RunWorkflow::facts, Wire(facts), WorkflowSignalOptions::default()).await;
        signalled.map_err(|error| match error {
            WorkflowInteractionError::NotFound(_) => EngineError::NoSuchRun { run: run.to_string() },
            error => EngineError::refused(message!("engine-to-signal"), error),
        })
    }

    /// Returns true if the engine has a run of exactly this name.
    ///
    /// # Errors
    /// [`EngineError::Refused`].
    pub async fn has(&self, run: &RunId) -> Result<bool, EngineError> {
        match self.handle(run).describe(WorkflowDescribeOptions::default()).await {
            Ok(_) => Ok(true),
            Err(WorkflowInteractionError::NotFound(_)) => Ok(false),
            Err(error) => Err(EngineError::refused(message!("engine-to-find"), error)),
        }
    }

    /// Returns the runs of the engine, the latest first, at most 1,000.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn list(&self) -> Result<Vec<ListedRun>, EngineError> {
        let refused = |error: ClientError| EngineError::refused(message!("engine-to-list"), error);
        let mut found = self.client.list_workflows(LIST, WorkflowListOptions::builder().limit(LISTED).build());
        let mut runs = Vec::new();
        while let Some(execution) = found.next().await {
            let execution = execution.map_err(refused)?;
            let status = format!("{:?}", execution.status()).to_lowercase();
            if let Some(run) = execution.id().strip_prefix(&run_workflow("")) {
                let (since, ended) = (execution.start_time(), execution.close_time());
                runs.push(ListedRun { run: run.to_owned(), status, since, ended });
            }
        }
        Ok(runs)
    }

    fn handle(&self, run: &RunId) -> WorkflowHandle<Client, RunWorkflow> {
        self.client.get_workflow_handle(run_workflow(run.as_str()))
    }
}

fn unqueried(run: &RunId, error: &WorkflowQueryError) -> EngineError {
    match error {
        WorkflowQueryError::NotFound(_) => EngineError::NoSuchRun { run: run.to_string() },
        error => EngineError::refused(message!("engine-to-read"), error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Address, Certificates, EngineError, connect};
    use crate::Blobs;

    #[tokio::test]
    async fn no_key_is_sent_in_plain_text() {
        let (key, own) = (Some("key".to_owned()), Some((b"certificate".to_vec(), b"key".to_vec())));
        for (api_key, certificates) in [(key, Certificates::default()), (None, Certificates { own, ..Certificates::default() })] {
            let address: Address = "temporal://127.0.0.1:1".parse().unwrap();
            let refused = connect(Access { address, blobs: Blobs::in_folder("blobs"), api_key, certificates }).await;
            assert!(matches!(refused, Err(EngineError::NoTls { .. })));
        }
    }

    #[test]
    fn addresses_are_read() {
        let cases = [
            ("127.0.0.1:7233", Some(("http://127.0.0.1:7233/", "default"))),
            ("temporal://engine:7233", Some(("http://engine:7233/", "default"))),
            ("temporals://engine:7233/team", Some(("https://engine:7233/", "team"))),
            ("temporal://engine", None),
            ("temporal://:7233", None),
            ("http://engine:7233", None),
            ("temporal://engine:7233/a/b", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let address = text.parse::<Address>().ok();
            let read = address.as_ref().map(|address| (address.url.as_str(), address.namespace.as_str()));
            assert_eq!(read, expected, "{text:?}");
        }
    }
}
