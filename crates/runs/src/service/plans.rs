//! Checks plans that a user supplies against the configuration of this folder.

use aime_dynamic_planner::{PlanChecker, PlanFault, PlanProblem, ProfileBrief};
use aime_llm::ToolDefinition;
use aime_messages::{Describe, Message, message};
use aime_orchestrator::profile_briefs;
use aime_progress_management::Plan;
use aime_tools::{BUNDLES, Executor};

use crate::{Hint, RunsError, Setup, models};

/// Names that plans are checked against.
pub struct CheckerParts {
    tools: Vec<ToolDefinition>,
    actor_tools: Vec<String>,
    profiles: Vec<ProfileBrief>,
    models: Vec<String>,
    bundles: Vec<String>,
}

impl CheckerParts {
    fn checker(&self) -> PlanChecker<'_> {
        PlanChecker {
            tools: &self.tools,
            actor_tools: &self.actor_tools,
            profiles: &self.profiles,
            models: &self.models,
            bundles: &self.bundles,
            ..PlanChecker::default()
        }
    }

    /// Checks a plan of a person, including that its profiles have the capabilities that their tasks need. A syntax error is named with its
    /// place, also where it can be repaired.
    pub fn check(&self, text: &str) -> PlanCheck {
        let mut repairs = Vec::new();
        let plan = self.checker().check_noting(text, &mut repairs);
        match (plan, syntax_fault(text)) {
            (Err(faults), Some(fault)) if faults.iter().all(|fault| fault.place == DOCUMENT) => {
                let fault = PlanFault::new(DOCUMENT, fault).hint(message!("plan-syntax-hint"));
                PlanCheck { plan: Err(vec![fault]), repairs: Vec::new() }
            }
            (plan, fault) => {
                let repaired = fault.filter(|_| text.trim_start().starts_with('{'));
                repairs.splice(0..0, repaired.map(|fault| fault.describe()));
                PlanCheck { plan, repairs }
            }
        }
    }
}

/// Result of the check of a person's plan.
pub struct PlanCheck {
    /// The plan, or all its faults.
    pub plan: Result<Plan, Vec<PlanFault>>,
    /// Descriptions of the repairs.
    pub repairs: Vec<Message>,
}

/// Place of a fault of the whole document.
const DOCUMENT: &str = "json";

/// Returns a message on the first syntax error of a JSON document, with its place, if there is one.
pub fn json_fault(text: &str) -> Option<Message> {
    syntax_fault(text).map(|fault| fault.describe())
}

/// Returns the first syntax error of a JSON document.
fn syntax_fault(text: &str) -> Option<PlanProblem> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    if text.trim().is_empty() {
        return Some(message!("text-empty").into());
    }
    let (line, column) = (error.line(), error.column());
    let reason = error.to_string();
    let reason = reason.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&reason);
    // At the beginning of a line the parser reports column 0.
    Some(PlanProblem::Syntax { line, column: column.max(1), reason: expected(reason) })
}

/// Describes an error of the JSON parser: what it expects, and what it finds.
fn expected(error: &str) -> Message {
    match error {
        "EOF while parsing an object" => message!("json-open-object"),
        "EOF while parsing a list" => message!("json-open-list"),
        "EOF while parsing a string" => message!("json-open-text"),
        "EOF while parsing a value" => message!("json-no-value"),
        "expected value" | "expected ident" => message!("json-value"),
        "expected `:`" => message!("json-colon"),
        "expected `,` or `}`" => message!("json-comma-object"),
        "expected `,` or `]`" => message!("json-comma-list"),
        "key must be a string" => message!("json-key"),
        "trailing comma" => message!("json-last-comma"),
        "trailing characters" => message!("json-behind"),
        other if other.starts_with("control character") => message!("json-control"),
        other => Message::text(other),
    }
}

impl Setup {
    /// Returns the names that plans of this folder are checked against.
    pub fn checker(&self) -> Result<CheckerParts, RunsError> {
        let registry = self.tools();
        let handled = |by| registry.all_specs().filter(move |spec| spec.handled_by == by).map(|spec| spec.definition.clone());
        let tools = handled(Executor::Runtime).collect();
        let actor_tools = handled(Executor::Actor).map(|tool| tool.name).collect();
        let bundles = BUNDLES.iter().map(|bundle| bundle.name.to_owned()).collect();
        let catalog = self.profiles()?;
        let profiles = profile_briefs(&catalog, &registry);
        let models = models::of_tasks(self)?;
        Ok(CheckerParts { tools, actor_tools, profiles, models, bundles })
    }

    /// Reads and checks a plan; `what` names it in the error, which lists all faults. The caller gets a notice of repairs.
    pub fn checked_plan(&self, text: &str, what: &Message) -> Result<Plan, RunsError> {
        let PlanCheck { plan, repairs } = self.checker()?.check(text);
        repairs.iter().for_each(|repair| self.note(message!("plan-repaired", reason = repair)));
        plan.map_err(|faults| RunsError::usage(fault_list(what, &faults)).hint(Hint::CheckPlan))
    }
}

/// Lists all faults of a plan, one per line.
fn fault_list(what: &Message, faults: &[PlanFault]) -> Message {
    let first = message!("plan-faults", plan = what, faults = message!("count-fault", number = faults.len()));
    let lines: Vec<Message> = std::iter::once(first).chain(faults.iter().map(Describe::describe)).collect();
    Message::lines(&lines)
}
