use super::*;

fn detected(text: &str) -> Result<FormatId, Unrecognised> {
    recognise(text.as_bytes(), &Limits::default())
}

#[test]
fn artifacts_by_their_version() {
    assert_eq!(detected(r#"{"artifact_version":"rer-artifact/0.2""#), Ok(FormatId::Rer));
    assert_eq!(detected(r#"{"x":1,"artifact_version":"rer-artifact/9"}"#), Ok(FormatId::Rer));
}

#[test]
fn torn_artifacts_by_their_members() {
    assert_eq!(detected(r#"{"envelope_hash":"","log_head_hash":"#), Ok(FormatId::Rer));
    assert_eq!(detected(r#"{"artifact_version":7,"runtime_signature":""}"#), Ok(FormatId::Rer));
}

#[test]
fn rpk_by_its_members() {
    assert_eq!(detected(r#"{"checksum":"sha256:00","metadata":"#), Ok(FormatId::Rpk));
    assert_eq!(detected(r#"{"version":"1.0","metadata":{},"payload":"#), Ok(FormatId::Rpk));
    assert_eq!(detected(r#"{"version":"9.9","x":1,"checksum":"sha256:"}"#), Ok(FormatId::Rpk));
    assert!(detected(r#"{"version":"1.0","metadata":{}}"#).is_err());
    assert!(detected(r#"{"checksum":"crc32:00","payload":{}}"#).is_err());
}

#[test]
fn sessions_by_their_members() {
    assert_eq!(detected(r#"{"model_io_schema_version":7,"#), Ok(FormatId::ModelIo));
    assert_eq!(detected(r#"{"adapter_id":"a","interactions":["#), Ok(FormatId::ModelIo));
    assert_eq!(detected(r#"{"x":1,"model_id":"","y":2,"interactions":0}"#), Ok(FormatId::ModelIo));
    assert!(detected(r#"{"model_id":"m","mode":"record"}"#).is_err());
}

#[test]
fn everything_else_says_what_it_is() {
    assert_eq!(detected(""), Err(Unrecognised::Empty));
    assert_eq!(detected("[]"), Err(Unrecognised::OtherKind("an array")));
    assert_eq!(detected("{}"), Err(Unrecognised::OtherObject(String::new())));
    assert_eq!(
        detected("{\"a\\u001b\":1,\"b\":2}"),
        Err(Unrecognised::OtherObject(" (its members: a\\u{1b}, b)".into()))
    );
    assert_eq!(
        detected("# Title"),
        Err(Unrecognised::NotJson("line 1, column 1 ($): found `#`, a value was due".into()))
    );
}

#[test]
fn others_by_their_content() {
    for (text, origin) in [
        (r#"{"format_version":"1.0","interactions":[],"stats":{}}"#, Some(FormatId::RecordingSession)),
        (r#"{"version":"1.0","id":"replay_x","timeline":[],"receipts":{}}"#, Some(FormatId::SessionTimeline)),
        ("\n{\"type\":\"ReplayHeader\",\"replay_version\":1}\n{", Some(FormatId::TypedReplay)),
        ("{\"type\":\"ToolCall\",\"ts\":\"x\"}", Some(FormatId::TypedReplay)),
        (r#"{"type":"ToolCall","ts":"x","event":"ToolCall"}"#, None),
        (r#"{"format_version":1,"interactions":[]}"#, None),
        (r#"{"timeline":[],"receipts":{}}"#, None),
        ("{\"format_version\":\"1.0\",\"interactions\":[", None),
        ("[]", None),
        ("", None),
    ] {
        assert_eq!(recognise_import(text.as_bytes(), &Limits::default()), origin, "{text}");
    }
}

#[test]
fn manifests_by_their_members() {
    for (text, format) in [
        (r#"{"schema_version":1,"ass"#, Some(FormatId::ReplayBundle)),
        (r#"{"x":{},"trace_digest":"#, Some(FormatId::ReplayBundle)),
        (r#"{"artifact_hash":"#, Some(FormatId::RerBundle)),
        (r#"{"blobs":[],"bundle_hash":""}"#, Some(FormatId::RerBundle)),
        (r#"{"blobs":["#, None),
        ("[]", None),
        ("", None),
    ] {
        assert_eq!(recognise_manifest(text.as_bytes()), format, "{text}");
    }
}
