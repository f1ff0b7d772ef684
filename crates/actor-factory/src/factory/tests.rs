use aime_progress::TaskId;
use aime_tools::builtin;

use super::*;

fn task(description: &str) -> TaskSpec {
    TaskSpec::actor(TaskId::new("report").unwrap(), description)
}

fn compose(task: &TaskSpec, change: impl FnOnce(&mut ActorContext<'_>)) -> Result<Composed, ComposeError> {
    let tools = builtin();
    let mut context = ActorContext::new("Count the TODOs", PlanId::new("p").unwrap(), &tools, Timestamp::from_millis(5));
    change(&mut context);
    ActorFactory::builtin().unwrap().compose(task, &context)
}

fn tools(composed: &Composed) -> Vec<&str> {
    composed.input.spec.tool_names()
}

#[test]
fn an_actor_gets_the_tools_of_its_profile_and_of_its_task() {
    let composed = compose(&task("Write report.md"), |_| {}).unwrap();
    assert_eq!(composed.input.spec.profile, "sisyphus");
    let expected = [
        "read_file",
        "write_file",
        "edit_file",
        "list_dir",
        "glob",
        "grep",
        "bash",
        "python",
        "terminate",
        "ask_human",
        "todo",
        "update_progress",
        "report_evidence",
    ];
    assert_eq!(tools(&composed), expected);
    assert_eq!(composed.input.effect_prefix(), "report/1");

    let mut reader = task("Where is it?");
    reader.profile = Some("explore".into());
    reader.bundles = vec!["code".into(), "glob".into()];
    let composed = compose(&reader, |c| c.attended = false).unwrap();
    let expected = ["read_file", "list_dir", "glob", "grep", "terminate", "todo", "update_progress", "report_evidence"];
    assert_eq!(tools(&composed), expected, "what a profile denies stays out, whoever asks for it; nobody is there to ask");
    assert_eq!(composed.input.spec.max_steps, 12);
}

#[test]
fn a_read_only_profile_gets_no_tool_that_changes_something() {
    let mut profiles = ProfileCatalog::builtin();
    let text = "name = \"watcher\"\ndescription = \"d\"\nprompt = \"p\"\ncapabilities = [\"read\"]\nbundles = [\"code\", \"web\"]\ntools = [\"fly\"]\n";
    profiles.add_toml(text, "watcher.toml").unwrap();
    let mut spec = task("Look at it");
    spec.profile = Some("watcher".into());
    let registry = builtin();
    let context = ActorContext::new("g", PlanId::new("p").unwrap(), &registry, Timestamp::from_millis(0));
    let composed = ActorFactory::new(profiles, Prompts::builtin().unwrap()).compose(&spec, &context).unwrap();
    assert!(composed.input.spec.tools.iter().all(|sheet| !changes_something(sheet)));
    let reasons = composed.selection.reasons.join("\n");
    for expected in ["without `bash`", "without the bundle `web`", "without the tool `fly`"] {
        assert!(reasons.contains(expected), "{reasons}");
    }
}

#[test]
fn what_cannot_be_composed_is_said() {
    let mut wrong = task("x");
    wrong.bundles = vec!["flies".into()];
    let error = compose(&wrong, |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("task `report`: Unknown bundle: flies. The bundles are: `files`"), "{error}");
    let mut tool = task("x");
    tool.kind = TaskKind::Tool;
    assert_eq!(compose(&tool, |_| {}).unwrap_err().to_string(), "task `report` is a tool task: only actor tasks have an actor");
    let empty = ActorFactory::new(ProfileCatalog::default(), Prompts::builtin().unwrap());
    let registry = builtin();
    let context = ActorContext::new("g", PlanId::new("p").unwrap(), &registry, Timestamp::from_millis(0));
    assert_eq!(empty.compose(&task("x"), &context).unwrap_err().to_string(), "there are no profiles to choose from");
}

#[test]
fn results_and_knowledge_are_cut_to_their_share() {
    let long = "word ".repeat(40_000);
    let registry = builtin();
    let mut context = ActorContext::new("g", PlanId::new("p").unwrap(), &registry, Timestamp::from_millis(0));
    context.results = &long;
    context.knowledge = &long;
    context.limits.context_tokens = 10_000;
    let composed = ActorFactory::builtin().unwrap().compose(&task("x"), &context).unwrap();
    for prompt in [&composed.input.system, &composed.input.task] {
        assert!(estimate_tokens(prompt) < 3_200, "{}", estimate_tokens(prompt));
        assert!(prompt.contains("of 200000 characters]"));
    }
}

#[test]
fn the_whole_first_request() {
    let mut spec = task("Write report.md with every TODO comment and the file it stands in.");
    spec.name = "Write the report".into();
    spec.completion_criteria = vec!["report.md exists".into(), "report.md names every file".into()];
    let composed = compose(&spec, |c| {
        c.results = "## find\n3 matches\n- a.rs:1\n";
        c.knowledge = "Use Markdown tables.";
        c.environment = "Working folder: /project\nSystem: Linux";
        c.attended = false;
    })
    .unwrap();
    insta::assert_snapshot!(format!("[system]\n{}\n\n[user]\n{}", composed.input.system, composed.input.task));
    let bare = compose(&task("Count the TODOs"), |_| {}).unwrap();
    insta::assert_snapshot!(format!("[system]\n{}\n\n[user]\n{}", bare.input.system, bare.input.task));
}
