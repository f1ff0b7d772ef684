//! HTTP clients with TLS that works on every supported system.

use reqwest::{Certificate, Client, ClientBuilder};

/// Installs the TLS crypto provider once for the whole process.
pub(crate) fn install_provider() {
    // Fails only if a provider is already installed; that one is used then.
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// Reason why no TLS connection can be made on this system.
#[derive(Debug, thiserror::Error)]
#[error("no TLS: {0}")]
pub struct NoTls(#[source] reqwest::Error);

/// Builds a client, configured by `more`. Falls back to Mozilla's certificate authorities on systems without any.
pub(crate) fn secured(more: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, NoTls> {
    install_provider();
    let builder = || more(Client::builder().user_agent(concat!("aime/", env!("CARGO_PKG_VERSION"))));
    let own_roots = || {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|root| Certificate::from_der(root).ok());
        builder().tls_certs_only(roots).build()
    };
    builder().build().or_else(|_| own_roots()).map_err(NoTls)
}
