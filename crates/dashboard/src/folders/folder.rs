//! Runs of one folder.

use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use aime_durable::{EventRecord, Journal, RunRecord};
use aime_orchestrator::{PublishedEvent, RunResult, RunView, view};
use aime_progress_management::{RunId, Timestamp};
use aime_runs::{AnswerReceipt, Runs, RunsError, Setup, matching_runs, outcome, report_view, rfc3339};
use aime_terminal::plain;
use aime_tools::offers_always;

use super::{begin, drafts, refusal, search};
use crate::{Act, Draft, Event, Found, NewRun, OpenQuestion, PlanReview, Problem, Refusal, RunDetails, RunEntry};

/// Number of runs whose views are cached, so that the next page reads only new events.
const KEPT: usize = 8;

/// Runs of one folder, and the service that drives those started or resumed here.
pub(super) struct FolderRuns {
    name: String,
    /// Prefix of the names of its runs.
    prefix: String,
    runs: Arc<Runs>,
    drafts: drafts::Drafts,
    /// Opened once it exists.
    journal: OnceLock<Journal>,
    /// Cached views, the most recent one last.
    views: Mutex<Vec<(RunId, RunView)>>,
}

impl FolderRuns {
    pub(super) fn new(name: String, prefix: String, runs: Runs) -> Self {
        Self { name, prefix, runs: Arc::new(runs), drafts: drafts::Drafts::default(), journal: OnceLock::new(), views: Mutex::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_at(&self, folder: &Path) -> bool {
        self.setup().folder == folder
    }

    /// Stops the runs that are driven here, so that they can be resumed.
    pub(super) async fn end(&self) {
        self.drafts.end().await;
        self.runs.end().await;
    }

    fn setup(&self) -> &Setup {
        self.runs.setup()
    }

    fn journal(&self) -> Result<Option<&Journal>, Refusal> {
        if self.journal.get().is_none()
            && let Some(journal) = self.setup().existing_journal().map_err(refusal)?
        {
            // Another thread may have set it first, which is equivalent.
            drop(self.journal.set(journal));
        }
        Ok(self.journal.get())
    }

    /// Returns all runs, newest first.
    fn records(&self) -> Result<Vec<RunRecord>, Refusal> {
        let Some(journal) = self.journal()? else { return Ok(Vec::new()) };
        self.runs.list_in(journal).map_err(refusal)
    }

    /// Returns the journal and the run that a text refers to.
    fn find(&self, text: &str) -> Result<(&Journal, RunId), Refusal> {
        let refused = |problem, message| Err(Refusal { problem, message, hint: None });
        let unknown = || refused(Problem::NotFound, format!("there is no run {text:?} in {}", self.setup().folder.display()));
        let Some(journal) = self.journal()? else { return unknown() };
        // A page that follows a run gives its full name and polls often, so this is the fast path.
        let whole = journal.run(text).map_err(refusal)?;
        let records = if whole.is_some() { Vec::from_iter(whole) } else { self.records()? };
        match matching_runs(text, &records).as_slice() {
            [one] => Ok((journal, RunId::new(*one).map_err(|error| refusal(RunsError::usage(error.to_string())))?)),
            [] => unknown(),
            many => refused(Problem::Refused, format!("{text:?} may mean {}", many.join(", "))),
        }
    }

    fn public_id(&self, run: &str) -> String {
        format!("{}{run}", self.prefix)
    }

    fn goal(&self, run: &RunRecord) -> String {
        self.setup().redactor().text(&plain(&run.title)).into_owned()
    }

    pub(super) fn list(&self) -> Result<Vec<RunEntry>, Refusal> {
        let entry = |run: RunRecord| RunEntry {
            run: self.public_id(&run.id),
            folder: self.name.clone(),
            goal: self.goal(&run),
            status: run.status,
            created: rfc3339(run.created_at),
            updated: rfc3339(run.updated_at),
            run_id: run.id,
        };
        Ok(self.records()?.into_iter().map(entry).collect())
    }

    /// Reads the state of a run. It takes the cached view out; [`Self::cache_view`] puts it back.
    fn see(&self, journal: &Journal, run: &RunId) -> Result<RunView, Refusal> {
        let kept = {
            let mut seen = self.views.lock().unwrap_or_else(PoisonError::into_inner);
            let place = seen.iter().position(|(known, _)| known == run);
            place.map(|place| seen.remove(place).1)
        };
        let seen = match kept {
            Some(mut kept) => kept.renew(journal, run).map(|_| kept),
            None => view(journal, run),
        };
        seen.map_err(refusal)
    }

    fn cache_view(&self, run: RunId, view: RunView) {
        let mut seen = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        // Another page may have cached a view meanwhile.
        seen.retain(|(known, _)| *known != run);
        seen.push((run, view));
        let surplus = seen.len().saturating_sub(KEPT);
        seen.drain(..surplus);
    }

    pub(super) fn details(&self, run: &str) -> Result<RunDetails, Refusal> {
        let (journal, run) = self.find(run)?;
        // This comes first: whatever is read after the driver is gone is the final state.
        let driven = self.runs.is_driven(&run);
        let seen = self.see(journal, &run)?;
        let redactor = self.setup().redactor();
        let result = RunResult::new(run.clone(), &seen.state, &outcome(&run, &seen, driven));
        let mut result = serde_json::to_value(result).map_err(|error| refusal(RunsError::internal(error)))?;
        redactor.document(&mut result);
        let open = seen.state.questions.iter().filter(|question| question.answer.is_none());
        let asked = open.map(|question| OpenQuestion {
            id: question.id.to_string(),
            kind: question.kind.clone(),
            task: question.task.as_ref().map(ToString::to_string),
            question: redactor.text(&plain(&question.question.to_string())).into_owned(),
            always: question.kind == "approval" && offers_always(&question.question.to_string()),
        });
        let looked = RunDetails {
            run: self.public_id(run.as_str()),
            view: report_view(&run, &seen, driven, self.setup()),
            result,
            questions: asked.collect(),
            seq: seen.events.last().map_or(0, |event| event.seq),
            driven,
            is_over: seen.is_over,
            takes_follow_up: seen.takes_follow_up,
        };
        self.cache_view(run, seen);
        Ok(looked)
    }

    pub(super) fn is_driven(&self, run: &str) -> Result<bool, Refusal> {
        let (_, run) = self.find(run)?;
        Ok(self.runs.is_driven(&run))
    }

    pub(super) fn events(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Refusal> {
        let (journal, run) = self.find(run)?;
        let found = journal.events(run.as_str(), after.saturating_add(1), most);
        let found = found.map_err(refusal)?;
        found.into_iter().map(|record| self.event(&run, &record)).collect()
    }

    fn event(&self, run: &RunId, record: &EventRecord) -> Result<Event, Refusal> {
        let event = serde_json::from_str(&record.body).map_err(|error| refusal(RunsError::internal(error)))?;
        let published = PublishedEvent { seq: record.seq, at: Timestamp::from_millis(record.at), event };
        let mut document = published.document(run, &rfc3339(record.at));
        self.setup().redactor().document(&mut document);
        Ok(Event { seq: record.seq, document })
    }

    pub(super) fn search(&self, words: &[String]) -> Result<Found, Refusal> {
        let Some(journal) = self.journal()? else { return Ok(Found::default()) };
        let mut search = search::Search::new(words);
        for run in self.records()? {
            let (id, goal) = (self.public_id(&run.id), self.goal(&run));
            if !search.begin(&id, &goal, &rfc3339(run.created_at)) {
                break;
            }
            let Ok(id) = RunId::new(run.id) else { continue };
            let mut after = 0;
            while search.has_room() {
                let page = journal.events(id.as_str(), after + 1, search::PAGE);
                let page = page.map_err(refusal)?;
                let Some(last) = page.last() else { break };
                after = last.seq;
                for record in &page {
                    if search.may_be_in(&record.body) {
                        search.scan_event(&self.event(&id, record)?.document);
                    }
                }
            }
        }
        Ok(search.found())
    }

    pub(super) async fn start(&self, new: NewRun) -> Result<String, Refusal> {
        let request = begin::request(&self.runs, new).map_err(refusal)?;
        let run = begin::start(&self.runs, request).await.map_err(refusal)?;
        Ok(self.public_id(run.as_str()))
    }

    /// Starts to plan a goal for a review.
    pub(super) fn plan(&self, new: NewRun) -> Result<String, Refusal> {
        let request = begin::request(&self.runs, new).map_err(refusal)?;
        let draft = self.drafts.plan(&self.runs, request)?;
        Ok(self.public_id(draft.as_str()))
    }

    pub(super) fn drafts(&self) -> Vec<Draft> {
        self.drafts.all(self.setup().redactor(), &self.prefix)
    }

    pub(super) fn draft(&self, draft: &str) -> Result<Draft, Refusal> {
        let id = self.public_id(draft);
        self.drafts().into_iter().find(|known| known.draft == id).ok_or_else(|| drafts::unknown(draft))
    }

    pub(super) async fn review(&self, draft: &str, review: PlanReview) -> Result<Option<String>, Refusal> {
        let run = self.drafts.review(&self.runs, draft, review).await?;
        Ok(run.map(|run| self.public_id(run.as_str())))
    }

    pub(super) async fn act(&self, run: &str, act: Act) -> Result<String, Refusal> {
        let (_, run) = self.find(run)?;
        self.perform(&run, act).await.map_err(refusal)
    }

    async fn perform(&self, run: &RunId, act: Act) -> Result<String, RunsError> {
        let runs = &self.runs;
        match act {
            Act::Answer { question, text, resume } => {
                let AnswerReceipt { was_left: left, .. } = runs.answer(run, question.as_deref(), text).await?;
                if resume && !runs.is_driven(run) {
                    begin::resume(runs, run).await?;
                    return Ok("answered, and it goes on".to_owned());
                }
                let then = if left { "; resume it to go on".to_owned() } else { String::new() };
                Ok(format!("answered{then}"))
            }
            Act::Tell { task, text } => runs.message(run, task.as_deref(), &text).await.map(|()| "sent".to_owned()),
            Act::Pause => runs.pause(run).await.map(|()| "it stops, and can be resumed".to_owned()),
            Act::Resume => begin::resume(runs, run).await.map(|()| "it goes on".to_owned()),
            Act::Continue { goal } => begin::continue_run(runs, run, goal).await.map(|()| "it goes on".to_owned()),
            Act::Cancel { task } => runs.cancel(run, task.as_deref()).await.map(|_| "cancelled, or being so".to_owned()),
        }
    }
}
