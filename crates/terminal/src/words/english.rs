//! The phrases in English.

use aime_progress::CallOutcome;

use super::{Help, Hint, Phrase};

/// A phrase in English.
#[must_use]
pub fn english(phrase: Phrase<'_>) -> String {
    use Phrase as P;
    let fixed = match phrase {
        P::Comma => ", ",
        P::Beginning => "beginning",
        P::Planning => "planning",
        P::Working => "working",
        P::Replanning => "changing the plan",
        P::WaitingForYou => "waiting for you",
        P::NotUnderWay => "not under way",
        P::Done => "done",
        P::Failed => "failed",
        P::Cancelled => "cancelled",
        P::NoPlanYet => "no plan yet",
        P::TitlePlan => "Plan",
        P::TitleAtWork => "At work",
        P::TitleLog => "What happened",
        P::TitleGraph => "What waits for what",
        P::TitleTask => "Task",
        P::TitleKeys => "Keys",
        P::NoneYet => "there is none yet",
        P::NoPlanToDraw => "there is no plan yet",
        P::ForGood => "for good",
        P::WaitsForYou => "waits for you",
        P::Thinking => "thinking",
        P::Call(None) => "...",
        P::Call(Some(CallOutcome::Ok)) => "ok",
        P::Call(Some(CallOutcome::Error)) => "failed",
        P::Call(Some(CallOutcome::Cancelled)) => "stopped",
        P::Call(Some(CallOutcome::InDoubt)) => "in doubt",
        P::Reason(text) | P::Kind(text) | P::Question(text) => text,
        P::Approves { always: true } => "y yes · a always · n no",
        P::Approves { always: false } => "y yes · n no",
        P::Answers => "Enter answers",
        P::SurePause => "Stop the run? It can be resumed.",
        P::SureEnd => "End the run for good?",
        P::Tells(None) => "tell the run",
        P::AnswersWith => "answer",
        P::HasEnded => "the run has ended",
        P::NothingToTell => "there is no task yet; t tells the run",
        P::NothingToCancel => "there is no task yet; X ends the run",
        P::Hint(hint) => hinted(hint),
        P::Help(help) => helped(help),
        _ => return with_values(phrase),
    };
    fixed.to_owned()
}

fn with_values(phrase: Phrase<'_>) -> String {
    use Phrase as P;
    match phrase {
        P::Version(version) => format!("plan v{version}"),
        P::DoneOf { done, tasks: 1 } => format!("{done} of 1 task done"),
        P::DoneOf { done, tasks } => format!("{done} of {tasks} tasks done"),
        P::Failures(number) => format!("{number} failed"),
        P::Of { used, most } => format!("{used} of {most}"),
        P::Tokens(number) => format!("{number} tokens"),
        P::TokensOf { used, most } => format!("{used} of {most} tokens"),
        P::MoreBelow(number) => format!("{number} more below"),
        P::More(number) => format!("{number} more"),
        P::Around { above: 0, below } => format!("{below} below"),
        P::Around { above, below: 0 } => format!("{above} above"),
        P::Around { above, below } => format!("{above} above, {below} below"),
        P::FirstOf(number) => format!("1 of {number}"),
        P::MoreToRead(lines) => format!("{lines} more lines: PgDn"),
        P::AndMore(number) => format!("… and {number} more"),
        P::LinesLeftOut(number) => format!("… {number} more lines"),
        P::Attempt(number) => format!("(attempt {number})"),
        P::AttemptNumber(number) => format!("attempt {number}"),
        P::After(tasks) => format!("after {tasks}"),
        P::Status(status) => status.to_string(),
        P::Said { status, message } => format!("said: {status}: {message}"),
        P::CameTo(text) => format!("came to: {text}"),
        P::Tool { tool, parameters } => format!("tool {tool} {parameters}"),
        P::Actor { profile, model, requests, tokens } => format!("actor {profile} on {model}: {requests} requests, {tokens} tokens"),
        P::SureCancel(task) => format!("Cancel the task {task}?"),
        P::Tells(Some(task)) => format!("tell {task}"),
        P::NobodyCarries(run) => format!("no process carries the run out; go on with aime resume {run}"),
        P::NobodyHears(task) => format!("{task} has no actor who could hear it; t tells the run"),
        P::HasSettled(task, status) => format!("{task} is {status}"),
        P::IsTheRun(task) => format!("{task} is all that the run does; X ends the run"),
        // Those without values were said before.
        _ => String::new(),
    }
}

const fn hinted(hint: Hint) -> &'static str {
    match hint {
        Hint::Sends => "Enter sends",
        Hint::GivesUp => "Esc gives up",
        Hint::Empties => "Ctrl-U empties",
        Hint::Yes => "y yes",
        Hint::No => "any other key no",
        Hint::Back => "Esc back",
        Hint::Scroll => "Up Down scroll",
        Hint::ScrollPage => "PgDn scroll",
        Hint::OtherTask => "Up Down task",
        Hint::Help => "? help",
        Hint::Tell => "t tell",
        Hint::TellIt => "T tell it",
        Hint::Task => "Enter task",
        Hint::Graph => "g graph",
        Hint::Pause => "p pause",
        Hint::Cancel => "x cancel",
        Hint::CancelIt => "x cancel it",
        Hint::Leave => "q leave",
        Hint::Stop => "Ctrl-C stop",
    }
}

const fn helped(help: Help) -> &'static str {
    match help {
        Help::Tell => "tell the run something",
        Help::TellIt => "tell the actor of the task at the pointer",
        Help::Approve => "answer an approval: yes, no, always",
        Help::Answer => "answer a question",
        Help::Cancel => "cancel the task at the pointer; it asks first",
        Help::End => "end the run for good; it asks first",
        Help::Pause => "pause: stop the run so that it can be resumed; it asks first",
        Help::Stop => "stop the run so that it can be resumed; again to stop at once",
        Help::Leave => "close this; the run goes on. Also q",
        Help::Move => "move the pointer; also k and j",
        Help::Task => "all about the task at the pointer, and back",
        Help::Graph => "what waits for what, and back",
        Help::Log => "what happened",
        Help::Next => "the next of these three",
        Help::Scroll => "scroll",
        Help::Back => "back; the pointer follows what moves again",
        Help::Redraw => "draw anew. Ctrl-Z: to the background",
        Help::Help => "this, and back",
        Help::Marks => "[ ] waits  [>] runs  [x] done  [!] failed  [?] blocked  [-] skipped  [<] undone",
    }
}
