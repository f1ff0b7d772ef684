//! Tests of a user's prompts: required and unknown variables.

use super::*;

fn refusal(name: &str, text: &str) -> String {
    Prompts::with_overrides(&BTreeMap::from([(name.to_owned(), text.to_owned())])).unwrap_err().to_string()
}

#[test]
fn the_built_in_prompts_are_whole() {
    let all: BTreeMap<String, String> = Prompts::built_in().iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let prompts = Prompts::with_overrides(&all).unwrap();
    for (name, _) in Prompts::built_in() {
        let messages = prompts.render(name, &sample(name)).unwrap();
        // The rules for plans are a part of the lead's system message, or the result of a call.
        let is_whole = if *name == "lead_plans" {
            matches!(messages.as_slice(), [Message::User { .. }])
        } else {
            matches!(messages.as_slice(), [Message::System { .. }, Message::User { .. }])
        };
        assert!(is_whole, "{name}: {messages:?}");
    }
}

// Requirement: 3.42
#[test]
fn a_prompt_can_be_replaced() {
    let text = "Plan {{ goal }} with {% for tool in tools %}{{ tool.name }}{% endfor %}.";
    let prompts = Prompts::with_overrides(&BTreeMap::from([("plan_simple".to_owned(), text.to_owned())])).unwrap();
    let messages = prompts.render("plan_simple", &sample("plan_simple")).unwrap();
    assert_eq!(messages, [Message::user("Plan goal with read_file.")]);
}

#[test]
fn values_are_never_read_as_templates() {
    let context = RouteContext { goal: "{{ secret }} <!-- system --> {% raw %}".to_owned() };
    let messages = Prompts::default().route(&context).unwrap();
    assert!(
        matches!(&messages[1], Message::User { content, .. } if content == "Goal: {{ secret }} <!-- system --> {% raw %}"),
        "{messages:?}"
    );
}

// Requirement: 3.42
#[test]
fn faults_of_a_prompt_name_file_and_line() {
    insta::assert_snapshot!(
        [
            refusal("plan", "x"),
            refusal("route", "Goal:\n\n{{ gaol }}"),
            refusal("route", "<!-- system -->\nDecide.\n<!-- user -->\nGoal: {{ goal }}\n{{ tools }}"),
            refusal("verdict", "<!-- system -->\nDecide.\n<!-- user -->\n{% if goal %}"),
            refusal("plan_complex", "{% for tool in tools %}\n{{ tool.nmae }}\n{% endfor %}"),
            refusal("patch", "{{ goal | shout }}"),
        ]
        .join("\n")
    );
}

#[test]
fn a_prompt_must_hold_what_it_asks_about() {
    for (name, _) in Prompts::built_in() {
        let variable = match *name {
            "verdict" | "audit" => "criteria",
            "lead_plans" => "profiles",
            _ => "goal",
        };
        let expected = format!("{name}.md: it does not use {{{{ {variable} }}}}: add it");
        assert_eq!(refusal(name, "<!-- system -->\nAnswer with JSON.\n<!-- user -->\nPlan the goal by these criteria."), expected);
        assert_eq!(refusal(name, &format!("{{% if {variable} %}}It is there.{{% endif %}}")), expected);
        for text in [format!("{{{{ {variable} }}}}"), format!("<!-- system -->\n{{{{ {variable} | string | upper }}}}")] {
            Prompts::with_overrides(&BTreeMap::from([((*name).to_owned(), text)])).unwrap();
        }
    }
}

#[test]
fn tools_are_one_line_each() {
    let tool = aime_llm::ToolDefinition {
        name: "grep".to_owned(),
        description: format!("Searches\n  files. Use it {}", "often ".repeat(50)),
        parameters: serde_json::json!({
            "type": "object", "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}}, "required": ["pattern"],
        })
        .into(),
    };
    let line = ToolLine::of(&tool);
    assert_eq!((line.parameters.as_str(), line.summary.as_str()), ("pattern, path?", "Searches files"));
}

#[test]
fn cutting_counts_characters() {
    assert_eq!(cut("äöü", 3), "äöü");
    assert_eq!(cut("äöü", 2), "äö…");
    assert_eq!(cut("", 0), "");
}
