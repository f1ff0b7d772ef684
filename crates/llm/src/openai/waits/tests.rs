use serde_json::json;

use super::*;

#[test]
fn headers_name_a_wait() {
    type Headers = &'static [(&'static str, &'static str)];
    let cases: &[(Headers, Option<Duration>)] = &[
        (&[("retry-after", "7")], Some(Duration::from_secs(7))),
        (&[("retry-after", "1.5")], Some(Duration::from_millis(1500))),
        (&[("retry-after", "0")], Some(Duration::ZERO)),
        (&[("retry-after-ms", "250"), ("retry-after", "1")], Some(Duration::from_millis(250))),
        (&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(Duration::from_secs(10))),
        (
            &[("retry-after", "Tue, 01 Mar 2016 00:00:00 GMT"), ("date", "Sun, 28 Feb 2016 00:00:00 GMT")],
            Some(Duration::from_secs(2 * 86_400)),
        ),
        (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), ("date", "Sun, 06 Nov 1994 09:49:37 GMT")], Some(Duration::ZERO)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")], None),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "-3")], None),
        (&[], None),
    ];
    for (headers, expected) in cases {
        let look = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(Times::of(look).retry_after, *expected, "{headers:?}");
    }
    assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777), "the example of RFC 9110");
    for text in [
        "Sun, 06 Nov 18446744073709551615 08:49:37 GMT",
        "Sun, 06 Nov 1994 18446744073709551615:49:37 GMT",
        "Sun, 99 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(http_date(text), None, "{text}");
    }
}

/// Error bodies as providers send them, at the time 1,000,000.
#[test]
fn fields_of_errors_name_a_wait() {
    let check = |error: Value, seconds: Option<u64>| {
        assert_eq!(in_fields(error.as_object().unwrap(), Some(1_000_000)), seconds.map(Duration::from_secs), "{error}");
    };
    let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"});
    let quota = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "QUOTA_EXHAUSTED", "metadata": {"quotaResetDelay": "13h20m5s"}});
    check(json!({"type": "usage_limit_reached", "plan_type": "plus", "resets_at": 1_011_000, "resets_in_seconds": 10_999}), Some(10_999));
    check(json!({"type": "usage_limit_reached", "resets_at": 1_011_000}), Some(11_000));
    check(json!({"type": "rate_limit_error", "message": "limit", "resets_at": "1970-01-12T17:46:40Z"}), Some(14_400));
    check(json!({"type": "rate_limit_error", "retry_after": "900"}), Some(900));
    check(json!({"code": 429, "details": [{"@type": "type.googleapis.com/google.rpc.Help"}, retry]}), Some(37));
    check(json!({"code": 429, "details": [quota]}), Some(48_005));
    check(json!({"code": 429, "details": [{"metadata": {"quotaResetTimeStamp": "1970-01-12T13:46:41.5Z"}}]}), Some(1));
    check(json!({"code": 429, "metadata": {"headers": {"X-RateLimit-Reset": "1000060000000"}}}), Some(999_060_000));
    check(json!({"code": 429, "metadata": {"raw": "slow down"}}), None);
    check(json!({"resets_at": "soon", "retry_after": null, "details": "none"}), None);
    let without_date = json!({"resets_at": 1_011_000});
    assert_eq!(in_fields(without_date.as_object().unwrap(), None), None, "no clock is read");
}

#[test]
fn words_name_a_wait() {
    let check = |message: &str, seconds: Option<f64>| {
        assert_eq!(in_words(message, Some(1_000_000)), seconds.map(Duration::from_secs_f64), "{message}");
    };
    check("Limit 3, Used 3. Please try again in 20ms.", Some(0.02));
    check("Please try again in 6m0s. Visit the docs", Some(360.0));
    check("You have exhausted your capacity on this model. Your quota will reset after 3h20m5s.", Some(12_005.0));
    check("Try again in 5 hours 3 minutes.", Some(18_180.0));
    check("usage limit, resets in 2 days, ask your admin", Some(172_800.0));
    check("Claude AI usage limit reached|1000900", Some(900.0));
    check("try again in a while", None);
    check("try again later", None);
}

#[test]
fn spans_have_units() {
    for (text, milliseconds) in
        [("6m0s", 360_000), ("1.5s", 1_500), ("20ms", 20), ("2m", 120_000), ("1d2h3m4s", 93_784_000), ("46800s", 46_800_000)]
    {
        assert_eq!(span(text), Some(Duration::from_millis(milliseconds)), "{text}");
    }
    for text in ["later", "", "5", "s", "1x", "1..5s", "999999999999999999999d"] {
        assert_eq!(span(text), None, "{text}");
    }
}
