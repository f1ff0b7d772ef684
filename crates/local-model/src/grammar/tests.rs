use aime_llm::ToolDefinition;
use serde_json::json;

use super::call_schema;

#[test]
fn references_of_each_tool_stay_apart() {
    let tool = |name: &str, kind: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/x"}, "list": {"type": "array", "items": {"$ref": "#/$defs/x"}}},
            "$defs": {"x": {"type": kind}},
        })
        .into(),
    };
    let schema = call_schema(&[tool("a", "string"), tool("b", "integer")]);
    assert_eq!(schema["$defs"], json!({"tool0_x": {"type": "string"}, "tool1_x": {"type": "integer"}}));
    let second = &schema["anyOf"][1]["properties"];
    assert_eq!(second["name"], json!({"const": "b"}));
    assert_eq!(second["arguments"]["properties"]["list"]["items"], json!({"$ref": "#/$defs/tool1_x"}));
    assert!(second["arguments"].get("$defs").is_none());
}
