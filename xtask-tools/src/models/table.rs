//! Converts LiteLLM's table to the catalog: selects the models and their data.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Hosted open-weight models with a shutdown date before this day are left out. It is the month of the pinned version.
pub(super) const SHUT_DOWN_BEFORE: &str = "2026-11-01";

/// Names of providers: LiteLLM's, and the catalog's.
const PROVIDERS: [(&str, &str); 13] = [
    ("anthropic", "anthropic"),
    ("dashscope", "dashscope"),
    ("deepseek", "deepseek"),
    ("fireworks_ai", "fireworks"),
    ("gemini", "gemini"),
    ("groq", "groq"),
    ("minimax", "minimax"),
    ("mistral", "mistral"),
    ("moonshot", "moonshot"),
    ("openai", "openai"),
    ("together_ai", "together"),
    ("xai", "xai"),
    ("zai", "zai"),
];

/// Providers that host hundreds of open-weight models. Only those that an agent can use are kept.
const HOSTS: [&str; 3] = ["fireworks", "groq", "together"];

/// Providers with free models. Elsewhere a price of zero means that nobody entered one.
const FREE: [&str; 2] = ["gemini", "zai"];

/// Parts of the names of models that an agent cannot use: models for speech, images, search or moderation.
const UNFIT: [&str; 20] = [
    "audio",
    "computer-use",
    "container",
    "deep-research",
    "embedding",
    "exp-1",
    "gemini-gemma",
    "image",
    "learnlm",
    "-live",
    "lyria",
    "ocr",
    "omni",
    "prompt-guard",
    "realtime",
    "robotics",
    "safeguard",
    "search-",
    "tts",
    "voxtral",
];

/// Size of the request whose price is used if the price depends on the size, in tokens.
const REQUEST: f64 = 100_000.0;

/// Line of the catalog. Absent members are unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Provider and name, in lower case.
    pub(super) model: String,
    /// Tokens of request and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u32>,
    /// Longest answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<u32>,
    /// US dollars per million input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<f64>,
    /// US dollars per web search.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forced_tool_choice: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_caching: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    efforts: Option<Vec<String>>,
}

impl Entry {
    /// Applies a correction to the entry.
    pub(super) fn corrected(self, by: &Self) -> Self {
        let by = by.clone();
        Self {
            model: self.model,
            window: by.window.or(self.window),
            answer: by.answer.or(self.answer),
            input: by.input.or(self.input),
            cached_input: by.cached_input.or(self.cached_input),
            cache_write: by.cache_write.or(self.cache_write),
            output: by.output.or(self.output),
            search: by.search.or(self.search),
            images: by.images.or(self.images),
            tools: by.tools.or(self.tools),
            forced_tool_choice: by.forced_tool_choice.or(self.forced_tool_choice),
            sampling: by.sampling.or(self.sampling),
            prompt_caching: by.prompt_caching.or(self.prompt_caching),
            efforts: by.efforts.or(self.efforts),
        }
    }
}

/// Finished catalog.
pub(super) struct Catalog {
    pub(super) text: String,
    pub(super) models: usize,
}

/// Returns the corrections of an overlay: entries with only the corrected members.
pub(super) fn corrections(overlay: &str) -> Result<Vec<Entry>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Overlay {
        model: Vec<toml::Table>,
    }
    let overlay: Overlay = toml::from_str(overlay).context("the overlay cannot be read")?;
    let correction = |mut table: toml::Table| {
        let source = table.remove("source");
        let entry: Entry = toml::Value::Table(table).try_into().context("an entry of the overlay cannot be read")?;
        let source = source.as_ref().and_then(toml::Value::as_str).filter(|source| source.starts_with("https://"));
        source.with_context(|| format!("{} of the overlay names no source", entry.model))?;
        Ok(entry)
    };
    overlay.model.into_iter().map(correction).collect()
}

/// Creates the catalog: a JSON document with one entry per line, sorted.
pub(super) fn catalog(table: &str, overlay: &str, version: &str) -> Result<Catalog> {
    let table: Map<String, Value> = serde_json::from_str(table).context("LiteLLM's table cannot be read")?;
    let mut entries = BTreeMap::new();
    // Some models appear twice, with and without the provider before the name. The longer name comes last and wins.
    let mut rows: Vec<(&String, &Value)> = table.iter().collect();
    rows.sort_by_key(|(name, _)| (name.matches('/').count(), *name));
    for (name, row) in rows {
        if let Some(entry) = entry(name, row) {
            entries.insert(entry.model.clone(), entry);
        }
    }
    for correction in corrections(overlay)? {
        let key = correction.model.clone();
        let old = entries.remove(&key).unwrap_or_else(|| Entry { model: key.clone(), ..Entry::default() });
        entries.insert(key, old.corrected(&correction));
    }
    let lines = entries.values().map(|entry| Ok(serde_json::to_string(entry)?)).collect::<Result<Vec<_>>>()?;
    let source = serde_json::json!({
        "source": format!("model_prices_and_context_window_backup.json of the Python package litellm {version}"),
        "licence": "MIT, Copyright (c) 2023 Berri AI: LICENSE-litellm",
        "written_by": "cargo xtask models; corrections go into models_overlay.toml",
    });
    let head = source.to_string();
    let head = head.trim_end_matches('}');
    Ok(Catalog { text: format!("{head},\"models\":[\n{}\n]}}\n", lines.join(",\n")), models: lines.len() })
}

/// Converts one row of the table, if an agent can use the model.
fn entry(name: &str, row: &Value) -> Option<Entry> {
    let text = |field: &str| row.get(field).and_then(Value::as_str);
    let provider = text("litellm_provider")?;
    let (_, provider) = PROVIDERS.iter().find(|(theirs, _)| *theirs == provider)?;
    if !matches!(text("mode"), Some("chat" | "responses")) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix(&format!("{}/", text("litellm_provider")?)).unwrap_or(&name);
    let name =
        ["accounts/fireworks/models/", "accounts/fireworks/routers/"].iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let modalities = row.get("supported_output_modalities").and_then(Value::as_array);
    let speaks = modalities.is_none_or(|all| all.iter().any(|one| one == "text"));
    if !speaks || name.starts_with("together-ai-") || UNFIT.iter().any(|part| name.contains(part)) {
        return None;
    }
    let flag = |field: &str| row.get(field).and_then(Value::as_bool);
    let tokens = |field: &str| row.get(field).and_then(Value::as_f64).filter(|count| *count >= 1.0);
    let (request, answer) = (tokens("max_input_tokens"), tokens("max_output_tokens"));
    let prices = prices(provider, row);
    let [input, cached_input, cache_write, output] = prices.unwrap_or_default();
    if request.is_none() && input.is_none() {
        return None;
    }
    let usable = flag("supports_function_calling") == Some(true) && input.is_some() && request.is_some();
    if HOSTS.contains(provider) && (!usable || text("deprecation_date").is_some_and(|day| day < SHUT_DOWN_BEFORE)) {
        return None;
    }
    Some(Entry {
        model: format!("{provider}/{name}"),
        window: request.map(|request| whole(window(provider, request, answer))),
        answer: answer.map(whole),
        input,
        cached_input,
        cache_write,
        output,
        search: row
            .pointer("/search_context_cost_per_query/search_context_size_medium")
            .and_then(Value::as_f64)
            .filter(|price| *price > 0.0),
        images: flag("supports_vision"),
        tools: flag("supports_function_calling"),
        // A server that supports `tool_choice` may still refuse a forced call, so `true` says nothing.
        forced_tool_choice: flag("supports_forced_tool_use").or(flag("supports_tool_choice").filter(|known| !known)),
        sampling: flag("supports_sampling_params"),
        prompt_caching: flag("supports_prompt_caching").or(cached_input.is_some().then_some(true)),
        efforts: efforts(provider, row),
    })
}

/// Returns the tokens of request and answer together. For OpenAI's newer models the table contains only those of the request.
fn window(provider: &str, request: f64, answer: Option<f64>) -> f64 {
    let both = request + answer.unwrap_or_default();
    if provider == "openai" && [400_000.0, 1_050_000.0].contains(&both) { both } else { request }
}

/// Returns the prices of input, cached input, cache writes and output, in US dollars per million tokens.
fn prices(provider: &str, row: &Value) -> Option<[Option<f64>; 4]> {
    let price = |field: &str| price(row, field);
    let (input, output) = (price("input_cost_per_token")?, price("output_cost_per_token")?);
    if input + output == 0.0 && !FREE.contains(&provider) {
        return None;
    }
    // A cache write cheaper than the tokens themselves is the price of storage.
    let write = price("cache_creation_input_token_cost").filter(|write| *write > input);
    Some([Some(input), price("cache_read_input_token_cost"), write, Some(output)])
}

/// Returns one price per million tokens, for a request of [`REQUEST`] tokens.
fn price(row: &Value, field: &str) -> Option<f64> {
    let number = |value: &Value| value.as_f64();
    let tier = row.get("tiered_pricing").and_then(Value::as_array).and_then(|tiers| {
        let end = |tier: &Value| tier.pointer("/range/1").and_then(number);
        tiers.iter().find(|tier| end(tier).is_none_or(|end| end > REQUEST)).or(tiers.last())
    });
    let above = row.as_object().into_iter().flatten().filter_map(|(name, value)| {
        let thousands = name.strip_prefix(field)?.strip_prefix("_above_")?.strip_suffix("k_tokens")?.parse::<f64>().ok()?;
        (thousands * 1_000.0 < REQUEST).then_some((thousands, number(value)?))
    });
    let above = above.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, value)| value);
    let token = tier.and_then(|tier| tier.get(field)).and_then(number).or(above).or(row.get(field).and_then(number))?;
    // Rounding to six decimals removes the noise of the division.
    Some((token * 1e12).round() / 1e6)
}

/// Returns the reasoning efforts that a model accepts, if the table lists them.
fn efforts(provider: &str, row: &Value) -> Option<Vec<String>> {
    if let Some(levels) = row.get("reasoning_effort_levels").and_then(Value::as_array) {
        return Some(levels.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }
    let flag = |field: &str| row.get(field).and_then(Value::as_bool);
    let level = |level: &str| flag(&format!("supports_{level}_reasoning_effort"));
    let extra = ["none", "minimal", "low", "xhigh", "max"];
    let has_levels = extra.iter().any(|extra| level(extra).is_some()) || flag("supports_output_config") == Some(true);
    if flag("supports_reasoning") != Some(true) || !has_levels {
        return None;
    }
    let anthropic = provider == "anthropic";
    let takes = |name: &str| match name {
        "none" if anthropic => flag("thinking_always_on") != Some(true),
        "low" => level("low") != Some(false),
        "medium" | "high" => true,
        name => level(name) == Some(true),
    };
    let all = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    Some(all.into_iter().filter(|name| takes(name)).map(str::to_owned).collect())
}

/// Converts a number of tokens to an integer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of tokens are whole, positive and below four billion")]
fn whole(tokens: f64) -> u32 {
    tokens as u32
}

#[cfg(test)]
mod tests;
