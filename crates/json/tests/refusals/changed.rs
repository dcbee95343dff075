//! A valid document, truncated and changed at every byte.

use reenact_json::{Limits, Position, SyntaxFault};

use crate::outcome;

const SAMPLE: &str = concat!(
    " {\"b\" : [1, -2.5e+10, 0.001, true, false, null, \"\"],\n",
    "\t\"a\\u00e9\\ud83d\\ude00\\n\\\\\": {\"é\": \"日本\\t😀\", \"z\": {}, \"y\": []}, \r\n",
    "\"\\/\": {\"nested\": [[{\"deep\": [0]}]]}}"
);

#[test]
fn a_document_cut_at_any_byte_is_refused() {
    assert_eq!(outcome(SAMPLE.as_bytes(), &Limits::default()), Ok(()));
    for length in 0..SAMPLE.len() {
        let cut = &SAMPLE.as_bytes()[..length];
        let error = outcome(cut, &Limits::default()).expect_err("a cut document is no document");
        assert!(
            matches!(
                error.fault,
                SyntaxFault::Empty
                    | SyntaxFault::End { .. }
                    | SyntaxFault::Number
                    | SyntaxFault::LoneSurrogate
                    | SyntaxFault::Unexpected { found: b't' | b'f' | b'n', .. }
            ),
            "cut at {length}: {error}"
        );
    }
}

#[test]
fn any_byte_changed_is_judged_as_serde_json_judges_it() {
    for at in 0..SAMPLE.len() {
        for byte in 0..=255 {
            let mut text = SAMPLE.as_bytes().to_vec();
            text[at] = byte;
            let ours = outcome(&text, &Limits::default());
            let theirs = serde_json::from_slice::<serde_json::Value>(&text);
            let shown = String::from_utf8_lossy(&text);
            match ours {
                Ok(()) => {
                    // A number may be too large for serde_json and still be JSON.
                    let fine = theirs.map(|_| ()).or_else(|error| match error.to_string() {
                        text if text.starts_with("number out of range") => Ok(()),
                        text => Err(text),
                    });
                    assert_eq!(fine, Ok(()), "byte {at} as 0x{byte:02x}: {shown}");
                }
                // serde_json keeps the last of two members; in all else the two agree.
                Err(error) if matches!(error.fault, SyntaxFault::DuplicateName { .. }) => {}
                Err(error) => assert!(theirs.is_err(), "{error}, byte {at} as 0x{byte:02x}: {shown}"),
            }
        }
    }
}

#[test]
fn any_offset_has_a_position() {
    for text in [SAMPLE.as_bytes(), b"\xff{\"a\xff\"[]]]}},,\"", b"\"\\", b"{\"\\ud800\":", b"]]]"] {
        for offset in 0..text.len() + 3 {
            let position = Position::of(text, offset);
            let before = &text[..offset.min(text.len())];
            let lines = before.split(|&byte| byte == b'\n').count();
            assert_eq!(position.line, lines);
            assert!(position.path.starts_with('$'));
        }
    }
}
