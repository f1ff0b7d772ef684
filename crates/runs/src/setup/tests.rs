//! Tests that settings take effect, and of the user's own files.

use std::{ffi::OsStr, fs, time::Duration};

use aime_tools::Approval;
use tempfile::TempDir;

use super::*;
use crate::models;

/// User folder and project, from which a setup is created.
struct World {
    root: TempDir,
}

impl World {
    fn new(settings: &str) -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        world.file("config/aime/config.toml", settings);
        world.file("work/README.md", "");
        world
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn setup(&self) -> Setup {
        let config = self.root.path().join("config").display().to_string();
        let environment = Environment::of([("XDG_CONFIG_HOME", config.as_str()), ("LANG", "x"), ("EDITOR", "vi"), ("MY_TOKEN", "t")]);
        Setup::builder(environment).open(Some(&self.root.path().join("work"))).unwrap_or_else(|failure| panic!("{failure:?}"))
    }
}

fn usage_failure<T>(result: Result<T, RunsError>) -> String {
    let failure = result.err().unwrap();
    assert_eq!(failure.kind, ErrorKind::Usage);
    format!("{} / {}", failure.message, failure.hint.unwrap_or_default())
}

#[test]
fn settings_arrive() {
    let world = World::new(
        "[planning]\nmax_attempts = 5\nfallback = \"none\"\nstrategy = \"always\"\n\
         [planning.bypass]\nmax_input_length = 7\nsingle_file = false\nclear_category = false\n\
         [planning.limits]\nmax_tasks = 9\nmax_sub_goals = 8\nmax_actions = 7\n\
         [tools]\nbash_timeout_seconds = 11\npython_timeout_seconds = 12\n\
         [classes.capable]\noutput_characters = 1300\n\
         [sandbox]\nenvironment = [\"EDITOR\", \"MY_TOKEN\"]\n[permissions]\napprove = \"ask\"\n",
    );
    let setup = world.setup();
    let planner = setup.planner();
    assert_eq!((planner.max_attempts, planner.fallback), (5, Fallback::Fail));
    assert_eq!((planner.limits.max_tasks, planner.limits.max_sub_goals, planner.limits.max_actions), (9, 8, 7));
    let route = setup.route();
    assert_eq!(route.strategy, aime_dynamic_planner::Strategy::Always);
    assert_eq!((route.bypass.max_input_length, route.bypass.single_file, route.bypass.clear_category), (7, false, false));
    let limit = |name: &str| setup.tools().get(name).unwrap().spec().time_limit;
    assert_eq!((limit("bash"), limit("python")), (Duration::from_secs(11), Duration::from_secs(12)));
    let context = setup.tool_context().unwrap();
    assert_eq!(context.for_model(aime_llm::ModelLimits::default()).text_limit, Some(1_300));
    let context = setup.tool_context().unwrap();
    let sees = |name: &str| context.environment.contains_key(OsStr::new(name));
    assert!(sees("EDITOR") && !sees("MY_TOKEN"), "a secret is never passed on");
    assert_eq!(setup.config.permissions.approve, Approval::Ask);
}

// Requirement: 2.14, 2.15
#[test]
fn python_writes_no_byte_code_unless_the_user_asks_for_it() {
    let value = |setup: &Setup| setup.clean_environment().get(OsStr::new("PYTHONDONTWRITEBYTECODE")).cloned();
    let world = World::new("[sandbox]\nenvironment = [\"PYTHONDONTWRITEBYTECODE\"]\n");
    assert_eq!(value(&world.setup()), Some("1".into()));
    let config = world.root.path().join("config").display().to_string();
    let environment = Environment::of([("XDG_CONFIG_HOME", config.as_str()), ("PYTHONDONTWRITEBYTECODE", "")]);
    let setup = Setup::builder(environment).open(Some(&world.root.path().join("work"))).unwrap();
    assert_eq!(value(&setup), Some("".into()));
}

#[test]
fn ones_own_files_take_the_place_of_the_built_in_ones() {
    let profile = |name: &str, description: &str| format!("name = {name:?}\ndescription = {description:?}\nprompt = \"You are.\"\n");
    let world = World::new("[extensions]\nfolders = [\"../../team\"]\n");
    world.file("config/aime/profiles/atlas.toml", &profile("atlas", "mine"));
    world.file("config/aime/profiles/zeus.toml", &profile("zeus", "mine"));
    world.file("config/aime/profiles/notes.txt", "no profile");
    world.file("team/profiles/zeus.toml", &profile("zeus", "the team's"));
    world.file("config/aime/categories/own.toml", "[[category]]\nname = \"coding\"\nkeywords = [\"hammer\"]\nprofile = \"zeus\"\n");
    world.file("team/prompts/route.md", "{{ goal }}: which?\n");
    world.file("team/prompts/actor_task.md", "{{ description }}\n");
    let setup = world.setup();
    let profiles = setup.profiles().unwrap();
    let described = |name: &str| profiles.get(name).unwrap().description.clone();
    assert_eq!((described("atlas"), described("zeus")), ("mine".to_owned(), "the team's".to_owned()));
    assert_eq!(profiles.iter().count(), 6);
    let categories = setup.categories().unwrap();
    let coding: Vec<_> = categories.iter().filter(|category| category.name == "coding").collect();
    assert!(coding.len() == 1 && coding[0].profile == "zeus", "{coding:?}");
    assert!(setup.prompts().is_ok());
}

#[test]
fn a_projects_own_files_are_not_read_unless_it_is_trusted() {
    let zeus = "name = \"zeus\"\ndescription = \"d\"\nprompt = \"You are.\"\n";
    let untrusted = World::new("");
    for folder in ["work/.aime", "work", "work/own"] {
        untrusted.file(&format!("{folder}/profiles/zeus.toml"), zeus);
    }
    untrusted.file("work/aime.toml", "[extensions]\nfolders = [\"own\"]\n");
    let setup = untrusted.setup();
    assert!(setup.profiles().unwrap().get("zeus").is_none());
    assert_eq!(setup.notes.len(), 1, "{:?}", setup.notes);

    let trusting = format!("[permissions]\ntrusted_folders = [{:?}]\n", untrusted.root.path());
    untrusted.file("config/aime/config.toml", &trusting);
    assert!(untrusted.setup().profiles().unwrap().get("zeus").is_some());
}

#[test]
fn faulty_files_of_ones_own_are_named() {
    let world = World::new("[extensions]\nfolders = [\"nowhere\"]\n");
    let text = usage_failure(world.setup().profiles());
    assert!(text.contains("config/aime/nowhere, which is not a folder"), "{text}");

    let world = World::new("");
    world.file("config/aime/profiles/zeus.toml", "name = zeus\n");
    world.file("config/aime/categories/own.toml", "[[categories]]\n");
    world.file("config/aime/prompts/rout.md", "x\n");
    let setup = world.setup();
    for (text, words) in [
        (usage_failure(setup.profiles()), ["zeus.toml:1", "profiles"]),
        (usage_failure(setup.categories()), ["own.toml", "categor"]),
        (usage_failure(setup.prompts()), ["rout", "rout.md"]),
    ] {
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    world.file("config/aime/prompts/rout.md", "");
    fs::remove_file(world.root.path().join("config/aime/prompts/rout.md")).unwrap();
    for (file, prompt, word) in
        [("route.md", "{{ gaol }}\n", "gaol"), ("route.md", "Decide.\n", "{{ goal }}"), ("actor_task.md", "Do it.\n", "{{ description }}")]
    {
        world.file("config/aime/prompts/route.md", "{{ goal }}\n");
        world.file(&format!("config/aime/prompts/{file}"), prompt);
        let text = usage_failure(world.setup().prompts());
        assert!(text.contains(word) && text.contains(file), "{text}");
    }
}

#[test]
fn names_that_nothing_has_are_refused_at_their_place() {
    let world = World::new("[extensions]\nfolders = [\"../../team\"]\n[models.fast]\nmodel = \"m\"\n");
    world.file("team/profiles/zeus.toml", "name = \"zeus\"\ndescription = \"d\"\nprompt = \"You are.\"\nmodel = \"fast\"\n");
    let category = |more: &str| format!("[[category]]\nname = \"a\"\nprofile = \"zeus\"\n[[category]]\nname = \"b\"\n{more}");
    for sound in ["profile = \"zeus\"\nmodel = \"fast\"\n", "profile = \"oracle\"\nmodel = \"planner\"\n", "profile = \"\"\n"] {
        world.file("config/aime/categories/own.toml", &category(sound));
        assert_eq!(world.setup().categories().unwrap().iter().filter(|category| ["a", "b"].contains(&category.name.as_str())).count(), 2);
    }
    for (wrong, fault, hint) in [
        ("profile = \"sysiphus\"\n", "6:11: there is no profile \"sysiphus\"", "did you mean \"sisyphus\"?"),
        ("profile = \"zeus\"\nmodel = \"fastt\"\n", "7:9: there is no model \"fastt\"", "did you mean \"fast\"?"),
        ("profile = \"somebody else\"\n", "6:11: there is no profile \"somebody else\"", "use one of the known profiles"),
    ] {
        world.file("config/aime/categories/own.toml", &category(wrong));
        let setup = world.setup();
        let text = usage_failure(setup.categories());
        assert!(text.ends_with(&format!("own.toml:{fault} / {hint}")), "{text}");
        let choice = models::choose(&setup.config, &Environment::of([("OPENAI_API_KEY", "k")]), None).unwrap().unwrap();
        assert_eq!(usage_failure(models::build(&choice, &setup)), text, "no run is begun");
    }
    world.file("config/aime/categories/own.toml", "");
    world.file("config/aime/profiles/ares.toml", "name = \"ares\"\ndescription = \"d\"\nprompt = \"p\"\nmodel = \"planer\"\n");
    let text = usage_failure(world.setup().profiles());
    assert!(text.ends_with("ares.toml:4:9: there is no model \"planer\" / did you mean \"planner\"?"), "{text}");
}

/// A project may bring the skills that the user's files name, so missing ones are reported and nothing is refused.
#[test]
fn skills_that_are_not_here_are_missed() {
    let world = World::new("");
    let missing =
        || world.setup().missing_skills().unwrap().into_iter().map(|missing| format!("{} / {}", missing.message, missing.hint.unwrap()));
    world.file("config/aime/categories/own.toml", "[[category]]\nname = \"a\"\nprofile = \"atlas\"\nskills = [\"bake\", \"trim\"]\n");
    world.file("config/aime/profiles/ares.toml", "name = \"ares\"\ndescription = \"d\"\nprompt = \"p\"\nskills = [\"bkae\"]\n");
    let notes: Vec<String> = missing().collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[1].ends_with("own.toml:4:11: there is no skill \"bake\" / use one of the known skills"), "{notes:?}");
    world.file("work/.agents/skills/bake/SKILL.md", "---\nname: bake\ndescription: d\n---\nhow\n");
    let notes: Vec<String> = missing().collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].ends_with("ares.toml:4:11: there is no skill \"bkae\" / did you mean \"bake\"?"), "{notes:?}");
    assert!(notes[1].contains("own.toml:4:19: there is no skill \"trim\""), "{notes:?}");
    assert!(world.setup().categories().is_ok() && world.setup().profiles().is_ok());
}

#[test]
fn something_else_in_the_place_of_the_journal_is_said() {
    let world = World::new("");
    world.file("work/.aime", "a file\n");
    for text in [usage_failure(world.setup().journal()), usage_failure(world.setup().existing_journal())] {
        assert!(text.contains(".aime is not a folder") && text.contains("choose another working folder"), "{text}");
    }
    #[cfg(unix)]
    {
        // The link leads to itself, so nobody can follow it.
        let world = World::new("");
        std::os::unix::fs::symlink(".aime", world.root.path().join("work/.aime")).unwrap();
        let text = usage_failure(world.setup().existing_journal());
        assert!(text.contains("cannot look into ") && text.contains(".aime: ") && text.contains("fix the permissions"), "{text}");
    }
    let world = World::new("");
    assert!(world.setup().existing_journal().unwrap().is_none());
    assert!(!world.root.path().join("work/.aime").exists(), "looking makes nothing");
    world.setup().journal().unwrap();
    assert_eq!(fs::read_to_string(world.root.path().join("work/.aime/.gitignore")).unwrap(), "*\n");
}

#[test]
fn the_working_folder_must_be_one() {
    let world = World::new("");
    for (path, word) in [("none", "cannot be used"), ("work/README.md", "is not a folder")] {
        let text = usage_failure(working_folder(Some(&world.root.path().join(path))));
        assert!(text.contains(word) && text.contains("an existing folder"), "{text}");
    }
}

#[test]
fn skills_are_found_and_what_takes_the_place_of_another_is_said() {
    let skill = |name: &str, body: &str| format!("---\nname: {name}\ndescription: d\n---\n{body}\n");
    let world = World::new("");
    assert!(world.setup().skills().catalog.is_empty() && world.setup().tools().get("load_skill").is_none());
    world.file("config/aime/skills/bake/SKILL.md", &skill("bake", "the user's"));
    world.file("config/aime/skills/bake/notes/dough.md", "x");
    world.file("config/aime/skills/bake/.hidden", "x");
    world.file("config/aime/skills/README.md", "no skill");
    world.file("config/aime/skills/trim/SKILL.md", &skill("trim", "the user's"));
    world.file("work/.agents/skills/trim/SKILL.md", &skill("trim", "the project's"));
    world.file("work/.agents/skills/sew/SKILL.md", "---\nname: sew\n---\nx");
    world.file("work/.agents/skills/knit/notes.md", "not one yet");
    world.file("work/.claude/skills/fold/SKILL.md", &skill("fold", "the project's"));
    world.file("work/.aime/skills/trim/SKILL.md", &skill("trim", "this folder's"));
    let setup = world.setup();
    let found = setup.skills();
    let known: Vec<_> =
        found.catalog.iter().map(|known| (known.skill.name.as_str(), known.skill.body.as_str(), known.files.join(" "))).collect();
    let one = |name, body| (name, body, String::new());
    assert_eq!(known, [("bake", "the user's", "notes/dough.md".to_owned()), one("fold", "the project's"), one("trim", "this folder's")]);
    assert_eq!(found.notes.len(), 3, "{:?}", found.notes);
    let notes = found.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for expected in [
        "a skill is not used: ",
        ".agents/skills/sew/SKILL.md:2: `description` is missing",
        ".agents/skills/trim; the one of ",
        "the skill `trim` is that of ",
        ".aime/skills/trim; the one of ",
    ] {
        assert!(notes.contains(expected), "{expected}: {notes}");
    }
    assert!(setup.tools().get("load_skill").is_some());
}

#[cfg(unix)]
#[test]
fn no_skill_of_a_project_is_read_from_elsewhere() {
    use std::os::unix::fs::symlink;

    let skill = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nhow\n");
    let world = World::new("");
    world.file("elsewhere/out/SKILL.md", &skill("out"));
    world.file("elsewhere/own/SKILL.md", &skill("own"));
    world.file("work/kept/in/SKILL.md", &skill("in"));
    let at = |path: &str| world.root.path().join(path);
    for folder in ["work/.agents/skills/file", "config/aime/skills"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    symlink(at("elsewhere/out/SKILL.md"), at("work/.agents/skills/file/SKILL.md")).unwrap();
    symlink("../../../elsewhere/out", at("work/.agents/skills/out")).unwrap();
    symlink("../../kept/in", at("work/.agents/skills/in")).unwrap();
    // A link in the user's own folder is trusted.
    symlink(at("elsewhere/own"), at("config/aime/skills/own")).unwrap();
    let setup = world.setup();
    let found = setup.skills();
    assert_eq!(found.catalog.iter().map(|known| known.skill.name.as_str()).collect::<Vec<_>>(), ["in", "own"]);
    assert_eq!(found.notes.len(), 2, "{:?}", found.notes);
    assert!(found.notes.iter().all(|note| note.to_string().starts_with("a skill is not used: ")), "{:?}", found.notes);
}

#[test]
fn what_the_project_says_is_read_from_the_project_alone() {
    let world = World::new("");
    let work = world.root.path().join("work");
    assert_eq!(world.setup().project(), "");
    world.file("work/AGENTS.md", "say hello");
    assert_eq!(world.setup().project(), "say hello");
    // Invalid UTF-8 is replaced, and the rest is read.
    fs::write(work.join("AGENTS.md"), b"say \xff hello").unwrap();
    assert_eq!(world.setup().project(), "say \u{fffd} hello");
    world.file("work/AGENTS.md", &"a line of ten\n".repeat(2_000));
    assert!(world.setup().project().ends_with("\n(572 more lines of AGENTS.md are left out here: read the file where they matter)"));
    #[cfg(unix)]
    {
        world.file("key", "very secret");
        fs::remove_file(work.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("../key", work.join("AGENTS.md")).unwrap();
        assert_eq!(world.setup().project(), "", "it leads out of the folder");
        fs::remove_file(work.join("AGENTS.md")).unwrap();
        world.file("work/docs/agents.md", "say hello here");
        std::os::unix::fs::symlink("docs/agents.md", work.join("AGENTS.md")).unwrap();
        assert_eq!(world.setup().project(), "say hello here");
    }
}

#[cfg(feature = "web")]
#[test]
fn a_model_over_chat_completions_does_not_search() {
    let model = |role: &str, protocol: &str| {
        format!("[models.{role}]\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9/v1\"\nprotocol = \"{protocol}\"\n")
    };
    let searches = |models: &str| {
        let world = World::new(&format!("[web.search]\nprovider = \"model\"\n{models}"));
        world.setup().tools().get("web_search").is_some()
    };
    for (protocol, expected) in [("chat", false), ("responses", true), ("messages", true), ("gemini", true)] {
        assert_eq!(searches(&model("search", protocol)), expected, "{protocol}");
        assert_eq!(searches(&model("default", protocol)), expected, "{protocol} by default");
    }
    assert!(searches(&(model("default", "chat") + &model("search", "messages"))), "the role is asked");
    let world = World::new("[web.search]\nprovider = \"model\"\n");
    let setup = world.setup();
    let config = toml::from_str::<Config>(&model("default", "chat")).unwrap();
    let chosen = models::Choice { models: config.models, because: Message::text("") };
    let of_run = models::build(&chosen, &setup).unwrap();
    assert!(setup.tools_with(Some(&of_run)).get("web_search").is_none(), "the run has another default model");
}
