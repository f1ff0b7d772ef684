//! Properties of every wake message.

use aime_llm::estimate_tokens;
use proptest::prelude::*;

use super::*;

const STATUSES: [TaskStatus; 8] = TaskStatus::ALL;

prop_compose! {
    /// Generates a run of up to eight tasks with random texts, and a wake that names them all.
    fn worlds()(
        tasks in prop::collection::vec((0_usize..8, "\\PC{0,40}(\n\\PC{0,40}){0,30}", any::<bool>()), 1..8),
        evidence in prop::collection::vec("\\PC{0,80}(\n\\PC{0,40}){0,3}", 0..4),
        words in prop::collection::vec("[a-z ]{1,40}(\n[a-z ]{1,40}){0,3}", 0..3),
        kind in prop::sample::select(vec![WakeKind::Begin, WakeKind::Trouble, WakeKind::Done, WakeKind::Person]),
    ) -> (ProgressState, Wake) {
        let specs: Vec<Value> = (0..tasks.len()).map(|at| json!({"id": format!("task-{at}"), "description": "Do it", "name": "A name"})).collect();
        let mut state = planned(&json!({"strategic": {"success_criteria": ["it works"]}, "tasks": specs}));
        for (task, (status, text, held)) in state.tasks.values_mut().zip(&tasks) {
            (task.status, task.held) = (STATUSES[*status], *held);
            let mut conclusion = Conclusion::new(Outcome::Success, "Done.");
            conclusion.text = Some(text.clone());
            task.spec_mut().description.clone_from(text);
            task.conclusion = Some(conclusion);
        }
        let mut wake = Wake { settled: state.tasks.keys().cloned().collect(), ..Wake::new(1, kind) };
        wake.evidence = evidence.iter().enumerate().map(|(at, text)| learn(&mut state, &format!("e-{at}"), text, "discovery")).collect();
        let message = |(at, text): (usize, &String)| UnsolicitedMessage { id: format!("person-{at}").parse().unwrap(), task: None, text: text.clone() };
        wake.words = words.iter().enumerate().map(message).collect();
        (state, wake)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_message_keeps_to_its_budget((state, wake) in worlds(), budget in 0_u64..3_000) {
        let least = estimate_tokens(&message(&wake, &state, 0));
        let tokens = estimate_tokens(&message(&wake, &state, budget));
        prop_assert!(tokens <= budget.max(least), "{tokens} tokens, budget {budget}, least {least}");
    }

    #[test]
    fn a_message_loses_no_id_and_no_word_of_a_person((state, wake) in worlds(), budget in 0_u64..2_000) {
        let message = message(&wake, &state, budget);
        for id in state.tasks.keys() {
            prop_assert!(message.contains(&format!("`{id}`")), "{id}");
        }
        for id in &wake.evidence {
            prop_assert!(message.contains(&format!("- {id} (")), "{id}");
        }
        for words in &wake.words {
            prop_assert!(message.contains(&format!("- {}:\n", words.id)), "{}", words.id);
            for line in words.text.trim_end().lines() {
                prop_assert!(message.contains(&format!("> {line}\n")), "{line:?}");
            }
        }
    }

    #[test]
    fn room_for_all_leaves_nothing_out((state, wake) in worlds()) {
        let message = message(&wake, &state, u64::MAX / 1_000);
        prop_assert!(!message.contains("characters left out; the whole is in"), "{message}");
        for task in state.tasks.values() {
            for line in task.conclusion.as_ref().unwrap().text().trim_end().lines().filter(|line| !line.is_empty()) {
                prop_assert!(message.contains(&format!("> {line}\n")), "{line:?}");
            }
        }
    }
}
