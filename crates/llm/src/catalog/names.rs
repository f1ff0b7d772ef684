//! The spellings of one model's name at providers, gateways and local servers.

/// Hosts, and the provider of the catalog behind each.
const HOSTS: [(&str, &str); 21] = [
    ("openai.com", "openai"),
    ("openai.azure.com", "openai"),
    ("cognitiveservices.azure.com", "openai"),
    ("services.ai.azure.com", "openai"),
    ("anthropic.com", "anthropic"),
    ("googleapis.com", "gemini"),
    ("deepseek.com", "deepseek"),
    ("openrouter.ai", "openrouter"),
    ("mistral.ai", "mistral"),
    ("x.ai", "xai"),
    ("groq.com", "groq"),
    ("moonshot.ai", "moonshot"),
    ("moonshot.cn", "moonshot"),
    ("z.ai", "zai"),
    ("bigmodel.cn", "zai"),
    ("aliyuncs.com", "dashscope"),
    ("minimax.io", "minimax"),
    ("minimaxi.com", "minimax"),
    ("minimax.chat", "minimax"),
    ("fireworks.ai", "fireworks"),
    ("together.xyz", "together"),
];

/// Other words for a provider of the catalog: of settings, and of the makers of models before a name.
const WORDS: [(&str, &str); 34] = [
    ("openai", "openai"),
    ("azure", "openai"),
    ("anthropic", "anthropic"),
    ("gemini", "gemini"),
    ("google", "gemini"),
    ("vertex", "gemini"),
    ("vertex_ai", "gemini"),
    ("deepseek", "deepseek"),
    ("deepseek-ai", "deepseek"),
    ("openrouter", "openrouter"),
    ("mistral", "mistral"),
    ("mistralai", "mistral"),
    ("xai", "xai"),
    ("x-ai", "xai"),
    ("groq", "groq"),
    ("moonshot", "moonshot"),
    ("moonshotai", "moonshot"),
    ("kimi", "moonshot"),
    ("zai", "zai"),
    ("z-ai", "zai"),
    ("z.ai", "zai"),
    ("zai-org", "zai"),
    ("zhipu", "zai"),
    ("dashscope", "dashscope"),
    ("qwen", "dashscope"),
    ("alibaba", "dashscope"),
    ("minimax", "minimax"),
    ("minimaxai", "minimax"),
    ("fireworks", "fireworks"),
    ("fireworks_ai", "fireworks"),
    ("fireworks-ai", "fireworks"),
    ("together", "together"),
    ("together_ai", "together"),
    ("togetherai", "together"),
];

/// Folders that some providers write before a name.
const FOLDERS: [&str; 5] =
    ["models/", "publishers/google/models/", "accounts/fireworks/models/", "accounts/fireworks/routers/", "openrouter/"];

/// The start of the names of OpenAI's fine-tuned models, which have prices of their own.
pub(super) const TUNED: &str = "ft:";

/// Name suffixes for a release state of the same model.
const STATES: [&str; 6] = ["-latest", "-preview", "-exp", "-experimental", "-beta", "-001"];

/// Returns the word of the provider behind a host, as [`model_facts`](crate::model_facts) takes it; `None` for unknown hosts.
#[must_use]
pub fn provider_of_host(host: &str) -> Option<&'static str> {
    let host = host.to_ascii_lowercase();
    let is = |name: &str| host.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    HOSTS.iter().find(|(name, _)| is(name)).map(|(_, provider)| *provider)
}

/// Returns the provider of the catalog for a word.
pub(super) fn provider(word: &str) -> Option<&'static str> {
    let word = word.trim();
    WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, provider)| *provider)
}

/// One way to write a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spelling {
    /// In small letters.
    pub(super) name: String,
    /// No date or state was taken off or added.
    pub(super) same: bool,
}

/// A name, and what it may be found under.
#[derive(Debug)]
pub(super) struct Name {
    /// Spellings, from the name as written to the loosest reading of it.
    pub(super) spellings: Vec<Spelling>,
    /// Vendor that the name implies.
    pub(super) vendor: Option<&'static str>,
    /// The name is a variant that OpenRouter serves for nothing.
    pub(super) free: bool,
}

impl Name {
    /// Reads a name.
    pub(super) fn read(model: &str) -> Self {
        let written = model.trim().to_ascii_lowercase();
        let whole = FOLDERS.iter().find_map(|folder| written.strip_prefix(folder)).unwrap_or(&written);
        let mut name = Self { spellings: Vec::new(), vendor: None, free: whole.ends_with(":free") };
        name.add(&written, true);
        name.add(whole, true);
        // Variants of OpenRouter, versions of Bedrock, fine-tuned models: `…:thinking`, `…-v1:0`, `ft:gpt-4o-2024-08-06:org::id`.
        let colon = whole.match_indices(':').map(|(at, _)| at).nth(usize::from(whole.starts_with(TUNED)));
        let untagged = colon.and_then(|at| whole.get(..at)).unwrap_or(whole);
        let plain = untagged.strip_suffix("-v1").or_else(|| untagged.strip_suffix("-v2")).unwrap_or(untagged);
        name.add(untagged, true);
        name.add(plain, true);
        let bare = name.bare(plain).to_owned();
        name.add(&bare, true);
        // Ollama's tag is the size, and may identify the family.
        name.add(whole.rsplit('/').next().unwrap_or_default(), true);
        let spelled = [dashed(&bare), pointed(&bare), bare];
        for spelling in &spelled {
            name.add(spelling, true);
        }
        for spelling in spelled.iter().filter(|spelling| !spelling.is_empty()) {
            for state in ["-latest", "-preview"] {
                name.add(&format!("{spelling}{state}"), false);
            }
            let mut loose = spelling.as_str();
            while let Some(shorter) = without_state(loose) {
                name.add(shorter, false);
                loose = shorter;
            }
        }
        name
    }

    fn add(&mut self, name: &str, same: bool) {
        if !name.is_empty() && !self.spellings.iter().any(|known| known.name == name) {
            self.spellings.push(Spelling { name: name.to_owned(), same });
        }
    }

    /// Returns the name without its vendor: `openai/…`, `us.anthropic.…`, `…@20251101`.
    fn bare<'a>(&mut self, name: &'a str) -> &'a str {
        let mut segments = name.rsplit('/');
        let last = segments.next().unwrap_or(name);
        self.vendor = segments.next().and_then(provider);
        let vendor = |(at, _): (usize, &str)| {
            let (before, after) = (last.get(..at)?, last.get(at + 1..)?);
            Some((provider(before.rsplit('.').next()?)?, after))
        };
        match last.match_indices('.').find_map(vendor) {
            Some((vendor, rest)) => {
                self.vendor = self.vendor.or(Some(vendor));
                rest
            }
            None => last,
        }
    }

    /// Returns the number of parameters in the name, in billions. If the name has several numbers, such as total and
    /// active parameters, the largest counts.
    pub(super) fn billions(&self) -> Option<f64> {
        let name = &self.spellings.first()?.name;
        let tokens = name.rsplit('/').next()?.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        tokens.filter_map(size).max_by(f64::total_cmp)
    }
}

/// Returns the size in a part of a name, in billions: `1.5b`, `135m`, `1p5b`, `e4b`. `a3b` counts the active
/// parameters of a larger model, so it gives no size. `e4b` is the effective size, and the model plans no better than
/// one of that size.
fn size(token: &str) -> Option<f64> {
    let number = |digits: &str| {
        let digits = digits.replacen('p', ".", 1);
        let starts = digits.starts_with(|c: char| c.is_ascii_digit()) && digits.ends_with(|c: char| c.is_ascii_digit());
        digits.parse::<f64>().ok().filter(|_| starts)
    };
    if let Some(digits) = token.strip_suffix('b') {
        return number(digits.strip_prefix('e').unwrap_or(digits));
    }
    let millions = token.strip_suffix('m').filter(|digits| digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some(number(millions)? / 1_000.0)
}

/// Returns a name with dashes for the points between digits and for `@`: OpenRouter writes `claude-opus-4.7`, Vertex
/// `claude-opus-4-7@20260416`.
fn dashed(name: &str) -> String {
    let digit = |at: Option<usize>| at.and_then(|at| name.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
    let dash = |(at, c): (usize, char)| match c {
        '@' => '-',
        '.' if digit(at.checked_sub(1)) && digit(Some(at + 1)) => '-',
        c => c,
    };
    name.char_indices().map(dash).collect()
}

/// Returns a name with points between digits for the letter that Fireworks writes there: `kimi-k2p5`.
fn pointed(name: &str) -> String {
    let bytes = name.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let point = |(at, c): (usize, char)| if c == 'p' && digit(at.checked_sub(1)) && digit(Some(at + 1)) { '.' } else { c };
    name.char_indices().map(point).collect()
}

/// Returns a name without the date or the state at its end, if it has one.
fn without_state(name: &str) -> Option<&str> {
    if let Some(shorter) = STATES.iter().find_map(|state| name.strip_suffix(state)) {
        return Some(shorter);
    }
    let end = |from: usize| name.len().checked_sub(from).and_then(|at| Some((name.get(..at)?, name.get(at..)?)));
    // From the longest: `-2026-01-01`, `-20260101`, `-09-2025`, `-0324`.
    ["-dddd-dd-dd", "-dddddddd", "-dd-dddd", "-dddd"].iter().find_map(|form| {
        let (shorter, date) = end(form.len())?;
        let fits = date.bytes().zip(form.bytes()).all(|(byte, form)| if form == b'd' { byte.is_ascii_digit() } else { byte == form });
        (fits && !shorter.is_empty()).then_some(shorter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_providers() {
        for (host, expected) in [
            ("api.openai.com", Some("openai")),
            ("mine.openai.azure.com", Some("openai")),
            ("API.x.ai", Some("xai")),
            ("generativelanguage.googleapis.com", Some("gemini")),
            ("dashscope-intl.aliyuncs.com", Some("dashscope")),
            ("api.z.ai", Some("zai")),
            ("notx.ai", None),
            ("localhost", None),
        ] {
            assert_eq!(provider_of_host(host), expected, "{host}");
        }
    }

    #[test]
    fn names_are_read_in_every_spelling() {
        for (written, expected, vendor) in [
            ("anthropic/claude-opus-4.7:thinking", "claude-opus-4-7", Some("anthropic")),
            ("us.anthropic.claude-opus-4-7-v1:0", "claude-opus-4-7", Some("anthropic")),
            ("anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", Some("anthropic")),
            ("claude-opus-4-5@20251101", "claude-opus-4-5", None),
            ("models/gemini-3-flash-preview", "gemini-3-flash", None),
            ("openrouter/google/gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash", Some("gemini")),
            ("gpt-5.4-2026-03-05", "gpt-5.4", None),
            ("accounts/fireworks/models/kimi-k2p5", "kimi-k2p5", None),
            ("accounts/fireworks/models/kimi-k2p5", "kimi-k2.5", None),
            ("mistral-medium", "mistral-medium-latest", None),
            ("mistralai/mistral-large-2512", "mistral-large", Some("mistral")),
            ("ft:gpt-4o-2024-08-06:org::id", "ft:gpt-4o-2024-08-06", None),
        ] {
            let name = Name::read(written);
            assert!(name.spellings.iter().any(|spelling| spelling.name == expected), "{written}: {:?}", name.spellings);
            assert_eq!(name.vendor, vendor, "{written}");
        }
        assert!(Name::read("").spellings.is_empty());
        assert!(Name::read("-2026").spellings.iter().all(|spelling| !spelling.name.is_empty()));
    }

    #[test]
    fn sizes_are_read_from_names() {
        for (name, expected) in [
            ("qwen2.5-coder:1.5b", Some(1.5)),
            ("Qwen/Qwen3-30B-A3B-Instruct-2507", Some(30.0)),
            ("smollm2-135m-instruct", Some(0.135)),
            ("gemma-3n-e4b-it", Some(4.0)),
            ("llama-v3p2-3b-instruct", Some(3.0)),
            ("qwen2p5-coder-1p5b", Some(1.5)),
            ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", Some(0.5)),
            ("deepseek-r1-distill-llama-70b", Some(70.0)),
            ("qwen3-coder-a3b", None),
            ("mixtral-8x7b-instruct", None),
            ("moonshot-v1-128k", None),
            ("gpt-5.4-mini", None),
            ("model-4bit", None),
            ("b", None),
            ("m", None),
        ] {
            assert_eq!(Name::read(name).billions(), expected, "{name}");
        }
    }
}
