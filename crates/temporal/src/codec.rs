//! Codec for payloads to and from the engine: large payloads are kept in the blob store and replaced by their names;
//! with a key, payloads are encrypted.

use std::sync::Arc;

use futures::{FutureExt as _, future::BoxFuture};
use temporalio_common::{
    data_converters::{
        DataConverter, DefaultFailureConverter, PayloadCodec, PayloadConversionError, PayloadConverter, SerializationContextData,
    },
    protos::temporal::api::common::v1::Payload,
};

use crate::{BlobError, Blobs, SealError};

/// A payload of more bytes travels by its name.
pub const MAX_INLINE_BYTES: usize = 32 * 1024;

const ENCODING: &str = "encoding";
const BY_NAME: &[u8] = b"aime/blob-v1";
const SEALED: &[u8] = b"aime/sealed-v1";
/// The encoding that the payload itself has.
const INNER: &str = "aime-inner-encoding";

/// Stores payloads of more than [`MAX_INLINE_BYTES`] bytes as blobs, and seals all others where the store seals.
#[derive(Debug, Clone)]
pub struct BlobCodec {
    blobs: Blobs,
}

impl BlobCodec {
    /// Creates the codec with this store.
    #[must_use]
    pub const fn new(blobs: Blobs) -> Self {
        Self { blobs }
    }

    /// JSON, with what is large in this store. Where it seals, words of failures are sealed too.
    #[must_use]
    pub fn converter(blobs: Blobs) -> DataConverter {
        let failures = DefaultFailureConverter::new(blobs.seal().is_some());
        DataConverter::new(PayloadConverter::default(), failures, Arc::new(Self::new(blobs)))
    }

    async fn shrink(&self, mut payload: Payload) -> Result<Payload, BlobError> {
        let (encoding, data) = match self.blobs.seal() {
            None if payload.data.len() <= MAX_INLINE_BYTES => return Ok(payload),
            Some(seal) if payload.data.len() <= MAX_INLINE_BYTES => {
                (SEALED, seal.seal(&payload.data).map_err(|source| BlobError::Seal { name: "a payload".to_owned(), source })?)
            }
            _ => (BY_NAME, self.blobs.put(std::mem::take(&mut payload.data)).await?.into_bytes()),
        };
        if let Some(encoding) = payload.metadata.insert(ENCODING.to_owned(), encoding.to_vec()) {
            payload.metadata.insert(INNER.to_owned(), encoding);
        }
        payload.data = data;
        Ok(payload)
    }

    async fn expand(&self, mut payload: Payload) -> Result<Payload, BlobError> {
        payload.data = match payload.metadata.get(ENCODING).map(Vec::as_slice) {
            Some(BY_NAME) => self.blobs.get(&String::from_utf8_lossy(&payload.data)).await?,
            Some(SEALED) => {
                let failed = |source| BlobError::Seal { name: "a payload".to_owned(), source };
                self.blobs.seal().ok_or_else(|| failed(SealError::NoKeyGiven))?.open(&payload.data).map_err(failed)?
            }
            _ => return Ok(payload),
        };
        match payload.metadata.remove(INNER) {
            Some(encoding) => payload.metadata.insert(ENCODING.to_owned(), encoding),
            None => payload.metadata.remove(ENCODING),
        };
        Ok(payload)
    }
}

fn failed(error: BlobError) -> PayloadConversionError {
    PayloadConversionError::EncodingError(error.into())
}

impl PayloadCodec for BlobCodec {
    fn encode(
        &self,
        _: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let codec = self.clone();
        async move {
            let mut changed = Vec::with_capacity(payloads.len());
            for payload in payloads {
                changed.push(codec.shrink(payload).await.map_err(failed)?);
            }
            Ok(changed)
        }
        .boxed()
    }

    fn decode(
        &self,
        _: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let codec = self.clone();
        async move {
            let mut changed = Vec::with_capacity(payloads.len());
            for payload in payloads {
                changed.push(codec.expand(payload).await.map_err(failed)?);
            }
            Ok(changed)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use aime_durable::EffectId;
    use aime_messages::{Language, message};
    use aime_orchestrator::RunFact;
    use temporalio_common::data_converters::SerializationContextData;

    use super::*;
    use crate::Wire;

    // Requirement: 19.4
    #[tokio::test]
    async fn a_reason_keeps_its_language_through_the_engine() {
        let folder = tempfile::tempdir().unwrap();
        let (converter, context) = (BlobCodec::converter(Blobs::in_folder(folder.path())), SerializationContextData::None);
        let sent = RunFact::EffectFailed { id: EffectId::new("a/1"), message: message!("host-lost", queue = "aime-files") };
        let payload = converter.to_payload(&context, &Wire(vec![sent.clone()])).await.unwrap();
        let Wire(received): Wire<Vec<RunFact>> = converter.from_payload(&context, payload).await.unwrap();
        assert_eq!(received, [sent]);
        let RunFact::EffectFailed { message, .. } = &received[0] else { panic!() };
        assert_eq!(message.render(Language::Chinese), "它的主机已失联：队列 aime-files 的工作进程都没有及时领取它");
    }

    // Requirement: 18.5
    #[tokio::test]
    async fn only_what_is_large_is_stored_and_all_of_it_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let codec = BlobCodec::new(Blobs::in_folder(folder.path()));
        for (bytes, stored) in [(0, false), (MAX_INLINE_BYTES, false), (MAX_INLINE_BYTES + 1, true)] {
            let metadata = [(ENCODING.to_owned(), b"json/plain".to_vec())].into();
            let payload = Payload { metadata, data: vec![b'x'; bytes], ..Payload::default() };
            let travels = codec.shrink(payload.clone()).await.unwrap();
            assert_eq!(travels.data.len() < 100, stored || bytes == 0, "{bytes}");
            assert_eq!(codec.expand(travels).await.unwrap(), payload);
        }
    }

    // Requirement: 18.8
    #[tokio::test]
    async fn with_a_key_nothing_travels_in_plain_text() {
        let folder = tempfile::tempdir().unwrap();
        let seal = crate::Seal::read(&"7".repeat(64)).unwrap();
        let (sealed, plain) =
            (BlobCodec::new(Blobs::in_folder(folder.path()).sealed(Some(seal))), BlobCodec::new(Blobs::in_folder(folder.path())));
        for bytes in [1, MAX_INLINE_BYTES, MAX_INLINE_BYTES + 1] {
            let metadata = [(ENCODING.to_owned(), b"json/plain".to_vec())].into();
            let payload = Payload { metadata, data: b"secret".repeat(bytes), ..Payload::default() };
            let travels = sealed.shrink(payload.clone()).await.unwrap();
            assert!(!travels.data.windows(6).any(|part| part == b"secret"), "{bytes}");
            assert!(plain.expand(travels.clone()).await.is_err(), "{bytes}");
            assert_eq!(sealed.expand(travels).await.unwrap(), payload);
            // Payloads sent before there was a key are still readable.
            assert_eq!(sealed.expand(plain.shrink(payload.clone()).await.unwrap()).await.unwrap(), payload);
        }
    }
}
