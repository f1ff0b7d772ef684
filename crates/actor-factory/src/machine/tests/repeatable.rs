//! Tests of the effects that need not wait for the disk.

use aime_durable::Machine;
use aime_tools::{Executor, ToolScope};
use serde_json::json;

use super::support::{Play, call, give, input, read, tool_spec, write};
use crate::{ActorEffect, ActorMachine};

/// Returns the calls under way after the model has asked for one, each with its `repeatable` flag.
fn repeatable(name: &str, call: aime_llm::ToolCall) -> bool {
    let mut input = input();
    let object = || json!({"type": "object"});
    give(&mut input, tool_spec("page", true, ToolScope::Network, Executor::Runtime, object()));
    let mut play = Play::start(input);
    let asked: Vec<bool> = play.open.iter().map(|(_, effect)| ActorMachine::is_repeatable(effect)).collect();
    assert_eq!(asked, [true], "a request to the model");
    play.calls(vec![call]);
    let under_way = play.open.iter().find(|(_, effect)| matches!(effect, ActorEffect::Tool { call, .. } if call.tool() == name));
    let (_, effect) = under_way.unwrap_or_else(|| panic!("{name} is not under way"));
    ActorMachine::is_repeatable(effect)
}

#[test]
fn what_changes_something_or_leaves_the_machine_waits_for_the_disk() {
    assert!(repeatable("read_file", read("a", "1")));
    assert!(!repeatable("write_file", write("a", "1")));
    assert!(!repeatable("page", call("a", "page", &json!({}))));
}
