//! How well the checks tell correct work from other work: recorded runs of scripted workers, with a table in the documents.
//!
//! `cases.json` has the runs and `verdicts.json` the answers of a stand-in auditor, which were written from the auditor's prompts alone.
//! With `--nocapture` the test prints these prompts and the table.

use std::{collections::BTreeMap, thread};

use aime_scripted_server::{Reply, Script, When};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::harness::{World, actor, done, messages_text, plan};

const AUDITS: &str = "You audit work";
/// The kind of work that the checks must accept; they must refuse every other kind.
const RIGHT: &str = "correct work";
const PAGE: &str = include_str!("../../docs/src/evaluation.md");

/// A run of a scripted worker.
#[derive(Deserialize)]
struct Case {
    name: String,
    kind: String,
    goal: String,
    files: Map<String, Value>,
    /// Criteria that are commands.
    commands: Vec<String>,
    /// Criteria in words.
    texts: Vec<String>,
    /// Calls of the worker, one in each turn.
    calls: Vec<(String, Value)>,
    /// The worker's last message.
    claim: String,
}

impl Case {
    fn is_right(&self) -> bool {
        self.kind == RIGHT
    }

    /// Plays the run. Returns whether its work was accepted, and the prompt of the auditor if one was asked.
    fn play(&self, verdicts: Option<&[(String, String)]>) -> (bool, Option<String>) {
        let verdict =
            |(index, (holds, why)): (usize, &(String, String))| json!({"n": index + 1, "holds": holds, "why": why, "evidence": ""});
        let found: Vec<Value> = verdicts.unwrap_or_default().iter().enumerate().map(verdict).collect();
        let work = self.calls.iter().map(|(tool, parameters)| Reply::call(tool, parameters.clone())).chain([done(&self.claim)]);
        let script = Script::new()
            .on(When::tools().and_contains(AUDITS), [Reply::call("verdict", json!({"criteria": found}))])
            .on(When::tools(), work);
        let mut world = World::led(script);
        world.user_settings("[triggers]\nmax_retries = 0\n[frequency]\nmax_replans_per_plan = 0\n");
        for (path, content) in &self.files {
            let lines = |count: u64| (1..=count).map(|line| format!("line {line}\n")).collect();
            world.file(path, &content["lines"].as_u64().map_or_else(|| content.as_str().unwrap_or_default().to_owned(), lines));
        }
        let mut task = actor("work", &self.goal, &[]);
        let commands = self.commands.iter().map(|command| json!({"command": command}));
        let texts = self.texts.iter().map(|text| json!(text));
        task["completion_criteria"] = if verdicts.is_some() { commands.chain(texts).collect() } else { commands.collect() };
        world.plan("plan.json", &plan(&[task]));
        let ended = world.aime(["run", "--plan", "plan.json", "--approve", "all", "--unattended", "--output", "json"]);
        let accepted = ended.json()["tasks"][0]["status"] == "completed";
        let audit = world.server().requests().into_iter().find(|request| messages_text(request).contains(AUDITS));
        let prompt = audit.map(|request| request["messages"][1]["content"].as_str().unwrap().to_owned());
        (accepted, prompt)
    }
}

/// Writes the table: for each kind of work how much was accepted.
fn table(cases: &[Case], accepted: &[[bool; 2]]) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for case in cases {
        if !kinds.contains(&case.kind.as_str()) {
            kinds.push(&case.kind);
        }
    }
    let row = |title: &str, of: &dyn Fn(&Case) -> bool| {
        let all: Vec<&[bool; 2]> = cases.iter().zip(accepted).filter(|(case, _)| of(case)).map(|(_, accepted)| accepted).collect();
        let by = |way: usize| {
            let yes = all.iter().filter(|accepted| accepted[way]).count();
            format!("{yes} | {}", all.len() - yes)
        };
        format!("| {title} | {} | {} | {} |\n", all.len(), by(0), by(1))
    };
    let mut text = String::from(
        "| work | runs | execution alone: accepted | refused | with the auditor: accepted | refused |\n|---|---|---|---|---|---|\n",
    );
    for kind in kinds {
        text.push_str(&row(kind, &|case| case.kind == kind));
    }
    text.push_str(&row("**all correct work**", &Case::is_right));
    text.push_str(&row("**all incorrect work**", &|case| !case.is_right()));
    text
}

#[test]
fn the_confusion_table_of_the_documents_is_what_the_runs_give() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("confusion/cases.json")).unwrap();
    let verdicts: BTreeMap<String, Vec<(String, String)>> = serde_json::from_str(include_str!("confusion/verdicts.json")).unwrap();
    let play = |case: &Case| {
        let answers = verdicts.get(&case.name).map(Vec::as_slice).unwrap_or_default();
        let ((alone, _), (audited, prompt)) = (case.play(None), case.play(Some(answers)));
        (prompt.map(|prompt| format!("=== {}\n{prompt}\n", case.name)), [alone, audited])
    };
    let played: Vec<(Option<String>, [bool; 2])> = thread::scope(|scope| {
        let parts: Vec<_> = cases.chunks(6).map(|part| scope.spawn(move || part.iter().map(play).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let accepted: Vec<[bool; 2]> = played.iter().map(|(_, accepted)| *accepted).collect();
    let table = table(&cases, &accepted);
    let prompts: Vec<&str> = played.iter().filter_map(|(prompt, _)| prompt.as_deref()).collect();
    println!("{}\n{table}", prompts.join("\n"));
    for (case, (prompt, _)) in cases.iter().zip(&played) {
        assert_eq!(prompt.is_some(), verdicts.contains_key(&case.name), "{}: only what passes the commands reaches the auditor", case.name);
    }
    assert!(PAGE.contains(&table), "the table is:\n{table}");
}
