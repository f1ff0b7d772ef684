//! Facts on models by their names: windows, prices and abilities.
//!
//! `data/models.json` holds what is known of single models; `cargo xtask models` writes it. `data/families.json` holds rules for names that
//! it lacks, and what it does not say of the others. Both are read line by line: no lookup parses more than two lines.

mod lines;
mod names;

use crate::{Effort, ModelLimits, Prices};

use lines::Record;
use names::{Name, Spelling};

pub use names::provider_of_host;

/// Vendors that keep their weights: their price holds wherever the name is used.
const CLOSED: [&str; 4] = ["openai", "anthropic", "gemini", "xai"];

/// Every provider of the catalog, in the order in which a name alone is looked up: vendors before hosts of other people's weights.
const PROVIDERS: [&str; 13] = [
    "openai",
    "anthropic",
    "gemini",
    "deepseek",
    "mistral",
    "xai",
    "moonshot",
    "zai",
    "minimax",
    "dashscope",
    "groq",
    "fireworks",
    "together",
];

/// The longest answer where a server states no bound below its window, in tokens. Some servers reserve credit for the whole answer.
const MAX_ANSWER: u32 = 65_536;

/// The kind of entry that facts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactsSource {
    /// The entry of this model.
    Exact,
    /// The entry of the model under another date or state, or the rule for its family.
    Family,
    /// No entry and no rule: the facts are the defaults, except for a size in the name.
    Unknown,
}

/// Limits, prices and abilities of a model. The user's settings come before them.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFacts {
    /// Window, longest answer and class.
    pub limits: ModelLimits,
    /// The prices of the provider; none where they are unknown.
    pub prices: Option<Prices>,
    /// The model can see images.
    pub images: bool,
    /// The efforts that a request may ask for, in rising order; empty where the model has no such setting or none is known.
    pub efforts: Vec<Effort>,
    /// The model accepts `temperature` and other sampling parameters.
    pub sampling: bool,
    /// A request may force a tool call.
    pub forced_tool_choice: bool,
    /// The model can call tools.
    pub tools: bool,
    /// The provider can read the beginning of a request from a cache.
    pub prompt_caching: bool,
    /// The kind of entry that the facts come from.
    pub source: FactsSource,
}

impl Default for ModelFacts {
    /// Returns the facts of an unknown hosted model.
    fn default() -> Self {
        Self {
            limits: ModelLimits { context_tokens: 128_000, max_output_tokens: 16_384, small: false },
            prices: None,
            images: false,
            efforts: Vec::new(),
            sampling: true,
            forced_tool_choice: true,
            tools: true,
            prompt_caching: false,
            source: FactsSource::Unknown,
        }
    }
}

/// Looks up a model.
///
/// The provider is a word such as `openai`, `azure`, `anthropic`, `gemini`, `openrouter` or `groq` (see [`provider_of_host`]); any other
/// word counts as none. The name may be written as providers, gateways and local servers write it: `anthropic/claude-opus-4.7:thinking`,
/// `us.anthropic.claude-opus-4-7-v1:0`, `models/gemini-3-flash-preview`, `qwen2.5-coder:1.5b`.
#[must_use]
pub fn model_facts(provider: Option<&str>, model: &str) -> ModelFacts {
    let provider = provider.and_then(names::provider);
    let name = Name::read(model);
    let family = lines::family(&name);
    let (entry, same, priced) = match entry(provider, &name) {
        Some(found) => (Some(found.record), found.same, found.priced),
        None => (None, false, false),
    };
    let mut facts = ModelFacts::default();
    let mut small = false;
    for record in family.iter().chain(&entry) {
        facts.add(record);
        small = record.small.unwrap_or(small);
    }
    facts.limits.small = name.billions().map_or(small, |billions| billions <= 4.0);
    facts.limits.max_output_tokens = answer(facts.limits);
    facts.prices = entry.as_ref().and_then(Record::prices).filter(|_| priced);
    if provider == Some("openrouter") && name.free {
        facts.prices = Some(Prices::default());
    }
    facts.source = match (&entry, &family) {
        (Some(_), _) if same => FactsSource::Exact,
        (None, None) => FactsSource::Unknown,
        _ => FactsSource::Family,
    };
    facts
}

impl ModelFacts {
    /// Takes over all that a record states; the rest stays as it is.
    fn add(&mut self, record: &Record<'_>) {
        let limits = &mut self.limits;
        limits.context_tokens = record.window.unwrap_or(limits.context_tokens);
        limits.max_output_tokens = record.answer.unwrap_or(limits.max_output_tokens);
        self.images = record.images.unwrap_or(self.images);
        self.tools = record.tools.unwrap_or(self.tools);
        self.forced_tool_choice = record.forced_tool_choice.unwrap_or(self.forced_tool_choice);
        self.sampling = record.sampling.unwrap_or(self.sampling);
        self.prompt_caching = record.prompt_caching.unwrap_or(self.prompt_caching);
        if let Some(efforts) = &record.efforts {
            self.efforts.clone_from(efforts);
        }
    }
}

/// Returns the longest answer. A bound of more than half of the window would leave requests no room: the table
/// repeats the window there.
fn answer(limits: ModelLimits) -> u32 {
    let ModelLimits { context_tokens, max_output_tokens, .. } = limits;
    if max_output_tokens > context_tokens / 2 { (context_tokens / 4).min(MAX_ANSWER) } else { max_output_tokens }
}

/// An entry of the catalog.
struct Found {
    record: Record<'static>,
    /// No date or state was taken off the name to find it.
    same: bool,
    /// True if its prices are those of the requested provider.
    priced: bool,
}

/// Finds the catalog entry of a model: first at its provider, then at the vendor that the name implies, then at any
/// provider.
fn entry(provider: Option<&'static str>, name: &Name) -> Option<Found> {
    let find = |provider: &str, spelling: &Spelling| lines::entry(&format!("{provider}/{}", spelling.name));
    let among = |provider: &str| name.spellings.iter().find_map(|spelling| Some((find(provider, spelling)?, spelling.same)));
    let served = provider.filter(|provider| *provider != "openrouter");
    if let Some((record, same)) = served.and_then(among) {
        return Some(Found { record, same, priced: true });
    }
    // A gateway that passes a vendor's models on charges what the vendor does.
    let passes_on = |vendor: &str| provider == Some("openrouter") || provider.is_none() && closed(vendor, name);
    if let Some((vendor, (record, same))) = name.vendor.and_then(|vendor| Some((vendor, among(vendor)?))) {
        return Some(Found { record, same, priced: passes_on(vendor) });
    }
    // The closest spelling of any provider is worth more than a loose one of the first.
    name.spellings.iter().find_map(|spelling| {
        let (vendor, record) = PROVIDERS.iter().find_map(|vendor| Some((*vendor, find(vendor, spelling)?)))?;
        Some(Found { record, same: spelling.same, priced: provider.is_none() && closed(vendor, name) })
    })
}

/// Returns true if the vendor keeps the weights of this model.
fn closed(vendor: &str, name: &Name) -> bool {
    CLOSED.contains(&vendor)
        && !name.spellings.iter().any(|spelling| ["gemma", "gpt-oss"].iter().any(|open| spelling.name.starts_with(open)))
}

#[cfg(test)]
mod tests;
