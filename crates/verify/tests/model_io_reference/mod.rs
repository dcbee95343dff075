//! The rules of Model IO once more, as a table over a parsed tree: slow, plain, and without the
//! verifier's code.

use std::collections::BTreeSet;

use reenact_json::Digest;
use serde_json::{Value as Json, json};

/// Rule, path and message of each violation, in order; and the hash of a session without any.
pub(crate) type Expected = (Vec<(String, String, String)>, Option<String>);

pub(crate) fn report_of(session: &Json) -> Expected {
    let mut found: Vec<(String, String, String)> = Vec::new();
    let mut add = |rule: &str, path: String, message: String| found.push((rule.into(), path, message));
    let Some(members) = session.as_object() else {
        let kind = if session.is_null() { "null" } else { type_of(Some(session)) };
        add("SCHEMA", "$".into(), format!("session must be object, got {kind}"));
        return (found, None);
    };
    let name = "model_io_schema_version";
    let version = match &session[name] {
        Json::Null => Some(format!("{name} is missing")),
        Json::String(text) if text.is_empty() => Some(format!("{name} cannot be empty")),
        Json::String(text) if is_version(text) => None,
        Json::String(text) => Some(format!("{name} must be semver format, got {}", cut(text))),
        other => Some(format!("{name} must be string, got {}", type_of(Some(other)))),
    };
    version.into_iter().for_each(|message| add("MI1", format!("$.{name}"), message));
    let mut has_shape = true;
    for name in [name, "adapter_id", "model_id", "mode", "interactions"] {
        if !members.contains_key(name) {
            has_shape = false;
            add("SCHEMA", format!("$.{name}"), format!("required field {name} is missing"));
        }
    }
    if members.get("interactions").is_some_and(|value| !value.is_array()) {
        has_shape = false;
        add("SCHEMA", "$.interactions".into(), "interactions must be an array".into());
    }
    if has_shape {
        rules(session, &mut add);
    }
    found.sort();
    let hash = found.is_empty().then(|| hash(session));
    (found, hash)
}

fn rules(session: &Json, add: &mut dyn FnMut(&str, String, String)) {
    for name in ["adapter_id", "model_id"] {
        if session[name].as_str().is_none_or(str::is_empty) {
            add("MI2", format!("$.{name}"), format!("{name} must be non-empty string"));
        }
    }
    if !["record", "replay"].map(Some).contains(&session["mode"].as_str()) {
        let mode = text(session.get("mode"));
        add("MI3", "$.mode".into(), format!("mode must be one of [record, replay], got {mode}"));
    }
    let all = session["interactions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.len() > 10_000 {
        let message = format!("interactions length ({}) exceeds limit (10000)", all.len());
        add("MI4", "$.interactions".into(), message);
    }
    let (mut seen, mut total) = (BTreeSet::new(), 0);
    for (n, one) in all.iter().enumerate() {
        let path = format!("$.interactions[{n}]");
        let member = |name: &str| one.as_object().and_then(|members| members.get(name));
        match member("i").and_then(Json::as_f64) {
            Some(index) if index == n as f64 => {}
            Some(_) => {
                add("MI5", format!("{path}.i"), format!("index must be {n}, got {}", text(member("i"))))
            }
            None => add(
                "MI5",
                format!("{path}.i"),
                format!("index must be a number, got {}", type_of(member("i"))),
            ),
        }
        if !is_hash(member("prompt_hash")) {
            let message =
                format!("prompt_hash must be sha256:<64 hex chars>, got {}", text(member("prompt_hash")));
            add("MI6", format!("{path}.prompt_hash"), message);
        }
        let (carried, content) = (member("response_hash"), member("response_content"));
        if !is_hash(carried) {
            let message = format!("response_hash must be sha256:<64 hex chars>, got {}", text(carried));
            add("MI7", format!("{path}.response_hash"), message);
        } else if let Some(Json::String(content)) = content {
            let computed = format!("sha256:{}", Digest::of(content.as_bytes()));
            if carried.and_then(Json::as_str) != Some(&computed) {
                let message = format!("response_hash mismatch: expected {computed}, got {}", text(carried));
                add("MI7", format!("{path}.response_hash"), message);
            }
        } else {
            let message = format!("response_content must be a string, got {}", type_of(content));
            add("MI7", format!("{path}.response_content"), message);
        }
        if !seen.insert(whole(member("prompt_hash")) + "|" + &whole(member("i"))) {
            add("MI8", path.clone(), format!("duplicate (prompt_hash, i) pair at index {n}"));
        }
        let before = n.checked_sub(1).and_then(|before| all[before].as_object()?.get("i"));
        if let (Some(a), Some(b)) = (before.and_then(Json::as_f64), member("i").and_then(Json::as_f64))
            && a >= b
        {
            let message = format!("interactions not sorted by i: {} >= {}", text(before), text(member("i")));
            add("MI9", path.clone(), message);
        }
        let bytes = content.and_then(Json::as_str).map_or(0, str::len);
        total += bytes;
        if bytes > 1_000_000 {
            let message = format!("response_content size ({bytes} bytes) exceeds limit (1000000)");
            add("MI11", format!("{path}.response_content"), message);
        }
    }
    if total > 100_000_000 {
        let message = format!("total response bytes ({total}) exceeds limit (100000000)");
        add("MI11", "$.interactions".into(), message);
    }
}

fn hash(session: &Json) -> String {
    let names = ["i", "prompt_hash", "response_hash", "response_content"];
    let one = |one: &Json| -> Json { names.iter().map(|name| (*name, one[name].clone())).collect() };
    let all = session["interactions"].as_array().into_iter().flatten();
    let core = json!({
        "model_io_schema_version": session["model_io_schema_version"], "adapter_id": session["adapter_id"],
        "model_id": session["model_id"], "mode": session["mode"], "interactions": all.map(one).collect::<Json>(),
    });
    format!("sha256:{}", Digest::of(&serde_json_canonicalizer::to_vec(&core).unwrap_or_default()))
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

fn is_hash(value: Option<&Json>) -> bool {
    let digits = value.and_then(Json::as_str).and_then(|text| text.strip_prefix("sha256:"));
    digits.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b"0123456789abcdef".contains(&b)))
}

fn type_of(value: Option<&Json>) -> &'static str {
    match value {
        None => "undefined",
        Some(Json::Bool(_)) => "boolean",
        Some(Json::Number(_)) => "number",
        Some(Json::String(_)) => "string",
        Some(_) => "object",
    }
}

fn whole(value: Option<&Json>) -> String {
    match value {
        None => "undefined".into(),
        Some(Json::String(text)) => text.clone(),
        Some(Json::Object(_)) => "[object Object]".into(),
        Some(Json::Array(list)) => {
            let each = |one: &Json| if one.is_null() { String::new() } else { whole(Some(one)) };
            list.iter().map(each).collect::<Vec<_>>().join(",")
        }
        Some(Json::Number(number)) => {
            serde_json_canonicalizer::to_string(&number.as_f64()).unwrap_or_default()
        }
        Some(other) => other.to_string(),
    }
}

fn text(value: Option<&Json>) -> String {
    cut(&whole(value))
}

/// Cuts a long text, the one place where the verifier's messages differ from those of the reference.
fn cut(text: &str) -> String {
    if text.len() <= 1_000 {
        return text.to_owned();
    }
    let end = (0..=1_000).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… ({} bytes)", &text[..end], text.len())
}
