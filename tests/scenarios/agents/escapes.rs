//! An agent that tries to leave the folder of its task.

use super::*;

/// The agent does task `a` in a private copy. An actor does `b` in another one.
// Requirement: 4.41
#[test]
fn an_agent_reads_nothing_outside_its_copy() {
    let work = r#"
mkdir -p links
ln -s "$OUTSIDE" links/home
ln -s "$OUTSIDE/secret" links/file
ln -s "$(cd ../../b-1/folder 2> /dev/null && pwd || echo "$here/../../b-1/folder")" links/other
for path in "$OUTSIDE/secret" "$here/../../b-1/folder/secret-of-b" links/home/secret links/file links/other/secret-of-b; do
  cat "$path" >> seen 2>> refused
done
for path in "$OUTSIDE/secret" "$here/../../b-1/folder/secret-of-b" "$here/links/home/secret" "$here/links/file" "$here/links/other/secret-of-b"; do
  ask fs/read_text_file "\"path\":\"$path\""
  printf '%s\n' "$reply" >> replies
done
for path in "$here/links/home/planted" "$here/links/other/planted" "$here/../../b-1/folder/planted"; do
  ask fs/write_text_file "\"path\":\"$path\",\"content\":\"planted\""
  printf '%s\n' "$reply" >> replies
  (echo planted > "$path") 2>> refused
done
terminal "cat links/home/secret links/file; echo planted > links/home/planted"
printf '%s\n' "$reply" >> replies
rm -r links
say "I tried."
"#;
    let script = Script::new()
        .on(When::tools().and_contains("B-PART").and_turn(0), [crate::harness::bash("echo SECRET-OF-B > secret-of-b")])
        .on(
            When::tools().and_contains("B-PART").and_turn(1),
            [crate::harness::bash("for i in $(seq 100); do ls ../../a-1/folder/done && break; sleep 0.1; done; ls")],
        )
        .on(When::tools().and_contains("B-PART"), [done("b is done")])
        .on(When::plain(), [Reply::text("Both have ended.")]);
    let mut world = World::with(script).settings("[run]\nisolation = \"worktree\"\n");
    let outside = world.root().join("home").canonicalize().unwrap();
    world
        .user_settings(&profile("helper", work, false).replace("set = {", &format!("set = {{ OUTSIDE = {:?},", outside.to_str().unwrap())));
    std::fs::write(outside.join("secret"), "SECRET-OF-HOME").unwrap();
    world
        .user_settings(&profile("helper", work, false).replace("set = {", &format!("set = {{ OUTSIDE = {:?},", outside.to_str().unwrap())));
    world.plan("plan.json", &plan(&[by_agent("A-PART"), actor("b", "B-PART", &[])]));
    let ended = run(&world, "all").must(0);
    let (seen, replies) = (world.read("seen"), world.read("replies"));
    assert_eq!(seen, "", "{ended}");
    assert!(!replies.contains("SECRET"), "{replies}");
    assert_eq!(replies.matches("\"error\"").count(), 8, "{replies}");
    assert_eq!(world.read("refused").lines().filter(|line| line.contains("cat: ") || line.contains("planted")).count(), 8, "{ended}");
    assert!(!world.exists("planted"));
}

/// Only the hosts of its profile are reached, and those through aime alone.
// Requirement: 4.41
#[test]
fn an_agent_reaches_its_own_hosts_alone() {
    let work = r#"
(exec 9<> /dev/tcp/127.0.0.1/$PORT && echo DIRECT >> reached) 2>> refused
(exec 9<> /dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://127.0.0.1:%s/v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' "$PORT" >&9 && cat <&9 >> answer) 2>> refused
say "I tried."
"#;
    for (hosts, status) in [("false", ""), ("[\"other.example\"]", "403"), ("[\"127.0.0.1:PORT\"]", "200")] {
        let mut world = World::with(Script::new());
        let port = world.server().origin().rsplit(':').next().unwrap().to_owned();
        let network = format!("network = {}\n", hosts.replace("PORT", &port));
        world.user_settings(&(profile("helper", work, false).replace("set = {", &format!("set = {{ PORT = \"{port}\",")) + &network));
        world.plan("plan.json", &plan(&[by_agent("A-PART")]));
        let ended = run(&world, "all").must(0);
        assert_eq!(world.read("reached"), "", "{network}: {ended}");
        let answer = world.read("answer");
        assert_eq!(answer.split(' ').nth(1).unwrap_or_default(), status, "{network}: {answer} {ended}");
    }
}
