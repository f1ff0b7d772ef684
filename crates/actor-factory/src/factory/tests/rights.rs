//! Tests that a delegated actor never gets more permissions than its parent.

use aime_tools::{Permission, Permissions, RuleLists};
use proptest::{prelude::*, sample::select};
use serde_json::json;

use super::*;

proptest! {
    /// Checks chains of delegated actors with arbitrary requests: none gets a permission that its parent lacks.
    // Requirement: 13.10
    #[test]
    fn no_row_of_actors_widens_what_the_first_may_do(
        first in select(vec![Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly]),
        rules in proptest::collection::vec((select(RULES.to_vec()), 0..3_usize), 0..4),
        given in proptest::collection::vec((select(RULES.to_vec()), 0..3_usize), 0..4),
        profiles in proptest::collection::vec(select(vec!["sisyphus", "oracle", "librarian", "explore", "atlas"]), 1..3),
    ) {
        let (rules, given) = (rules_of(&rules), rules_of(&given));
        let mut above = compose(&task("Write report.md"), |context| (context.approval, context.attended) = (first, false)).unwrap().input;
        above.spec.rules = rules;
        above.spec.max_steps = 9;
        for profile in profiles {
            let Ok(below) = compose_under(Delegated { caller: &above, call: "c/1", profile: Some(profile), frame: "" }, "Do a part", &given) else { break };
            let below = below.input;
            prop_assert!(below.spec.max_steps <= above.spec.max_steps && below.depth > above.depth && !below.attended);
            for tool_spec in below.spec.tools.iter() {
                prop_assert!(tool_spec.name() == "terminate" || above.spec.tool(tool_spec.name()).is_some());
                for parameters in [json!({"path": "a.md"}), json!({"path": ".env"}), json!({"command": "git log"}), json!({"command": "rm x > .env"})] {
                    let Ok(call) = tool_spec.check(parameters.as_object().unwrap().clone()) else { continue };
                    let freedom = |spec: &ActorSpec| match Permissions::new(spec.approval, &spec.rules).decide(tool_spec, call.clone()) {
                        Permission::Allow(_) => 2,
                        Permission::Ask(_) => 1,
                        Permission::Deny { .. } => 0,
                    };
                    prop_assert!(freedom(&below.spec) <= freedom(&above.spec), "{} {parameters:?}", tool_spec.name());
                }
            }
            above = below;
        }
    }
}

const RULES: [&str; 8] = ["bash", "bash(git *)", "bash(rm *)", "write_file", "write_file(**)", "read_file(.env)", "*", "delegate_task"];

/// Builds rules from pairs of a pattern and a list number: allow, ask, deny.
fn rules_of(rules: &[(&str, usize)]) -> PermissionRules {
    let list = |number: usize| rules.iter().filter(|(_, list)| *list == number).map(|(rule, _)| rule.parse().unwrap()).collect();
    let lists = RuleLists { allow: list(0), ask: list(1), deny: list(2), remembered: Vec::new() };
    PermissionRules::at("/work", lists).unwrap()
}

/// Composes a delegated actor under these rules, in a run that allows more than its parent may do.
fn compose_under(delegated: Delegated<'_>, description: &str, rules: &PermissionRules) -> Result<ComposedActor, ComposeError> {
    let tools = builtin();
    let context = ActorContext {
        delegated: Some(delegated),
        max_steps: Some(99),
        approval: Approval::All,
        ..ActorContext::new("Count the TODOs", &tools, rules).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(5))
    };
    ActorFactory::builtin().unwrap().compose(&task(description), &context)
}
