//! The corpus of plans and patches as models write them: `tests/corpus`.

use aime_progress_management::{Edge, Plan, TaskId, TaskKind, TaskSpec};
use serde::Deserialize;
use serde_json::Value;

use super::no_plan;
use crate::{PlanFault, parse_patch, parse_plan};

#[derive(Deserialize)]
struct Corpus {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    text: String,
    is: Option<String>,
    /// Edges of the plan, each as `FROM-TYPE->TO`, with the condition if it has one.
    edges: Option<String>,
    refused: Option<String>,
}

fn plans() -> Vec<Case> {
    toml::from_str::<Corpus>(include_str!("../../../tests/corpus/plans.toml")).unwrap().case
}

fn patches() -> Vec<Case> {
    toml::from_str::<Corpus>(include_str!("../../../tests/corpus/patches.toml")).unwrap().case
}

/// Formats each task as `id(kind)<-dependencies^parent`.
fn outline(plan: &Plan) -> String {
    let one = |task: &TaskSpec| {
        let kind = match task.kind {
            TaskKind::Actor => "",
            TaskKind::Tool => "(tool)",
            TaskKind::Group => "(group)",
        };
        let waits: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
        let waits = if waits.is_empty() { String::new() } else { format!("<-{}", waits.join("+")) };
        let parent = task.parent.as_ref().map(|parent| format!("^{parent}")).unwrap_or_default();
        format!("{}{kind}{waits}{parent}", task.id)
    };
    plan.tasks.iter().map(|task| one(task)).collect::<Vec<_>>().join(" ")
}

fn edges(plan: &Plan) -> String {
    let one = |edge: &Edge| {
        let kind = serde_json::to_value(edge.kind).unwrap();
        let condition = edge.condition.as_ref().map(|condition| format!(" if {condition}")).unwrap_or_default();
        format!("{}-{}->{}{condition}", edge.from, kind.as_str().unwrap(), edge.to)
    };
    plan.edges.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Checks every case: its displayed parse result, or the beginning of its fault.
fn check(cases: Vec<Case>, read: impl Fn(&Case) -> Result<String, Vec<PlanFault>>) {
    let mut wrong = Vec::new();
    for case in cases {
        let expected =
            case.is.as_ref().map(|is| is.to_owned() + &case.edges.as_ref().map(|edges| format!(" | {edges}")).unwrap_or_default());
        let found = match read(&case) {
            Ok(found) => (expected.as_ref() != Some(&found)).then(|| format!("is = '{found}'")),
            Err(faults) => {
                let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
                let right = case.refused.is_some_and(|refused| texts.iter().any(|fault| fault.starts_with(&refused)));
                (!right).then(|| format!("refused: {texts:?}"))
            }
        };
        wrong.extend(found.map(|found| format!("{}\n  {}\n  {found}", case.name, case.text)));
    }
    assert!(wrong.is_empty(), "{} cases\n\n{}", wrong.len(), wrong.join("\n\n"));
}

// Requirement: 3.35
#[test]
fn every_plan_of_the_corpus_is_read_or_refused() {
    check(plans(), |case| {
        let plan = parse_plan(&case.text)?.plan;
        Ok(outline(&plan) + &case.edges.as_ref().map(|_| format!(" | {}", edges(&plan))).unwrap_or_default())
    });
}

#[test]
fn every_patch_of_the_corpus_is_read_or_refused() {
    let mut cases = patches();
    for case in &mut cases {
        let is = case.is.take().map(|is| serde_json::from_str::<Value>(&is).unwrap().to_string());
        case.is = is;
    }
    check(cases, |case| parse_patch(&case.text, &no_plan()).map(|parsed| serde_json::to_value(&parsed.patch.changes).unwrap().to_string()));
}

// Requirement: 16.4
#[test]
fn what_is_cut_anywhere_is_read_or_refused_and_never_panics() {
    for case in plans().iter().chain(&patches()) {
        for (at, _) in case.text.char_indices() {
            let _ = parse_plan(&case.text[..at]);
            let _ = parse_patch(&case.text[..at], &no_plan());
        }
    }
}
