//! Serialized form of criteria.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{Check, CommandCheck, Criterion, Expectation, FileCheck, FileFact, Owner, Pattern};

/// Members of a criterion that is an object.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Members {
    /// Command for a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Expected result of the command; `exit 0` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<Expectation>,
    /// Path relative to the working folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// True if the path must exist, false if it must not; true if there is no other condition on the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    exists: Option<bool>,
    /// Text that the file must contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    contains: Option<String>,
    /// Regular expression that the file must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<String>,
    /// Always true: the file must be unchanged since the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged: Option<bool>,
    /// Sentence that a model or a person judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The one who decides on changes to it; the lead if absent.
    #[serde(skip_serializing_if = "Owner::is_default")]
    owner: Owner,
}

impl Members {
    fn read<E: Error>(self) -> Result<Criterion, E> {
        let Self { command, expect, file, exists, contains, matches, unchanged, text, owner } = self;
        let given = [exists.is_some(), contains.is_some(), matches.is_some(), unchanged.is_some()];
        let of_a_file = given.contains(&true);
        let check = match (command, file, text) {
            (Some(command), None, None) if !of_a_file => match command.trim() {
                "" => return Err(E::custom("`command` is empty")),
                _ => Check::Command(CommandCheck { command, expect: expect.unwrap_or_default() }),
            },
            (None, Some(path), None) if expect.is_none() => {
                if given.iter().filter(|given| **given).count() > 1 {
                    return Err(E::custom("a criterion of a file has one of `exists`, `contains`, `matches` and `unchanged`"));
                }
                Check::File(FileCheck { path, fact: fact(exists, contains, matches, unchanged)? })
            }
            (None, None, Some(text)) if expect.is_none() && !of_a_file => Check::Text(text),
            _ => return Err(E::custom("a criterion has `command` (and `expect`), or `file` and a fact of it, or `text`")),
        };
        Ok(Criterion { check, owner })
    }
}

fn fact<E: Error>(exists: Option<bool>, contains: Option<String>, matches: Option<String>, unchanged: Option<bool>) -> Result<FileFact, E> {
    match (exists, contains, matches, unchanged) {
        (Some(false), ..) => Ok(FileFact::Absent),
        (_, Some(text), ..) => Ok(FileFact::Contains(text)),
        (_, _, Some(pattern), _) => Pattern::new(pattern).map(FileFact::Matches).map_err(E::custom),
        (.., Some(true)) => Ok(FileFact::Unchanged),
        (.., Some(false)) => Err(E::custom("`unchanged` is true or left out")),
        _ => Ok(FileFact::Exists),
    }
}

impl From<&Criterion> for Members {
    fn from(criterion: &Criterion) -> Self {
        let members = Self { owner: criterion.owner, ..Self::default() };
        match &criterion.check {
            Check::Command(CommandCheck { command, expect }) => {
                let expect = Some(expect.clone()).filter(|expect| !expect.is_default());
                Self { command: Some(command.clone()), expect, ..members }
            }
            Check::Text(text) => Self { text: Some(text.clone()), ..members },
            Check::File(FileCheck { path, fact }) => {
                let members = Self { file: Some(path.clone()), ..members };
                match fact {
                    FileFact::Exists => Self { exists: Some(true), ..members },
                    FileFact::Absent => Self { exists: Some(false), ..members },
                    FileFact::Contains(text) => Self { contains: Some(text.clone()), ..members },
                    FileFact::Matches(pattern) => Self { matches: Some(pattern.to_string()), ..members },
                    FileFact::Unchanged => Self { unchanged: Some(true), ..members },
                }
            }
        }
    }
}

impl Serialize for Criterion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.check {
            Check::Text(text) if self.owner.is_default() => serializer.serialize_str(text),
            _ => Members::from(self).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Criterion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CriterionVisitor)
    }
}

struct CriterionVisitor;

impl<'de> Visitor<'de> for CriterionVisitor {
    type Value = Criterion;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or an object with `command`, `file` or `text`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Criterion, E> {
        Ok(Criterion::text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Criterion, A::Error> {
        Members::deserialize(MapAccessDeserializer::new(map))?.read()
    }
}

impl JsonSchema for Criterion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Criterion".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let members = Members::json_schema(generator);
        schemars::json_schema!({
            "description": "What must hold: a sentence, or an object with `command` (and `expect`), with `file` and a fact of it, or with `text`.",
            "anyOf": [{"type": "string"}, members],
        })
    }
}
