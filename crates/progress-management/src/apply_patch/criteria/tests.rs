use serde_json::{Value, json};

use crate::{Criterion, Owner, Plan, PlanChange, ProgressState, testing::*};

fn of(text: &str, owner: Owner) -> Criterion {
    Criterion::text(text).owned_by(owner)
}

/// Returns a plan with success criteria of each owner, and a task `a` with completion criteria of the lead and of a
/// person.
fn owned() -> ProgressState {
    let mut state = state("a\nb: a");
    state.strategic.success_criteria =
        vec![of("lead's", Owner::Lead), of("person's", Owner::Person), of("project's", Owner::Project), of("actor's", Owner::Actor)];
    if let Some(task) = state.tasks.get_mut(&id("a")) {
        task.spec_mut().completion_criteria = vec![of("a of the lead", Owner::Lead), of("a of a person", Owner::Person)];
    }
    state
}

fn change(change: Value) -> PlanChange {
    serde_json::from_value(change).unwrap()
}

fn words(criteria: &[Criterion]) -> Vec<String> {
    criteria.iter().map(|criterion| format!("{criterion} ({})", criterion.owner)).collect()
}

// Requirement: 5.1
#[test]
fn criteria_are_amended_with_evidence() {
    let mut state = owned();
    let amend = json!({"op": "amend_criterion", "number": 1, "criterion": {"command": "true"}, "evidence": "there is no such file"});
    state.patch(vec![change(amend)]);
    assert_eq!(words(&state.strategic.success_criteria)[0], "`true` gives exit 0 (lead)");
    let [amended] = state.amended.as_slice() else { panic!("{:?}", state.amended) };
    assert_eq!((amended.from.to_string().as_str(), amended.number, amended.version), ("lead's", 1, 2));
    assert_eq!(amended.evidence, "there is no such file");
}

// Requirement: 5.1
#[test]
fn a_persons_criterion_cannot_be_amended() {
    let table = [
        (
            json!({"number": 2}),
            "changes[0].number: the criterion \"person's\" belongs to a person; it changes only with a person's consent",
        ),
        (
            json!({"number": 3}),
            "changes[0].number: the criterion \"project's\" belongs to the project; it changes only with a person's consent",
        ),
        (json!({"number": 5}), "changes[0].number: there is no criterion 5; there are 4"),
        (json!({"number": 0}), "changes[0].number: there is no criterion 0; there are 4"),
        (json!({"number": 2, "task": "a"}), "changes[0].number: the criterion \"a of a person\" belongs to a person"),
        (json!({"number": 1, "task": "x"}), "changes[0].task: unknown task \"x\""),
        (json!({"number": 2, "by": "project"}), "changes[0].number: the criterion \"person's\" belongs to a person"),
        (json!({"number": 1, "evidence": " "}), "changes[0].evidence: a criterion is amended only with evidence"),
    ];
    for (members, expected) in table {
        let mut document = json!({"op": "amend_criterion", "criterion": "anything", "evidence": "seen"});
        document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let faults = owned().patch_faults(vec![change(document)]);
        assert!(faults.len() == 1 && faults[0].starts_with(expected), "{members}: {faults:?}");
    }
}

// Requirement: 5.1
#[test]
fn a_person_amends_a_criterion_and_it_stays_theirs() {
    let mut state = owned();
    let amend = |number: u32| json!({"op": "amend_criterion", "number": number, "criterion": "better", "evidence": "seen", "by": "person"});
    state.patch(vec![change(amend(2)), change(amend(3))]);
    assert_eq!(words(&state.strategic.success_criteria)[1..3], ["better (person)", "better (project)"]);
    assert_eq!(state.amended.len(), 2);
}

#[test]
fn an_amended_criterion_that_did_not_hold_is_gone() {
    let mut state = owned();
    state.unmet_criteria = vec![of("lead's", Owner::Lead)];
    state.patch(vec![PlanChange::amend(1, "better".into(), "seen")]);
    assert_eq!((state.unmet_criteria.as_slice(), words(&state.strategic.success_criteria)[0].as_str()), (&[][..], "better (lead)"));
}

#[test]
fn a_task_with_an_amended_criterion_runs_again() {
    let mut state = owned();
    state.failed("a", true);
    state.patch(vec![change(json!({"op": "amend_criterion", "task": "a", "number": 1, "criterion": "better", "evidence": "seen"}))]);
    assert_eq!((state.settle().statuses(), state.amended.len()), ("a:ready b:pending".into(), 1));
}

// Requirement: 5.1
#[test]
fn no_patch_takes_owned_criteria_away() {
    let kept = ["person's (person)", "project's (project)"];
    let moved = ["person's (person)", "project's (project)", "a of a person (person)"];
    let task = |id: &str| json!({"id": id, "kind": "actor", "description": "another way"});
    let table = [
        (json!({"op": "set_strategic", "strategic": {"success_criteria": []}}), kept.as_slice()),
        (json!({"op": "set_strategic", "strategic": {"success_criteria": ["person's"]}}), &kept),
        (json!({"op": "set_strategic", "strategic": {"success_criteria": [{"text": "new", "owner": "lead"}]}}), &kept),
        (json!({"op": "remove_task", "id": "a"}), &moved),
        (json!({"op": "cancel_task", "id": "a"}), &moved),
        (json!({"op": "cancel_task", "id": "a", "by": "person"}), &kept),
        (json!({"op": "add_task", "task": task("c"), "replaces": ["a"]}), &moved),
        (json!({"op": "merge_tasks", "task": task("c"), "ids": ["a", "b"]}), &moved),
    ];
    for (document, expected) in table {
        let mut state = owned();
        state.patch(vec![change(document.clone())]);
        let mut found = words(&state.strategic.success_criteria);
        found.retain(|words| words.contains("person") || words.contains("project"));
        assert_eq!(found, expected, "{document}");
    }
}

#[test]
fn changed_tasks_keep_owned_criteria() {
    let mut state = owned();
    state.patch(vec![change(json!({"op": "modify_task", "id": "a", "change": {"completion_criteria": ["easy"]}}))]);
    assert_eq!(words(&state.tasks[&id("a")].spec.completion_criteria), ["easy (lead)", "a of a person (person)"]);
}

#[test]
fn a_revised_plan_keeps_owners() {
    let plan = |criteria: &[Criterion]| {
        let mut plan = Plan::new("goal", specs("a"));
        plan.strategic.success_criteria = criteria.to_vec();
        plan
    };
    let former = plan(&[of("one", Owner::Lead), of("two", Owner::Project)]);
    let edited = plan(&["one".into(), "two".into(), "three".into()]).revised(&former, Owner::Person);
    assert_eq!(words(&edited.strategic.success_criteria), ["one (lead)", "two (project)", "three (person)"]);
}
