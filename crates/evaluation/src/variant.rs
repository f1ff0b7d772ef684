//! Compared variants: a mode, a model, settings, injected faults.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Variant with which every task is tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Variant {
    /// Name of another agent; aime if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Planning mode: `auto`, `direct`, `simple`, `complex` or `emergent`; the configured one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Name of the model; the configured one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Name of settings of the [program](crate::Program::settings); the configured ones if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// Injected fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Triggers that may change the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replanning: Option<Replanning>,
}

/// Injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The machine is busy at first: the first six calls of tools that change or run something are refused. That is more than an actor that
    /// tries once or twice, and the retries of its task, can outlast.
    FlakyTools,
    /// The files that a task declares as late arrive [some time](crate::TaskBounds::late_seconds) after the start of the first tool call,
    /// and the goal says that they may come late.
    LateInformation,
    /// The run begins with the wrong plan of the task.
    WrongPlan,
    /// The run begins with the actors' tasks of that plan, without the preceding tool calls: the plan can be started, but its descriptions
    /// are wrong.
    WrongTasks,
}

/// Triggers that may change the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replanning {
    /// All triggers.
    On,
    /// No trigger. In modes that plan step by step, extensions of the plan do not count as changes.
    Off,
    /// A task that failed too often.
    TaskFailed,
    /// A task whose dependencies cannot be completed.
    Blocked,
    /// Evidence of high significance.
    Evidence,
    /// No progress for a while.
    Stalled,
    /// Little of the token bound is left.
    TokenBudget,
}

/// Hook that refuses six calls, even simultaneous ones. It counts in aime's own data folder.
const FLAKY: &str = "for n in 1 2 3 4 5 6; do
if mkdir .aime/refused-$n 2>/dev/null; then echo 'the machine is busy; try it later' >&2; exit 2; fi
done";
/// Hook that notifies the [trial](crate::Trial) of the start of the first tool call.
const FIRST_CALL: &str = ": >> .aime/called";

impl Fault {
    /// All faults.
    pub const ALL: [Self; 4] = [Self::FlakyTools, Self::LateInformation, Self::WrongPlan, Self::WrongTasks];

    /// Returns its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FlakyTools => "flaky-tools",
            Self::LateInformation => "late-information",
            Self::WrongPlan => "wrong-plan",
            Self::WrongTasks => "wrong-tasks",
        }
    }
}

impl Replanning {
    /// All values.
    pub const ALL: [Self; 7] = [Self::On, Self::Off, Self::TaskFailed, Self::Blocked, Self::Evidence, Self::Stalled, Self::TokenBudget];

    /// Returns its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::TaskFailed => "task-failed",
            Self::Blocked => "blocked",
            Self::Evidence => "evidence",
            Self::Stalled => "stalled",
            Self::TokenBudget => "token-budget",
        }
    }
}

impl Variant {
    /// Returns what decides which model the variant uses: the agent, the model and the settings.
    pub(crate) fn model_source(&self) -> [Option<String>; 3] {
        [self.agent.clone(), self.model.clone(), self.settings.clone()]
    }

    /// Returns a unique name, such as `complex, flaky-tools, replanning off`.
    #[must_use]
    pub fn name(&self) -> String {
        let mut parts = vec![self.agent.as_ref().or(self.mode.as_ref()).cloned().unwrap_or_else(|| "configured".to_owned())];
        parts.extend(self.model.clone());
        parts.extend(self.settings.clone());
        parts.extend(self.fault.map(|fault| fault.name().to_owned()));
        parts.extend(self.replanning.map(|replanning| format!("replanning {}", replanning.name())));
        parts.join(", ")
    }

    /// Returns the name in a form for file names.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.name().chars().map(|letter| if letter.is_ascii_alphanumeric() || ".-_".contains(letter) { letter } else { '-' }).collect()
    }

    /// Returns the variants of another agent with each of these models, or with its own default if the list is empty. Faults and triggers
    /// exist only in aime.
    #[must_use]
    pub fn of_agent(agent: &str, models: &[String]) -> Vec<Self> {
        let with = |model: Option<String>| Self { agent: Some(agent.to_owned()), model, ..Self::default() };
        if models.is_empty() { vec![with(None)] } else { models.iter().cloned().map(|model| with(Some(model))).collect() }
    }

    /// Returns every combination of these values; an empty list means the configured value.
    #[must_use]
    pub fn all(modes: &[String], models: &[String], settings: &[String], faults: &[Option<Fault>], replanning: &[Replanning]) -> Vec<Self> {
        let or_none = |given: &[String]| if given.is_empty() { vec![None] } else { given.iter().cloned().map(Some).collect() };
        let faults = if faults.is_empty() { vec![None] } else { faults.to_vec() };
        let replanning: Vec<_> = if replanning.is_empty() { vec![None] } else { replanning.iter().copied().map(Some).collect() };
        let mut all = Vec::new();
        for model in or_none(models) {
            for settings in or_none(settings) {
                for fault in &faults {
                    for replanning in &replanning {
                        let way = Self {
                            agent: None,
                            mode: None,
                            model: model.clone(),
                            settings: settings.clone(),
                            fault: *fault,
                            replanning: *replanning,
                        };
                        all.extend(or_none(modes).into_iter().map(|mode| Self { mode, ..way.clone() }));
                    }
                }
            }
        }
        all
    }

    /// Returns the settings of the variant as TOML, over the named settings.
    pub(crate) fn to_toml(&self, named: Table) -> String {
        let mut settings = Table::new();
        match self.fault {
            Some(Fault::FlakyTools) => {
                let tools = ["bash", "python", "write_file", "edit_file", "apply_patch"].map(|tool| Value::String(tool.to_owned()));
                hook(&mut settings, "before_tool", "flaky-tools", FLAKY, Some(tools.to_vec()));
            }
            Some(Fault::LateInformation) => hook(&mut settings, "before_tool", "late-information", FIRST_CALL, None),
            Some(Fault::WrongPlan | Fault::WrongTasks) | None => {}
        }
        if let Some(replanning) = self.replanning {
            if replanning == Replanning::Off {
                settings.insert("frequency".to_owned(), table([("max_replans_per_plan", Value::Integer(0))]));
            } else {
                settings.insert("triggers".to_owned(), Value::Table(alone(replanning)));
            }
        }
        let mut all = named;
        lay_over(&mut all, settings);
        all.to_string()
    }
}

/// Merges settings over others: sections are merged, and lists of tables, such as hooks, are concatenated.
fn lay_over(below: &mut Table, above: Table) {
    for (name, value) in above {
        match (below.get_mut(&name), value) {
            (Some(Value::Table(old)), Value::Table(new)) => lay_over(old, new),
            (Some(Value::Array(old)), Value::Array(new)) if new.iter().all(Value::is_table) => old.extend(new),
            (_, value) => {
                below.insert(name, value);
            }
        }
    }
}

/// Returns settings that enable one trigger, or all.
fn alone(only: Replanning) -> Table {
    let enabled = match only {
        Replanning::On | Replanning::Off => Vec::new(),
        other => vec![Value::String(other.name().replace('-', "_"))],
    };
    Table::from_iter([("only".to_owned(), Value::Array(enabled))])
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn hook(settings: &mut Table, point: &str, name: &str, command: &str, tools: Option<Vec<Value>>) {
    let text = |text: &str| Value::String(text.to_owned());
    let mut entries = Table::new();
    entries.insert("name".to_owned(), text(name));
    entries.insert("command".to_owned(), text(command));
    entries.insert("confined".to_owned(), Value::Boolean(false));
    entries.extend(tools.map(|tools| ("tools".to_owned(), Value::Array(tools))));
    settings.insert("hooks".to_owned(), table([(point, Value::Array(vec![Value::Table(entries)]))]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_made_once_and_named() {
        let modes = ["direct".to_owned(), "complex".to_owned()];
        let all = Variant::all(&modes, &[], &[], &[None, Some(Fault::FlakyTools)], &[Replanning::On, Replanning::Off]);
        let names: Vec<_> = all.iter().map(Variant::name).collect();
        assert_eq!(names.len(), 8);
        assert_eq!(names.first().unwrap(), "direct, replanning on");
        assert_eq!(names.last().unwrap(), "complex, flaky-tools, replanning off");
        assert_eq!(Variant::all(&[], &[], &[], &[], &[]), [Variant::default()]);
        let named = ["plain".to_owned(), "coarse".to_owned()];
        let names: Vec<_> = Variant::all(&modes[..1], &[], &named, &[], &[]).iter().map(Variant::name).collect();
        assert_eq!(names, ["direct, plain", "direct, coarse"]);
        let names: Vec<_> = Variant::of_agent("other", &["small".to_owned()]).iter().map(Variant::name).collect();
        assert_eq!((names, Variant::of_agent("other", &[]).len()), (vec!["other, small".to_owned()], 1));
        assert_eq!(Variant::default().name(), "configured");
        assert_eq!(all.last().unwrap().file_name(), "complex--flaky-tools--replanning-off");
    }

    #[test]
    fn settings_are_toml_and_hold_what_is_wanted() {
        let flaky = Variant { fault: Some(Fault::FlakyTools), replanning: Some(Replanning::Off), ..Variant::default() };
        let settings: Table = flaky.to_toml(Table::new()).parse().unwrap();
        assert_eq!(settings["frequency"]["max_replans_per_plan"].as_integer(), Some(0));
        assert!(settings["hooks"]["before_tool"][0]["command"].as_str().unwrap().contains("busy"));
        let late = Variant { fault: Some(Fault::LateInformation), replanning: Some(Replanning::Evidence), ..Variant::default() };
        let settings: Table = late.to_toml(Table::new()).parse().unwrap();
        assert!(settings["hooks"]["before_tool"][0]["command"].as_str().unwrap().contains("called"));
        assert_eq!(settings["triggers"]["only"][0].as_str(), Some("evidence"));
        assert_eq!(Variant::default().to_toml(Table::new()), "");
    }

    #[test]
    fn what_a_fault_needs_is_laid_over_the_settings_of_a_name() {
        let named = "[triggers]\nonly = [\"stalled\"]\nmax_retries = 1\n[[hooks.before_tool]]\nname = \"mine\"\ncommand = \"true\"\n";
        let way = Variant { fault: Some(Fault::FlakyTools), replanning: Some(Replanning::Evidence), ..Variant::default() };
        let settings: Table = way.to_toml(named.parse().unwrap()).parse().unwrap();
        assert_eq!(settings["triggers"]["only"].as_array().unwrap(), &[Value::from("evidence")], "a list of words is a value");
        assert_eq!(settings["triggers"]["max_retries"].as_integer(), Some(1));
        let hooks: Vec<_> =
            settings["hooks"]["before_tool"].as_array().unwrap().iter().map(|hook| hook["name"].as_str().unwrap()).collect();
        assert_eq!(hooks, ["mine", "flaky-tools"]);
    }
}
