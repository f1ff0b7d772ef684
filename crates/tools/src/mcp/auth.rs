//! Login to a server that requires it: OAuth with an authorisation code and PKCE, as the MCP specification defines. The library talks to
//! the servers; this module handles the browser, and the file that stores the tokens.

use std::time::Duration;

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, OAuthClientConfig};
use secrecy::ExposeSecret;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use url::Url;

use super::{McpLogin, connection::chain, listed::one_line, login::StoredLogin};
use crate::tls;

/// Time that a person has to approve in their browser.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Time that a browser has to send its request.
const ASKING: Duration = Duration::from_secs(10);
/// Maximum bytes of a browser's request.
const MAX_ASKED: usize = 16 * 1024;
/// Path of the redirect URL.
const CALLBACK: &str = "/callback";

/// Loads a stored login. Returns `None` if no login exists, or if it belongs to another authorisation server, or another client, than the
/// current one.
pub(super) async fn manager(url: &str, login: &McpLogin) -> Result<Option<AuthorizationManager>, AuthError> {
    let kept = StoredLogin::new(&login.file, url);
    let Some(of) = kept.client() else { return Ok(None) };
    if login.client.as_ref().is_some_and(|client| client.id != of) {
        return Ok(None);
    }
    tls::install_provider();
    let mut manager = AuthorizationManager::new(url).await?;
    manager.set_credential_store(kept);
    if !manager.initialize_from_store().await? {
        return Ok(None);
    }
    if let Some(client) = &login.client {
        // The store keeps no secret, and a renewal needs it. No redirect takes place then.
        let mut config = OAuthClientConfig::new(client.id.clone(), url);
        if let Some(secret) = &client.secret {
            config = config.with_client_secret(secret.expose_secret());
        }
        manager.configure_client(config)?;
    }
    Ok(Some(manager))
}

/// Logs in: discovers the authorisation server, passes the URL for the person's browser to `announce`, and waits for the approval.
pub(super) async fn log_in(url: &str, login: &McpLogin, announce: &(dyn Fn(&str) + Send + Sync)) -> Result<(), String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| format!("no port on 127.0.0.1 can be opened: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let redirect = format!("http://127.0.0.1:{port}{CALLBACK}");
    tls::install_provider();
    let message = |error: AuthError| one_line(&chain(&error));
    let mut manager = AuthorizationManager::new(url).await.map_err(message)?;
    let kept = StoredLogin::new(&login.file, url);
    let demand = kept.demand();
    let granted = kept.granted();
    manager.set_credential_store(kept.clone());
    let resolved = manager.resolve_metadata_from_challenge(demand.as_deref()).await.map_err(message)?;
    manager.set_metadata(resolved.metadata);
    let mut request = AuthorizationRequest::new(redirect.clone()).with_client_name("aime").with_initial_scope_selection();
    if let Some(client) = &login.client {
        request = request.with_preregistered_client(client.id.clone());
        if let Some(secret) = &client.secret {
            request = request.with_client_secret(secret.expose_secret());
        }
    }
    if demand.is_some() && !granted.is_empty() {
        // New scopes are added to those that the login already has.
        let mut scopes = manager.select_initial_scopes(&[]).await;
        scopes.extend(granted);
        scopes.sort_unstable();
        scopes.dedup();
        request = request.with_scopes(scopes);
    }
    let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| message(error))?;
    announce(session.get_authorization_url());
    let asked = timeout(APPROVAL_TIMEOUT, come_back(&listener)).await.map_err(|_| "nobody has said yes in the browser".to_owned())??;
    let back = Url::parse(&redirect).and_then(|redirect| redirect.join(&asked)).map_err(|error| error.to_string())?;
    if let Some((_, reason)) = back.query_pairs().find(|(name, _)| name == "error") {
        return Err(format!("it was refused: {}", one_line(&reason).chars().take(200).collect::<String>()));
    }
    session.handle_callback_url(back.as_str()).await.map_err(message)?;
    if let Err(error) = kept.forget_demand() {
        tracing::debug!(%error, "cannot delete the stored login challenge");
    }
    Ok(())
}

/// Waits for the redirected browser, and returns the path of its request, which contains the code.
async fn come_back(listener: &TcpListener) -> Result<String, String> {
    loop {
        let (mut browser, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let Ok(Some(asked)) = timeout(ASKING, read_request(&mut browser)).await else { continue };
        let is_it = asked.split('?').next() == Some(CALLBACK);
        let (status, text) = if is_it { ("200 OK", "aime has heard. You may close this page.") } else { ("404 Not Found", "") };
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len());
        // A browser that disconnects early misses only the page.
        let _written = timeout(ASKING, browser.write_all(head.as_bytes())).await;
        if is_it {
            return Ok(asked);
        }
    }
}

/// Returns the path in the first line of a request.
async fn read_request(browser: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = browser.read(&mut chunk).await.ok()?;
        head.extend_from_slice(chunk.get(..count)?);
        if count == 0 || head.len() > MAX_ASKED {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten()
}
