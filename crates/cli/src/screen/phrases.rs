//! The full-screen view's own phrases in the person's language.

use aime_progress_management::CallOutcome;
use aime_terminal::{Help, Hint, Phrase};

use crate::{
    i18n::{msg, print, print_question, word_name},
    output::count,
};

/// Translates a phrase to the person's language.
pub(super) fn phrase_text(phrase: Phrase<'_>) -> String {
    use Phrase as P;
    match phrase {
        P::Comma => msg!("view-comma"),
        P::Beginning => msg!("view-beginning"),
        P::Planning => msg!("view-planning"),
        P::Working => msg!("view-working"),
        P::Replanning => msg!("view-replanning"),
        P::WaitingForYou => msg!("view-waiting"),
        P::NotUnderWay => msg!("view-not-under-way"),
        P::Done => msg!("view-run-done"),
        P::Failed => msg!("view-run-failed"),
        P::Cancelled => msg!("view-run-cancelled"),
        P::NoPlanYet => msg!("view-no-plan-yet"),
        P::Version(version) => msg!("view-version", version),
        P::DoneOf { done, tasks } => msg!("view-done", done, tasks = count(tasks, "task")),
        P::Failures(number) => msg!("view-failures", number),
        P::Of { used, most } => msg!("view-of", used, most),
        P::Tokens(number) => msg!("view-tokens", number),
        P::TokensOf { used, most } => msg!("view-tokens-of", used, most),
        P::TitlePlan => msg!("view-title-plan"),
        P::TitleAtWork => msg!("view-title-at-work"),
        P::TitleLog => msg!("view-title-log"),
        P::TitleGraph => msg!("view-title-graph"),
        P::TitleTask => msg!("view-title-task"),
        P::TitleKeys => msg!("view-title-keys"),
        P::MoreBelow(number) => msg!("view-more-below", number),
        P::More(number) => msg!("view-more", number),
        P::Around { above: 0, below } => msg!("view-below", below),
        P::Around { above, below: 0 } => msg!("view-above", above),
        P::Around { above, below } => msg!("view-around", above, below),
        P::FirstOf(number) => msg!("view-first-of", number),
        P::MoreToRead(lines) => msg!("view-more-to-read", lines),
        P::AndMore(number) => msg!("tree-more", number),
        P::LinesLeftOut(number) => msg!("view-lines-left-out", number),
        P::Kind(_) | P::Question(_) | P::Approves { .. } | P::Answers | P::SurePause | P::SureCancel(_) | P::SureEnd => asks(phrase),
        P::Tells(None) => msg!("view-tell-run"),
        P::Tells(Some(task)) => msg!("view-tell-task", task),
        P::AnswersWith => msg!("view-answer"),
        P::HasEnded => msg!("view-has-ended"),
        P::NobodyCarries(run) => msg!("view-nobody-carries", run),
        P::NothingToTell => msg!("view-nothing-to-tell"),
        P::NothingToCancel => msg!("view-nothing-to-cancel"),
        P::NobodyHears(task) => msg!("view-nobody-hears", task),
        P::HasSettled(task, status) => msg!("view-has-settled", task, status = word_name("status", &status.to_string())),
        P::KeyHeld => msg!("view-held"),
        P::IsTheRun(task) => msg!("view-is-the-run", task),
        P::Hint(hint) => hinted(hint),
        P::Help(help) => helped(help),
        P::NoneYet
        | P::NoPlanToDraw
        | P::Attempt(_)
        | P::AttemptNumber(_)
        | P::ForGood
        | P::After(_)
        | P::WaitsForYou
        | P::Thinking
        | P::Status(_)
        | P::Report { .. }
        | P::CameTo(_)
        | P::Tool { .. }
        | P::Actor { .. }
        | P::Call(_)
        | P::Reason(_) => task_phrase_text(phrase),
    }
}

fn asks(phrase: Phrase<'_>) -> String {
    use Phrase as P;
    match phrase {
        P::Kind(kind) => word_name("kind", kind),
        P::Question(question) => print_question(question),
        P::Approves { always: true } => msg!("view-approve-always"),
        P::Approves { always: false } => msg!("view-approve"),
        P::SurePause => msg!("view-sure-pause"),
        P::SureCancel(task) => msg!("view-sure-cancel", task),
        P::SureEnd => msg!("view-sure-end"),
        _ => msg!("view-answers"),
    }
}

fn task_phrase_text(phrase: Phrase<'_>) -> String {
    use Phrase as P;
    match phrase {
        P::NoneYet => msg!("view-none-yet"),
        P::NoPlanToDraw => msg!("view-no-plan-to-draw"),
        P::Attempt(number) => msg!("attempt", number),
        P::AttemptNumber(number) => msg!("view-attempt", number),
        P::ForGood => msg!("view-for-good"),
        P::After(tasks) => msg!("tree-after", tasks),
        P::WaitsForYou => msg!("view-waits-for-you"),
        P::Thinking => msg!("view-thinking"),
        P::Status(status) => word_name("status", &status.to_string()),
        P::Report { status, message } => msg!("view-said", status = word_name("status", status), message),
        P::CameTo(text) => msg!("view-came-to", text),
        P::Tool { tool, parameters } => msg!("view-tool", tool, parameters),
        P::Actor { profile, model, requests, tokens } => {
            msg!("view-actor", profile, model, requests, tokens)
        }
        P::Call(None) => msg!("view-call-runs"),
        P::Call(Some(CallOutcome::Ok)) => msg!("view-call-ok"),
        P::Call(Some(CallOutcome::Error)) => msg!("view-call-failed"),
        P::Call(Some(CallOutcome::Cancelled)) => msg!("view-call-stopped"),
        P::Call(Some(CallOutcome::InDoubt)) => msg!("view-call-in-doubt"),
        P::Reason(reason) => print(reason),
        // No other phrase can occur here.
        other => aime_terminal::english(other),
    }
}

fn hinted(hint: Hint) -> String {
    match hint {
        Hint::Sends => msg!("key-sends"),
        Hint::GivesUp => msg!("key-gives-up"),
        Hint::Empties => msg!("key-empties"),
        Hint::Yes => msg!("key-yes"),
        Hint::No => msg!("key-no"),
        Hint::Back => msg!("key-back"),
        Hint::Scroll => msg!("key-scroll"),
        Hint::ScrollPage => msg!("key-scroll-page"),
        Hint::OtherTask => msg!("key-other-task"),
        Hint::Help => msg!("key-help"),
        Hint::Tell => msg!("key-tell"),
        Hint::TellIt => msg!("key-tell-it"),
        Hint::Task => msg!("key-task"),
        Hint::Graph => msg!("key-graph"),
        Hint::Pause => msg!("key-pause"),
        Hint::Cancel => msg!("key-cancel"),
        Hint::CancelIt => msg!("key-cancel-it"),
        Hint::Leave => msg!("key-leave"),
        Hint::Stop => msg!("key-stop"),
    }
}

fn helped(help: Help) -> String {
    match help {
        Help::Tell => msg!("help-tell"),
        Help::TellIt => msg!("help-tell-it"),
        Help::Approve => msg!("help-approve"),
        Help::Answer => msg!("help-answer"),
        Help::Cancel => msg!("help-cancel"),
        Help::End => msg!("help-end"),
        Help::Pause => msg!("help-pause"),
        Help::Stop => msg!("help-stop"),
        Help::Leave => msg!("help-leave"),
        Help::Move => msg!("help-move"),
        Help::Task => msg!("help-task"),
        Help::Graph => msg!("help-graph"),
        Help::Log => msg!("help-log"),
        Help::Next => msg!("help-next"),
        Help::Scroll => msg!("help-scroll"),
        Help::Back => msg!("help-back"),
        Help::Redraw => msg!("help-redraw"),
        Help::Help => msg!("help-help"),
        Help::Marks => msg!("help-marks"),
    }
}
