//! Tests that everything from models, tools and people appears as text in the page.

use aime_report::{Content, Failure, FileSource};
use serde_json::json;

use crate::harness::{Run, attributes, one_task};

const ATTACKS: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "</style></title></svg></pre><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "[click](javascript:alert(1)) ![p](https://evil.test/p.png) <a href=\"https://evil.test\">x</a>",
    "<!-- --!> <![CDATA[ ]]> <base href=https://evil.test/> &lt;script&gt;",
    "report\u{202e}lmth.exe \u{2066}x\u{2069} \u{0}\u{1b}[31m",
    "<meta http-equiv=refresh content=0;url=https://evil.test><form action=https://evil.test><input name=a>",
];

fn hostile(attack: &str) -> Run {
    let task = json!({"id": "t", "name": attack, "kind": "actor", "description": attack, "completion_criteria": [attack]});
    let strategic = json!({"approach": attack, "phases": [{"name": attack, "objective": attack}], "risks": [{"description": attack, "mitigation": attack}],
        "success_criteria": [attack]});
    let spent = json!({"requests": 1});
    let mut events = one_task(
        attack,
        task,
        [
            json!({"type": "actor_created", "task": "t", "actor": attack, "profile": attack, "model": attack, "tools": [attack], "reasons": [attack]}),
            json!({"type": "model_called", "task": "t", "purpose": attack, "model": attack, "spent": spent, "duration_ms": 1, "text": attack}),
            json!({"type": "model_called", "purpose": attack, "model": attack, "spent": spent, "duration_ms": 1, "text": attack}),
            json!({"type": "tool_call_started", "task": "t", "call": attack, "tool": attack, "parameters": {attack: attack, "b": {attack: [attack]}}}),
            json!({"type": "tool_call_finished", "task": "t", "call": attack, "tool": attack, "outcome": "ok", "output": attack, "origin": attack, "duration_ms": 1}),
            json!({"type": "actor_nudged", "task": "t", "kind": attack, "text": attack}),
            json!({"type": "progress_reported", "task": "t", "report": {"status": attack, "message": attack}}),
            json!({"type": "evidence_added", "evidence": {"id": "e", "at": 1, "task": "t", "type": "discovery", "significance": "high", "content": attack, "origins": [attack]}}),
            json!({"type": "question_asked", "id": "q", "task": "t", "kind": attack, "question": attack}),
            json!({"type": "question_answered", "id": "q", "answer": attack}),
            json!({"type": "criterion_checked", "task": "t", "criterion": attack, "passed": false, "reason": attack}),
            json!({"type": "task_concluded", "task": "t", "conclusion": {"outcome": "failure", "summary": attack, "error": attack, "references": [attack]}}),
            json!({"type": "task_status_changed", "task": "t", "from": "running", "to": "failed", "attempt": 1, "for_good": true, "reason": attack}),
            json!({"type": "file_changed", "path": attack, "did": "changed", "tool": attack, "added": 1, "removed": 0, "diff": format!("+{attack}")}),
            json!({"type": "plan_changed", "decision": {"version": 2, "at": 1, "triggers": [{"kind": "person", "priority": 1, "detail": attack}],
                "patch": {"reasoning": attack, "changes": [{"op": "set_strategic", "strategic": strategic}]}, "evidence": ["e"]}}),
            json!({"type": "answered", "text": attack}),
        ],
    );
    events.push(json!({"type": "hook_acted", "hook": attack, "point": "stop", "did": "failed", "detail": attack}));
    let mut run = Run::of(events);
    run.failure = Some(Failure { code: attack.into(), message: attack.into(), hint: Some(attack.into()) });
    run.notes = vec![attack.into()];
    run
}

// Requirement: 7.22
#[test]
fn what_others_wrote_is_text() {
    for attack in ATTACKS {
        let mut run = hostile(attack);
        for files in [
            None,
            Some(vec![FileSource {
                path: attack.into(),
                authors: vec![attack.into()],
                before: Content::Link(attack.into()),
                after: Content::Nothing,
            }]),
        ] {
            run.files = files;
            let (html, page) = (run.view(&[]).html(), run.page());
            assert_eq!(
                (page.select("script").length(), page.select("style").length(), page.select("meta").length()),
                (1, 1, 6),
                "{attack}"
            );
            assert_eq!(page.select("img, iframe, object, embed, form, base, input:not(#words), [src], [style]").length(), 0, "{attack}");
            assert!(attributes(&page, "a", "href").iter().all(|link| link.starts_with('#')), "{attack}");
            for element in page.select("*").iter() {
                let names: Vec<String> = element.attrs().iter().map(|attribute| attribute.name.local.to_string()).collect();
                assert!(names.iter().all(|name| !name.starts_with("on")), "{attack}: {names:?}");
            }
            assert!(page.select("main").length() == 1 && page.select("body > footer").length() == 1, "{attack}: it stands where it was");
            let hidden = html.find(['\u{202e}', '\u{2066}', '\u{0}', '\u{1b}']);
            assert_eq!(hidden.map(|at| &html[at.saturating_sub(90)..at]), None, "{attack:?}");
        }
    }
    let shown = hostile(ATTACKS[0]).page().select("#outcome").text().to_string();
    assert!(shown.contains(ATTACKS[0]), "it is shown as it was written: {shown}");
}
