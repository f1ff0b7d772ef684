//! Phrases of the screen as data, so that the caller can translate them.

mod english;

use aime_messages::Message;
use aime_progress_management::{CallOutcome, TaskId, TaskStatus};

pub use self::english::english;

/// Returns a phrase in the person's language. A text may be wider than the English one; the screen cuts or wraps it.
pub type PhraseTranslator = fn(Phrase<'_>) -> String;

/// Every phrase of the screen itself. Quoted texts (goals, names of tasks, words of models) are not phrases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phrase<'a> {
    /// Separator between parts of a sentence.
    Comma,

    /// The run has no events yet.
    Beginning,
    /// The run is planning.
    Planning,
    /// The run carries out its plan.
    Working,
    /// The run changes its plan.
    Replanning,
    /// The run waits for the person.
    WaitingForYou,
    /// No process drives the run.
    NotUnderWay,
    /// The run has reached its goal.
    Done,
    /// The run has failed.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// Placeholder for the progress.
    NoPlanYet,
    /// Version of the plan.
    Version(u32),
    /// Number of completed tasks.
    DoneOf {
        /// Completed tasks.
        done: usize,
        /// All tasks.
        tasks: usize,
    },
    /// Number of failed tasks.
    Failures(usize),
    /// Used time or money with its bound.
    Of {
        /// Used amount.
        used: &'a str,
        /// Bound.
        most: &'a str,
    },
    /// Number of tokens.
    Tokens(&'a str),
    /// Number of tokens with its bound.
    TokensOf {
        /// Used number.
        used: &'a str,
        /// Bound.
        most: &'a str,
    },

    /// Title of the plan.
    TitlePlan,
    /// Title of the running tasks.
    TitleAtWork,
    /// Title of the log.
    TitleLog,
    /// Title of the graph of the plan.
    TitleGraph,
    /// Title of one task.
    TitleTask,
    /// Title of the help on keys.
    TitleKeys,
    /// Number of lines below the visible part.
    MoreBelow(usize),
    /// Number of rows without room.
    More(usize),
    /// Number of rows above and below the visible ones; at most one is 0.
    Around {
        /// Rows above.
        above: usize,
        /// Rows below.
        below: usize,
    },
    /// Number of open questions, of which the first is shown.
    FirstOf(usize),
    /// Number of lines of a question that PgDn shows.
    MoreToRead(usize),
    /// Number of tasks that are not drawn.
    AndMore(usize),
    /// Number of lines left out of a log entry.
    LinesLeftOut(usize),

    /// There is no task.
    NoneYet,
    /// There is no plan to be drawn.
    NoPlanToDraw,
    /// Number of the attempt, behind the name of a task.
    Attempt(u32),
    /// Number of the attempt, within a sentence.
    AttemptNumber(u32),
    /// A failed task is not retried.
    ForGood,
    /// Tasks that a task waits for.
    After(&'a str),
    /// A task waits for the person.
    WaitsForYou,
    /// A model request is under way.
    Thinking,
    /// Status of a task.
    Status(TaskStatus),
    /// Last report of an actor.
    Report {
        /// Status in the actor's words.
        status: &'a str,
        /// Text of the report.
        message: &'a str,
    },
    /// Result of a task.
    CameTo(&'a str),
    /// Tool of a tool task.
    Tool {
        /// Name of the tool.
        tool: &'a str,
        /// Parameters as JSON.
        parameters: &'a str,
    },
    /// Actor of a task.
    Actor {
        /// The profile.
        profile: &'a str,
        /// The model.
        model: &'a str,
        /// Number of requests to the model.
        requests: u64,
        /// Tokens sent and received.
        tokens: &'a str,
    },
    /// Outcome of a call; none while it is under way. Eight columns at most.
    Call(Option<CallOutcome>),
    /// Reason or error from the journal.
    Reason(&'a Message),

    /// Kind of a question.
    Kind(&'a str),
    /// Text of a question. The quoted subject must stay unchanged.
    Question(&'a Message),
    /// Keys that answer an approval.
    Approves {
        /// True if "always" is one of them.
        always: bool,
    },
    /// Key that answers a question.
    Answers,
    /// Confirmation of a pause.
    SurePause,
    /// Confirmation of the cancel of a task.
    SureCancel(&'a TaskId),
    /// Confirmation of the cancel of the run.
    SureEnd,
    /// Label of a message to a task, or to the run.
    Tells(Option<&'a TaskId>),
    /// Label of an answer.
    AnswersWith,

    /// The run has ended, so the key does nothing.
    HasEnded,
    /// No process drives this run, so the key does nothing.
    NobodyCarries(&'a str),
    /// No task can get a message.
    NothingToTell,
    /// No task can be cancelled.
    NothingToCancel,
    /// This task has no actor.
    NobodyHears(&'a TaskId),
    /// This task has ended.
    HasSettled(&'a TaskId, TaskStatus),
    /// This task is the whole run.
    IsTheRun(&'a TaskId),
    /// The key may be held down, since it was pressed a moment ago. It answers nothing.
    KeyHeld,

    /// Key at the foot, with its effect.
    Hint(Hint),
    /// Long description of a key.
    Help(Help),
}

/// Key at the foot of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Enter sends the input.
    Sends,
    /// Esc discards the input.
    GivesUp,
    /// Ctrl-U empties the line.
    Empties,
    /// y means yes.
    Yes,
    /// Any other key means no.
    No,
    /// Esc goes back.
    Back,
    /// Up and Down scroll.
    Scroll,
    /// PgDn scrolls.
    ScrollPage,
    /// Up and Down select another task.
    OtherTask,
    /// ? shows the keys.
    Help,
    /// t sends a message to the run.
    Tell,
    /// T sends a message to the actor of the task.
    TellIt,
    /// Enter shows the task.
    Task,
    /// g shows the graph of the plan.
    Graph,
    /// p pauses.
    Pause,
    /// x cancels a task.
    Cancel,
    /// x cancels the shown task.
    CancelIt,
    /// q leaves.
    Leave,
    /// Ctrl-C stops.
    Stop,
}

/// Key with a long description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Help {
    /// t
    Tell,
    /// T
    TellIt,
    /// y, n and a
    Approve,
    /// Enter and a
    Answer,
    /// x
    Cancel,
    /// X
    End,
    /// p
    Pause,
    /// Ctrl-C in the process that drives the run
    Stop,
    /// Ctrl-C in a process that only watches
    Leave,
    /// Up and Down
    Move,
    /// Enter and d
    Task,
    /// g
    Graph,
    /// l
    Log,
    /// Tab
    Next,
    /// PgUp and PgDn
    Scroll,
    /// Esc
    Back,
    /// Ctrl-L
    Redraw,
    /// ?
    Help,
    /// Marks of tasks
    Marks,
}
