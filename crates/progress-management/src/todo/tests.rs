use serde_json::json;

use super::*;

fn read(parameters: &Value) -> Result<TodoList, TodoError> {
    TodoList::from_parameters(parameters.as_object().unwrap())
}

// Requirement: 4.25
#[test]
fn lists_render_to_the_letter() {
    let list = read(&json!({"items": [
        {"id": "1", "text": "Read the file", "status": "pending"},
        {"id": "2", "text": "Write the report", "status": "in_progress", "active_form": "writing the report"},
        {"id": "3", "text": "Find the matches", "status": "completed", "active_form": "finding"},
    ]}));
    assert_eq!(
        list.unwrap().to_string(),
        "[ ] #1: Read the file\n[>] #2: Write the report (writing the report)\n[x] #3: Find the matches\n\n(1/3 completed)"
    );
    assert_eq!(TodoList::default().to_string(), "No todos.");
    assert_eq!(read(&json!({"items": []})).unwrap().to_string(), "No todos.");
    assert_eq!(render_todos(&[]), "No todos.");
}

// Requirement: 4.23, 4.25
#[test]
fn errors_are_to_the_letter() {
    let many: Vec<Value> = (0..21).map(|at| json!({"text": format!("t{at}")})).collect();
    let cases = [
        (json!({"items": many}), "Max 20 todos allowed"),
        (json!({"items": [{"text": "a"}, {"id": "x", "status": "pending"}]}), "Item x: text required"),
        (json!({"items": [{"text": "a"}, {"text": "  "}]}), "Item 2: text required"),
        (json!({"items": [{"text": "a", "status": "Doing"}]}), "Item 1: invalid status 'Doing'"),
        (json!({"items": [{"text": "a", "status": 3}]}), "Item 1: invalid status '3'"),
        (
            json!({"items": [{"text": "a", "status": "in_progress"}, {"text": "b", "status": "in_progress"}]}),
            "Only one task can be in_progress at a time",
        ),
        (json!({}), "items required: a list of {id, text, status}"),
        (json!({"items": "not json"}), "items required: a list of {id, text, status}"),
        (json!({"items": 3}), "items required: a list of {id, text, status}"),
    ];
    for (parameters, expected) in cases {
        assert_eq!(read(&parameters).unwrap_err().to_string(), expected, "{parameters}");
    }
}

// Requirement: 4.23
#[test]
fn exactly_twenty_items_are_allowed() {
    let items: Vec<Value> = (0..20).map(|at| json!({"text": format!("t{at}")})).collect();
    assert_eq!(read(&json!({"items": items})).unwrap().items().len(), 20);
}

// Requirement: 4.24
#[test]
fn input_is_read_tolerantly() {
    let list = read(&json!({"items": [
        {"text": " a ", "status": "PENDING"},
        {"id": 7, "text": "b", "status": "In Progress"},
        {"id": "", "text": "c", "status": "Completed"},
        "d",
    ]}))
    .unwrap();
    let seen: Vec<(&str, &str, TodoStatus)> = list.items().iter().map(|item| (item.id.as_str(), item.text.as_str(), item.status)).collect();
    assert_eq!(
        seen,
        [
            ("1", "a", TodoStatus::Pending),
            ("7", "b", TodoStatus::InProgress),
            ("3", "c", TodoStatus::Completed),
            ("4", "d", TodoStatus::Pending)
        ]
    );
}

// Requirement: 4.24
#[test]
fn items_may_come_as_a_json_string() {
    for text in [r#"[{"text": "a", "status": "completed"}]"#, r#"{"items": [{"text": "a", "status": "completed"}]}"#] {
        assert_eq!(read(&json!({ "items": text })).unwrap().to_string(), "[x] #1: a\n\n(1/1 completed)", "{text}");
    }
}
