//! `aime doctor`: reports what works here, what does not, and how to correct it.

mod models;

use std::{env::consts::EXE_SUFFIX, ffi::OsStr, path::Path};

use aime_messages::{Describe, Message, message};
use aime_orchestrator::{Isolation, git_version};
use aime_runs::{ErrorKind, RunsError, Setup, config::HookConfig};
use aime_sandbox::probe;
use anstyle::Style;

#[cfg(feature = "mcp")]
use super::mcp;
use crate::{
    failure::Failure,
    hints,
    i18n::{msg, print, word_name},
    output::{self, GREEN, RED, YELLOW},
    screen::column,
};

/// Width of the column with the checked thing.
const WIDTH: usize = 18;

/// State of a checked thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    Broken,
    Absent,
}

impl State {
    const fn style(self) -> Style {
        match self {
            Self::Works => GREEN,
            Self::Broken => RED,
            Self::Absent => YELLOW,
        }
    }

    fn word(self) -> String {
        match self {
            Self::Works => msg!("doctor-works"),
            Self::Broken => msg!("doctor-broken"),
            Self::Absent => msg!("doctor-absent"),
        }
    }
}

pub(super) async fn doctor(setup: &Setup) -> Result<u8, Failure> {
    let mut worst = 0;
    good("configuration", setup.sources.join(" < "));
    for failure in setup.faults_of_own_files().into_iter().map(Failure::from) {
        worst = failure.code;
        broken("own files", &failure, Some(message!("own-files-broken")));
    }
    report_skills(setup);
    for (point, hook) in setup.config.hooks.all() {
        good(&format!("hook {point}"), describe(hook));
    }
    if let Some(code) = report_permissions(setup) {
        worst = code;
    }
    match journal(setup) {
        Ok(detail) => good("journal", detail),
        Err(failure) => {
            worst = failure.code;
            broken("journal", &failure, Some(message!("journal-broken")));
        }
    }
    if let Some(code) = check_memory(setup) {
        worst = if worst == 0 { code } else { worst };
    }
    for protection in probe(&super::opening::launcher()) {
        if protection.enforced {
            good(protection.name, protection.detail);
        } else {
            absent(protection.name, protection.detail, None);
        }
    }
    let confinement = setup.confinement();
    if confinement.is_off() || confinement.refusal().is_some() {
        absent("sandbox", confinement.describe(), None);
    } else {
        good("sandbox", confinement.describe());
    }
    for (program, tool) in [("bash", "bash"), ("python3", "python")] {
        match find_program(setup, program) {
            Some(path) => good(&format!("tool {tool}"), path),
            None => absent(&format!("tool {tool}"), message!("program-absent", program), Some(message!("program-install", program))),
        }
    }
    if let Some(code) = check_private_folders(setup).await {
        worst = if worst == 0 { code } else { worst };
    }
    #[cfg(feature = "mcp")]
    if let Some(code) = check_servers(setup).await? {
        worst = if worst == 0 { code } else { worst };
    }
    #[cfg(feature = "acp")]
    for name in setup.config.profiles.keys() {
        let what = format!("agent {name}");
        match setup.try_agent(name).await {
            Ok(software) => good(&what, output::plain(&software)),
            Err(error) => {
                let failure = Failure::from(error);
                broken(&what, &failure, Some(message!("agent-broken", name)));
                worst = if worst == 0 { failure.code } else { worst };
            }
        }
    }
    if let Some(code) = models::check(setup).await {
        worst = if worst == 0 { code } else { worst };
    }
    Ok(worst)
}

/// Reports the number of rules and of permanent consents in this folder.
fn report_permissions(setup: &Setup) -> Option<u8> {
    let config = &setup.config.permissions;
    let remembered = match setup.consents().map(|consents| consents.list()).transpose() {
        Ok(remembered) => remembered.unwrap_or_default().len(),
        Err(error) => {
            let failure = Failure::from(error);
            broken("permissions", &failure, None);
            return Some(failure.code);
        }
    };
    let mode = serde_json::to_value(config.approve).ok();
    let mode = mode.as_ref().and_then(|mode| mode.as_str()).unwrap_or_default();
    let (deny, ask, allow) = (config.deny.len(), config.ask.len(), config.allow.len());
    good("permissions", message!("doctor-permissions", mode, deny, ask, allow, remembered));
    None
}

/// Reports the skills by their folders, and those that were left out.
fn report_skills(setup: &Setup) {
    let found = setup.skills();
    if !found.catalog.is_empty() {
        let place = |folder: &Path| folder.parent().unwrap_or(folder).display().to_string();
        let named: Vec<String> = found.catalog.iter().map(|known| format!("{} ({})", known.skill.name, place(&known.folder))).collect();
        good("skills", named.join(", "));
    }
    for note in &found.notes {
        absent("skills", note.clone(), None);
    }
    for missing in setup.missing_skills().unwrap_or_default() {
        absent("skills", missing.message, missing.hint.as_ref().map(hints::hint));
    }
}

/// Describes a hook in force: its command, its tools, and the file that configures it.
fn describe(hook: &HookConfig) -> String {
    let HookConfig { name, command, tools, required, from, .. } = hook;
    let name = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let tools = if tools.is_empty() { String::new() } else { format!("for {}, ", tools.join(" ")) };
    let required = if *required { "required, " } else { "" };
    let command = command.lines().next().unwrap_or_default();
    format!("{name}{command} ({tools}{required}from {from})")
}

fn good(what: &str, detail: impl Into<Message>) {
    line(State::Works, what, &detail.into(), None);
}

/// Reports a broken thing. A hint of the failure itself replaces `hint`.
fn broken(what: &str, failure: &Failure, hint: Option<Message>) {
    line(State::Broken, what, &failure.message, failure.hint.clone().or(hint));
}

fn absent(what: &str, detail: impl Into<Message>, hint: Option<Message>) {
    line(State::Absent, what, &detail.into(), hint);
}

fn line(state: State, what: &str, detail: &Message, hint: Option<Message>) {
    let indent = format!("\n{}", " ".repeat(WIDTH + 10));
    let (style, word) = (state.style(), state.word());
    let state = column(&format!("{style}{word}{style:#}"), 8);
    let mut text = format!("{state}{}{}", column(&thing(what), WIDTH + 2), output::plain(&print(detail)).replace('\n', &indent));
    if let Some(hint) = hint {
        text.push_str(&format!("{indent}{}", msg!("doctor-hint", hint)));
    }
    output::result(&text);
}

/// Translates the name of the checked thing, which may have a kind, such as `tool bash`.
fn thing(what: &str) -> String {
    match (word_name("thing", what), what.split_once(' ')) {
        (name, Some((kind, rest))) if name == what => format!("{} {rest}", word_name("thing", kind)),
        (name, _) => name,
    }
}

/// Opens the journal if it exists. Otherwise checks that one could be created, and leaves nothing behind.
fn journal(setup: &Setup) -> Result<Message, Failure> {
    if let Some(journal) = setup.existing_journal()? {
        return Ok(Message::text(journal.path().display()));
    }
    let keep = setup.checked_data_folder()?;
    let folder: &Path = if keep.is_dir() { &keep } else { &setup.folder };
    tempfile::Builder::new().prefix(".aime-").tempfile_in(folder).map_err(|error| {
        Failure::usage(message!("folder-unwritable", folder = folder.display(), reason = Message::text(error.kind())))
            .hint(message!("folder-hint"))
    })?;
    Ok(message!("journal-none", folder = keep.display()))
}

/// Checks the memory, if it exists, and the configured folder of documents. Returns an exit code if one is broken.
fn check_memory(setup: &Setup) -> Option<u8> {
    let mut worst = None;
    if !setup.config.memory.enabled {
        absent("memory", message!("memory-off"), Some(message!("memory-on")));
        return None;
    }
    let file = setup.memory_file();
    match setup
        .existing_memory()
        .and_then(|store| store.map(|store| store.list(usize::MAX).map_err(|error| RunsError::caused(ErrorKind::Usage, error))).transpose())
    {
        Ok(None) => good("memory", message!("doctor-memory-none", file = file.display())),
        Ok(Some(kept)) => good("memory", message!("memory-kept", number = kept.len(), file = file.display())),
        Err(error) => {
            let failure = Failure::from(error);
            broken("memory", &failure, Some(message!("memory-broken")));
            worst = Some(failure.code);
        }
    }
    let Some(folder) = setup.knowledge_folder() else { return worst };
    match std::fs::read_dir(&folder) {
        Ok(_) => good("knowledge", Message::text(folder.display())),
        Err(error) => {
            let failure = Failure::usage(message!("knowledge-unreadable", folder = folder.display(), reason = Message::text(error.kind())));
            broken("knowledge", &failure, Some(message!("knowledge-hint")));
            worst = Some(failure.code);
        }
    }
    worst
}

/// Reports whether git can make private folders of tasks. Returns an exit code if it cannot, and the settings require them.
async fn check_private_folders(setup: &Setup) -> Option<u8> {
    let path = setup.clean_environment().get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let reason = match git_version(&setup.folder, path).await {
        Ok(version) => {
            good("private folders", format!("git {version}"));
            return None;
        }
        Err(error) => error.describe(),
    };
    if setup.config.run.isolation == Isolation::Worktree {
        let failure = Failure::usage(message!("cannot-isolate", reason));
        broken("private folders", &failure, Some(message!("cannot-isolate-hint")));
        return Some(failure.code);
    }
    absent("private folders", reason, Some(message!("program-install", program = "git")));
    None
}

fn find_program(setup: &Setup, program: &str) -> Option<String> {
    let path = setup.environment.text("PATH")?;
    let found =
        std::env::split_paths(path).map(|folder| folder.join(format!("{program}{EXE_SUFFIX}"))).find(|candidate| candidate.is_file())?;
    Some(found.display().to_string())
}

/// Starts all enabled MCP servers concurrently and reports their tools. Returns an exit code if one is unusable.
#[cfg(feature = "mcp")]
async fn check_servers(setup: &Setup) -> Result<Option<u8>, Failure> {
    use futures::future::join_all;
    use tokio_util::sync::CancellationToken;

    if setup.config.mcp.used().next().is_none() {
        return Ok(None);
    }
    let servers = aime_runs::Servers::of(setup)?;
    let (names, never) = (servers.all.configured().map(|(server, _)| server.name.clone()), CancellationToken::new());
    let names: Vec<String> = names.collect();
    let offers = join_all(names.iter().map(|name| servers.all.test(name, &never))).await;
    let mut worst = None;
    for (name, offer) in names.iter().zip(offers) {
        let what = format!("server {name}");
        match offer {
            Ok(offer) => good(&what, output::plain(&format!("{} {}", output::count(offer.tools.len(), "tool"), mcp::software(&offer)))),
            Err(error) => {
                let failure = mcp::failure(&error);
                broken(&what, &failure, Some(message!("server-hint")));
                worst = worst.or(Some(failure.code));
            }
        }
    }
    servers.all.end().await;
    Ok(worst)
}
