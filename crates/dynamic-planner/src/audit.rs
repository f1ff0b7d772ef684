//! The prompt of an auditor: criteria, and the record of the work.

use aime_llm::Message;
use serde::Serialize;

use crate::{
    ChangedFile, PlannerPromptError, Prompts,
    draft::{Draft, Share},
};

/// The facts in an auditor's prompt. Texts may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditBrief {
    /// The task, or the goal of the run.
    pub goal: String,
    /// The working folder and the machine.
    pub environment: String,
    /// The criteria that the auditor judges, by number from 1.
    pub criteria: Vec<String>,
    /// The criteria that aime has checked itself, a line each.
    pub executed: Vec<String>,
    /// The worker's statement on the result.
    pub claim: String,
    /// The files that the work changed, by path.
    pub changes: Vec<ChangedFile>,
    /// The recorded tool calls of the work.
    pub calls: String,
    /// The results of the tasks of a run, if the run as a whole is judged.
    pub results: String,
    /// The results of other tasks that the worker was given.
    pub earlier_results: String,
}

/// The beginning of an auditor's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPrompt {
    /// The system message, the same for every audit.
    pub system: String,
    /// The first user message.
    pub task: String,
}

/// The variables of the template.
#[derive(Serialize)]
pub(crate) struct AuditContext {
    pub(crate) goal: String,
    pub(crate) environment: String,
    pub(crate) criteria: Vec<String>,
    pub(crate) record: String,
}

impl Prompts {
    /// Returns the prompt of an auditor. The record of the work takes at most `budget_tokens` estimated tokens.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub fn audit(&self, brief: &AuditBrief, budget_tokens: u64) -> Result<AuditPrompt, PlannerPromptError> {
        let context = AuditContext {
            goal: brief.goal.trim().to_owned(),
            environment: brief.environment.trim().to_owned(),
            criteria: brief.criteria.clone(),
            record: record(brief, budget_tokens),
        };
        let mut prompt = AuditPrompt { system: String::new(), task: String::new() };
        for message in self.render("audit", &context)? {
            match message {
                Message::System { content } => prompt.system = content,
                Message::User { content, .. } => prompt.task = content,
                Message::Assistant { .. } | Message::Tool { .. } => {}
            }
        }
        Ok(prompt)
    }
}

/// Returns the record of the work. Texts that do not fit are cut and end in a note.
fn record(brief: &AuditBrief, budget_tokens: u64) -> String {
    let mut draft = Draft::default();
    changes(&brief.changes, &mut draft);
    if !brief.executed.is_empty() {
        draft.fixed("\n# Checked by aime\n");
        for line in &brief.executed {
            draft.fixed("- ");
            draft.line(line, Share::Plan);
            draft.fixed("\n");
        }
    }
    let sections = [
        ("Results of the tasks", &brief.results, Share::News),
        ("Recorded calls", &brief.calls, Share::News),
        ("Claim of the worker", &brief.claim, Share::Plan),
        ("Results that the worker was given", &brief.earlier_results, Share::Plan),
    ];
    for (title, text, share) in sections {
        if !text.trim().is_empty() {
            draft.fixed(format!("\n# {title}\n"));
            draft.quoted(text, None, share);
        }
    }
    draft.into_text(budget_tokens).trim().to_owned()
}

fn changes(changes: &[ChangedFile], draft: &mut Draft) {
    if changes.is_empty() {
        draft.fixed("# Changed files\nNone that aime recorded.\n");
        return;
    }
    draft.fixed("# Changed files\n");
    changes.iter().for_each(|change| change.write(usize::MAX, draft));
}

#[cfg(test)]
mod tests {
    use aime_llm::estimate_tokens;

    use super::*;

    fn brief() -> AuditBrief {
        let diff = |lines: usize| (0..lines).map(|line| format!("+line {line}\n")).collect::<String>();
        AuditBrief {
            goal: "Add `--json` to slugify".to_owned(),
            environment: "- System: linux.".to_owned(),
            criteria: vec!["the help names `--json`".to_owned(), "a test covers it".to_owned()],
            executed: vec!["`pytest -q`: holds (exit code 0)".to_owned()],
            claim: "Done.\n# Criteria\nall hold".to_owned(),
            changes: vec![
                ChangedFile { path: "slugify/main.py".to_owned(), did: "changed".to_owned(), added: 3, removed: 1, diff: diff(3) },
                ChangedFile { path: "tests/test_main.py".to_owned(), did: "deleted".to_owned(), removed: 9, ..ChangedFile::default() },
            ],
            calls: "- edit_file slugify/main.py: ok".to_owned(),
            results: String::new(),
            earlier_results: String::new(),
        }
    }

    #[test]
    fn the_whole_prompt_of_an_auditor() {
        let AuditPrompt { system, task } = Prompts::default().audit(&brief(), 4_000).unwrap();
        insta::assert_snapshot!(format!("{system}\n\n=== task ===\n\n{task}"));
    }

    #[test]
    fn a_long_diff_is_cut_and_says_how_to_see_the_rest() {
        let long: String = (0..5_000).map(|line| format!("+line {line}\n")).collect();
        let change = ChangedFile { path: "long.txt".to_owned(), did: "created".to_owned(), added: 5_000, removed: 0, diff: long };
        let brief = AuditBrief { changes: vec![change], ..brief() };
        let task = Prompts::default().audit(&brief, 1_000).unwrap().task;
        assert!(estimate_tokens(&task) < 1_300, "{task}");
        assert!(task.contains("the whole is in `read_file`") && task.contains("a test covers it"), "{task}");
    }
}
