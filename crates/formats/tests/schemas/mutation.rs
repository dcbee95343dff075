//! Artifacts, and what can be done to them: one edit at a time, each of them near the edge of a rule.

use serde_json::{Value, json};

/// Splitmix64: the same documents in every run, on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    /// One of them.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

/// An artifact with every member that its version knows, and one event of each shape.
pub(crate) fn full(version: &str) -> Value {
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

/// The parts of a value that have rules, with their pointers: not what lies inside a payload or the metadata.
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

/// Pointers to everything that has a rule.
pub(crate) fn places(document: &Value) -> Vec<String> {
    fn walk(value: &Value, at: String, places: &mut Vec<String>) {
        let parts = parts(value, &at);
        places.push(at);
        parts.into_iter().for_each(|(at, part)| walk(part, at, places));
    }
    let mut places = Vec::new();
    walk(document, String::new(), &mut places);
    places
}

/// A pointer to something that has a rule, found by going down at random: no list draws all edits to itself.
fn somewhere(document: &Value, dice: &mut Dice) -> String {
    let (mut at, mut value) = (String::new(), document);
    loop {
        let parts = parts(value, &at);
        if parts.is_empty() || dice.roll(16) == 0 {
            return at;
        }
        (at, value) = dice.pick(&parts).clone();
    }
}

/// The last part of a pointer; of a place in a list, the list's.
pub(crate) fn name(at: &str) -> &str {
    let mut parts =
        at.rsplit('/').skip_while(|part| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty());
    parts.next().unwrap_or_default()
}

/// Names to add where they do not belong, or do.
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

/// One value of each kind, and each number at the edge of a rule.
pub(crate) fn anything() -> Vec<Value> {
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

/// Values for the member of that name: some of them good, the others nearly.
pub(crate) fn apt(name: &str) -> Vec<Value> {
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

/// Good for an event, for an expiry, for neither.
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

/// The text with one small thing changed, for each small thing.
pub(crate) fn near(text: &str, dice: &mut Dice) -> Vec<Value> {
    let characters: Vec<char> = text.chars().collect();
    let at = dice.roll(characters.len() + 1);
    let (before, after): (String, String) =
        (characters[..at].iter().collect(), characters[at..].iter().collect());
    let rest = || after.chars().skip(1).collect::<String>();
    let other = dice.pick(&[
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

/// Every value worth trying at a place.
pub(crate) fn candidates(document: &Value, at: &str, dice: &mut Dice) -> Vec<Value> {
    let near = document.pointer(at).and_then(Value::as_str).map(|text| near(text, dice));
    [anything(), apt(name(at)), near.unwrap_or_default()].concat()
}

/// Takes out what stands at a place.
pub(crate) fn remove(document: &mut Value, at: &str) {
    let (parent, key) = at.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&key)),
        Value::Array(list) => drop(list.remove(key.parse().unwrap())),
        other => panic!("{at} is in {other}"),
    }
}

/// Does one thing to a document, somewhere.
pub(crate) fn mutate(document: &mut Value, dice: &mut Dice) {
    let at = somewhere(document, dice);
    match dice.roll(10) {
        0 if !at.is_empty() => remove(document, &at),
        1 | 2 => match document.pointer_mut(&at).unwrap() {
            Value::Object(members) => {
                let name = *dice.pick(&NAMES);
                members.insert(name.to_owned(), dice.pick(&apt(name)).clone());
            }
            Value::Array(list) => {
                let more = if list.is_empty() || dice.roll(4) == 0 {
                    dice.pick(&anything()).clone()
                } else {
                    dice.pick(list).clone()
                };
                list.insert(dice.roll(list.len() + 1), more);
            }
            scalar => *scalar = dice.pick(&apt(name(&at))).clone(),
        },
        3..=6 => *document.pointer_mut(&at).unwrap() = dice.pick(&apt(name(&at))).clone(),
        _ => {
            let values = candidates(document, &at, dice);
            *document.pointer_mut(&at).unwrap() = dice.pick(&values).clone();
        }
    }
}
