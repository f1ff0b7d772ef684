//! Actor tasks: an actor with its own journal, driven to its conclusion.

mod apart;
mod delegate;
mod effects;
mod reports;

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use aime_actors::{ActorContext, ActorFact, ActorInput, ActorMachine, Delegated, Told};
use aime_durable::{DriveError, EffectId, EmbeddedHost, FactSender, Loaded, Reason, Recorded, Resume, drive, replay};
use aime_llm::Model;
use aime_progress::{Conclusion, Origin, Outcome, PlanMode, ProgressEvent, TaskId, TaskSpec, Timestamp};
use aime_redact::Redactor;
use aime_tools::{Approval, DELEGATE_TASK, ToolContext};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

pub use self::delegate::delegated;
use self::{
    effects::ActorRunner,
    reports::{Refused, ReportingStream, Reports},
};
use super::{Context, RunRunner, evidence::of_actor, hooked::Asking, millis_since, on_bound};
use crate::{ActorBrief, RunFact, RunMachine, models::OnBound, settings::in_force, words::Listener};

const NO_MODEL: &str = "no model is configured for actors";

/// One execution of a task: what the actor that works for the plan and those below it share.
pub(super) struct Attempt {
    runner: Arc<RunRunner>,
    facts: FactSender<RunMachine>,
    on_bound: OnBound,
    /// The run as it stood when the task was begun, or taken up again.
    brief: Box<ActorBrief>,
    task: TaskId,
    execution: u32,
    /// Where the texts come from that it is worked on with and that nobody vouches for.
    origins: Vec<Origin>,
    /// What was recalled, in Markdown.
    known: String,
}

/// A new actor, and the event that tells of it.
struct Made {
    input: ActorInput,
    created: ProgressEvent,
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
        let (runner, facts) = (Arc::clone(self), context.facts.clone());
        let attempt =
            Arc::new(Attempt { runner, facts, on_bound: on_bound(context), brief, task: task.clone(), execution, origins, known });
        let refused = OnceLock::new();
        let make = || {
            let made = attempt.compose_for_plan()?;
            self.budget.count_actor().map_err(|error| refused.get_or_init(|| error).to_string())?;
            Ok(made)
        };
        let conclusion = match attempt.act(None, &context.cancel, make).await {
            Ok(conclusion) => conclusion,
            Err(message) => {
                if let Some(error) = refused.get() {
                    // The run, which is told, revokes the task.
                    (attempt.on_bound)(error);
                    context.cancel.cancelled().await;
                }
                return RunFact::EffectFailed { id, message };
            }
        };
        let evidence = || of_actor(&self.parts.journal, self.run.as_str(), task, execution, &conclusion);
        let (checks, calls) = self.verify_task(&attempt.brief.spec, &conclusion, evidence, context).await;
        RunFact::TaskEnded { id, conclusion, checks, calls, duration_ms: millis_since(begun) }
    }

    /// The role of the model for goals of a category.
    fn role_of(&self, category: &str) -> String {
        let model = self.parts.categories.iter().find(|known| known.name == category).and_then(|known| known.model.clone());
        model.unwrap_or_else(|| "default".to_owned())
    }

    fn environment(&self) -> String {
        let listing = self.listing();
        let listing = if listing.is_empty() { "It is empty.".to_owned() } else { format!("It holds:\n{listing}") };
        format!("You work in one folder on {}. Paths are relative to it. {listing}", std::env::consts::OS)
    }

    pub(super) fn tool_context(&self, cancel: CancellationToken, task: &TaskId) -> ToolContext {
        let outputs = self.parts.keep.join("runs").join(self.run.as_str()).join(task.as_str());
        let context = self.parts.tool_context.clone().with_cancel(cancel).with_output_folder(outputs);
        // What the run began with is denied, and what is denied now.
        let rules = Arc::new(self.input.rules.at_most(&context.rules));
        ToolContext { rules, read_only: self.input.settings.approval == Approval::ReadOnly, ..context }
    }
}

impl Attempt {
    fn asking(&self) -> Asking {
        self.runner.asking(&self.facts, Some(&self.task))
    }

    fn model(&self, role: &str) -> Option<Model> {
        self.runner.model_for(role, Arc::clone(&self.on_bound), self.asking())
    }

    /// Drives an actor from where its journal leaves it: the one that works for the plan, or the one that answers `call`.
    async fn act(
        self: &Arc<Self>,
        call: Option<&str>,
        cancel: &CancellationToken,
        make: impl FnOnce() -> Result<Made, String>,
    ) -> Result<Conclusion, String> {
        let (journal, run) = (&self.runner.parts.journal, self.runner.run.as_str());
        let now = self.runner.parts.clock.now();
        // Whoever works for another one is told what to do by that one alone.
        let listener = call.is_none().then(|| self.listener());
        let said = listener.as_ref().map(|listener| self.runner.words.so_far(listener)).unwrap_or_default();
        let heard: BTreeSet<_> = said.iter().map(|told| told.id.clone()).collect();
        let (input, reports, writer, resume) = match self.load(call)? {
            None => {
                let Made { mut input, created } = make()?;
                input.told = said;
                let input = input_without_secrets(input, &self.runner.parts.redactor);
                let mut reports = Reports::new(Arc::clone(self), input.call.clone());
                reports.send(created);
                let writer = journal.stream(run, &input.effect_prefix());
                let resume = Resume::Fresh(Recorded { at: now, fact: input.clone() });
                (input, reports, writer, resume)
            }
            Some(loaded) => {
                let (reports, output) = self.tell_again(&loaded)?;
                if let Some(conclusion) = output.filter(|conclusion| conclusion.outcome != Outcome::Interrupted) {
                    return Ok(conclusion);
                }
                let input = loaded.input.fact.clone();
                let writer = journal.stream(run, &input.effect_prefix()).after(&loaded);
                let then = unheard(said, &loaded).map(|said| ActorFact::Told { said }).chain([ActorFact::Resumed {}]);
                let then = then.map(|fact| Recorded { at: now, fact }).collect();
                (input, reports, writer, loaded.resume(then))
            }
        };
        let refused = Arc::<Refused>::default();
        let runner = self.runner_of(input, &refused, cancel)?;
        let sink = ReportingStream { writer, reports, refused, held: Vec::new() };
        let redactor = self.runner.parts.redactor.clone();
        let host = EmbeddedHost::new(Arc::new(runner), sink).with_clock(Arc::clone(&self.runner.parts.clock));
        let mut host = host.with_facts_through(move |fact| fact_without_secrets(fact, &redactor));
        let given_up = cancel.clone();
        let (sender, cancel) = (host.sender(), cancel.clone());
        let stop = tokio::spawn(async move {
            cancel.cancelled().await;
            // An actor that has ended needs no stop.
            let _gone = sender.send(ActorFact::Stopped { why: Reason::Stopped });
        });
        let (words, sender) = (Arc::clone(&self.runner.words), host.sender());
        let listen = listener.map(|listener| tokio::spawn(async move { words.pass_on(&listener, heard, &sender).await }));
        let ended = drive(&mut host, resume).await.map(|ended| ended.output);
        stop.abort();
        listen.iter().for_each(JoinHandle::abort);
        host.close().await;
        match ended {
            Ok(conclusion) => Ok(conclusion),
            Err(DriveError::Host(error)) => {
                let told = error.to_string();
                // A call may have taken effect that is not written down. Another attempt would repeat it in silence; a resume asks about it.
                if self.runner.broken.send(error).is_ok() {
                    given_up.cancelled().await;
                }
                Err(told)
            }
            Err(other) => Err(other.to_string()),
        }
    }

    /// Who does the effects of an actor that starts from this.
    fn runner_of(
        self: &Arc<Self>,
        mut input: ActorInput,
        refused: &Arc<Refused>,
        cancel: &CancellationToken,
    ) -> Result<ActorRunner, String> {
        let model = self.model(&input.spec.model).ok_or(NO_MODEL)?;
        // The machine has its prompts, and nobody else reads them.
        for prompt in [&mut input.system, &mut input.task, &mut input.spec.persona] {
            *prompt = String::new();
        }
        input.images = Vec::new();
        Ok(ActorRunner {
            attempt: Arc::clone(self),
            input,
            model: Some(model),
            tool_context: self.runner.tool_context(cancel.clone(), &self.task),
            refused: Arc::clone(refused),
        })
    }

    /// Whom the words of people reach that are meant for this task.
    fn listener(&self) -> Listener {
        Listener { task: self.task.clone(), alone: self.brief.mode == Some(PlanMode::Direct) }
    }

    fn load(&self, call: Option<&str>) -> Result<Option<Loaded<ActorMachine>>, String> {
        let stream = aime_actors::effect_prefix(&self.task, self.execution, call);
        self.runner.parts.journal.load::<ActorMachine>(self.runner.run.as_str(), &stream).map_err(|error| error.to_string())
    }

    /// Tells the run what an actor has done so far, and with it those to which it has delegated: a crash may have come between their
    /// journals and the run's. Gives what the actor came to, if it has ended or was stopped.
    fn tell_again(self: &Arc<Self>, loaded: &Loaded<ActorMachine>) -> Result<(Reports, Option<Conclusion>), String> {
        let before = replay::<ActorMachine>(&loaded.input, &loaded.facts);
        let ActorInput { spec, call, .. } = &loaded.input.fact;
        let mut reports = Reports::new(Arc::clone(self), call.clone());
        // The first report, that the actor was made, is not one of the machine's own.
        reports.send(self.runner.parts.actor_created(&self.task, spec, Vec::new()));
        for event in before.events {
            if let ProgressEvent::ToolCallFinished { call, tool, .. } = &event.fact
                && tool == DELEGATE_TASK
                && let Some(below) = self.load(Some(call))?
            {
                self.tell_again(&below)?;
            }
            reports.send(event.fact);
        }
        Ok((reports, before.output))
    }

    /// Makes the actor that works for the plan.
    fn compose_for_plan(&self) -> Result<Made, String> {
        self.compose(&self.brief.spec, &self.brief.results, None, &self.origins)
    }

    fn compose(&self, spec: &TaskSpec, results: &str, delegated: Option<Delegated<'_>>, origins: &[Origin]) -> Result<Made, String> {
        let (runner, brief) = (&self.runner, &self.brief);
        // Actors to which a task's actor delegates have the model of the task too, unless their profile names one.
        let role = brief.spec.model.clone().unwrap_or_else(|| runner.role_of(&brief.category));
        let limits = |role: &str| runner.parts.models.as_ref().map(|models| models.role(role).limits()).unwrap_or_default();
        let environment = runner.environment();
        let (project, known) = (runner.parts.project.trim(), self.known.trim());
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
                images: &runner.input.images,
                risks: if delegated.is_none() { &brief.risks } else { &[] },
                skills: category.map(|category| category.skills.as_slice()).unwrap_or_default(),
                approval: runner.input.settings.approval,
                trust: runner.input.settings.trust,
                origins,
                attended: !runner.input.settings.unattended,
                model: &role,
                limits: &limits,
                max_steps: runner.bounds.max_steps,
                plain_answer_ends: delegated.is_none() && brief.mode == Some(PlanMode::Direct),
                delegated,
                ..ActorContext::new(
                    &brief.goal,
                    brief.plan_id.clone(),
                    &runner.parts.tools,
                    &rules,
                    Timestamp::from_millis(runner.parts.clock.now()),
                )
            },
        );
        let made = made.map_err(|error| error.to_string())?;
        let created = runner.parts.actor_created(&self.task, &made.input.spec, made.selection.reasons);
        Ok(Made { input: made.input, created })
    }
}

/// Takes secrets out of what an actor begins with, save for the data of images: it is no text, and a change would break it.
fn input_without_secrets(mut input: ActorInput, redactor: &Redactor) -> ActorInput {
    let images = std::mem::take(&mut input.images);
    ActorInput { images, ..redactor.typed(input) }
}

/// Takes secrets out of what an actor learns, save for the data of images.
fn fact_without_secrets(mut fact: ActorFact, redactor: &Redactor) -> ActorFact {
    let shown = match &mut fact {
        // The runtime carries out the call as the model wrote it.
        ActorFact::ModelAnswered { .. } => return redactor.typed_values(fact),
        ActorFact::ToolEnded { images, .. } => std::mem::take(images),
        _ => return redactor.typed(fact),
    };
    let mut clean = redactor.typed(fact);
    if let ActorFact::ToolEnded { images, .. } = &mut clean {
        *images = shown;
    }
    clean
}

/// What was said to an actor since its journal was left.
fn unheard(said: Vec<Told>, loaded: &Loaded<ActorMachine>) -> impl Iterator<Item = Told> {
    let facts = loaded.facts.iter().filter_map(|recorded| match &recorded.fact {
        ActorFact::Told { said } => Some(said.id.clone()),
        _ => None,
    });
    let heard: BTreeSet<_> = loaded.input.fact.told.iter().map(|told| told.id.clone()).chain(facts).collect();
    said.into_iter().filter(move |told| !heard.contains(&told.id))
}
