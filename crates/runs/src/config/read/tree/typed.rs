//! Deserializes a tree. One deserializer serves all formats, so that the settings types are compiled once and each fault has its place.
//!
//! A method that accepts one kind of value alone calls one method of its visitor, so that the compiler drops the others.

use std::{fmt, slice};

use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error, Expected, IntoDeserializer, MapAccess, Unexpected, Visitor,
        value::{MapAccessDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{Fault, Member, Node, Tree};

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), place: None }
    }
}

impl<'de> IntoDeserializer<'de, Fault> for &'de Tree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Tree {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let read = match &self.node {
            Node::Null => visitor.visit_unit(),
            Node::Truth(truth) => visitor.visit_bool(*truth),
            Node::Whole(number) => visitor.visit_i64(*number),
            Node::Number(number) => visitor.visit_f64(*number),
            Node::Text(text) => visitor.visit_borrowed_str(text),
            Node::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Node::Table(members) => visitor.visit_map(Members { rest: members.iter(), value: None }),
        };
        read.map_err(|fault| fault.at(self.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if let Node::Null = self.node { visitor.visit_none() } else { visitor.visit_some(self).map_err(|fault| fault.at(self.place)) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self).map_err(|fault| fault.at(self.place))
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        let read = match &self.node {
            Node::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Node::Table(members) => visitor.visit_enum(MapAccessDeserializer::new(Members { rest: members.iter(), value: None })),
            _ => return Err(self.unexpected(&visitor)),
        };
        read.map_err(|fault| fault.at(self.place))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Node::Table(members) = &self.node else { return Err(self.unexpected(&visitor)) };
        visitor.visit_map(Members { rest: members.iter(), value: None }).map_err(|fault| fault.at(self.place))
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Node::List(items) = &self.node else { return Err(self.unexpected(&visitor)) };
        visitor.visit_seq(SeqDeserializer::new(items.iter())).map_err(|fault| fault.at(self.place))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Node::Text(text) = &self.node else { return Err(self.unexpected(&visitor)) };
        visitor.visit_borrowed_str(text).map_err(|fault: Fault| fault.at(self.place))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Node::Truth(truth) = &self.node else { return Err(self.unexpected(&visitor)) };
        visitor.visit_bool(*truth).map_err(|fault: Fault| fault.at(self.place))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

impl Tree {
    /// Returns the fault of a value of another type than expected.
    fn unexpected(&self, expected: &dyn Expected) -> Fault {
        let found = match &self.node {
            Node::Null => Unexpected::Unit,
            Node::Truth(truth) => Unexpected::Bool(*truth),
            Node::Whole(number) => Unexpected::Signed(*number),
            Node::Number(number) => Unexpected::Float(*number),
            Node::Text(text) => Unexpected::Str(text),
            Node::List(_) => Unexpected::Seq,
            Node::Table(_) => Unexpected::Map,
        };
        Fault::invalid_type(found, expected).at(self.place)
    }
}

/// Remaining members of a table, and the value of the last key.
struct Members<'de> {
    rest: slice::Iter<'de, Member>,
    value: Option<&'de Tree>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(Member { key, place, value }) = self.rest.next() else { return Ok(None) };
        self.value = Some(value);
        let key: serde::de::value::StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|fault| fault.at(*place))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let value = self.value.take().ok_or_else(|| Fault::custom("a value was read before its key"))?;
        seed.deserialize(value).map_err(|fault| fault.at(value.place))
    }
}
