//! Consent to what an agent does by itself: aime's permission rules decide, and people where these ask.

use std::collections::VecDeque;

use agent_client_protocol::v1::schema::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, SelectedPermissionOutcome, ToolCallId, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use aime_tools::{Approval, Consent, Permission, Permissions};
use serde_json::{Map, Value, json};

use crate::{
    AgentWork,
    calls::{MAX_LINE, shortened},
    terminal::quoted,
};

/// Members of a call's input that hold a command.
const COMMANDS: [&str; 2] = ["command", "cmd"];
/// Line in the place of a command that the agent does not name. It may be any command, so rules take it for code that nobody can know.
const UNNAMED: &str = "eval \"$command\"";
/// Shells that run the script after `-c`.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];
/// Members of a call's input that hold a path.
const PATHS: [&str; 5] = ["path", "file_path", "filePath", "abs_path", "notebook_path"];
/// Longest title in a question, in characters.
const TITLE: usize = 500;
/// Maximum number of the agent's last tool calls that are kept.
const MAX_CALLS: usize = 256;
/// Maximum bytes that are kept of one of them.
const MAX_CALL: usize = 256 * 1024;

/// The agent's last tool calls, with the fields that an update or a request for consent may leave out.
#[derive(Default)]
pub(crate) struct KnownCalls(VecDeque<ToolCallUpdate>);

impl KnownCalls {
    /// Returns the title of a call in one line: its id if it has none.
    pub(crate) fn title(&self, id: &ToolCallId) -> Option<String> {
        let call = self.0.iter().find(|call| call.tool_call_id == *id)?;
        Some(shortened(call.fields.title.as_deref().unwrap_or(&id.0)))
    }

    /// Takes an update of a call, and returns all fields of the call that decide on consent. What the update leaves out stays known.
    pub(crate) fn merged(&mut self, update: &ToolCallUpdate) -> ToolCallUpdateFields {
        let (id, new) = (&update.tool_call_id, &update.fields);
        let place = self.0.iter().position(|call| call.tool_call_id == *id);
        let mut fields = place.and_then(|place| self.0.remove(place)).map(|call| call.fields).unwrap_or_default();
        fields.kind = new.kind.filter(|kind| *kind != ToolKind::Other).or(fields.kind);
        fields.title = new.title.clone().or(fields.title);
        fields.locations = new.locations.clone().filter(|locations| !locations.is_empty()).or(fields.locations);
        fields.raw_input = merged_input(fields.raw_input, new.raw_input.as_ref());
        if id.0.len() <= MAX_LINE && serde_json::to_string(&fields).is_ok_and(|text| text.len() <= MAX_CALL) {
            if self.0.len() >= MAX_CALLS {
                self.0.pop_front();
            }
            self.0.push_back(ToolCallUpdate::new(id.clone(), fields.clone()));
        }
        fields
    }
}

/// Returns the members of a call's inputs that decide on consent. A new member takes the place of those with the same meaning.
fn merged_input(known: Option<Value>, new: Option<&Value>) -> Option<Value> {
    let Some(new) = new.map(decisive_members) else { return known };
    let mut members = if let Some(Value::Object(members)) = known { members } else { Map::new() };
    for names in [COMMANDS.as_slice(), PATHS.as_slice()] {
        if names.iter().any(|name| new.contains_key(*name)) {
            members.retain(|name, _| !names.contains(&name.as_str()));
        }
    }
    members.extend(new);
    Some(Value::Object(members))
}

/// Returns the members of one input that decide on consent.
fn decisive_members(input: &Value) -> Map<String, Value> {
    let is_decisive = |name: &str| COMMANDS.contains(&name) || PATHS.contains(&name) || name == "url";
    let members = input.as_object().into_iter().flatten().filter(|(name, value)| is_decisive(name) && !value.is_null());
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(crate) struct Consents;

/// A decision, least strict first.
enum ConsentDecision {
    Allow,
    Ask(String),
    Deny,
}

impl Consents {
    /// Decides by the rules of the run.
    ///
    /// # Errors
    /// The question for a person.
    pub(crate) fn decide(request: &RequestPermissionRequest, work: &AgentWork) -> Result<RequestPermissionOutcome, String> {
        match decision(&request.tool_call.fields, work) {
            ConsentDecision::Allow => Ok(outcome(request, true)),
            ConsentDecision::Ask(question) if work.attended && work.tool("ask_human").is_some() => Err(question),
            ConsentDecision::Ask(_) | ConsentDecision::Deny => Ok(outcome(request, false)),
        }
    }

    /// Returns the outcome for a person's answer. Any text that is not a clear yes refuses.
    pub(crate) fn answered(request: &RequestPermissionRequest, answer: &str) -> RequestPermissionOutcome {
        let answer = answer.lines().next().unwrap_or_default();
        outcome(request, Consent::of(answer) != Consent::No)
    }
}

/// Decides on a call as on the same call of an actor: an edit of a file as `write_file`, a command as `bash`.
fn decision(fields: &ToolCallUpdateFields, work: &AgentWork) -> ConsentDecision {
    let title: String = fields.title.as_deref().unwrap_or("a call without a name").chars().take(TITLE).collect();
    let input = fields.raw_input.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    // Rules hold for the folder that people know, of which the agent may have a copy.
    let known = |text: String| work.context.as_original(text).into_owned();
    let text = |names: &[&str]| names.iter().find_map(|name| input.get(*name).and_then(Value::as_str)).map(|text| known(text.to_owned()));
    let paths = || {
        let located = fields.locations.iter().flatten().map(|location| known(location.path.display().to_string()));
        located.chain(text(&PATHS)).collect::<Vec<_>>()
    };
    let asks = |title: &str| match work.approval {
        Approval::All => ConsentDecision::Allow,
        Approval::ReadOnly => ConsentDecision::Deny,
        Approval::Ask | Approval::Edits => ConsentDecision::Ask(format!("The agent asks for consent: {title}")),
    };
    match fields.kind.unwrap_or_default() {
        ToolKind::Execute => match command_of(&input).filter(|command| !command.trim().is_empty()) {
            Some(command) => of_tool("bash", json!({"command": known(command)}), work),
            // The title is for people: it need not be the command.
            None => match of_tool("bash", json!({"command": UNNAMED}), work) {
                ConsentDecision::Ask(_) => {
                    ConsentDecision::Ask(format!("The agent asks for consent to a command that it does not name: {title}"))
                }
                decided => decided,
            },
        },
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            let paths = paths();
            if paths.is_empty() { asks(&title) } else { strictest(&paths, "write_file", work) }
        }
        ToolKind::Read | ToolKind::Search => strictest(&paths(), "read_file", work),
        ToolKind::Think => ConsentDecision::Allow,
        ToolKind::Fetch => match text(&["url"]) {
            Some(url) if work.tool("web_fetch").is_some() => of_tool("web_fetch", json!({"url": url}), work),
            _ => asks(&title),
        },
        _ => asks(&title),
    }
}

/// Returns the command of a call's input. It is a text, or words: of a shell and its script the script counts.
fn command_of(input: &Map<String, Value>) -> Option<String> {
    let words: Vec<&str> = match COMMANDS.iter().find_map(|name| input.get(*name))? {
        Value::String(line) => return Some(line.clone()),
        words => words.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
    };
    let is_shell = |program: &str| program.rsplit('/').next().is_some_and(|name| SHELLS.contains(&name));
    match words.as_slice() {
        [program, flags, script] if is_shell(program) && !flags.starts_with("--") && flags.starts_with('-') && flags.ends_with('c') => {
            Some((*script).to_owned())
        }
        words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// Returns the strictest decision on a tool and each of these paths. Without a path the sandbox alone decides. A write outside of the folder is
/// denied, as the file tools refuse it.
fn strictest(paths: &[String], tool: &str, work: &AgentWork) -> ConsentDecision {
    if tool == "write_file" && paths.iter().any(|path| work.context.folder.relative(path).is_err()) {
        return ConsentDecision::Deny;
    }
    let mut strictest = ConsentDecision::Allow;
    for path in paths {
        let parameters = if tool == "write_file" { json!({"path": path, "content": ""}) } else { json!({"path": path}) };
        match (of_tool(tool, parameters, work), &strictest) {
            (ConsentDecision::Deny, _) => return ConsentDecision::Deny,
            (ask @ ConsentDecision::Ask(_), ConsentDecision::Allow) => strictest = ask,
            _ => {}
        }
    }
    strictest
}

fn of_tool(tool: &str, parameters: Value, work: &AgentWork) -> ConsentDecision {
    let Some(spec) = work.tool(tool) else { return ConsentDecision::Deny };
    let parameters: Map<String, Value> = parameters.as_object().cloned().unwrap_or_default();
    let Ok(checked) = spec.check(parameters) else { return ConsentDecision::Deny };
    match Permissions::new(work.approval, &work.rules).decide(spec, checked) {
        Permission::Allow(_) => ConsentDecision::Allow,
        Permission::Ask(open) => ConsentDecision::Ask(open.question()),
        Permission::Deny { .. } => ConsentDecision::Deny,
    }
}

/// Returns the narrowest option that allows, or refuses, the call once.
fn outcome(request: &RequestPermissionRequest, allowed: bool) -> RequestPermissionOutcome {
    let kinds = if allowed {
        [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
    } else {
        [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
    };
    let option = kinds.iter().find_map(|kind| request.options.iter().find(|option| option.kind == *kind));
    option.map_or(RequestPermissionOutcome::Cancelled, |option| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
    })
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{PermissionOption, ToolCall, ToolCallLocation};
    use aime_tools::{RuleLists, ToolContext};

    use super::*;

    fn asked(kind: ToolKind, fields: impl FnOnce(ToolCallUpdateFields) -> ToolCallUpdateFields) -> RequestPermissionRequest {
        let fields = fields(ToolCallUpdateFields::new().kind(kind).title("do it".to_owned()));
        let options = vec![
            PermissionOption::new("yes", "Yes", PermissionOptionKind::AllowOnce),
            PermissionOption::new("no", "No", PermissionOptionKind::RejectOnce),
        ];
        RequestPermissionRequest::new("session", ToolCallUpdate::new("call", fields), options)
    }

    // Requirement: 4.41
    #[test]
    fn rules_and_modes_answer_an_agents_requests() {
        let folder = tempfile::tempdir().unwrap();
        let rules = RuleLists {
            allow: vec!["bash(cargo test *)".parse().unwrap()],
            deny: vec!["write_file(secret/**)".parse().unwrap()],
            ..RuleLists::default()
        };
        let context = ToolContext::in_folder(folder.path()).unwrap().with_rules(rules);
        let at = |path: &str| vec![ToolCallLocation::new(context.working_folder().join(path))];
        let run = |command: &str| asked(ToolKind::Execute, |fields| fields.raw_input(json!({"command": command})));
        let edit = |path: &str| asked(ToolKind::Edit, |fields| fields.locations(at(path)));
        let check = |request: &RequestPermissionRequest, approval: Approval, attended: bool, expect: &str| {
            let work = AgentWork { attended, ..AgentWork::new(&context, approval) };
            let decision = match Consents::decide(request, &work) {
                Ok(RequestPermissionOutcome::Selected(chosen)) => chosen.option_id.0.to_string(),
                Ok(_) => "cancelled".to_owned(),
                Err(_) => "asks".to_owned(),
            };
            assert_eq!(decision, expect, "{request:?} with {approval:?}");
        };
        check(&run("cargo test -q"), Approval::Ask, false, "yes");
        check(&run("rm -r ."), Approval::Ask, false, "no");
        check(&run("rm -r ."), Approval::Ask, true, "asks");
        check(&run("rm -r ."), Approval::All, false, "yes");
        check(&run("rm -r ."), Approval::ReadOnly, true, "no");
        check(&edit("a"), Approval::Edits, false, "yes");
        check(&edit("a"), Approval::Ask, false, "no");
        check(&edit("secret/a"), Approval::All, true, "no");
        check(&edit("../outside"), Approval::Edits, true, "no");
        check(&asked(ToolKind::Other, |fields| fields), Approval::Edits, true, "asks");
        check(&asked(ToolKind::Other, |fields| fields), Approval::All, false, "yes");
        check(&asked(ToolKind::Think, |fields| fields), Approval::ReadOnly, false, "yes");
    }

    // Requirement: 4.41
    #[test]
    fn a_request_may_only_name_its_call() {
        let folder = tempfile::tempdir().unwrap();
        let rules = RuleLists { deny: vec!["bash(git push*)".parse().unwrap()], ..RuleLists::default() };
        let context = ToolContext::in_folder(folder.path()).unwrap().with_rules(rules);
        let work = AgentWork::new(&context, Approval::All);
        let check = |command: Value, expect: &str| {
            let mut calls = KnownCalls::default();
            calls.merged(&ToolCall::new("call", "Run it").kind(ToolKind::Execute).raw_input(json!({"command": command})).into());
            // Another update and another call change nothing of it.
            calls.merged(&ToolCallUpdate::new("call", ToolCallUpdateFields::new().raw_output(json!("begun"))));
            calls.merged(&ToolCall::new("other", "Look").kind(ToolKind::Read).into());
            let mut request = asked(ToolKind::Other, |_| ToolCallUpdateFields::new());
            request.tool_call.fields = calls.merged(&request.tool_call);
            let Ok(RequestPermissionOutcome::Selected(chosen)) = Consents::decide(&request, &work) else { panic!("{command}") };
            assert_eq!(&*chosen.option_id.0, expect, "{command}");
        };
        for command in
            [json!("git push"), json!(["git", "push"]), json!(["bash", "-lc", "git push"]), json!(["/bin/sh", "-c", "git push -f"])]
        {
            check(command, "no");
        }
        check(json!("git status"), "yes");
        check(json!(["git", "status"]), "yes");
    }

    // Requirement: 4.41
    #[test]
    fn a_command_is_not_judged_by_its_title() {
        let folder = tempfile::tempdir().unwrap();
        // The decision where nobody can be asked, and where a person can.
        let check = |deny: &[&str], inputs: &[Value], expect: (&str, &str)| {
            let rules = RuleLists { deny: deny.iter().map(|rule| rule.parse().unwrap()).collect(), ..RuleLists::default() };
            let context = ToolContext::in_folder(folder.path()).unwrap().with_rules(rules);
            let mut calls = KnownCalls::default();
            let mut request = asked(ToolKind::Execute, |fields| fields);
            for input in inputs {
                let fields = ToolCallUpdateFields::new().kind(ToolKind::Execute).title("Run it".to_owned()).raw_input(input.clone());
                request.tool_call.fields = calls.merged(&ToolCallUpdate::new("call", fields));
            }
            let decide = |attended: bool| {
                let work = AgentWork { attended, ..AgentWork::new(&context, Approval::All) };
                match Consents::decide(&request, &work) {
                    Ok(RequestPermissionOutcome::Selected(chosen)) => chosen.option_id.0.to_string(),
                    Ok(_) => "cancelled".to_owned(),
                    Err(_) => "asks".to_owned(),
                }
            };
            assert_eq!((decide(false).as_str(), decide(true).as_str()), expect, "{deny:?} {inputs:?}");
        };
        let push = json!({"command": "git push"});
        let status = json!({"command": "git status"});
        check(&[], &[], ("yes", "yes"));
        check(&["bash(git push*)"], &[], ("no", "asks"));
        check(&["bash(git push*)"], &[json!({"command": null})], ("no", "asks"));
        check(&["read_file(.env)"], &[json!({"description": "run it"})], ("no", "asks"));
        check(&["bash"], &[], ("no", "no"));
        check(&["bash(git push*)"], &[push, json!({"description": "run it"})], ("no", "no"));
        check(&["bash(git push*)"], &[status.clone(), json!({})], ("yes", "yes"));
        check(&["bash(git push*)"], &[status, json!({"cmd": "git push"})], ("no", "no"));
    }

    #[test]
    fn only_a_clear_yes_allows() {
        let request = asked(ToolKind::Other, |fields| fields);
        for (answer, expect) in [("yes", "yes"), ("always\n[a note]", "yes"), ("perhaps", "no"), ("", "no")] {
            let RequestPermissionOutcome::Selected(chosen) = Consents::answered(&request, answer) else { panic!() };
            assert_eq!(&*chosen.option_id.0, expect, "{answer}");
        }
    }
}
