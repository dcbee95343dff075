//! Check that all clients split an event into the same lines.
//!
//! The standard ends a line at CR and LF alone (HTML, section 9.2.6). Clients that split text with Python's
//! `str.splitlines` also end one at VT, FF, the separators 0x1C to 0x1E, NEL, U+2028 and U+2029, and those that take
//! UTF-8 for Latin-1 at every byte 0x85. To such a client a tool call can come behind one of these, in a comment or an
//! id that other clients skip. Start reading at [`has_same_lines`].

/// Fields of an event; clients ignore lines with other fields.
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// Returns true if every line of an event is a known field or a comment, and no client sees further fields in it.
///
/// - A line of another form may be a document under a wrong `content-type`, which some client would parse.
/// - Comments, ids, names and retry times have no separators.
/// - Data may have U+0085, U+2028 and U+2029, because JSON allows them in strings and models write them, but no text
///   that begins like a field right behind one. (JSON forbids the others, and data that is not JSON is refused.)
pub(crate) fn has_same_lines(event: &[u8]) -> bool {
    let event = event.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(event);
    let mut lines = event.split(|byte| matches!(byte, b'\r' | b'\n'));
    // Most events have no such byte. The loop has no early end, so that it takes many bytes at a time.
    let may_hide = event.iter().fold(false, |found, byte| found | may_separate(*byte));
    lines.all(|line| {
        let field = line.split(|byte| *byte == b':').next().unwrap_or_default();
        (field.is_empty() || FIELDS.contains(&field)) && (!may_hide || hides_no_field(line, field == b"data"))
    })
}

/// Returns true if a byte may belong to a separator: that of a control character, or the first or only one of U+0085, U+2028 and U+2029.
fn may_separate(byte: u8) -> bool {
    matches!(byte, 0x0B | 0x0C | 0x1C..=0x1E | 0x85 | 0xE2)
}

/// Returns true if no separator in a line is followed by a field; with `is_data` false, if there is no separator.
fn hides_no_field(line: &[u8], is_data: bool) -> bool {
    let mut rest = line;
    while let Some(at) = rest.iter().position(|byte| may_separate(*byte)) {
        let (before, from) = rest.split_at(at);
        let (length, is_separator) = match from {
            [0xE2, 0x80, 0xA8 | 0xA9, ..] => (3, true),
            [0xE2, ..] => {
                rest = from.get(1..).unwrap_or_default();
                continue;
            }
            // NEL behind 0xC2, and a part of another character elsewhere.
            [0x85, ..] => (1, before.ends_with(&[0xC2])),
            _ => (1, true),
        };
        rest = from.get(length..).unwrap_or_default();
        if is_separator && !is_data || begins_field(rest) {
            return false;
        }
    }
    true
}

/// Returns true if a text begins with the name of a field and a colon.
fn begins_field(text: &[u8]) -> bool {
    FIELDS.iter().any(|field| text.strip_prefix(*field).is_some_and(|rest| rest.starts_with(b":")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Separators of Python's `str.splitlines` beside CR and LF.
    const SEPARATORS: [&str; 8] =
        ["\u{B}", "\u{C}", "\u{1C}", "\u{1D}", "\u{1E}", "\u{85}", "\u{2028}", "\u{2029}"];

    #[test]
    fn fields_hidden_behind_separators() {
        for separator in SEPARATORS {
            for (line, due) in [
                (format!(": ping{separator}data: {{}}\n\n"), false),
                (format!("id: 1{separator}data: {{}}\n\n"), false),
                (format!("event: x{separator}\ndata: {{}}\n\n"), false),
                (format!("retry: 1{separator}{separator}id: 2\n\n"), false),
                (format!(":{separator}\n\n"), false),
                (format!("data: {{\"a\":\"b{separator}data: c\"}}\n\n"), false),
                (format!("data: {{\"a\":\"b{separator}{separator}retry:\"}}\n\n"), false),
                (format!("{separator}data: {{}}\n\n"), false),
                (format!("data: {{\"a\":\"b{separator}the data: c\"}}\n\n"), true),
                (format!("data: {{\"a\":\"b{separator}\"}}\n\n"), true),
            ] {
                assert_eq!(has_same_lines(line.as_bytes()), due, "{line:?}");
            }
        }
    }

    #[test]
    fn letters_with_the_byte_of_a_separator() {
        assert!(has_same_lines(": Åse \u{2026}\nid: Å\ndata: \"Å\"\n\n".as_bytes()));
        // As Latin-1, the second byte of Å ends the line.
        assert!(!has_same_lines(": Ådata: {}\n\n".as_bytes()));
        assert!(!has_same_lines("data: \"Ådata: {}\"\n\n".as_bytes()));
        assert!(has_same_lines("data: \"\u{2026}data: x\"\n\n".as_bytes()));
    }

    #[test]
    fn lines_without_a_known_field() {
        assert!(has_same_lines(b"\xEF\xBB\xBF: c\r\nevent: a\rdata\nid\nretry: 1\n\n"));
        assert!(!has_same_lines(b"{\"choices\":[]}\n\n"));
        assert!(!has_same_lines(b"data : {}\n\n"));
    }
}
