//! Plans that a person reviews before they are run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aime_orchestrator::{LeadConversation, ModelUse, NoHuman, RunRequest};
use aime_progress_management::{Owner, Plan, RunId};
use aime_redact::Redactor;
use aime_runs::{Forecast, Review, Runs, RunsError, Setup, models};
use aime_terminal::plain;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{begin, refusal};
use crate::{Draft, PlanForecast, PlanReview, Problem, Refusal, ReviewVerdict};

/// Largest number of drafts in a folder. They are kept in memory.
const MAX_DRAFTS: usize = 50;

/// Drafts of one folder.
#[derive(Default)]
pub(super) struct Drafts {
    /// Oldest first.
    drafts: Arc<Mutex<Vec<StoredDraft>>>,
    planning: Mutex<JoinSet<()>>,
    stop: CancellationToken,
}

/// Request whose plan is reviewed.
#[derive(Clone)]
struct StoredDraft {
    /// Its `planning` has the model calls so far, so that the run counts them.
    request: RunRequest,
    /// Stops the planner; set while it works.
    stop: Option<CancellationToken>,
    planned: Option<(Plan, Forecast)>,
    failure: Option<Refusal>,
}

impl Drafts {
    /// Starts to plan a request.
    pub(super) fn plan(&self, runs: &Arc<Runs>, request: RunRequest) -> Result<RunId, Refusal> {
        let run = request.run.clone();
        {
            let mut kept = locked(&self.drafts);
            if kept.len() >= MAX_DRAFTS {
                let message = format!("{MAX_DRAFTS} plans wait for a review");
                return Err(Refusal { problem: Problem::Refused, message, hint: Some("run or drop one of them".to_owned()) });
            }
            kept.push(StoredDraft { request, stop: None, planned: None, failure: None });
        }
        self.make(runs, &run, None)?;
        Ok(run)
    }

    /// Returns all drafts, newest first.
    pub(super) fn all(&self, redactor: &Redactor, prefix: &str) -> Vec<Draft> {
        locked(&self.drafts).iter().rev().map(|kept| kept.draft(redactor, prefix)).collect()
    }

    /// Carries out a person's decision on a draft. Returns the run if one was started.
    pub(super) async fn review(&self, runs: &Arc<Runs>, draft: &str, review: PlanReview) -> Result<Option<RunId>, Refusal> {
        let PlanReview { plan: edited, verdict } = review;
        if verdict == ReviewVerdict::Drop {
            let dropped = self.take(draft, |_| Ok(()))?;
            dropped.stop.iter().for_each(CancellationToken::cancel);
            return Ok(None);
        }
        let edit = |kept: &mut StoredDraft| kept.edit(edited.as_deref(), runs.setup());
        if let ReviewVerdict::Comment(comments) = verdict {
            let review = {
                let mut kept = locked(&self.drafts);
                let known = kept.iter_mut().find(|kept| kept.request.run.as_str() == draft).ok_or_else(|| unknown(draft))?;
                Review { plan: edit(known)?, comments }
            };
            let run = RunId::new(draft).map_err(|_| unknown(draft))?;
            self.make(runs, &run, Some(review))?;
            return Ok(None);
        }
        let taken = self.take(draft, |kept| edit(kept).map(drop))?;
        let plan = taken.planned.as_ref().map(|(plan, _)| plan.clone());
        let started = begin::start(runs, RunRequest { plan, ..taken.request.clone() }).await;
        if started.is_err() {
            locked(&self.drafts).push(taken);
        }
        started.map(Some).map_err(refusal)
    }

    /// Stops all planners.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        let mut planning = std::mem::take(&mut *self.planning.lock().unwrap_or_else(PoisonError::into_inner));
        while planning.join_next().await.is_some() {}
    }

    /// Takes a draft out of the list if `check` accepts it.
    fn take(&self, draft: &str, check: impl FnOnce(&mut StoredDraft) -> Result<(), Refusal>) -> Result<StoredDraft, Refusal> {
        let mut kept = locked(&self.drafts);
        let place = kept.iter().position(|kept| kept.request.run.as_str() == draft).ok_or_else(|| unknown(draft))?;
        check(kept.get_mut(place).ok_or_else(|| unknown(draft))?)?;
        Ok(kept.remove(place))
    }

    /// Has a draft planned, with the person's comments on the plan before.
    fn make(&self, runs: &Arc<Runs>, run: &RunId, review: Option<Review>) -> Result<(), Refusal> {
        let stop = self.stop.child_token();
        let request = {
            let mut kept = locked(&self.drafts);
            let draft = kept.iter_mut().find(|kept| kept.request.run == *run).ok_or_else(|| unknown(run.as_str()))?;
            draft.stop = Some(stop.clone());
            draft.failure = None;
            draft.request.clone()
        };
        let (runs, run, kept) = (Arc::clone(runs), run.clone(), Arc::clone(&self.drafts));
        let mut planning = self.planning.lock().unwrap_or_else(PoisonError::into_inner);
        while planning.try_join_next().is_some() {}
        planning.spawn(async move {
            let mut calls = Vec::new();
            let mut conversation = request.conversation.clone();
            let planned = planned(&runs, request, review.as_ref(), stop, (&mut calls, &mut conversation)).await;
            let mut kept = locked(&kept);
            // The person may have dropped it meanwhile.
            let Some(draft) = kept.iter_mut().find(|kept| kept.request.run == run) else { return };
            draft.stop = None;
            draft.request.planning.extend(calls);
            draft.request.conversation = conversation;
            match planned {
                Ok(planned) => draft.planned = Some(planned),
                Err(error) => draft.failure = Some(refusal(error)),
            }
        });
        Ok(())
    }
}

impl StoredDraft {
    /// Takes in the plan as the person edited it. Returns the plan.
    fn edit(&mut self, edited: Option<&str>, setup: &Setup) -> Result<Plan, Refusal> {
        let refused = |message: &str| Refusal { problem: Problem::Refused, message: message.to_owned(), hint: None };
        if self.stop.is_some() {
            return Err(refused("the planner is still at work on it"));
        }
        let Some((plan, _)) = &mut self.planned else { return Err(refused("there is no plan yet")) };
        if let Some(edited) = edited {
            // The shown text is without secrets, so an unchanged text does not replace the plan.
            let is_shown = serde_json::from_str::<Value>(edited).is_ok_and(|edited| edited == document(plan, setup.redactor()));
            if !is_shown {
                *plan = setup.checked_plan(edited, &"the plan".into()).map_err(refusal)?.revised(plan, Owner::Person);
            }
        }
        Ok(plan.clone())
    }

    fn draft(&self, redactor: &Redactor, prefix: &str) -> Draft {
        let forecast = self.planned.as_ref().map(|(_, forecast)| PlanForecast {
            requests: forecast.requests,
            tokens: forecast.tokens,
            cost_usd: forecast.cost_usd,
            text: forecast.message().to_string(),
        });
        Draft {
            draft: format!("{prefix}{}", self.request.run),
            goal: redactor.text(&plain(&self.request.goal)).into_owned(),
            planning: self.stop.is_some(),
            plan: self.planned.as_ref().map(|(plan, _)| document(plan, redactor)),
            forecast,
            failure: self.failure.clone(),
        }
    }
}

/// Plans a request, as `aime run --review` does.
async fn planned(
    runs: &Runs,
    request: RunRequest,
    review: Option<&Review>,
    stop: CancellationToken,
    (calls, conversation): (&mut Vec<ModelUse>, &mut Option<LeadConversation>),
) -> Result<(Plan, Forecast), RunsError> {
    runs.ready().await?;
    let models = runs.models(None, true).await?.ok_or_else(models::none_configured)?;
    let result = runs.plan(RunRequest { plan: None, ..request }, models.clone(), review, Arc::new(NoHuman), stop, |_| ()).await?;
    *calls = result.calls;
    let plan = result.plan?;
    *conversation = result.conversation;
    let forecast = runs.forecast(&plan, &models)?;
    Ok((plan, forecast))
}

/// Returns a plan as a document without secrets.
fn document(plan: &Plan, redactor: &Redactor) -> Value {
    let mut document = serde_json::to_value(plan).unwrap_or_default();
    redactor.document(&mut document);
    document
}

fn locked(kept: &Mutex<Vec<StoredDraft>>) -> MutexGuard<'_, Vec<StoredDraft>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn unknown(draft: &str) -> Refusal {
    let message = format!("there is no plan {draft:?} to be reviewed");
    Refusal { problem: Problem::NotFound, message, hint: Some("it was run or dropped, or the dashboard was started again".to_owned()) }
}
