//! Words of a command that name files which its program reads.

use super::{shell::Word, sign::text_of};

/// A program whose first operand is a pattern or a script, unless an option has it.
struct PatternProgram {
    names: &'static [&'static str],
    /// Letters of options whose value is the pattern or the script.
    pattern: &'static str,
    /// Letters of options whose value is a file with the patterns or the script.
    file: &'static str,
    /// Letters of other options with a value.
    valued: &'static str,
    /// Letters of options whose value, if any, is part of the same word.
    attached: &'static str,
}

const PROGRAMS: [PatternProgram; 5] = [
    PatternProgram { names: &["grep", "egrep", "fgrep"], pattern: "e", file: "f", valued: "ABCDdm", attached: "" },
    PatternProgram { names: &["rg"], pattern: "e", file: "f", valued: "ABCEMTdgjmrt", attached: "" },
    PatternProgram { names: &["sed"], pattern: "e", file: "f", valued: "l", attached: "i" },
    PatternProgram { names: &["awk", "gawk"], pattern: "e", file: "fE", valued: "Filv", attached: "" },
    // `-e` of jq has no value.
    PatternProgram { names: &["jq"], pattern: "", file: "f", valued: "L", attached: "" },
];

/// Long options whose value is the pattern or the script, or that make it unnecessary.
const PATTERN: [&str; 4] = ["--regexp", "--expression", "--source", "--files"];
/// Long options whose value is a file with the patterns or the script.
const FILE: [&str; 3] = ["--file", "--from-file", "--exec"];
/// Long options with values in the words behind them, and the number of those.
const VALUED: [(&str, usize); 6] = [("--regexp", 1), ("--expression", 1), ("--source", 1), ("--indent", 1), ("--arg", 2), ("--argjson", 2)];

/// Returns the words of a command that may name files. Omits the pattern of `grep`, the script of `sed` and the like.
pub(super) fn read_words(words: &[Word]) -> Vec<&Word> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    let name = text_of(name).unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    match PROGRAMS.iter().find(|program| program.names.contains(&name)) {
        Some(program) => program.read_words(rest),
        None => rest.iter().collect(),
    }
}

impl PatternProgram {
    fn read_words<'a>(&self, words: &'a [Word]) -> Vec<&'a Word> {
        let (mut operands, mut files, mut has_pattern) = (Vec::new(), Vec::new(), false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            // A word with unknown parts may be anything; it counts as an operand.
            let text = text_of(word).unwrap_or_default();
            if text == "--" {
                operands.extend(words.by_ref());
            } else if let Some((name, value)) = long_option(&text) {
                has_pattern |= PATTERN.contains(&name) || FILE.contains(&name);
                if FILE.contains(&name) && value.is_none() {
                    files.extend(words.next());
                }
                let count = VALUED.iter().find(|(valued, _)| *valued == name && value.is_none()).map_or(0, |(_, count)| *count);
                words.by_ref().take(count).for_each(drop);
            } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                let Some((letter, value)) = self.with_value(letters) else { continue };
                has_pattern |= self.pattern.contains(letter) || self.file.contains(letter);
                let value = if value.is_empty() { words.next() } else { None };
                files.extend(value.filter(|_| self.file.contains(letter)));
            } else {
                operands.push(word);
            }
        }
        operands.into_iter().skip(usize::from(!has_pattern)).chain(files).collect()
    }

    /// Returns the option with a value in a word of short options, and the part of the value in this word.
    fn with_value<'a>(&self, letters: &'a str) -> Option<(char, &'a str)> {
        let has_value = |letter: char| [self.pattern, self.file, self.valued, self.attached].iter().any(|of| of.contains(letter));
        let (at, letter) = letters.char_indices().find(|(_, letter)| has_value(*letter))?;
        let value = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        (!self.attached.contains(letter)).then_some((letter, value))
    }
}

/// Returns the name and the value of a long option.
fn long_option(text: &str) -> Option<(&str, Option<&str>)> {
    let name = text.starts_with("--").then_some(text)?;
    Some(name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value))))
}
