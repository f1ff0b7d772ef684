//! Attempts to escape from confinement, each a command that a model could have written: as root and as an ordinary user.
//!
//! An attempt has succeeded when it prints `ESCAPED` or a secret, changes anything outside, reaches a socket outside, or does something to a
//! process outside. That these are noticed is shown by running attempts without confinement too.
#![cfg(test)]
#![cfg(target_os = "linux")]

mod environment;
mod files;
mod network;
mod place;
mod processes;
mod reading;
mod system;
mod users;

use aime_sandbox::{Confinement, ConfinementSettings};

use crate::place::Place;

/// A way out: its name, and the command that tries it.
pub(crate) struct Attempt {
    name: String,
    script: String,
    /// Whether it breaks something where nothing confines it, which is tried too.
    breaks_out: bool,
}

pub(crate) fn attempt(name: &str, script: &str) -> Attempt {
    Attempt { name: name.to_owned(), script: script.to_owned(), breaks_out: false }
}

/// One that is tried without confinement too, and must succeed then.
pub(crate) fn shown(name: &str, script: &str) -> Attempt {
    Attempt { breaks_out: true, ..attempt(name, script) }
}

/// Python with what attempts need: `call` says `ESCAPED` when a function of libc succeeds, `number` when a system call does.
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

/// How many attempts there must be.
const LEAST: usize = 200;

async fn none_escapes(who: &str) {
    let place = Place::new();
    let confinement = confined(&place);
    let attempts = all();
    let mut escaped = Vec::new();
    for attempt in &attempts {
        if let Some(how) = place.run(attempt, &confinement).await {
            escaped.push(format!("{}: {how}\n    {}", attempt.name, attempt.script.replace('\n', "\n    ")));
        }
    }
    println!("{who}: {} escapes were tried, {} succeeded", attempts.len(), escaped.len());
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
    assert!(attempts.len() >= LEAST, "{}", attempts.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_escape_succeeds() {
    let who = if rustix::process::getuid().is_root() { "as root" } else { "as an ordinary user" };
    none_escapes(who).await;
}

/// The same test again, as another user.
#[test]
fn no_escape_succeeds_as_an_ordinary_user() {
    users::again_as_nobody("no_escape_succeeds");
}

/// The detectors detect: what must break out where nothing confines it does.
#[tokio::test(flavor = "multi_thread")]
async fn without_confinement_they_succeed() {
    let attempts: Vec<_> = all().into_iter().filter(|attempt| attempt.breaks_out).collect();
    let mut noticed = 0;
    for attempt in &attempts {
        // What one breaks the next must find whole.
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
    let mut names: Vec<_> = all().into_iter().map(|attempt| attempt.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
