//! JSON in Python's formatting, which models saw in training.

use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::Formatter;

/// Formats JSON on one line, with a space after each comma and colon.
pub(super) fn in_python_style(value: &Value) -> Result<Value, Error> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Python);
    value.serialize(&mut serializer).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    Ok(Value::from_safe_string(String::from_utf8_lossy(&bytes).into_owned()))
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
