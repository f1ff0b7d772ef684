//! Blobs in an S3 bucket, or in a store with the same protocol.

use std::{fmt, io, time::Duration};

use aime_durable::{ContentError, ContentStore, check_name};
use aime_messages::{Describe, Message, message};
use backon::{ExponentialBuilder, Retryable as _};
use futures::{
    FutureExt as _,
    future::{self, BoxFuture},
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use rusty_s3::{Bucket as Signer, Credentials, S3Action as _, UrlStyle};

/// Validity of a signature. It is made for one request, which may have to wait for its turn.
const SIGNED_FOR: Duration = Duration::from_secs(3_600);
/// Maximum time to establish a connection, and maximum time without data.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Number of retries after a temporary failure, with growing waits from 200 ms.
const MAX_RETRIES: usize = 5;
/// The region where none is given, which stores other than Amazon's seldom ask for.
const REGION: &str = "us-east-1";
/// Scheme of its address.
const SCHEME: &str = "s3://";

/// Credentials for a store.
#[derive(Clone)]
pub struct BucketKeys {
    /// The name of the key.
    pub id: String,
    /// The secret key.
    pub secret: String,
    /// The token of a session, where the key is one of a session.
    pub token: Option<String>,
}

/// Reason why a bucket cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// The address is none.
    #[error("{}", self.describe())]
    Address {
        /// The address.
        address: String,
        /// Fault of the address.
        why: Message,
    },
    /// No client could be made.
    #[error("{}", self.describe())]
    Client(#[source] reqwest::Error),
}

impl Describe for BucketError {
    fn describe(&self) -> Message {
        match self {
            Self::Address { address, why } => message!("bucket-address", address = format!("{address:?}"), reason = why),
            Self::Client(error) => message!("bucket-client", reason = error),
        }
    }
}

/// A bucket, and what the names in it begin with. Requests are signed with AWS Signature Version 4, by `rusty-s3`. Cheap to clone.
#[derive(Clone)]
pub struct Bucket {
    signer: Signer,
    credentials: Credentials,
    prefix: String,
    client: Client,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place(""))
    }
}

impl Bucket {
    /// Returns true if a text is meant as the address of a bucket.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Returns the bucket of an address, `s3://BUCKET/PREFIX`, at Amazon's store in a region, or at the `endpoint` of
    /// another store.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn new(address: &str, endpoint: Option<&str>, region: Option<&str>, keys: BucketKeys) -> Result<Self, BucketError> {
        let failed = |why: Message| BucketError::Address { address: address.to_owned(), why };
        let rest = address.strip_prefix(SCHEME).ok_or_else(|| failed(message!("bucket-scheme", scheme = SCHEME)))?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(failed(message!("bucket-no-name")));
        }
        let region = region.unwrap_or(REGION).to_owned();
        // Amazon requires the bucket in the host name, and other stores seldom have such names.
        let (style, url) = match endpoint {
            Some(endpoint) => (UrlStyle::Path, endpoint.to_owned()),
            None => (UrlStyle::VirtualHost, format!("https://s3.{region}.amazonaws.com")),
        };
        let url: Url =
            url.parse().map_err(|error| failed(message!("bucket-endpoint", url = format!("{url:?}"), reason = Message::text(error))))?;
        let signer = Signer::new(url, style, name.to_owned(), region).map_err(|error| failed(Message::text(error)))?;
        let BucketKeys { id, secret, token } = keys;
        let credentials = match token {
            Some(token) => Credentials::new_with_token(id, secret, token),
            None => Credentials::new(id, secret),
        };
        // Fails only if a provider is installed already, which is the same one.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = Client::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT).build().map_err(BucketError::Client)?;
        let prefix = if prefix.is_empty() || prefix.ends_with('/') { prefix.to_owned() } else { format!("{prefix}/") };
        Ok(Self { signer, credentials, prefix, client })
    }

    /// Returns the object of a name.
    fn object(&self, name: &str) -> Result<String, ContentError> {
        check_name(name).map(|name| format!("{}{name}", self.prefix))
    }

    /// Sends a request until the store has answered, and gives what it said where it did as it was asked.
    async fn sent(&self, name: &str, action: &'static str, request: impl Fn() -> RequestBuilder) -> Result<Response, ContentError> {
        let send = || async {
            // The address of a request holds its signature.
            let answer = request().send().await.map_err(|error| (true, self.failed(name, action, &error.without_url())))?;
            let status = answer.status();
            if status.is_success() {
                return Ok(answer);
            }
            let passes = status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
            let body = answer.text().await.unwrap_or_default();
            Err((passes, self.failed(name, action, &format!("the store answers {status}: {}", error_text(&body)))))
        };
        let waits = ExponentialBuilder::default().with_min_delay(Duration::from_millis(200)).with_max_times(MAX_RETRIES);
        send.retry(waits).when(|(passes, _)| *passes).await.map_err(|(_, error)| error)
    }

    fn failed(&self, name: &str, action: &'static str, why: &dyn fmt::Display) -> ContentError {
        ContentError::Store { place: self.place(name), action, source: io::Error::other(why.to_string()) }
    }
}

impl ContentStore for Bucket {
    fn read<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, ContentError>> {
        async move {
            let object = self.object(name)?;
            let request = || {
                let url = self.signer.get_object(Some(&self.credentials), &object).sign(SIGNED_FOR);
                self.client.get(url)
            };
            let bytes = self.sent(name, "read", request).await?.bytes().await;
            bytes.map(|bytes| bytes.to_vec()).map_err(|error| self.failed(name, "read", &error.without_url()))
        }
        .boxed()
    }

    fn write<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ContentError>> {
        async move {
            let object = self.object(name)?;
            let request = || {
                let url = self.signer.put_object(Some(&self.credentials), &object).sign(SIGNED_FOR);
                self.client.put(url).body(bytes.clone())
            };
            self.sent(name, "written", request).await.map(drop)
        }
        .boxed()
    }

    fn renew<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, ContentError>> {
        future::ready(Ok(false)).boxed()
    }

    fn place(&self, name: &str) -> String {
        format!("{SCHEME}{}/{}{name} at {}", self.signer.name(), self.prefix, self.signer.base_url())
    }
}

/// Returns the code and message of a failure, without the XML around them.
fn error_text(answer: &str) -> String {
    const MAX_CHARS: usize = 300;
    let part = |name: &str| {
        let (_, rest) = answer.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
    };
    let parts: Vec<&str> = [part("Code"), part("Message")].into_iter().flatten().collect();
    let words = if parts.is_empty() { answer.trim().to_owned() } else { parts.join(", ") };
    words.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::{Bucket, BucketKeys, error_text};

    #[test]
    fn addresses_are_read() {
        let keys = || BucketKeys { id: "id".to_owned(), secret: "hush".to_owned(), token: None };
        let shown = |address: &str, endpoint| Bucket::new(address, endpoint, Some("eu-1"), keys()).map(|bucket| format!("{bucket:?}"));
        let cases = [
            ("s3://box", None, Some("s3://box/ at https://box.s3.eu-1.amazonaws.com/")),
            ("s3://box/a/b", Some("http://127.0.0.1:9000"), Some("s3://box/a/b/ at http://127.0.0.1:9000/box/")),
            ("s3://box/a/", Some("no address"), None),
            ("s3:///a", None, None),
            ("/box", None, None),
        ];
        for (address, endpoint, expected) in cases {
            assert_eq!(shown(address, endpoint).ok().as_deref(), expected, "{address} {endpoint:?}");
        }
    }

    #[test]
    fn failures_are_told_in_words() {
        assert_eq!(
            error_text("<?xml?><Error><Code>NoSuchKey</Code><Message>There is none.</Message></Error>"),
            "NoSuchKey, There is none."
        );
        assert_eq!((error_text(" gone "), error_text(&"x".repeat(900)).len()), ("gone".to_owned(), 300));
    }
}
