//! Where the keys of a YAML document stand. JSON is YAML too.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::Spanned;

/// The keys of a table with those below them; of a list the keys of all its tables.
#[derive(Default)]
pub(super) struct Keys(Vec<(Spanned<String>, Keys)>);

impl Keys {
    /// Line and column of the innermost key that a text begins with, such as `run.max_steps is 0`.
    pub(super) fn place_of(&self, text: &str) -> Option<(usize, usize)> {
        self.0.iter().find_map(|(key, inner)| {
            let behind = text.strip_prefix(key.value.as_str()).filter(|behind| behind.starts_with(['.', ' ']))?;
            let deeper = behind.strip_prefix('.').and_then(|behind| inner.place_of(behind));
            let own = || Some((key.defined.line().try_into().ok()?, key.defined.column().try_into().ok()?));
            deeper.or_else(own)
        })
    }
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
        let mut keys = Keys::default();
        while let Some(entry) = map.next_entry()? {
            keys.0.push(entry);
        }
        Ok(keys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Keys, A::Error> {
        let mut keys = Keys::default();
        while let Some(Keys(more)) = list.next_element()? {
            keys.0.extend(more);
        }
        Ok(keys)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_unit<E>(self) -> Result<Keys, E> {
        Ok(Keys::default())
    }
}
