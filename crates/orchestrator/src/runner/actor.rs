//! Actor tasks: an actor with its own journal, driven to its conclusion.

// Thousands of actors may wait at once, each with these futures.
#![warn(clippy::large_futures)]

mod agent;
mod delegate;
mod effects;
mod listening;
mod remote;
mod reports;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use aime_actor_factory::{
    ActorContext, ActorFact, ActorInput, ActorMachine, ActorOutput, Delegated, LEAD_PREFIX, LeadWake, PersonMessage, last_wake,
};
use aime_durable::{
    DriveError, EffectId, EmbeddedHost, FactSender, Loaded, Reason, Recorded, Resume, UnixMillis, drive, replay, run_folder,
};
use aime_llm::Model;
use aime_messages::{Describe as _, Message, message};
use aime_progress_management::{Conclusion, EvidenceId, Origin, PlanMode, ProgressEvent, TaskId, TaskSpec, Timestamp};
use aime_tools::{Approval, BackgroundProcesses, DELEGATE_TASK, Programs, Surroundings, ToolContext};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::delegate::delegation_result;
use self::{
    agent::AgentGuard,
    effects::ActorRunner,
    reports::{RefusedCalls, ReportingStream, Reports},
};
use super::{
    Context, RunRunner,
    audit::AuditUses,
    evidence::of_actor,
    folder_access::FolderLease,
    hooks::HookCaller,
    millis_since, on_bound,
    private::{PrivateWorkspace, TaskWorkspace, conflict_criterion_result},
    verify::CheckedWork,
};
use crate::{ActorBrief, ActorContinuation, RunFact, RunMachine, models::OnBound, settings::in_force};

const UNATTENDED_EDITS: &str = "- Nobody is there to allow a call. Commands, and `checks` of `terminate`, are refused unless a rule of the user allows them; \
                                files can be changed. Do not repeat a refused call: say what could not be run.\n";
const UNATTENDED_ASK: &str = "- Nobody is there to allow a call. Every change and every command is refused unless a rule of the user allows it. Do not \
                              repeat a refused call: say what could not be done.\n";

/// One execution of a task: state shared by the actor that works for the plan and the actors below it.
pub(super) struct Attempt {
    pub(super) runner: Arc<RunRunner>,
    pub(super) facts: FactSender<RunMachine>,
    pub(super) on_bound: OnBound,
    /// The run at the time when the task was started or resumed.
    pub(super) brief: Box<ActorBrief>,
    pub(super) task: TaskId,
    pub(super) execution: u32,
    /// Untrusted sources of the texts that the task is given.
    pub(super) origins: Vec<Origin>,
    /// Recalled memories and documents, in Markdown.
    pub(super) recalled: String,
    /// True for the run's lead.
    pub(super) leads: bool,
    /// The messages of people that the wake of the lead contains.
    pub(super) told: BTreeSet<EvidenceId>,
    /// The private folder that it works in; if absent, the working folder.
    pub(super) private: Option<PrivateWorkspace>,
    /// The turn to work in the working folder, if turns are taken.
    pub(super) turn: Option<FolderLease>,
    /// Receives the requests of an auditor, whose events are not sent to the run; absent for working actors.
    pub(super) audit: Option<Arc<AuditUses>>,
}

/// A new actor, and the event that reports its creation.
pub(super) struct NewActor {
    pub(super) input: ActorInput,
    pub(super) created: ProgressEvent,
}

/// Content of an actor's journal.
struct ReplayedActor {
    machine: ActorMachine,
    /// Its reports so far.
    reports: Reports,
    /// Its last output.
    output: Option<ActorOutput>,
    /// Start times of the calls that have not ended.
    calls_begun: BTreeMap<String, UnixMillis>,
}

/// Beginning of an actor's work.
enum Opening {
    /// It has ended before.
    Ended(ActorOutput),
    Ready(OpenActor, Box<Resume<ActorMachine>>),
}

/// An actor that is ready to be driven.
struct OpenActor {
    host: EmbeddedHost<ActorMachine, ActorRunner, ReportingStream>,
    guard: Option<Arc<AgentGuard>>,
    processes: Option<BackgroundProcesses>,
    /// Messages of people that it already has.
    delivered: BTreeSet<EvidenceId>,
}

impl OpenActor {
    /// Ends what belongs to an actor: its effects, the process and the watch of an external agent, and its own commands if it `goes_on`
    /// later.
    async fn close(self, goes_on: bool, context: &ToolContext) {
        // Closing the host also ends the process of an external agent.
        self.host.close().await;
        if let Some(guard) = self.guard {
            guard.end().await;
        }
        // An actor that continues later learns that its commands were ended.
        if let Some(processes) = self.processes
            && goes_on
        {
            processes.end_own(context).await;
        }
    }
}

impl RunRunner {
    pub(super) async fn start_actor(
        self: &Arc<Self>,
        id: EffectId,
        brief: Box<ActorBrief>,
        task: &TaskId,
        (execution, origins, known): (u32, Vec<Origin>, String),
        context: &Context,
    ) -> RunFact {
        let begun = Instant::now();
        let (private, turn) = match self.place(&brief, task, execution, context).await {
            Ok(TaskWorkspace::Private(private)) => (Some(*private), None),
            Ok(TaskWorkspace::Shared(turn)) => (None, turn),
            Err(message) => return RunFact::EffectFailed { id, message },
        };
        let (runner, facts) = (Arc::clone(self), context.facts.clone());
        let attempt = Arc::new(Attempt {
            runner,
            facts,
            on_bound: on_bound(context),
            brief,
            task: task.clone(),
            execution,
            origins,
            recalled: known,
            leads: false,
            told: BTreeSet::new(),
            private,
            turn,
            audit: None,
        });
        if execution == 1 && !self.has_actor(task, execution) {
            context
                .cancel
                .run_until_cancelled(self.try_criteria(&attempt.brief.spec, attempt.private.as_ref(), &attempt.origins, context))
                .await;
        }
        let refused = OnceLock::new();
        let make = Box::pin(async {
            let made = attempt.compose_for_plan().await?;
            self.budget.count_actor().map_err(|error| refused.get_or_init(|| error).describe())?;
            Ok(made)
        });
        let ended = Box::pin(attempt.act(None, None, &context.cancel, make)).await.and_then(ended);
        let mut conclusion = match ended {
            Ok(conclusion) => conclusion,
            Err(message) => {
                if let Some(error) = refused.get() {
                    // The run receives this and revokes the task.
                    (attempt.on_bound)(&error.into());
                    context.cancel.cancelled().await;
                }
                return RunFact::EffectFailed { id, message };
            }
        };
        // An actor that continues does so in its private folder, so nothing is merged yet.
        let merged_place = attempt.private.as_ref().filter(|_| !conclusion.can_continue());
        let evidence = || of_actor(&self.parts.journal, self.run.as_str(), task, execution);
        let returned = attempt.brief.returned.as_ref().map_or(0, |returned| returned.number);
        let name = format!("{task}-{execution}-{returned}");
        let work = CheckedWork { name, spec: &attempt.brief.spec, given: &attempt.brief.results, place: merged_place };
        let (mut checks, mut calls) = self.verify_task(work.clone(), &conclusion, evidence, context).await;
        let (mut merged, mut conflicts) = (None, Vec::new());
        // Refused work is not merged.
        if checks.iter().any(|check| check.fault().is_some()) {
            conclusion.unmerged = merged_place.map(PrivateWorkspace::kept_path);
        } else if let Some(private) = merged_place {
            let merge = match Box::pin(self.merge(private, task, !checks.is_empty(), context)).await {
                Ok(merge) => merge,
                Err(message) => return RunFact::EffectFailed { id, message },
            };
            merged = conflict_criterion_result(&merge.conflicts, |conflict| private.own_version(conflict));
            if merged.as_ref().is_some_and(|check| check.passed == Some(false)) {
                checks.clear();
            } else {
                let work = CheckedWork { place: merged_place.filter(|_| !merge.is_unchanged), ..work };
                let again = self.verify_merged(work, (&conclusion, evidence), (&merge.unseen, &mut checks), context);
                calls.extend(Box::pin(again).await);
            }
            conflicts = merge.conflicts;
        }
        let checks = merged.into_iter().chain(checks).collect();
        RunFact::TaskEnded { id, conclusion, checks, calls, conflicts, duration_ms: millis_since(begun) }
    }

    /// Returns whether the actor of a task may change files, by its profile.
    pub(super) fn may_write(&self, spec: &TaskSpec, category: &str) -> bool {
        let (role, limits) = (self.role_of(category), |role: &str| self.limits_of(role));
        let context = ActorContext {
            category,
            model: &role,
            limits: &limits,
            classes: self.parts.tool_context.classes,
            ..ActorContext::new("", &self.parts.tools, &self.input.rules)
        };
        self.parts.actors.may_write(spec, &context)
    }

    /// Returns the role of the model for goals of a category.
    fn role_of(&self, category: &str) -> String {
        let model = self.parts.categories.iter().find(|known| known.name == category).and_then(|known| known.model.clone());
        model.unwrap_or_else(|| "default".to_owned())
    }

    /// Returns the description of the folder and the machine for prompts: the full one, and one for small models.
    /// Instruction files of the folders that `task` names come first.
    pub(super) async fn environments(&self, task: &str) -> (String, String) {
        let listing = self.listing();
        let listing = if listing.is_empty() { "It is empty.".to_owned() } else { format!("It holds:\n{listing}") };
        let short = format!("You work in one folder on {}. Paths are relative to it. {listing}", std::env::consts::OS);
        let context = &self.parts.tool_context;
        // Only simple prompts hold the short text.
        let is_simple = |limits| context.classes.of(limits).simple_tools;
        if self.parts.models.as_ref().is_none_or(|models| models.all_have(is_simple)) {
            return (short.clone(), short);
        }
        let programs = self.parts.programs.of(&self.run).get_or_init(|| Programs::read(context)).await.clone();
        let work = format!(
            "{}
{task}",
            self.input.goal
        );
        let facts = Surroundings::read(context, &work, day(self.parts.clock.now()), programs).await;
        (format!("{}{}", self.refusals(), facts.to_markdown()), short)
    }

    /// Returns the calls that are refused because nobody is there to allow them, as a line of the environment; empty if there are none.
    fn refusals(&self) -> &'static str {
        match self.input.settings.approval {
            Approval::Edits if self.input.settings.unattended => UNATTENDED_EDITS,
            Approval::Ask if self.input.settings.unattended => UNATTENDED_ASK,
            Approval::Ask | Approval::Edits | Approval::All | Approval::ReadOnly => "",
        }
    }

    pub(super) fn tool_context(&self, cancel: CancellationToken, task: &TaskId) -> ToolContext {
        let mut outputs = run_folder(&self.parts.keep, self.run.as_str());
        outputs.push(task.as_str());
        self.parts.tool_context.clone().with_cancel(cancel).with_output_folder(outputs)
    }

    /// Returns the trace context of a call, if telemetry is on.
    pub(super) fn trace_parent(&self, call: &EffectId) -> Option<String> {
        self.parts.trace_parents.as_ref().map(|of| of(&self.run, call.as_str()))
    }
}

impl Attempt {
    pub(super) fn asking(&self) -> HookCaller {
        self.runner.asking(&self.facts, Some(&self.task))
    }

    fn model(&self, role: &str) -> Option<Model> {
        self.runner.model_for(role, Arc::clone(&self.on_bound), self.asking())
    }

    /// Drives an actor from the end of its journal: the actor that works for the plan, or the one that answers `call`.
    pub(super) async fn act(
        self: &Arc<Self>,
        call: Option<&str>,
        wake: Option<LeadWake>,
        cancel: &CancellationToken,
        make: impl Future<Output = Result<NewActor, Message>> + Send,
    ) -> Result<ActorOutput, Message> {
        // The beginning and the end are boxed, so that an actor that works does not hold their memory.
        let (mut opened, resume) = match Box::pin(self.open(call, wake, cancel, make)).await? {
            Opening::Ended(output) => return Ok(output),
            Opening::Ready(opened, resume) => (opened, resume),
        };
        let (sender, stopped) = (opened.host.sender(), cancel.clone());
        let stop = tokio::spawn(async move {
            stopped.cancelled().await;
            // Sending fails only if the actor has ended, and then it needs no stop.
            let _gone = sender.send(ActorFact::Stopped { why: Reason::Stopped });
        });
        let listen = self.listen(call, std::mem::take(&mut opened.delivered), opened.host.sender());
        let ended = drive(&mut opened.host, *resume).await.map(|ended| ended.output);
        stop.abort();
        listen.abort();
        let goes_on = !ended.as_ref().is_ok_and(|output| !can_continue(output));
        Box::pin(opened.close(goes_on, &self.runner.parts.tool_context)).await;
        match ended {
            Ok(output) => Ok(output),
            Err(DriveError::Host(error)) => {
                let reason = Message::text(&error);
                // A call may have taken effect without a record. Another attempt would silently repeat it; a resume
                // asks a person about it.
                if self.runner.broken.send(error).is_ok() {
                    cancel.cancelled().await;
                }
                Err(reason)
            }
            Err(other) => Err(Message::text(other)),
        }
    }

    /// Reads an actor's journal, or makes the actor, and prepares it to be driven.
    async fn open(
        self: &Arc<Self>,
        call: Option<&str>,
        wake: Option<LeadWake>,
        cancel: &CancellationToken,
        make: impl Future<Output = Result<NewActor, Message>> + Send,
    ) -> Result<Opening, Message> {
        let (journal, run) = (self.runner.journal(), self.runner.run.as_str());
        let now = self.runner.parts.clock.now();
        // Messages of people on the task also concern the actors below its own.
        let messages = self.runner.words.messages_for(&self.listener());
        let delivered: BTreeSet<_> = messages.iter().map(|message| message.id.clone()).collect();
        let mut calls_begun = BTreeMap::new();
        let messages: Vec<_> = messages.into_iter().filter(|message| self.is_due(&message.id)).collect();
        let (input, reports, writer, resume) = match self.load(call)? {
            None => {
                let NewActor { mut input, created } = make.await?;
                input.messages = messages;
                let input = input.without_secrets(&self.runner.parts.redactor);
                let mut reports = Reports::new(Arc::clone(self), input.call.clone());
                reports.send(created);
                let writer = journal.stream(run, &input.effect_prefix());
                let resume = Resume::Fresh(Recorded { at: now, fact: input.clone() });
                (input, reports, writer, resume)
            }
            Some(loaded) => {
                let replayed = self.replay_reports(&loaded)?;
                let again = if call.is_none() && !self.leads { self.run_again(&replayed.machine)? } else { None };
                let ReplayedActor { reports, output, .. } = replayed;
                calls_begun = replayed.calls_begun;
                let is_woken =
                    wake.as_ref().is_none_or(|wake| last_wake(loaded.facts.iter().map(|recorded| &recorded.fact)) >= wake.number);
                match output {
                    Some(output) if again.is_none() && is_woken && !can_continue(&output) => return Ok(Opening::Ended(output)),
                    _ => {}
                }
                let input = loaded.input.fact.clone();
                let writer = journal.stream(run, &input.effect_prefix()).after(&loaded);
                let go_on = wake.filter(|_| !is_woken).map_or(ActorFact::Resumed {}, |wake| ActorFact::Woken { wake });
                let then = undelivered(messages, &loaded).map(|message| ActorFact::PersonMessage { message });
                let then = then.chain(again).chain([go_on]);
                let then = then.map(|fact| Recorded { at: now, fact }).collect();
                (input, reports, writer, loaded.resume(then))
            }
        };
        let refused = Arc::<RefusedCalls>::default();
        let processes = self.runner.parts.tool_context.background.as_ref().map(|all| all.of_owner(&input.effect_prefix()));
        let mut runner = ActorRunner { calls_begun, ..self.runner_of(input, &refused, cancel)? };
        let guard = AgentGuard::begin(self, &runner.input, &runner.tool_context).await;
        runner.guard.clone_from(&guard);
        let sink = ReportingStream { writer, reports, refused, pending: Vec::new() };
        let redactor = self.runner.parts.redactor.clone();
        let host = EmbeddedHost::new(Arc::new(runner), sink).with_clock(Arc::clone(&self.runner.parts.clock));
        let host = host.with_facts_through(move |fact| fact.without_secrets(&redactor));
        Ok(Opening::Ready(OpenActor { host, guard, processes, delivered }, Box::new(resume)))
    }

    /// Returns the runner of the effects of an actor with this input.
    fn runner_of(
        self: &Arc<Self>,
        mut input: ActorInput,
        refused: &Arc<RefusedCalls>,
        cancel: &CancellationToken,
    ) -> Result<ActorRunner, Message> {
        let owner = input.effect_prefix();
        // The machine holds its own copies of the prompts, and nothing else reads these.
        for prompt in [&mut input.system, &mut input.task, &mut input.spec.persona] {
            *prompt = String::new();
        }
        input.images = Vec::new();
        let mut tool_context = self.runner.tool_context(cancel.clone(), &self.task).for_model(input.limits);
        if let Some(private) = &self.private {
            tool_context = private.context(tool_context);
        }
        tool_context.background = tool_context.background.map(|all| all.of_owner(&owner));
        let model = if input.spec.agent {
            self.agent(&input, &tool_context)?
        } else {
            self.model(&input.spec.model).ok_or_else(|| message!("none-for-actors"))?
        };
        Ok(ActorRunner {
            attempt: Arc::clone(self),
            input,
            model: Some(model),
            tool_context,
            refused: Arc::clone(refused),
            guard: None,
            calls_begun: BTreeMap::new(),
        })
    }

    /// Returns the fact that makes the actor continue after its result was rejected, or `None` if the actor already
    /// has the fact.
    fn run_again(&self, actor: &ActorMachine) -> Result<Option<ActorFact>, Message> {
        let Some(ActorContinuation { number, missing, answer }) = self.brief.returned.clone() else { return Ok(None) };
        actor.run_again_fact(number, missing, answer).map_err(|error| error.describe())
    }

    fn load(&self, call: Option<&str>) -> Result<Option<Loaded<ActorMachine>>, Message> {
        let stream = match call {
            None if self.leads => LEAD_PREFIX.to_owned(),
            call => aime_actor_factory::effect_prefix(&self.task, self.execution, call),
        };
        self.runner.journal().load::<ActorMachine>(self.runner.run.as_str(), &stream).map_err(Message::text)
    }

    /// Reports the events of an actor, and of the actors to which it has delegated, to the run again: a crash may have
    /// lost them between the journals. Returns the actor's last output, if it has ended or was stopped, and the start
    /// times of the calls that have not ended.
    fn replay_reports(self: &Arc<Self>, loaded: &Loaded<ActorMachine>) -> Result<ReplayedActor, Message> {
        let before = replay::<ActorMachine>(&loaded.input, &loaded.facts);
        let call = &loaded.input.fact.call;
        let mut reports = Reports::new(Arc::clone(self), call.clone());
        // The first report, the creation of the actor, does not come from the actor's machine.
        reports.send(self.runner.parts.actor_created(self.task_of(call.as_deref()), &loaded.input.fact, Vec::new()));
        let mut calls_begun = BTreeMap::new();
        for event in before.events {
            match &event.fact {
                ProgressEvent::ToolCallStarted { call, .. } => drop(calls_begun.insert(call.clone(), event.at)),
                ProgressEvent::ToolCallFinished { call, .. } => drop(calls_begun.remove(call)),
                _ => {}
            }
            if let ProgressEvent::ToolCallFinished { call, tool, .. } = &event.fact
                && tool == DELEGATE_TASK
                && let Some(below) = self.load(Some(call))?
            {
                self.replay_reports(&below)?;
            }
            reports.send(event.fact);
        }
        Ok(ReplayedActor { machine: before.machine, reports, output: before.output, calls_begun })
    }

    /// Creates the actor that works for the plan.
    async fn compose_for_plan(&self) -> Result<NewActor, Message> {
        self.compose(&self.brief.spec, &self.brief.results, None, &self.origins).await
    }

    /// Returns the task in the creation event of an actor; `None` for the lead.
    fn task_of(&self, call: Option<&str>) -> Option<&TaskId> {
        (!self.leads || call.is_some()).then_some(&self.task)
    }

    pub(super) async fn compose(
        &self,
        spec: &TaskSpec,
        results: &str,
        delegated: Option<Delegated<'_>>,
        origins: &[Origin],
    ) -> Result<NewActor, Message> {
        let (runner, brief) = (&self.runner, &self.brief);
        // Actors to which a task's actor delegates use the model of the task, unless their profile names another.
        let role = brief.spec.model.clone().unwrap_or_else(|| runner.role_of(&brief.category));
        let limits = |role: &str| runner.limits_of(role);
        let (environment, short_environment) = runner.environments(&words_of(spec)).await;
        let (project, known) = (runner.parts.project.trim(), self.recalled.trim());
        let knowledge = format!("{project}\n\n{known}");
        let category = runner.parts.categories.iter().find(|known| known.name == brief.category);
        let rules = in_force(&runner.input.rules, &brief.consents);
        let made = runner.parts.actors.compose(
            spec,
            &ActorContext {
                category: &brief.category,
                execution: self.execution,
                overview: &brief.overview,
                results,
                knowledge: knowledge.trim(),
                environment: &environment,
                short_environment: &short_environment,
                images: &runner.input.images,
                risks: if delegated.is_none() { &brief.risks } else { &[] },
                skills: category.map(|category| category.skills.as_slice()).unwrap_or_default(),
                approval: runner.input.settings.approval,
                trust: runner.input.settings.trust.clone(),
                origins,
                attended: !runner.input.settings.unattended,
                model: &role,
                limits: &limits,
                classes: runner.parts.tool_context.classes,
                max_steps: runner.bounds.max_steps,
                plain_answer_ends: delegated.is_none() && brief.mode == Some(PlanMode::Direct),
                delegated,
                ..ActorContext::new(&brief.goal, &runner.parts.tools, &rules)
                    .of_plan(brief.plan_id.clone(), Timestamp::from_millis(runner.parts.clock.now()))
            },
        );
        let made = made.map_err(Message::text)?;
        let task = self.task_of(delegated.map(|delegated| delegated.call));
        let created = runner.parts.actor_created(task, &made.input, made.selection.reasons);
        Ok(NewActor { input: made.input, created })
    }
}

/// Returns the day of a time, such as `2026-11-25`, in UTC.
fn day(millis: i64) -> String {
    // Days since 1 March of the year 0, in eras of 400 years.
    let days = millis.div_euclid(86_400_000) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * from_march + 2) / 5 + 1, (from_march + 2) % 12 + 1);
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + i64::from(month <= 2))
}

/// Returns the texts of a task that may name files.
fn words_of(spec: &TaskSpec) -> String {
    let criteria = spec.completion_criteria.iter().map(ToString::to_string);
    [spec.name.clone(), spec.description.clone()].into_iter().chain(criteria).collect::<Vec<_>>().join("\n")
}

/// Returns true if an actor with this output continues its conversation when it is driven again.
fn can_continue(output: &ActorOutput) -> bool {
    matches!(output, ActorOutput::Ended(conclusion) if conclusion.can_continue())
}

/// Returns the conclusion of an actor that has ended.
pub(super) fn ended(output: ActorOutput) -> Result<Conclusion, Message> {
    output.ended().ok_or_else(|| message!("lead-rests"))
}

/// Returns the messages to an actor that its journal does not contain.
fn undelivered(messages: Vec<PersonMessage>, loaded: &Loaded<ActorMachine>) -> impl Iterator<Item = PersonMessage> {
    let facts = loaded.facts.iter().filter_map(|recorded| match &recorded.fact {
        ActorFact::PersonMessage { message } => Some(message.id.clone()),
        _ => None,
    });
    let delivered: BTreeSet<_> = loaded.input.fact.messages.iter().map(|message| message.id.clone()).chain(facts).collect();
    messages.into_iter().filter(move |message| !delivered.contains(&message.id))
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn a_time_has_its_day() {
        for (millis, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400_000, "2000-02-29"),
            (1_709_251_199_999, "2024-02-29"),
            (1_709_251_200_000, "2024-03-01"),
            (1_798_675_200_000, "2026-12-31"),
        ] {
            assert_eq!(day(millis), expected);
        }
    }
}
