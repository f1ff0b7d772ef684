//! Attempts to escape from confinement, each a command that a model could have written: as root and as an ordinary user.
//!
//! An attempt succeeds if it prints `ESCAPED` or a secret, changes anything outside, reaches a socket outside, or does something to a
//! process outside. Attempts also run without confinement, to show that the detection works.
#![cfg(test)]
#![cfg(target_os = "linux")]

mod environment;
mod files;
mod hosts;
mod machines;
mod network;
mod place;
mod processes;
mod reading;
mod repository;
mod system;
mod users;

use std::path::PathBuf;

use aime_hosts::{HostGrants, HostProxy};
use aime_sandbox::{Confinement, ConfinementSettings, Launcher, Network, ProxyFactory, RunningProxy};

use crate::place::Place;

/// An escape attempt: its name, and its command.
pub(crate) struct Attempt {
    name: String,
    script: String,
    /// True if it must succeed without confinement, which is tested, too.
    breaks_out: bool,
}

pub(crate) fn attempt(name: &str, script: &str) -> Attempt {
    Attempt { name: name.to_owned(), script: script.to_owned(), breaks_out: false }
}

/// Returns an attempt that also runs without confinement, and must succeed then.
pub(crate) fn shown(name: &str, script: &str) -> Attempt {
    Attempt { breaks_out: true, ..attempt(name, script) }
}

/// Returns a Python command with helpers: `call` prints `ESCAPED` if a libc function succeeds, `number` if a system call does.
pub(crate) fn python(code: &str) -> String {
    format!(
        "python3 - <<'END'\nimport ctypes, os, socket, sys, struct, time\nlibc = ctypes.CDLL(None, use_errno=True)\n\
         def call(name, *a):\n    r = getattr(libc, name)(*a)\n    print('ESCAPED' if r >= 0 else 'no', name, r, ctypes.get_errno())\n    return r\n\
         def number(n, *a):\n    r = libc.syscall(ctypes.c_long(n), *a)\n    print('ESCAPED' if r >= 0 else 'no', n, r, ctypes.get_errno())\n    return r\n\
         E = os.environ\n{code}\nEND"
    )
}

fn all() -> Vec<Attempt> {
    [reading::attempts(), files::attempts(), network::attempts(), processes::attempts(), environment::attempts(), system::attempts()]
        .into_iter()
        .flatten()
        .collect()
}

fn confined(place: &Place) -> Confinement {
    Confinement::new(ConfinementSettings::new(place.work(), &place.environment())).expect("this machine can confine commands")
}

/// Returns a confinement to one host of the network, through a proxy.
fn confined_to_a_host(place: &Place) -> Confinement {
    let granted = place.granted();
    let proxy = HostProxy::new(HostGrants::read([&granted]).unwrap(), "sandbox.network");
    let mut settings = ConfinementSettings::new(place.work(), &place.environment());
    let gate = ProxyFactory::new([granted], move |listener| {
        let open = proxy.open_on(listener)?;
        Ok(RunningProxy::new(move || open.refused()))
    });
    settings.network = Network::Hosts(gate.launched_by(launcher()));
    Confinement::new(settings).expect("this machine can keep commands to single hosts")
}

/// Returns the launcher of `examples/launcher.rs`, or its copy beside this program. `cargo test` builds it, but a run of one test binary
/// alone does not.
fn launcher() -> Launcher {
    Launcher::new(launcher_program(), ["launch"])
}

fn launcher_program() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let beside = here.with_file_name("launcher");
    let program = if beside.exists() { beside } else { here.parent().unwrap().with_file_name("examples").join("launcher") };
    assert!(program.exists(), "`cargo build -p aime-sandbox --example launcher` first");
    program
}

/// Minimum number of attempts.
const MIN_ATTEMPTS: usize = 200;

async fn none_escapes(confine: fn(&Place) -> Confinement, attempts: &[Attempt]) {
    let who = users::who();
    let place = Place::new();
    let confinement = confine(&place);
    let mut escaped = Vec::new();
    for attempt in attempts {
        if let Some(how) = place.run(attempt, &confinement).await {
            escaped.push(format!("{}: {how}\n    {}", attempt.name, attempt.script.replace('\n', "\n    ")));
        }
    }
    println!("{who}: {} escapes were tried, {} succeeded", attempts.len(), escaped.len());
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}

// Requirement: 15.1
#[tokio::test(flavor = "multi_thread")]
async fn no_escape_succeeds() {
    none_escapes(confined, &all()).await;
    assert!(all().len() >= MIN_ATTEMPTS, "{}", all().len());
}

/// Runs the attempts on the network, and others, with a command that may reach one host.
// Requirement: 15.3
#[tokio::test(flavor = "multi_thread")]
async fn no_escape_succeeds_where_one_host_is_granted() {
    let mut attempts: Vec<_> = network::attempts().into_iter().chain(hosts::attempts()).collect();
    // A TCP socket is allowed here; `hosts` tries all other families again.
    attempts.retain(|attempt| !attempt.name.contains(" family"));
    none_escapes(confined_to_a_host, &attempts).await;
}

/// Runs the same test as another user.
// Requirement: 15.3
#[test]
fn no_escape_succeeds_where_one_host_is_granted_as_an_ordinary_user() {
    users::again_as_nobody("no_escape_succeeds_where_one_host_is_granted");
}

// Requirement: 15.3
#[tokio::test(flavor = "multi_thread")]
async fn the_granted_host_is_reached_and_others_are_told() {
    let place = Place::new();
    let confinement = confined_to_a_host(&place);
    for way in hosts::ways() {
        let outcome = place.outcome(&way, &confinement).await;
        assert!(outcome.stdout.text().contains("granted"), "{}: {outcome:?}", way.name);
        assert!(outcome.refused.is_empty(), "{outcome:?}");
    }
    let away = attempt("away", "curl -s -m 10 https://evil.example/; curl -s -m 10 http://127.0.0.1:$TCP/; true");
    let outcome = place.outcome(&away, &confinement).await;
    let explained = confinement.explain("", &outcome.refused).unwrap();
    for text in ["evil.example:443 is not among the hosts", "add \"evil.example\" to sandbox.network", "127.0.0.1:"] {
        assert!(explained.contains(text), "{text}: {explained}");
    }
    assert!(outcome.stdout.text().contains("[sandbox] 127.0.0.1:"), "who asks by a plain request reads why: {outcome:?}");
    assert!(
        confinement.to_string().contains("only these hosts of the network: 127.0.0.1:") && confinement.reaches_network(),
        "{confinement}"
    );
}

/// Runs the same test as another user.
// Requirement: 15.1
#[test]
fn no_escape_succeeds_as_an_ordinary_user() {
    users::again_as_nobody("no_escape_succeeds");
}

/// Shows that the detection works: attempts that must succeed without confinement do.
// Requirement: 15.1
#[tokio::test(flavor = "multi_thread")]
async fn without_confinement_they_succeed() {
    let attempts: Vec<_> = all().into_iter().filter(|attempt| attempt.breaks_out).collect();
    let mut noticed = 0;
    for attempt in &attempts {
        // Each attempt needs an intact place, because the attempt before may have damaged it.
        let place = Place::new();
        match place.run(attempt, &Confinement::off()).await {
            Some(_) => noticed += 1,
            None => println!("not noticed without confinement: {}", attempt.name),
        }
    }
    println!("{noticed} of {} attempts succeed without confinement", attempts.len());
    assert!(noticed * 10 >= attempts.len() * 9, "{noticed} of {}", attempts.len());
}

#[test]
fn each_attempt_has_a_name_of_its_own() {
    let mut names: Vec<_> = all().into_iter().chain(hosts::attempts()).map(|attempt| attempt.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
