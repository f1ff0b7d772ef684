//! Consent to what an agent does by itself: aime's permission rules decide, and people where these ask.

use agent_client_protocol::v1::schema::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, SelectedPermissionOutcome, ToolCallUpdateFields, ToolKind,
};
use aime_tools::{Approval, Consent, Permission, Permissions};
use serde_json::{Map, Value, json};

use crate::AgentWork;

/// Members of a call's input that hold a path.
const PATHS: [&str; 5] = ["path", "file_path", "filePath", "abs_path", "notebook_path"];
/// Longest title in a question, in characters.
const TITLE: usize = 500;

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
        ToolKind::Execute => {
            let command = text(&["command", "cmd"]).unwrap_or_else(|| known(title.trim_matches('`').to_owned()));
            of_tool("bash", json!({"command": command}), work)
        }
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
    use agent_client_protocol::v1::schema::{PermissionOption, ToolCallLocation, ToolCallUpdate};
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

    #[test]
    fn only_a_clear_yes_allows() {
        let request = asked(ToolKind::Other, |fields| fields);
        for (answer, expect) in [("yes", "yes"), ("always\n[a note]", "yes"), ("perhaps", "no"), ("", "no")] {
            let RequestPermissionOutcome::Selected(chosen) = Consents::answered(&request, answer) else { panic!() };
            assert_eq!(&*chosen.option_id.0, expect, "{answer}");
        }
    }
}
