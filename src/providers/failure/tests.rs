//! Error responses in the words of real servers.

use chrono::TimeZone;
use reqwest::header::HeaderValue;

use super::error_body::LOADING;
use super::*;
use crate::providers::RequestOverflow;

fn site() -> RequestTarget {
    let http = HttpTarget {
        server: "http://localhost:8000/v1".into(),
        key: Some("sk-very-secret".into()),
        ..HttpTarget::default()
    };
    RequestTarget { http, model: "qwen".into(), keep_alives: None }
}

fn refused(status: u16, body: &str) -> ProviderError {
    refused_with(status, &[], body)
}

fn refused_with(status: u16, headers: &[(&'static str, &str)], body: &str) -> ProviderError {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, HeaderValue::from_str(value).unwrap());
    }
    let now = Utc.with_ymd_and_hms(2026, 11, 1, 12, 0, 0).unwrap();
    of_response(&site(), status, &map, body, now)
}

#[test]
fn a_delay_in_the_body_is_honoured() {
    let body = |quota: &str| {
        format!(
            r#"{{"error":{{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan.","details":[{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{{"quotaId":"{quota}"}}]}},{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}}]}}}}"#
        )
    };
    let wait = Duration::from_secs_f64(34.4);
    let by_minute = body("GenerateRequestsPerMinutePerProject");
    assert_eq!(refused(429, &by_minute).recovery, ErrorRecovery::RetryAfter(wait));
    assert_eq!(of_stream(&site(), &by_minute).recovery, ErrorRecovery::RetryAfter(wait));
    let header = refused_with(429, &[("retry-after", "2")], &by_minute);
    assert_eq!(header.recovery, ErrorRecovery::RetryAfter(Duration::from_secs(2)));
    let by_day = body("GenerateRequestsPerDayPerProject");
    assert_eq!(refused(429, &by_day).recovery, ErrorRecovery::AskUser);
}

#[test]
fn a_model_that_takes_no_images_is_known_in_all_wordings() {
    let table = [
        (
            500,
            r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 2"}}"#,
        ),
        (404, r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#),
        (400, r#"{"object":"error","message":"test-model is not a multimodal model","code":400}"#),
        (
            400,
            r#"{"object":"error","message":"At most 0 image(s) may be provided in one prompt.","code":400}"#,
        ),
    ];
    for (status, body) in table {
        let error = refused(status, body);
        assert_eq!(error.recovery, ErrorRecovery::LeaveImagesOut, "{body}");
        assert!(error.message.contains("does not accept images"), "{}", error.message);
    }
}

#[test]
fn a_conversation_that_is_too_long_is_known_in_all_wordings() {
    let table = [
        (
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"The decoder prompt (length 9) is longer than the maximum model length of 8","code":400}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request (2009 tokens) exceeds the available context size (512 tokens), try increasing it","n_ctx":512,"type":"exceed_context_size_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"prompt too long; exceeded max context length by 12 tokens"}}"#,
        ),
        (
            400,
            r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096"}"#,
        ),
        (
            400,
            r#"{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}"#,
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000"}}"#,
        ),
        (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}]"#,
        ),
    ];
    for (status, body) in table {
        let error = refused(status, body);
        assert!(matches!(error.recovery, ErrorRecovery::Compact(_)), "{body}\n{error}");
        assert!(!error.message.contains("/compact"), "slug compacts by itself before: {error}");
    }
}

#[test]
fn the_window_is_taken_from_the_errors_that_name_it() {
    let table = [
        (
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","n_ctx":4096,"type":"exceed_context_size_error"}}"#,
            Some(4_096),
        ),
        (
            r#"{"error":{"code":400,"message":"request (2009 tokens) exceeds the available context size (512 tokens), try increasing it"}}"#,
            Some(512),
        ),
        (
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens"}}"#,
            Some(8_192),
        ),
        (
            r#"{"object":"error","message":"The decoder prompt (length 90) is longer than the maximum model length of 80","code":400}"#,
            Some(80),
        ),
        (
            r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096"}"#,
            Some(4_096),
        ),
        (r#"{"error":{"message":"n_keep: 5000 >= n_ctx: 4096"}}"#, Some(4_096)),
        (
            r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            Some(200_000),
        ),
        (
            r#"{"error":{"message":"prompt too long; exceeded max context length by 12 tokens"}}"#,
            None,
        ),
        (r#"{"error":{"message":"Your input exceeds the context window of this model."}}"#, None),
    ];
    for (body, window) in table {
        let overflow = refused(400, body).overflow();
        assert_eq!(overflow.unwrap().window, window, "{body}");
    }
}

#[test]
fn the_length_of_the_prompt_is_taken_from_the_errors_that_name_it() {
    let table = [
        (
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5021,"n_ctx":4096}}"#,
            Some(5_021),
        ),
        (
            r#"{"error":{"code":400,"message":"request (2009 tokens) exceeds the available context size (512 tokens), try increasing it"}}"#,
            Some(2_009),
        ),
        (
            r#"{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 5038 tokens. Please reduce the length of the messages."}}"#,
            Some(5_038),
        ),
        (
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).","code":400}"#,
            Some(4_500),
        ),
        (
            r#"{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 6000 input tokens (4096 > 8192 - 6000).","code":400}"#,
            Some(6_000),
        ),
        (
            r#"{"object":"error","message":"The decoder prompt (length 90) is longer than the maximum model length of 80","code":400}"#,
            Some(90),
        ),
        (
            r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            Some(210_000),
        ),
        (
            r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}]"#,
            Some(9),
        ),
        (
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens"}}"#,
            None,
        ),
        (r#"{"error":{"message":"Your input exceeds the context window of this model."}}"#, None),
    ];
    for (body, prompt) in table {
        let overflow = refused(400, body).overflow();
        assert_eq!(overflow.unwrap().prompt, prompt, "{body}");
    }
}

#[test]
fn each_error_response_gets_its_recovery() {
    use ErrorRecovery::{AskUser, DescribeTools, GiveUp, Retry};
    let table = [
        (401, r#"{"error":"Unauthorized"}"#, AskUser, "rejects the key"),
        (401, r#"{"detail":"Invalid API Key"}"#, AskUser, "rejects the key"),
        (403, r#"{"error":{"code":"forbidden","message":"Forbidden"}}"#, AskUser, "api_key"),
        (
            400,
            r#"{"code":"invalid-argument","error":"Incorrect API key provided."}"#,
            AskUser,
            "rejects the key",
        ),
        (
            404,
            r#"{"error":{"code":"model_not_found","message":"The model `x` does not exist"}}"#,
            AskUser,
            "/model",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"gpt-x is not a valid model ID"}}"#,
            AskUser,
            "/model",
        ),
        (404, r#"{"error":"Specified model not found: x"}"#, AskUser, "/model"),
        (404, r#"{"detail":"Not Found"}"#, AskUser, "/v1"),
        (405, "", AskUser, "/v1"),
        (402, r#"{"error":{"message":"Insufficient credits"}}"#, AskUser, "credit"),
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            AskUser,
            "credit",
        ),
        (429, r#"{"error":{"message":"slow down"}}"#, Retry, "slow down"),
        (500, r#"{"error":{"message":"boom"}}"#, Retry, "boom"),
        (502, "<html><title>502 Bad Gateway</title></html>", Retry, "502 Bad Gateway"),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Retry,
            "Overloaded",
        ),
        (408, "", Retry, "408"),
        (
            500,
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
            DescribeTools,
            "--jinja.",
        ),
        (
            400,
            r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}"#,
            DescribeTools,
            "Start vLLM with",
        ),
        (
            400,
            r#"{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error","param":null,"code":null}}"#,
            DescribeTools,
            "does not support tools.",
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}"#,
            DescribeTools,
            "support tool use",
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"Failed to parse tool call arguments as JSON: x","type":"server_error"}}"#,
            GiveUp,
            "conversation",
        ),
        (400, r#"{"error":{"message":"Invalid 'temperature'"}}"#, GiveUp, "temperature"),
        (
            422,
            r#"{"detail":[{"loc":["body"],"msg":"Field required"},{"msg":"Extra inputs"}]}"#,
            GiveUp,
            "Field required; Extra inputs",
        ),
        (
            400,
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"real reason\"}}"}}}"#,
            GiveUp,
            "real reason",
        ),
        (302, "", AskUser, "does not follow"),
    ];
    for (status, body, recovery, says) in table {
        let error = refused(status, body);
        assert_eq!(error.recovery, recovery, "{status} {body}\n{error}");
        assert!(error.message.contains(says), "{status} {body}\n{error}");
        assert_eq!(error.status, Some(status));
    }
}

#[test]
fn a_server_that_still_loads_is_asked_again_soon() {
    let error = refused(
        503,
        r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
    );
    assert_eq!(error.recovery, ErrorRecovery::RetryAfter(LOADING));
}

#[test]
fn the_wait_that_a_server_asks_for_is_read_in_all_forms() {
    let seconds = |s: f64| ErrorRecovery::RetryAfter(Duration::from_secs_f64(s));
    let table: &[(&[(&'static str, &str)], ErrorRecovery)] = &[
        (&[("retry-after", "7")], seconds(7.0)),
        (&[("retry-after", "1.5")], seconds(1.5)),
        (&[("retry-after-ms", "250"), ("retry-after", "1")], seconds(0.25)),
        (&[("retry-after-ms", "0"), ("retry-after", "1")], ErrorRecovery::Retry),
        (&[("retry-after", "Sun, 01 Nov 2026 12:00:30 GMT")], seconds(30.0)),
        (&[("retry-after", "Sun, 01 Nov 2026 11:00:00 GMT")], ErrorRecovery::Retry),
        (&[("retry-after", "soon")], ErrorRecovery::Retry),
        (&[("retry-after", "-1")], ErrorRecovery::Retry),
        (&[], ErrorRecovery::Retry),
    ];
    for (headers, expected) in table {
        assert_eq!(refused_with(429, headers, "{}").recovery, *expected, "{headers:?}");
    }
}

#[test]
fn the_server_may_say_whether_to_try_again() {
    let no = [("x-should-retry", "false")];
    let yes = [("x-should-retry", "true")];
    assert_eq!(refused_with(500, &no, "{}").recovery, ErrorRecovery::GiveUp);
    assert_eq!(refused_with(400, &yes, "{}").recovery, ErrorRecovery::Retry);
}

#[test]
fn an_error_within_an_answer_is_transient_unless_it_says_otherwise() {
    let table = [
        (r#"{"error":{"message":"boom"}}"#, ErrorRecovery::Retry, None),
        (r#"{"error":{"message":"gone","code":502}}"#, ErrorRecovery::Retry, Some(502)),
        (r#"{"error":{"message":"bad","code":400}}"#, ErrorRecovery::GiveUp, Some(400)),
        (
            r#"{"error":{"message":"x","code":"tool_use_failed","status_code":400}}"#,
            ErrorRecovery::Retry,
            Some(400),
        ),
        (
            r#"{"error":{"message":"prompt is too long"}}"#,
            ErrorRecovery::Compact(RequestOverflow::default()),
            None,
        ),
        ("plain words", ErrorRecovery::Retry, None),
        ("<!doctype html><title>Log in</title>", ErrorRecovery::AskUser, None),
    ];
    for (payload, recovery, status) in table {
        let error = of_stream(&site(), payload);
        assert_eq!((error.recovery, error.status), (recovery, status), "{payload}");
    }
}

#[test]
fn shown_server_text_is_short_and_harmless() {
    let body = format!("\u{1b}[31mred\u{7}\n\nsk-very-secret {}", "x".repeat(70_000));
    let error = refused(400, &body);
    assert!(error.message.chars().count() < 700);
    assert!(!error.message.contains(char::is_control), "{error}");
    assert!(error.message.contains("[31mred [the key] xxx"), "{error}");
    assert!(!error.message.contains("secret"), "{error}");
}
