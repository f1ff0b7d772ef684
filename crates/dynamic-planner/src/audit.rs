//! The prompt of an auditor: criteria, and the record of the work.

use aime_llm::Message;
use serde::Serialize;

use crate::{
    PromptError, Prompts,
    draft::{Draft, Share, one_line},
};

/// The call that shows the omitted part of a cut diff.
const READ_FILE: &str = "`read_file`";

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
    pub changes: Vec<AuditedChange>,
    /// The recorded tool calls of the work, or the results of the tasks of a run.
    pub calls: String,
    /// The results of other tasks that the worker was given.
    pub given: String,
}

/// A file that the work changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditedChange {
    /// The path, relative to the folder.
    pub path: String,
    /// `created`, `changed` or `deleted`.
    pub did: String,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The unified diff; empty if it cannot be shown.
    pub diff: String,
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
    /// [`PromptError::Broken`] if a replaced prompt cannot be filled in.
    pub fn audit(&self, brief: &AuditBrief, budget_tokens: u64) -> Result<AuditPrompt, PromptError> {
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
        ("Recorded calls", &brief.calls, Share::News),
        ("Claim of the worker", &brief.claim, Share::Plan),
        ("Results that the worker was given", &brief.given, Share::Plan),
    ];
    for (title, text, share) in sections {
        if !text.trim().is_empty() {
            draft.fixed(format!("\n# {title}\n"));
            draft.quoted(text, None, share);
        }
    }
    draft.into_text(budget_tokens).trim().to_owned()
}

fn changes(changes: &[AuditedChange], draft: &mut Draft) {
    if changes.is_empty() {
        draft.fixed("# Changed files\nNone that aime recorded.\n");
        return;
    }
    draft.fixed("# Changed files\n");
    for AuditedChange { path, did, added, removed, diff } in changes {
        let test = if looks_like_a_test(path) { ", a test" } else { "" };
        draft.fixed(format!("- {} ({did}{test}): +{added} -{removed}\n", one_line(path)));
        if !diff.is_empty() {
            draft.quoted(diff, Some(READ_FILE.to_owned()), Share::Results);
        }
    }
}

/// Returns true if the name of a path looks like that of a test.
fn looks_like_a_test(path: &str) -> bool {
    path.split(['/', '.', '_', '-']).any(|part| ["test", "tests", "spec", "specs", "__tests__"].contains(&part.to_lowercase().as_str()))
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
                AuditedChange { path: "slugify/main.py".to_owned(), did: "changed".to_owned(), added: 3, removed: 1, diff: diff(3) },
                AuditedChange { path: "tests/test_main.py".to_owned(), did: "deleted".to_owned(), removed: 9, ..AuditedChange::default() },
            ],
            calls: "- edit_file slugify/main.py: ok".to_owned(),
            given: String::new(),
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
        let change = AuditedChange { path: "long.txt".to_owned(), did: "created".to_owned(), added: 5_000, removed: 0, diff: long };
        let brief = AuditBrief { changes: vec![change], ..brief() };
        let task = Prompts::default().audit(&brief, 1_000).unwrap().task;
        assert!(estimate_tokens(&task) < 1_300, "{task}");
        assert!(task.contains("the whole is in `read_file`") && task.contains("a test covers it"), "{task}");
    }

    #[test]
    fn tests_are_known_by_their_names() {
        for (path, expected) in
            [("tests/a.py", true), ("src/a_test.go", true), ("a.spec.ts", true), ("src/latest.py", false), ("contest/a.py", false)]
        {
            assert_eq!(looks_like_a_test(path), expected, "{path}");
        }
    }
}
