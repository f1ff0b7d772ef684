//! Values that are not secret although the name of their variable suggests it: values given where no key is needed,
//! well-known passwords, and plain words. They also occur in names of programs, files and services, and would be
//! removed from all of these.

/// Placeholders for a key or a password, in lower case and without separators.
const PLACEHOLDERS: &[&str] = &[
    // Words of settings.
    "changeit",
    "changeme",
    "default",
    "disabled",
    "enabled",
    "false",
    "none",
    "null",
    "optional",
    "required",
    "true",
    // In the place of a key that a server does not look at.
    "apikey",
    "apikeynotneeded",
    "dummy",
    "dummyapikey",
    "dummykey",
    "dummytoken",
    "example",
    "fake",
    "fakekey",
    "fakeapikey",
    "litellm",
    "llamacpp",
    "lmstudio",
    "localai",
    "nokey",
    "nokeyneeded",
    "nokeyrequired",
    "notasecret",
    "notneeded",
    "notrequired",
    "notused",
    "ollama",
    "placeholder",
    "skdummy",
    "skfake",
    "sknokeyrequired",
    "sktest",
    "testkey",
    "testtoken",
    "unused",
    "yourapikey",
    "yourapikeyhere",
    "yourkeyhere",
    "yourpassword",
    "yoursecretkey",
    "yourtokenhere",
    // Passwords of databases and services as they come, and as their guides set them.
    "mariadb",
    "minioadmin",
    "mongodb",
    "mysecretpassword",
    "password",
    "passwd",
    "postgres",
    "postgresql",
    "rabbitmq",
    "secret",
    "secretkey",
    "testing",
];
/// Separators of the words in a name.
const PARTING: [char; 3] = ['-', '_', '.'];
/// The most words, and letters of one, of a plain value: a passphrase has more, and so does most that was made by chance.
const MAX_WORDS: usize = 2;
const MAX_LETTERS: usize = 12;
/// Letters that follow `a`, `b` and so on in the 200 most common letter pairs of 12,000 words of English
/// documentation. These make up nine tenths of all pairs there, and a third of the pairs of random letters.
const FOLLOWERS: [&str; 26] = [
    "bcdgiklmnprstuvy",
    "aeiloru",
    "acehiklortu",
    "aeiorsu",
    "acdefglmnprstvx",
    "aefilou",
    "aehinr",
    "aeiot",
    "abcdefglmnoprstvz",
    "",
    "eis",
    "adeilostuy",
    "aeiopu",
    "acdefgiost",
    "cdglmnoprstuvw",
    "aehiloprst",
    "u",
    "acdeimnorstuy",
    "acehilopstu",
    "aehilorstuy",
    "abceilmnprst",
    "aei",
    "aei",
    "",
    "p",
    "e",
];

/// Returns true if a value is one that is given where no secret is needed, or a well-known password: `ollama`,
/// `not-needed`, `postgres`, `xxxxxxxx`.
#[must_use]
pub fn is_placeholder(value: &str) -> bool {
    let bare = value.trim_matches(['<', '>']).replace(|c| c == ' ' || PARTING.contains(&c), "").to_lowercase();
    let mut letters = bare.chars();
    let first = letters.next();
    PLACEHOLDERS.contains(&bare.as_str()) || letters.all(|letter| Some(letter) == first)
}

/// Returns true if a value is not secret although the name of its variable suggests it: it is a placeholder, or one
/// or two plain words, such as `staging` and `acme-studio`. A plain word has up to 12 letters, all small, all capital
/// or with a capital first, two thirds of whose pairs are common in English. A digit, another character, a third word
/// or random letters make it a secret: `hunter2`, `pass!word`, `correct-horse-battery`, `xkqjzvbw`.
#[must_use]
pub fn is_ordinary(value: &str) -> bool {
    is_placeholder(value) || reads_as_words(value)
}

fn reads_as_words(value: &str) -> bool {
    let words: Vec<&str> = value.split(PARTING).collect();
    if words.len() > MAX_WORDS || !words.iter().all(|word| has_form_of_word(word)) {
        return false;
    }
    let pairs: Vec<(u8, u8)> = words.iter().flat_map(|word| word.bytes().zip(word.bytes().skip(1))).collect();
    let common = pairs.iter().filter(|(letter, next)| is_common(*letter, *next)).count();
    common > 0 && 3 * common >= 2 * pairs.len()
}

fn has_form_of_word(word: &str) -> bool {
    let small_behind = word.bytes().skip(1).all(|letter| letter.is_ascii_lowercase());
    (1..=MAX_LETTERS).contains(&word.len())
        && word.bytes().all(|letter| letter.is_ascii_alphabetic())
        && (small_behind || word.bytes().all(|letter| letter.is_ascii_uppercase()))
}

fn is_common(letter: u8, next: u8) -> bool {
    let place = usize::from(letter.to_ascii_lowercase().saturating_sub(b'a'));
    FOLLOWERS.get(place).is_some_and(|followers| followers.contains(char::from(next.to_ascii_lowercase())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_known_however_they_are_written() {
        for value in
            ["ollama", "Ollama", "lm-studio", "LM_STUDIO", "sk-no-key-required", "not-needed", "dummy-key", "<your-api-key>", "xxxxxxxx"]
        {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["postgres", "password", "example", "testing", "changeme", "********"] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["staging", "swordfish", "pass!word", "password1", "ollama7", "postgres@db", "sk-no-key"] {
            assert!(!is_placeholder(value), "{value}");
        }
    }

    #[test]
    fn plain_words_are_no_secrets() {
        for value in
            ["staging", "Staging", "STAGING", "localhost", "completed", "status", "acme-studio", "Local_Server", "app.internal", "grafana"]
        {
            assert!(is_ordinary(value), "{value}");
        }
    }

    // Requirement: 14.4
    #[test]
    fn what_a_person_or_chance_made_for_a_secret_is_one() {
        let by_people = [
            "hunter2",
            "hunter2!",
            "hunter22",
            "pass!word",
            "s3cr3t-word",
            "tr0ub4dor&3",
            "password1",
            "PassPhrase",
            "sTaging",
            "日本語の鍵",
        ];
        let of_words =
            ["correct-horse-battery", "correct-horse-battery-staple", "correct horse", "correcthorsebattery", "top-secret-value"];
        let by_chance =
            ["xkqjzvbw", "qzxwvkjh", "TRXQKMPL", "wkdh-fbvq", "ahfkwnvbzqpoeirutyal", "aB3dE6gH", "deadbeef01", "Tavdon-Xyrqit"];
        for value in by_people.into_iter().chain(of_words).chain(by_chance) {
            assert!(!is_ordinary(value), "{value}");
        }
    }

    /// Nearly all random passwords of lower-case letters are recognized as such.
    #[test]
    fn letters_by_chance_read_as_no_words() {
        for length in [8, 10, 12] {
            let mut state = 1_u64;
            let mut letter = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
            };
            let words = (0..10_000).filter(|_| is_ordinary(&(0..length).map(|_| letter()).collect::<String>())).count();
            assert!(words < 700, "{words} of 10,000 with {length} letters");
        }
    }
}
