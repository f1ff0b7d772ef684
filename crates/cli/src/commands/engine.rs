//! Runs on an engine: the same commands, and workers.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aime_durable::{Clock as _, SystemClock};
use aime_orchestrator::{NobodyThere, Orchestrator, PublishedEvent, RunFact, RunRequest};
use aime_progress::{EvidenceId, RunId, TaskId, Timestamp};
use aime_temporal::{
    Access, Blobs, Capability, Certificates, EngineError, Equipment, Place, Runs, Seal, Side, TakenBack, Tree, TreeError, Trees, Watched,
    connect, work,
};

use super::run::{Carry, bounds, interrupted, run, tell, tell_model};
use crate::{
    args::{Command, Global, Output, ResumeArgs, RunsCommand, WorkerArgs},
    failure::{Failure, code},
    models, output,
    screen::{Form, Screen, Sight},
    wiring::Setup,
    words::msg,
};

/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// How often in a row the engine, or a worker that can tell, may be away before a client gives up. The run goes on meanwhile.
const AWAY: usize = 200;
/// The variable of the key, where an engine wants one.
const API_KEY: &str = "AIME_TEMPORAL_API_KEY";

/// The variable of a key by which all is sealed that goes to the engine and to the store of blobs.
const PAYLOAD_KEY: &str = "AIME_TEMPORAL_PAYLOAD_KEY";

/// A command whose run is on an engine.
pub(super) async fn command(command: Command, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let Some(on) = &global.engine.on else { return Err(Failure::internal("no engine is named")) };
    match command {
        Command::Run(args) => run(args, global, setup).await,
        Command::Resume(args) => resume(args, on, global, setup).await,
        Command::Answer { run, text } => {
            let answer = RunFact::PersonAnswered { question: None, text: text.join(" ") };
            tell_run(&run, answer, &msg!("engine-answered"), on, global, setup).await
        }
        Command::Tell { run, task, text } => {
            let task = task.map(TaskId::new).transpose().map_err(Failure::usage)?;
            tell_run(&run, RunFact::PersonSaid { id: said()?, task, text: text.join(" ") }, &msg!("head-told"), on, global, setup).await
        }
        Command::Pause { run } => {
            tell_run(&run, RunFact::StopRequested { reason: "paused by a person".to_owned() }, &msg!("engine-paused"), on, global, setup)
                .await
        }
        Command::Cancel { run, task } => {
            let task = task.map(TaskId::new).transpose().map_err(Failure::usage)?;
            let cancel = RunFact::CancelRequested { task, reason: "cancelled by a person".to_owned() };
            tell_run(&run, cancel, &msg!("engine-cancelled"), on, global, setup).await
        }
        Command::Runs { command: None | Some(RunsCommand::List), .. } => {
            for listed in runs(on, global, setup).await?.list().await.map_err(|error| failure_of(&error))? {
                output::result(&format!("{}  {}", listed.run, listed.status));
            }
            Ok(0)
        }
        _ => Err(Failure::usage("this command does not work on an engine yet")
            .hint("run, resume, answer, tell, pause, cancel and runs do; leave --on out for what is in this folder")),
    }
}

/// Starts a run there and watches it to its end.
pub(super) async fn carry_out(carry: Carry, on: &Place, request: RunRequest, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let Carry { run, output, models, .. } = carry;
    let runs = runs(on, global, setup).await?;
    let orchestrator = Orchestrator::new(setup.parts(models, Arc::new(NobodyThere))?);
    let input = orchestrator.input(request).map_err(|error| super::run::failure_of(&error))?;
    let tree = match global.engine.trees {
        true => Some(trees(Side::Client, global, setup).await?.hand_over(run.as_str()).await.map_err(|error| tree_failure(&error))?),
        false => None,
    };
    runs.start(SystemClock.now(), input, tree).await.map_err(|error| failure_of(&error))?;
    watch(&runs, &run, 0, output, global, setup).await
}

async fn resume(args: ResumeArgs, on: &Place, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let run = RunId::new(&args.run).map_err(Failure::usage)?;
    let runs = runs(on, global, setup).await?;
    let seen = runs.watch(&run, usize::MAX).await.map_err(|error| failure_of(&error))?;
    if let (Some(_), false) = (&seen.result, seen.over) {
        let before = seen.bounds.unwrap_or_default();
        let wanted = bounds(&args.bounds, before.clone());
        let fact = RunFact::Resumed { bounds: (wanted != before).then_some(wanted) };
        runs.tell(&run, vec![fact]).await.map_err(|error| failure_of(&error))?;
        // The result of before is taken back as soon as the run goes on.
        while runs.watch(&run, usize::MAX).await.is_ok_and(|now| now.all == seen.all && now.result.is_some()) {
            tokio::time::sleep(LOOK).await;
        }
    }
    watch(&runs, &run, seen.all, args.output, global, setup).await
}

/// Shows what happens in a run until it has ended or is left. The first Ctrl-C stops the run so that it can be resumed; the second only ends the
/// watching.
async fn watch(runs: &Runs, run: &RunId, from: usize, output: Output, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    // The view's keys act on runs of this machine alone: a run of an engine is shown in lines.
    let sight = Sight { quiet: global.quiet, plain: true, logs: global.verbose > 0, watched: false, alone: false, attended: false };
    let screen = Screen::new(Form::of(output, sight), run);
    let (mut seen, mut away, mut stopping) = (from, 0, false);
    loop {
        let looked = tokio::select! {
            looked = runs.watch(run, seen) => looked,
            () = interrupted() => {
                if std::mem::replace(&mut stopping, true) {
                    output::note(&format!("not watched any more; `aime resume {run}` with the same --on goes on"));
                    return Ok(code::INTERRUPTED);
                }
                screen.say("stopping … (again to stop watching)");
                let stop = RunFact::StopRequested { reason: "stopped by a person".to_owned() };
                runs.tell(run, vec![stop]).await.map_err(|error| failure_of(&error))?;
                continue;
            }
        };
        let Watched { events, all, result, tree, .. } = match looked {
            Ok(watched) => watched,
            Err(error @ EngineError::NoSuchRun { .. }) => return Err(failure_of(&error)),
            Err(error) => {
                away += 1;
                if away == 1 {
                    screen.say(&format!("no worker tells of the run now; it is looked for: {error}"));
                }
                if away > AWAY {
                    return Err(failure_of(&error));
                }
                tokio::time::sleep(LOOK).await;
                continue;
            }
        };
        away = 0;
        for event in events {
            seen += 1;
            let published = PublishedEvent { seq: seen as u64, at: Timestamp::from_millis(event.at), event: event.what };
            screen.show(&published)?;
        }
        if let Some(result) = result.filter(|_| seen >= all) {
            screen.close();
            if let Some(tree) = tree {
                take_back(run, &tree, global, setup).await?;
            }
            return tell(&result, output);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Brings what a run has done to its folder into this one, where it began here.
async fn take_back(run: &RunId, tree: &Tree, global: &Global, setup: &Setup) -> Result<(), Failure> {
    let trees = trees(Side::Client, global, setup).await?;
    match trees.take_back(run.as_str(), tree).await.map_err(|error| tree_failure(&error))? {
        TakenBack::Taken => {}
        TakenBack::Elsewhere => output::note("the run began in another folder: what it did to files is not brought into this one"),
        TakenBack::Conflict { paths, commit } => {
            output::note(&format!(
                "nothing was changed here: {} changed here and in the run; `git --git-dir={} show {commit}:PATH` prints a file as the run left it",
                paths.join(", "),
                trees.repository().display()
            ));
        }
    }
    Ok(())
}

/// The working folder with its states, which are kept where no command that runs in the folder can write.
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
    let serves: BTreeSet<Capability> = if args.serve.is_empty() { Capability::ALL.into() } else { args.serve.into_iter().collect() };
    let equipment = if serves.iter().all(|capability| *capability == Capability::Runs) {
        None
    } else {
        let choice = models::choose(&setup.config, &setup.environment, args.model.as_deref())?;
        let asks = serves.contains(&Capability::Llm) || serves.contains(&Capability::Planner);
        let models = match &choice {
            Some(choice) if asks => {
                tell_model(Some(choice), setup);
                Some(models::ready(choice, setup).await?)
            }
            _ => None,
        };
        let orchestrator = Orchestrator::new(setup.parts(models, Arc::new(NobodyThere))?);
        let trees = match global.engine.trees {
            true => Some(trees(Side::Worker, global, setup).await?),
            false => None,
        };
        Some(Equipment { orchestrator, trees })
    };
    let client = client(&args.temporal, global, setup).await?;
    let words: Vec<&str> = serves.iter().map(|capability| capability.word()).collect();
    output::note(&format!("worker  serves {} in {}", words.join(", "), setup.folder.display()));
    let served = work(client, equipment, &serves, &global.engine.queues(), interrupted()).await;
    served.map_err(|error| Failure::caused(code::USAGE, &error))?;
    Ok(0)
}

async fn tell_run(run: &str, fact: RunFact, then: &str, on: &Place, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let run = RunId::new(run).map_err(Failure::usage)?;
    let fact = setup.redactor().typed(fact);
    runs(on, global, setup).await?.tell(&run, vec![fact]).await.map_err(|error| failure_of(&error))?;
    output::note(&msg!("engine-told", then = then, run = run));
    Ok(0)
}

async fn runs(on: &Place, global: &Global, setup: &Setup) -> Result<Runs, Failure> {
    Ok(Runs::new(client(on, global, setup).await?, global.engine.queues()))
}

async fn client(place: &Place, global: &Global, setup: &Setup) -> Result<aime_temporal::Client, Failure> {
    let api_key = setup.environment.text(API_KEY).map(str::to_owned);
    let engine = &global.engine;
    let read = |file: &Option<PathBuf>| file.as_deref().map(read_file).transpose();
    let own = read(&engine.tls_cert)?.zip(read(&engine.tls_key)?);
    let certificates = Certificates { authority: read(&engine.tls_ca)?, own };
    let access = Access { place: place.clone(), blobs: blobs(global, setup)?, api_key, certificates };
    connect(access).await.map_err(|error| failure_of(&error))
}

/// Where what is large is stored, and by which keys all is sealed.
fn blobs(global: &Global, setup: &Setup) -> Result<Blobs, Failure> {
    let keys = match &global.engine.payload_key {
        Some(file) => Some((String::from_utf8_lossy(&read_file(file)?).into_owned(), file.display().to_string())),
        None => setup.environment.text(PAYLOAD_KEY).map(|keys| (keys.to_owned(), PAYLOAD_KEY.to_owned())),
    };
    let seal = keys.map(|(keys, whence)| Seal::read(&keys).map_err(|error| Failure::usage(format!("{whence}: {error}")))).transpose()?;
    let folder = global.engine.blobs.clone().unwrap_or_else(|| setup.keep().join("blobs"));
    Ok(Blobs::new(folder).sealed(seal))
}

fn read_file(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))
}

/// A name for words of a person.
fn said() -> Result<EvidenceId, Failure> {
    EvidenceId::new(format!("person-{}", uuid::Uuid::now_v7().simple())).map_err(Failure::internal)
}

fn failure_of(error: &EngineError) -> Failure {
    let failure = Failure::caused(code::USAGE, error);
    match error {
        EngineError::Connect { .. } => failure.hint("is the server there? `cargo xtask services` starts one for trials"),
        EngineError::RunExists { .. } => failure.hint("choose another --run-id, or `aime resume` it"),
        EngineError::NoSuchRun { .. } => failure.hint("`aime runs` with the same --on lists them"),
        EngineError::Refused { .. } => failure.hint("is a worker there? `aime worker --temporal ADDRESS` is one"),
        EngineError::Client(_) | EngineError::NoTls { .. } => failure,
    }
}
