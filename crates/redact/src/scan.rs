//! Inspects the texts of a value as they would appear in JSON, without making the JSON. Most values hold no secret,
//! and need no copy.

use std::fmt;

use serde::{
    Serialize, Serializer,
    ser::{
        Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
        SerializeTupleVariant,
    },
};

/// Returns true if `found` holds for any text of a value: its strings, characters and keys. Names of fields and
/// variants belong to the program and are not inspected. If JSON cannot represent a value, the inspection ends at
/// that point.
pub(crate) fn any_text<T: Serialize + ?Sized>(value: &T, found: &dyn Fn(&str) -> bool) -> bool {
    matches!(value.serialize(Scan { is_known: found, is_key: false }), Err(Stop::Found))
}

/// Reason for ending the inspection.
#[derive(Debug)]
enum Stop {
    Found,
    NoJson,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "found",
            Self::NoJson => "no JSON",
        })
    }
}

impl std::error::Error for Stop {}

impl Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::NoJson
    }
}

#[derive(Clone, Copy)]
struct Scan<'a> {
    is_known: &'a dyn Fn(&str) -> bool,
    /// In a key, numbers are texts too.
    is_key: bool,
}

impl Scan<'_> {
    fn text(self, text: &str) -> Result<(), Stop> {
        if (self.is_known)(text) { Err(Stop::Found) } else { Ok(()) }
    }

    fn number(self, number: impl fmt::Display) -> Result<(), Stop> {
        if self.is_key { self.text(&number.to_string()) } else { Ok(()) }
    }

    fn value<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(Self { is_key: false, ..self })
    }
}

macro_rules! numbers {
    ($($name:ident: $number:ty),*) => {
        $(fn $name(self, number: $number) -> Result<(), Stop> {
            self.number(number)
        })*
    };
}

impl Serializer for Scan<'_> {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64
    }

    fn serialize_char(self, letter: char) -> Result<(), Stop> {
        self.text(letter.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Stop> {
        self.text(text)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(self, _: &'static str, _: u32, _: &'static str, value: &T) -> Result<(), Stop> {
        self.value(value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }
}

impl SerializeMap for Scan<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        key.serialize(Self { is_key: true, ..*self })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        self.value(value)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}

macro_rules! rows {
    ($($part:ident: $name:ident),*) => {
        $(impl $part for Scan<'_> {
            type Ok = ();
            type Error = Stop;

            fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
                self.value(value)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        })*
    };
}

macro_rules! fields {
    ($($part:ident),*) => {
        $(impl $part for Scan<'_> {
            type Ok = ();
            type Error = Stop;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), Stop> {
                self.value(value)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        })*
    };
}

rows! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}
fields! { SerializeStruct, SerializeStructVariant }

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        collections::{BTreeMap, BTreeSet},
    };

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Clone, Serialize)]
    struct Unit;
    #[derive(Debug, Clone, Serialize)]
    struct Pair(u8, String);
    #[derive(Debug, Clone, Serialize)]
    struct Wrapped(String);

    #[derive(Debug, Clone, Serialize)]
    enum Kind {
        Plain,
        One(String),
        Two(String, char),
        Fields { a: Option<String>, b: Vec<String> },
    }

    #[derive(Debug, Clone, Serialize)]
    struct All {
        text: String,
        letter: char,
        unit: Unit,
        pair: Pair,
        wrapped: Wrapped,
        kinds: Vec<Kind>,
        named: BTreeMap<String, Value>,
        numbered: BTreeMap<i64, Kind>,
    }

    /// Collects every text of the document: strings, and keys of maps.
    fn texts_of(document: &Value, texts: &mut BTreeSet<String>) {
        match document {
            Value::String(text) => drop(texts.insert(text.clone())),
            Value::Array(items) => items.iter().for_each(|item| texts_of(item, texts)),
            Value::Object(members) => {
                for (name, member) in members {
                    texts.insert(name.clone());
                    texts_of(member, texts);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn kind() -> impl Strategy<Value = Kind> {
        prop_oneof![
            Just(Kind::Plain),
            "[x-z]{0,4}".prop_map(Kind::One),
            ("[x-z]{0,4}", any::<char>()).prop_map(|(text, letter)| Kind::Two(text, letter)),
            (prop::option::of("[x-z]{0,4}"), prop::collection::vec("[x-z]{0,4}", 0..3)).prop_map(|(a, b)| Kind::Fields { a, b }),
        ]
    }

    proptest! {
        /// The inspection sees exactly the texts of the document, except the names that the program gives.
        #[test]
        fn every_text_of_the_document_is_seen(
            text in "(.|\n){0,8}", letter: char, number: u8,
            kinds in prop::collection::vec(kind(), 0..4),
            keys in prop::collection::btree_map("[x-z]{0,4}", "[x-z]{0,4}", 0..4),
            numbered in prop::collection::btree_map(any::<i64>(), kind(), 0..3),
        ) {
            let named = keys.into_iter().map(|(key, value)| (key, serde_json::json!([value, {"in": 1.5}]))).collect();
            let value = All {
                text: text.clone(), letter, unit: Unit, pair: Pair(number, text.clone()), wrapped: Wrapped(text), kinds, named, numbered,
            };
            let seen = RefCell::new(BTreeSet::new());
            let none = any_text(&value, &|text| {
                seen.borrow_mut().insert(text.to_owned());
                false
            });
            prop_assert!(!none);
            let mut texts = BTreeSet::new();
            texts_of(&serde_json::to_value(&value).unwrap(), &mut texts);
            let own = ["text", "letter", "unit", "pair", "wrapped", "kinds", "named", "numbered", "Plain", "One", "Two", "Fields", "a", "b"];
            let seen = seen.into_inner();
            for missed in texts.difference(&seen) {
                prop_assert!(own.contains(&missed.as_str()), "{missed:?} was not looked at");
            }
            for text in &seen {
                prop_assert!(texts.contains(text), "{text:?} does not stand in the document");
                prop_assert!(any_text(&value, &|other| other == text));
            }
        }
    }
}
