//! Servers that break the protocol: one malformed entry loses only that entry, and no list is read for ever.

use std::{collections::BTreeMap, sync::Mutex};

use axum::{
    Json, Router,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};

use super::*;

/// A server over HTTP that answers with any JSON, and counts its requests.
struct Raw {
    url: String,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Raw {
    /// Starts the server. `answer` gets the method and the parameters of a request.
    async fn start(answer: impl Fn(&str, &Value) -> Value + Clone + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let counts = Arc::clone(&asked);
        let handle = move |Json(request): Json<Value>| async move { respond(&request, &counts, &answer) };
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/mcp", post(handle))).await });
        Self { url, asked }
    }

    async fn world(&self) -> World {
        let transport = McpTransport::Http { url: self.url.clone(), bearer: None, login: None, headers: BTreeMap::new() };
        World::of(McpSettings::new(vec![McpServerSettings::new("raw", transport)])).await
    }

    fn asked(&self, method: &str) -> usize {
        self.asked.lock().unwrap().get(method).copied().unwrap_or_default()
    }
}

fn respond(request: &Value, counts: &Mutex<BTreeMap<String, usize>>, answer: impl Fn(&str, &Value) -> Value) -> Response {
    let method = request["method"].as_str().unwrap();
    *counts.lock().unwrap().entry(method.to_owned()).or_default() += 1;
    let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        }),
        _ => answer(method, &request["params"]),
    };
    Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "d", "inputSchema": {"type": "object"}})
}

fn tools_and_notes(world: &World) -> (Vec<String>, Vec<String>) {
    let offer = world.servers.offers().into_values().next().unwrap();
    (offer.tools.into_iter().map(|tool| tool.name).collect(), offer.notes.iter().map(ToString::to_string).collect())
}

/// Returns a list with one entry of each kind of fault between two good ones.
fn faulty_tools() -> Value {
    json!({"tools": [
        tool("first"),
        {"name": "missing", "description": "no schema"},
        {"name": "null", "inputSchema": null},
        {"name": "boolean", "inputSchema": true},
        {"name": "list", "inputSchema": []},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"description": "nameless", "inputSchema": {"type": "object"}},
        "no tool at all",
        {"name": "last", "description": 8, "title": "The last", "inputSchema": {"type": "object"}, "annotations": []},
    ]})
}

const FAULTS: [&str; 7] = [
    "without the tool \"missing\": it has no schema",
    "without the tool \"null\": it has no schema",
    "without the tool \"boolean\": its schema is no object",
    "without the tool \"list\": its schema is no object",
    "without the tool at position 6 of the list: it has no name",
    "without the tool at position 7 of the list: it has no name",
    "without the tool at position 8 of the list: it has no name",
];

#[tokio::test]
async fn a_malformed_tool_is_left_out_alone() {
    let raw = Raw::start(|_, _| faulty_tools()).await;
    let world = raw.world().await;
    let (tools, notes) = tools_and_notes(&world);
    assert_eq!(tools, ["first", "last"]);
    assert_eq!(notes, FAULTS);
    assert!(world.tools.get("mcp__raw__last").unwrap().spec().definition.description.ends_with("The last"));
}

#[tokio::test]
async fn a_malformed_tool_is_left_out_over_stdio() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.sh");
    let answers = format!(
        r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
  case "$line" in
    *'"method":"initialize"'*)
      answer '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"sh","version":"1"}}}}' ;;
    *'"method":"tools/list"'*) answer '{tools}' ;;
    *'"method":"tools/call"'*) answer '{{"content":[{{"type":"video"}},{{"type":"text","text":"heard"}}]}}' ;;
  esac
done
"#,
        tools = faulty_tools()
    );
    fs::write(&script, answers).unwrap();
    let transport = McpTransport::Stdio {
        program: "sh".into(),
        arguments: vec![script.into()],
        environment: BTreeMap::new(),
        confinement: Confinement::off(),
    };
    let world = World::of(McpSettings::new(vec![McpServerSettings::new("sh", transport)])).await;
    assert_eq!(tools_and_notes(&world), (vec!["first".to_owned(), "last".to_owned()], FAULTS.map(str::to_owned).to_vec()));
    assert_eq!(world.text("mcp__sh__first", json!({})).await, "[left out: a part of type \"video\"]\nheard");
}

/// Calls a tool of a server that answers with `result`.
async fn called(result: Value) -> Result<ToolOutput, ToolError> {
    let raw = Raw::start(move |method, _| if method == "tools/call" { result.clone() } else { json!({"tools": [tool("t")]}) }).await;
    raw.world().await.call("mcp__raw__t", json!({})).await
}

#[tokio::test]
async fn an_unknown_part_is_left_out_alone() {
    let text = json!({"type": "text", "text": "heard"});
    let table = [
        (json!({"type": "video", "data": "AAAA"}), "[left out: a part of type \"video\"]"),
        (json!({"type": "text"}), "[left out: a part of type \"text\" without its content]"),
        (json!({"type": "text", "text": 5}), "[left out: a part of type \"text\" without its content]"),
        (json!({"type": "image"}), "[left out: a part of type \"image\" without its content]"),
        (json!({"type": "resource", "resource": {"uri": "a:b"}}), "[left out: a part of type \"resource\" without its content]"),
        (json!({"type": "resource_link", "name": "n"}), "[left out: a part of type \"resource_link\" without its content]"),
        (json!({"text": "no type"}), "[left out: a part without a type]"),
        (json!("bare"), "[left out: a part without a type]"),
        (json!({"type": "text", "text": "noted", "annotations": {"audience": "all"}}), "noted"),
        (json!({"type": "image", "data": "AAAA"}), "[an image, of no known kind, 4 characters in base64, not shown]"),
    ];
    for (part, shown) in table {
        let output = called(json!({"content": [text, part, text]})).await.unwrap();
        assert_eq!(output.text, format!("heard\n{shown}\nheard"), "{part}");
    }
    let fault = called(json!({"content": [{"type": "video"}, text], "isError": true})).await.unwrap_err();
    assert_eq!(fault.to_string(), "[left out: a part of type \"video\"]\nheard");
}

/// A GIF's signature and header; the code under test ignores the pixels.
const GIF: &str = "R0lGODlhBQADAAAAAA==";

#[tokio::test]
async fn images_of_a_result_are_taken() {
    let image = json!({"type": "image", "data": GIF, "mimeType": "image/gif"});
    let resource = |kind| json!({"type": "resource", "resource": {"uri": "a:b", "mimeType": kind, "blob": GIF}});
    let content = json!([image, {"type": "text", "text": "seen"}, resource("image/gif"), resource("application/x-odd")]);
    let output = called(json!({"content": content})).await.unwrap();
    let lines = [
        "[image no. 1 (image/gif, 5x3 pixels)]",
        "seen",
        "[image a:b (image/gif, 5x3 pixels)]",
        "[a:b, application/x-odd, 20 characters in base64, not shown]",
    ];
    assert_eq!(output.text, lines.join("\n"));
    let taken: Vec<_> = output.images.iter().map(|image| (image.name.as_str(), &*image.data)).collect();
    assert_eq!(taken, [("no. 1", GIF), ("a:b", GIF)]);
    let fault = called(json!({"content": [image], "isError": true})).await.unwrap_err();
    assert_eq!(fault.to_string(), "[an image, image/gif, 20 characters in base64, not shown]");
    let many = called(json!({"content": vec![image; 21]})).await.unwrap();
    assert_eq!((many.images.len(), many.text.matches("not shown").count()), (20, 1));
}

#[tokio::test]
async fn the_structure_outlives_an_unknown_part() {
    let structure = json!({"sum": 5});
    let shown = "{\"sum\":5}";
    let table = [
        (json!([{"type": "video"}]), format!("[left out: a part of type \"video\"]\n{shown}")),
        (json!([{"type": "text", "text": "5"}, {"type": "video"}]), format!("5\n[left out: a part of type \"video\"]\n{shown}")),
        (json!("five"), format!("[left out: content that is no list of parts]\n{shown}")),
    ];
    for (content, text) in table {
        let output = called(json!({"content": content, "structuredContent": structure})).await.unwrap();
        assert_eq!((output.text, output.value), (text, structure.clone()), "{content}");
    }
}

/// Many servers show a summary as text, and the data as structure.
#[tokio::test]
async fn the_structure_is_shown_unless_a_text_is_it() {
    let texts = |texts: &[&str]| json!(texts.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>());
    let table = [
        (&["two issues"][..], json!({"issues": [1, 2]}), "two issues\n{\"issues\":[1,2]}"),
        (&["{\"b\": 2, \"a\": [1]}"], json!({"a": [1], "b": 2}), "{\"b\": 2, \"a\": [1]}"),
        (&["here it is", "{\"a\":1}"], json!({"a": 1}), "here it is\n{\"a\":1}"),
        (&["5"], json!({"result": 5}), "5"),
        (&["five"], json!({"result": "five"}), "five"),
        (&["[1, 2]"], json!({"result": [1, 2]}), "[1, 2]"),
        (&["1", "two"], json!({"result": [1, "two"]}), "1\ntwo"),
        (&["1"], json!({"result": 2}), "1\n{\"result\":2}"),
        (&[" "], json!({"a": 1}), "{\"a\":1}"),
        // Numbers are compared by value.
        (&["{\"a\": [1, 2.5]}"], json!({"a": [1.0, 2.5]}), "{\"a\": [1, 2.5]}"),
        (&["5.0"], json!({"result": 5}), "5.0"),
        (&["{\"a\":9007199254740993}"], json!({"a": 9_007_199_254_740_992_u64}), "{\"a\":9007199254740993}\n{\"a\":9007199254740992}"),
    ];
    for (given, structure, shown) in table {
        let output = called(json!({"content": texts(given), "structuredContent": structure})).await.unwrap();
        assert_eq!((output.text.as_str(), &output.value), (shown, &structure), "{given:?}");
    }
    let fault = called(json!({"content": texts(&["it failed"]), "structuredContent": {"code": 7}, "isError": true})).await.unwrap_err();
    assert_eq!(fault.to_string(), "it failed\n{\"code\":7}");
    // A large structure is not added to a text that may say the same. `{"a":""}` has 8 characters.
    for (text, filling, is_added) in [(199, 20_000, true), (200, 19_992, true), (200, 19_993, false)] {
        let (text, structure) = ("t".repeat(text), json!({"a": "é".repeat(filling)}));
        let output = called(json!({"content": texts(&[text.as_str()]), "structuredContent": structure})).await.unwrap();
        // The middle of a long result is left out for the model.
        let is_shown = output.text.starts_with(&text) && output.text.ends_with("é\"}");
        assert_eq!((is_shown, output.text == text), (is_added, !is_added), "{filling}");
        assert!(output.value == structure, "{filling}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_result_is_refused() {
    for result in [json!({}), json!({"odd": 1}), json!([]), json!({"resultType": "later", "content": []})] {
        let fault = called(result.clone()).await.unwrap_err().to_string();
        assert_eq!(fault, "the MCP server `raw` answered with something that is no result of a tool", "{result}");
    }
}

/// Returns the index of a page from the cursor that requests it: the first is 0.
fn page(parameters: &Value) -> usize {
    parameters["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap())
}

#[tokio::test]
async fn an_endless_list_of_tools_ends() {
    type Answer = fn(usize) -> Value;
    let fresh: Answer = |page| json!({"tools": [tool(&format!("t{page}"))], "nextCursor": (page + 1).to_string()});
    let table: [(&str, Answer, usize, usize, &str); 6] = [
        (
            "the same page with ever new cursors",
            |page| json!({"tools": [tool("a"), tool("b")], "nextCursor": (page + 1).to_string()}),
            2,
            2,
            "page 2 brought nothing new",
        ),
        ("empty pages", |page| json!({"tools": [], "nextCursor": (page + 1).to_string()}), 0, 1, "page 1 brought nothing new"),
        (
            "one cursor again and again",
            |page| json!({"tools": [tool(&format!("t{page}"))], "nextCursor": "1"}),
            2,
            2,
            "page 2 gave a cursor that was used before",
        ),
        ("new tools without end", fresh, 100, 100, "there are more than 100 pages"),
        (
            "tools without names",
            |page| json!({"tools": [{"inputSchema": {}}], "nextCursor": (page + 1).to_string()}),
            0,
            1,
            "page 1 brought nothing new",
        ),
        ("a number as a cursor", |_| json!({"tools": [tool("a")], "nextCursor": 1}), 1, 1, "page 1 gave a cursor that is no text"),
    ];
    for (what, answer, count, pages, reason) in table {
        let raw = Raw::start(move |_, parameters| answer(page(parameters))).await;
        let (tools, notes) = tools_and_notes(&raw.world().await);
        assert_eq!((tools.len(), raw.asked("tools/list")), (count, pages), "{what}: {notes:?}");
        assert_eq!(notes.last().unwrap(), &format!("stopped reading the list of tools: {reason}"), "{what}");
    }
}

#[tokio::test]
async fn other_endless_lists_end_too() {
    let raw = Raw::start(|method, parameters| {
        let page = page(parameters);
        let next = (page + 1).to_string();
        let number = page.min(1);
        match method {
            "resources/list" => {
                json!({"resources": [{"uri": format!("memo://{number}"), "name": "memo"}, {"name": "lost"}], "nextCursor": next})
            }
            "resources/templates/list" => {
                json!({"resourceTemplates": [{"uriTemplate": format!("memo://{number}/{{x}}")}], "nextCursor": next})
            }
            "prompts/list" => {
                json!({"prompts": [{"name": format!("greet{number}"), "arguments": [{"name": "who"}, 5]}], "nextCursor": next})
            }
            _ => json!({"tools": []}),
        }
    })
    .await;
    let world = raw.world().await;
    let end = "  [stopped reading the list: page 3 brought nothing new]";
    let lost = "  [left out: an entry without `uri`]";
    assert_eq!(
        world.text("mcp_list", json!({"kind": "resources"})).await,
        format!("raw:\n  memo://0  memo\n{lost}\n  memo://1  memo\n{lost}\n{lost}\n{end}\n  memo://0/{{x}}\n  memo://1/{{x}}\n{end}")
    );
    assert_eq!(world.text("mcp_list", json!({"kind": "prompts"})).await, format!("raw:\n  greet0(who?)\n  greet1(who?)\n{end}"));
    let asked = ["resources/list", "resources/templates/list", "prompts/list"].map(|method| raw.asked(method));
    assert_eq!(asked, [3, 3, 3]);
}

#[tokio::test]
async fn unknown_contents_are_left_out_alone() {
    let raw = Raw::start(|method, _| match method {
        "resources/read" => json!({"contents": [{"uri": "memo://1", "text": "milk"}, {"uri": "memo://2", "stream": 1}]}),
        "prompts/get" => json!({"messages": [
            {"role": "user", "content": {"type": "video"}},
            {"role": "user", "content": {"type": "text", "text": "Say hello."}},
        ]}),
        _ => json!({"tools": []}),
    })
    .await;
    let world = raw.world().await;
    let read = world.text("mcp_read_resource", json!({"server": "raw", "uri": "memo://1"})).await;
    assert_eq!(read, "milk\n[left out: contents without text or data]");
    let prompt = world.text("mcp_get_prompt", json!({"server": "raw", "name": "greet"})).await;
    assert_eq!(prompt, "user: [left out: a part of type \"video\"]\n\nuser: Say hello.");
}
