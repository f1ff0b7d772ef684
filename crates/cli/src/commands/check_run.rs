//! `aime runs check`.

use aime_orchestrator::{Finding, RunCheck};
use aime_runs::Runs;

use crate::{
    args::Output,
    failure::{Failure, code},
    i18n::{msg, named, said},
    output::{self, BOLD, DIM, GREEN, YELLOW, count, plain},
};

/// Checks the stored data of a run, and repairs it on demand. Returns 0 if no fault is left, else 1.
pub(super) async fn check(run: &str, mend: bool, form: Output, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    let checked = runs.check(&run, mend).await?;
    let code = tell(&checked, form)?;
    if !mend && checked.findings.iter().any(|finding| finding.mend.is_some()) {
        output::note(&format!("`aime runs check {run} --mend` repairs it"));
    }
    Ok(code)
}

/// Prints the result of a check. Returns 0 if no fault is left, else 1.
pub(super) fn tell(checked: &RunCheck, form: Output) -> Result<u8, Failure> {
    match form {
        Output::Text => output::result(&text(checked)),
        Output::Json | Output::Jsonl => output::json(checked, form == Output::Json)?,
    }
    Ok(if checked.is_whole() { 0 } else { code::NOT_REACHED })
}

fn text(checked: &RunCheck) -> String {
    let looked_at = msg!("checked-run", events = count(checked.events, "event"), actors = count(checked.actors, "actor"));
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}  {DIM}{looked_at}{DIM:#}", checked.run_id)];
    for Finding { place, detail, mend, mended } in &checked.findings {
        lines.push(format!("{YELLOW}{}{YELLOW:#}: {}", named("place", place.word()), plain(&said(detail))));
        lines.push(match (mend, mended) {
            (Some(mend), true) => format!("  {GREEN}{}{GREEN:#}: {}", msg!("checked-mended"), said(mend)),
            (Some(mend), false) => format!("  {DIM}{}{DIM:#}: {}", msg!("checked-mend"), said(mend)),
            (None, _) => format!("  {DIM}{}{DIM:#}", msg!("checked-nothing-mends")),
        });
    }
    if checked.findings.is_empty() {
        lines.push(msg!("checked-nothing-wrong"));
    }
    lines.join("\n")
}
