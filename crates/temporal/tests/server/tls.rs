//! Tests of certificates on both sides. A TLS proxy in front of the server terminates TLS, as in production.

use std::{net::SocketAddr, sync::Arc};

use aime_temporal::{Access, Blobs, Certificates, EngineError, Queues, RunsClient, connect};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring::default_provider,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
        server::WebPkiClientVerifier,
    },
};

/// The name in the certificate of the engine.
const NAME: &str = "engine.example";

/// Certificate authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

/// A certificate and its key.
struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn vouch(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        Identity { certificate: params.signed_by(&key, &self.issuer).unwrap(), key }
    }
}

impl Identity {
    fn pem(&self) -> (Vec<u8>, Vec<u8>) {
        (self.certificate.pem().into_bytes(), self.key.serialize_pem().into_bytes())
    }
}

/// Terminates TLS for clients with a certificate signed by `clients`, and forwards their data.
async fn before(server: String, own: &Identity, clients: &Authority) -> SocketAddr {
    let mut roots = RootCertStore::empty();
    roots.add(clients.certificate.der().clone()).unwrap();
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.key.serialize_der()));
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_client_cert_verifier(verifier).with_single_cert(vec![own.certificate.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (acceptor, listener) = (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let (acceptor, server) = (acceptor.clone(), server.clone());
            tokio::spawn(async move {
                let Ok(mut near) = acceptor.accept(near).await else { return };
                let mut far = TcpStream::connect(server).await.unwrap();
                drop(copy_bidirectional(&mut near, &mut far).await);
            });
        }
    });
    address
}

// Requirement: 18.8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a test takes its server from the environment")]
async fn both_sides_show_who_they_are() {
    let server = std::env::var("AIME_TEMPORAL_ADDRESS").expect("`cargo xtask test temporal` starts a server and names it");
    let (ours, theirs) = (Authority::new(), Authority::new());
    let engine = ours.vouch(NAME, ExtendedKeyUsagePurpose::ServerAuth);
    let address = before(server, &engine, &ours).await;
    let (us, stranger) =
        (ours.vouch("worker", ExtendedKeyUsagePurpose::ClientAuth), theirs.vouch("worker", ExtendedKeyUsagePurpose::ClientAuth));
    let trusted = |authority: &Authority| Some(authority.certificate.pem().into_bytes());
    let cases = [
        ("all is well", trusted(&ours), Some(us.pem()), Some(NAME), true),
        ("nobody says who we are", trusted(&ours), None, Some(NAME), false),
        ("somebody says it whom the engine does not trust", trusted(&ours), Some(stranger.pem()), Some(NAME), false),
        ("the engine is vouched for by somebody whom we do not trust", trusted(&theirs), Some(us.pem()), Some(NAME), false),
        ("nobody is trusted but whom the system trusts", None, Some(us.pem()), Some(NAME), false),
        ("the engine has another name", trusted(&ours), Some(us.pem()), Some("other.example"), false),
        ("the engine has the name of its address", trusted(&ours), Some(us.pem()), None, false),
    ];
    for (case, authority, own, name, lets_in) in cases {
        let address = format!("temporals://{address}").parse().unwrap();
        let certificates = Certificates { authority, own, name: name.map(str::to_owned) };
        let connected = connect(Access { address, blobs: Blobs::in_folder("blobs"), api_key: None, certificates }).await;
        assert!(matches!((&connected, lets_in), (Ok(_), true) | (Err(EngineError::Connect { .. }), false)), "{case}");
        if let Ok(client) = connected {
            RunsClient::new(client, Queues::default()).list().await.unwrap();
        }
    }
}
