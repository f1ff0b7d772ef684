//! Tools whose only effect is a mark in the world.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use aime_tools::{Executor, ToolContext, ToolError, ToolOutput, ToolRegistry, ToolScope, TypedTool, builtin};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    stage::Slot,
    world::{Moment, World},
};

/// Tool whose calls must not be repeated without a report.
pub(crate) const MARK: &str = "mark";
/// Tool whose calls may be repeated.
pub(crate) const NOTE: &str = "note";
/// Read-only tool.
pub(crate) const LOOK: &str = "look";

/// Time limit of a call.
const LIMIT: Duration = Duration::from_secs(20);

/// Parameters of the tools.
#[derive(Deserialize, JsonSchema)]
struct Given {
    /// Key of the work item.
    key: String,
}

/// Returns the coordination tools of actors.
pub(crate) fn of_actors() -> ToolRegistry {
    let builtin = builtin();
    let mut tools = ToolRegistry::new();
    for spec in builtin.all_specs().filter(|spec| spec.handled_by == Executor::Actor) {
        if let Some(tool) = builtin.get(spec.name()) {
            tools.register(Arc::clone(tool));
        }
    }
    tools
}

/// Returns the tools of a simulated run: three of its own, and the coordination tools of actors.
pub(crate) fn tools(slot: &Slot) -> ToolRegistry {
    let mut tools = of_actors();
    for name in [MARK, NOTE, LOOK] {
        let slot = slot.clone();
        let call = move |given: Given, _: ToolContext| {
            let world = slot.world();
            async move {
                match world {
                    Some(world) => work(&world, name, &given.key).await,
                    None => Err(ToolError::Failed("nobody is on the stage".to_owned())),
                }
            }
        };
        let tool = TypedTool::new(name, "Leaves a mark in the world.", call).time_limit(LIMIT);
        let tool = match name {
            MARK => tool.touches(ToolScope::Files),
            NOTE => tool.touches(ToolScope::Files).idempotent(),
            _ => tool.read_only(),
        };
        tools.register(Arc::new(tool));
    }
    tools
}

/// Counts a call while it is running.
struct AtWork<'a>(&'a World);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn work(world: &World, name: &str, key: &str) -> Result<ToolOutput, ToolError> {
    world.moment(Moment::ToolBegins).await;
    let key = format!("{name} {key}");
    world.tally(&key, |tally| tally.begun += 1);
    world.at_work.fetch_add(1, Ordering::Relaxed);
    let _at_work = AtWork(world);
    let odds = world.scenario.odds;
    let mut rng = world.chances.of(&key);
    sleep(Duration::from_millis(rng.u64(1..3_000))).await;
    if rng.u32(0..1_000) < odds.tool_hangs {
        std::future::pending::<()>().await;
    }
    world.tally(&key, |tally| tally.done += 1);
    world.moment(Moment::ToolEnds).await;
    if rng.u32(0..1_000) < odds.tool_fails {
        return Err(ToolError::Failed(format!("{key} cannot be done")));
    }
    Ok(ToolOutput { text: format!("{key} is done"), value: json!({"key": key}), ..ToolOutput::default() })
}
