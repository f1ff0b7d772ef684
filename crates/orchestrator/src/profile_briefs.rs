//! The descriptions of profiles for planners.

use aime_actor_factory::{Profile, ProfileCatalog};
use aime_dynamic_planner::ProfileBrief;
use aime_tools::ToolRegistry;

/// Returns the descriptions of the profiles for plans, which also serve to validate plans.
#[must_use]
pub fn profile_briefs(profiles: &ProfileCatalog, tools: &ToolRegistry) -> Vec<ProfileBrief> {
    let brief = |profile: &Profile| ProfileBrief {
        never_gets: profile.never_gets(tools.all_specs()),
        ..ProfileBrief::new(&profile.name, &profile.description)
    };
    profiles.iter().map(brief).collect()
}

#[cfg(test)]
mod tests {
    use aime_dynamic_planner::PlanChecker;
    use aime_tools::{BUNDLES, builtin};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_is_checked_for_what_its_task_needs() {
        let tools = builtin();
        let profiles = profile_briefs(&ProfileCatalog::builtin(), &tools);
        let bundles: Vec<String> = BUNDLES.iter().map(|bundle| bundle.name.to_owned()).collect();
        let checker = PlanChecker { profiles: &profiles, bundles: &bundles, ..PlanChecker::default() };
        let lacks = |bundle: &str, capability: &str| {
            let of = format!("for its bundle {bundle:?}, and actors of the profile \"oracle\" never have it");
            format!("the task `a` needs the capability {capability:?} {of}")
        };
        let table = [
            ("oracle", "files_read", None),
            ("oracle", "files", Some(lacks("files", "write"))),
            ("sisyphus", "shell", None),
            ("oracle", "shell", Some(lacks("shell", "execute"))),
        ];
        for (profile, bundle, expected) in table {
            let plan = json!({"tasks": [{"id": "a", "description": "x", "profile": profile, "bundles": [bundle]}]});
            let found = checker.check(&plan.to_string()).err().unwrap_or_default();
            let found: Vec<String> = found.iter().map(|fault| fault.problem.to_string()).collect();
            assert_eq!(found.first(), expected.as_ref(), "{profile} {bundle}");
        }
    }
}
