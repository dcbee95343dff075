//! Model IO sessions edited at random, verified twice: by the verifier, and by a plain table of the
//! rules.
#![allow(clippy::unwrap_used)]

mod model_io_reference;

use proptest::prelude::*;
use proptest::sample::select;
use reenact_json::Digest;
use reenact_verify::{FormatId, Keys, Options, verify};
use serde_json::{Value as Json, json};

fn hash(text: &str) -> Json {
    json!(format!("sha256:{}", Digest::of(text.as_bytes())))
}

/// Generates values that may stand anywhere.
fn any_scalar() -> impl Strategy<Value = Json> {
    select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2.0),
        json!(-0.0),
        json!(1.5),
        json!(1e21),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!("0"),
        json!("x\u{1b}\u{202e}"),
        json!("x".repeat(1_003)),
        json!("é".repeat(600)),
        json!([]),
        json!([1, null, [2, [3.50, {}]], "x"]),
        json!({}),
        json!({"toString": 1}),
        json!("record"),
        json!("1.0.0"),
        json!("2.10.007"),
        hash(""),
        hash("Hello"),
        json!("Hello"),
        json!("sha256:"),
    ])
}

fn interaction(n: usize) -> impl Strategy<Value = Json> {
    let names = select(vec!["i", "prompt_hash", "response_hash", "response_content", "tokens_input"]);
    let edits = prop::collection::vec((names, prop::option::of(any_scalar())), 0..2);
    let response = select(vec!["", "Hello", "\u{0}\"\\\n", "日本"]);
    (response, edits, any_scalar(), 0..12_u8).prop_map(move |(response, edits, other, whole)| {
        if whole == 0 {
            return other;
        }
        let mut one = json!({
            "i": n, "prompt_hash": hash("?"), "response_hash": hash(response), "response_content": response,
        });
        for (name, value) in edits {
            match value {
                Some(value) => one[name] = value,
                None => drop(one.as_object_mut().unwrap().remove(name)),
            }
        }
        one
    })
}

fn session() -> impl Strategy<Value = Json> {
    let names =
        select(vec!["model_io_schema_version", "adapter_id", "model_id", "mode", "interactions", "stats"]);
    let edits = prop::collection::vec((names, prop::option::of(any_scalar())), 0..2);
    let interactions = (0..6_usize).prop_flat_map(|count| (0..count).map(interaction).collect::<Vec<_>>());
    (interactions, edits, any::<bool>()).prop_map(|(interactions, edits, edited)| {
        let mut session = json!({
            "model_io_schema_version": "1.0.0", "adapter_id": "a", "model_id": "m", "mode": "replay",
            "interactions": interactions,
        });
        for (name, value) in edits.into_iter().filter(|_| edited) {
            match value {
                Some(value) => session[name] = value,
                None => drop(session.as_object_mut().unwrap().remove(name)),
            }
        }
        session
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]
    #[test]
    fn both_judge_alike(session in session(), indented in any::<bool>()) {
        let text = match indented {
            true => serde_json::to_vec_pretty(&session).unwrap(),
            false => serde_json::to_vec(&session).unwrap(),
        };
        let options = Options { format: Some(FormatId::ModelIo), ..Options::default() };
        let report = verify(&text, &Keys::default(), &options);
        let (expected, hash) = model_io_reference::report_of(&session);
        let found = report.violations().unwrap_or_default().iter();
        let found: Vec<_> =
            found.map(|one| (one.rule_id.to_owned(), one.path.clone(), one.message.clone())).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(report.digests.first().map(|(_, hash)| hash.clone()), hash);
    }
}
