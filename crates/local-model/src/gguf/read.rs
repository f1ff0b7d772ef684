//! Parser of the header.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use super::{GgufValue, Header, TensorPlace};
use crate::LocalModelError;
use crate::matrix::Format;

/// Limit on the number of entries, above that of any real model.
const MAX_ENTRIES: u64 = 1 << 20;

pub(super) fn read(file: &Path) -> Result<Header, LocalModelError> {
    let unreadable = |error: std::io::Error| LocalModelError::Unreadable { file: file.to_owned(), reason: error.to_string() };
    let opened = File::open(file).map_err(unreadable)?;
    let about = opened.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(LocalModelError::Unreadable { file: file.to_owned(), reason: "it is not a file".to_owned() });
    }
    let mut source = Source { file, from: BufReader::with_capacity(1 << 20, opened), length: about.len(), at: 0 };
    source.begin()?;
    let tensors = source.count("tensors")?;
    let values = source.count("metadata values")?;
    let mut metadata = Vec::new();
    for _ in 0..values {
        let key = source.text("a metadata key")?;
        let kind = source.u32(&key)?;
        let value = source.value(kind, &key)?;
        metadata.push((key, value));
    }
    let mut entries = Vec::new();
    for _ in 0..tensors {
        entries.push(source.tensor()?);
    }
    let alignment = metadata.iter().find(|(key, _)| key == "general.alignment").and_then(|(_, value)| value.as_whole()).unwrap_or(32);
    if !alignment.is_power_of_two() || alignment > 1 << 20 {
        return Err(source.damaged(format!("its alignment is {alignment}")));
    }
    let start = source.at.next_multiple_of(alignment);
    for entry in &mut entries {
        let end = entry.offset.checked_add(start).and_then(|offset| offset.checked_add(entry.bytes));
        if end.is_none_or(|end| end > source.length) {
            return Err(source.damaged(format!(
                "tensor {} lies beyond the end: the file has {} bytes; it was probably not fetched whole",
                entry.name, source.length
            )));
        }
        entry.offset += start;
    }
    Ok(Header { file: file.to_owned(), metadata, tensors: entries })
}

struct Source<'a> {
    file: &'a Path,
    from: BufReader<File>,
    length: u64,
    at: u64,
}

impl Source<'_> {
    fn begin(&mut self) -> Result<(), LocalModelError> {
        let wrong = |reason: String| LocalModelError::NotGguf { file: self.file.to_owned(), reason };
        if self.length < 24 {
            return Err(wrong(format!("it has {} bytes", self.length)));
        }
        let magic: [u8; 4] = self.bytes("the first bytes")?;
        if &magic != b"GGUF" {
            let text: String = magic.iter().map(|byte| byte.escape_ascii().to_string()).collect();
            return Err(LocalModelError::NotGguf { file: self.file.to_owned(), reason: format!("it begins with \"{text}\"") });
        }
        let version = self.u32("the version")?;
        if version != 2 && version != 3 {
            return Err(LocalModelError::NotGguf { file: self.file.to_owned(), reason: format!("its version is {version}") });
        }
        Ok(())
    }

    fn damaged(&self, reason: String) -> LocalModelError {
        LocalModelError::Damaged { file: self.file.to_owned(), reason }
    }

    /// Fails if the rest of the file is shorter than `bytes`.
    fn room(&self, bytes: u64, what: &str) -> Result<(), LocalModelError> {
        let left = self.length.saturating_sub(self.at);
        if bytes > left {
            return Err(self.damaged(format!("{what} would take {bytes} bytes, but only {left} follow")));
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], LocalModelError> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(|error| self.failed(&error, what))?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn failed(&self, error: &std::io::Error, what: &str) -> LocalModelError {
        if error.kind() == ErrorKind::UnexpectedEof {
            self.damaged(format!("it ends within {what}"))
        } else {
            LocalModelError::Unreadable { file: self.file.to_owned(), reason: error.to_string() }
        }
    }

    fn u32(&mut self, what: &str) -> Result<u32, LocalModelError> {
        Ok(u32::from_le_bytes(self.bytes(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, LocalModelError> {
        Ok(u64::from_le_bytes(self.bytes(what)?))
    }

    fn count(&mut self, what: &str) -> Result<u64, LocalModelError> {
        let count = self.u64(what)?;
        if count > MAX_ENTRIES {
            return Err(self.damaged(format!("it claims {count} {what}")));
        }
        Ok(count)
    }

    fn text(&mut self, what: &str) -> Result<String, LocalModelError> {
        let length = self.u64(what)?;
        self.room(length, what)?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.from.read_exact(&mut bytes).map_err(|error| self.failed(&error, what))?;
        self.at += length;
        // Some vocabularies contain tokens that are not valid UTF-8.
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn value(&mut self, kind: u32, key: &str) -> Result<GgufValue, LocalModelError> {
        Ok(match kind {
            8 => GgufValue::Text(self.text(key)?),
            9 => {
                let kind = self.u32(key)?;
                let count = self.u64(key)?;
                self.array(kind, count, key, 0)?
            }
            _ => self.scalar(kind, key)?,
        })
    }

    fn scalar(&mut self, kind: u32, key: &str) -> Result<GgufValue, LocalModelError> {
        let signed = |value: i64| u64::try_from(value).map_or(GgufValue::Negative(value), GgufValue::Whole);
        Ok(match kind {
            0 => GgufValue::Whole(u64::from(u8::from_le_bytes(self.bytes(key)?))),
            1 => signed(i64::from(i8::from_le_bytes(self.bytes(key)?))),
            2 => GgufValue::Whole(u64::from(u16::from_le_bytes(self.bytes(key)?))),
            3 => signed(i64::from(i16::from_le_bytes(self.bytes(key)?))),
            4 => GgufValue::Whole(u64::from(self.u32(key)?)),
            5 => signed(i64::from(i32::from_le_bytes(self.bytes(key)?))),
            6 => GgufValue::Number(f64::from(f32::from_le_bytes(self.bytes(key)?))),
            7 => GgufValue::Truth(u8::from_le_bytes(self.bytes(key)?) != 0),
            10 => GgufValue::Whole(self.u64(key)?),
            11 => signed(i64::from_le_bytes(self.bytes(key)?)),
            12 => GgufValue::Number(f64::from_le_bytes(self.bytes(key)?)),
            other => return Err(self.damaged(format!("{key} has a value of the unknown kind {other}"))),
        })
    }

    fn array(&mut self, kind: u32, count: u64, key: &str, depth: usize) -> Result<GgufValue, LocalModelError> {
        let least = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8..=12 => 8,
            other => return Err(self.damaged(format!("{key} is an array of the unknown kind {other}"))),
        };
        self.room(count.saturating_mul(least), key)?;
        if kind == 8 {
            return (0..count).map(|_| self.text(key)).collect::<Result<_, _>>().map(GgufValue::Texts);
        }
        if kind == 9 {
            if depth > 3 {
                return Err(self.damaged(format!("{key} is nested too deeply")));
            }
            for _ in 0..count {
                let (kind, count) = (self.u32(key)?, self.u64(key)?);
                self.array(kind, count, key, depth + 1)?;
            }
            return Ok(GgufValue::Passed);
        }
        let mut numbers = Vec::new();
        let mut wholes = Vec::new();
        for _ in 0..count {
            match self.scalar(kind, key)? {
                GgufValue::Whole(whole) => wholes.push(whole),
                GgufValue::Truth(truth) => wholes.push(u64::from(truth)),
                GgufValue::Number(number) => numbers.push(number as f32),
                _ => wholes.push(0),
            }
        }
        Ok(if numbers.is_empty() { GgufValue::Wholes(wholes) } else { GgufValue::Numbers(numbers) })
    }

    fn tensor(&mut self) -> Result<TensorPlace, LocalModelError> {
        let name = self.text("a tensor's name")?;
        let dimensions = self.u32(&name)?;
        if dimensions == 0 || dimensions > 4 {
            return Err(self.damaged(format!("tensor {name} has {dimensions} dimensions")));
        }
        let shape = (0..dimensions).map(|_| self.u64(&name)).collect::<Result<Vec<_>, _>>()?;
        let kind = self.u32(&name)?;
        let offset = self.u64(&name)?;
        let format = Format::of(kind).ok_or_else(|| LocalModelError::Unsupported {
            file: self.file.to_owned(),
            reason: format!("tensor {name} is quantised as {}", Format::name_of(kind)),
            hint: "use a file quantised as Q4_K_M, Q5_K_M, Q6_K or Q8_0".to_owned(),
        })?;
        let bytes = format.bytes(&shape).ok_or_else(|| self.damaged(format!("tensor {name} has the impossible shape {shape:?}")))?;
        Ok(TensorPlace { name, shape, format, offset, bytes })
    }
}
