//! Rule of one path for each of: planning, a model call, a tool call, starting a run.
//!
//! This is an invariant of the book's architecture part. The compiler enforces most of it, since the constructors are private to their
//! crates. This rule refuses the rest: a second implementation beside the one path, and a way around it. Test code is exempt. To protect
//! another thing, add a row.

use super::Fault;
use super::codebase::Codebase;

/// Code that only some files may contain.
struct OnePath {
    /// Name of the thing that has one path.
    of: &'static str,
    /// Sequences of tokens, separated by spaces.
    items: &'static [&'static str],
    /// Path prefixes of the files that may contain them.
    owners: &'static [&'static str],
    hint: &'static str,
}

const PATHS: [OnePath; 6] = [
    OnePath {
        of: "planning",
        items: &["Planner :: new", "ask_route"],
        // The machine's own function of that name issues the effect.
        owners: &["crates/dynamic-planner/src/", "crates/orchestrator/src/runner/plan.rs", "crates/orchestrator/src/machine/planning.rs"],
        hint: "plan through `aime_orchestrator::Orchestrator::plan`: a second one leaked secrets",
    },
    OnePath {
        of: "starting a run",
        items: &["EmbeddedHost :: new"],
        // The last two start an actor: within a run, and alone for programs that do not use the orchestrator.
        owners: &[
            "crates/durable/src/",
            "crates/orchestrator/src/orchestrator/",
            "crates/orchestrator/src/runner/actor.rs",
            "crates/actor-factory/src/run.rs",
        ],
        hint: "start it through `aime_orchestrator::Orchestrator`, which redacts, bounds and journals it",
    },
    OnePath {
        of: "a model call",
        // A wrapper is an implementation too.
        items: &["ChatModel for"],
        // These have the real models, the local model, external agents, and two fakes for tests of the runtime.
        owners: &["crates/llm/src/", "crates/local-model/src/", "crates/agents/src/", "crates/simulation/src/", "crates/bench/src/"],
        hint: "a wrapper is a layer in `crates/llm/src/stack`, where its place in the order is documented and tested",
    },
    OnePath {
        of: "a model call",
        items: &["dyn ChatModel", ": impl ChatModel", "& impl ChatModel", ": ChatModel"],
        owners: &["crates/llm/src/"],
        hint: "take an `aime_llm::Model`, which only `ModelStack::build` makes: what else can be asked may miss the redactor",
    },
    OnePath {
        of: "a tool call",
        items: &["call_with_consent", ". consented ( )", "tools . call ("],
        // These are the runner of both kinds of tasks, an actor alone, and the command by which a person calls a tool.
        owners: &[
            "crates/tools/src/",
            "crates/orchestrator/src/runner/hooks/tool.rs",
            "crates/actor-factory/src/run.rs",
            "crates/cli/src/commands/tools.rs",
        ],
        hint: "decide on it through `aime_tools::Permissions` and hand on the `ValidatedCall`, or call it through a `ToolSession`",
    },
    OnePath {
        of: "a layer of a model",
        items: &["Layer for"],
        owners: &["crates/llm/src/stack"],
        hint: "put it beside the others, into the order of `assemble`",
    },
];

/// Returns the faults in the code of files.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, rust) in codebase.rust().filter(|(file, _)| !file.is_test()) {
        for path in PATHS.iter().filter(|path| !path.owners.iter().any(|owner| file.path.starts_with(owner))) {
            for item in path.items {
                let sequence: Vec<&str> = item.split(' ').collect();
                for line in rust.places(&sequence).into_iter().filter(|line| !rust.is_test_line(*line)) {
                    let what = format!("`{item}` is a second path for {}", path.of);
                    faults.push(Fault::new(&file.path, line, what, path.hint));
                }
            }
        }
    }
    faults
}
