//! Connection to an engine: keys, certificates, and the store of large contents.

use std::path::Path;

use aime_messages::{Describe as _, Message, message};
use aime_temporal::{Access, Blobs, Bucket, BucketKeys, Certificates, Client, Seal, connect};

use super::EngineOptions;
use crate::{ErrorKind, RunsError, Setup};

/// Variable with the key of an engine that requires one.
const API_KEY: &str = "AIME_TEMPORAL_API_KEY";

/// Variable with the key that encrypts everything that goes to the engine and to the blob store.
const PAYLOAD_KEY: &str = "AIME_TEMPORAL_PAYLOAD_KEY";

/// Connects to the engine.
pub(super) async fn client(options: &EngineOptions, setup: &Setup) -> Result<Client, RunsError> {
    let tls = &options.tls;
    let own = tls.own.as_ref().map(|(certificate, key)| Ok::<_, RunsError>((read_certificates(certificate)?, read_key(key, setup)?)));
    let authority = tls.authority.as_deref().map(read_certificates);
    let certificates = Certificates { authority: authority.transpose()?, own: own.transpose()?, name: tls.name.clone() };
    let api_key = setup.environment.text(API_KEY).map(str::to_owned);
    Ok(connect(Access { address: options.address.clone(), blobs: blobs(options, setup)?, api_key, certificates }).await?)
}

/// Returns the store for large data, and the encryption keys.
pub(super) fn blobs(options: &EngineOptions, setup: &Setup) -> Result<Blobs, RunsError> {
    let keys = match &options.payload_key {
        Some(file) => Some((String::from_utf8_lossy(&read_key(file, setup)?).into_owned(), file.display().to_string())),
        None => setup.environment.text(PAYLOAD_KEY).map(|keys| (keys.to_owned(), PAYLOAD_KEY.to_owned())),
    };
    let seal = keys
        .map(|(keys, source)| {
            Seal::read(&keys).map_err(|error| RunsError::usage(message!("key-unusable", source, reason = error.describe())))
        })
        .transpose()?;
    let place = options.blobs.clone().unwrap_or_else(|| setup.data_folder().join("blobs"));
    let blobs = match place.to_str().filter(|address| Bucket::is_address(address)) {
        Some(address) => Blobs::new(bucket(address, setup)?),
        None => Blobs::in_folder(place),
    };
    Ok(blobs.sealed(seal))
}

/// Returns a bucket from its address and the standard variables for such stores.
fn bucket(address: &str, setup: &Setup) -> Result<Bucket, RunsError> {
    let text = |name: &str| setup.environment.text(name);
    let (Some(id), Some(secret)) = (text("AWS_ACCESS_KEY_ID"), text("AWS_SECRET_ACCESS_KEY")) else {
        return Err(RunsError::usage(message!("engine-no-key", place = address)).hint(message!("engine-no-key-hint")));
    };
    let keys = BucketKeys { id: id.to_owned(), secret: secret.to_owned(), token: text("AWS_SESSION_TOKEN").map(str::to_owned) };
    let endpoint = text("AWS_ENDPOINT_URL_S3").or_else(|| text("AWS_ENDPOINT_URL"));
    let region = text("AWS_REGION").or_else(|| text("AWS_DEFAULT_REGION"));
    Bucket::new(address, endpoint, region, keys).map_err(|error| RunsError::described(ErrorKind::Usage, error))
}

fn read_file(file: &Path) -> Result<Vec<u8>, RunsError> {
    std::fs::read(file).map_err(|error| RunsError::usage(message!("unreadable", what = file.display(), reason = Message::text(error))))
}

/// Reads a file of certificates. A file without any is refused: it would be accepted silently, and then no server would be trusted.
fn read_certificates(file: &Path) -> Result<Vec<u8>, RunsError> {
    let bytes = read_file(file)?;
    let one = b"-----BEGIN CERTIFICATE-----";
    if bytes.windows(one.len()).any(|part| part == one) {
        Ok(bytes)
    } else {
        Err(RunsError::usage(message!("engine-no-certificate", file = file.display())))
    }
}

/// Reads a key file. It must not be in a folder that actors read or that travels to other hosts.
fn read_key(file: &Path, setup: &Setup) -> Result<Vec<u8>, RunsError> {
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if place(file).starts_with(place(&setup.folder)) {
        return Err(RunsError::usage(message!("engine-key-within", file = file.display())).hint(message!("engine-key-within-hint")));
    }
    read_file(file)
}
