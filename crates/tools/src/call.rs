//! One call of a tool on its way: read and checked once, permitted once, then made.
//!
//! ```text
//! words of a model ─ ToolSheet::read ─► CheckedCall ─ Permissions::decide ─► ValidatedCall ─ ToolRegistry::call ─► ToolOutput
//!                                                          └► OpenCall ─ a person's answer ─┘
//! ```
//!
//! The types have no other constructors, so that no call is made with other arguments than those that were decided on.

use aime_llm::{coerce_to_schema, read_arguments};
use aime_progress::Origin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Approval, Consent, HandledBy, PermissionRule, PermissionRules, ToolError, ToolSheet, Trust,
    approval::{Decision, ProposedCall, always_note, decide},
};

/// A call whose arguments were read, evened out and held against the schema of its tool. It may not be made yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedCall {
    tool: String,
    parameters: Map<String, Value>,
}

/// A call that may be made: checked, and allowed by the mode, a rule or a person. Only [`Permissions::decide`](crate::Permissions::decide)
/// makes one. It is kept in journals and passed on to other processes as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidatedCall {
    tool: String,
    parameters: Map<String, Value>,
}

/// The verdict of [`Permissions::decide`](crate::Permissions::decide) on a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Permission {
    /// It may be made.
    Allow(ValidatedCall),
    /// A person must consent first.
    Ask(OpenCall),
    /// It must not be made.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// The inputs of a decision on a call.
#[derive(Debug, Clone, Copy)]
pub struct Permissions<'a> {
    /// How freely tools may be used.
    pub approval: Approval,
    /// Rules that come before that.
    pub rules: &'a PermissionRules,
    /// What the user vouches for; without it, nothing that was read changes what may be done.
    pub trust: Option<Trust>,
    /// Where the texts come from that the caller has read and that nobody vouches for.
    pub origins: &'a [Origin],
    /// A person has handed over this very call, and so consents to it, but not to what texts of others make of it.
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
    /// The call.
    pub call: ValidatedCall,
    /// The rules that "always" has added.
    pub remember: Vec<PermissionRule>,
}

impl ToolSheet {
    /// Reads the arguments of a call as a model wrote them, and checks them as [`check`](Self::check) does.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] in words for the model.
    pub fn read(&self, arguments: &str) -> Result<CheckedCall, ToolError> {
        let read = read_arguments(arguments, Some(&self.definition.parameters));
        self.check_read(read.map_err(|error| ToolError::InvalidParameters(error.to_string()))?)
    }

    /// Checks the parameters of a call: what was plainly meant is put right, such as `"5"` for 5. An actor reads the calls that it answers itself,
    /// and takes more than their schemas do.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] with every fault.
    pub fn check(&self, parameters: Map<String, Value>) -> Result<CheckedCall, ToolError> {
        let mut parameters = Value::Object(parameters);
        coerce_to_schema(&mut parameters, &self.definition.parameters, &mut Vec::new());
        self.check_read(if let Value::Object(parameters) = parameters { parameters } else { Map::new() })
    }

    /// Checks parameters that were read by the schema of this tool.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] with every fault.
    pub fn check_read(&self, parameters: Map<String, Value>) -> Result<CheckedCall, ToolError> {
        let parameters = match self.handled_by {
            HandledBy::Actor | HandledBy::Run => parameters,
            HandledBy::Runtime => {
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
    /// A mode and rules alone.
    #[must_use]
    pub const fn new(approval: Approval, rules: &'a PermissionRules) -> Self {
        Self { approval, rules, trust: None, origins: &[], handed_over: false }
    }

    /// Decides on one call of the tool with this sheet: a rule that denies comes first, then read-only mode, then rules that ask, then those
    /// that allow, then the mode, and at last what the caller has read. Pure.
    ///
    /// What stays inside the run and what asks a person is allowed unless a rule holds it back.
    #[must_use]
    pub fn decide(&self, sheet: &ToolSheet, call: CheckedCall) -> Permission {
        if call.tool != sheet.name() {
            return Permission::Deny { reason: format!("a call of `{}` is no call of `{}`", call.tool, sheet.name()) };
        }
        let proposed = ProposedCall::new(self.approval, self.rules, sheet, &call.parameters);
        let decided = match decide(proposed) {
            Decision::Ask { .. } if self.handed_over => Decision::Allow,
            decided => decided,
        };
        let decided = match &self.trust {
            Some(trust) => trust.beware(decided, proposed, self.origins),
            None => decided,
        };
        match decided {
            Decision::Allow => Permission::Allow(call.allowed()),
            Decision::Ask { question, always } => Permission::Ask(OpenCall { call, question, always }),
            Decision::Deny { reason } => Permission::Deny { reason },
        }
    }
}

impl CheckedCall {
    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The parameters.
    #[must_use]
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    fn allowed(self) -> ValidatedCall {
        ValidatedCall { tool: self.tool, parameters: self.parameters }
    }
}

impl ValidatedCall {
    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The parameters.
    #[must_use]
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// Returns the parameters, for the tool itself.
    #[must_use]
    pub fn into_parameters(self) -> Map<String, Value> {
        self.parameters
    }
}

impl Permission {
    /// The call, where whoever asks for it has consented by asking: a person who typed it or handed it over, or a client to which the tool is
    /// offered.
    ///
    /// # Errors
    /// [`ToolError::Denied`] where it is denied all the same.
    pub fn consented(self) -> Result<ValidatedCall, ToolError> {
        match self {
            Self::Allow(call) => Ok(call),
            Self::Ask(open) => Ok(open.call.allowed()),
            Self::Deny { reason } => Err(ToolError::Denied(reason)),
        }
    }

    /// The call, where nobody can be asked.
    ///
    /// # Errors
    /// [`ToolError::Denied`] where it is denied, or a person would have to consent.
    pub fn unasked(self) -> Result<ValidatedCall, ToolError> {
        match self {
            Self::Allow(call) => Ok(call),
            Self::Ask(open) => Err(open.unanswered()),
            Self::Deny { reason } => Err(ToolError::Denied(reason)),
        }
    }
}

impl OpenCall {
    /// The parameters.
    #[must_use]
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.call.parameters
    }

    /// The question for a person, with what "always" would allow.
    #[must_use]
    pub fn question(&self) -> String {
        format!("{}{}", self.question, always_note(&self.always))
    }

    /// The rules that "always" would add; none where it would allow more than can be told, or where a rule wants the question each time.
    #[must_use]
    pub fn always(&self) -> &[PermissionRule] {
        &self.always
    }

    /// Takes a person's answer.
    ///
    /// # Errors
    /// [`ToolError::Denied`] where it is not a clear yes.
    pub fn answered(self, answer: &str) -> Result<ConsentedCall, ToolError> {
        let remember = match Consent::of(answer) {
            Consent::No => return Err(ToolError::Denied(format!("the user refused: {answer}"))),
            Consent::Yes => Vec::new(),
            Consent::Always => self.always,
        };
        Ok(ConsentedCall { call: self.call.allowed(), remember })
    }

    /// The error where nobody is there to answer.
    #[must_use]
    pub fn unanswered(&self) -> ToolError {
        ToolError::Denied(format!("not allowed: nobody is there to answer {:?}", self.question))
    }
}
