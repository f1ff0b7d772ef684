//! File names as text. A name need not be UTF-8: its other bytes are written as `%` and two hexadecimal digits, and so is `%` itself.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serializer, de::Error};

use crate::system::path_of;

/// Encodes a path as text for [`decode`].
pub(crate) fn encode(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Decodes the text of a path; `None` for text that [`encode`] never writes.
pub(crate) fn decode(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    path_of(bytes)
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(path))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let text = String::deserialize(deserializer)?;
    decode(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is not a valid path")))
}

/// Serialization of several paths.
pub(crate) mod several {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        paths.iter().map(|path| super::encode(path)).collect::<Vec<_>>().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| super::decode(text).ok_or_else(|| D::Error::custom(format!("{text:?} is not a valid path")))).collect()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        ffi::{OsStr, OsString},
        os::unix::ffi::{OsStrExt, OsStringExt},
    };

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_stay_readable() {
        let table: [(&[u8], &str); 4] =
            [(b"a/b.txt", "a/b.txt"), ("ä 中 😀".as_bytes(), "ä 中 😀"), (b"caf\xe9", "caf%E9"), (b"50%", "50%25")];
        for (bytes, text) in table {
            assert_eq!(encode(Path::new(OsStr::from_bytes(bytes))), text);
        }
        assert_eq!(decode("50%"), None);
        assert_eq!(decode("%zz"), None);
    }

    proptest! {
        #[test]
        fn every_name_comes_back(bytes: Vec<u8>) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            prop_assert_eq!(decode(&encode(&path)), Some(path));
        }
    }
}
