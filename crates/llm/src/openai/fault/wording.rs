//! The words and codes by which servers name a fault.

/// Number of letters of a message that are searched for the words of an account fault: these messages are short, and a long one may quote
/// the request.
const ACCOUNT_WORDS: usize = 240;
/// GLM's code for an account without balance, and the one for a prompt that is too long.
const GLM_NO_BALANCE: &str = "1113";
const GLM_LONG_PROMPT: &str = "1261";
/// The smallest affordable answer, in tokens, that is worth asking for.
const MIN_AFFORDABLE: u64 = 1_024;

/// Returns true if an error says that the request is longer than the model's window.
pub(super) fn speaks_of_overflow(message: &str, codes: &str) -> bool {
    let phrases = [
        "context length",
        "context window",
        "context size",
        "context_length",
        "prompt is too long",
        "prompt too long",
        "input is too long",
        "input token count",
        "too many tokens",
        "maximum number of tokens",
        "reduce the length",
        "longer than the model's context",
        // xAI, Kimi, DashScope, GLM, vLLM, Claude.
        "maximum prompt length",
        "exceeded model token limit",
        "range of input length should be",
        "prompt exceeds max length",
        "maximum model length",
        "exceed context limit",
    ];
    let long_for_glm = has_code(codes, GLM_LONG_PROMPT) && message.contains("prompt");
    long_for_glm
        || codes.contains("context_length")
        || codes.contains("exceed_context")
        || phrases.iter().any(|phrase| message.contains(phrase))
}

/// Returns true if an error says that the model does not exist. A 404 that mentions a model counts. A 400 has many
/// reasons, so it counts only with plain words: "response_format is not available for this model" is about something
/// else.
pub(super) fn speaks_of_no_model(status: u16, message: &str, codes: &str) -> bool {
    let plain = ["model not exist", "model not found", "invalid model", "unknown model", "no such model", "not a valid model"];
    let loose = ["not found", "not exist", "no such", "not available", "no model"];
    let named = message.split_once("model").is_some_and(|(_, after)| {
        let near: String = after.chars().take(60).collect();
        near.contains("does not exist") || near.contains("not found")
    });
    let elsewhere = ["response_format", "response format", "tool", "schema", "parameter"].iter().any(|word| message.contains(word));
    codes.contains("model_not_found")
        || plain.iter().any(|phrase| message.contains(phrase))
        || (status == 404 && message.contains("model") && loose.iter().any(|phrase| message.contains(phrase)))
        || (named && !elsewhere)
}

/// Returns the status of an account fault that a server sends under a status of another meaning: 401 for a wrong key, 402 for an account
/// without credit. A 429 keeps its status, which OpenAI sends for a used-up account.
pub(super) fn account_status(status: u16, message: &str, codes: &str) -> Option<u16> {
    let start: String = message.chars().take(ACCOUNT_WORDS).collect();
    let says = |all: &[&str]| all.iter().any(|phrase| start.contains(phrase));
    let spent_codes = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error"];
    let spent = spent_codes.iter().any(|code| codes.contains(code))
        || says(&["credit balance is too low", "used all available credits", "billing hard limit has been reached"])
        || lacks(&start, &["balance", "credit"]);
    match status {
        429 => (spent || has_code(codes, GLM_NO_BALANCE)).then_some(429),
        // An error within an answer has the status 500 if its code has no other meaning.
        400 | 500 if spent => Some(402),
        400 if lacks(&start, &["quota"]) => Some(402),
        400 if says(&["incorrect api key", "invalid api key", "api key not valid", "pass a valid api key", "api key expired"]) => Some(401),
        _ => None,
    }
}

fn has_code(codes: &str, code: &str) -> bool {
    codes.split_whitespace().any(|known| known == code)
}

/// Returns true if a message calls one of these things insufficient: `Insufficient account balance`, `the balance is insufficient`. The name
/// of a tool, such as `insufficient_balance_alert`, is one other word.
fn lacks(message: &str, things: &[&str]) -> bool {
    let words: Vec<&str> = message.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().filter(|(_, word)| **word == "insufficient").any(|(at, _)| {
        let near = words.get(at.saturating_sub(3)..words.len().min(at + 4)).unwrap_or_default();
        near.iter().any(|word| things.contains(&word.strip_suffix('s').unwrap_or(word)))
    })
}

/// Returns true if a server names a shorter answer for which the account has enough credit: `can only afford 30104`.
pub(super) fn names_affordable_answer(message: &str) -> bool {
    let number =
        message.split_once("can only afford ").map(|(_, after)| after.chars().take_while(char::is_ascii_digit).collect::<String>());
    number.and_then(|digits| digits.parse::<u64>().ok()).is_some_and(|tokens| tokens >= MIN_AFFORDABLE)
}
