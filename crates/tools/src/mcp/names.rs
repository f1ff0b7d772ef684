//! Names of MCP tools for models: `mcp__server__tool`, and the reverse mapping.
//!
//! A model may use the characters `A-Z a-z 0-9 _ -`, at most 64 of them. Servers may use any name. A table maps back.

use std::collections::BTreeMap;

/// Prefix of the names of all MCP tools.
pub(crate) const MCP_PREFIX: &str = "mcp__";
/// Maximum length of a name that model providers accept.
const MAX_NAME_CHARS: usize = 64;
/// Number of hexadecimal digits that distinguish colliding names.
const DIGITS: usize = 8;

/// A tool of a server, under the server's own name for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub(crate) server: String,
    pub(crate) tool: String,
}

/// Mapping between model names and tools, in both directions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    origins: BTreeMap<String, Origin>,
    names: BTreeMap<Origin, String>,
}

impl Names {
    /// Assigns names to tools, independent of their order. A hash of the tool distinguishes colliding names. All of them get one, so that
    /// no name depends on the order.
    pub(crate) fn new(origins: impl IntoIterator<Item = Origin>) -> Self {
        let mut wanted: BTreeMap<String, Vec<Origin>> = BTreeMap::new();
        for origin in origins {
            let known = wanted.entry(plain(&origin)).or_default();
            if !known.contains(&origin) {
                known.push(origin);
            }
        }
        let mut names = Self::default();
        for (plain, origins) in wanted {
            match <[Origin; 1]>::try_from(origins) {
                Ok([only]) if plain.len() <= MAX_NAME_CHARS => names.put(plain, only),
                Ok([only]) => names.put(hashed(&plain, &only), only),
                Err(several) => several.into_iter().for_each(|origin| names.put(hashed(&plain, &origin), origin)),
            }
        }
        names
    }

    /// Assigns names to more tools. Tools that have a name keep it.
    pub(crate) fn extend(&mut self, origins: impl IntoIterator<Item = Origin>) {
        let new: Vec<Origin> = origins.into_iter().filter(|origin| !self.names.contains_key(origin)).collect();
        for (origin, name) in Self::new(new).names {
            let name = if self.origins.contains_key(&name) { hashed(&plain(&origin), &origin) } else { name };
            self.put(name, origin);
        }
    }

    /// Adds a name. If even the hashes of two tools collide, which is very unlikely, the first is kept.
    fn put(&mut self, name: String, origin: Origin) {
        if !self.origins.contains_key(&name) {
            self.names.insert(origin.clone(), name.clone());
            self.origins.insert(name, origin);
        }
    }

    /// Returns the tool with a name.
    pub(crate) fn origin(&self, name: &str) -> Option<&Origin> {
        self.origins.get(name)
    }

    /// Returns all names.
    pub(crate) fn known(&self) -> impl Iterator<Item = &str> {
        self.origins.keys().map(String::as_str)
    }

    /// Returns the name of a tool.
    pub(crate) fn name(&self, server: &str, tool: &str) -> Option<&str> {
        self.names.get(&Origin { server: server.to_owned(), tool: tool.to_owned() }).map(String::as_str)
    }
}

/// Returns the name with invalid characters replaced, at its full length.
fn plain(origin: &Origin) -> String {
    format!("{}{}", beginning(&origin.server), usual(&origin.tool))
}

/// Returns the beginning of the names of a server's tools, at its full length.
pub(super) fn beginning(server: &str) -> String {
    format!("{MCP_PREFIX}{}__", usual(server))
}

/// Returns a text with invalid characters replaced.
fn usual(text: &str) -> String {
    text.chars().map(|character| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' }).collect()
}

/// Returns the beginning of a name, and a hash of the tool.
fn hashed(plain: &str, origin: &Origin) -> String {
    let kept = plain.get(..plain.len().min(MAX_NAME_CHARS - DIGITS - 1)).unwrap_or(plain);
    let hash = fnv(origin.server.bytes().chain([0]).chain(origin.tool.bytes()));
    format!("{kept}_{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

/// FNV-1a hash, which is the same on every machine and in every version.
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn origin(server: &str, tool: &str) -> Origin {
        Origin { server: server.to_owned(), tool: tool.to_owned() }
    }

    #[test]
    fn names_are_those_a_model_may_write() {
        let names = Names::new([origin("git", "log"), origin("my.server", "files/read.all"), origin("git", "日本"), origin("git", "")]);
        let table = [
            (("git", "log"), "mcp__git__log"),
            (("my.server", "files/read.all"), "mcp__my_server__files_read_all"),
            (("git", "日本"), "mcp__git____"),
            (("git", ""), "mcp__git__"),
        ];
        for ((server, tool), expected) in table {
            assert_eq!(names.name(server, tool), Some(expected));
            assert_eq!(names.origin(expected), Some(&origin(server, tool)), "and back");
        }
        assert_eq!(names.name("git", "push"), None);
        assert_eq!(names.origin("mcp__git__push"), None);
    }

    #[test]
    fn what_would_be_one_name_is_told_apart_in_any_order() {
        let two = [origin("a", "x.y"), origin("a", "x/y")];
        let (names, turned) = (Names::new(two.clone()), Names::new(two.into_iter().rev()));
        assert_eq!(names, turned);
        let (dot, slash) = (names.name("a", "x.y").unwrap(), names.name("a", "x/y").unwrap());
        assert!(dot != slash && dot.starts_with("mcp__a__x_y_") && slash.starts_with("mcp__a__x_y_"), "{dot} {slash}");
        // A server's name may contain the separator.
        let names = Names::new([origin("a", "b__c"), origin("a__b", "c")]);
        assert_ne!(names.name("a", "b__c"), names.name("a__b", "c"));
    }

    #[test]
    fn a_tool_keeps_the_name_it_was_given() {
        let mut names = Names::new([origin("a", "x.y")]);
        names.extend([origin("a", "x/y"), origin("a", "x.y"), origin("a", "z")]);
        assert_eq!(names.name("a", "x.y"), Some("mcp__a__x_y"));
        assert_eq!(names.name("a", "z"), Some("mcp__a__z"));
        let later = names.name("a", "x/y").unwrap();
        assert!(later.starts_with("mcp__a__x_y_"), "{later}");
        assert_eq!(names.origin(later), Some(&origin("a", "x/y")));
    }

    #[test]
    fn long_names_are_cut_and_differ() {
        let tail = "x".repeat(100);
        let names = Names::new([origin("s", &format!("{tail}1")), origin("s", &format!("{tail}2"))]);
        let (one, two) = (names.name("s", &format!("{tail}1")).unwrap(), names.name("s", &format!("{tail}2")).unwrap());
        assert!(one != two && one.len() == 64 && two.len() == 64, "{one} {two}");
        assert_eq!(names.origin(one).unwrap().tool, format!("{tail}1"));
    }

    proptest! {
        #[test]
        fn every_tool_has_a_name_of_its_own_that_leads_back(
            pairs in proptest::collection::btree_set(("[a-c._/ é-]{0,30}", "[a-c._/ é-]{0,80}"), 0..40),
        ) {
            let origins: BTreeSet<_> = pairs.iter().map(|(server, tool)| origin(server, tool)).collect();
            let names = Names::new(origins.iter().cloned());
            for known in &origins {
                let name = names.name(&known.server, &known.tool).unwrap();
                prop_assert_eq!(names.origin(name), Some(known));
                prop_assert!(name.len() <= MAX_NAME_CHARS && name.starts_with(MCP_PREFIX));
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{}", name);
            }
        }
    }
}
