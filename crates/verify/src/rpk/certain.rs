//! Verifying before it is known what the bytes are: whoever first finds that out may read all of them twice.

use reenact_formats::rpk::HASH_PREFIX;

use super::judge::{heard, judge};
use crate::{Keys, Options, Report};

/// As [`super::verify`], if the bytes turn out to be what [`crate::detect::detect`] calls an `.rpk`: they are then read once.
pub(crate) fn verify_if_certain(bytes: &[u8], keys: &Keys, options: &Options) -> Option<Report> {
    let (head, heard) = heard(bytes, keys, options).ok()?;
    let members = [head.version, head.metadata, head.payload, head.checksum];
    let is_sum = |text: &[u8]| text.starts_with(HASH_PREFIX.as_bytes());
    let has_sum = head.checksum.and_then(|sum| sum.read_string(is_sum)) == Some(true);
    let told = members.iter().flatten().count() + usize::from(has_sum);
    (told >= 3 && head.unknown.is_none()).then(|| judge(&head, heard, keys))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use reenact_formats::rpk::HmacKey;
    use reenact_json::{Limits, Value};

    use super::*;
    use crate::detect::{self, begins_like_rpk, detect};
    use crate::{Format, model_io, replay_jsonl, rer, rpk, safe};

    fn example(name: &str) -> Vec<u8> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/runs").join(name)).unwrap()
    }

    fn shared() -> Keys {
        let mut keys = Keys::default();
        keys.share(HmacKey::from_text(&example("shared.key")).unwrap());
        keys
    }

    /// What the bytes are first, and what they are worth then.
    fn in_two_steps(bytes: &[u8], keys: &Keys, options: &Options) -> Report {
        match detect(bytes, &options.limits) {
            Ok(Format::Rer) => rer::verify(bytes, keys, options),
            Ok(Format::Rpk) => rpk::verify(bytes, keys, options),
            Ok(Format::ModelIo) => model_io::verify(bytes, options),
            Ok(Format::ReplayJsonl) => replay_jsonl::verify_bytes(bytes, &Default::default(), options),
            Ok(other) => panic!("{other:?} is no document"),
            Err(unrecognised) => unrecognised.report(),
        }
    }

    /// Whether the short cut gives an answer; if it does, it is that of the two steps.
    fn is_certain(bytes: &[u8]) -> bool {
        let (keys, options) = (shared(), Options::default());
        let expected = in_two_steps(bytes, &keys, &options);
        let shown = String::from_utf8_lossy(bytes);
        let certain = verify_if_certain(bytes, &keys, &options);
        if let Some(report) = &certain {
            assert_eq!(detect(bytes, &options.limits), Ok(Format::Rpk), "{shown}");
            assert_eq!(report, &expected, "{shown}");
        }
        assert_eq!(safe(bytes, &keys, &options), expected, "{shown}");
        if let Some(format) = detect::of_many_jobs(bytes, &options.limits) {
            assert_eq!(detect(bytes, &options.limits), Ok(format), "{shown}");
        }
        certain.is_some()
    }

    /// The members of an example, each as it is written.
    fn members(name: &str) -> Vec<String> {
        let bytes = example(name);
        let document = Value::parse(&bytes, &Limits::default()).unwrap();
        let text = |value: Value<'_>| String::from_utf8(value.text().to_vec()).unwrap();
        document.members().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    #[test]
    fn records_in_any_order_are_certain() {
        for name in ["minimal.rpk", "invoice.rpk"] {
            let mut members = members(name);
            for _ in 0..members.len() {
                members.rotate_left(1);
                let text = format!("{{{}}}", members.join(","));
                assert!(is_certain(text.as_bytes()), "{text}");
                members.reverse();
                let text = format!("{{ {} }}\n", members.join(" ,\n"));
                assert!(is_certain(text.as_bytes()), "{text}");
                members.reverse();
            }
        }
    }

    #[test]
    fn what_is_less_than_certain_is_not() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"metadata":{},"payload":{}}"#,
            r#"{"metadata":{},"payload":{},"version":"1.0","x":1}"#,
            r#"{"metadata":{},"payload":{},"version":"1.0""#,
            r#"{"metadata":{},"payload":{},"version":"1.0"}]"#,
            r#"{"metadata":{},"payload":{},"version":"1.0","version":"1.0"}"#,
            r#"{"metadata":{},"payload":{},"artifact_version":"rer-artifact/0.2"}"#,
            r#"{"metadata":{},"payload":{},"version":"1.0","model_io_schema_version":"1.0.0"}"#,
        ] {
            assert!(!is_certain(text.as_bytes()), "{text}");
        }
        assert!(is_certain(br#"{"metadata":{},"payload":{},"version":"1.0"}"#));
        assert!(is_certain(br#"{"checksum":"sha256:","payload":{}}"#));
    }

    /// A member as any format, or none, may have it.
    fn member() -> impl Strategy<Value = String> {
        let names = [
            "checksum",
            "metadata",
            "payload",
            "version",
            "signature",
            "v\\u0065rsion",
            "p\\u0061yload",
            "artifact_version",
            "envelope_hash",
            "log_head_hash",
            "runtime_signature",
            "model_io_schema_version",
            "adapter_id",
            "model_id",
            "interactions",
            "events",
            "event",
            "t",
            "x",
            "",
        ];
        let values = [
            "\"sha256:00\"",
            "\"sh\\u0061256:\"",
            "\"crc32:00\"",
            "\"1.0\"",
            "\"0.9\"",
            "\"rer-artifact/0.2\"",
            "{}",
            "[]",
            "{\"run\":{\"steps\":[]}}",
            "{\"run\":{\"id\":\"r\",\"steps\":[{\"id\":\"s\",\"hash\":\"\"},7]}}",
            "{\"algorithm\":\"hmac-sha256\",\"key_id\":\"k\",\"value\":\"hmac-sha256:00\"}",
            "{\"a\":1e999}",
            "{\"a\":1,\"a\":2}",
            "null",
            "\"ReplayHeader\"",
            "-0",
            "01",
            "tru",
        ];
        let space = prop::sample::select(vec!["", " ", "\n\t"]);
        (prop::sample::select(names.to_vec()), prop::sample::select(values.to_vec()), space)
            .prop_map(|(name, value, space)| format!("\"{name}\"{space}:{space}{value}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]
        /// Hostile beginnings, torn ends and members of all formats in one.
        #[test]
        fn the_short_cut_agrees(
            own in prop::sample::subsequence(members("minimal.rpk"), 0..=4).prop_shuffle(),
            others in prop::collection::vec(member(), 0..5),
            turn in any::<prop::sample::Index>(),
            before in prop::sample::select(vec!["", " ", "\u{FEFF}", "[", "{\"a\":", "\0"]),
            cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
        ) {
            let mut all = [own, others].concat();
            if !all.is_empty() {
                let turn = turn.index(all.len());
                all.rotate_left(turn);
            }
            let mut text = format!("{before}{{{}}}", all.join(",")).into_bytes();
            if let Some(cut) = cut {
                let end = cut.index(text.len());
                text.truncate(end);
            }
            is_certain(&text);
        }

        /// Whatever is changed in a record, both ways say the same of it.
        #[test]
        fn the_short_cut_agrees_on_what_was_changed(
            name in prop::sample::select(vec!["minimal.rpk", "invoice.rpk"]),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            turn in 0..5_usize,
        ) {
            let mut members = members(name);
            let turn = turn % members.len();
            members.rotate_left(turn);
            let mut bytes = format!("{{{}}}", members.join(",")).into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            is_certain(&bytes);
        }
    }

    #[test]
    fn only_a_look_alike_is_tried() {
        let begins = |text: &str| begins_like_rpk(text.as_bytes(), &Limits::default());
        assert!(begins(r#"{"version":"1.0","payload":{"#));
        assert!(!begins(r#"{"version":"1.0","x":{}"#));
        assert!(!begins(r#"{"artifact_version":"rer-artifact/0.2","payload":{}"#));
    }
}
