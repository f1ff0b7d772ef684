//! Passwords in the format of `.netrc`: `machine HOST login USER password PASSWORD`, on one line or on several.

use crate::ordinary::is_placeholder;

/// The fewest bytes of a password that is taken for one.
const MIN_PASSWORD_BYTES: usize = 6;

/// A password of an entry, by its bytes in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Password {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// A login comes before it.
    pub(crate) has_login: bool,
}

/// Returns the passwords of all entries of a text. A word that does not belong to an entry ends the entry.
pub(crate) fn passwords(text: &str) -> Vec<Password> {
    let mut found = Vec::new();
    let mut words = Words { text, at: 0 };
    let (mut within, mut has_login) = (false, false);
    while let Some((from, to)) = words.next() {
        match text.get(from..to).unwrap_or_default() {
            "machine" => {
                (within, has_login) = (words.next().is_some(), false);
            }
            "default" => (within, has_login) = (true, false),
            "login" | "user" if within => has_login = words.next().is_some(),
            "account" if within => drop(words.next()),
            "password" | "passwd" if within => {
                let value = words.next().map(|(from, to)| Password { from, to, has_login });
                found.extend(value.filter(|value| {
                    let word = text.get(value.from..value.to).unwrap_or_default();
                    word.len() >= MIN_PASSWORD_BYTES && !is_placeholder(word) && !word.starts_with(['$', '<', '{', '['])
                }));
            }
            word if word.starts_with('#') => words.skip_line(),
            _ => within = false,
        }
    }
    found
}

/// The words of a text by their bytes; one in double quotes without them.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl Words<'_> {
    fn skip_line(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }
}

impl Iterator for Words<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..)?;
        let from = self.at + rest.find(|c: char| !c.is_whitespace())?;
        let word = self.text.get(from..)?;
        let quoted = word.strip_prefix('"').and_then(|inner| inner.find(['"', '\n'])).filter(|end| *end > 0);
        let (from, to) = match quoted {
            Some(length) => (from + 1, from + 1 + length),
            None => (from, from + word.find(char::is_whitespace).unwrap_or(word.len())),
        };
        self.at = if quoted.is_some() { to + 1 } else { to };
        Some((from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_entries_are_found_on_one_line_and_on_several() {
        for (text, expected) in [
            ("machine h login u password hunter22", &["hunter22"][..]),
            ("machine h\n\tlogin u\n\tpassword hunter22\n", &["hunter22"]),
            ("machine h login u password hunter22 machine i login v password hunter33", &["hunter22", "hunter33"]),
            ("machine h password hunter22 login u", &["hunter22"]),
            ("machine h login u account a password \"hunter 22\"", &["hunter 22"]),
            ("default login u password hunter22", &["hunter22"]),
            ("# machine\nmachine h login u password 12345678", &["12345678"]),
            ("machine h login u password", &[]),
            ("machine h login u password changeme", &[]),
            ("the machine has a password protected door", &[]),
            ("login u password hunter22", &[]),
            ("machine", &[]),
            ("", &[]),
        ] {
            let found: Vec<&str> = passwords(text).into_iter().map(|found| &text[found.from..found.to]).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
