use crate::{HandledBy, builtin};

#[test]
fn definitions_as_a_model_sees_them() {
    let definitions: Vec<_> = builtin().all_sheets().map(|sheet| sheet.definition.clone()).collect();
    insta::assert_json_snapshot!(definitions);
}

#[test]
fn what_is_known_of_each_tool() {
    let lines: Vec<_> = builtin()
        .all_sheets()
        .map(|sheet| {
            let (read_only, idempotent) = (sheet.read_only, sheet.idempotent);
            let (touches, handled_by, seconds) = (sheet.touches, sheet.handled_by, sheet.time_limit.as_secs());
            let alternatives = sheet.alternatives.join(" ");
            format!(
                "{}: read_only={read_only} idempotent={idempotent} {touches:?} {handled_by:?} {seconds}s [{alternatives}]",
                sheet.name()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn names_and_alternatives_stand() {
    let registry = builtin();
    for sheet in registry.all_sheets() {
        let name = sheet.name();
        assert!((1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        for alternative in &sheet.alternatives {
            assert!(registry.get(alternative).is_some() && alternative != name, "{name}: {alternative}");
        }
        assert!(sheet.definition.description.len() < 160, "{name}: small models read it");
        assert_eq!(sheet.definition.parameters["additionalProperties"], false, "{name}");
        if sheet.handled_by == HandledBy::Runtime {
            assert!(!sheet.read_only || sheet.repeatable());
        }
    }
}
