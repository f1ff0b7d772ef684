//! Settings of several sources that complete or contradict each other.

use super::*;

/// Returns a world with these user settings, project settings and variables. The project is trusted.
fn world(user: &str, project: &str, variables: &[(&str, &str)]) -> World {
    let mut world = World::new();
    world.file("config/aime/config.toml", &format!("{}{user}", trust(&world)));
    world.file("work/aime.toml", project);
    variables.iter().for_each(|(name, value)| world.set(name, value));
    world
}

/// User settings, project settings and variables.
type Sources<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

const SERVER: &str = "[mcp.servers.github]\ncommand = \"github-mcp\"\n";
const REMOTE: &str = "[mcp.servers.github]\nurl = \"https://example.org/mcp\"\n";
const HELPER: &str = "[profiles.helper.agent]\ncommand = \"helper\"\n";
const SEARCH: &str = "[web.search]\nprovider = \"searxng\"\nurl = \"https://search.example\"\n";

#[test]
fn sources_complete_each_other() {
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], fn(&Config) -> bool);
    let cases: [Case<'_>; 8] = [
        (SERVER, "", &[("AIME__MCP__SERVERS__GITHUB__ENABLED", "false")], |config| config.mcp.used().count() == 0),
        (SERVER, "[mcp.servers.github]\nenabled = false\n", &[], |config| {
            let server = &config.mcp.servers["github"];
            !server.enabled && server.command.as_deref() == Some("github-mcp")
        }),
        ("[mcp.servers.github]\nclient_id = \"aime\"\n", REMOTE, &[("AIME__MCP__SERVERS__GITHUB__CLIENT_SECRET_ENV", "S")], |config| {
            config.mcp.servers["github"].client_secret_env.is_some()
        }),
        (HELPER, "[profiles.helper.agent]\nargs = [\"--acp\"]\n", &[], |config| config.profiles["helper"].agent.args == ["--acp"]),
        (SEARCH, "[web.search]\nprovider = \"searxng\"\nresults = 3\n", &[], |config| config.web.search.as_ref().unwrap().url.is_some()),
        // aime ignores a setting of the provider that a later source has replaced.
        (SEARCH, "[web.search]\nprovider = \"model\"\n", &[], |config| {
            config.web.search.as_ref().unwrap().provider == SearchProviderConfig::Model
        }),
        ("[models.default]\nprovider = \"local\"\npath = \"m.gguf\"\n", "[models.default]\nprovider = \"openai\"\n", &[], |config| {
            config.models["default"].provider == Provider::Openai
        }),
        ("[planning.classifier]\nmin_complex_score = 9\n", "", &[("AIME__PLANNING__CLASSIFIER__MAX_SIMPLE_SCORE", "5")], |config| {
            config.planning.classifier.max_simple_score == 5
        }),
    ];
    for (user, project, variables, holds) in cases {
        let world = world(user, project, variables);
        assert!(holds(&world.config()), "{user}{project}{variables:?}");
        assert_eq!(check_each(&world.places(), &world.environment()), [], "{user}{project}{variables:?}");
    }
}

#[test]
fn faults_of_combinations_name_the_source_that_makes_them() {
    let cases: [Sources<'_>; 13] = [
        (SERVER, REMOTE, &[]),
        (REMOTE, SERVER, &[("AIME__MCP__SERVERS__GITHUB__ENABLED", "true")]),
        (SERVER, "", &[("AIME__MCP__SERVERS__GITHUB__URL", "https://example.org/mcp")]),
        (REMOTE, "[mcp.servers.github]\nargs = [\"--all\"]\n", &[]),
        ("[mcp.servers.github.headers]\nx-team = \"a\"\n", SERVER, &[]),
        (REMOTE, "[mcp.servers.gitub]\nenabled = false\n", &[]),
        (REMOTE, "", &[("AIME__MCP__SERVERS__GITHUB__CLIENT_SECRET_ENV", "S")]),
        ("[mcp.servers.github]\nclient_id = \"aime\"\n", REMOTE, &[("AIME__MCP__SERVERS__GITHUB__BEARER_TOKEN_ENV", "T")]),
        ("[profiles.helper.agent]\nfiles = false\n", "[profiles.helper.agent]\nargs = [\"--acp\"]\n", &[]),
        ("[web.search]\nprovider = \"model\"\n", "", &[("AIME__WEB__SEARCH", "{\"provider\": \"model\", \"url\": \"http://a\"}")]),
        (SEARCH, "[web.search]\nprovider = \"brave\"\n", &[]),
        ("[models.default]\nprovider = \"openai\"\n", "[models.default]\npath = \"m.gguf\"\n", &[]),
        ("", "[planning.classifier]\nmin_complex_score = -3\n", &[]),
    ];
    let fault = |(user, project, variables): &Sources<'_>| {
        let world = world(user, project, variables);
        let all = check_each(&world.places(), &world.environment());
        assert_eq!(all.first(), world.load().err().as_ref(), "`aime config check` tells it too");
        format!("{user}{project}{variables:?}\n{}\n", world.fault())
    };
    insta::assert_snapshot!(cases.iter().map(fault).collect::<Vec<_>>().join("\n"));
}

#[test]
fn an_untrusted_project_completes_no_server() {
    let world = World::new();
    world.file("config/aime/config.toml", SERVER);
    world.file("work/aime.toml", REMOTE);
    assert_eq!(world.config().mcp.servers["github"].url, None);
}
