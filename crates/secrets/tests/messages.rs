//! Masking of HTTP headers and paths.

use reenact_secrets::{MessageSide, Redactor, RulePack, http};

fn headers(side: MessageSide, given: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut redactor = Redactor::new(RulePack::standard());
    redactor.masked_headers(side, given.iter().map(|(name, value)| (*name, value.as_bytes())))
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn of_a_request_what_bears_on_the_answer_is_kept() {
    let kept = headers(
        MessageSide::Request,
        &[
            ("Host", "127.0.0.1:8080"),
            ("Content-Type", "application/json"),
            ("Authorization", "Bearer made-up"),
            ("X-Api-Key", "made-up"),
            ("x-goog-api-key", "made-up-2"),
            ("anthropic-version", "2023-06-01"),
            ("X-Stainless-Lang", "python"),
            ("OpenAI-Organization", "acme"),
            ("Cookie", "a=1; session=made-up; flag"),
            ("X-Forwarded-For", "192.0.2.1"),
            ("X-Corp-Auth", "made-up"),
            ("Idempotency-Key", "stainless-retry-1"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ],
    );
    let expected = [
        ("content-type", "application/json"),
        ("authorization", "Bearer [masked:header:1]"),
        ("x-api-key", "[masked:header:1]"),
        ("x-goog-api-key", "[masked:header:2]"),
        ("anthropic-version", "2023-06-01"),
        ("x-stainless-lang", "python"),
        ("openai-organization", "[masked:account:1]"),
        ("cookie", "a=[masked:cookie:1]; session=[masked:cookie:2]; [masked:cookie:3]"),
        ("x-corp-auth", "[masked:header:1]"),
        ("idempotency-key", "stainless-retry-1"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ];
    assert_eq!(kept, pairs(&expected));
}

#[test]
fn of_an_answer_what_speaks_of_no_secret_is_kept() {
    let kept = headers(
        MessageSide::Answer,
        &[
            ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("anthropic-ratelimit-input-tokens-limit", "400000"),
            ("anthropic-organization-id", "f3b0c0de-0000-4000-8000-000000000000"),
            ("request-id", "req_011CSHoEeqs5C35K2UUqR7Fy"),
            ("retry-after-ms", "12"),
            ("set-cookie", "__cf_bm=made-up.value; path=/; HttpOnly"),
            ("x-session-token", "made-up"),
            ("openai-processing-ms", "420"),
            ("Location", "/v1/files/1?sig=made-up&page=2"),
            ("nel", "{}"),
        ],
    );
    let expected = [
        ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("anthropic-ratelimit-input-tokens-limit", "400000"),
        ("anthropic-organization-id", "[masked:account:1]"),
        ("request-id", "req_011CSHoEeqs5C35K2UUqR7Fy"),
        ("retry-after-ms", "12"),
        ("set-cookie", "__cf_bm=[masked:cookie:1]; path=/; HttpOnly"),
        ("x-session-token", "[masked:header:1]"),
        ("openai-processing-ms", "420"),
        ("location", "/v1/files/1?sig=[masked:parameter:1]&page=2"),
    ];
    assert_eq!(kept, pairs(&expected));
}

#[test]
fn a_value_that_is_not_text_shows_it() {
    let mut redactor = Redactor::new(RulePack::standard());
    let kept = redactor.masked_headers(MessageSide::Answer, [("x-name", &b"caf\xe9"[..])]);
    assert_eq!(kept, pairs(&[("x-name", "caf\u{fffd}")]));
}

#[test]
fn a_credential_that_is_known_keeps_its_rule() {
    let mut redactor = Redactor::new(RulePack::standard());
    redactor.add_known("environment", b"made-up-key");
    let kept = redactor.masked_headers(MessageSide::Request, [("authorization", &b"Bearer made-up-key"[..])]);
    assert_eq!(kept, pairs(&[("authorization", "Bearer [masked:environment:1]")]));
}

#[test]
fn credentials_are_the_values_alone() {
    let given: [(&str, &[u8]); 8] = [
        ("Authorization", b"Bearer one"),
        ("proxy-authorization", b"Basic dXNlcjpwYXNz"),
        ("X-API-Key", b"two"),
        ("api-key", b"two"),
        ("Cookie", b"a=three; b=four=4"),
        ("content-type", b"application/json"),
        ("x-api-key", b""),
        ("idempotency-key", b"five"),
    ];
    let found: Vec<String> =
        http::credentials(given).into_iter().map(|value| String::from_utf8(value).unwrap()).collect();
    assert_eq!(found, ["one", "dXNlcjpwYXNz", "user:pass", "pass", "two", "three", "four=4"]);
}

#[test]
fn paths_are_masked_by_name_and_by_rule() {
    let mut redactor = Redactor::new(RulePack::standard());
    let key = format!("AIza{}", "made_up-9".repeat(4).get(..35).unwrap());
    for (path, expected) in [
        ("/v1/messages?beta=true", "/v1/messages?beta=true"),
        (
            "/v1beta/models/gemini:generateContent?key=made-up&alt=sse",
            "/v1beta/models/gemini:generateContent?key=[masked:parameter:1]&alt=sse",
        ),
        (
            "/a?access_token=x;b=%2F&api%5Fkey=y&page_token=z",
            "/a?access_token=[masked:parameter:2];b=%2F&api%5Fkey=[masked:parameter:3]&page_token=z",
        ),
        ("/a?X-Amz-Signature=made-up&token=", "/a?X-Amz-Signature=[masked:parameter:1]&token="),
        (&format!("/files/{key}/x?y={key}"), "/files/[masked:google-key:1]/x?y=[masked:google-key:1]"),
        ("/a?key=[masked:parameter:1]", "/a?key=[masked:parameter:1]"),
        ("/cb?code=4f/0AX4xyz&session=made-up", "/cb?code=[masked:parameter:4]&session=[masked:parameter:1]"),
        ("/run?code=javascript", "/run?code=[masked:parameter:5]"),
        ("/lang/javascript?signature=made-up", "/lang/javascript?signature=[masked:parameter:1]"),
        ("*", "*"),
        ("", ""),
    ] {
        assert_eq!(redactor.masked_path(path), expected);
    }
}
