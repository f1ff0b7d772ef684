//! Words of the command for the next steps that libraries advise.

use aime_messages::{Message, message};
use aime_orchestrator::{NextStep, RunResult};
use aime_progress_management::RunId;
use aime_runs::{EngineStep, Hint, NameKind};

/// Returns the words for a hint of `aime-runs`.
pub(crate) fn hint(hint: &Hint) -> Message {
    match hint {
        Hint::Text(text) => text.clone(),
        Hint::Next(next) => next_step(next),
        Hint::StartRun => message!("no-run-yet"),
        Hint::ListRuns => message!("no-run-hint"),
        Hint::AwaitOrPause => message!("locked-hint"),
        Hint::NewestRun => message!("last-is-newest"),
        Hint::ShowRun(run) => message!("show-run", run),
        Hint::OtherId => message!("other-id"),
        Hint::OtherIdOrResume => message!("other-id-or-resume"),
        Hint::ResumeOrStart(run) => message!("no-follow-up-hint", run),
        Hint::MakeRepository => message!("cannot-commit-hint"),
        Hint::FixThenResume => message!("recorded-hint"),
        Hint::CheckOrDelete(run) => message!("no-beginning-hint", run),
        Hint::CheckPlan => message!("plan-hint"),
        Hint::CancelRun(run) => message!("run-all-hint", run),
        Hint::TellRun(run) => message!("task-no-actor-hint", run),
        Hint::ReportFault => message!("own-fault-hint"),
        Hint::ConfigureModel(keys) => message!("none-configured-hint", keys),
        Hint::InitConfiguration => message!("config-init"),
        Hint::List { kind, near: None } => list(*kind),
        Hint::List { kind, near: Some(near) } => message!("own-near", near = format!("{near:?}"), list = list(*kind)),
        Hint::LocalModels { near: None } => message!("local-models"),
        Hint::LocalModels { near: Some(near) } => message!("near-local-model", near),
        Hint::CorrectModelFile => message!("models-file-hint"),
        Hint::FetchLater(model) => message!("fetch-offline-hint", model, reason = message!("fetch-server")),
        Hint::FetchModel { model, size } => message!("fetch-pull", model, size),
        Hint::OtherModel => message!("models-known"),
        Hint::OtherProfile => message!("engine-profile-hint"),
        Hint::LogIn(server) => message!("mcp-login", server),
        Hint::Engine(EngineStep::Server) => message!("engine-server"),
        Hint::Engine(EngineStep::List) => message!("engine-list"),
        Hint::Engine(EngineStep::Worker) => message!("engine-worker"),
        Hint::Engine(EngineStep::UndoElsewhere) => message!("engine-kept-elsewhere-hint"),
        Hint::Engine(EngineStep::EndRun) => message!("engine-not-ended-hint"),
        other => Message::text(other),
    }
}

fn list(kind: NameKind) -> Message {
    match kind {
        NameKind::Profiles => message!("profiles-list"),
        NameKind::Models => message!("own-models-list"),
        NameKind::Skills => message!("own-doctor-list"),
    }
}

/// Returns the words for the next step after a run.
pub(crate) fn next_step(next: &NextStep) -> Message {
    match next {
        NextStep::Resume { run } => message!("hint-resume", run),
        NextStep::Answer { run } => message!("hint-answer", run),
        NextStep::Approve { run } => message!("hint-approve", run),
        NextStep::Supply { run } => message!("hint-supply", run),
        NextStep::RaiseBound { bound, run } => raise(bound, run.as_ref()),
        NextStep::AwaitQuota { run: Some(run) } => message!("hint-quota", run),
        NextStep::AwaitQuota { run: None } => message!("hint-plan-quota"),
        NextStep::AllowSteps {} => message!("hint-steps"),
        NextStep::Fork { run, version } => message!("hint-fork", run, version),
        NextStep::RepairModel { advice, run } => {
            let advice = advice.clone().unwrap_or_else(|| message!("hint-doctor"));
            match run {
                Some(run) => message!("hint-then-resume", advice, run),
                None => message!("hint-then-plan", advice),
            }
        }
        NextStep::Report {} => message!("hint-report"),
        other => Message::text(other),
    }
}

/// Names the option that raises a bound, or its setting.
fn raise(bound: &str, run: Option<&RunId>) -> Message {
    let flag = match bound {
        "tokens" => "--max-tokens N",
        "money" => "--max-cost USD",
        "time" => "--timeout TIME",
        _ => {
            let setting = format!("max_{bound}");
            return match run {
                Some(run) => message!("hint-setting", setting, run),
                None => message!("hint-plan-setting", setting),
            };
        }
    };
    match run {
        Some(run) => message!("hint-bound", run, flag),
        None => message!("hint-plan-bound", flag),
    }
}

/// Returns a result for programs, whose hint names the commands to use.
pub(crate) fn with_commands(result: &RunResult) -> RunResult {
    let mut result = result.clone();
    if let Some(error) = &mut result.error
        && let Some(next) = &error.next
    {
        error.hint = Some(next_step(next));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_steps_name_the_command_or_option() {
        let run = || Some(RunId::new("r").unwrap());
        let raise = |bound: &str, run| NextStep::RaiseBound { bound: bound.to_owned(), run };
        let advice = || Some(Message::text("try again later"));
        let cases = [
            (raise("tokens", run()), "raise the bound: `aime resume r --max-tokens N`"),
            (raise("money", run()), "raise the bound: `aime resume r --max-cost USD`"),
            (raise("time", None), "plan it again with a higher bound: `--timeout TIME`"),
            (raise("actors", run()), "raise max_actors in [run], then `aime resume r`"),
            (NextStep::AwaitQuota { run: run() }, "wait until then and use `aime resume r`, or name a fallback model"),
            (NextStep::RepairModel { advice: advice(), run: run() }, "try again later; then `aime resume r`"),
            (NextStep::RepairModel { advice: advice(), run: None }, "try again later; then plan again"),
        ];
        for (next, expected) in cases {
            assert_eq!(next_step(&next).to_string(), expected);
        }
    }
}
