//! Document as a tree whose keys and values carry their places. JSON is read as YAML.

mod typed;

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};
use toml::de::{DeTable, DeValue};

use super::position;

/// Line and column, from 1.
pub(super) type Place = (usize, usize);

/// Value with its place.
pub(super) struct Tree {
    place: Option<Place>,
    node: Node,
}

enum Node {
    Null,
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Table(Vec<Member>),
}

/// Key with its place, and its value.
struct Member {
    key: String,
    place: Option<Place>,
    value: Tree,
}

/// Faulty part that was taken out of a document.
pub(super) enum Removed {
    /// Item of a list.
    Item,
    /// Member of a table.
    Member {
        /// Place of the table.
        table: Option<Place>,
        /// Key of the member.
        key: String,
    },
}

impl Removed {
    /// Returns true if a later fault says only that this part is missing.
    pub(super) fn explains(&self, fault: &Fault) -> bool {
        matches!(self, Self::Member { table, key } if *table == fault.place && fault.message == format!("missing field `{key}`"))
    }
}

/// Fault of a document, with its place.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) place: Option<Place>,
}

impl Fault {
    /// Sets the place, unless an inner one is already set.
    fn at(self, place: Option<Place>) -> Self {
        Self { place: self.place.or(place), ..self }
    }
}

impl Tree {
    /// Reads a TOML document.
    pub(super) fn of_toml(text: &str) -> Result<Self, Fault> {
        let place = |offset| Some(position(text, offset));
        let document = DeTable::parse(text)
            .map_err(|error| Fault { message: error.message().to_owned(), place: error.span().and_then(|span| place(span.start)) })?;
        Ok(Self { place: place(document.span().start), node: table(document.get_ref(), &place) })
    }

    /// Reads a YAML document. Only `true` and `false` are booleans.
    pub(super) fn of_yaml(text: &str) -> Result<Self, Fault> {
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let error = error.without_snippet();
            let error_text = error.to_string();
            let message = error_text.rsplit_once(" at line ").map_or(error_text.as_str(), |(message, _)| message).to_owned();
            Fault { message, place: error.location().and_then(place) }
        })
    }

    /// Converts a value, which has no places.
    pub(super) fn of_value(value: &Value) -> Self {
        let node = match value {
            Value::Null => Node::Null,
            Value::Bool(truth) => Node::Truth(*truth),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Node::Whole(number),
                (None, Some(number)) => Node::Text(number.to_string()),
                (None, None) => Node::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Node::Text(text.clone()),
            Value::Array(items) => Node::List(items.iter().map(Self::of_value).collect()),
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| Member { key: key.clone(), place: None, value: Self::of_value(value) });
                Node::Table(members.collect())
            }
        };
        Self { place: None, node }
    }

    /// Returns the place of the innermost known part of a key such as `run.max_steps`.
    pub(super) fn place_of(&self, text: &str) -> Option<Place> {
        match &self.node {
            Node::List(items) => items.iter().find_map(|item| item.place_of(text)),
            Node::Table(members) => members.iter().find_map(|Member { key, place, value }| {
                let behind = text.strip_prefix(key.as_str()).filter(|behind| behind.is_empty() || behind.starts_with('.'))?;
                behind.strip_prefix('.').and_then(|behind| value.place_of(behind)).or(*place)
            }),
            _ => None,
        }
    }

    /// Removes the innermost key or value at a place, if there is one.
    pub(super) fn remove_at(&mut self, at: Place) -> Option<Removed> {
        match &mut self.node {
            Node::List(items) => items.iter_mut().find_map(|item| item.remove_at(at)).or_else(|| {
                items.remove(items.iter().position(|item| item.place == Some(at))?);
                Some(Removed::Item)
            }),
            Node::Table(members) => members.iter_mut().find_map(|member| member.value.remove_at(at)).or_else(|| {
                let own = members.iter().position(|member| member.place == Some(at) || member.value.place == Some(at))?;
                Some(Removed::Member { table: self.place, key: members.remove(own).key })
            }),
            _ => None,
        }
    }
}

fn table(table: &DeTable<'_>, place: &impl Fn(usize) -> Option<Place>) -> Node {
    let members = table.iter().map(|(key, value)| Member {
        key: key.get_ref().to_string(),
        place: place(key.span().start),
        value: Tree { place: place(value.span().start), node: node(value.get_ref(), place) },
    });
    Node::Table(members.collect())
}

fn node(value: &DeValue<'_>, place: &impl Fn(usize) -> Option<Place>) -> Node {
    match value {
        DeValue::Table(members) => table(members, place),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| Tree { place: place(item.span().start), node: node(item.get_ref(), place) });
            Node::List(items.collect())
        }
        DeValue::String(text) => Node::Text(text.to_string()),
        DeValue::Boolean(truth) => Node::Truth(*truth),
        DeValue::Datetime(time) => Node::Text(time.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Node::Whole(number),
            Err(_) => Node::Text(number.as_str().to_owned()),
        },
        DeValue::Float(number) => Node::Number(number.as_str().parse().unwrap_or(f64::NAN)),
    }
}

fn place(location: Location) -> Option<Place> {
    Some((location.line().try_into().ok()?, location.column().try_into().ok()?))
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Node>::deserialize(deserializer)?;
        Ok(Self { place: place(spanned.defined), node: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Tree>()? {
            members.push(Member { key: key.value, place: place(key.defined), value });
        }
        Ok(Node::Table(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Node, E> {
        Ok(Node::Truth(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(i64::try_from(number).map_or_else(|_| Node::Text(number.to_string()), Node::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
}
