//! Tests of many tools, and of tools that are added later.

use aime_tools::{Approval, McpAbilities, McpTool, NamePatterns, Permission, PermissionRules, Permissions, RuleLists, Source, ToolScope};

use super::*;

// Requirement: 8.9
#[tokio::test]
async fn many_tools_are_found_and_called_on_demand() {
    let world = World::with(&["--tools", "200"], |_| ()).await;
    assert_eq!(world.servers.offers()["odd"].tools.len(), 215, "over several pages");
    let names: Vec<&str> = world.tools.names().collect();
    assert_eq!(names, ["mcp_find_tools", "mcp_call_tool", "mcp_list", "mcp_read_resource", "mcp_get_prompt"]);
    assert!(world.tools.get("mcp_find_tools").unwrap().spec().definition.description.ends_with("Servers: odd (215 tools)."));

    let found = world.text("mcp_find_tools", json!({"query": "paint thing 104", "limit": 2})).await;
    assert!(found.starts_with("mcp__odd__paint_thing_104\n  [odd] paint the thing number 104\n  parameters: {"), "{found}");
    assert!(found.ends_with(" more fit]") && found.matches("parameters:").count() == 2, "{found}");
    let schema = world.text("mcp_find_tools", json!({"query": "add numbers", "limit": 1})).await;
    assert!(schema.starts_with("mcp__odd__sum\n") && schema.contains("\"required\":[\"a\",\"b\"]"), "{schema}");
    assert!(world.text("mcp_find_tools", json!({"query": "zebra"})).await.starts_with("No tool fits."));

    let call = |name: &str, parameters: Value| json!({"name": name, "parameters": parameters});
    assert_eq!(world.text("mcp_call_tool", call("mcp__odd__paint_thing_104", json!({}))).await, "this is paint_thing_104");
    assert_eq!(world.text("mcp_call_tool", call("mcp__odd__sum", json!({"a": 1, "b": "2"}))).await, "{\"sum\":3}");
    assert!(world.fault("mcp_call_tool", call("mcp__odd__sum", json!({"a": 1}))).await.contains("`b` is missing"));
    let fault = world.fault("mcp_call_tool", call("mcp__odd__paint_thing_999", json!({}))).await;
    assert!(
        fault.starts_with("there is no tool \"mcp__odd__paint_thing_999\"; the nearest are `")
            || fault.contains("the nearest are mcp__odd__paint_thing_"),
        "{fault}"
    );
}

#[tokio::test]
async fn small_servers_stay_in_the_request_beside_a_large_one() {
    let servers =
        ["large", "small"].map(|name| McpServerSettings::new(name, stdio(if name == "large" { &["--tools", "100"] } else { &[] })));
    let world = World::of(McpSettings::new(servers.to_vec())).await;
    let names: Vec<&str> = world.tools.names().collect();
    assert!(names.contains(&"mcp__small__echo") && names.contains(&"mcp_find_tools") && !names.contains(&"mcp__large__echo"), "{names:?}");

    let all = McpServerSettings { loading: aime_tools::McpLoading::Always, ..McpServerSettings::new("large", stdio(&["--tools", "100"])) };
    let world = World::of(McpSettings::new(vec![all])).await;
    assert_eq!(world.tools.names().filter(|name| name.starts_with("mcp__large__")).count(), 115);
}

#[tokio::test]
async fn a_tool_that_comes_later_is_found_and_called() {
    let world = World::odd(|_| ()).await;
    let call = json!({"name": "mcp__odd__later"});
    assert!(world.text("mcp_find_tools", json!({"query": "later"})).await.starts_with("No tool fits."));
    assert_eq!(world.text("mcp__odd__change", json!({})).await, "changed");
    assert!(world.text("mcp_find_tools", json!({"query": "later"})).await.starts_with("mcp__odd__later\n"));
    assert_eq!(world.text("mcp_call_tool", call).await, "this is later");
}

#[tokio::test]
async fn a_read_only_tool_is_read_only_on_demand() {
    let world = World::with(&["--tools", "200"], |settings| settings.read_only = NamePatterns::new(["echo"]).unwrap()).await;
    let spec = world.tools.spec("mcp_call_tool").unwrap();
    let rules = PermissionRules::at("/work", RuleLists::default()).unwrap();
    for (tool, is_allowed) in [("mcp__odd__echo", true), ("mcp__odd__sum", false)] {
        let call = spec.check(object(json!({"name": tool, "parameters": {}}))).unwrap();
        let decided = Permissions::new(Approval::ReadOnly, &rules).decide(spec, call);
        assert_eq!(matches!(decided, Permission::Allow(_)), is_allowed, "{tool}: {decided:?}");
    }
}

fn api() -> McpTransport {
    McpTransport::Http { url: "http://127.0.0.1:1".to_owned(), bearer: None, login: None, headers: BTreeMap::new() }
}

/// A call names a tool. If its name can belong to two servers, both must be trusted.
#[test]
fn a_server_whose_name_begins_another_is_not_trusted_for_it() {
    for (servers, expected) in [
        (&[("a", true), ("b", false)][..], &["a"][..]),
        (&[("a", true), ("a__b", false)], &[]),
        (&[("a", false), ("a__b", true)], &[]),
        (&[("a", true), ("a_", false)], &[]),
        (&[("my_server", true), ("my.server", false)], &[]),
        (&[("a", true), ("ab", false)], &["a"]),
        (&[("a", true), ("a__b", true), ("c", false)], &["a", "a__b"]),
    ] {
        let of = |(name, trusted): &(&str, bool)| McpServerSettings { trusted: *trusted, ..McpServerSettings::new(*name, api()) };
        let settings = McpSettings { listed_tools: 0, ..McpSettings::new(servers.iter().map(of).collect()) };
        let tool = McpTool { name: "t".to_owned(), description: String::new(), parameters: json!({}) };
        let offer = McpAbilities { tools: vec![tool], ..McpAbilities::default() };
        let known = servers.iter().map(|(name, _)| ((*name).to_owned(), offer.clone())).collect();
        let place = McpPlace { working_folder: "/".into(), environment: Arc::new(environment()) };
        let tools: ToolRegistry = McpServers::new(settings, &place, known).tools().into_iter().collect();
        let trusted = expected.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(tools.spec("mcp_call_tool").unwrap().source, Source::Servers { trusted, all: false }, "{servers:?}");
    }
}

#[test]
fn a_tool_for_all_servers_reaches_as_far_as_any_of_them() {
    for (transports, expected) in
        [([api(), stdio(&[])], ToolScope::Processes), ([stdio(&[]), api()], ToolScope::Processes), ([api(), api()], ToolScope::Network)]
    {
        let names = ["one", "two"];
        let servers = names.into_iter().zip(transports).map(|(name, transport)| McpServerSettings::new(name, transport));
        let settings = McpSettings { listed_tools: 0, ..McpSettings::new(servers.collect()) };
        let tool = McpTool { name: "a".to_owned(), description: String::new(), parameters: json!({}) };
        let offer = McpAbilities { tools: vec![tool], ..McpAbilities::default() };
        let known = names.map(|name| (name.to_owned(), offer.clone())).into();
        let place = McpPlace { working_folder: "/".into(), environment: Arc::new(environment()) };
        let tools: ToolRegistry = McpServers::new(settings, &place, known).tools().into_iter().collect();
        assert_eq!(tools.spec("mcp_call_tool").unwrap().touches, expected);
    }
}
