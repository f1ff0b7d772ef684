//! `aime schema`.

use aime_orchestrator::RunResult;
use aime_progress_management::{event_schema, patch_schema, plan_schema, progress_schema};
use aime_runs::config::Config;
use schemars::schema_for;
use serde_json::{Map, Value};

use crate::{args::SchemaName, failure::Failure, output};

pub(super) fn schema(name: Option<SchemaName>) -> Result<u8, Failure> {
    let document = match name {
        Some(name) => one(name)?,
        None => {
            let mut all = Map::new();
            for (key, name) in [
                ("plan", SchemaName::Plan),
                ("patch", SchemaName::Patch),
                ("event", SchemaName::Event),
                ("result", SchemaName::Result),
                ("progress", SchemaName::Progress),
                ("config", SchemaName::Config),
            ] {
                all.insert(key.to_owned(), one(name)?);
            }
            Value::Object(all)
        }
    };
    output::json(&document, true)?;
    Ok(0)
}

fn one(name: SchemaName) -> Result<Value, Failure> {
    match name {
        SchemaName::Plan => Ok(plan_schema()),
        SchemaName::Patch => Ok(patch_schema()),
        SchemaName::Event => Ok(event_schema()),
        SchemaName::Progress => Ok(progress_schema()),
        SchemaName::Result => serde_json::to_value(schema_for!(RunResult)).map_err(Failure::internal),
        SchemaName::Config => serde_json::to_value(schema_for!(Config)).map_err(Failure::internal),
    }
}
