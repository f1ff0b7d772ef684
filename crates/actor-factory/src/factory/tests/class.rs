//! Tests that an actor's limits follow the class of the model that it uses.

use aime_llm::ModelLimits;
use aime_tools::{ModelClass, ModelClasses};

use super::{NO_RULES, builtin, task};
use crate::{ActorContext, ActorFactory, ComposedActor, ProfileCatalog, Prompts};

/// Composes an actor in a run whose roles `default` and `other` have models of different classes.
fn composed(
    profile_model: Option<&str>,
    task_model: Option<&str>,
    default_is_small: bool,
    classes: ModelClasses,
    max_steps: Option<u32>,
) -> ComposedActor {
    let mut profiles = ProfileCatalog::builtin();
    let model = profile_model.map(|model| format!("model = \"{model}\"\n")).unwrap_or_default();
    profiles.add_toml(&format!("name = \"own\"\ndescription = \"d\"\nprompt = \"p\"\n{model}"), "own.toml").unwrap();
    let mut asked = task("Look at it");
    (asked.profile, asked.model) = (Some("own".into()), task_model.map(Into::into));
    let limits = |role: &str| ModelLimits { small: default_is_small == (role == "default"), ..ModelLimits::default() };
    let registry = builtin();
    let context = ActorContext { limits: &limits, classes, max_steps, ..ActorContext::new("g", &registry, &NO_RULES) };
    ActorFactory::new(profiles, Prompts::builtin().unwrap()).compose(&asked, &context).unwrap()
}

/// Changes a setting of a class.
type Change = fn(&mut ModelClass);

// Requirement: 4.12
#[test]
fn limits_follow_the_model_that_is_used() {
    let table = [
        // columns: model of the profile, model of the task, small default, steps, notes after each step
        (None, None, false, 100, false),
        (None, None, true, 20, true),
        (Some("other"), None, false, 20, true),
        (Some("other"), None, true, 100, false),
        (None, Some("other"), false, 20, true),
        (Some("other"), Some("default"), false, 100, false),
    ];
    for (of_profile, of_task, default_is_small, steps, notes) in table {
        let input = composed(of_profile, of_task, default_is_small, ModelClasses::default(), None).input;
        let found = (input.spec.max_steps, input.class.step_notes, input.class.retry_reported_failures, input.limits.small);
        assert_eq!(found, (steps, notes, notes, notes), "{of_profile:?} {of_task:?} {default_is_small}");
    }
}

// Requirement: 10.5
#[test]
fn steps_follow_the_run_the_profile_and_the_class() {
    let mut classes = ModelClasses::default();
    classes.capable.max_steps = 7;
    for (profile, allowed, expected) in [("few", 40, 9), ("few", 5, 5), ("sisyphus", 40, 40)] {
        let mut profiles = ProfileCatalog::builtin();
        profiles.add_toml("name = \"few\"\ndescription = \"d\"\nprompt = \"p\"\nmax_steps = 9\n", "few.toml").unwrap();
        let mut asked = task("Look at it");
        asked.profile = Some(profile.into());
        let registry = builtin();
        let context = ActorContext { max_steps: Some(allowed), ..ActorContext::new("g", &registry, &NO_RULES) };
        let made = ActorFactory::new(profiles, Prompts::builtin().unwrap()).compose(&asked, &context).unwrap();
        assert_eq!(made.input.spec.max_steps, expected, "{profile} in a run that allows {allowed}");
    }
    for (max_steps, expected) in [(None, 7), (Some(5), 5), (Some(400), 400)] {
        assert_eq!(composed(None, None, false, classes, max_steps).input.spec.max_steps, expected, "{max_steps:?}");
    }
}

#[test]
fn each_setting_of_a_class_decides_what_an_actor_gets() {
    let with = |change: fn(&mut ModelClass), is_small: bool| {
        let mut classes = ModelClasses::default();
        change(if is_small { &mut classes.small } else { &mut classes.capable });
        let limits = |_: &str| ModelLimits { small: is_small, ..ModelLimits::default() };
        let registry = builtin();
        let context = ActorContext { limits: &limits, classes, ..ActorContext::new("g", &registry, &NO_RULES) };
        let input = ActorFactory::builtin().unwrap().compose(&task("Fix the tests"), &context).unwrap().input;
        let reads_many = input.spec.tool("read_file").unwrap().definition.parameters["properties"].get("paths").is_some();
        (reads_many && input.spec.tool("grep").is_some(), input.names_work)
    };
    // Columns: change, small, all tools with all parameters, asked back about work.
    let table: [(Change, bool, bool, bool); 6] = [
        (|_| (), true, false, false),
        (|_| (), false, true, true),
        (|class| class.simple_tools = false, true, true, false),
        (|class| class.simple_tools = true, false, false, true),
        (|class| class.ask_for_work = true, true, false, true),
        (|class| class.ask_for_work = false, false, true, false),
    ];
    for (at, (change, is_small, all_tools, asks)) in table.into_iter().enumerate() {
        assert_eq!(with(change, is_small), (all_tools, asks), "row {at}");
    }
}
