//! Values that look like a secret whatever their name is: words in which letters and digits change often.

use std::net::{IpAddr, SocketAddr};

/// The fewest bytes of such a value, and of its digits and letters.
const MIN_BYTES: usize = 12;
const MIN_DIGITS: usize = 2;
const MIN_LETTERS: usize = 4;
/// Characters between the parts of a name, an address, a date or a list of settings.
const PARTING: [char; 9] = ['-', '.', ':', '_', '@', ',', ';', '=', '&'];
/// The fewest bytes of a part that is dense, with the fewest changes between letters, digits and other characters in it. `c4n4ry` has 4
/// changes; `utf8mb4`, `8x7B`, `x86` and `postgres16` have fewer.
const PARTS: [(usize, usize); 3] = [(6, 4), (12, 3), (16, 2)];
/// The fewest changes in all parts of a dense value together, such as a UUID.
const CHANGES: usize = 6;
/// The most letters of the last part of a host's name.
const MAX_TOP: usize = 10;

/// Returns true if a value is one word that looks random, and no address, path, date, version or name.
pub(crate) fn is_dense(value: &str) -> bool {
    let count = |fits: fn(&char) -> bool| value.chars().filter(fits).count();
    if value.len() < MIN_BYTES
        || value.contains(char::is_whitespace)
        || value.contains(['/', '\\', '(', '{'])
        || count(char::is_ascii_digit) < MIN_DIGITS
        || count(char::is_ascii_alphabetic) < MIN_LETTERS
        || is_address(value)
    {
        return false;
    }
    let parts: Vec<(usize, usize)> = value.split(PARTING).map(|part| (part.len(), changes(part))).collect();
    let is_dense_part = |(length, changes): &(usize, usize)| PARTS.iter().any(|(bytes, most)| length >= bytes && changes >= most);
    parts.iter().any(is_dense_part) || parts.iter().map(|(_, changes)| changes).sum::<usize>() >= CHANGES
}

/// Returns how often letters, digits and other characters follow each other in a text.
fn changes(text: &str) -> usize {
    let class = |c: char| (c.is_ascii_alphabetic(), c.is_ascii_digit());
    text.chars().zip(text.chars().skip(1)).filter(|(one, next)| class(*one) != class(*next)).count()
}

/// Returns true if a value is the address of a machine, a network or a mailbox: `db:5432`, `db.example.com`, `10.0.1.0/24`,
/// `ops@example.com`.
pub(crate) fn is_address(value: &str) -> bool {
    let network = value.split_once('/').is_some_and(|(address, bits)| address.parse::<IpAddr>().is_ok() && bits.parse::<u8>().is_ok());
    let mailbox = value.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b".+_-".contains(&c)) && is_host_name(host)
    });
    let host = match value.rsplit_once(':') {
        Some((host, port)) => (is_label(host) || is_host_name(host)) && port.parse::<u16>().is_ok(),
        None => is_host_name(value),
    };
    value.parse::<IpAddr>().is_ok() || value.parse::<SocketAddr>().is_ok() || network || mailbox || host
}

/// Returns true if a text is the name of a host with its domain.
fn is_host_name(text: &str) -> bool {
    let is_top = |label: &str| (2..=MAX_TOP).contains(&label.len()) && label.bytes().all(|c| c.is_ascii_lowercase());
    text.rsplit_once('.').is_some_and(|(labels, top)| labels.split('.').all(is_label) && is_top(top))
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_')
}
