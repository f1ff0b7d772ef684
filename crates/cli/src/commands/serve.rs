//! `aime serve`: the runs of the folder in a browser.

use std::{
    pin::pin,
    sync::{Arc, OnceLock},
};

use aime_dashboard::{Act, Asked, Dashboard, Event, Looked, Problem, Refusal, RunEntry, Runs};
use aime_durable::Journal;
use aime_orchestrator::{PublishedEvent, RunResult};
use aime_progress::{RunId, Timestamp};
use futures::future::BoxFuture;

use super::{
    cancel,
    report::report_view,
    resume::find_run,
    run::interrupted,
    runs::{all, output_of, read},
    steering,
};
use crate::{
    failure::{Failure, code},
    output,
    screen::rfc3339,
    wiring::Setup,
};

/// Serves until this process is told to end.
pub(super) async fn serve(port: u16, setup: Setup) -> Result<u8, Failure> {
    let taken = |error| Failure::usage(format!("nothing can listen on 127.0.0.1:{port}: {error}")).hint("choose another --port, or none");
    let dashboard = Dashboard::bind(port).await.map_err(taken)?;
    // 244 random bits.
    let token = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|id| id.simple().to_string()).concat();
    output::note(&format!("the runs of {}, for this machine alone; Ctrl-C ends it", setup.folder.display()));
    output::result(&dashboard.address(&token));
    let runs = Arc::new(FolderRuns { setup, journal: OnceLock::new() });
    let mut serving = pin!(dashboard.serve(runs, token));
    tokio::select! {
        served = &mut serving => served.map(|()| 0).map_err(|error| Failure::caused(code::USAGE, &error)),
        () = interrupted() => Ok(0),
    }
}

/// The runs of the working folder.
struct FolderRuns {
    setup: Setup,
    /// Opened once there is one.
    journal: OnceLock<Journal>,
}

impl FolderRuns {
    fn journal(&self) -> Result<Option<&Journal>, Failure> {
        if self.journal.get().is_none()
            && let Some(journal) = self.setup.existing_journal()?
        {
            // Whoever was first has opened it.
            drop(self.journal.set(journal));
        }
        Ok(self.journal.get())
    }

    fn looked(&self, run: &str) -> Result<Looked, Failure> {
        let (run, seen) = read(run, &self.setup)?;
        let redactor = self.setup.redactor();
        let result = RunResult::new(run.clone(), &seen.state, &output_of(&run, &seen));
        let mut result = serde_json::to_value(result).map_err(Failure::internal)?;
        redactor.document(&mut result);
        let open = seen.state.questions.iter().filter(|question| question.answer.is_none());
        let asked = open.map(|question| Asked {
            id: question.id.to_string(),
            kind: question.kind.clone(),
            question: redactor.text(&output::plain(&question.question)).into_owned(),
        });
        Ok(Looked {
            view: report_view(&run, &seen, &self.setup),
            result,
            questions: asked.collect(),
            seq: seen.events.last().map_or(0, |event| event.seq),
            driven: steering::is_driven(&run, &self.setup),
            over: seen.over,
        })
    }

    fn events_after(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Failure> {
        let run = find_run(run, &self.setup)?;
        let Some(journal) = self.journal()? else { return Ok(Vec::new()) };
        let found = journal.events(run.as_str(), after.saturating_add(1), most).map_err(|error| Failure::caused(code::USAGE, &error))?;
        found.into_iter().map(|record| self.event(&run, &record)).collect()
    }

    fn event(&self, run: &RunId, record: &aime_durable::EventRecord) -> Result<Event, Failure> {
        let event = serde_json::from_str(&record.body).map_err(Failure::internal)?;
        let published = PublishedEvent { seq: record.seq, at: Timestamp::from_millis(record.at), event };
        let mut document = published.document(run, &rfc3339(record.at));
        self.setup.redactor().document(&mut document);
        Ok(Event { seq: record.seq, document })
    }

    async fn said(&self, run: &str, act: Act) -> Result<String, Failure> {
        let setup = &self.setup;
        match act {
            Act::Answer { text } => {
                let answered = steering::put_answer(run, &text, setup).await?;
                let then = if answered.left { format!("; go on with `aime resume {}`", answered.run) } else { String::new() };
                Ok(format!("answered{then}"))
            }
            Act::Tell { task, text } => steering::tell(run, task.as_deref(), &text, setup).await.map(|_| "told".to_owned()),
            Act::Pause => steering::pause(run, setup).await.map(|_| "it stops, and can be resumed".to_owned()),
            Act::Cancel { task } => cancel::cancel(run, task.as_deref(), setup).await.map(|_| "cancelled, or being so".to_owned()),
        }
    }
}

impl Runs for FolderRuns {
    fn list(&self) -> Result<Vec<RunEntry>, Refusal> {
        let runs = all(&self.setup).map_err(refusal)?;
        let entry = |run: aime_durable::RunRecord| RunEntry {
            goal: self.setup.redactor().text(&output::plain(&run.title)).into_owned(),
            // A journal learns how a run ended when it ends.
            status: if run.status == "planning" { "unfinished".to_owned() } else { run.status },
            created: rfc3339(run.created_at),
            updated: rfc3339(run.updated_at),
            run_id: run.id,
        };
        Ok(runs.into_iter().map(entry).collect())
    }

    fn look(&self, run: &str) -> Result<Looked, Refusal> {
        self.looked(run).map_err(refusal)
    }

    fn events(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Refusal> {
        self.events_after(run, after, most).map_err(refusal)
    }

    fn act<'a>(&'a self, run: &'a str, act: Act) -> BoxFuture<'a, Result<String, Refusal>> {
        Box::pin(async move { self.said(run, act).await.map_err(refusal) })
    }
}

fn refusal(failure: Failure) -> Refusal {
    let problem = match failure.code {
        code::USAGE if failure.message.starts_with("there is no run") => Problem::NotFound,
        code::INTERNAL => Problem::Fault,
        _ => Problem::Refused,
    };
    Refusal { problem, message: failure.message, hint: failure.hint }
}
