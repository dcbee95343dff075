//! Artifacts, and edits of them: one at a time, each near the edge of a rule.

use serde_json::{Value, json};

/// Random number generator (Splitmix64): the same documents in every run, on every machine.
pub(crate) struct TestRng(pub(crate) u64);

impl TestRng {
    /// Returns a number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    /// Returns one of the elements.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Returns an artifact with every member that its version knows, and one event of each shape.
pub(crate) fn full_artifact(version: &str) -> Value {
    let hash = "0123456789abcdef".repeat(4);
    let event = |index: u64, parent: Value| {
        json!({
            "event_version": format!("rer-event/{version}"), "step_index": index, "event_type": "rer.tool.called",
            "parent_event_hash": parent, "timestamp": "2026-05-13T12:34:56.789Z", "payload_redacted": false,
            "payload_hash": hash, "event_hash": hash,
        })
    };
    let mut artifact = json!({
        "artifact_version": format!("rer-artifact/{version}"), "run_id": "run", "envelope_hash": hash, "log_head_hash": hash,
        "runtime": {
            "implementation": "reenact", "version": "0.1.0", "algorithm": "Ed25519",
            "key_id": "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE",
        },
        "runtime_signature": hash.repeat(2),
        "envelope": {
            "envelope_version": format!("rer-envelope/{version}"),
            "permissions": { "allowed_models": ["m"], "allowed_tools": ["a", "b"] },
            "limits": { "max_steps": 4, "max_spend_usd": 0.5, "rate_limit_rpm": 60 },
            "expiry": "2026-05-13T14:00:00Z", "metadata": { "any": [null] }, "signature": hash.repeat(2),
        },
        "events": [event(0, Value::Null), event(1, json!(hash)), event(2, json!(hash))],
    });
    artifact["events"][0]["payload"] = json!({ "envelope_hash": hash });
    artifact["events"][1]["payload_redacted"] = json!(true);
    if version == "0.2" {
        artifact["manifest_hash"] = json!(hash);
        artifact["envelope"]["required_approvals"] = json!([
            { "action": "tool" },
            { "action": "tool", "tool_pattern": "pay_*", "model_pattern": "*", "signer_types": ["human", "delegate"] },
        ]);
        artifact["envelope"]["required_signer_types"] = json!(["human", "automated"]);
    }
    artifact
}

/// Returns the parts of a value that have rules, with their pointers: not the inside of a payload or the metadata.
fn parts<'v>(value: &'v Value, at: &str) -> Vec<(String, &'v Value)> {
    let inside = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        _ if matches!(name(at), "payload" | "metadata") => Vec::new(),
        Value::Object(members) => members.iter().map(|(key, value)| (inside(key), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, value)| (inside(&at.to_string()), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns pointers to everything that has a rule.
pub(crate) fn pointers(document: &Value) -> Vec<String> {
    fn walk(value: &Value, at: String, places: &mut Vec<String>) {
        let parts = parts(value, &at);
        places.push(at);
        parts.into_iter().for_each(|(at, part)| walk(part, at, places));
    }
    let mut places = Vec::new();
    walk(document, String::new(), &mut places);
    places
}

/// Returns a pointer to something that has a rule, found by descending at random, so that no list draws all edits to
/// itself.
fn random_pointer(document: &Value, rng: &mut TestRng) -> String {
    let (mut at, mut value) = (String::new(), document);
    loop {
        let parts = parts(value, &at);
        if parts.is_empty() || rng.below(16) == 0 {
            return at;
        }
        (at, value) = rng.pick(&parts).clone();
    }
}

/// Returns the last part of a pointer; inside a list, the list's name.
pub(crate) fn name(at: &str) -> &str {
    let mut parts =
        at.rsplit('/').skip_while(|part| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty());
    parts.next().unwrap_or_default()
}

/// Names to add, some where they belong, some where they do not.
pub(crate) const NAMES: [&str; 15] = [
    "",
    "x",
    "__proto__",
    "$ref",
    "Events",
    "events ",
    "events\u{0}",
    "step_id",
    "payload",
    "manifest_hash",
    "signature",
    "required_approvals",
    "required_signer_types",
    "signer_types",
    "max_steps",
];

/// Returns one value of each kind, and each number at the edge of a rule.
pub(crate) fn values_of_every_kind() -> Vec<Value> {
    let mut values =
        vec![Value::Null, json!(true), json!(false), json!(""), json!("x"), json!([]), json!({})];
    values.extend([
        json!([null]),
        json!([[]]),
        json!({ "x": 1 }),
        json!("null"),
        json!("0"),
        json!("\u{1F600}"),
    ]);
    values.extend([json!(0), json!(1), json!(-1), json!(i64::MIN), json!(u64::MAX)]);
    values.extend([json!(9_007_199_254_740_991_u64), json!(9_007_199_254_740_992_u64)]);
    values.extend(
        [1.5, 4e0, 1e300, -1e300, 0.0, -0.0, 5e-324, 9_007_199_254_740_991.0, 1e16]
            .map(|number| json!(number)),
    );
    values
}

/// Returns values for the member of that name: some valid, the others nearly.
pub(crate) fn plausible_values(name: &str) -> Vec<Value> {
    let hex = |digits: usize| json!("0123456789abcdef".repeat(9)[..digits]);
    match name {
        "timestamp" | "expiry" => TIMES.iter().map(|time| json!(time)).collect(),
        "event_type" => {
            ["a.b", "a", "a.", ".a", "a..b", "A.b", "a.b\n", "a-b.c", "0._", "a.b.c.d", "é.a", "a.٣"]
                .map(|text| json!(text))
                .to_vec()
        }
        "key_id" => ["A", "E", "8", "B", "9", "_", "-", "=", "", "AA", "A=", "A\n", "+", "/", "é"]
            .map(|last| json!(format!("{}{last}", "aZ09-_".repeat(7))))
            .to_vec(),
        "algorithm" => ["Ed25519", "ed25519", "Ed25519 ", "EdDSA"].map(|text| json!(text)).to_vec(),
        "artifact_version" | "envelope_version" | "event_version" => {
            let family = name.trim_end_matches("_version");
            ["0.1", "0.2", "0.3", "0.20", "1", ""]
                .map(|number| json!(format!("rer-{family}/{number}")))
                .to_vec()
        }
        "signer_types" | "required_signer_types" => vec![
            json!(["human"]),
            json!(["delegate", "automated", "human", "human"]),
            json!(["Human"]),
            json!("human"),
            json!([""]),
            json!("delegate"),
            json!("robot"),
        ],
        "required_approvals" => vec![
            json!([]),
            json!([{ "action": "" }]),
            json!([{}]),
            json!([{ "action": 1 }]),
            json!([{ "action": "a", "x": 1 }]),
            json!([{ "action": "a", "signer_types": [] }]),
            json!([{ "action": "a", "signer_types": null }]),
            json!([{ "action": "a", "tool_pattern": null }]),
            json!({ "action": "a", "model_pattern": "" }),
            json!({ "action": "a", "model_pattern": ["m"] }),
        ],
        "events" => vec![json!([]), json!([1])],
        "payload_redacted" => vec![json!(true), json!(false), json!("true"), json!(1)],
        "signature" | "runtime_signature" => [127, 128, 129].map(hex).to_vec(),
        name if name.ends_with("_hash") => [63, 64, 65].map(hex).into_iter().chain([Value::Null]).collect(),
        _ => vec![json!("text"), json!(7), json!(0.25), json!({}), json!(["one"])],
    }
}

/// Valid for an event, for an expiry, for neither.
const TIMES: [&str; 28] = [
    "2026-05-13T12:34:56.7Z",
    "2026-05-13T12:34:56.123456789012Z",
    "2026-05-13T12:34:56Z",
    "2026-05-13T12:34:56.Z",
    "2026-05-13t12:34:56.7Z",
    "2026-05-13T12:34:56.7z",
    "2026-05-13 12:34:56.7Z",
    "2026-05-13T12:34:56.7+00:00",
    "2026-05-13T12:34:56+23:59",
    "2026-05-13T12:34:56-24:00",
    "2026-05-13T12:34:56+00:60",
    "2026-05-13T12:34:56+0000",
    "2026-05-13T24:00:00.0Z",
    "2026-05-13T23:59:60.9Z",
    "2026-05-13T23:59:61.0Z",
    "2026-05-13T23:60:00.0Z",
    "2026-13-01T00:00:00.0Z",
    "2026-00-01T00:00:00.0Z",
    "2026-02-31T00:00:00.0Z",
    "2026-02-32T00:00:00.0Z",
    "2026-02-00T00:00:00.0Z",
    "0000-01-01T00:00:00.0Z",
    "12026-01-01T00:00:00.0Z",
    "2026-01-01T00:00:00.0Z\n",
    "２026-01-01T00:00:00.0Z",
    "2026-01-01T00:00:00.٣Z",
    "2026-01-01T00:00:00.0",
    "2026-01-01T00:00:00,0Z",
];

/// Returns the text with one small change, for each kind of change.
pub(crate) fn near_misses(text: &str, rng: &mut TestRng) -> Vec<Value> {
    let characters: Vec<char> = text.chars().collect();
    let at = rng.below(characters.len() + 1);
    let (before, after): (String, String) =
        (characters[..at].iter().collect(), characters[at..].iter().collect());
    let rest = || after.chars().skip(1).collect::<String>();
    let other = rng.pick(&[
        '0',
        '9',
        'a',
        'f',
        'g',
        'A',
        'Z',
        'z',
        '.',
        '-',
        ':',
        '+',
        '_',
        '/',
        ' ',
        '\n',
        '\u{0}',
        'é',
        '０',
        '\u{1F600}',
    ]);
    let texts = [
        format!("{text}\n"),
        format!("\n{text}"),
        format!("{text}\r\n"),
        format!("{text}\u{2028}"),
        format!("{text} "),
        text.to_uppercase(),
        text.to_lowercase(),
        format!("{before}{}", rest()),
        format!("{before}{other}{after}"),
        format!("{before}{other}{}", rest()),
        before.clone(),
        text.to_owned(),
    ];
    texts.map(Value::String).to_vec()
}

/// Returns every value worth trying at a pointer.
pub(crate) fn candidates(document: &Value, at: &str, rng: &mut TestRng) -> Vec<Value> {
    let near = document.pointer(at).and_then(Value::as_str).map(|text| near_misses(text, rng));
    [values_of_every_kind(), plausible_values(name(at)), near.unwrap_or_default()].concat()
}

/// Removes the value at a pointer.
pub(crate) fn remove(document: &mut Value, at: &str) {
    let (parent, key) = at.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&key)),
        Value::Array(list) => drop(list.remove(key.parse().unwrap())),
        other => panic!("{at} is in {other}"),
    }
}

/// Applies one random edit to a document.
pub(crate) fn mutate(document: &mut Value, rng: &mut TestRng) {
    let at = random_pointer(document, rng);
    match rng.below(10) {
        0 if !at.is_empty() => remove(document, &at),
        1 | 2 => match document.pointer_mut(&at).unwrap() {
            Value::Object(members) => {
                let name = *rng.pick(&NAMES);
                members.insert(name.to_owned(), rng.pick(&plausible_values(name)).clone());
            }
            Value::Array(list) => {
                let more = if list.is_empty() || rng.below(4) == 0 {
                    rng.pick(&values_of_every_kind()).clone()
                } else {
                    rng.pick(list).clone()
                };
                list.insert(rng.below(list.len() + 1), more);
            }
            scalar => *scalar = rng.pick(&plausible_values(name(&at))).clone(),
        },
        3..=6 => *document.pointer_mut(&at).unwrap() = rng.pick(&plausible_values(name(&at))).clone(),
        _ => {
            let values = candidates(document, &at, rng);
            *document.pointer_mut(&at).unwrap() = rng.pick(&values).clone();
        }
    }
}
