//! A second verifier, written from the text of the draft with other libraries, must agree with this
//! one.
//!
//! It shares nothing with the crates `json` and `formats`: serde_json reads, serde_json_canonicalizer
//! writes, sha2 hashes. Thousands of artifacts, each with some values changed, are verified by both,
//! and all seven checks must agree. Where the draft is silent or contradicts itself, both follow the
//! same rulings.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;

use ed25519_dalek::{Signature, VerifyingKey};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use reenact_formats::rer::seal::Signer as _;
use reenact_testkit::fixture::TestKey;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use support::{report_of, tricky_artifact, vector};

/// The seven checks of §7.1, written as plainly as possible.
mod reference {
    use super::*;

    pub(super) fn verify(artifact: &Json, key: &[u8; 32]) -> [bool; 7] {
        let Some(artifact) = artifact.as_object() else { return [false; 7] };
        let empty = Map::new();
        let envelope = artifact.get("envelope").and_then(Json::as_object);
        let unsigned = envelope.and_then(|envelope| canonical(&without(envelope, &["signature"])));
        let envelope_hash = unsigned.as_deref().map(sha256);
        let events = artifact.get("events").and_then(Json::as_array);
        let last = events.and_then(|events| events.last());
        let key = confirmed(artifact.get("runtime"), key);
        let signature = envelope.unwrap_or(&empty).get("signature");
        [
            shape::artifact(artifact),
            envelope_hash.is_some() && text(artifact.get("envelope_hash")) == envelope_hash.as_deref(),
            signed(key, unsigned.as_deref(), signature),
            events.is_some_and(|events| chain(events)),
            // Compares two carried values.
            last.is_some_and(|last| {
                let head = text(artifact.get("log_head_hash"));
                head.is_some() && head == text(last.get("event_hash"))
            }),
            signed(key, header(artifact, envelope_hash, last).as_deref(), artifact.get("runtime_signature")),
            events.is_some_and(|events| events.iter().all(payload)),
        ]
    }

    fn text(value: Option<&Json>) -> Option<&str> {
        value.and_then(Json::as_str)
    }

    fn sha256(bytes: &[u8]) -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn without(object: &Map<String, Json>, names: &[&str]) -> Json {
        object
            .iter()
            .filter(|(name, _)| !names.contains(&name.as_str()))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect()
    }

    /// Returns the canonical form of RFC 8785; `None` if a whole number would be rounded.
    pub(super) fn canonical(value: &Json) -> Option<Vec<u8>> {
        let exact = match value {
            Json::Number(number) if !number.is_f64() => {
                serde_json_canonicalizer::to_string(value).is_ok_and(|text| text == number.to_string())
            }
            Json::Array(list) => list.iter().all(|item| canonical(item).is_some()),
            Json::Object(members) => members.values().all(|item| canonical(item).is_some()),
            _ => true,
        };
        exact.then(|| serde_json_canonicalizer::to_vec(value).ok()).flatten()
    }

    /// Returns the key if it is the one that the artifact names (§6.5).
    fn confirmed(runtime: Option<&Json>, key: &[u8; 32]) -> Option<VerifyingKey> {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let digest = Sha256::digest(key);
        let bits = |at: usize| digest.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
        let sextet = |at: usize| (0..6).fold(0_u8, |sum, bit| sum << 1 | bits(6 * at + bit));
        let id: String = (0..43).map(|at| char::from(ALPHABET[usize::from(sextet(at))])).collect();
        let named = runtime?.get("key_id")?.as_str()?;
        if named == id { VerifyingKey::from_bytes(key).ok() } else { None }
    }

    fn signed(key: Option<VerifyingKey>, message: Option<&[u8]>, signature: Option<&Json>) -> bool {
        let (Some(key), Some(message), Some(hex)) = (key, message, text(signature)) else { return false };
        if !shape::is_hex(hex, 128) {
            return false;
        }
        let bytes: [u8; 64] =
            core::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap());
        key.verify_strict(message, &Signature::from_bytes(&bytes)).is_ok()
    }

    /// Returns the hash of exactly six members, all of which must be present (§4.1).
    fn event_hash(event: &Json) -> Option<String> {
        let names =
            ["event_version", "step_index", "event_type", "parent_event_hash", "timestamp", "payload_hash"];
        let header: Option<Map<String, Json>> = names
            .iter()
            .map(|name| Some(((*name).to_owned(), event.as_object()?.get(*name)?.clone())))
            .collect();
        canonical(&Json::Object(header?)).as_deref().map(sha256)
    }

    /// Check 4, with the order of step indices.
    fn chain(events: &[Json]) -> bool {
        events.iter().enumerate().all(|(at, event)| {
            let own = event_hash(event);
            let parent = event.get("parent_event_hash");
            let linked = match at.checked_sub(1).map(|before| &events[before]) {
                None => parent == Some(&Json::Null),
                Some(before) => {
                    let steps = (step(event), step(before));
                    text(parent).is_some()
                        && text(parent) == text(before.get("event_hash"))
                        && !matches!(steps, (Some(this), Some(last)) if this <= last)
                }
            };
            own.is_some() && text(event.get("event_hash")) == own.as_deref() && linked
        })
    }

    fn step(event: &Json) -> Option<f64> {
        event.get("step_index")?.as_f64()
    }

    /// Check 7. Only a literal true withholds a payload; an absent one counts as null.
    fn payload(event: &Json) -> bool {
        event.is_object()
            && (event.get("payload_redacted") == Some(&json!(true))
                || canonical(event.get("payload").unwrap_or(&Json::Null))
                    .is_some_and(|bytes| text(event.get("payload_hash")) == Some(&sha256(&bytes))))
    }

    /// Returns the signed header over hashes computed here (§6.6). It has `manifest_hash`, except in
    /// version 0.1.
    fn header(
        artifact: &Map<String, Json>,
        envelope_hash: Option<String>,
        last: Option<&Json>,
    ) -> Option<Vec<u8>> {
        let mut header = Map::new();
        for name in ["artifact_version", "run_id", "runtime"] {
            header.insert(name.into(), artifact.get(name)?.clone());
        }
        header.insert("envelope_hash".into(), json!(envelope_hash?));
        header.insert("log_head_hash".into(), json!(event_hash(last?)?));
        if let Some(manifest_hash) = artifact.get("manifest_hash")
            && header["artifact_version"] != "rer-artifact/0.1"
        {
            header.insert("manifest_hash".into(), manifest_hash.clone());
        }
        canonical(&Json::Object(header))
    }

    /// Check 1, §3 to §5 as a table of members.
    mod shape {
        use super::*;

        pub(super) fn is_hex(text: &str, length: usize) -> bool {
            text.len() == length && text.chars().all(|digit| matches!(digit, '0'..='9' | 'a'..='f'))
        }

        fn hex(value: &Json, length: usize) -> bool {
            value.as_str().is_some_and(|text| is_hex(text, length))
        }

        /// Member: its name, true if it is required, and a predicate for its value.
        type Member<'m> = (&'m str, bool, &'m dyn Fn(&Json) -> bool);

        /// Returns true if an object has these members and no other.
        fn is(value: Option<&Json>, members: &[Member<'_>]) -> bool {
            let Some(object) = value.and_then(Json::as_object) else { return false };
            object.keys().all(|name| members.iter().any(|(known, ..)| known == name))
                && members.iter().all(|(name, required, fits)| match object.get(*name) {
                    Some(value) => fits(value),
                    None => !required,
                })
        }

        fn whole(value: &Json, least: f64) -> bool {
            value.as_f64().is_some_and(|n| n >= least && n.fract() == 0.0 && n <= 9_007_199_254_740_991.0)
        }

        fn strings(value: &Json) -> bool {
            value.as_array().is_some_and(|list| list.iter().all(Json::is_string))
        }

        fn signer_types(value: &Json) -> bool {
            let known = ["human", "delegate", "automated"];
            strings(value)
                && value.as_array().unwrap().iter().all(|each| known.iter().any(|name| each == name))
        }

        pub(super) fn artifact(artifact: &Map<String, Json>) -> bool {
            let number = match text(artifact.get("artifact_version")) {
                Some("rer-artifact/0.1") => "0.1",
                Some("rer-artifact/0.2") => "0.2",
                _ => return false,
            };
            let null_or_hash = |value: &Json| value.is_null() || hex(value, 64);
            let nowhere = |_: &Json| false;
            let manifest_hash: &dyn Fn(&Json) -> bool =
                if number == "0.2" { &null_or_hash } else { &nowhere };
            let events = |value: &Json| {
                value.as_array().is_some_and(|events| events.iter().all(|one| event(one, number)))
            };
            is(
                Some(&Json::Object(artifact.clone())),
                &[
                    ("artifact_version", true, &Json::is_string),
                    ("run_id", true, &Json::is_string),
                    ("envelope_hash", true, &|value| hex(value, 64)),
                    ("log_head_hash", true, &|value| hex(value, 64)),
                    ("manifest_hash", number == "0.2", manifest_hash),
                    ("runtime", true, &runtime),
                    ("runtime_signature", true, &|value| hex(value, 128)),
                    ("envelope", true, &|value| envelope(value, number)),
                    ("events", true, &events),
                ],
            )
        }

        fn runtime(value: &Json) -> bool {
            // 43 characters for 256 bits: the last carries four of them.
            let key_id = |value: &Json| {
                let url = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                value.as_str().is_some_and(|id| {
                    id.len() == 43 && id.chars().all(url) && id.ends_with(|c| "AEIMQUYcgkosw048".contains(c))
                })
            };
            is(
                Some(value),
                &[
                    ("implementation", true, &Json::is_string),
                    ("version", true, &Json::is_string),
                    ("key_id", true, &key_id),
                    ("algorithm", true, &|value| value == "Ed25519"),
                ],
            )
        }

        fn envelope(value: &Json, number: &str) -> bool {
            let permissions: &[Member<'_>] =
                &[("allowed_models", true, &strings), ("allowed_tools", true, &strings)];
            let one_or_more = |value: &Json| whole(value, 1.0);
            let limits: &[Member<'_>] = &[
                ("max_steps", false, &one_or_more),
                ("max_spend_usd", false, &|value| value.as_f64().is_some_and(|dollars| dollars >= 0.0)),
                ("rate_limit_rpm", false, &one_or_more),
            ];
            let rule = |value: &Json| {
                is(
                    Some(value),
                    &[
                        ("action", true, &Json::is_string),
                        ("tool_pattern", false, &Json::is_string),
                        ("model_pattern", false, &Json::is_string),
                        ("signer_types", false, &signer_types),
                    ],
                )
            };
            let in_02 = number == "0.2";
            let version = format!("rer-envelope/{number}");
            is(
                Some(value),
                &[
                    ("envelope_version", true, &|value| value == version.as_str()),
                    ("permissions", true, &|value| is(Some(value), permissions)),
                    ("limits", true, &|value| is(Some(value), limits)),
                    ("expiry", false, &|value| value.as_str().is_some_and(super::super::is_rfc3339)),
                    ("metadata", false, &Json::is_object),
                    ("required_approvals", false, &|value| {
                        in_02 && value.as_array().is_some_and(|rules| rules.iter().all(rule))
                    }),
                    ("required_signer_types", false, &|value| in_02 && signer_types(value)),
                    ("signature", true, &|value| hex(value, 128)),
                ],
            )
        }

        fn event(value: &Json, number: &str) -> bool {
            let version = format!("rer-event/{number}");
            let withheld = value.get("payload_redacted") == Some(&json!(true));
            let words = |value: &Json| {
                let word = |word: &str| {
                    !word.is_empty() && word.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
                };
                value.as_str().is_some_and(|text| text.contains('.') && text.split('.').all(word))
            };
            is(
                Some(value),
                &[
                    ("event_version", true, &|value| value == version.as_str()),
                    ("step_index", true, &|value| whole(value, 0.0)),
                    ("event_type", true, &words),
                    ("parent_event_hash", true, &|value| value.is_null() || hex(value, 64)),
                    ("timestamp", true, &|value| value.as_str().is_some_and(super::super::is_event_time)),
                    ("payload", false, &|_| !withheld),
                    ("payload_redacted", true, &Json::is_boolean),
                    ("payload_hash", true, &|value| hex(value, 64)),
                    ("event_hash", true, &|value| hex(value, 64)),
                ],
            )
        }
    }
}

/// Replaces each character by its kind: `d` for digits.
fn outline(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { 'd' } else { c }).collect()
}

/// Returns true for `YYYY-MM-DDTHH:MM:SS.f+Z`.
fn is_event_time(text: &str) -> bool {
    outline(text)
        .strip_prefix("dddd-dd-ddTdd:dd:dd.")
        .and_then(|rest| rest.strip_suffix('Z'))
        .is_some_and(|fraction| !fraction.is_empty() && fraction.chars().all(|c| c == 'd'))
}

/// Returns true for RFC 3339 §5.6, with letters of either case and any offset.
fn is_rfc3339(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    let Some((time, rest)) = text.split_at_checked(19) else { return false };
    let digits =
        rest.strip_prefix('.').map_or(0, |rest| rest.chars().take_while(char::is_ascii_digit).count());
    let zone = if rest.starts_with('.') { &rest[1 + digits..] } else { rest };
    let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
    outline(time) == "dddd-dd-ddTdd:dd:dd"
        && (digits > 0 || !rest.starts_with('.'))
        && (1..=12).contains(&number(&time[5..7]))
        && (1..=31).contains(&number(&time[8..10]))
        && number(&time[11..13]) < 24
        && number(&time[14..16]) < 60
        && number(&time[17..19]) <= 60
        && (zone == "Z"
            || ["+dd:dd", "-dd:dd"].contains(&outline(zone).as_str())
                && number(&zone[1..3]) < 24
                && number(&zone[4..6]) < 60)
}

/// Change of a value.
#[derive(Debug, Clone)]
enum Edit {
    Replace(Json),
    Delete,
    Copy(Index),
    Swap(Index),
    Repeat,
    Add(String, Json),
    Character(Index),
}

fn scalar() -> impl Strategy<Value = Json> {
    let texts = [
        "",
        "x",
        "rer-artifact/0.1",
        "rer-artifact/0.2",
        "rer-artifact/0.3",
        "rer-event/0.1",
        "rer-event/0.2",
        "rer-envelope/0.1",
        "rer-envelope/0.2",
        "Ed25519",
        "rer.run.ended",
        "a",
        "a..b",
        "2026-05-13T12:34:56.789Z",
        "2026-05-13T12:34:56Z",
        "2026-13-13T12:34:56.789Z",
        "2026-05-13t12:34:60.7+23:59",
        "human",
        "nobody",
    ];
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Json::from),
        (-2_i64..9).prop_map(Json::from),
        select(vec![
            json!(0.5),
            json!(1.0),
            json!(-0.0),
            json!(4.0),
            json!(1e300),
            json!(9_007_199_254_740_991_u64),
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_993_u64),
            json!(-9_007_199_254_740_993_i64),
            json!(u64::MAX),
            json!([]),
            json!({}),
            json!([{}]),
            json!(["human"]),
            json!({"action": "x"}),
        ]),
        select(texts.to_vec()).prop_map(Json::from),
        "[0-9a-f]{64}".prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let names = [
        "note",
        "payload",
        "payload_redacted",
        "manifest_hash",
        "signature",
        "expiry",
        "metadata",
        "max_steps",
        "max_spend_usd",
        "rate_limit_rpm",
        "required_approvals",
        "required_signer_types",
        "signer_types",
        "tool_pattern",
        "__proto__",
        "",
    ];
    prop_oneof![
        3 => scalar().prop_map(Edit::Replace),
        2 => Just(Edit::Delete),
        1 => any::<Index>().prop_map(Edit::Copy),
        1 => any::<Index>().prop_map(Edit::Swap),
        1 => Just(Edit::Repeat),
        2 => (select(names.to_vec()), scalar()).prop_map(|(name, value)| Edit::Add(name.into(), value)),
        1 => any::<Index>().prop_map(Edit::Character),
    ]
}

/// Appends a JSON pointer to every value except the root.
fn places(value: &Json, at: &str, all: &mut Vec<String>) {
    let inner: Vec<(String, &Json)> = match value {
        Json::Array(list) => list.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        Json::Object(members) => {
            members.iter().map(|(name, item)| (name.replace('~', "~0").replace('/', "~1"), item)).collect()
        }
        _ => Vec::new(),
    };
    for (name, item) in inner {
        let place = format!("{at}/{name}");
        places(item, &place, all);
        all.push(place);
    }
}

fn apply(artifact: &mut Json, at: &Index, edit: &Edit) {
    let mut all = Vec::new();
    places(artifact, "", &mut all);
    if all.is_empty() {
        return;
    }
    let place = at.get(&all).clone();
    let (parent, name) = place.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    match edit {
        Edit::Replace(value) => *artifact.pointer_mut(&place).unwrap() = value.clone(),
        Edit::Copy(other) => {
            let value = artifact.pointer(&all[other.index(all.len())]).unwrap().clone();
            *artifact.pointer_mut(&place).unwrap() = value;
        }
        Edit::Delete => match artifact.pointer_mut(parent).unwrap() {
            Json::Array(list) => drop(list.remove(name.parse().unwrap())),
            Json::Object(members) => drop(members.remove(&name)),
            _ => {}
        },
        Edit::Swap(other) => match artifact.pointer_mut(parent).unwrap() {
            Json::Array(list) => {
                let other = other.index(list.len());
                list.swap(name.parse().unwrap(), other);
            }
            Json::Object(members) => {
                let other = members.keys().nth(other.index(members.len())).unwrap().clone();
                let value = members[&name].clone();
                let value = members.insert(other, value).unwrap();
                members.insert(name, value);
            }
            _ => {}
        },
        Edit::Repeat => match artifact.pointer_mut(parent).unwrap() {
            Json::Array(list) => list.insert(0, list[name.parse::<usize>().unwrap()].clone()),
            Json::Object(members) => drop(members.insert(format!("{name}_"), members[&name].clone())),
            _ => {}
        },
        Edit::Add(name, value) => {
            if let Some(members) = artifact.pointer_mut(&place).unwrap().as_object_mut() {
                members.insert(name.clone(), value.clone());
            } else if let Some(members) = artifact.pointer_mut(parent).unwrap().as_object_mut() {
                members.insert(name.clone(), value.clone());
            }
        }
        Edit::Character(which) => {
            if let Some(text) = artifact.pointer(&place).unwrap().as_str() {
                let mut characters: Vec<char> = text.chars().collect();
                let at = which.index(characters.len().max(1));
                characters.get_mut(at).into_iter().for_each(|c| *c = if *c == '0' { 'A' } else { '0' });
                *artifact.pointer_mut(&place).unwrap() = json!(characters.into_iter().collect::<String>());
            }
        }
    }
}

/// Returns artifacts of both versions, each with its key.
fn originals() -> Vec<(Json, [u8; 32])> {
    let alpha: [u8; 32] = vector("keys/alpha.bin").try_into().unwrap();
    let files = [
        "v02_minimal_v01",
        "v05_redacted_three",
        "v07_unicode_keys_utf16_order",
        "v11_number_spelling",
        "v12_integers_spelled_as_floats",
        "v24_payload_scalars_arrays",
        "v27_envelope_everything",
        "v32_hostile_names",
        "v41_floats_need_exact_parsing",
    ];
    let own = TestKey::of(1);
    let mut all: Vec<(Json, [u8; 32])> = files
        .iter()
        .map(|file| (serde_json::from_slice(&vector(&format!("valid/{file}.json"))).unwrap(), alpha))
        .collect();
    all.push((serde_json::from_slice(&tricky_artifact(&own)).unwrap(), *own.public_key().as_bytes()));
    all
}

fn assert_agree(artifact: &Json, key: &[u8; 32], what: &dyn core::fmt::Debug) -> [bool; 7] {
    let report = report_of(artifact.to_string().as_bytes(), &reenact_verify::Keys::from_raw(key));
    let ours: Vec<bool> = report.checks.iter().map(|check| check.holds.unwrap()).collect();
    let theirs = reference::verify(artifact, key);
    assert_eq!(ours, theirs, "{what:?}\n{:#?}\n{artifact}", report.reasons);
    theirs
}

#[test]
fn every_vector_that_serde_reads_alike() {
    let index: Json = serde_json::from_slice(&vector("index.json")).unwrap();
    let mut judged = 0;
    for row in index["vectors"].as_array().unwrap().iter().filter(|row| row["kind"] == "artifact") {
        let (bytes, key) = (vector(row["file"].as_str().unwrap()), vector(row["key"].as_str().unwrap()));
        let (Ok(artifact), Ok(key)) = (serde_json::from_slice::<Json>(&bytes), key.try_into()) else {
            continue;
        };
        // serde_json keeps the last of two members with one name, and reads large integers as doubles.
        if artifact.is_object() {
            assert_agree(&artifact, &key, &row["id"]);
            judged += 1;
        }
    }
    assert_eq!(judged, 108);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn both_agree_on_every_check(
        which in any::<Index>(),
        edits in prop::collection::vec((any::<Index>(), edit()), 1..3),
    ) {
        thread_local!(static ORIGINALS: Vec<(Json, [u8; 32])> = originals());
        ORIGINALS.with(|originals| {
            let (mut artifact, key) = which.get(originals).clone();
            for (at, edit) in &edits {
                apply(&mut artifact, at, edit);
            }
            assert_agree(&artifact, &key, &edits);
        });
    }
}

/// The edits reach every check: each fails in some runs and holds in others, alone and with others.
#[test]
fn the_edits_are_worth_making() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let originals = originals();
    let mut seen: BTreeMap<[bool; 7], usize> = BTreeMap::new();
    for _ in 0..600 {
        let one = (any::<Index>(), any::<Index>(), edit()).new_tree(&mut runner).unwrap().current();
        let (mut artifact, key) = one.0.get(&originals).clone();
        apply(&mut artifact, &one.1, &one.2);
        *seen.entry(assert_agree(&artifact, &key, &one)).or_default() += 1;
    }
    for check in 0..7 {
        assert!(seen.keys().any(|matrix| matrix[check]) && seen.keys().any(|matrix| !matrix[check]));
    }
}
