//! Small pure functions over text.

/// Returns the first `limit` characters, followed by `…` if the text is longer.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

/// Returns the first `limit` characters, with a note of the original length if the text is longer.
pub(crate) fn cut_with_note(text: &str, limit: usize) -> String {
    let Some((at, _)) = text.char_indices().nth(limit) else {
        return text.to_owned();
    };
    format!("{}\n[cut: {limit} of {} characters]", text.get(..at).unwrap_or_default(), text.chars().count())
}

/// Computes a 64-bit FNV-1a hash. It is the same on every machine and in every version, which the standard hasher does not promise.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for part in parts {
        part.bytes().for_each(&mut add);
        add(0xff);
    }
    hash
}

/// Turns `text` into the text of an identifier of at most 128 bytes. A longer text is cut and made unique by its hash.
pub(crate) fn id_text(text: &str) -> String {
    if text.len() <= aime_progress_management::MAX_ID_BYTES {
        return text.to_owned();
    }
    let kept: String = text.chars().take(aime_progress_management::MAX_ID_BYTES - 17).collect();
    format!("{kept}-{:016x}", hash(&[text]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("日本語", 2), "日本…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut_with_note("日本語", 1), "日\n[cut: 1 of 3 characters]");
        assert_eq!(cut_with_note("ab", 2), "ab");
    }

    #[test]
    fn long_identifiers_stay_apart() {
        let (a, b) = (format!("{}-1", "t".repeat(128)), format!("{}-2", "t".repeat(128)));
        assert_ne!(id_text(&a), id_text(&b));
        assert_eq!(id_text(&a).len(), 128);
        assert_eq!(id_text("t-1-2"), "t-1-2");
    }

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&[]), 0xcbf2_9ce4_8422_2325);
    }
}
