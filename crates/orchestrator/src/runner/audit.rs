//! Criteria in words, judged by an auditor: an actor with a fresh context that reads for itself and changes nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use aime_actor_factory::ActorOutput;
use aime_durable::{Journal, Machine, NewRun};
use aime_dynamic_planner::{AuditBrief, AuditPrompt, ChangedFile, TaskChanges};
use aime_messages::Message;
use aime_progress_management::{Conclusion, FileChangeKind, Origin, Outcome, ProgressEvent, ProgressState, TaskId, TaskSpec};
use aime_redact::is_credential_file;
use aime_tools::{Approval, CriterionVerdict, Executor, audit_spec};
use aime_undo::{Author, Change, Entry, UndoData, line_diff};
use aime_work_tree::UnmergedFile;
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use super::{
    Context, RunRunner,
    actor::{Attempt, NewActor},
    kept_files::{did, task_with_descendants},
    on_bound,
    private::PrivateWorkspace,
};
use crate::{
    ActorBrief, ModelUse, PlanRoute, RunMachine,
    machine::{executions::AUDIT_PREFIX, lead::main_id},
};

/// The tool that runs commands.
const BASH: &str = "bash";
/// Profile of auditors, if it exists.
const PROFILE: &str = "oracle";
/// Maximum number of answers of the auditor's model.
const MAX_STEPS: u32 = 30;
/// Maximum share of the auditor's context window for the record of the work, in percent.
const SHARE: u64 = 30;
/// Maximum number of lines of a diff for an auditor, before its context window limits all diffs together.
const DIFF_LINES: usize = 2_000;
/// Notes that mention the task of an actor, with the wording for an auditor.
const NOTES: [(&str, &str); 5] = [
    ("no_tool_call", "Look further with a tool, or call `verdict` with one verdict for each criterion."),
    ("conclude", "Look no further. Call `verdict` now with one verdict for each criterion, `cannot_tell` where you have not seen it."),
    ("repeated", "The call `{name}` has succeeded {count} times with the same result. Look elsewhere, or call `verdict`."),
    ("stuck", "You made the same call `{name}` {count} times with the same result. Look elsewhere, or call `verdict`."),
    (
        "steps_left",
        "Only {left} steps are left. Call `verdict` with a verdict for each criterion, `cannot_tell` where you have not seen it.",
    ),
];

/// Journal of auditors in a temporary folder.
pub(crate) struct AuditJournal {
    journal: Journal,
    _folder: TempDir,
}

/// Work that an auditor judges.
pub(super) struct AuditSubject<'a> {
    /// Name of the audit in the run. An audit that a crash interrupted continues under the same name.
    pub(super) name: String,
    /// The task; `None` for the run as a whole.
    pub(super) task: Option<&'a TaskSpec>,
    /// The wanted result.
    pub(super) goal: String,
    /// The worker's own statement on the result.
    pub(super) claim: &'a str,
    /// The results that the worker was given, in Markdown.
    pub(super) earlier_results: &'a str,
    /// Untrusted origins of texts in the record.
    pub(super) origins: Vec<Origin>,
    /// The private folder with the work; if absent, the working folder.
    pub(super) place: Option<&'a PrivateWorkspace>,
}

/// Requests of an auditor. Its journal holds them, and the run receives them with the verdicts.
#[derive(Default)]
pub(super) struct AuditUses(Mutex<Vec<ModelUse>>);

impl AuditUses {
    pub(super) fn observe(&self, event: &ProgressEvent) {
        if let ProgressEvent::ModelCalled { model, effort, spent, duration_ms, finish, .. } = event {
            let used = ModelUse {
                purpose: "verdict".to_owned(),
                model: model.clone(),
                effort: effort.clone(),
                spent: *spent,
                duration_ms: *duration_ms,
                finish: finish.clone(),
            };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(used);
        }
    }

    fn list(&self) -> Vec<ModelUse> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RunRunner {
    /// Returns true if an auditor judges criteria in words. A model whose class does not audit gets a single question instead.
    pub(super) fn audits(&self) -> bool {
        let model = self.parts.models.as_ref().map(|models| models.role(models.auditor_role()).limits());
        self.input.settings.route == PlanRoute::Auto && model.is_some_and(|limits| self.parts.tool_context.classes.of(limits).audits)
    }

    /// Lets an auditor judge criteria. `executed` are the criteria that aime has checked itself, one line each; `calls`
    /// is the record of the work.
    ///
    /// # Errors
    ///
    /// Reason why there are no verdicts.
    pub(super) async fn audit(
        self: &Arc<Self>,
        work: &AuditSubject<'_>,
        criteria: &[String],
        (executed, calls): (Vec<String>, String),
        context: &Context,
    ) -> (Result<Vec<CriterionVerdict>, String>, Vec<ModelUse>) {
        let Some(state) = self.live.get(&self.run) else { return (Err("the run is over".to_owned()), Vec::new()) };
        if !self.has_journal
            && let Err(error) = self.audits.get_or_try_init(|| self.new_audit_journal()).await
        {
            return (Err(error), Vec::new());
        }
        let role = self.parts.models.as_ref().map_or("default", |models| models.auditor_role());
        let mut spec = TaskSpec::actor(work.task.map_or_else(main_id, |task| task.id.clone()), work.goal.clone());
        spec.model = Some(role.to_owned());
        spec.profile = self.parts.actors.profiles().get(PROFILE).map(|profile| profile.name.clone());
        let uses = Arc::<AuditUses>::default();
        let attempt = Arc::new(Attempt {
            runner: Arc::clone(self),
            facts: context.facts.clone(),
            on_bound: on_bound(context),
            task: spec.id.clone(),
            brief: Box::new(ActorBrief::of_lead(&state, spec)),
            execution: 1,
            origins: work.origins.clone(),
            recalled: String::new(),
            leads: false,
            told: BTreeSet::new(),
            private: work.place.cloned(),
            turn: None,
            audit: Some(Arc::clone(&uses)),
        });
        let brief = AuditBrief {
            goal: work.goal.clone(),
            environment: self.environments(&work.goal).await.0,
            criteria: criteria.to_vec(),
            executed,
            claim: work.claim.to_owned(),
            changes: self.changes_of(&state, work).await,
            calls: if work.task.is_some() { calls.clone() } else { String::new() },
            results: if work.task.is_none() { calls } else { String::new() },
            earlier_results: work.earlier_results.to_owned(),
        };
        let call = format!("{AUDIT_PREFIX}{}", work.name);
        let made = Box::pin(attempt.compose_auditor(&call, &brief));
        let ended = Box::pin(attempt.act(Some(&call), None, &context.cancel, made)).await;
        (ended.map_err(String::from).and_then(verdicts), uses.list())
    }

    /// Returns the file changes of a task, or of the run, so far. Includes those in a private folder that are not merged yet.
    async fn changes_of(&self, state: &ProgressState, work: &AuditSubject<'_>) -> Vec<ChangedFile> {
        let tasks = work.task.map(|task| task_with_descendants(state, task.id.as_str()));
        let mut changes = self.changes_by(vec![tasks]).await.pop().unwrap_or_default();
        let unmerged = match work.place {
            Some(place) => place.private().unmerged().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the changes in a private folder are not shown");
                Vec::new()
            }),
            None => Vec::new(),
        };
        for mut later in unmerged.into_iter().map(unmerged_file) {
            if !self.may_read(&later.path) {
                later.diff.clear();
            }
            match changes.iter_mut().find(|known| known.path == later.path) {
                Some(known) => *known = add_later(std::mem::take(known), later),
                None => changes.push(later),
            }
        }
        changes
    }

    /// Returns the file changes of each of these tasks so far. Tasks without changes are left out.
    pub(super) async fn changes_by_task(&self, state: &ProgressState, tasks: &[TaskId]) -> TaskChanges {
        let groups = tasks.iter().map(|task| Some(task_with_descendants(state, task.as_str()))).collect();
        let changes = self.changes_by(groups).await;
        tasks.iter().cloned().zip(changes).filter(|(_, changes)| !changes.is_empty()).collect()
    }

    /// Returns true if an auditor may run commands, because what they change can be put back. The rules of the run decide on each command; one
    /// about which a person would be asked is refused.
    async fn auditors_run_commands(&self, place: Option<&PrivateWorkspace>) -> bool {
        let is_restored = place.is_some() || self.kept_files.is_transient() || self.kept_files.count_changes().await.is_some();
        self.input.settings.approval != Approval::ReadOnly && is_restored
    }

    /// Returns the journal of actors.
    pub(super) fn journal(&self) -> &Journal {
        self.audits.get().map_or(&self.parts.journal, |audits| &audits.journal)
    }

    /// Creates the journal of auditors of one effect of a run that another host drives.
    async fn new_audit_journal(&self) -> Result<AuditJournal, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let journal = Journal::at_first_write(folder.path().join("aime.db")).map_err(|error| error.to_string())?;
        let version = <RunMachine as Machine>::VERSION;
        let run = NewRun { id: self.run.as_str(), at: self.parts.clock.now(), machine_version: version, title: "", status: "" };
        journal.create_run(run).await.map_err(|error| error.to_string())?;
        Ok(AuditJournal { journal, _folder: folder })
    }

    /// Returns the file changes of each group of tasks; those of the whole run for `None`.
    async fn changes_by(&self, groups: Vec<Option<BTreeSet<String>>>) -> Vec<Vec<ChangedFile>> {
        if groups.is_empty() {
            return Vec::new();
        }
        let (keep, run) = (self.parts.keep.clone(), self.run.clone());
        // The changes of a folder without permanent content are in no record until they are brought in.
        let past = self.kept_files.load_past_changes().await;
        let keep = past.as_ref().map_or(keep, |(keep, _)| keep.clone());
        let read = move || {
            let _lease = past;
            let kept = UndoData::read(&keep, run.as_str()).ok().flatten()?;
            let of_group = |group: &Option<BTreeSet<String>>| {
                let Some(tasks) = group else {
                    return kept.changes().filter_map(|(change, _)| changed_file(&kept, &change)).collect();
                };
                let by_group = |author: &Author| author.task.as_ref().is_some_and(|task| tasks.contains(task));
                let pieces = |changes: Vec<Change>| changes.iter().filter_map(|change| changed_file(&kept, change)).reduce(add_later);
                kept.changes_by(by_group).filter_map(|(_, changes)| pieces(changes)).collect()
            };
            Some(groups.iter().map(of_group).collect())
        };
        let mut changes: Vec<Vec<ChangedFile>> = spawn_blocking(read).await.ok().flatten().unwrap_or_default();
        for change in changes.iter_mut().flatten().filter(|change| !self.may_read(&change.path)) {
            change.diff.clear();
        }
        changes
    }
}

impl Attempt {
    /// Creates the auditor.
    async fn compose_auditor(&self, call: &str, brief: &AuditBrief) -> Result<NewActor, Message> {
        let runner = &self.runner;
        let NewActor { mut input, created } = self.compose(&self.brief.spec, "", None, &self.origins).await?;
        let budget = u64::from(input.limits.context_tokens) * SHARE / 100;
        let AuditPrompt { system, task } = runner.parts.prompts.audit(brief, budget).map_err(Message::text)?;
        let looks = input.spec.tools.iter().filter(|tool| tool.handled_by == Executor::Runtime && tool.read_only).cloned();
        let shell = if runner.auditors_run_commands(self.private.as_ref()).await { runner.parts.tools.get(BASH) } else { None };
        input.spec.approval = if shell.is_some() { runner.input.settings.approval } else { Approval::ReadOnly };
        let shell = shell.map(|tool| Arc::clone(tool.spec()));
        input.spec.tools = looks.chain(shell).chain([audit_spec()]).collect::<Vec<_>>().into();
        input.spec.max_steps = input.spec.max_steps.min(MAX_STEPS);
        (input.system, input.task, input.call) = (system, task, Some(call.to_owned()));
        input.audits = u32::try_from(brief.criteria.len()).unwrap_or(u32::MAX);
        input.notes = BTreeMap::from(NOTES.map(|(name, text)| (name.to_owned(), text.to_owned())));
        (input.images, input.named_files, input.risks) = (Vec::new(), Vec::new(), Vec::new());
        (input.plain_answer_ends, input.must_write_files, input.attended) = (false, false, false);
        (input.class.step_notes, input.class.refuse_early_failure) = (false, false);
        Ok(NewActor { input, created })
    }
}

/// Returns the verdicts of an auditor that has ended.
fn verdicts(output: ActorOutput) -> Result<Vec<CriterionVerdict>, String> {
    match output {
        ActorOutput::Ended(Conclusion { outcome: Outcome::Success, result, .. }) => {
            serde_json::from_value(result).map_err(|_| "the auditor ended without verdicts".to_owned())
        }
        ActorOutput::Ended(conclusion) => Err(conclusion.explanation().into()),
        ActorOutput::Rested(_) => Err("the auditor ended without verdicts".to_owned()),
    }
}

/// Adds a later change of the same file, which others changed in between.
fn add_later(first: ChangedFile, later: ChangedFile) -> ChangedFile {
    let diff = [first.diff, later.diff].into_iter().filter(|diff| !diff.is_empty()).collect::<Vec<_>>().join("\n");
    let did = if later.did == "deleted" { later.did } else { first.did };
    ChangedFile { did, diff, added: first.added + later.added, removed: first.removed + later.removed, path: first.path }
}

/// Returns a change in a private folder in the form for a model.
fn unmerged_file(UnmergedFile { path, content, was_there, is_there }: UnmergedFile) -> ChangedFile {
    let path = path.to_string_lossy().into_owned();
    let did = match (was_there, is_there) {
        (false, _) => FileChangeKind::Created,
        (true, false) => FileChangeKind::Deleted,
        (true, true) => FileChangeKind::Changed,
    };
    let content = content.filter(|_| !is_credential_file(&path));
    let diff = content.and_then(|(before, after)| line_diff(&before, &after, DIFF_LINES));
    let (added, removed, diff) = diff.map(|diff| (diff.added, diff.removed, diff.text)).unwrap_or_default();
    ChangedFile { path, did: did.name().to_owned(), added, removed, diff }
}

/// Returns a change of a file in the form for a model; `None` for folders and caches.
fn changed_file(kept: &UndoData, change: &Change) -> Option<ChangedFile> {
    let did = did(change)?;
    let path = change.path.to_string_lossy().into_owned();
    let shown = ChangedFile { did: did.name().to_owned(), ..ChangedFile::default() };
    if is_credential_file(&path) {
        return Some(ChangedFile { path, ..shown });
    }
    let bytes = |entry: &Option<Entry>| match entry {
        Some(entry) => kept.content(entry).ok().flatten(),
        None => Some(Vec::new()),
    };
    let diff = bytes(&change.before).zip(bytes(&change.after)).and_then(|(before, after)| line_diff(&before, &after, DIFF_LINES));
    let (added, removed, diff) = diff.map(|diff| (diff.added, diff.removed, diff.text)).unwrap_or_default();
    Some(ChangedFile { path, added, removed, diff, ..shown })
}
