//! Order to a launcher, sent over a socket as byte strings that each end in NUL.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use super::super::Rules;

/// A command and its rules. Without a program the launcher only checks that it could enter a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) devices: Vec<PathBuf>,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) program: Option<OsString>,
    pub(crate) arguments: Vec<OsString>,
}

const READ: u8 = b'r';
const WRITE: u8 = b'w';
const DEVICE: u8 = b'd';
const VARIABLE: u8 = b'e';
const PROGRAM: u8 = b'p';
const ARGUMENT: u8 = b'a';

impl Order {
    /// Creates the order for a command with these rules.
    pub(crate) fn new(rules: &Rules, environment: BTreeMap<OsString, OsString>, program: OsString, arguments: Vec<OsString>) -> Self {
        let Rules { read, write, devices, .. } = rules.clone();
        Self { read, write, devices, environment, program: Some(program), arguments }
    }

    pub(super) fn rules(&self) -> Rules {
        Rules::of_places(self.read.clone(), self.write.clone(), self.devices.clone())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut part = |tag: u8, texts: &[&OsStr]| {
            bytes.push(tag);
            bytes.extend(texts.iter().flat_map(|text| text.as_bytes()));
            bytes.push(0);
        };
        for (tag, paths) in [(READ, &self.read), (WRITE, &self.write), (DEVICE, &self.devices)] {
            paths.iter().for_each(|path| part(tag, &[path.as_os_str()]));
        }
        self.environment.iter().for_each(|(name, value)| part(VARIABLE, &[name, OsStr::new("="), value]));
        self.program.iter().for_each(|program| part(PROGRAM, &[program]));
        self.arguments.iter().for_each(|argument| part(ARGUMENT, &[argument]));
        bytes
    }

    /// Parses an order; `None` for invalid bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut order = Self::default();
        let Some(parts) = bytes.strip_suffix(b"\0") else { return bytes.is_empty().then_some(order) };
        for part in parts.split(|byte| *byte == 0) {
            let (tag, rest) = part.split_first()?;
            let text = || OsString::from_vec(rest.to_vec());
            let path = || Path::new(OsStr::from_bytes(rest)).to_owned();
            match *tag {
                READ => order.read.push(path()),
                WRITE => order.write.push(path()),
                DEVICE => order.devices.push(path()),
                PROGRAM => order.program = Some(text()),
                ARGUMENT => order.arguments.push(text()),
                VARIABLE => {
                    let end = rest.iter().position(|byte| *byte == b'=')?;
                    let (name, value) = rest.split_at_checked(end)?;
                    order.environment.insert(OsString::from_vec(name.to_vec()), OsString::from_vec(value.get(1..)?.to_vec()));
                }
                _ => return None,
            }
        }
        Some(order)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = OsString> {
        prop::collection::vec(1..=u8::MAX, 0..20).prop_map(OsString::from_vec)
    }

    fn name() -> impl Strategy<Value = OsString> {
        prop::collection::vec((1..=u8::MAX).prop_filter("no =", |byte| *byte != b'='), 1..10).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn what_is_told_is_heard(
            read in prop::collection::vec(text(), 0..4),
            write in prop::collection::vec(text(), 0..4),
            environment in prop::collection::btree_map(name(), text(), 0..4),
            program in prop::option::of(text()),
            arguments in prop::collection::vec(text(), 0..4),
        ) {
            let paths = |texts: Vec<OsString>| texts.into_iter().map(PathBuf::from).collect();
            let order = Order { read: paths(read), write: paths(write), devices: vec!["/dev/null".into()], environment, program, arguments };
            prop_assert_eq!(Order::of_bytes(&order.to_bytes()), Some(order));
        }

        #[test]
        fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _read_or_refused = Order::of_bytes(&bytes);
        }
    }
}
