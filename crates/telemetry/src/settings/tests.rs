use std::collections::BTreeMap;

use super::*;

fn read(variables: &[(&str, &str)]) -> (Option<TelemetrySettings>, Vec<String>) {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    TelemetrySettings::read(|name| variables.get(name).map(|value| (*value).to_owned()))
}

const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

// Requirement: 8.27
#[test]
fn nothing_is_sent_unasked() {
    for variables in [
        &[][..],
        &[("OTEL_SERVICE_NAME", "x"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
        &[ENDPOINT, ("OTEL_SDK_DISABLED", "true")],
        &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "console"), ("OTEL_LOGS_EXPORTER", "none")],
    ] {
        assert_eq!(read(variables), (None, vec![]), "{variables:?}");
    }
}

#[test]
fn the_standard_variables_are_read() {
    let (settings, notes) = read(&[
        ENDPOINT,
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example.org/in"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20very-secret, x-team = blue"),
        ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-team=red"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=other,=,broken"),
        ("OTEL_SERVICE_NAME", "mine"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
    ]);
    let settings = settings.unwrap();
    let [traces, metrics, logs] = [&settings.traces, &settings.metrics, &settings.logs].map(|signal| signal.clone().unwrap());
    let urls = [&traces, &metrics, &logs].map(|signal| signal.url.as_str());
    assert_eq!(urls, ["https://traces.example.org/in", "http://collector:4318/v1/metrics", "http://collector:4318/v1/logs"]);
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(traces.headers, [own("authorization", "Bearer very-secret"), own("x-team", "blue")]);
    assert_eq!(metrics.headers, [own("x-team", "red")]);
    assert_eq!(traces.timeout, Duration::from_millis(2_500));
    assert_eq!(settings.resource, [own("deployment.environment.name", "test"), own("service.name", "mine")]);
    assert!(settings.span_content && settings.record_content && notes.is_empty());
    assert_eq!(settings.secrets(), ["very-secret", "blue", "red", "very-secret", "blue"]);
    assert!(!format!("{settings:?}").contains("very-secret"));
    assert_eq!(read(&[ENDPOINT]).0.unwrap().resource, [own("service.name", "aime")]);
}

#[test]
fn content_goes_where_the_variable_says() {
    let both = |value: &str| {
        let settings = read(&[ENDPOINT, ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)]).0.unwrap();
        (settings.span_content, settings.record_content)
    };
    for (value, expected) in [
        ("", (false, false)),
        ("false", (false, false)),
        ("NO_CONTENT", (false, false)),
        ("SPAN_ONLY", (true, false)),
        ("EVENT_ONLY", (false, true)),
        ("SPAN_AND_EVENT", (true, true)),
        ("True", (true, true)),
    ] {
        assert_eq!(both(value), expected, "{value}");
    }
}

#[test]
fn what_is_not_spoken_is_said() {
    let (settings, notes) = read(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc")]);
    assert!(settings.unwrap().metrics.is_none());
    assert_eq!(notes, ["no metrics are sent: OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and only http/protobuf is spoken (often port 4318)"]);
    let (settings, notes) = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "me:very-secret@collector:4317")]);
    assert!(settings.is_none());
    assert_eq!(notes.len(), 3);
    assert!(!notes.concat().contains("very-secret"), "{notes:?}");
}

#[test]
fn an_address_is_told_without_what_is_secret_in_it() {
    for (url, place, secret) in [
        ("http://collector:4318/v1/traces", "http://collector:4318/v1/traces", None),
        ("https://me:very%20secret@traces.example.org/in", "https://traces.example.org/in", Some("very secret")),
        ("https://me@traces.example.org?key=very-secret", "https://traces.example.org", None),
        ("https://traces.example.org/@me:here", "https://traces.example.org/@me:here", None),
    ] {
        let settings = read(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url)]).0.unwrap();
        let shown = format!("{settings:?}");
        assert!(shown.contains(&format!("{place:?}")) && !shown.contains("very"), "{shown}");
        assert_eq!(settings.secrets(), secret.into_iter().collect::<Vec<_>>(), "{url}");
    }
}
