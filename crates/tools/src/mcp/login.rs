//! Login file: the tokens of one server, readable by its user only.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use futures::future::BoxFuture;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

/// Schema version of the file.
const SCHEMA: &str = "aime.mcp_login/v1";

/// Content of the file. The tokens were issued for this URL, and are sent to no other.
#[derive(Serialize, Deserialize)]
struct Login {
    schema: String,
    url: String,
    /// `None` before the first login.
    #[serde(default)]
    credentials: Option<StoredCredentials>,
    /// Challenge (`WWW-Authenticate`) that the server sent since the last login.
    #[serde(default)]
    demand: Option<String>,
}

/// Login of one server at one URL.
#[derive(Debug, Clone)]
pub(super) struct StoredLogin {
    file: PathBuf,
    url: String,
}

impl StoredLogin {
    pub(super) fn new(file: &Path, url: &str) -> Self {
        Self { file: file.to_path_buf(), url: url.to_owned() }
    }

    /// Returns true if a login for this URL exists.
    pub(super) fn is_there(&self) -> bool {
        self.client().is_some()
    }

    /// Returns the id of the client that has logged in at this URL.
    pub(super) fn client(&self) -> Option<String> {
        Some(self.credentials().ok()??.client_id)
    }

    /// Returns the challenge that the server sent since the last login.
    pub(super) fn demand(&self) -> Option<String> {
        self.read().ok()??.demand
    }

    /// Returns the scopes of the login.
    pub(super) fn granted(&self) -> Vec<String> {
        self.credentials().ok().flatten().map(|credentials| credentials.granted_scopes).unwrap_or_default()
    }

    /// Stores the server's challenge for the next login.
    pub(super) fn keep_demand(&self, demand: &str) -> io::Result<()> {
        self.set_demand(Some(demand.to_owned()))
    }

    /// Removes the challenge: the new login has satisfied it.
    pub(super) fn forget_demand(&self) -> io::Result<()> {
        if self.demand().is_some() { self.set_demand(None) } else { Ok(()) }
    }

    /// Replaces the challenge. Does not wait for a process that renews the tokens at the moment; the challenge is dropped then.
    fn set_demand(&self, demand: Option<String>) -> io::Result<()> {
        let lock = self.lock_file()?;
        lock.try_lock()?;
        let credentials = self.credentials()?;
        self.write(credentials, demand)
    }

    fn credentials(&self) -> io::Result<Option<StoredCredentials>> {
        Ok(self.read()?.and_then(|login| login.credentials))
    }

    /// Deletes the login. Returns true if there was one.
    pub(super) fn remove(&self) -> io::Result<bool> {
        let was_there = !matches!(self.credentials(), Ok(None));
        match fs::remove_file(&self.file) {
            Ok(()) => Ok(was_there),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read(&self) -> io::Result<Option<Login>> {
        let text = match fs::read(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let login: Login = serde_json::from_slice(&text).map_err(|_| io::Error::other("it is no login that aime can read"))?;
        Ok((login.schema == SCHEMA && login.url == self.url).then_some(login))
    }

    /// Writes the file atomically. No other user can read it at any moment.
    fn write(&self, credentials: Option<StoredCredentials>, demand: Option<String>) -> io::Result<()> {
        let folder = self.folder()?;
        let text = serde_json::to_vec(&Login { schema: SCHEMA.to_owned(), url: self.url.clone(), credentials, demand })?;
        let new = folder.join(format!(".{}.new", std::process::id()));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, &self.file)
    }

    /// Creates the folder of the file, accessible to its user only, and returns it.
    fn folder(&self) -> io::Result<&Path> {
        let folder = self.file.parent().ok_or_else(|| io::Error::other("it stands in no folder"))?;
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
        Ok(folder)
    }

    /// Waits until no other process renews these tokens: a refresh token is valid only once.
    fn lock(&self) -> io::Result<File> {
        let file = self.lock_file()?;
        file.lock()?;
        Ok(file)
    }

    fn lock_file(&self) -> io::Result<File> {
        self.folder()?;
        private(OpenOptions::new().write(true).create(true).truncate(false)).open(self.file.with_extension("lock"))
    }

    fn fault(&self, error: &io::Error) -> AuthError {
        AuthError::CredentialStoreError(format!("{}: {error}", self.file.display()))
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

// The signatures are those that `async_trait` generates for the trait.
impl CredentialStore for StoredLogin {
    fn load<'a, 'b>(&'a self) -> BoxFuture<'b, Result<Option<StoredCredentials>, AuthError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.credentials().map_err(|error| self.fault(&error)) })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> BoxFuture<'b, Result<(), AuthError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.write(Some(credentials), self.demand()).map_err(|error| self.fault(&error)) })
    }

    fn clear<'a, 'b>(&'a self) -> BoxFuture<'b, Result<(), AuthError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.remove().map(drop).map_err(|error| self.fault(&error)) })
    }

    fn acquire_refresh_guard<'a, 'b>(&'a self) -> BoxFuture<'b, Result<Option<CredentialRefreshGuard>, AuthError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let kept = self.clone();
            let locked = tokio::task::spawn_blocking(move || kept.lock()).await;
            let locked = locked.map_err(io::Error::other).and_then(|locked| locked);
            locked.map(|file| Some(CredentialRefreshGuard::new(file))).map_err(|error| self.fault(&error))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(client: &str) -> StoredCredentials {
        StoredCredentials::new(client.to_owned(), None, Vec::new(), Some(7))
    }

    // Requirement: 8.21
    #[tokio::test]
    async fn a_login_is_its_users_alone_and_goes_to_one_address() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("state/logins/tracker.json");
        let kept = StoredLogin::new(&file, "https://tracker.example.org/mcp");
        assert!(!kept.is_there() && kept.load().await.unwrap().is_none());
        kept.save(credentials("one")).await.unwrap();
        kept.save(credentials("two")).await.unwrap();
        assert_eq!(kept.load().await.unwrap().unwrap().client_id, "two");
        #[cfg(unix)]
        for (path, mode) in [(file.as_path(), 0o600), (file.parent().unwrap(), 0o700)] {
            let found = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
            assert_eq!(found & 0o777, mode, "{}", path.display());
        }
        kept.keep_demand("Bearer scope=\"a\"").unwrap();
        assert_eq!(kept.demand().as_deref(), Some("Bearer scope=\"a\""));
        assert_eq!(kept.load().await.unwrap().unwrap().client_id, "two", "the login stays");
        kept.save(credentials("two")).await.unwrap();
        assert!(kept.demand().is_some(), "tokens that are renewed change nothing of it");
        kept.forget_demand().unwrap();
        assert_eq!(kept.demand(), None);
        let _guard = kept.acquire_refresh_guard().await.unwrap();
        let elsewhere = StoredLogin::new(&file, "https://other.example.org/mcp");
        assert!(!elsewhere.is_there() && elsewhere.load().await.unwrap().is_none());
        assert!(kept.remove().unwrap() && !kept.remove().unwrap() && !kept.is_there());
        fs::write(&file, "{}").unwrap();
        assert!(!kept.is_there());
        let fault = kept.load().await.unwrap_err().to_string();
        assert!(fault.contains("tracker.json") && fault.contains("no login that aime can read"), "{fault}");
    }
}
