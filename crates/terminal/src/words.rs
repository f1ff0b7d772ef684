//! What the screen says, as data: whoever shows it may say it in another language.

mod english;

use aime_progress::{CallOutcome, TaskId, TaskStatus};

pub use self::english::english;

/// Says a phrase in the language of the person. A text may be wider than the English one; it is cut or broken where it must be.
pub type Words = fn(Phrase<'_>) -> String;

/// Everything that a screen says by itself. What it quotes (goals, names of tasks, words of models) is no phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phrase<'a> {
    /// Between parts of a sentence.
    Comma,

    /// Nothing is known of the run yet.
    Beginning,
    /// The run makes its plan.
    Planning,
    /// The run carries its plan out.
    Working,
    /// The run changes its plan.
    Replanning,
    /// The run waits for the person.
    WaitingForYou,
    /// No process carries the run out.
    NotUnderWay,
    /// The run has reached its goal.
    Done,
    /// The run has failed.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// Instead of how far the run is.
    NoPlanYet,
    /// The version of the plan.
    Version(u32),
    /// How many tasks are done.
    DoneOf {
        /// Those that are.
        done: usize,
        /// All.
        tasks: usize,
    },
    /// How many tasks have failed.
    Failures(usize),
    /// A time or money, of its bound.
    Of {
        /// What is used.
        used: &'a str,
        /// The bound.
        most: &'a str,
    },
    /// A number of tokens.
    Tokens(&'a str),
    /// A number of tokens, of its bound.
    TokensOf {
        /// What is used.
        used: &'a str,
        /// The bound.
        most: &'a str,
    },

    /// The title of the plan.
    TitlePlan,
    /// The title of who is at work.
    TitleAtWork,
    /// The title of the log.
    TitleLog,
    /// The title of the picture of the plan.
    TitleGraph,
    /// The title of one task.
    TitleTask,
    /// The title of the keys.
    TitleKeys,
    /// Lines below, to be scrolled to.
    MoreBelow(usize),
    /// Rows that found no room.
    More(usize),
    /// Rows above and below those that are seen; not both are 0.
    Around {
        /// Above.
        above: usize,
        /// Below.
        below: usize,
    },
    /// The first of so many questions.
    FirstOf(usize),
    /// Lines of a question that PgDn shows.
    MoreToRead(usize),
    /// Tasks that are not drawn.
    AndMore(usize),
    /// Lines of an entry of the log that are left out.
    LinesLeftOut(usize),

    /// There is no task.
    NoneYet,
    /// There is no plan to be drawn.
    NoPlanToDraw,
    /// Behind the name of a task: which attempt it is at.
    Attempt(u32),
    /// The same within a sentence.
    AttemptNumber(u32),
    /// A failed task is not tried again.
    ForGood,
    /// What a task waits for.
    After(&'a str),
    /// A task waits for the person.
    WaitsForYou,
    /// A model is asked.
    Thinking,
    /// How a task stands.
    Status(TaskStatus),
    /// What an actor said last.
    Said {
        /// How it stands, in the actor's words.
        status: &'a str,
        /// The words.
        message: &'a str,
    },
    /// What a task came to.
    CameTo(&'a str),
    /// The tool of a task.
    Tool {
        /// Its name.
        tool: &'a str,
        /// As JSON.
        parameters: &'a str,
    },
    /// Who works on a task.
    Actor {
        /// The profile.
        profile: &'a str,
        /// The model.
        model: &'a str,
        /// Requests to it.
        requests: u64,
        /// Tokens sent and received.
        tokens: &'a str,
    },
    /// What became of a call; none while it is under way. Eight columns at most.
    Call(Option<CallOutcome>),
    /// A reason or an error that stands in the journal.
    Reason(&'a str),

    /// The kind of a question.
    Kind(&'a str),
    /// A question. What it asks about must be seen as it is.
    Question(&'a str),
    /// The keys that answer an approval.
    Approves {
        /// Whether "always" is one of them.
        always: bool,
    },
    /// The key that answers a question.
    Answers,
    /// Whether the run is to be stopped.
    SurePause,
    /// Whether a task is to be cancelled.
    SureCancel(&'a TaskId),
    /// Whether the run is to be ended.
    SureEnd,
    /// Before what is told; without a task the run is told.
    Tells(Option<&'a TaskId>),
    /// Before an answer.
    AnswersWith,

    /// The run has ended: the key does nothing.
    HasEnded,
    /// No process carries this run out: the key does nothing.
    NobodyCarries(&'a str),
    /// There is no task that could be told something.
    NothingToTell,
    /// There is no task that could be cancelled.
    NothingToCancel,
    /// This task has no actor.
    NobodyHears(&'a TaskId),
    /// This task has ended.
    HasSettled(&'a TaskId, TaskStatus),
    /// This task is the whole run.
    IsTheRun(&'a TaskId),
    /// The key was pressed a moment ago, and may be held down: it answers nothing.
    Held,

    /// A key at the foot, with what it does.
    Hint(Hint),
    /// What a key does, at length.
    Help(Help),
}

/// Keys at the foot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Enter sends what is typed.
    Sends,
    /// Esc gives it up.
    GivesUp,
    /// Ctrl-U empties the line.
    Empties,
    /// y says yes.
    Yes,
    /// Any other key says no.
    No,
    /// Esc goes back.
    Back,
    /// Up and Down scroll.
    Scroll,
    /// PgDn scrolls.
    ScrollPage,
    /// Up and Down go to another task.
    OtherTask,
    /// ? shows the keys.
    Help,
    /// t tells the run something.
    Tell,
    /// T tells the actor of the task something.
    TellIt,
    /// Enter shows the task.
    Task,
    /// g shows the picture of the plan.
    Graph,
    /// p pauses.
    Pause,
    /// x cancels a task.
    Cancel,
    /// x cancels the task that is shown.
    CancelIt,
    /// q leaves.
    Leave,
    /// Ctrl-C stops.
    Stop,
}

/// What keys do, at length.
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
    /// Ctrl-C, where the run is carried out here
    Stop,
    /// Ctrl-C, where it is only looked at
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
    /// The marks of tasks
    Marks,
}
