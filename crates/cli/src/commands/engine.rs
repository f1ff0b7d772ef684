//! Runs on an engine: the same commands, and workers.

mod messages;
mod runs;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aime_durable::{Clock as _, SystemClock};
use aime_messages::{Message, message};
use aime_orchestrator::{FailureCode, NobodyThere, PublishedEvent, RunFact, RunRequest};
use aime_progress_management::{RunId, RunStatus, Timestamp};
use aime_runs::{
    RunsError, Setup, has_ended,
    models::{self, Choice},
    raised, remember,
};
use aime_temporal::{
    Access, Address, Blobs, Bucket, BucketKeys, Capability, Certificates, EngineError, Equipment, ImportOutcome, Runs, Seal, Side, Tree,
    TreeError, Trees, WatchReply, connect, work,
};
use tokio::sync::mpsc;

use self::messages::{MessageTarget, find_run};
use super::{
    models_in_use::{by_flag, print_model},
    outcome::print_outcome,
    run_display::DisplayedRun,
    settings::bounds,
    watch::{print_event, print_result},
};
use crate::{
    args::{Command, Global, LazyArgs, Output, ResumeArgs, WorkerArgs},
    failure::{Failure, code},
    i18n::{msg, print},
    output,
    screen::{DisplayOptions, Form, Screen},
    signals::interrupted,
};

/// Polling interval of a run.
const LOOK: Duration = Duration::from_millis(300);
/// Number of consecutive failed polls (engine away, or no worker to answer) after which a client gives up. The run continues meanwhile.
const AWAY: usize = 200;
/// Variable with the key of an engine that requires one.
const API_KEY: &str = "AIME_TEMPORAL_API_KEY";

/// Variable with the key that encrypts everything that goes to the engine and to the blob store.
const PAYLOAD_KEY: &str = "AIME_TEMPORAL_PAYLOAD_KEY";

/// Runs a command whose run is on an engine.
pub(super) async fn command(command: Command, global: &Global, here: &aime_runs::Runs) -> Result<u8, Failure> {
    let setup = here.setup();
    let Some(on) = &global.engine.engine else { return Err(Failure::internal("no engine is named")) };
    match command {
        Command::Resume(LazyArgs(args)) => resume(args, on, global, setup).await,
        Command::Answer { run, text } => {
            MessageTarget::to(&run, &runs(on, global, setup).await?).await?.answer(text.join(" "), setup).await
        }
        Command::Tell { run, task, text } => {
            MessageTarget::to(&run, &runs(on, global, setup).await?).await?.message(task, text.join(" "), setup).await
        }
        Command::Pause { run } => MessageTarget::to(&run, &runs(on, global, setup).await?).await?.pause(setup).await,
        Command::Cancel { run, task } => MessageTarget::to(&run, &runs(on, global, setup).await?).await?.cancel(task, setup).await,
        Command::Runs { command, output } => runs::show(command.map(LazyArgs::into_inner), output, on, global, here).await,
        _ => Err(not_there()),
    }
}

fn not_there() -> Failure {
    Failure::usage(message!("engine-not-yet")).hint(message!("engine-not-yet-hint"))
}

/// Starts a run on the engine and watches it until it ends.
pub(super) async fn carry_out(
    carry: DisplayedRun,
    on: &Address,
    request: RunRequest,
    global: &Global,
    setup: &Setup,
) -> Result<u8, Failure> {
    let DisplayedRun { run, output, models, .. } = carry;
    // External agents are a part of this feature.
    #[cfg(feature = "acp")]
    if let Some(plan) = &request.plan {
        setup.check_without_agents(plan)?;
    }
    let runs = runs(on, global, setup).await?;
    let orchestrator = setup.orchestrator(models, Arc::new(NobodyThere))?;
    let input = orchestrator.input(request).map_err(RunsError::from)?;
    let tree = handed_over(&run, global, setup).await?;
    runs.start(SystemClock.now(), input, tree).await.map_err(failure_of)?;
    watch(&runs, &run, (0, Watching::Own), output, global, setup).await
}

async fn resume(args: ResumeArgs, on: &Address, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    if args.model.is_some() {
        return Err(Failure::usage(message!("engine-model")).hint(message!("engine-model-hint")));
    }
    let runs = runs(on, global, setup).await?;
    let run = find_run(&args.run, &runs).await?;
    let seen = runs.watch(&run, usize::MAX).await.map_err(failure_of)?;
    if seen.over && seen.result.as_ref().is_some_and(|result| result.status == RunStatus::Cancelled) {
        let state = runs.progress(&run).await.map_err(failure_of)?;
        return Err(state.map_or_else(|| Failure::usage(message!("run-cancelled", run)), |state| has_ended(&run, &state).into()));
    }
    setup.report_notes();
    if let (Some(_), false) = (&seen.result, seen.over) {
        let known = runs.view(&run).await.map_err(failure_of)?;
        let (before, reached) = (known.bounds, known.bounds_reached);
        let wanted = raised(bounds(&args.bounds, before.clone()), &reached, &setup.config.run);
        let fact = RunFact::Resumed { bounds: (wanted != before).then_some(wanted) };
        runs.send_facts(&run, vec![fact]).await.map_err(failure_of)?;
        // The engine withdraws the old result as soon as the run continues.
        while runs.watch(&run, usize::MAX).await.is_ok_and(|now| now.all == seen.all && now.result.is_some()) {
            tokio::time::sleep(LOOK).await;
        }
    }
    watch(&runs, &run, (seen.all, Watching::Own), args.output, global, setup).await
}

/// Relation of the watcher to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watching {
    /// The watcher's own run: the first Ctrl-C stops it resumably, the second only ends the watching. Its changes to files are brought back
    /// here.
    Own,
    /// Any run: it is only displayed.
    Others,
}

/// Shows the events of a run until it has ended or is left.
async fn watch(
    runs: &Runs,
    run: &RunId,
    (from, watching): (usize, Watching),
    output: Output,
    global: &Global,
    setup: &Setup,
) -> Result<u8, Failure> {
    // The keys of the whole-screen view act only on runs of this machine, so a run of an engine is shown in lines.
    let sight =
        DisplayOptions { quiet: global.quiet, plain: true, logs: global.verbose > 0, watched: false, alone: false, attended: false };
    let screen = Screen::new(Form::of(output, sight), run);
    // Permanent consents and telemetry belong to the person who started the run.
    let own = watching == Watching::Own;
    let (consents, mut telemetry) = if own { (setup.consents(), setup.watch(run)) } else { (None, None) };
    let mut interruptions = interruptions();
    let (mut seen, mut away, mut pause) = (from, 0, Duration::ZERO);
    let (mut stop, told) = (false, AtomicBool::new(false));
    loop {
        let look = async {
            tokio::time::sleep(pause).await;
            if stop && !told.load(Ordering::Relaxed) {
                runs.send_facts(run, vec![RunFact::StopRequested { reason: message!("stopped-by-person") }]).await?;
                told.store(true, Ordering::Relaxed);
            }
            runs.watch(run, seen).await
        };
        let looked = tokio::select! {
            biased;
            Some(()) = interruptions.recv() => None,
            looked = look => Some(looked),
        };
        let Some(looked) = looked else {
            if !own {
                return Ok(0);
            }
            if std::mem::replace(&mut stop, true) {
                output::note(&msg!("engine-left", run));
                return Ok(code::INTERRUPTED);
            }
            screen.note(&msg!("engine-stopping"));
            pause = Duration::ZERO;
            continue;
        };
        pause = LOOK;
        let WatchReply { events, all, result, tree, .. } = match looked {
            Ok(watched) => watched,
            Err(error @ EngineError::NoSuchRun { .. }) => return Err(failure_of(error)),
            Err(error) => {
                away += 1;
                if away == 1 {
                    screen.note(&msg!("engine-untold", error));
                }
                if away > AWAY {
                    return Err(failure_of(error));
                }
                continue;
            }
        };
        away = 0;
        for event in events {
            seen += 1;
            let published = PublishedEvent { seq: seen as u64, at: Timestamp::from_millis(event.at), event: event.what };
            if !own {
                print_event(&published, run, output)?;
                continue;
            }
            if let Some(telemetry) = &mut telemetry {
                telemetry.take(&published);
            }
            screen.show(&published)?;
            if let Some(lost) = remember(&published, consents.as_ref()) {
                screen.note(&print(&lost));
            }
        }
        if seen < all {
            pause = Duration::ZERO;
        }
        if let Some(result) = result.filter(|_| seen >= all) {
            screen.close();
            if !own {
                return print_result(&result, output).map(|()| 0);
            }
            setup.end_telemetry().await;
            // The result is printed first, whatever happens to the files here.
            let code = print_outcome(&result, output)?;
            let taken = match tree {
                Some(tree) => take_back(run, &tree, global, setup).await,
                None => Ok(true),
            };
            return match taken {
                Ok(taken) => Ok(if taken || code != 0 { code } else { FailureCode::GoalNotReached.exit_code() }),
                // The failure of the run is more informative than that of the files.
                Err(failure) if code != 0 => {
                    output::failure(&failure.message, failure.hint.as_ref());
                    Ok(code)
                }
                Err(failure) => Err(failure),
            };
        }
    }
}

/// Reports each Ctrl-C and TERM from now on, so that none is missed during other work.
fn interruptions() -> mpsc::UnboundedReceiver<()> {
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            interrupted().await;
            if tell.send(()).is_err() {
                return;
            }
        }
    });
    told
}

/// Returns the folder's content as the initial state of a run; none if the run works in this folder itself.
async fn handed_over(run: &RunId, global: &Global, setup: &Setup) -> Result<Option<Tree>, Failure> {
    if !global.engine.git_handoff {
        return Ok(None);
    }
    let trees = trees(Side::Client, global, setup).await?;
    trees.hand_over(run.as_str()).await.map(Some).map_err(|error| tree_failure(&error))
}

/// Brings a run's changes to its folder into this one, if the run started here. Returns true if they are here now, false if they belong
/// elsewhere.
async fn take_back(run: &RunId, tree: &Tree, global: &Global, setup: &Setup) -> Result<bool, Failure> {
    let trees = trees(Side::Client, global, setup).await?;
    // The changes are recorded like any other work, so that they can be undone.
    let recorder = if setup.config.undo.enabled { Some(setup.recorder(run)?) } else { None };
    let taken = trees.take_back(run.as_str(), tree, recorder.clone()).await;
    if let Some(recorder) = recorder {
        recorder.finish();
        recorder.notes().iter().for_each(|note| output::note(note));
    }
    match taken.map_err(|error| tree_failure(&error))? {
        ImportOutcome::Imported => {}
        ImportOutcome::Elsewhere => output::note(&msg!("engine-elsewhere")),
        ImportOutcome::Conflict { paths, commit } => {
            output::note(&msg!("engine-conflict", paths = paths.join(", "), place = trees.repository().display(), commit));
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the working folder with its states, which are stored outside the reach of commands in the folder.
async fn trees(side: Side, global: &Global, setup: &Setup) -> Result<Trees, Failure> {
    let Some(state) = setup.places.state_folder().filter(|state| !state.starts_with(&setup.folder)) else {
        return Err(Failure::usage("there is no place outside of the working folder where its states could be kept")
            .hint("set XDG_STATE_HOME to a folder of your own"));
    };
    let path = setup.environment.text("PATH").unwrap_or_default().into();
    let opened = Trees::open(side, &setup.folder, &state.join("trees"), path, blobs(global, setup)?).await;
    opened.map_err(|error| tree_failure(&error))
}

fn tree_failure(error: &TreeError) -> Failure {
    Failure::caused(code::USAGE, error)
}

/// Serves an engine until Ctrl-C or TERM.
pub(super) async fn worker(args: WorkerArgs, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let choice = models::choose(&setup.config, &setup.environment, args.model.as_deref().map(by_flag))?;
    if choice.is_none() && args.serve.contains(&Capability::Llm) {
        return Err(models::none_configured().into());
    }
    let mut serves: BTreeSet<Capability> =
        if args.serve.is_empty() { Capability::ALL.into() } else { args.serve.iter().copied().collect() };
    if choice.is_none() {
        // Workers that have a model must get these requests.
        serves.remove(&Capability::Llm);
    }
    // Only planners, which give actors the tools of MCP servers, and workers that call them start the servers.
    let knows_servers = serves.contains(&Capability::Planner) || serves.contains(&Capability::Mcp);
    let serving = serve(args, choice, serves, global, setup);
    if knows_servers { setup.with_servers(serving).await } else { serving.await }
}

async fn serve(
    args: WorkerArgs,
    choice: Option<Choice>,
    serves: BTreeSet<Capability>,
    global: &Global,
    setup: &Setup,
) -> Result<u8, Failure> {
    let equipment = if serves.iter().all(|capability| *capability == Capability::Runs) {
        None
    } else {
        let asks = serves.contains(&Capability::Llm) || serves.contains(&Capability::Planner);
        let models = match &choice {
            Some(choice) if asks => {
                print_model(Some(choice), setup);
                Some(models::ready(choice, setup).await?)
            }
            _ => None,
        };
        let orchestrator = setup.orchestrator(models, Arc::new(NobodyThere))?;
        let trees = match global.engine.git_handoff {
            true => Some(trees(Side::Worker, global, setup).await?),
            false => None,
        };
        Some(Equipment { orchestrator, trees })
    };
    let client = client(&args.temporal, global, setup).await?;
    let words: Vec<&str> = serves.iter().map(|capability| capability.word()).collect();
    output::note(&msg!("engine-serves", what = words.join(", "), folder = setup.folder.display()));
    let served = work(client, equipment, &serves, &global.engine.queues(), interrupted()).await;
    served.map_err(|error| Failure::caused(code::USAGE, &error))?;
    Ok(0)
}

async fn runs(on: &Address, global: &Global, setup: &Setup) -> Result<Runs, Failure> {
    Ok(Runs::new(client(on, global, setup).await?, global.engine.queues()))
}

async fn client(address: &Address, global: &Global, setup: &Setup) -> Result<aime_temporal::Client, Failure> {
    let api_key = setup.environment.text(API_KEY).map(str::to_owned);
    let engine = &global.engine;
    let own = match (&engine.tls_cert, &engine.tls_key) {
        (Some(certificate), Some(key)) => Some((read_certificates(certificate)?, read_key(key, setup)?)),
        _ => None,
    };
    let authority = engine.tls_ca.as_deref().map(read_certificates).transpose()?;
    let certificates = Certificates { authority, own, name: engine.tls_name.clone() };
    let access = Access { address: address.clone(), blobs: blobs(global, setup)?, api_key, certificates };
    connect(access).await.map_err(failure_of)
}

/// Returns the store for large data, and the encryption keys.
fn blobs(global: &Global, setup: &Setup) -> Result<Blobs, Failure> {
    let keys = match &global.engine.payload_key {
        Some(file) => Some((String::from_utf8_lossy(&read_key(file, setup)?).into_owned(), file.display().to_string())),
        None => setup.environment.text(PAYLOAD_KEY).map(|keys| (keys.to_owned(), PAYLOAD_KEY.to_owned())),
    };
    let seal = keys.map(|(keys, whence)| Seal::read(&keys).map_err(|error| Failure::usage(format!("{whence}: {error}")))).transpose()?;
    let place = global.engine.blobs.clone().unwrap_or_else(|| setup.data_folder().join("blobs"));
    let blobs = match place.to_str().filter(|address| Bucket::is_address(address)) {
        Some(address) => Blobs::new(bucket(address, setup)?),
        None => Blobs::in_folder(place),
    };
    Ok(blobs.sealed(seal))
}

/// Returns a bucket from its address and the standard variables for such stores.
fn bucket(address: &str, setup: &Setup) -> Result<Bucket, Failure> {
    let text = |name: &str| setup.environment.text(name);
    let (Some(id), Some(secret)) = (text("AWS_ACCESS_KEY_ID"), text("AWS_SECRET_ACCESS_KEY")) else {
        return Err(Failure::usage(message!("engine-no-key", place = address)).hint(message!("engine-no-key-hint")));
    };
    let keys = BucketKeys { id: id.to_owned(), secret: secret.to_owned(), token: text("AWS_SESSION_TOKEN").map(str::to_owned) };
    let endpoint = text("AWS_ENDPOINT_URL_S3").or_else(|| text("AWS_ENDPOINT_URL"));
    let region = text("AWS_REGION").or_else(|| text("AWS_DEFAULT_REGION"));
    Bucket::new(address, endpoint, region, keys).map_err(|error| Failure::caused(code::USAGE, &error))
}

fn read_file(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::usage(message!("unreadable", what = file.display(), reason = Message::text(error))))
}

/// Reads a file of certificates. A file without any is refused: it would be accepted silently, and then no server would be trusted.
fn read_certificates(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read_file(file)?;
    let one = b"-----BEGIN CERTIFICATE-----";
    if bytes.windows(one.len()).any(|part| part == one) {
        Ok(bytes)
    } else {
        Err(Failure::usage(message!("engine-no-certificate", file = file.display())))
    }
}

/// Reads a key file. It must not be in a folder that actors read or that travels to other hosts.
fn read_key(file: &Path, setup: &Setup) -> Result<Vec<u8>, Failure> {
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if place(file).starts_with(place(&setup.folder)) {
        return Err(Failure::usage(message!("engine-key-within", file = file.display())).hint(message!("engine-key-within-hint")));
    }
    read_file(file)
}

fn failure_of(error: EngineError) -> Failure {
    let failure = match &error {
        EngineError::NotEnded { run } => Failure::usage(message!("engine-not-ended", run)),
        EngineError::ActorForgotten { task, run, version } => Failure::usage(message!("engine-at-work", task, run, version)),
        error => Failure::caused(code::USAGE, error),
    };
    match error {
        EngineError::Connect { .. } => failure.hint(message!("engine-server")),
        EngineError::RunExists { .. } => failure.hint(message!("other-id-or-resume")),
        EngineError::NotEnded { .. } => failure.hint(message!("engine-not-ended-hint")),
        EngineError::ActorForgotten { .. } => failure.hint(message!("engine-at-work-hint")),
        EngineError::Past(error) => RunsError::from(error).into(),
        EngineError::NoSuchRun { .. } => failure.hint(message!("engine-list")),
        EngineError::Refused { .. } => failure.hint(message!("engine-worker")),
        EngineError::Client(_) | EngineError::NoTls { .. } => failure,
    }
}
