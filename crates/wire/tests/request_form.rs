//! Forms of requests: what is not known is reported by its path, and tools and models are found wherever they stand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeSet;

use reenact_wire::request_form::{FormFindings, check, undated_tool};
use reenact_wire::{Endpoint, PROTOCOLS, VENDORS};

fn found(endpoint: Endpoint, body: &str) -> FormFindings {
    check(endpoint, body.as_bytes(), &BTreeSet::new())
}

#[test]
fn tools_that_a_request_has_its_vendor_run() {
    for (endpoint, body, expected) in [
        (Endpoint::CHAT_COMPLETIONS, r#"{"tools":[{"type":"function","function":{"name":"x"}}]}"#, vec![]),
        (Endpoint::CHAT_COMPLETIONS, r#"{"web_search_options":{}}"#, vec!["web_search"]),
        (Endpoint::CHAT_COMPLETIONS, r#"{"web_search_options":null}"#, vec![]),
        (
            Endpoint::RESPONSES,
            r#"{"tools":[{"type":"function","name":"x"},{"type":"web_search_preview"},{"type":"mcp","server_label":"git"},{"type":"custom","name":"y"},{"type":"local_shell"},{"type":"code_interpreter","container":{}}]}"#,
            vec!["web_search_preview", "mcp:git", "code_interpreter"],
        ),
        (Endpoint::RESPONSES, r#"{"prompt":{"id":"pmpt_1","version":"2"}}"#, vec!["prompt:pmpt_1"]),
        (Endpoint::RESPONSES, r#"{"prompt":null}"#, vec![]),
        (Endpoint::RESPONSES, r#"{"prompt":7}"#, vec!["prompt:"]),
        (
            Endpoint::MESSAGES,
            r#"{"tools":[{"name":"x","input_schema":{}},{"type":"custom","name":"y"},{"type":"bash_20250124","name":"bash"},{"type":"web_search_20250305","name":"web_search"},{"type":"code_execution_20250825"}],"mcp_servers":[{"type":"url","name":"git"}]}"#,
            vec!["web_search_20250305", "code_execution_20250825", "mcp:git"],
        ),
        (Endpoint::GENERATE_CONTENT, r#"{"tools":[{"functionDeclarations":[{"name":"a"}]}]}"#, vec![]),
        (
            Endpoint::GENERATE_CONTENT,
            r#"{"tools":[{"function_declarations":[]},{"google_search":{}}]}"#,
            vec!["googleSearch"],
        ),
        (
            Endpoint::GENERATE_CONTENT,
            r#"{"tools":[{"computerUse":{"environment":"ENVIRONMENT_BROWSER"}}]}"#,
            vec![],
        ),
        (Endpoint::GENERATE_CONTENT, r#"{"tools":{"never heard of":1}}"#, vec!["never heard of"]),
        (Endpoint::GENERATE_CONTENT, r#"{"cached_content":7}"#, vec!["cachedContent:"]),
    ] {
        let found = found(endpoint, body);
        assert_eq!((found.vendor_tools, found.unknown), (vec_of(&expected), vec![]), "{body}");
    }
}

fn vec_of(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn paths_of_unknown_forms() {
    let endpoint = Endpoint::CHAT_COMPLETIONS;
    for (body, expected) in [
        (r#"{"a":1,"a\u0062":[]}"#, vec!["$.a", "$.ab"]),
        (r#"{"":1,"a b":1,"c'd\u202e":1}"#, vec!["$['']", "$['a b']", "$['c\\u{27}d\\u{202e}']"]),
        (r#"{"messages":{"role":"user"}}"#, vec!["$.messages"]),
        (r#"{"messages":[[]],"tools":"all"}"#, vec!["$.messages[]", "$.tools"]),
        (
            r#"{"messages":[{"role":["user"]},{"role":null}]}"#,
            vec!["$.messages[].role='an array'", "$.messages[].role="],
        ),
        (
            r#"{"tools":[{"type":7},{"type":{}}]}"#,
            vec!["$.tools[].type='a number'", "$.tools[].type='an object'"],
        ),
        ("[]", vec!["$"]),
        ("7", vec!["$"]),
        ("{", vec!["$"]),
        ("", vec!["$"]),
        ("{} {}", vec!["$"]),
        (r#"{"x":null,"messages":null}"#, vec![]),
    ] {
        assert_eq!(found(endpoint, body).unknown, expected, "{body}");
    }
}

#[test]
fn findings_are_bounded() {
    let many: String = (0..100).map(|number| format!(r#","m{number}":1"#)).collect();
    let body = format!(r#"{{"model":"m"{many}}}"#);
    assert_eq!(found(Endpoint::CHAT_COMPLETIONS, &body).unknown.len(), FormFindings::MAX_UNKNOWN);
    // A path that is cut cannot be allowed: it would stand for others, too.
    let body = format!(r#"{{"{}":1}}"#, "x".repeat(5000));
    let unknown = found(Endpoint::CHAT_COMPLETIONS, &body).unknown;
    assert!(unknown[0].len() < 310 && unknown[0].ends_with('…'), "{unknown:?}");
    let again = check(Endpoint::CHAT_COMPLETIONS, body.as_bytes(), &unknown.iter().cloned().collect());
    assert_eq!(again.unknown, unknown);
    // Definitions within definitions end somewhere.
    let deep = format!(r#"{{"tools":[{}{}]}}"#, r#"{"type":"t","tools":["#.repeat(100), "]}".repeat(100));
    assert_eq!(found(Endpoint::RESPONSES, &deep).vendor_tools.len(), 8);
    let unknown = found(Endpoint::RESPONSES, &deep).unknown;
    assert_eq!(unknown.len(), 1);
    let again = check(Endpoint::RESPONSES, deep.as_bytes(), &unknown.iter().cloned().collect());
    assert_eq!(again.unknown, unknown, "what nobody looked into cannot be allowed");
}

/// A definition whose type is no text may be allowed by its path; tools inside are still found.
#[test]
fn a_definition_of_an_odd_type_hides_nothing() {
    let body = r#"{"tools":[{"type":7,"tools":[{"type":"web_search"}]}]}"#;
    let allowed = ["$.tools[].type='a number'".to_owned()].into();
    let found = check(Endpoint::RESPONSES, body.as_bytes(), &allowed);
    assert_eq!((found.unknown, found.vendor_tools), (vec![], vec!["web_search".to_owned()]));
}

/// With more unknown forms than are reported, allowing those that are reported does not let the others pass.
#[test]
fn allowing_some_forms_does_not_allow_others() {
    let many: String = (0..20).map(|number| format!(r#","m{number}":1"#)).collect();
    let body = format!(r#"{{"model":"m"{many}}}"#);
    let allowed: BTreeSet<String> = (0..19).map(|number| format!("$.m{number}")).collect();
    let found = check(Endpoint::CHAT_COMPLETIONS, body.as_bytes(), &allowed);
    assert_eq!((found.unknown, found.allowed.len()), (vec!["$.m19".to_owned()], FormFindings::MAX_UNKNOWN));
}

#[test]
fn dates_at_the_ends_of_types() {
    assert_eq!(undated_tool("web_search_20250305"), Some("web_search"));
    assert_eq!(undated_tool("web_search_2025_08_26"), Some("web_search"));
    for name in
        ["web_search", "", "_", "20250305", "x_2025030", "x_202503051", "mcp:x_20250305", "x_2025_8_26"]
    {
        assert_eq!(undated_tool(name), None, "{name}");
    }
}

#[test]
fn every_interface_that_calls_a_model_knows_some_forms_and_not_all() {
    for endpoint in PROTOCOLS {
        assert_eq!(
            found(endpoint, r#"{"no such member":1}"#).unknown,
            ["$['no such member']"],
            "{endpoint:?}"
        );
        // Those that count the tokens of a request know what stands in it.
        let has_tools = endpoint.can_ask_for_tools()
            || VENDORS.iter().any(|vendor| endpoint.is_free_at(*vendor)) && endpoint != Endpoint::MODERATIONS;
        assert_eq!(found(endpoint, r#"{"tools":[]}"#).unknown.is_empty(), has_tools, "{endpoint:?}");
    }
}

/// Sound and pictures are embedded for more than text, and no list price says how much more.
#[test]
fn only_text_is_embedded() {
    let of = |part: &str| {
        found(Endpoint::EMBED_CONTENT, &format!(r#"{{"content":{{"parts":[{part}]}}}}"#)).unknown
    };
    assert!(of(r#"{"text":"a"}"#).is_empty());
    assert_eq!(of(r#"{"inlineData":{"data":""}}"#), ["$.content.parts[].inlineData"]);
    assert_eq!(of(r#"{"file_data":{"fileUri":""}}"#), ["$.content.parts[].file_data"]);
}
