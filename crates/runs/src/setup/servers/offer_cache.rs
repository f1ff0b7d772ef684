//! Configured servers with their offers from earlier runs. Only new servers are asked; the others start when they are called.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aime_durable::{content_name, private_folder};
use aime_messages::{Message, message};
use aime_sandbox::Confinement;
use aime_tools::{
    McpAbilities, McpClient, McpLoading, McpLogin, McpPlace, McpServerSettings, McpServers, McpSettings, McpTransport, NamePatterns, Tool,
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    Hint, Notice,
    config::{McpLoadConfig, McpServerConfig},
    error::{ErrorKind, RunsError},
    files::write_private,
    setup::{Setup, reach},
};

/// Version of the file format.
const SCHEMA: &str = "aime.mcp/v3";

/// Recorded offers of the servers of one working folder. The file is in the user's state folder, because prompts quote the descriptions of
/// trusted servers as trusted, and commands and cloned projects decide the content of a working folder. If the file is deleted, aime asks
/// the servers again.
#[derive(Default, Serialize, Deserialize)]
struct OfferCache {
    schema: String,
    /// Path of the working folder.
    folder: String,
    servers: BTreeMap<String, KeptServer>,
}

/// Offer of one server, valid while its settings are unchanged.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct KeptServer {
    settings_digest: String,
    offer: McpAbilities,
}

/// Returns a digest of a server's settings. The settings themselves may hold tokens, of which aime makes no copy.
fn digest(config: &McpServerConfig) -> String {
    content_name(format!("{config:?}").as_bytes())
}

/// Configured servers.
pub struct Servers {
    /// The servers.
    pub all: McpServers,
}

impl Servers {
    /// Returns the enabled servers that have everything they need. A notice names what others lack.
    pub fn of(setup: &Setup) -> Result<Self, RunsError> {
        let mut servers = Vec::new();
        for (name, config) in setup.config.mcp.used() {
            match settings(name, config, setup)? {
                Ok(settings) => servers.push(settings),
                Err(missing) => setup.note(message!("mcp-left-out", server = name, reason = missing)),
            }
        }
        let context = setup.tool_context()?;
        let place = McpPlace { working_folder: setup.folder.clone(), environment: context.environment };
        let is_unchanged = |(name, kept): &(String, KeptServer)| {
            setup.config.mcp.servers.get(name).is_some_and(|config| kept.settings_digest == digest(config))
        };
        let known = file(setup).map(|file| load_cache(&file).servers).unwrap_or_default();
        let known = known.into_iter().filter(is_unchanged).map(|(name, kept)| (name, kept.offer)).collect();
        Ok(Self {
            all: McpServers::new(McpSettings { listed_tools: setup.config.mcp.listed_tools, ..McpSettings::new(servers) }, &place, known),
        })
    }

    /// Asks the servers whose offers are unknown. A run continues without those that do not answer.
    pub(super) async fn learn(&self, setup: &Setup) {
        for fault in self.all.learn(&CancellationToken::new()).await {
            let hint = Hint::for_server(&fault);
            let message = message!("mcp-without-tools", reason = RunsError::caused(ErrorKind::Usage, fault).with_causes());
            match &hint {
                Some(hint) => setup.caller().on_notice(&Notice::Advice { message: &message, hint }),
                None => setup.note(message),
            }
        }
        for (name, offer) in self.all.offers() {
            offer.notes.iter().for_each(|note| setup.note(message!("mcp-note", server = name, reason = Message::text(note))));
        }
    }

    pub(in crate::setup) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.all.tools()
    }

    pub(in crate::setup) fn every_tool(&self) -> Vec<Arc<dyn Tool>> {
        self.all.every_tool()
    }

    /// Stores the known offers for the next run, if aime has been used in the working folder and there is a place for them outside of it.
    pub fn store(&self, setup: &Setup) {
        let Some(file) = file(setup).filter(|_| setup.data_folder().is_dir()) else { return };
        let before = load_cache(&file).servers;
        let mut servers = before.clone();
        servers.retain(|name, _| setup.config.mcp.servers.contains_key(name));
        for (name, mut offer) in self.all.offers() {
            // Notes are shown only once.
            offer.notes.clear();
            if let Some(config) = setup.config.mcp.servers.get(&name) {
                servers.insert(name, KeptServer { settings_digest: digest(config), offer });
            }
        }
        if servers == before {
            return;
        }
        let kept = OfferCache { schema: SCHEMA.to_owned(), folder: setup.folder.display().to_string(), servers };
        if let Err(error) = save_cache(&file, &kept) {
            setup.note(message!("mcp-not-kept", error = error));
        }
    }
}

/// Returns the file of the recorded offers; none if the user has no state folder outside of the working folder.
fn file(setup: &Setup) -> Option<PathBuf> {
    let name = content_name(setup.folder.as_os_str().as_encoded_bytes());
    Some(setup.environment.state_outside(&setup.folder)?.join("mcp-offers").join(format!("{name}.json")))
}

/// Reads the recorded offers; none if the file is missing or unreadable.
fn load_cache(file: &Path) -> OfferCache {
    let text = fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).ok().filter(|kept: &OfferCache| kept.schema == SCHEMA).unwrap_or_default()
}

fn save_cache(file: &Path, kept: &OfferCache) -> io::Result<()> {
    let text = serde_json::to_string(kept)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    private_folder(folder)?;
    remove_abandoned(folder);
    write_private(file, &text)
}

/// Removes the recorded offers of working folders that no longer exist, such as those of trials.
fn remove_abandoned(offers: &Path) {
    for entry in fs::read_dir(offers).into_iter().flatten().flatten() {
        let kept = load_cache(&entry.path());
        if !kept.folder.is_empty() && matches!(Path::new(&kept.folder).try_exists(), Ok(false)) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Returns the settings of one server with its secrets, or a message that names what is missing.
fn settings(name: &str, config: &McpServerConfig, setup: &Setup) -> Result<Result<McpServerSettings, Message>, RunsError> {
    let variable = |name: &String| setup.environment.text(name).ok_or_else(|| message!("no-variable", variable = name));
    let patterns = |patterns: &[String]| {
        NamePatterns::new(patterns).map_err(|error| RunsError::caused(ErrorKind::Usage, error).hint(message!("mcp-hint", server = name)))
    };
    let transport = match (&config.command, &config.url) {
        (Some(command), _) => {
            let mut environment: BTreeMap<OsString, OsString> =
                config.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
            for name in &config.env_vars {
                match variable(name) {
                    Ok(value) => drop(environment.insert(name.into(), value.into())),
                    Err(missing) => return Ok(Err(missing)),
                }
            }
            let program = setup.environment.expand_home(command.as_ref()).into_os_string();
            let confinement = confinement(name, config, setup);
            McpTransport::Stdio { program, arguments: config.args.iter().map(OsString::from).collect(), environment, confinement }
        }
        (None, url) => {
            let bearer = match config.bearer_token_env.as_ref().map(variable).transpose() {
                Ok(bearer) => bearer.map(SecretString::from),
                Err(missing) => return Ok(Err(missing)),
            };
            let headers = config.headers.iter().map(|(name, value)| (name.clone(), SecretString::from(value.clone())));
            let secret = match config.client_secret_env.as_ref().map(variable).transpose() {
                Ok(secret) => secret.map(SecretString::from),
                Err(missing) => return Ok(Err(missing)),
            };
            let client = config.client_id.as_ref().map(|id| McpClient { id: id.clone(), secret });
            let login = setup.places.state_folder().map(|folder| McpLogin { file: folder.join("mcp").join(file_name(name)), client });
            McpTransport::Http { url: url.clone().unwrap_or_default(), bearer, login, headers: headers.collect() }
        }
    };
    Ok(Ok(McpServerSettings {
        start_limit: Duration::from_secs(config.start_timeout_seconds),
        call_limit: Duration::from_secs(config.call_timeout_seconds),
        total_limit: Duration::from_secs(config.max_call_seconds.max(config.call_timeout_seconds)),
        tools: patterns(&config.tools)?,
        read_only: patterns(&config.read_only)?,
        trusted: config.trusted,
        loading: match config.load {
            McpLoadConfig::Auto => McpLoading::Auto,
            McpLoadConfig::Always => McpLoading::Always,
            McpLoadConfig::OnDemand => McpLoading::OnDemand,
        },
        ..McpServerSettings::new(name, transport)
    }))
}

/// Returns the name of the file that keeps a server's login. Characters with a meaning in paths are escaped.
fn file_name(server: &str) -> String {
    let plain = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }
    };
    format!("{}.json", server.bytes().map(plain).collect::<String>())
}

/// Returns the sandbox of a server's program: that of commands plus what the server's settings allow, with its own temp folder.
fn confinement(name: &str, config: &McpServerConfig, setup: &Setup) -> Confinement {
    if !config.confined {
        return Confinement::off();
    }
    let expanded = |paths: &[PathBuf]| paths.iter().map(|path| setup.environment.expand_home(path)).collect::<Vec<_>>();
    setup.confinement_with(|settings| {
        settings.read.extend(expanded(&config.read));
        settings.write.extend(expanded(&config.write));
        if !config.network.is_none() {
            settings.network = reach::network(&config.network, &format!("mcp.servers.{name}.network"), setup.launcher());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    fn named(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    /// Opens the folder `work` with two servers, for a user whose state is in the folder `state`.
    fn setup(root: &Path, state: &str) -> Setup {
        let work = root.join("work");
        fs::create_dir_all(work.join(".aime")).unwrap();
        let (config, state) = (root.join("config").display().to_string(), root.join(state).display().to_string());
        let environment = Environment::of([("XDG_CONFIG_HOME", config.as_str()), ("XDG_STATE_HOME", state.as_str())]);
        let mut setup = Setup::builder(environment).open(Some(&work)).unwrap();
        let (command, env) = (Some("clock".to_owned()), named("CLOCK_TOKEN", "hunter2!"));
        let (url, headers) = (Some("https://example.org/mcp".to_owned()), named("x-key", "correct-horse-battery"));
        setup.config.mcp.servers = BTreeMap::from([
            ("clock".to_owned(), McpServerConfig { command, env, confined: false, ..McpServerConfig::default() }),
            ("tracker".to_owned(), McpServerConfig { url, headers, ..McpServerConfig::default() }),
        ]);
        setup
    }

    fn known(setup: &Setup) -> BTreeMap<String, McpAbilities> {
        Servers::of(setup).unwrap().all.offers()
    }

    /// Stores an offer of each server, and returns the offers.
    fn store(setup: &Setup) -> BTreeMap<String, McpAbilities> {
        let servers = Servers::of(setup).unwrap().all;
        let settings: Vec<_> = servers.configured().map(|(settings, _)| settings.clone()).collect();
        let offer = |name: &str| McpAbilities { software: name.to_owned(), ..McpAbilities::default() };
        let offers: BTreeMap<_, _> = settings.iter().map(|settings| (settings.name.clone(), offer(&settings.name))).collect();
        let place = McpPlace { working_folder: setup.folder.clone(), environment: Arc::default() };
        Servers { all: McpServers::new(McpSettings::new(settings), &place, offers.clone()) }.store(setup);
        offers
    }

    #[test]
    fn a_stored_offer_is_found_again_without_secrets() {
        let root = tempfile::tempdir().unwrap();
        let mut setup = setup(root.path(), "state");
        assert!(known(&setup).is_empty());

        let offers = store(&setup);
        let kept = file(&setup).unwrap();
        let text = fs::read_to_string(&kept).unwrap();
        for secret in ["hunter2!", "correct-horse-battery"] {
            assert!(!text.contains(secret), "{text}");
        }
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&kept.metadata().unwrap().permissions()) & 0o777, 0o600);
        assert_eq!((known(&setup), offers.len()), (offers, 2));

        // An offer belongs to the settings that it was made with.
        setup.config.mcp.servers.get_mut("clock").unwrap().env = named("CLOCK_TOKEN", "another1!");
        assert_eq!(known(&setup).into_keys().collect::<Vec<_>>(), ["tracker"]);
    }

    /// A command or a cloned project decides the content of the working folder.
    #[test]
    fn offers_in_the_working_folder_are_ignored() {
        let root = tempfile::tempdir().unwrap();
        let outside = setup(root.path(), "state");
        store(&outside);
        let forged = fs::read_to_string(file(&outside).unwrap()).unwrap();
        fs::remove_file(file(&outside).unwrap()).unwrap();
        fs::write(outside.data_folder().join("mcp.json"), forged).unwrap();
        assert!(known(&outside).is_empty());

        let within = setup(root.path(), "work/state");
        store(&within);
        assert!(file(&within).is_none() && known(&within).is_empty());
    }

    #[test]
    fn offers_of_removed_folders_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for (name, folder) in [("a.json", root.path().to_owned()), ("b.json", path("gone"))] {
            let kept = OfferCache { schema: SCHEMA.to_owned(), folder: folder.display().to_string(), servers: BTreeMap::new() };
            fs::write(path(name), serde_json::to_string(&kept).unwrap()).unwrap();
        }
        remove_abandoned(root.path());
        assert!(path("a.json").exists() && !path("b.json").exists());
    }

    #[test]
    fn a_login_stands_in_its_folder_whatever_its_server_is_called() {
        for (server, file) in [("tracker", "tracker.json"), ("../x", "%2e%2e%2fx.json"), ("é b", "%c3%a9%20b.json")] {
            assert_eq!(file_name(server), file);
        }
    }
}
