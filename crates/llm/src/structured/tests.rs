//! Tests of tiers, reported faults and attempts.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{StructuredError, StructuredRequest, Tier, Tiers, ask};
use crate::{
    ChatRequest, FinishReason, Message, ModelError, ModelStack, Redactor, ResponseFormat, Usage,
    scripted::{Reply, ScriptedModel, When},
};

#[derive(Debug, PartialEq, Deserialize)]
struct Plan {
    tasks: Vec<String>,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"tasks": {"type": "array", "items": {"type": "string"}, "minItems": 1}, "effort": {"type": "integer"}},
        "required": ["tasks"],
        "additionalProperties": false
    })
}

fn request() -> StructuredRequest {
    let messages = vec![Arc::new(Message::System { content: "You plan.".to_owned() }), Arc::new(Message::user("Plan the move."))];
    StructuredRequest { temperature: Some(0.0), ..StructuredRequest::new("aime_plan", schema(), messages) }
}

fn judge(value: Value) -> Result<Plan, Vec<aime_messages::Message>> {
    let plan: Plan = serde_json::from_value(value).map_err(|error| vec![error.to_string().into()])?;
    let empty = plan.tasks.iter().enumerate().filter(|(_, task)| task.is_empty());
    let empty: Vec<aime_messages::Message> = empty.map(|(index, _)| format!("tasks[{index}] is empty").into()).collect();
    if empty.is_empty() { Ok(plan) } else { Err(empty) }
}

fn good() -> Reply {
    Reply::json(json!({"tasks": ["pack"]})).usage(10, 5).cost_usd(0.25)
}

/// Renders a request readably: the requested form, and the messages.
fn shown(request: &ChatRequest) -> String {
    let mut text = match &request.format {
        ResponseFormat::JsonSchema { name, .. } => format!("[schema {name}]\n"),
        ResponseFormat::JsonObject => "[json]\n".to_owned(),
        ResponseFormat::Text => "[text]\n".to_owned(),
    };
    for message in &request.messages {
        let (role, content) = match message.as_ref() {
            Message::System { content } => ("system", content),
            Message::User { content, .. } => ("user", content),
            Message::Assistant { content, .. } => ("assistant", content),
            Message::Tool { content, .. } => ("tool", content),
        };
        text.push_str(&format!("--- {role}\n{content}\n"));
    }
    text
}

fn formats(model: &ScriptedModel) -> Vec<&'static str> {
    let name = |request: &ChatRequest| match request.format {
        ResponseFormat::JsonSchema { .. } => "schema",
        ResponseFormat::JsonObject => "json",
        ResponseFormat::Text => "text",
    };
    model.requests().iter().map(name).collect()
}

#[tokio::test]
async fn a_good_answer_is_taken_at_once() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good()]);
    let answer = ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap();
    assert_eq!(answer.value, Plan { tasks: vec!["pack".to_owned()] });
    assert!(answer.repairs.is_empty() && answer.refused.is_empty());
    assert_eq!((answer.spent.requests, answer.spent.usage.input_tokens), (1, 10));
    assert_eq!(model.requests()[0].messages, request().messages);
    assert_eq!(model.requests()[0].temperature, Some(0.0));
}

#[tokio::test]
async fn a_refused_answer_is_sent_back_with_all_its_faults() {
    let model = ScriptedModel::new("m").on(
        When::any(),
        [
            Reply::text(r#"{"tasks": [], "steps": 3, "effort": "long"}"#).usage(10, 5).cost_usd(0.25),
            Reply::text(r#"{"tasks": ["pack", "", ""]}"#),
            good(),
        ],
    );
    let answer = ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap();
    assert_eq!(answer.refused.len(), 2);
    assert_eq!(answer.refused[1].faults, ["tasks[1] is empty", "tasks[2] is empty"]);
    assert_eq!(answer.spent.requests, 3);
    assert_eq!(answer.spent.usage, Usage::new(120, 30));
    assert!((answer.spent.cost_usd - 0.5).abs() < 1e-9);
    let requests = model.requests();
    insta::assert_snapshot!(shown(&requests[1]));
    // Each request grows only at its end.
    assert_eq!(requests[2].messages[..requests[1].messages.len()], requests[1].messages);
}

#[tokio::test]
async fn tiers_are_lowered_without_a_try_and_remembered() {
    let model = ScriptedModel::new("m")
        .on(When::schema("aime_plan"), [Reply::status(400, "response_format.type 'json_schema' is not supported")])
        .once(When { plain: Some(false), ..When::any() }, [Reply::status(422, "Unsupported response_format")])
        .on(When::plain(), [Reply::text("Sorry?"), good()]);
    let tiers = Tiers::new();
    let once = StructuredRequest { tries: 2, ..request() };
    let answer = ask(&model.built(), &tiers, once, judge).await.unwrap();
    assert_eq!(formats(&model), ["schema", "json", "text", "text"]);
    assert_eq!((answer.refused.len(), answer.spent.requests), (1, 2));
    assert_eq!(tiers.of("m"), Tier::Text);
    ask(&model.built(), &tiers, request(), judge).await.unwrap();
    assert_eq!(formats(&model)[4..], ["text"]);
    assert_eq!(tiers.of("other"), Tier::Schema);
    insta::assert_snapshot!(shown(&model.requests()[3]));
}

#[tokio::test]
async fn a_refusal_of_a_fallback_lowers_no_other_question() {
    let first = ScriptedModel::new("m").on(When::any(), [Reply::status(503, "down")]);
    let other = ScriptedModel::new("other")
        .on(When::schema("aime_plan"), [Reply::status(400, "json_schema is not supported")])
        .on(When::any(), [good()]);
    let tiers = Tiers::new();
    let model = ModelStack::of(first).or_else([ModelStack::of(other.clone())]).build(&Redactor::default());
    ask(&model, &tiers, request(), judge).await.unwrap();
    assert_eq!((formats(&other), tiers.of("m")), (vec!["schema", "json"], Tier::Schema));
}

#[tokio::test]
async fn two_unreadable_answers_lower_the_tier() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text(""), Reply::text("I'd rather not."), good()]);
    let tiers = Tiers::new();
    let answer = ask(&model.built(), &tiers, request(), judge).await.unwrap();
    assert_eq!(formats(&model), ["schema", "schema", "json"]);
    assert_eq!(tiers.of("m"), Tier::Json);
    assert_eq!(answer.refused[0].faults, ["it is empty"]);
    assert_eq!(answer.refused[1].faults, ["there is no JSON object or array in the text, which begins \"I'd rather not.\""]);
    let sent = shown(&model.requests()[2]);
    assert!(sent.contains("--- assistant\n(no answer)\n"), "{sent}");
}

#[tokio::test]
async fn a_question_that_is_never_answered_lowers_no_other() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text("I'd rather not.")]);
    let tiers = Tiers::new();
    assert!(ask(&model.built(), &tiers, request(), judge).await.is_err());
    assert_eq!(formats(&model), ["schema", "schema", "json"]);
    assert_eq!(tiers.of("m"), Tier::Schema, "a lower tier that did not help is not remembered");
}

#[tokio::test]
async fn readable_answers_keep_the_tier_however_wrong() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text(""), Reply::text("{}"), Reply::text("")]);
    let tiers = Tiers::new();
    assert!(ask(&model.built(), &tiers, request(), judge).await.is_err());
    assert_eq!(tiers.of("m"), Tier::Schema);
}

#[tokio::test]
async fn other_refusals_and_failures_end_it() {
    for (status, message) in [(400, "temperature must be 1"), (401, "json_schema"), (429, "json_schema"), (413, "json_schema")] {
        let model = ScriptedModel::new("m").on(When::any(), [Reply::status(status, message)]);
        let error = ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap_err();
        assert!(matches!(error, StructuredError::Model { .. }), "{error}");
        assert_eq!(model.requests().len(), 1, "{status}");
    }
    // A server that refuses every form is not asked forever.
    let model = ScriptedModel::new("m").on(When::any(), [Reply::status(400, "bad schema")]);
    let Err(StructuredError::Model { source, .. }) = ask(&model.built(), &Tiers::new(), request(), judge).await else { panic!() };
    assert!(matches!(source, ModelError::Refused { .. }));
    assert_eq!(formats(&model), ["schema", "json", "text"]);
}

#[tokio::test]
async fn a_failure_after_refusals_tells_what_was_spent() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text("{}").usage(7, 2), Reply::status(503, "down")]);
    let error = ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap_err();
    assert_eq!((error.spent().usage.input_tokens, error.refused().len()), (7, 1));
    assert_eq!(error.to_string(), "the model gave no answer for aime_plan");
}

#[tokio::test]
async fn used_up_tries_name_every_fault() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text("{}"), Reply::text(r#"{"tasks": [1, ""]}"#)]);
    let error = ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap_err();
    assert_eq!(error.to_string(), "every answer for aime_plan was refused (3 of them); the last because: tasks[1] is empty");
    let StructuredError::Refused { refused, spent, .. } = error else { panic!() };
    assert_eq!(refused[0].faults, ["the whole value lacks \"tasks\""]);
    assert_eq!((refused.len(), refused[2].attempt, spent.requests), (3, 3, 3));
}

#[tokio::test]
async fn a_cut_answer_is_asked_for_again_shorter() {
    let long = Reply::text(r#"{"tasks": ["pack"]}"#).finish(FinishReason::Length);
    let model = ScriptedModel::new("m").on(When::any(), [long, Reply::text(r#"{"tasks": ["pack", "lo"#), good()]);
    let tiers = Tiers::new();
    let answer = ask(&model.built(), &tiers, request(), judge).await.unwrap();
    assert_eq!(answer.refused[0].faults, ["it was cut off because it was too long: be shorter"]);
    assert_eq!(answer.refused[1].faults, ["it is incomplete: write out everything, to its end"]);
    assert_eq!(tiers.of("m"), Tier::Schema);
}

#[tokio::test]
async fn a_nearly_right_answer_is_repaired_and_the_repair_told() {
    let text = "<think>{\"tasks\": [\"draft\"]}</think>```json\n{'tasks': 'pack', 'effort': '5'}\n```";
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text(text)]);
    let answer = ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap();
    assert_eq!(answer.value.tasks, ["pack"]);
    assert!(answer.repairs.contains(&"tasks: made an array of the single value".to_owned()), "{:?}", answer.repairs);
    let filed = Reply::text("").with_reasoning(r#"{"tasks": ["filed"]}"#);
    let model = ScriptedModel::new("m").on(When::any(), [filed]);
    assert_eq!(ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap().value.tasks, ["filed"]);
}

#[tokio::test]
async fn a_schema_may_only_guide() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text(r#"{"steps": ["pack"]}"#)]);
    let lenient = StructuredRequest { must_fit: false, ..request() };
    let answer = ask(&model.built(), &Tiers::new(), lenient, |value| Ok(value["steps"][0].clone())).await.unwrap();
    assert_eq!(answer.value, "pack");
    let unusable = StructuredRequest { schema: json!({"type": "nonsense"}), ..request() };
    assert!(matches!(ask(&model.built(), &Tiers::new(), unusable, judge).await, Err(StructuredError::Schema { .. })));
}

#[tokio::test]
async fn a_long_refused_answer_is_sent_back_cut() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text("ä".repeat(10_000)), good()]);
    ask(&model.built(), &Tiers::new(), request(), judge).await.unwrap();
    let Message::Assistant { content, .. } = model.requests()[1].messages[2].as_ref().clone() else { panic!() };
    assert_eq!(content.chars().count(), 4_001);
}
