//! Settings, from the standard variables of OpenTelemetry.

#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use percent_encoding::percent_decode_str;

/// Default timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Signals to send, and their destinations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Destination of spans.
    pub traces: Option<Signal>,
    /// Destination of metrics.
    pub metrics: Option<Signal>,
    /// Destination of log records.
    pub logs: Option<Signal>,
    /// Attributes of all that is sent, such as `service.name`.
    pub resource: Vec<(String, String)>,
    /// True if spans include content: goals, answers, calls and their results.
    pub span_content: bool,
    /// True if log records include content: their bodies, and answers of models.
    pub record_content: bool,
}

/// A receiver of OTLP over HTTP, in protobuf.
#[derive(Clone, PartialEq, Eq)]
pub struct Signal {
    /// Address of the receiver.
    pub url: String,
    /// Headers of each request; often they hold a token.
    pub headers: Vec<(String, String)>,
    /// Timeout of a request.
    pub timeout: Duration,
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Signal").field("url", &self.place()).field("headers", &names).field("timeout", &self.timeout).finish()
    }
}

impl Signal {
    /// Returns its address without the parts that may be secret: user name, password and query.
    pub(crate) fn place(&self) -> String {
        let (scheme, authority, path) = self.parts();
        format!("{scheme}://{}{path}", authority.rsplit('@').next().unwrap_or_default())
    }

    /// Returns the password in its address.
    fn password(&self) -> Option<String> {
        let (named, _) = self.parts().1.rsplit_once('@')?;
        Some(percent_decode_str(named.split_once(':')?.1).decode_utf8_lossy().into_owned())
    }

    /// Scheme, authority and path (RFC 3986, section 3).
    fn parts(&self) -> (&str, &str, &str) {
        let bare = self.url.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = bare.split_once("://").unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        (scheme, authority, path)
    }
}

impl TelemetrySettings {
    /// Reads the settings. Returns none if no endpoint is set, so nothing is sent unasked, and notes on variables that were ignored.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> (Option<Self>, Vec<String>) {
        let variable = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let is_set_to = |name: &str, word: &str| variable(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
        let mut notes = Vec::new();
        if is_set_to("OTEL_SDK_DISABLED", "true") {
            return (None, notes);
        }
        let traces = signal("TRACES", "v1/traces", &variable, &mut notes);
        let metrics = signal("METRICS", "v1/metrics", &variable, &mut notes);
        let logs = signal("LOGS", "v1/logs", &variable, &mut notes);
        if traces.is_none() && metrics.is_none() && logs.is_none() {
            return (None, notes);
        }
        let mut resource = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        if let Some(name) = variable("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name));
        }
        if !resource.iter().any(|(key, _)| key == "service.name") {
            resource.push(("service.name".to_owned(), "aime".to_owned()));
        }
        // The conventions have used `true`, and name where content goes since.
        let captures = |words: [&str; 3]| words.iter().any(|word| is_set_to("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", word));
        let span_content = captures(["true", "SPAN_ONLY", "SPAN_AND_EVENT"]);
        let record_content = captures(["true", "EVENT_ONLY", "SPAN_AND_EVENT"]);
        (Some(Self { traces, metrics, logs, resource, span_content, record_content }), notes)
    }

    /// Returns the secret settings: the values of headers and the passwords in addresses.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let signals = || [&self.traces, &self.metrics, &self.logs].into_iter().flatten();
        let bare = |value: &str| match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic") => token.to_owned(),
            _ => value.to_owned(),
        };
        let headers = signals().flat_map(|signal| &signal.headers).map(|(_, value)| bare(value));
        headers.chain(signals().filter_map(Signal::password)).collect()
    }
}

fn signal(name: &str, path: &str, variable: &impl Fn(&str) -> Option<String>, notes: &mut Vec<String>) -> Option<Signal> {
    let own =
        |what: &str| variable(&format!("OTEL_EXPORTER_OTLP_{name}_{what}")).or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{what}")));
    let url = match variable(&format!("OTEL_EXPORTER_OTLP_{name}_ENDPOINT")) {
        Some(url) => url,
        None => format!("{}/{path}", variable("OTEL_EXPORTER_OTLP_ENDPOINT")?.trim_end_matches('/')),
    };
    let exporter = variable(&format!("OTEL_{name}_EXPORTER")).unwrap_or_else(|| "otlp".to_owned());
    if !exporter.split(',').any(|exporter| exporter.trim() == "otlp") {
        return None;
    }
    let mut leave_out = |why: String| {
        let note = format!("no {} are sent: {why}", name.to_lowercase());
        if !notes.contains(&note) {
            notes.push(note);
        }
    };
    if let Some(protocol) = own("PROTOCOL").filter(|protocol| protocol != "http/protobuf") {
        leave_out(format!("OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}, and only http/protobuf is spoken (often port 4318)"));
        return None;
    }
    if !url.starts_with("http://") && !url.starts_with("https://") {
        leave_out("the endpoint must begin with http:// or https://".to_owned());
        return None;
    }
    let timeout = own("TIMEOUT").and_then(|millis| millis.parse().ok()).filter(|millis| *millis > 0).map_or(TIMEOUT, Duration::from_millis);
    Some(Signal { url, headers: pairs(&own("HEADERS").unwrap_or_default()), timeout })
}

/// Parses `key=value,…`, with percent encoding for reserved characters.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), percent_decode_str(value.trim()).decode_utf8_lossy().into_owned()))
    };
    text.split(',').filter_map(pair).collect()
}
