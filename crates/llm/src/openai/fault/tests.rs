use super::*;

const ASKED: FaultSource<'_> = FaultSource { url: "http://host/v1", setting: Some("base_url"), model: "m", key: "sk-secret" };

/// Returns the refusal that a status and body express about the request's form.
pub(in crate::openai) fn refusal_of(status: u16, body: &Value) -> Option<Refusal> {
    from_http(ASKED, status, Times::default(), body.to_string().as_bytes()).refusal.map(|refusal| *refusal)
}

fn kind(error: &ModelError) -> &'static str {
    match error {
        ModelError::Unauthorized { .. } => "unauthorized",
        ModelError::NoSuchModel { .. } => "no model",
        ModelError::ContextOverflow { .. } => "overflow",
        ModelError::RateLimited { .. } => "limited",
        ModelError::Refused { .. } => "refused",
        ModelError::Server { .. } => "server",
        _ => "other",
    }
}

#[test]
fn statuses_and_bodies_of_many_servers() {
    let cases: &[(u16, &str, &str, &str)] = &[
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-secret.","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            "unauthorized",
            "[key]",
        ),
        (401, "", "unauthorized", "no or a wrong key"),
        (403, r#"{"error":"forbidden here"}"#, "unauthorized", "forbidden here"),
        (402, r#"{"error":{"message":"Insufficient Balance","code":"invalid_request_error"}}"#, "unauthorized", "Balance"),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist or you do not have access to it.","code":"model_not_found"}}"#,
            "no model",
            "does not exist",
        ),
        (404, r#"{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}"#, "no model", "pulling"),
        (
            404,
            r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
            "no model",
            "exist",
        ),
        (400, r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}"#, "no model", "Not Exist"),
        (400, r#"{"error":{"message":"x is not a valid model ID","code":400}}"#, "no model", "valid model"),
        (404, "<html><head><title>404 Not Found</title></head></html>", "refused", "/v1"),
        (404, "404 page not found", "refused", "base_url"),
        (400, r#"{"error":{"message":"response_format json_schema is not available for this model"}}"#, "refused", "json_schema"),
        (400, r#"{"error":{"message":"The model `x` does not exist."}}"#, "no model", "does not exist"),
        (400, r#"{"error":{"message":"this model has no tool calls: tool ls not found"}}"#, "refused", "tool ls"),
        (405, r#"{"detail":"Method Not Allowed"}"#, "refused", "Method Not Allowed"),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
            "overflow",
            "8192",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            "overflow",
            "exceeds",
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}]"#,
            "overflow",
            "input token",
        ),
        (400, r#"{"error":{"message":"prompt is too long: 213000 tokens > 200000 maximum"}}"#, "overflow", "213000"),
        (413, r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM)"}}"#, "overflow", "TPM"),
        (500, r#"{"error":{"message":"context length exceeded"}}"#, "overflow", "context"),
        (429, r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#, "limited", "Rate limit"),
        (429, r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#, "unauthorized", "quota"),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#,
            "unauthorized",
            "(402): Your credit balance",
        ),
        (400, r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***le."}"#, "unauthorized", "(401)"),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
            "unauthorized",
            "(401): API key not valid",
        ),
        (
            400,
            r#"{"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","param":null,"code":"billing_hard_limit_reached"}}"#,
            "unauthorized",
            "(402)",
        ),
        (400, r#"{"error":{"message":"Insufficient account balance, please recharge"}}"#, "unauthorized", "(402)"),
        (400, r#"{"error":{"message":"Your quota is insufficient"}}"#, "unauthorized", "(402)"),
        (
            429,
            r#"{"error":{"message":"Your account is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}"#,
            "unauthorized",
            "(429)",
        ),
        (429, r#"{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}"#, "unauthorized", "(429)"),
        (429, r#"{"error":{"code":"1302","message":"Rate limit reached for requests"}}"#, "limited", "Rate limit"),
        (
            429,
            r#"{"error":{"message":"Your account is not active","type":"billing_not_active","code":"billing_not_active"}}"#,
            "unauthorized",
            "(429)",
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}"#,
            "limited",
            "current quota",
        ),
        (429, r#"{"error":{"message":"Insufficient quota of tokens per minute, try again in 7s"}}"#, "limited", "per minute"),
        // Words of an account in the refusal of a parameter, or far from one another, mean something else.
        (
            400,
            r#"{"error":{"message":"insufficient quota for 'max_tokens'","type":"invalid_request_error","param":"max_tokens"}}"#,
            "refused",
            "max_tokens",
        ),
        (400, r#"{"error":{"message":"insufficient permission to use the tool that shows the balance"}}"#, "refused", "permission"),
        (400, r#"{"error":{"message":"api_key is not a valid parameter of the tool"}}"#, "refused", "api_key"),
        (400, r#"{"error":{"message":"Invalid schema for function 'insufficient_balance_alert'"}}"#, "refused", "schema"),
        (500, r#"{"error":{"message":"insufficient disk quota"}}"#, "server", "disk"),
        (
            400,
            r#"{"code":"invalid-argument","error":"This model's maximum prompt length is 131072 but the request contains 137531 tokens."}"#,
            "overflow",
            "131072",
        ),
        (
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}"#,
            "overflow",
            "262144",
        ),
        (
            400,
            r#"{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"}}"#,
            "overflow",
            "129024",
        ),
        (400, r#"{"error":{"code":"invalid_parameter_error","message":"Range of max_tokens should be [1, 32768]"}}"#, "refused", "32768"),
        (400, r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#, "overflow", "max length"),
        (400, r#"{"error":{"code":"1261","message":"Prompt 超长"}}"#, "overflow", "Prompt"),
        (
            400,
            r#"{"object":"error","message":"The decoder prompt (length 40000) is longer than the maximum model length of 32768."}"#,
            "overflow",
            "32768",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 199990 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            "overflow",
            "200000",
        ),
        (429, r#"{"code":"rate-limit","error":"slow"}"#, "limited", "slow"),
        (429, "slow down", "limited", "slow down"),
        (429, "", "limited", "too many requests"),
        (400, r#"{"error":{"message":"Bad thing","code":7}}"#, "refused", "Bad thing"),
        (
            422,
            r#"{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error"}]}"#,
            "refused",
            "messages: field required",
        ),
        (418, "", "refused", "no reason"),
        (307, "", "refused", "no reason"),
        (501, r#"{"error":{"code":501,"message":"This server does not support tools."}}"#, "refused", "tools"),
        (408, "", "server", "no reason"),
        (500, "oops", "server", "oops"),
        (500, r#"{"error":{"code":500,"message":"failed to parse grammar","type":"server_error"}}"#, "refused", "(500)"),
        (500, r#"{"errors":[{"message":"boom"}]}"#, "server", "boom"),
        (502, "<html><title>502 Bad Gateway</title></html>", "server", "502 Bad Gateway"),
        (502, "<html></html>", "server", "a web page"),
        (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, "server", "Loading model"),
        (524, "error code: 524", "server", "524"),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "server", "Overloaded"),
        (
            500,
            r#"{"error":{"message":"Provider returned error","code":500,"metadata":{"raw":"the GPU burns"}}}"#,
            "server",
            "the GPU burns",
        ),
    ];
    for (status, body, expected, words) in cases {
        let fault = from_http(ASKED, *status, Times::default(), body.as_bytes());
        assert_eq!(kind(&fault.error), *expected, "{status} {body}");
        let shown = fault.error.to_string();
        assert!(shown.contains(words), "{status} {body}: {shown}");
        assert!(!shown.contains("sk-secret"), "{shown}");
    }
}

#[test]
fn errors_inside_a_good_answer() {
    let cases = [
        (r#"{"error":{"message":"slow","code":429}}"#, Some("limited")),
        (r#"{"error":{"message":"slow","type":"rate_limit_exceeded"}}"#, Some("limited")),
        (r#"{"error":{"message":"down","type":"server_error"}}"#, Some("server")),
        (r#"{"error":{"message":"bad key","type":"authentication_error"}}"#, Some("unauthorized")),
        (r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, Some("refused")),
        (r#"{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"spent"}}}"#, Some("unauthorized")),
        (r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}"#, Some("limited")),
        (r#"{"type":"error","code":"insufficient_quota","message":"spent","param":null}"#, Some("unauthorized")),
        (r#"{"error":{"message":"spent","type":"invalid_request_error","code":"insufficient_quota"}}"#, Some("unauthorized")),
        (r#"{"type":"error","error":{"type":"billing_error","message":"pay"}}"#, Some("unauthorized")),
        (r#"{"type":"error","error":{"type":"request_too_large","message":"long"}}"#, Some("overflow")),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#, Some("server")),
        (r#"{"code":"insufficient_quota","error":"spent"}"#, Some("unauthorized")),
        (r#"{"code":429,"error":"slow"}"#, Some("limited")),
        (r#"{"error":{"code":"1008","message":"insufficient balance"}}"#, Some("unauthorized")),
        (r#"{"error":"out of memory"}"#, Some("server")),
        (r#"{"object":"error","message":"gone wrong","code":40303}"#, Some("server")),
        (r#"{"type":"error","message":"gone wrong"}"#, Some("server")),
        (r#"{"error":null,"choices":[]}"#, None),
        (r#"{"error":"","choices":[]}"#, None),
        (r#"{"choices":[]}"#, None),
        ("[]", None),
    ];
    for (answer, expected) in cases {
        let fault = from_answer(ASKED, &serde_json::from_str(answer).unwrap());
        assert_eq!(fault.map(|fault| kind(&fault.error)), expected, "{answer}");
    }
}

#[test]
fn long_words_are_bounded() {
    let fault = from_http(ASKED, 500, Times::default(), "ä\n".repeat(10_000).as_bytes());
    assert!(fault.error.to_string().chars().count() < 700);
}

#[test]
fn only_refusals_of_the_form_teach() {
    let refused = |status, body: &str| from_http(ASKED, status, Times::default(), body.as_bytes()).refusal;
    let body = r#"{"error":{"message":"Unsupported parameter","param":"temperature"}}"#;
    assert_eq!(refused(400, body).unwrap().param, "temperature");
    assert!(refused(401, body).is_none());
    assert!(refused(429, body).is_none());
    assert!(refused(503, body).is_none());
    let afford = |tokens: u32| format!(r#"{{"error":{{"message":"fewer max_tokens. You can only afford {tokens}.","code":402}}}}"#);
    assert!(refused(402, &afford(1_024)).is_some());
    assert!(refused(402, &afford(1_023)).is_none());
    assert!(refused(402, body).is_none());
}
