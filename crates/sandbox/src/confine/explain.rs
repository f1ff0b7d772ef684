//! Explains the denials for a command, and the settings that would allow them.
//!
//! The kernel reports a denial only to the command, as "permission denied". So this module searches the output of the command for denials,
//! and looks the named places up in its rules.

use std::path::{Path, PathBuf};

use super::{ConfinementSettings, Network, rules::Rules};

/// Messages of programs about a denial, in lower case.
const DENIED: [&str; 8] = [
    "permission denied",
    "operation not permitted",
    "permissionerror",
    "eacces",
    "eperm",
    "not permitted",
    "invalid cross-device link",
    "access denied",
];
/// Messages of programs about an unreachable network.
const UNREACHED: [&str; 16] = [
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "failed to lookup address",
    "getaddrinfo",
    "temporary failure resolving",
    "no address associated",
    "unable to resolve",
    "could not connect",
    "failed to connect",
    "couldn't connect",
    "error sending request",
    "socket: operation not permitted",
    "spurious network error",
];
/// Sentence on the writable folders.
const WRITTEN: &str = "Commands write in the working folder and in $TMPDIR only.";
/// Message of programs about a full disk.
const FULL: &str = "no space left on device";
/// Maximum number of places in an explanation.
const MAX_PLACES: usize = 3;

/// Returns the explanation for a command with this output; `None` without denials. The hosts that its proxy has refused are certain, so
/// they come first.
pub(super) fn explain(printed: &str, refused: &[String], rules: &Rules, settings: &ConfinementSettings) -> Option<String> {
    let mut found: Vec<String> = refused.to_vec();
    for line in printed.lines() {
        let small = line.to_lowercase();
        if UNREACHED.iter().any(|word| small.contains(word))
            && let Some(text) = of_network(&settings.network)
            && refused.is_empty()
        {
            note(&mut found, text);
        }
        if DENIED.iter().any(|word| small.contains(word)) {
            for path in paths(line) {
                if let Some(text) = of_path(&path, rules, settings) {
                    note(&mut found, text);
                }
            }
        }
    }
    let full = if printed.to_lowercase().contains(FULL) { full_place(settings, is_full) } else { None };
    if found.is_empty() {
        return full;
    }
    found.truncate(MAX_PLACES);
    found.extend(full);
    Some(format!("[sandbox] {}\n{WRITTEN} Do not try to get around this; work there, or say what is needed.", found.join("\n")))
}

/// Returns a sentence on the places that commands may write and reach, in the words of a denial.
pub(super) fn in_words(settings: &ConfinementSettings) -> String {
    let written: Vec<String> = settings.write.iter().map(|path| path.display().to_string()).collect();
    let more = if written.is_empty() { String::new() } else { format!(" The user has also allowed {}.", written.join(", ")) };
    let network = of_network(&settings.network).unwrap_or_else(|| "Commands reach the network.".to_owned());
    format!("{WRITTEN}{more} {network}")
}

/// Returns a sentence on the writable folder that `is_full`.
fn full_place(settings: &ConfinementSettings, is_full: impl Fn(&Path) -> bool) -> Option<String> {
    let places = [
        ("the folder of $TMPDIR", &settings.temp, "set TMPDIR to one with room"),
        ("the working folder", &settings.working_folder, "make room there"),
    ];
    let (name, path, remedy) = places.into_iter().find(|(_, path, _)| is_full(path))?;
    Some(format!("[{name}, {}, is full: {remedy}]", path.display()))
}

#[cfg(unix)]
fn is_full(path: &Path) -> bool {
    /// Free bytes below which a disk counts as full.
    const LITTLE: u64 = 64 * 1024;
    rustix::fs::statvfs(path)
        .is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) < LITTLE || (space.f_files > 0 && space.f_favail == 0))
}

#[cfg(windows)]
const fn is_full(_: &Path) -> bool {
    false
}

fn of_network(network: &Network) -> Option<String> {
    match network {
        Network::None => Some(
            "The network is out of reach of commands; the user can allow single hosts, sandbox.network = [\"example.org\"], or all of it: \"all\"."
                .to_owned(),
        ),
        Network::Hosts(gate) => Some(format!(
            "Commands reach {} alone, over HTTP and TLS, by the proxy in HTTPS_PROXY: programs that do not use it reach nothing.",
            gate.hosts()
        )),
        Network::All => None,
    }
}

fn note(found: &mut Vec<String>, text: String) {
    if !found.contains(&text) {
        found.push(text);
    }
}

fn of_path(path: &Path, rules: &Rules, settings: &ConfinementSettings) -> Option<String> {
    let shown = path.display();
    // Advise access to an existing file, or to the folder of a file that does not exist yet.
    let place = if path.exists() || path.extension().is_none() { path } else { path.parent().unwrap_or(path) };
    if rules.may_write(path) {
        return None;
    }
    if rules.is_secret(path) && !settings.working_folder.starts_with(path) {
        return Some(format!("{shown} is kept from commands: keys, passwords and other homes are."));
    }
    Some(if rules.may_read(path) {
        // A commit writes in several places of the git folder.
        let place = rules.git_folder.as_deref().filter(|folder| path.starts_with(folder)).unwrap_or(place);
        format!("{shown} may be read and not written by commands; the user can allow it: sandbox.write = [\"{}\"].", place.display())
    } else {
        format!(
            "{shown} is out of reach of commands; the user can allow it: sandbox.read = [\"{shown}\"], or sandbox.write = [\"{}\"].",
            place.display()
        )
    })
}

/// Returns the absolute paths in a line.
fn paths(line: &str) -> Vec<PathBuf> {
    let ends = |letter: char| letter.is_whitespace() || "'\"`‘’“”()[]<>,;".contains(letter);
    let words = line.split(ends).map(|word| word.trim_end_matches([':', '.', '!', '?']));
    // Matches `sh: 1: /etc/x:` and `open('/etc/x')`, but no URL.
    let starts = words.filter_map(|word| {
        let start = word.find('/')?;
        let (before, path) = word.split_at_checked(start)?;
        (path.len() > 1 && !path.starts_with("//") && (before.is_empty() || before.ends_with([':', '=']))).then(|| PathBuf::from(path))
    });
    starts.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::ProxyFactory;

    // Requirement: 15.6
    #[test]
    fn explains_denials_and_their_settings() {
        let mut settings = ConfinementSettings::new("/project", &BTreeMap::from([("HOME".into(), "/home/me".into())]));
        let check = |settings: &ConfinementSettings, printed: &str, expected: &[&str]| {
            let (rules, _) = Rules::new(settings);
            match explain(printed, &[], &rules, settings) {
                Some(text) => {
                    assert!(!expected.is_empty(), "{printed}: {text}");
                    expected.iter().for_each(|part| assert!(text.contains(part), "{printed}: {text}"));
                }
                None => assert!(expected.is_empty(), "{printed}"),
            }
        };
        let none: &[&str] = &[];
        for (printed, expected) in [
            ("all is well with /srv/x", none),
            ("cat: /srv/data/x: Permission denied", &["/srv/data/x is out of reach", "sandbox.read = [\"/srv/data/x\"]"]),
            ("sh: 1: cannot create /srv/new.txt: Permission denied", &["sandbox.write = [\"/srv\"]"]),
            ("bash: /usr/lib/x: Permission denied", &["/usr/lib/x may be read and not written", "sandbox.write = [\"/usr/lib/x\"]"]),
            ("PermissionError: [Errno 13] Permission denied: '/srv/a b'", &["/srv/a"]),
            ("cat: /home/me/.ssh/id_rsa: Permission denied", &["/home/me/.ssh/id_rsa is kept from commands"]),
            ("cat: /etc/shadow: Permission denied", &["/etc/shadow is kept"]),
            ("mkdir: cannot create directory ‘/srv’: Operation not permitted", &["/srv is out of reach"]),
            ("ls: cannot open 'x': Permission denied", none),
            ("touch: /project/x: Permission denied", none),
            ("curl: (6) Could not resolve host: example.com", &["sandbox.network = [\"example.org\"]"]),
            ("Error: getaddrinfo EAI_AGAIN packages.example", &["The network is out of reach"]),
            ("Permission denied for http://x.example/a", none),
        ] {
            check(&settings, printed, expected);
        }
        let gate = ProxyFactory::new(["crates.io"], |_| Err(std::io::ErrorKind::Unsupported.into()));
        settings.network = Network::Hosts(gate);
        check(&settings, "curl: (6) Could not resolve host: example.com", &["Commands reach crates.io alone", "HTTPS_PROXY"]);
        let refused = ["evil.example:443 is not among them".to_owned()];
        let (rules, _) = Rules::new(&settings);
        let explanation = explain("curl: (56) could not connect", &refused, &rules, &settings).unwrap();
        assert!(explanation.contains("evil.example:443 is not") && !explanation.contains("alone"), "{explanation}");
        assert!(explain("", &refused, &rules, &settings).is_some(), "it is told whatever was printed");
        settings.network = Network::All;
        check(&settings, "curl: (6) Could not resolve host: example.com", none);
    }

    #[test]
    fn the_full_folder_is_named() {
        let mut settings = ConfinementSettings::new("/project", &BTreeMap::new());
        settings.temp = "/full".into();
        let of = |full: &str| full_place(&settings, |path| path == Path::new(full));
        assert_eq!(of("/full").as_deref(), Some("[the folder of $TMPDIR, /full, is full: set TMPDIR to one with room]"));
        assert_eq!(of("/project").as_deref(), Some("[the working folder, /project, is full: make room there]"));
        assert_eq!(of("/srv"), None, "a full disk elsewhere is no fault of these folders");
    }

    #[test]
    fn each_thing_is_said_once_and_not_too_many() {
        let settings = ConfinementSettings::new("/project", &BTreeMap::new());
        let (rules, _) = Rules::new(&settings);
        let printed = "cat: /srv/a: Permission denied\ncat: /srv/a: Permission denied\n".repeat(5)
            + &(0..9).map(|n| format!("cat: /srv/{n}: Permission denied\n")).collect::<String>();
        let text = explain(&printed, &[], &rules, &settings).unwrap();
        assert_eq!(text.matches("out of reach").count(), MAX_PLACES, "{text}");
        assert_eq!(text.matches("/srv/a is").count(), 1, "{text}");
    }
}
