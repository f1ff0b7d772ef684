//! Forks a run from an earlier state of another one.

use std::collections::{BTreeSet, VecDeque};

use aime_actor_factory::{ActorFact, ActorInput, ActorMachine, ActorOutput, LEAD_PREFIX, effect_prefix};
use aime_durable::{Recorded, UnixMillis, replay};
use aime_orchestrator::{ActorReport, RunFact, RunMachine, fork_facts, main_id, view_from_facts};
use aime_progress_management::{PlanId, ProgressEvent, RunId};
use aime_tools::DELEGATE_TASK;
use temporalio_client::{WorkflowQueryOptions, errors::WorkflowQueryError};

use super::{EngineError, RunsClient, unqueried};
use crate::{
    ActorJournalPage, ActorWorkflow, JournalResume, MachineStart, RunWorkflowInput, StoppedActor, Timestamped, Wire, WorkspaceSnapshot,
    run_workflow,
};

/// Work of actors up to the moment of the fork.
#[derive(Default)]
struct AtWork {
    /// Actors that have not ended, or whose end was not taken in, by their names.
    stopped: Vec<(String, StoppedActor)>,
    /// Reports that the actors had sent and the run had not taken in.
    undelivered_reports: Vec<ActorReport>,
}

impl RunsClient {
    /// Creates a run in the state in which `run` reached version `version` of its plan. It waits until a person
    /// resumes it. Tasks completed by then are completed in the fork, and actors continue from their work so far.
    /// Files are used in their current state; if the folder moves between hosts, the fork begins from `tree`.
    ///
    /// # Errors
    /// [`EngineError::ActorForgotten`]; [`EngineError::Past`] for a version that the plan never had;
    /// [`EngineError::RunExists`], and errors of the engine.
    pub async fn fork(&self, run: &RunId, version: u32, new: &RunId, tree: Option<WorkspaceSnapshot>) -> Result<(), EngineError> {
        let (input, facts) = self.journal(run).await?;
        let (input, mut facts) = fork_facts(input, &facts, version, new)?;
        let until = facts.last().map_or(input.at, |fact| fact.at);
        let machine = replay::<RunMachine>(&input, &facts).machine;
        let plan = PlanId::from(input.fact.run());
        let AtWork { mut stopped, undelivered_reports } = self.at_work((run, version), &machine, (&plan, until)).await?;
        if let Some((lead, reports)) = self.lead((run, version), &machine, (&plan, until)).await? {
            facts.extend(reports.into_iter().map(|fact| Recorded { at: until, fact }));
            stopped.push((LEAD_PREFIX.to_owned(), lead));
        }
        if !undelivered_reports.is_empty() {
            facts.push(Recorded { at: until, fact: RunFact::ActorReports { reports: undelivered_reports } });
        }
        let events = view_from_facts(input.clone(), &facts).events.len();
        let facts = facts.into_iter().map(Timestamped::from).collect();
        let journal = JournalResume { facts, events, not_begun: BTreeSet::new(), then: Vec::new() };
        let (begin, queues) = (MachineStart { input: input.into(), journal: Some(journal) }, self.queues.clone());
        self.begin(RunWorkflowInput { begin, queues, stopped, tree, is_waiting: true, seeks_lead: false }).await
    }

    /// Returns the work up to that moment of the actors, and of their delegates, of a run in the state `machine`.
    async fn at_work(
        &self,
        (run, version): (&RunId, u32),
        machine: &RunMachine,
        (plan, until): (&PlanId, UnixMillis),
    ) -> Result<AtWork, EngineError> {
        let mut found = AtWork::default();
        for (task, execution) in machine.executions_under_way() {
            // The flag is true if the calling actor's journal holds the end of its call.
            let mut wanted = VecDeque::from([(None, false)]);
            while let Some((call, taken_in)) = wanted.pop_front() {
                let name = effect_prefix(task, execution, call.as_deref());
                let delivered = machine.reports_of(&name);
                let Some(journaled) = self.actor(run, &name).await? else {
                    if delivered > 0 {
                        return Err(EngineError::ActorForgotten { run: run.to_string(), task: task.clone(), version });
                    }
                    continue;
                };
                let Some(past) = PastActor::of(journaled, plan, until) else { continue };
                wanted.extend(past.delegations());
                let reports = past.reports().filter(|(number, _)| *number >= delivered);
                found.undelivered_reports.extend(reports.map(|(number, event)| {
                    let (task, call, event) = (task.clone(), call.clone(), event.clone());
                    ActorReport { task, execution, call, number, event }
                }));
                if !taken_in {
                    found.stopped.push((name, past.stopped()));
                }
            }
        }
        Ok(found)
    }

    /// Returns the lead with its conversation up to that moment, and its reports that the run had not taken in; `None` if it never began.
    async fn lead(
        &self,
        (run, version): (&RunId, u32),
        machine: &RunMachine,
        (plan, until): (&PlanId, UnixMillis),
    ) -> Result<Option<(StoppedActor, Vec<RunFact>)>, EngineError> {
        let delivered = machine.reports_of(LEAD_PREFIX);
        let Some(journaled) = self.actor(run, LEAD_PREFIX).await? else {
            return if delivered == 0 {
                Ok(None)
            } else {
                Err(EngineError::ActorForgotten { run: run.to_string(), task: main_id(), version })
            };
        };
        let Some(past) = PastActor::of(journaled, plan, until) else { return Ok(None) };
        let reports = past.reports().filter(|(number, _)| *number >= delivered);
        let reports = reports.map(|(number, event)| RunFact::LeadReported { call: None, number, event: event.clone() }).collect();
        Ok(Some((past.stopped(), reports)))
    }

    /// Returns all facts of an actor; `None` if it never began, or if its history was removed.
    async fn actor(&self, run: &RunId, name: &str) -> Result<Option<ActorJournalPage>, EngineError> {
        let workflow = format!("{}/{name}", run_workflow(run.as_str()));
        let actor = self.client.get_workflow_handle::<ActorWorkflow>(workflow);
        let mut known: Option<ActorJournalPage> = None;
        loop {
            let from = known.as_ref().map_or(0, |known| known.facts.len());
            match actor.query(ActorWorkflow::journal, from, WorkflowQueryOptions::default()).await {
                Ok(Wire(Some(more))) => {
                    let (nothing, all) = (more.facts.is_empty(), more.all);
                    match &mut known {
                        None => known = Some(more),
                        Some(known) => known.facts.extend(more.facts),
                    }
                    if nothing || known.as_ref().is_some_and(|known| known.facts.len() >= all) {
                        return Ok(known);
                    }
                }
                // It is about to begin.
                Ok(Wire(None)) => return Ok(None),
                Err(WorkflowQueryError::NotFound(_)) => return Ok(None),
                Err(error) => return Err(unqueried(run, &error)),
            }
        }
    }
}

/// Actor in its state at an earlier moment.
struct PastActor {
    input: Recorded<ActorInput>,
    created: Option<ProgressEvent>,
    /// The number of its first report after that.
    first: u64,
    text_limit: Option<usize>,
    facts: Vec<Recorded<ActorFact>>,
    events: Vec<ProgressEvent>,
    ended: Option<aime_progress_management::Conclusion>,
}

impl PastActor {
    /// Returns the work of a plan's actor up to the time `until`; `None` if it did not exist yet.
    fn of(journaled: ActorJournalPage, plan: &PlanId, until: UnixMillis) -> Option<Self> {
        let ActorJournalPage { input, created, first, text_limit, facts, .. } = journaled;
        let mut input: Recorded<ActorInput> = input.into();
        if input.at > until {
            return None;
        }
        input.fact.spec.plan = plan.clone();
        let facts: Vec<_> = facts.into_iter().take_while(|fact| fact.at <= until).map(Recorded::from).collect();
        let replayed = replay::<ActorMachine>(&input, &facts);
        let events = replayed.events.into_iter().map(|event| event.fact).collect();
        let ended = replayed.output.and_then(ActorOutput::ended).filter(|conclusion| !conclusion.can_continue());
        Some(Self { input, created, first, text_limit, facts, events, ended })
    }

    /// Returns its reports, each with its number.
    fn reports(&self) -> impl Iterator<Item = (u64, &ProgressEvent)> {
        self.created.iter().map(|event| (0, event)).chain((self.first..).zip(&self.events))
    }

    /// Returns the calls by which it had delegated work, with true for those whose ends had been taken in.
    fn delegations(&self) -> impl Iterator<Item = (Option<String>, bool)> {
        let finished =
            |of: &str| self.events.iter().any(|event| matches!(event, ProgressEvent::ToolCallFinished { call, .. } if call == of));
        self.events.iter().filter_map(move |event| match event {
            ProgressEvent::ToolCallStarted { call, tool, .. } if tool == DELEGATE_TASK => Some((Some(call.clone()), finished(call))),
            _ => None,
        })
    }

    /// Returns the actor in a form that can continue from there.
    fn stopped(self) -> StoppedActor {
        let reports = u64::try_from(self.events.len()).unwrap_or(u64::MAX).saturating_add(self.first);
        let facts = self.facts.into_iter().map(Timestamped::from).collect();
        let journal = JournalResume { facts, events: self.events.len(), not_begun: BTreeSet::new(), then: Vec::new() };
        let begin = MachineStart { input: self.input.into(), journal: Some(journal) };
        StoppedActor { begin, reports, ended: self.ended, text_limit: self.text_limit, private: None, conflicts: Vec::new() }
    }
}
