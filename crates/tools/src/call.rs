//! States of a tool call: its arguments are parsed and checked once, permission is decided once, then the call is made.
//!
//! ```text
//! model's arguments ─ ToolSpec::read ─► CheckedCall ─ Permissions::decide ─► ValidatedCall ─ ToolRegistry::call ─► ToolOutput
//!                                                          └► OpenCall ─ a person's answer ─┘
//! ```
//!
//! The types have no other constructors, so the arguments of a call cannot change after the decision.

use aime_llm::{coerce_to_schema, read_arguments};
use aime_progress_management::Origin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Approval, Consent, Executor, PermissionRule, PermissionRules, ToolError, ToolSpec, Trust,
    approval::{PermissionDecision, ProposedCall, always_note, decide_permission},
};

/// Number of characters of an unanswered question that its caller is shown.
const QUESTION_SHOWN: usize = 250;

/// A call whose arguments were parsed, normalized and checked against the tool's schema. It may not be made yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedCall {
    tool: String,
    parameters: Map<String, Value>,
}

/// A checked call that the mode, a rule or a person has allowed. Only [`Permissions::decide`](crate::Permissions::decide) creates one.
/// Journals and requests to other processes contain it unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidatedCall {
    tool: String,
    parameters: Map<String, Value>,
}

/// The verdict of [`Permissions::decide`](crate::Permissions::decide) on a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Permission {
    /// The call may be made.
    Allow(ValidatedCall),
    /// A person must consent first.
    Ask(OpenCall),
    /// The call must not be made.
    Deny {
        /// Reason, for the model.
        reason: String,
    },
}

/// The inputs of a decision on a call.
#[derive(Debug, Clone, Copy)]
pub struct Permissions<'a> {
    /// Approval mode of the run.
    pub approval: Approval,
    /// Rules, which take precedence over the mode.
    pub rules: &'a PermissionRules,
    /// Sources that the user trusts. With `None`, texts in the caller's prompt do not affect the decision.
    pub trust: Option<&'a Trust>,
    /// Origins of the untrusted texts that the caller has read.
    pub origins: &'a [Origin],
    /// A person has handed over this exact call. That counts as consent to the call, but not to effects of untrusted text.
    pub handed_over: bool,
}

/// A call that waits for a person's consent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    call: CheckedCall,
    question: String,
    always: Vec<PermissionRule>,
}

/// A call to which a person has consented.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsentedCall {
    /// The allowed call.
    pub call: ValidatedCall,
    /// Rules to add because the person answered "always".
    pub remember: Vec<PermissionRule>,
}

impl ToolSpec {
    /// Parses the arguments as the model wrote them, and checks them as [`check`](Self::check) does.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] with a message for the model.
    pub fn read(&self, arguments: &str) -> Result<CheckedCall, ToolError> {
        let read = read_arguments(arguments, Some(&self.definition.parameters));
        self.check_read(read.map_err(|error| ToolError::InvalidParameters(error.to_string()))?)
    }

    /// Checks the parameters of a call, and corrects unambiguous mistakes such as `"5"` for 5. Does not check the schema of tools that the
    /// actor answers itself: their parsers accept more than their schemas.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] with every fault.
    pub fn check(&self, parameters: Map<String, Value>) -> Result<CheckedCall, ToolError> {
        let mut parameters = Value::Object(parameters);
        coerce_to_schema(&mut parameters, &self.definition.parameters, &mut Vec::new());
        self.check_read(if let Value::Object(parameters) = parameters { parameters } else { Map::new() })
    }

    /// Checks parameters that were already parsed by this tool's schema.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] with every fault.
    pub fn check_read(&self, parameters: Map<String, Value>) -> Result<CheckedCall, ToolError> {
        let parameters = match self.handled_by {
            Executor::Actor | Executor::Run => parameters,
            Executor::Runtime => {
                self.checker.check(self.name(), &self.definition.parameters, parameters).map_err(ToolError::InvalidParameters)?
            }
        };
        if let Some(group) = self.needs.iter().find(|group| !group.iter().any(|name| parameters.contains_key(name))) {
            let names = group.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
            return Err(ToolError::InvalidParameters(format!("The parameters do not fit: {names} is missing.")));
        }
        Ok(CheckedCall { tool: self.name().to_owned(), parameters })
    }
}

impl<'a> Permissions<'a> {
    /// Creates permissions from a mode and rules, without trust settings.
    #[must_use]
    pub const fn new(approval: Approval, rules: &'a PermissionRules) -> Self {
        Self { approval, rules, trust: None, origins: &[], handed_over: false }
    }

    /// Decides on one call of the tool with this spec. Precedence: deny rules, read-only mode, ask rules, allow rules, the mode. Untrusted
    /// texts that the caller has read may then turn "allow" into "ask". Pure.
    ///
    /// A call that stays inside the run or only asks a person is allowed unless a rule denies it or requires a question. A call that has
    /// another tool called is decided by [`ToolSpec::for_call`].
    #[must_use]
    pub fn decide(&self, spec: &ToolSpec, call: CheckedCall) -> Permission {
        if call.tool != spec.name() {
            return Permission::Deny { reason: format!("a call of `{}` is not a call of `{}`", call.tool, spec.name()) };
        }
        let spec = spec.for_call(&call.parameters);
        let proposed = ProposedCall::new(self.approval, self.rules, &spec, &call.parameters);
        let decided = match decide_permission(proposed) {
            PermissionDecision::Ask { .. } if self.handed_over => PermissionDecision::Allow,
            decided => decided,
        };
        let decided = match self.trust {
            Some(trust) => trust.apply_trust(decided, proposed, self.origins),
            None => decided,
        };
        match decided {
            PermissionDecision::Allow => Permission::Allow(call.allowed()),
            PermissionDecision::Ask { question, always } => Permission::Ask(OpenCall { call, question, always }),
            PermissionDecision::Deny { reason } => Permission::Deny { reason },
        }
    }
}

impl CheckedCall {
    /// Returns the name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the parameters.
    #[must_use]
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    fn allowed(self) -> ValidatedCall {
        ValidatedCall { tool: self.tool, parameters: self.parameters }
    }
}

impl ValidatedCall {
    /// Returns the name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the parameters.
    #[must_use]
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// Converts the call into its parameters, for the tool itself.
    #[must_use]
    pub fn into_parameters(self) -> Map<String, Value> {
        self.parameters
    }
}

impl Permission {
    /// Returns the call if the requester consents by making the request: a person who typed it or handed it over, or a client to which the
    /// tool is offered.
    ///
    /// # Errors
    /// [`ToolError::Denied`] if the call is denied.
    pub fn consented(self) -> Result<ValidatedCall, ToolError> {
        match self {
            Self::Allow(call) => Ok(call),
            Self::Ask(open) => Ok(open.call.allowed()),
            Self::Deny { reason } => Err(ToolError::Denied(reason)),
        }
    }

    /// Returns the call if it needs no consent, for use when nobody can be asked.
    ///
    /// # Errors
    /// [`ToolError::Denied`] if the call is denied, or needs a person's consent.
    pub fn unasked(self) -> Result<ValidatedCall, ToolError> {
        match self {
            Self::Allow(call) => Ok(call),
            Self::Ask(open) => Err(open.unanswered()),
            Self::Deny { reason } => Err(ToolError::Denied(reason)),
        }
    }
}

impl OpenCall {
    /// Returns the parameters.
    #[must_use]
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.call.parameters
    }

    /// Returns the question for a person, with the rules that "always" would add.
    #[must_use]
    pub fn question(&self) -> String {
        format!("{}{}", self.question, always_note(&self.always))
    }

    /// Returns the rules that "always" would add. Empty if no rule describes the call narrowly enough, or if a rule requires the question
    /// each time.
    #[must_use]
    pub fn always(&self) -> &[PermissionRule] {
        &self.always
    }

    /// Applies a person's answer.
    ///
    /// # Errors
    /// [`ToolError::Denied`] if the answer is not a clear yes.
    pub fn answered(self, answer: &str) -> Result<ConsentedCall, ToolError> {
        let remember = match Consent::of(answer) {
            Consent::No => return Err(ToolError::Denied(format!("the user refused: {answer}"))),
            Consent::Yes => Vec::new(),
            Consent::Always => self.always,
        };
        Ok(ConsentedCall { call: self.call.allowed(), remember })
    }

    /// Returns the error for a question that nobody can answer.
    #[must_use]
    pub fn unanswered(&self) -> ToolError {
        let question = self.short_question();
        ToolError::Denied(format!(
            "not allowed: nobody is there to answer \"{question}\". Take a way that needs no consent, and say so in your result"
        ))
    }

    /// Returns the beginning of the question on one line.
    #[must_use]
    pub fn short_question(&self) -> String {
        let mut question = self.question.split_whitespace().collect::<Vec<_>>().join(" ");
        // The caller knows the command or the code that follows the question.
        if let Some((end, _)) = question.char_indices().nth(QUESTION_SHOWN) {
            question.truncate(end);
            question.push('…');
        }
        question
    }
}
