//! `aime runs check`.

use aime_orchestrator::{Finding, RunCheck};
use aime_runs::RunService;

use crate::{
    args::Output,
    failure::{Failure, code},
    i18n::{msg, print, word_name},
    output::{self, BOLD, DIM, GREEN, YELLOW, count, plain},
};

/// Checks the stored data of a run, and repairs it on demand. Returns 0 if no fault is left, else 1.
pub(super) async fn check(run: &str, repair: bool, form: Output, runs: &RunService<'_>) -> Result<u8, Failure> {
    let run = runs.find(run).await?;
    let checked = runs.check(&run, repair).await?;
    let code = print_check(&checked, form)?;
    if !repair && checked.findings.iter().any(|finding| finding.repair.is_some()) {
        output::note(&msg!("check-repairs", run));
    }
    Ok(code)
}

/// Prints the result of a check. Returns 0 if no fault is left, else 1.
fn print_check(checked: &RunCheck, form: Output) -> Result<u8, Failure> {
    match form {
        Output::Text => output::result(&text(checked)),
        Output::Json | Output::Jsonl => output::json(checked, form == Output::Json)?,
    }
    Ok(if checked.is_whole() { 0 } else { code::NOT_REACHED })
}

fn text(checked: &RunCheck) -> String {
    let looked_at = msg!("checked-run", events = count(checked.events, "event"), actors = count(checked.actors, "actor"));
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}  {DIM}{looked_at}{DIM:#}", checked.run_id)];
    for Finding { place, detail, repair, repaired } in &checked.findings {
        lines.push(format!("{YELLOW}{}{YELLOW:#}: {}", word_name("place", place.word()), plain(&print(detail))));
        lines.push(match (repair, repaired) {
            (Some(repair), true) => format!("  {GREEN}{}{GREEN:#}: {}", msg!("checked-repaired"), print(repair)),
            (Some(repair), false) => format!("  {DIM}{}{DIM:#}: {}", msg!("checked-repair"), print(repair)),
            (None, _) => format!("  {DIM}{}{DIM:#}", msg!("checked-not-repairable")),
        });
    }
    if checked.findings.is_empty() {
        lines.push(msg!("checked-nothing-wrong"));
    }
    lines.join("\n")
}
