//! History of a run: the plan at any version, and forks that continue from there.

use aime_actor_factory::{ActorFact, ActorMachine, ActorOutput};
use aime_durable::{Commit, Journal, Machine, NewRun, RUN_STREAM, Recorded, UnixMillis, replay};
use aime_progress_management::{PlanId, ProgressEvent, ProgressState, RunId, TimedEvent, fold};

use crate::{OrchestratorError, RunFact, RunInput, RunMachine, RunView};

/// Returns the state of a run when its plan reached a version, or `None` if it never did.
#[must_use]
pub fn state_at(view: &RunView, version: u32) -> Option<ProgressState> {
    let last = view.events.iter().position(|published| created_version(&published.event) == Some(version))?;
    let events: Vec<TimedEvent> =
        view.events.iter().take(last + 1).map(|published| TimedEvent { at: published.at, event: published.event.clone() }).collect();
    // The events of an existing view can always be folded.
    fold(&events).ok()
}

/// Returns the version of the plan that an event creates.
fn created_version(event: &ProgressEvent) -> Option<u32> {
    match event {
        ProgressEvent::PlanCreated { .. } => Some(1),
        ProgressEvent::PlanChanged { decision } => Some(decision.version),
        _ => None,
    }
}

/// Returns the facts that a fork begins with: those of `run` up to the moment when its plan reached `version`.
///
/// # Errors
///
/// [`OrchestratorError::NoPlan`] and [`OrchestratorError::NoSuchVersion`].
pub fn fork_facts(
    mut input: Recorded<RunInput>,
    facts: &[Recorded<RunFact>],
    version: u32,
    new: &RunId,
) -> Result<(Recorded<RunInput>, Vec<Recorded<RunFact>>), OrchestratorError> {
    let run = std::mem::replace(&mut input.fact.run, new.clone());
    input.fact.plan_id = PlanId::from(new);
    let reached = |facts: &[Recorded<_>]| replay::<RunMachine>(&input, facts).machine.state().version;
    // Finds the shortest history that has the version, by binary search: versions only grow.
    let (mut least, mut most) = (0, facts.len());
    let found = reached(facts);
    if version == 0 || found < version {
        return Err(OrchestratorError::no_version(&run, version, found));
    }
    while least < most {
        let middle = usize::midpoint(least, most);
        if reached(facts.get(..middle).unwrap_or_default()) >= version { most = middle } else { least = middle + 1 }
    }
    let mut facts = facts.get(..least).unwrap_or_default().to_vec();
    let until = facts.last().map_or(input.at, |fact| fact.at);
    facts.push(Recorded { at: until, fact: RunFact::Forked {} });
    Ok((input, facts))
}

/// Creates a new run of the same goal in the state that `run` had when its plan reached `version`. Tasks completed by
/// then stay completed; tasks that were running continue. The new run is resumed like any other. Files are not
/// restored: they stay as they are now, and actors that continue are told so. What an actor has changed in a private folder and not merged is not
/// in the fork.
///
/// # Errors
///
/// [`OrchestratorError::NoSuchRun`], [`OrchestratorError::NoPlan`], [`OrchestratorError::NoSuchVersion`], and errors of the journal, such as a name
/// that is taken.
pub async fn fork(journal: &Journal, run: &RunId, version: u32, new: &RunId, now: UnixMillis) -> Result<(), OrchestratorError> {
    let no_such_run = || OrchestratorError::NoSuchRun { run: run.to_string() };
    let loaded = journal.load::<RunMachine>(run.as_str(), RUN_STREAM)?.ok_or_else(no_such_run)?;
    let (input, facts) = fork_facts(loaded.input, &loaded.facts, version, new)?;
    let (plan_id, until) = (input.fact.plan_id.clone(), facts.last().map_or(input.at, |fact| fact.at));
    let facts = facts.as_slice();
    let title = input.fact.goal.clone();
    let entered = NewRun { id: new.as_str(), at: now, machine_version: RunMachine::VERSION, title: &title, status: "interrupted" };
    journal.create_run(entered).await?;
    let copied = async {
        for stream in journal.streams(run.as_str())?.into_iter().filter(|stream| stream != RUN_STREAM) {
            copy_actor(journal, (run, new), &plan_id, &stream, until).await?;
        }
        // The last step, because a run without its own stream has not begun and is never resumed.
        let events = replay::<RunMachine>(&input, facts).events;
        let commit = Commit::<RunMachine> { input: Some(&input), facts, events: events.into() };
        Ok(journal.stream(new.as_str(), RUN_STREAM).append(commit).await?)
    };
    let copied = copied.await;
    if copied.is_err()
        && let Err(error) = journal.delete_run(new.as_str()).await
    {
        tracing::warn!(%error, run = %new, "the entry of a fork that failed could not be deleted");
    }
    copied
}

/// Copies the journal of an actor up to the fork.
async fn copy_actor(
    journal: &Journal,
    (from, to): (&RunId, &RunId),
    plan: &PlanId,
    stream: &str,
    until: UnixMillis,
) -> Result<(), OrchestratorError> {
    let Some(loaded) = journal.load::<ActorMachine>(from.as_str(), stream)? else { return Ok(()) };
    let mut input = loaded.input;
    if input.at > until {
        return Ok(());
    }
    input.fact.spec.plan = plan.clone();
    let known = loaded.facts.iter().take_while(|fact| fact.at <= until).count();
    let mut facts = loaded.facts.get(..known).unwrap_or_default().to_vec();
    let goes_on = match replay::<ActorMachine>(&input, &facts).output {
        None => true,
        Some(ActorOutput::Ended(conclusion)) => conclusion.can_continue(),
        Some(_) => false,
    };
    if goes_on {
        facts.push(Recorded { at: until, fact: ActorFact::Forked {} });
    }
    let facts = facts.as_slice();
    let events = replay::<ActorMachine>(&input, facts).events;
    journal.stream(to.as_str(), stream).append(Commit::<ActorMachine> { input: Some(&input), facts, events: events.into() }).await?;
    Ok(())
}
