//! Encryption of what leaves a process for the engine and the store of blobs.

use std::{fmt, sync::Arc};

use aime_messages::{Describe, Message, message};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom as _, SystemRandom},
};

/// First bytes of sealed data.
const MAGIC: &[u8] = b"aime-sealed-1\n";
/// Length of a key's id in bytes.
const ID: usize = 8;
/// Length of a key in bytes.
const KEY: usize = 32;

/// Reason why a key cannot be used, or data cannot be decrypted with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The text is no key.
    #[error("{}", self.describe())]
    NoKey {
        /// Number of the line, from 1.
        line: usize,
    },
    /// There is no key at all.
    #[error("{}", self.describe())]
    Empty,
    /// The data was sealed with a key that is not available.
    #[error("{}", self.describe())]
    OtherKey {
        /// The name of the key.
        id: String,
    },
    /// The data needs a key, and none was given.
    #[error("{}", self.describe())]
    NoKeyGiven,
    /// The data was changed after sealing.
    #[error("{}", self.describe())]
    Changed,
    /// The operating system gives no random numbers.
    #[error("{}", self.describe())]
    NoRandom,
}

impl Describe for SealError {
    fn describe(&self) -> Message {
        match self {
            Self::NoKey { line } => message!("key-invalid", line),
            Self::Empty => message!("key-empty"),
            Self::OtherKey { id } => message!("seal-other-key", id),
            Self::NoKeyGiven => message!("seal-without-key"),
            Self::Changed => message!("seal-changed"),
            Self::NoRandom => message!("no-random-numbers"),
        }
    }
}

/// Keys: the first seals, each of them opens what it has sealed. ChaCha20-Poly1305 (RFC 8439) with random nonces, by `ring`. Cheap to clone.
#[derive(Clone)]
pub struct Seal(Arc<Vec<Key>>);

struct Key {
    id: [u8; ID],
    cipher: LessSafeKey,
    /// Key for names of sealed data, so that a name reveals nothing without the key.
    names: [u8; KEY],
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|key| hex(&key.id))).finish()
    }
}

impl Seal {
    /// Reads keys from a text: one in each line, 64 hexadecimal digits. Empty lines and lines that begin with `#` are
    /// skipped.
    ///
    /// # Errors
    /// [`SealError`], which reveals nothing of the text.
    pub fn read(text: &str) -> Result<Self, SealError> {
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|(at, line)| Key::read(line).ok_or(SealError::NoKey { line: at + 1 })).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() { Err(SealError::Empty) } else { Ok(Self(Arc::new(keys))) }
    }

    /// Seals bytes with the first key.
    ///
    /// # Errors
    /// [`SealError::NoRandom`].
    pub fn seal(&self, bytes: &[u8]) -> Result<Vec<u8>, SealError> {
        let key = self.0.first().ok_or(SealError::Empty)?;
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| SealError::NoRandom)?;
        let head = [MAGIC, &key.id, &nonce].concat();
        let mut sealed = bytes.to_vec();
        let aad = Aad::from(&head);
        key.cipher.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed).map_err(|_| SealError::Changed)?;
        Ok([head, sealed].concat())
    }

    /// Opens what was sealed with any of the keys.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        self.opened(sealed).map(|(bytes, _)| bytes)
    }

    /// Returns a name for bytes that reveals nothing without the key.
    pub(crate) fn name(&self, bytes: &[u8]) -> Option<String> {
        self.0.first().map(|key| key.name(bytes))
    }

    /// Opens what was sealed, and names it by the key that it was sealed with.
    pub(crate) fn open_named(&self, sealed: &[u8]) -> Result<(Vec<u8>, String), SealError> {
        let (bytes, key) = self.opened(sealed)?;
        let name = key.name(&bytes);
        Ok((bytes, name))
    }

    fn opened(&self, sealed: &[u8]) -> Result<(Vec<u8>, &Key), SealError> {
        let rest = sealed.strip_prefix(MAGIC).ok_or(SealError::Changed)?;
        let (id, rest) = rest.split_at_checked(ID).ok_or(SealError::Changed)?;
        let (nonce, rest) = rest.split_at_checked(NONCE_LEN).ok_or(SealError::Changed)?;
        let key = self.0.iter().find(|key| key.id == id).ok_or_else(|| SealError::OtherKey { id: hex(id) })?;
        let head = [MAGIC, id, nonce].concat();
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Changed)?;
        let mut bytes = rest.to_vec();
        let length = key.cipher.open_in_place(nonce, Aad::from(&head), &mut bytes).map_err(|_| SealError::Changed)?.len();
        bytes.truncate(length);
        Ok((bytes, key))
    }
}

/// Returns true if bytes look sealed.
pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl Key {
    fn read(text: &str) -> Option<Self> {
        let bytes = blake3::Hash::from_hex(text).ok()?;
        let derived = |what: &str| blake3::derive_key(&format!("aime-temporal 2026-11 {what}"), bytes.as_bytes());
        let cipher = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &derived("seal")).ok()?);
        let mut id = [0; ID];
        id.copy_from_slice(derived("id").get(..ID)?);
        Some(Self { id, cipher, names: derived("names") })
    }

    fn name(&self, bytes: &[u8]) -> String {
        blake3::keyed_hash(&self.names, bytes).to_hex().to_string()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Seal, SealError};

    fn key(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    #[test]
    fn what_was_sealed_is_opened_by_its_key_alone() {
        let (one, other) = (Seal::read(&key('1')).unwrap(), Seal::read(&key('2')).unwrap());
        let sealed = one.seal(b"a secret").unwrap();
        assert!(!sealed.windows(8).any(|part| part == b"a secret"));
        assert_eq!(one.open(&sealed).unwrap(), b"a secret");
        assert_ne!(one.seal(b"a secret").unwrap(), sealed, "the same twice is not seen to be the same");
        assert!(matches!(other.open(&sealed), Err(SealError::OtherKey { .. })));
        // A new key seals, and the old one still opens.
        let both = Seal::read(&format!("# new\n{}\n\n{}\n", key('2'), key('1'))).unwrap();
        assert_eq!(both.open(&sealed).unwrap(), b"a secret");
        assert_eq!(other.open(&both.seal(b"more").unwrap()).unwrap(), b"more");
        assert_ne!(one.name(b"a secret"), other.name(b"a secret"));
    }

    #[test]
    fn no_byte_can_be_changed() {
        let seal = Seal::read(&key('a')).unwrap();
        let sealed = seal.seal(b"text").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(seal.open(&changed).is_err(), "byte {at}");
            assert!(seal.open(&sealed[..at]).is_err(), "cut off at {at}");
        }
    }

    #[test]
    fn only_keys_are_keys_and_none_is_shown() {
        let cases = [("", SealError::Empty), ("# none\n", SealError::Empty), ("abc", SealError::NoKey { line: 1 })];
        for (text, expected) in cases {
            assert_eq!(Seal::read(text).unwrap_err(), expected, "{text:?}");
        }
        let short = format!("{}\n{}", key('1'), &key('z')[1..]);
        assert_eq!(Seal::read(&short).unwrap_err(), SealError::NoKey { line: 2 });
        assert!(!format!("{:?}", Seal::read(&key('b')).unwrap()).contains("bbbb"));
    }
}
