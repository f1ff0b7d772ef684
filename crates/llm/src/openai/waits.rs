//! Waits that servers ask for, in headers, in fields of error bodies, and in words. No clock is read: a time is compared with the server's
//! own.

use std::time::Duration;

use serde_json::{Map, Value};

/// Fields with a wait in seconds.
const WAITS: [&str; 4] = ["resets_in_seconds", "retry_after_seconds", "retry_after", "retryAfter"];
/// Fields with the time at which a quota is renewed.
const TIMES: [&str; 5] = ["resets_at", "reset_at", "resetsAt", "quotaResetTimeStamp", "X-RateLimit-Reset"];
/// Fields with a wait as text, such as `37s` or `3h20m5s`.
const SPANS: [&str; 2] = ["retryDelay", "quotaResetDelay"];
/// Words before a wait.
const PHRASES: [&str; 3] = ["try again in ", "reset after ", "resets in "];
/// Times above this are in milliseconds, not in seconds: the year 5138.
const MILLISECONDS: u64 = 100_000_000_000;

/// Times in the headers of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Wait that the server asks for.
    pub(super) retry_after: Option<Duration>,
    /// The server's time (`Date`), in seconds since 1970.
    pub(super) now: Option<u64>,
}

impl Times {
    /// Reads `retry-after-ms`, or `Retry-After` as seconds (whole or fractional) or as a date (RFC 9110 section 10.2.3), and `Date`.
    pub(super) fn of(header: impl Fn(&str) -> Option<String>) -> Self {
        let now = header("date").and_then(|date| http_date(&date));
        let milliseconds = header("retry-after-ms").and_then(|text| seconds(&text)).map(|wait| wait / 1000);
        let retry_after = || {
            let asked = header("retry-after")?;
            seconds(&asked).or_else(|| until(http_date(&asked)?, now))
        };
        Self { retry_after: milliseconds.or_else(retry_after), now }
    }
}

/// Returns the wait in the fields of an error: those of OpenAI, Anthropic, Gemini and OpenRouter.
pub(super) fn in_fields(error: &Map<String, Value>, now: Option<u64>) -> Option<Duration> {
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let inner = |value: &'_ Value| {
        [value.get("metadata"), value.pointer("/metadata/headers")].map(|inner| inner.and_then(Value::as_object).cloned())
    };
    let own = inner(&Value::Object(error.clone())).into_iter().flatten();
    let of_details = details.flat_map(|detail| [detail.as_object().cloned()].into_iter().chain(inner(detail))).flatten();
    std::iter::once(error.clone()).chain(own).chain(of_details).find_map(|object| in_object(&object, now))
}

fn in_object(object: &Map<String, Value>, now: Option<u64>) -> Option<Duration> {
    let text = |name: &&str| match object.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let wait = WAITS.iter().filter_map(text).find_map(|text| seconds(&text));
    let span = || SPANS.iter().filter_map(text).find_map(|text| span(&text));
    let time = || TIMES.iter().filter_map(text).find_map(|text| until(time(&text)?, now));
    wait.or_else(span).or_else(time)
}

/// Returns the wait in a message: `Please try again in 1.5s.`, `resets in 2 hours 5 minutes`, or `limit reached|1738888888`.
pub(super) fn in_words(message: &str, now: Option<u64>) -> Option<Duration> {
    let lower = message.to_lowercase();
    let named = PHRASES.iter().find_map(|phrase| {
        let (_, after) = lower.split_once(phrase)?;
        let mut words = after.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')']));
        let first = words.next()?;
        span(first).or_else(|| {
            let mut all = span(&format!("{first}{}", unit(words.next()?)?))?;
            while let (Some(count), Some(unit)) = (words.next(), words.next().and_then(unit)) {
                let Some(more) = span(&format!("{count}{unit}")) else { break };
                all = all.saturating_add(more);
            }
            Some(all)
        })
    });
    named.or_else(|| until(time(message.split_once("limit reached|")?.1)?, now))
}

/// Returns the short form of a unit in words.
fn unit(word: &str) -> Option<&'static str> {
    let units = [("second", "s"), ("minute", "m"), ("hour", "h"), ("day", "d")];
    units.iter().find(|(name, _)| word.strip_suffix('s').unwrap_or(word) == *name).map(|(_, short)| *short)
}

fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

fn until(time: u64, now: Option<u64>) -> Option<Duration> {
    Some(Duration::from_secs(time.saturating_sub(now?)))
}

/// Returns the span of a text such as `37s`, `1.5s`, `20ms`, `6m0s` or `3h20m5s`.
fn span(text: &str) -> Option<Duration> {
    let (mut rest, mut all) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, left) = after.split_at(after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()));
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        all = all.saturating_add(Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?);
        rest = left;
    }
    (!text.is_empty()).then_some(all)
}

/// Returns the seconds since 1970 of a time: seconds or milliseconds since 1970, or RFC 3339 in UTC.
fn time(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<u64>() {
        return Some(if number > MILLISECONDS { number / 1000 } else { number });
    }
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let parts = |text: &str, by: char| text.split(by).map(|part| part.split('.').next()?.parse::<u64>().ok()).collect::<Option<Vec<_>>>();
    let (date, time) = (parts(date, '-')?, parts(time, ':')?);
    let ([year, month, day], [hour, minute, second]) = (date.as_slice(), time.as_slice()) else { return None };
    since_1970((*year, *month, *day), (*hour, *minute, *second))
}

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, _] = parts.as_slice() else { return None };
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = u64::try_from(months.iter().position(|name| name == month)?).ok()? + 1;
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    since_1970((year.parse().ok()?, month, day.parse().ok()?), (clock.next()??, clock.next()??, clock.next()??))
}

/// Returns the seconds since 1970 of a date and time in UTC (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn since_1970((year, month, day): (u64, u64, u64), (hour, minute, second): (u64, u64, u64)) -> Option<u64> {
    if year > 9_999 || !(1..=12).contains(&month) || day > 31 || hour > 24 || minute > 60 || second > 61 {
        return None;
    }
    let shifted = if month > 2 { year } else { year.checked_sub(1)? };
    let era = shifted / 400;
    let year_of_era = shifted % 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests;
