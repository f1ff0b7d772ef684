//! `aime run --review`: opens the plan in the person's editor before anything of it runs.

use std::path::Path;

use aime_progress::{Owner, Plan};
use aime_runs::{Setup, write_whole};
use aime_sandbox::run_at_terminal;

use super::check::told;
use crate::{
    failure::{Failure, code},
    output,
    person::confirms,
    words::msg,
};

/// Opens the plan until it is valid when the editor closes. Edits are never lost: they stay in the named file.
pub(super) async fn review(plan: &Plan, setup: &Setup) -> Result<Plan, Failure> {
    let editor = editor(setup)?;
    let file = setup.keep().join("review.json");
    let text = serde_json::to_string_pretty(plan).map_err(Failure::internal)?;
    let lost = |error: std::io::Error| Failure::usage(format!("the plan cannot be written to {}: {error}", file.display()));
    std::fs::create_dir_all(setup.keep()).map_err(lost)?;
    write_whole(&file, &format!("{text}\n"), true).map_err(lost)?;
    loop {
        let ended = run_at_terminal(&editor, file.as_os_str()).await;
        let ended = ended.map_err(|error| Failure::usage(format!("the editor cannot be started: {error}")))?;
        if !ended.success() {
            return Err(stopped(format!("the editor `{editor}` ended with {ended}"), &file));
        }
        let text = std::fs::read_to_string(&file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
        if text.trim().is_empty() {
            return Err(Failure { code: code::NOT_REACHED, ..Failure::usage("the plan was emptied, so nothing was run") });
        }
        match setup.checker()?.check(&text) {
            Ok(checked) => {
                checked.repairs.iter().for_each(|repair| output::note(&format!("mended in the plan: {repair}")));
                // The journal of the run contains the plan, so the file is no longer needed.
                drop(std::fs::remove_file(&file));
                return Ok(checked.plan.revised(plan, Owner::Person));
            }
            Err(faults) => {
                let told = told(&msg!("plan-of-person"), &faults);
                output::tell(&told);
                if !output::can_type() || !confirms("edit it again?").await {
                    return Err(stopped(told, &file));
                }
            }
        }
    }
}

fn stopped(why: String, file: &Path) -> Failure {
    Failure::usage(why).hint(format!("what you wrote is in {0}; `aime run --plan {0}` runs it", file.display()))
}

/// Returns the person's editor, from the usual variables.
pub(super) fn editor(setup: &Setup) -> Result<String, Failure> {
    let set = ["VISUAL", "EDITOR"].into_iter().find_map(|name| setup.environment.text(name).filter(|value| !value.trim().is_empty()));
    match set {
        Some(editor) => Ok(editor.to_owned()),
        None if output::can_type() => Ok(if cfg!(windows) { "notepad" } else { "vi" }.to_owned()),
        None => Err(Failure::usage("there is no editor to review the plan in, and no terminal")
            .hint("set EDITOR, or use `aime plan GOAL -o plan.json --format json`, edit it, and `aime run --plan plan.json`")),
    }
}
