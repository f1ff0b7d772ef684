//! `aime tools`.

use aime_messages::message;
use aime_runs::Setup;
use aime_tools::{AskPerson, Executor, ProgressReporter, ToolContext, ToolScope, ToolSpec};
use serde_json::{Map, Value};

use crate::{
    args::ToolsCommand,
    failure::{Failure, code},
    i18n::msg,
    output::{self, BOLD},
    screen::column,
};

/// Classifies a tool by its effects, in one word.
fn kind(spec: &ToolSpec) -> String {
    match (spec.handled_by, spec.touches) {
        (Executor::Actor | Executor::Run, _) => msg!("tool-of-actors"),
        _ if spec.read_only => msg!("tool-reads"),
        (_, ToolScope::Processes) => msg!("tool-runs"),
        (_, ToolScope::Network) => msg!("tool-connects"),
        _ => msg!("tool-changes"),
    }
}

/// Returns the context of a call: it shows progress, and asks a person who can type.
fn context(setup: &Setup) -> Result<ToolContext, Failure> {
    let context = setup.tool_context()?.with_progress(ProgressReporter::new(|message| output::note(&output::plain(&message))));
    if !output::can_type() {
        return Ok(context);
    }
    let person = AskPerson::new(|question| Box::pin(async move { crate::person::answers(&question).await }));
    Ok(context.with_person(person))
}

pub(super) async fn tools(command: Option<ToolsCommand>, setup: &Setup) -> Result<u8, Failure> {
    let registry = setup.every_tool();
    let known = |name: &str| {
        let found = registry.specs([name]).map(|mut specs| specs.pop());
        found.map_err(|_| {
            let hint = aime_tools::nearest_tool(name).map_or_else(|| message!("tools-list"), |near| message!("tools-near", near));
            Failure::usage(message!("no-tool", tool = name)).hint(hint)
        })
    };
    match command.unwrap_or(ToolsCommand::List) {
        ToolsCommand::List => {
            let mut specs: Vec<_> = registry.all_specs().collect();
            specs.sort_unstable_by_key(|spec| spec.name());
            for spec in specs {
                let (name, kind) = (spec.name(), column(&kind(spec), 10));
                output::result(&format!("{BOLD}{name:<16}{BOLD:#} {kind}{}", spec.definition.description));
            }
        }
        ToolsCommand::Show { name } => {
            if let Some(spec) = known(&name)? {
                output::json(spec.as_ref(), true)?;
            }
        }
        ToolsCommand::Call { name, parameters } => {
            known(&name)?;
            let parameters: Map<String, Value> = serde_json::from_str(&parameters).map_err(|_| {
                let error = aime_runs::json_fault(&parameters).unwrap_or_else(|| message!("tool-other-json"));
                Failure::usage(message!("tool-parameters", error)).hint(message!("tool-form", json = r#"{"name": value}"#))
            })?;
            match registry.call_with_consent(&name, parameters, &context(setup)?).await {
                Ok(output) => output::result(&output.text),
                Err(error @ aime_tools::ToolError::InvalidParameters(_)) => {
                    return Err(Failure::caused(code::USAGE, &error).hint(message!("tool-show", tool = name)));
                }
                Err(error) => return Err(Failure::caused(code::NOT_REACHED, &error)),
            }
        }
    }
    Ok(0)
}
