//! Options of a session that a client can choose: the approval mode, and the planning mode.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use aime_progress_management::PlanMode;
use aime_tools::Approval;

use crate::Refusal;

/// The setting for what is done without asking.
const APPROVAL: &str = "approval";
/// The setting for how goals are worked on.
const PLANNING: &str = "planning";

/// Approval modes, with their texts for people.
const APPROVALS: [(&str, Approval, &str, &str); 4] = [
    ("ask", Approval::Ask, "Ask", "Ask before every change"),
    ("edits", Approval::Edits, "Edits", "Edit files in the folder freely, ask for commands and the network"),
    ("all", Approval::All, "All", "Ask for nothing"),
    ("read-only", Approval::ReadOnly, "Read only", "Change nothing"),
];

/// Planning modes, with their texts for people.
const PLANNINGS: [(&str, Option<PlanMode>, &str, &str); 5] = [
    ("auto", None, "Auto", "aime decides how a goal is worked on"),
    ("direct", Some(PlanMode::Direct), "Direct", "One actor, no plan"),
    ("simple", Some(PlanMode::Simple), "Simple", "A few steps in a row"),
    ("complex", Some(PlanMode::Complex), "Complex", "Tasks that depend on each other, several at once"),
    ("emergent", Some(PlanMode::Emergent), "Emergent", "A plan that grows with what is found"),
];

/// Options for the runs that a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionChoices {
    /// Approval mode of the actors.
    pub approval: Approval,
    /// Planning mode of a goal; aime decides if it is not set.
    pub mode: Option<PlanMode>,
}

impl SessionChoices {
    /// Returns the word of its approval mode.
    fn approval_word(self) -> &'static str {
        APPROVALS.iter().find(|(_, approval, ..)| *approval == self.approval).map_or("edits", |(word, ..)| word)
    }

    /// Returns the session modes of the protocol: the approval modes.
    pub(crate) fn modes(self) -> SessionModeState {
        let modes = APPROVALS.map(|(word, _, name, words)| SessionMode::new(word, name).description(words.to_owned()));
        SessionModeState::new(self.approval_word(), modes.to_vec())
    }

    /// Returns the same and more as settings, for clients that support these.
    pub(crate) fn options(self) -> Vec<SessionConfigOption> {
        let approvals =
            APPROVALS.map(|(word, _, name, words)| SessionConfigSelectOption::new(word, name).description(words.to_owned())).to_vec();
        let plannings =
            PLANNINGS.map(|(word, _, name, words)| SessionConfigSelectOption::new(word, name).description(words.to_owned())).to_vec();
        let current = PLANNINGS.iter().find(|(_, mode, ..)| *mode == self.mode).map_or("auto", |(word, ..)| word);
        vec![
            SessionConfigOption::select(APPROVAL, "Approvals", self.approval_word(), approvals)
                .description("What is done without asking".to_owned())
                .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::select(PLANNING, "Planning", current, plannings).description("How a goal is worked on".to_owned()),
        ]
    }

    /// Another approval mode.
    pub(crate) fn with_mode(self, wanted: &str) -> Result<Self, Refusal> {
        let found = APPROVALS.iter().find(|(word, ..)| *word == wanted);
        let words = || APPROVALS.map(|(word, ..)| word).join(", ");
        found
            .map(|(_, approval, ..)| Self { approval: *approval, ..self })
            .ok_or_else(|| Refusal::Invalid(format!("there is no mode {wanted:?}: {}", words())))
    }

    /// Another value of a setting.
    pub(crate) fn with_option(self, option: &str, value: &SessionConfigOptionValue) -> Result<Self, Refusal> {
        let SessionConfigOptionValue::ValueId { value } = value else {
            return Err(Refusal::Invalid(format!("{option} is chosen from a list")));
        };
        let value: &str = &value.0;
        match option {
            APPROVAL => self.with_mode(value),
            PLANNING => {
                let found = PLANNINGS.iter().find(|(word, ..)| *word == value);
                let words = || PLANNINGS.map(|(word, ..)| word).join(", ");
                found
                    .map(|(_, mode, ..)| Self { mode: *mode, ..self })
                    .ok_or_else(|| Refusal::Invalid(format!("there is no planning mode {value:?}: {}", words())))
            }
            _ => Err(Refusal::Invalid(format!("there is no setting {option:?}: {APPROVAL}, {PLANNING}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_can_be_chosen() {
        let chosen = SessionChoices { approval: Approval::Ask, mode: None };
        for mode in chosen.modes().available_modes {
            let changed = chosen.with_mode(&mode.id.0).unwrap();
            assert_eq!(changed.modes().current_mode_id, mode.id);
        }
        for (option, value, expected) in [
            ("approval", "read-only", SessionChoices { approval: Approval::ReadOnly, mode: None }),
            ("planning", "emergent", SessionChoices { approval: Approval::Ask, mode: Some(PlanMode::Emergent) }),
            ("planning", "auto", chosen),
        ] {
            assert_eq!(chosen.with_option(option, &SessionConfigOptionValue::value_id(value)).unwrap(), expected);
        }
        for (option, value) in [("approval", "everything"), ("planning", "sideways"), ("model", "x")] {
            assert!(matches!(chosen.with_option(option, &SessionConfigOptionValue::value_id(value)), Err(Refusal::Invalid(_))));
        }
    }
}
