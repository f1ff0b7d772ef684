mod class;
mod rights;

use std::sync::{Arc, LazyLock};

use aime_llm::{ChatRequest, Message};
use aime_progress_management::TaskId;
use aime_tools::{InstalledSkill, RuleLists, Skill, builtin, load_skill};

use super::*;

fn task(description: &str) -> TaskSpec {
    TaskSpec::actor(TaskId::new("report").unwrap(), description)
}

static NO_RULES: LazyLock<PermissionRules> = LazyLock::new(|| PermissionRules::at("/work", RuleLists::default()).unwrap());

fn compose(task: &TaskSpec, change: impl FnOnce(&mut ActorContext<'_>)) -> Result<ComposedActor, ComposeError> {
    let tools = builtin();
    let mut context = ActorContext::new("Count the TODOs", &tools, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(5));
    change(&mut context);
    ActorFactory::builtin().unwrap().compose(task, &context)
}

fn tools(composed: &ComposedActor) -> Vec<&str> {
    composed.input.spec.tool_names()
}

// Requirement: 4.2, 4.33
#[test]
fn an_actor_gets_the_tools_of_its_profile_and_of_its_task() {
    let composed = compose(&task("Write report.md"), |_| {}).unwrap();
    assert_eq!(composed.input.spec.profile, "sisyphus");
    let expected = [
        "read_file",
        "write_file",
        "edit_file",
        "apply_patch",
        "list_dir",
        "glob",
        "grep",
        "bash",
        "bash_output",
        "bash_kill",
        "python",
        "delegate_task",
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
    assert_eq!(composed.input.spec.max_steps, 100);
}

/// Sharing matters for memory and time: with thousands of actors, each would otherwise hold, serialize and count its own copy.
#[test]
fn actors_with_the_same_tools_share_what_their_models_are_told_of_them() {
    let (tools, factory) = (builtin(), ActorFactory::builtin().unwrap());
    let tools_of = |description: &str, profile: Option<&str>| {
        let context = ActorContext::new("Count the TODOs", &tools, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(5));
        let asked = TaskSpec { profile: profile.map(Into::into), ..task(description) };
        let input = factory.compose(&asked, &context).unwrap().input;
        first_request(&input).tools
    };
    let [one, other, reader] =
        [("Write a.rs", None), ("Write b.rs", None), ("Count c.rs", Some("explore"))].map(|(task, of)| tools_of(task, of));
    assert!(Arc::ptr_eq(&one, &other));
    assert!(!Arc::ptr_eq(&one, &reader), "it has others");
}

#[test]
fn an_actor_of_a_small_model_gets_few_tools_and_a_prompt_of_its_own() {
    let small = |context: &mut ActorContext<'_>| {
        context.limits = &|_| ModelLimits { small: true, ..ModelLimits::default() };
        context.short_environment = "Working folder: /project";
    };
    let mut asked = task("Write report.md");
    asked.bundles = vec!["files".into(), "code".into()];
    let composed = compose(&asked, small).unwrap();
    assert_eq!(tools(&composed), ["terminate", "read_file", "write_file", "edit_file", "bash", "report_evidence"]);
    let direct = compose(&asked, |context| {
        small(context);
        context.plain_answer_ends = true;
    });
    assert!(!tools(&direct.unwrap()).contains(&"report_evidence"), "there is no plan that could change");
    assert_eq!(composed.input.spec.profile, "sisyphus");
    assert!(composed.selection.reasons.iter().any(|reason| reason == "few tools: the model is a small one"));
    insta::assert_snapshot!("the_first_request_of_a_small_model", format!("{}\n[user]\n{}", composed.input.system, composed.input.task));
    // The task can ask for tools that the profile's own bundles do not hold.
    asked.bundles.push("ask_human".into());
    assert!(tools(&compose(&asked, small).unwrap()).contains(&"ask_human"));
    // A profile without a small-model section is the same for small models.
    asked.profile = Some("atlas".into());
    assert_eq!(tools(&compose(&asked, small).unwrap()), tools(&compose(&asked, |_| {}).unwrap()));
}

// Requirement: 11.3
#[test]
fn the_task_then_the_profile_choose_model_and_effort() {
    let mut catalog = ProfileCatalog::builtin();
    let profile = |name: &str, more: &str| format!("name = {name:?}\ndescription = \"d\"\nprompt = \"p\"\n{more}");
    catalog.add_toml(&profile("zeus", "model = \"strong\"\neffort = \"high\"\n"), "zeus.toml").unwrap();
    let registry = builtin();
    let mut context = ActorContext::new("g", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(5));
    // The limits identify the model that they belong to.
    let limits = |role: &str| {
        let context_tokens = match role {
            "strong" => 200_000,
            "fast" => 16_000,
            _ => 32_000,
        };
        ModelLimits { context_tokens, small: role == "fast", ..ModelLimits::default() }
    };
    context.limits = &limits;
    context.model = "coding";
    let factory = ActorFactory::new(catalog, Prompts::builtin().unwrap());
    let table = [
        (None, None, None, "coding", None, 32_000),
        (Some("zeus"), None, None, "strong", Some(Effort::High), 200_000),
        (Some("zeus"), Some("fast"), Some(ReasoningEffort::None), "fast", Some(Effort::None), 16_000),
        (Some("zeus"), None, Some(ReasoningEffort::XHigh), "strong", Some(Effort::XHigh), 200_000),
        (None, Some("fast"), Some(ReasoningEffort::Low), "fast", Some(Effort::Low), 16_000),
    ];
    for (profile, model, level, role, effort, window) in table {
        let asked = TaskSpec { profile: profile.map(Into::into), model: model.map(Into::into), effort: level, ..task("Write a.rs") };
        let ComposedActor { input, selection } = factory.compose(&asked, &context).unwrap();
        assert_eq!((input.spec.model.as_str(), input.spec.effort, input.limits.context_tokens), (role, effort, window), "{asked:?}");
        let few_tools = selection.reasons.iter().any(|reason| reason == "few tools: the model is a small one");
        assert_eq!(few_tools, profile.is_none() && role == "fast", "the tools are those for the model that is used: {asked:?}");
        assert_eq!(first_request(&input).effort, effort);
    }
    for level in ReasoningEffort::ALL {
        assert_eq!(effort(level).as_str(), level.as_str());
    }
}

/// Returns the first request of an actor to its model.
fn first_request(input: &ActorInput) -> ChatRequest {
    use aime_durable::{Machine, Order, Outbox};

    let mut out = Outbox::default();
    let _actor = crate::ActorMachine::start(0, input, &mut out);
    match out.take().0.pop() {
        Some(Order::Issue(_, crate::ActorEffect::Model(request))) => request,
        order => panic!("{order:?}"),
    }
}

// Requirement: 6.12
#[test]
fn an_actor_is_told_of_the_risks_of_its_plan_in_few_words() {
    let risk = |description: &str| Risk { description: description.to_owned(), mitigation: "hope".to_owned() };
    let risks = [risk("pandas is\nmissing"), risk(" "), risk(&"the disk is full ".repeat(30)), risk("it rains"), risk("a fourth")];
    let registry = builtin();
    let mut context =
        ActorContext::new("Count the TODOs", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(5));
    context.risks = &risks;
    let with = ActorFactory::builtin().unwrap().compose(&task("Write report.md"), &context).unwrap().input;
    let without = compose(&task("Write report.md"), |_| {}).unwrap().input;
    assert_eq!((with.risks.len(), with.risks[0].as_str(), with.risks[2].as_str()), (3, "pandas is missing", "it rains"));
    let expected = "Report it (`report_evidence`, with its number as `risk`) if it turns out that:\n1. pandas is missing\n2. the disk";
    assert!(with.task.contains(expected), "{}", with.task);
    assert!(!without.task.contains("report_evidence"));
    let more = estimate_tokens(&with.task) - estimate_tokens(&without.task);
    assert!(more < 80, "{more} tokens");
}

// Requirement: 1.5, 4.1, 4.2
#[test]
fn an_actor_is_told_apart_by_its_spec() {
    let mut profiles = ProfileCatalog::builtin();
    let text = "name = \"poet\"\ndescription = \"Writes verse.\"\nprompt = \"You rhyme.\"\nbundles = [\"files\"]\ntools = [\"bash\"]\n\
                denied_tools = [\"edit_file\"]\nmodel = \"deep\"\ntemperature = 1.0\nmax_steps = 9\n";
    profiles.add_toml(text, "poet.toml").unwrap();
    let mut asked = task("Write a poem to poem.txt");
    (asked.profile, asked.name) = (Some("poet".into()), "Write a poem".into());
    let registry = builtin();
    let context = ActorContext::new("g", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(5));
    let spec = ActorFactory::new(profiles, Prompts::builtin().unwrap()).compose(&asked, &context).unwrap().input.spec;
    assert_eq!((spec.id.as_str(), spec.plan.as_str(), spec.task.as_str()), ("report-1", "p", "report"));
    assert!(spec.name.contains("poet") && spec.name.contains("Write a poem"), "{}", spec.name);
    assert!(!spec.description.is_empty());
    assert_eq!((spec.profile.as_str(), spec.persona.as_str(), spec.model.as_str()), ("poet", "You rhyme.", "deep"));
    assert_eq!((spec.temperature, spec.max_steps, spec.created_at), (Some(1.0), 9, Timestamp::from_millis(5)));
    let has = |name: &str| spec.tool(name).is_some();
    assert!(has("write_file") && has("bash") && !has("edit_file") && !has("python"), "{:?}", spec.tool_names());
}

// Requirement: 4.6
#[test]
fn a_read_only_profile_gets_no_tool_that_changes_something() {
    let mut profiles = ProfileCatalog::builtin();
    let text = "name = \"watcher\"\ndescription = \"d\"\nprompt = \"p\"\ncapabilities = [\"read\"]\nbundles = [\"code\", \"space\"]\ntools = [\"fly\"]\n";
    profiles.add_toml(text, "watcher.toml").unwrap();
    let mut spec = task("Look at it");
    spec.profile = Some("watcher".into());
    let registry = builtin();
    let context = ActorContext::new("g", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0));
    let composed = ActorFactory::new(profiles, Prompts::builtin().unwrap()).compose(&spec, &context).unwrap();
    assert!(composed.input.spec.tools.iter().all(|tool| !gather::changes_something(tool)));
    let reasons = composed.selection.reasons.join("\n");
    for expected in ["without `bash`", "without the bundle `space`", "without the tool `fly`"] {
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
    let context = ActorContext::new("g", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0));
    assert_eq!(empty.compose(&task("x"), &context).unwrap_err().to_string(), "there are no profiles to choose from");
}

#[test]
fn results_and_knowledge_are_cut_to_their_share() {
    let long = "word ".repeat(40_000);
    let registry = builtin();
    let mut context = ActorContext::new("g", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0));
    context.results = &long;
    context.knowledge = &long;
    context.limits = &|_| ModelLimits { context_tokens: 10_000, ..ModelLimits::default() };
    let composed = ActorFactory::builtin().unwrap().compose(&task("x"), &context).unwrap();
    for prompt in [&composed.input.system, &composed.input.task] {
        assert!(estimate_tokens(prompt) < 3_200, "{}", estimate_tokens(prompt));
        assert!(prompt.contains("of 200000 characters]"));
    }
}

// Requirement: 1.5, 4.9, 4.38, 7.8
#[test]
fn the_whole_first_request() {
    let mut spec = task("Write report.md with every TODO comment and the file it stands in.");
    spec.name = "Write the report".into();
    spec.completion_criteria = vec!["report.md exists".into(), "report.md names every file".into()];
    let composed = compose(&spec, |c| {
        c.overview = "- [x] Find TODOs\n- [>] Write the report (yours)\n- [ ] Mail it (at the same time)\n";
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

#[test]
fn a_small_model_reads_shorter_descriptions() {
    for (small, expected) in [(false, "Read files: text with its lines numbered, images, PDF."), (true, "Read a text file.")] {
        let limits = |_: &str| ModelLimits { small, ..ModelLimits::default() };
        let (tools, plan) = (builtin(), PlanId::new("p").unwrap());
        let context =
            ActorContext { limits: &limits, ..ActorContext::new("g", &tools, &NO_RULES).of_plan(plan, Timestamp::from_millis(5)) };
        let composed = ActorFactory::builtin().unwrap().compose(&task("Do it"), &context).unwrap();
        let tool_spec = composed.input.spec.tool("read_file").unwrap().clone();
        assert_eq!(tool_spec.definition.description, expected);
    }
}

/// Composes a delegated actor in a run that allows more than its parent may do.
fn compose_below(delegated: Delegated<'_>, description: &str) -> Result<ComposedActor, ComposeError> {
    let (tools, plan) = (builtin(), PlanId::new("p").unwrap());
    let context = ActorContext {
        delegated: Some(delegated),
        max_steps: Some(99),
        approval: Approval::All,
        ..ActorContext::new("Count the TODOs", &tools, &NO_RULES).of_plan(plan, Timestamp::from_millis(5))
    };
    ActorFactory::builtin().unwrap().compose(&task(description), &context)
}

fn delegate(by: &ActorInput, description: &str, profile: Option<&str>) -> Result<ComposedActor, ComposeError> {
    compose_below(Delegated { caller: by, call: "report/1/2/1", profile, frame: "" }, description)
}

#[test]
fn a_delegated_actor_has_at_most_what_its_parent_has() {
    let names = ["sisyphus", "oracle", "librarian", "explore", "atlas"];
    let texts = ["Write report.md", "Where is it?", "Run the tests and fix what fails"];
    for parent in names {
        let mut spec = task("Look at it");
        spec.profile = Some(parent.to_owned());
        let parent = compose(&spec, |context| {
            context.approval = Approval::Ask;
            context.attended = false;
        });
        let mut parent = parent.unwrap().input;
        parent.spec.max_steps = 7;
        for profile in names.map(Some).into_iter().chain([None]) {
            for text in texts {
                let child = delegate(&parent, text, profile).unwrap().input;
                let beyond: Vec<&str> = child.spec.tool_names().into_iter().filter(|tool| parent.spec.tool(tool).is_none()).collect();
                assert_eq!(beyond, Vec::<&str>::new(), "{} made {}", parent.spec.profile, child.spec.profile);
                assert!(child.spec.max_steps <= 7 && child.spec.approval == Approval::Ask && !child.attended);
                assert_eq!((child.depth, child.spec.tool("terminate").is_some()), (1, true));
                assert!(profile.is_none_or(|profile| profile == child.spec.profile), "who is named is taken");
            }
        }
    }
}

// Requirement: 4.32
#[test]
fn a_delegated_actor_works_below_its_parent() {
    let parent = compose(&task("Write report.md"), |_| {}).unwrap().input;
    assert_eq!((parent.depth, parent.effect_prefix().as_str()), (0, "report/1"));
    let child = delegate(&parent, "Write a part", None).unwrap().input;
    assert_eq!((child.effect_prefix().as_str(), child.spec.id.as_str()), ("report/1/2/1/d", "report-1-2-1-d"));
    assert!(child.spec.tool("delegate_task").is_some());
    let grandchild = delegate(&child, "Write a part of it", None).unwrap().input;
    assert!(grandchild.depth == 2 && grandchild.spec.tool("delegate_task").is_none(), "it is not offered where it would be refused");
    let error = delegate(&grandchild, "x", None).unwrap_err().to_string();
    assert!(error == "the delegation depth limit is 2, and this actor is at depth 2: it cannot delegate", "{error}");
    let error = delegate(&parent, "x", Some("zeus")).unwrap_err().to_string();
    assert_eq!(error, "there is no profile `zeus`; the profiles are: `sisyphus`, `oracle`, `librarian`, `explore`, `atlas`");
    // The parent's depth limit holds: a resume with other settings does not raise it.
    let mut shallow = parent.clone();
    shallow.settings.max_depth = 1;
    assert!(delegate(&shallow, "x", None).unwrap().input.spec.tool("delegate_task").is_none());
    shallow.settings.max_depth = 0;
    assert!(matches!(delegate(&shallow, "x", None), Err(ComposeError::TooDeep { depth: 0, max: 0 })));
}

fn skills() -> SkillCatalog {
    let mut skills = SkillCatalog::default();
    for (name, description) in [("bake", "Bakes bread.\n  Use it for dough."), ("trim-pdf", &"Trims. ".repeat(60))] {
        let skill = Skill {
            name: name.to_owned(),
            description: description.to_owned(),
            license: None,
            compatibility: None,
            metadata: std::collections::BTreeMap::new(),
            allowed_tools: vec!["bash".to_owned()],
            body: format!("# How to {name}\n\n1. Begin.\n"),
        };
        skills.add(InstalledSkill { skill, folder: name.into(), files: Vec::new() });
    }
    skills
}

fn compose_with_skills(profile: &str, added: &[String]) -> ComposedActor {
    let mut profiles = ProfileCatalog::builtin();
    profiles
        .add_toml("name = \"baker\"\ndescription = \"d\"\nprompt = \"You bake.\"\nskills = [\"bake\", \"fly\"]\n", "baker.toml")
        .unwrap();
    let mut registry = builtin();
    registry.register(load_skill(skills()));
    let mut spec = task("Make bread.txt");
    spec.profile = Some(profile.to_owned());
    let context = ActorContext {
        skills: added,
        ..ActorContext::new("g", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0))
    };
    ActorFactory::new(profiles, Prompts::builtin().unwrap()).with_skills(skills()).compose(&spec, &context).unwrap()
}

// Requirement: 2.16, 4.3
#[test]
fn skills_are_told_in_a_line_each_and_preloaded_where_they_are_named() {
    let input = compose_with_skills("sisyphus", &[]).input;
    assert!(input.spec.tool("load_skill").is_some() && input.spec.skills.is_empty());
    insta::assert_snapshot!("skills_that_can_be_read", input.system);
    let preloaded = compose_with_skills("baker", &["bake".to_owned(), "trim-pdf".to_owned()]);
    assert_eq!(preloaded.input.spec.skills, ["bake", "trim-pdf"]);
    assert!(preloaded.selection.reasons.contains(&"without the skill `fly`: it does not exist here".to_owned()));
    insta::assert_snapshot!("skills_that_are_given_whole", preloaded.input.system);
}

// Requirement: 4.2
#[test]
fn a_task_adds_tools_and_skills_and_denies_tools() {
    let mut registry = builtin();
    registry.register(load_skill(skills()));
    let mut asked = task("Make bread.txt");
    asked.profile = Some("sisyphus".to_owned());
    asked.bundles = vec!["files".to_owned()];
    asked.denied_tools = vec!["bash".to_owned(), "web_*".to_owned(), "terminate".to_owned()];
    asked.skills = vec!["bake".to_owned()];
    let context = ActorContext::new("g", &registry, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0));
    let factory = ActorFactory::builtin().unwrap().with_skills(skills());
    let composed = factory.compose(&asked, &context).unwrap();
    let is_denial = |reason: &&String| reason.ends_with("the task denies it") || reason.ends_with("the task denies them");
    assert_eq!(composed.selection.reasons.iter().filter(is_denial).collect::<Vec<_>>(), ["without `bash`: the task denies it"]);
    let spec = composed.input.spec;
    for (tool, has) in [("write_file", true), ("bash", false), ("bash_output", false), ("web_fetch", false), ("terminate", true)] {
        assert_eq!(spec.tool(tool).is_some(), has, "{tool}");
    }
    assert_eq!(spec.skills, ["bake"]);
}

/// `mcp_call_tool` calls tools that are not in the actor's list.
#[test]
fn a_denied_tool_of_a_server_is_denied_on_demand() {
    let mut profiles = ProfileCatalog::builtin();
    let text = "name = \"clerk\"\ndescription = \"d\"\nprompt = \"p\"\ndenied_tools = [\"mcp__mail__*\", \"bash\"]\n";
    profiles.add_toml(text, "clerk.toml").unwrap();
    let factory = ActorFactory::new(profiles, Prompts::builtin().unwrap());
    let asked = TaskSpec {
        profile: Some("clerk".to_owned()),
        denied_tools: vec!["mcp__git__push".to_owned(), "python".to_owned()],
        ..task("Write report.md")
    };
    let tools = builtin();
    let context = || ActorContext::new("g", &tools, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0));
    let parent = factory.compose(&asked, &context()).unwrap().input;
    let delegated = Some(Delegated { caller: &parent, call: "report/1/2/1", profile: Some("sisyphus"), frame: "" });
    let child = factory.compose(&task("Write a part"), &ActorContext { delegated, ..context() }).unwrap().input;
    let cases = [("mcp__git__push", true), ("mcp__git__log", false), ("mcp__mail__send", true), ("mcp__files__read", false)];
    for spec in [&parent.spec, &child.spec] {
        for (tool, is_denied) in cases {
            let parameters = [("name".to_owned(), tool.into())].into_iter().collect();
            assert_eq!(spec.rules.denies("mcp_call_tool", &parameters).is_some(), is_denied, "{} {tool}", spec.profile);
        }
        assert_eq!(spec.rules.lists().deny.len(), 2, "tools of the list need no rule");
    }
}

// Requirement: 4.4
#[test]
fn a_spec_holds_the_skills_that_stand_in_its_profile() {
    let mut profiles = ProfileCatalog::builtin();
    let text = "name = \"poet\"\ndescription = \"d\"\nprompt = \"You rhyme.\"\nskills = [\"bake\"]\n\
                [inline_skills]\nhaiku = \"Three lines: five, seven and five syllables.\"\nbake = \"Not that one.\"\n";
    profiles.add_toml(text, "poet.toml").unwrap();
    let mut asked = task("Write poem.txt");
    asked.profile = Some("poet".into());
    let tools = builtin();
    let context = ActorContext::new("g", &tools, &NO_RULES).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0));
    let factory = ActorFactory::new(profiles, Prompts::builtin().unwrap()).with_skills(skills());
    let input = factory.compose(&asked, &context).unwrap().input;
    assert_eq!(input.spec.skills, ["bake", "haiku"]);
    assert_eq!(input.spec.inline_skills["haiku"], "Three lines: five, seven and five syllables.");
    let (haiku, bake) = ("# Skill haiku\nThree lines: five, seven and five syllables.", "# Skill bake\nNot that one.");
    assert!(input.system.contains(haiku) && input.system.contains(bake), "{}", input.system);
    // A spec without inline skills is read as having none.
    let mut old = serde_json::to_value(&input.spec).unwrap();
    old.as_object_mut().unwrap().remove("inline_skills");
    assert!(serde_json::from_value::<ActorSpec>(old).unwrap().inline_skills.is_empty());
}

#[test]
fn without_skills_nothing_is_said_of_them() {
    let composed = compose(&task("Write report.md"), |_| {}).unwrap().input;
    assert!(composed.spec.tool("load_skill").is_none() && !composed.system.contains("skill"), "{}", composed.system);
}

// Requirement: 19.6
#[test]
fn an_actor_is_told_to_answer_in_the_language_of_its_person() {
    const IN_CHINESE: &str = "\n\n请用中文写出结果，以及所有给人看的内容。";
    let alone = |goal: &'static str| compose(&task(goal), |c| c.goal = goal).unwrap().input.task;
    let chinese = alone("写一首关于春天的诗");
    assert!(chinese.contains(&format!("写一首关于春天的诗{IN_CHINESE}")), "{chinese}");
    let french = alone("Écris un poème");
    assert!(french.contains("\n\nWrite the result, and all that people read, in the language of the task."), "{french}");
    let with_goal = |goal: &'static str| compose(&task("Count the TODOs of a.rs"), |c| c.goal = goal).unwrap().input.task;
    let foreign = with_goal("统计所有 TODO");
    assert!(foreign.trim_end().ends_with(IN_CHINESE), "also where the plan is in English: {foreign}");
    let notes = |goal: &'static str| compose(&task("a"), |c| c.goal = goal).unwrap().input.notes;
    assert!(notes("统计所有 TODO")["each_step"].contains("用中文") && notes("Count the TODOs").is_empty());
    assert!(with_goal("Compter les tâches").trim_end().ends_with("in the language of the goal."));
    assert!(!with_goal("Count the TODOs").contains("in the language of"), "one in English is as short as it was");
}

#[test]
fn the_whole_first_request_of_a_delegated_actor() {
    let parent = compose(&task("Write report.md"), |_| {}).unwrap().input;
    let frame = "Write the report: report.md names every file";
    let delegated = Delegated { caller: &parent, call: "report/1/2/1", profile: Some("explore"), frame };
    let composed = compose_below(delegated, "Count the lines of a.rs");
    let input = composed.unwrap().input;
    insta::assert_snapshot!(format!("[system]\n{}\n\n[user]\n{}", input.system, input.task));
}

/// Measures the part of every request that does not depend on the task: instructions and tools.
#[test]
fn the_fixed_part_of_a_prompt_is_small() {
    let profiles: Vec<String> = ActorFactory::builtin().unwrap().profiles().iter().map(|profile| profile.name.clone()).collect();
    for profile in profiles {
        let mut asked = task("Do it");
        asked.profile = Some(profile.clone());
        let composed = compose(&asked, |_| {}).unwrap();
        let messages = [Message::System { content: composed.input.system }, Message::user(composed.input.task)];
        let request = ChatRequest {
            messages: messages.map(Arc::new).into(),
            tools: composed.input.spec.tools.iter().map(|tool| tool.definition.clone()).collect(),
            ..ChatRequest::default()
        };
        let tokens = aime_llm::estimate_request_tokens(&request);
        assert!(tokens < 2_500, "{profile}: {tokens} tokens");
    }
}
