//! Trials of a task: a folder of its own, the program, the check.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use aime_sandbox::{Confinement, ProcessEnd, ProcessRequest, run};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    Agent, Failure, Fault, ModelInUse, NamedSettings, Outcome, OutcomeLog, Scripts, Suite, Task, Variant, agent, check, outcome::last_words,
};

/// Additional time beyond its time limit before a run is killed.
const GRACE: Duration = Duration::from_secs(60);
/// Interval of checks for the first tool call.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum bytes of a run's output that are kept, up to its end, where the result is.
pub(crate) const PRINTED: usize = 32 << 20;

/// Exit code of a run that a bound has ended.
const OUT_OF_BOUNDS: i32 = 4;

/// The evaluated program: the `aime` command.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path of the program.
    pub path: PathBuf,
    /// Environment variables, including keys of models.
    pub environment: BTreeMap<OsString, OsString>,
    /// Other agents to compare with.
    pub agents: Vec<Agent>,
    /// Settings by the names that [variants](Variant::settings) use for them.
    pub settings: BTreeMap<String, NamedSettings>,
    /// Models by the names that [variants](Variant::model) use for them; the configured model has no name.
    pub models: BTreeMap<Option<String>, ModelInUse>,
    /// Environment and confinement of checks and solutions.
    pub scripts: Scripts,
}

/// One task, one variant, one repetition.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// Task of the trial.
    pub task: &'a Task,
    /// Variant of the trial.
    pub variant: &'a Variant,
    /// Number of the repetition, from 1.
    pub repeat: u32,
}

/// Reason why an evaluation has ended early.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A file of a trial cannot be written, or a program cannot be started.
    #[error("the trial {trial}: {source}")]
    Trial {
        /// Name of the trial.
        trial: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// An outcome cannot be stored.
    #[error("the outcome cannot be kept: {0}")]
    Log(io::Error),
}

/// Progress of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evaluated {
    /// Number of trials with an outcome, including earlier ones.
    pub finished: usize,
    /// Number of all trials.
    pub all: usize,
    /// True if it was stopped before all trials had an outcome.
    pub stopped: bool,
    /// Number of trials that could not use their model. They have no outcome, and are repeated.
    pub without_model: usize,
    /// Number of trials that were skipped, because an earlier trial with the same model could not use it.
    pub skipped: usize,
    /// Number of trials that could not begin, for example because of invalid settings or a missing agent. They have no outcome either.
    pub wrong_use: usize,
}

/// Returns every trial of a suite. Each round tries all tasks with all variants, so that an evaluation that is stopped early covers all of
/// them. Skips variants that need something that a task lacks (late files, a wrong plan).
#[must_use]
pub fn trials<'a>(suite: &'a Suite, variants: &'a [Variant], repeats: u32) -> Vec<Trial<'a>> {
    let has_what_it_needs = |task: &Task, variant: &Variant| match variant.fault {
        Some(Fault::LateInformation) => !task.late.is_empty(),
        fault @ Some(Fault::WrongPlan | Fault::WrongTasks) => task.plan_under(fault).is_some(),
        Some(Fault::FlakyTools) | None => true,
    };
    let mut all = Vec::new();
    for repeat in 1..=repeats {
        for task in &suite.tasks {
            all.extend(variants.iter().filter(|variant| has_what_it_needs(task, variant)).map(|variant| Trial { task, variant, repeat }));
        }
    }
    all
}

impl Trial<'_> {
    /// Returns the name of its folder.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.task.name, self.variant.file_name(), self.repeat)
    }
}

impl Program {
    /// Returns true if the trial has an outcome with the current inputs.
    #[must_use]
    pub fn has_tried(&self, trial: &Trial<'_>, log: &OutcomeLog) -> bool {
        self.outcome_of(trial, log).is_some()
    }

    /// Returns the outcomes of these trials, without those of another task, model or settings of the same name.
    #[must_use]
    pub fn outcomes_of(&self, trials: &[Trial<'_>], log: &OutcomeLog) -> Vec<Outcome> {
        trials.iter().filter_map(|trial| self.outcome_of(trial, log).cloned()).collect()
    }

    /// Returns the newest outcome of a trial with the current inputs.
    fn outcome_of<'a>(&self, trial: &Trial<'_>, log: &'a OutcomeLog) -> Option<&'a Outcome> {
        let made_of = self.made_of(trial);
        log.outcomes().iter().rev().find(|outcome| outcome.is_of(trial, &made_of))
    }

    /// Returns a digest of the inputs of a trial.
    fn made_of(&self, trial: &Trial<'_>) -> String {
        let Trial { task, variant, .. } = trial;
        let mut digest = task.digest();
        let model = self.models.get(&variant.model).map(ModelInUse::display_name);
        let settings = variant.settings.as_ref().and_then(|name| self.settings.get(name)).map(|settings| settings.made_of.clone());
        let agent = variant.agent.as_ref().and_then(|name| self.agents.iter().find(|agent| agent.name == *name));
        for part in [model, settings, agent.map(|agent| agent.command.clone())] {
            digest.part(part.unwrap_or_default().as_bytes());
        }
        digest.short()
    }

    /// Makes the trials without an outcome, `jobs` at once, each in a folder of its own below `folder`, and logs their outcomes. Calls
    /// `on_outcome` after each. When `cancel` is cancelled, running trials are killed and not logged, so that they are repeated; so are those
    /// that could not use their model, or not begin. After a trial that could not use its model, further trials with that model are skipped.
    ///
    /// # Errors
    /// [`TrialError`] if a trial could not be made at all; the outcomes of others are kept.
    pub async fn evaluate(
        &self,
        trials: &[Trial<'_>],
        folder: &Path,
        jobs: usize,
        log: &mut OutcomeLog,
        cancel: &CancellationToken,
        mut on_outcome: impl FnMut(&Outcome, Evaluated),
    ) -> Result<Evaluated, TrialError> {
        let (done, open): (Vec<&Trial<'_>>, Vec<_>) = trials.iter().partition(|trial| self.has_tried(trial, log));
        let mut evaluated =
            Evaluated { finished: done.len(), all: trials.len(), stopped: false, without_model: 0, skipped: 0, wrong_use: 0 };
        let program = Arc::new(self.clone());
        let mut open = open.into_iter();
        let mut unusable = BTreeSet::new();
        let mut running = JoinSet::new();
        loop {
            // Only running trials keep the files of their task.
            while running.len() < jobs.max(1)
                && let Some(trial) = open.next().filter(|_| !cancel.is_cancelled())
            {
                if unusable.contains(&trial.variant.model_source()) {
                    evaluated.skipped += 1;
                    continue;
                }
                let (program, cancel) = (Arc::clone(&program), cancel.clone());
                let (task, variant, repeat, place) = (trial.task.clone(), trial.variant.clone(), trial.repeat, folder.join(trial.name()));
                running.spawn(async move {
                    let trial = Trial { task: &task, variant: &variant, repeat };
                    program.attempt(&trial, &place, &cancel).await.map_err(|source| TrialError::Trial { trial: trial.name(), source })
                });
            }
            let Some(ended) = running.join_next().await else { break };
            match ended {
                Ok(Ok(Some(outcome))) if outcome.failure.is_some_and(Failure::is_of_the_set_up) => {
                    if outcome.failure == Some(Failure::Model) {
                        evaluated.without_model += 1;
                        unusable.insert(outcome.variant.model_source());
                    } else {
                        evaluated.wrong_use += 1;
                    }
                    on_outcome(&outcome, evaluated);
                }
                Ok(Ok(Some(outcome))) => {
                    log.add(outcome).map_err(TrialError::Log)?;
                    evaluated.finished += 1;
                    if let Some(outcome) = log.outcomes().last() {
                        on_outcome(outcome, evaluated);
                    }
                }
                Ok(Ok(None)) => {}
                Ok(Err(error)) => return Err(error),
                Err(failed) => return Err(TrialError::Log(io::Error::other(failed))),
            }
        }
        let ended = evaluated.finished + evaluated.without_model + evaluated.skipped + evaluated.wrong_use;
        evaluated.stopped = ended < evaluated.all;
        Ok(evaluated)
    }

    /// Makes one trial. Returns `None` if it was stopped.
    async fn attempt(&self, trial: &Trial<'_>, place: &Path, cancel: &CancellationToken) -> io::Result<Option<Outcome>> {
        let Trial { task, variant, .. } = *trial;
        remove_tree(place)?;
        let work = place.join("work");
        fs::create_dir_all(&work)?;
        let (place, work) = (place.canonicalize()?, work.canonicalize()?);
        let goal = place.join("goal.md");
        fs::write(&goal, goal_under(task, variant.fault))?;
        let request = match &variant.agent {
            None => self.run_of(task, variant, (&place, &work, &goal))?,
            Some(name) => {
                task.files.write_to(&work)?;
                let agent = self.agents.iter().find(|agent| agent.name == *name);
                let agent = agent.ok_or_else(|| io::Error::other(format!("there is no agent {name:?}")))?;
                agent::request(&agent.command, (task, variant), (&work, &goal), self)
            }
        };
        let begun = Instant::now();
        let ran = tokio::select! {
            ran = run(request, cancel) => ran.map_err(io::Error::other)?,
            never = come_late(task, variant, &work) => match never {},
        };
        let seconds = begun.elapsed().as_secs();
        let printed = ran.stdout.text();
        fs::write(place.join("events.jsonl"), &printed)?;
        fs::write(place.join("log.txt"), ran.stderr.text())?;
        let code = match ran.end {
            ProcessEnd::Cancelled => return Ok(None),
            ProcessEnd::Exited(code) => Some(code),
            // aime enforces its own time limit, and got more time.
            ProcessEnd::TimedOut if variant.agent.is_some() => Some(OUT_OF_BOUNDS),
            _ => None,
        };
        let (outcome, answer) = Outcome::new(trial, &printed, code, seconds);
        if outcome.failure.is_some_and(Failure::is_of_the_set_up) {
            return Ok(Some(Outcome { error: outcome.error.or_else(|| last_words(&ran.stderr.text())), ..outcome }));
        }
        let checked = check::reached(task, &work, &answer, &self.scripts).await?;
        fs::write(place.join("check.txt"), &checked.output)?;
        let outcome = Outcome { made_of: Some(self.made_of(trial)), ..outcome };
        Ok(Some(outcome.checked(checked.reached)))
    }

    /// Prepares a run of aime, with its settings and files in place.
    fn run_of(&self, task: &Task, variant: &Variant, (place, work, goal): (&Path, &Path, &Path)) -> io::Result<ProcessRequest> {
        if variant.fault == Some(Fault::LateInformation) {
            task.files.divided(&task.late).1.write_to(work)?;
        } else {
            task.files.write_to(work)?;
        }
        let named = match &variant.settings {
            None => toml::Table::new(),
            Some(name) => {
                let named = self.settings.get(name).map(|settings| settings.table.clone());
                named.ok_or_else(|| io::Error::other(format!("there are no settings {name:?}")))?
            }
        };
        fs::write(place.join("settings.toml"), variant.to_toml(named))?;
        let mut arguments: Vec<OsString> =
            vec!["-C".into(), work.into(), "--config".into(), place.join("settings.toml").into(), "run".into()];
        arguments.extend(["--goal-file".into(), goal.into()]);
        if let Some(plan) = task.plan_under(variant.fault) {
            fs::write(place.join("plan.json"), serde_json::to_vec_pretty(&plan)?)?;
            arguments.extend(["--plan".into(), place.join("plan.json").into()]);
        }
        let mut flag =
            |name: &str, value: Option<String>| arguments.extend(value.into_iter().flat_map(|value| [name.into(), value.into()]));
        flag("--mode", variant.mode.clone());
        flag("--model", variant.model.clone());
        flag("--timeout", Some(format!("{}s", task.bounds.seconds)));
        flag("--max-tokens", task.bounds.tokens.map(|tokens| tokens.to_string()));
        arguments.extend(["--approve", "all", "--unattended", "--output", "jsonl"].map(OsString::from));
        Ok(ProcessRequest {
            program: self.path.clone().into(),
            arguments,
            working_folder: work.to_owned(),
            environment: self.environment.clone(),
            input: Vec::new(),
            time_limit: Duration::from_secs(task.bounds.seconds) + GRACE,
            output_limit: PRINTED,
            // aime itself confines its model's commands.
            confinement: Confinement::off(),
        })
    }
}

/// Removes the entry at a path, if there is one: a folder with all its content, even with read-only folders that a run has left; for a
/// link, only the link.
///
/// # Errors
/// An entry that exists and cannot be removed.
pub fn remove_tree(place: &Path) -> io::Result<()> {
    match place.symlink_metadata() {
        Ok(there) if !there.is_dir() => return fs::remove_file(place),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        _ => {}
    }
    #[cfg(unix)]
    for entry in walkdir::WalkDir::new(place).into_iter().flatten().filter(|entry| entry.file_type().is_dir()) {
        let _ = fs::set_permissions(entry.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755));
    }
    fs::remove_dir_all(place)
}

/// Writes the late files over existing ones, as their author would, then waits until it is dropped.
async fn come_late(task: &Task, variant: &Variant, work: &Path) -> Infallible {
    if variant.fault == Some(Fault::LateInformation) {
        while !work.join(".aime/called").exists() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        tokio::time::sleep(Duration::from_secs(task.bounds.late_seconds)).await;
        // A run may have made its folder read-only: that is its own fault, and does not end other trials.
        if let Err(error) = task.files.divided(&task.late).0.write_to(work) {
            tracing::warn!(task = task.name, %error, "what comes late could not be laid in");
        }
    }
    std::future::pending().await
}

/// Returns the goal under a fault: a run can only wait for a file if the goal mentions that it will come.
fn goal_under(task: &Task, fault: Option<Fault>) -> String {
    if fault != Some(Fault::LateInformation) {
        return task.goal.clone();
    }
    let late: Vec<String> = task.late.iter().map(|path| path.display().to_string()).collect();
    format!("{} (Another program writes {}, and may not have done so yet: then wait for it.)", task.goal, late.join(" and "))
}

#[cfg(test)]
mod tests;
