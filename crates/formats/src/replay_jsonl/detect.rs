//! Recognition of a replay by its first bytes.

use reenact_json::{Limits, Scanner, SyntaxError, Value, ValueKind};

use super::ReplayJsonlEventKind;

/// Number of bytes at the beginning of a text that recognition looks at.
pub const DETECTION_BYTES: usize = 64 << 10;

/// Returns true if one of the first 16 lines is an object that is a replay event, in any dialect.
///
/// Only the first [`DETECTION_BYTES`] are looked at, so the last line may be truncated.
pub fn is_replay(text: &[u8]) -> bool {
    let text = text.get(..DETECTION_BYTES).unwrap_or(text);
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    text.split(|byte| *byte == b'\n').take(16).any(|line| {
        let mut seen = ReplayLineSigns::default();
        // A truncated line counts with the members before its end.
        let _ = scan_line(line, &mut seen);
        seen.is_event()
    })
}

#[derive(Default)]
struct ReplayLineSigns {
    tag: Option<ReplayJsonlEventKind>,
    is_timed: bool,
}

impl ReplayLineSigns {
    /// Returns true if the line is an event. The header is known by its name alone; other events could be those of
    /// any log, so they need a time, too.
    fn is_event(&self) -> bool {
        match self.tag {
            Some(ReplayJsonlEventKind::ReplayHeader) => true,
            Some(_) => self.is_timed,
            None => false,
        }
    }
}

fn scan_line(line: &[u8], seen: &mut ReplayLineSigns) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::new(line, &Limits::default())?;
    if scanner.kind()? != ValueKind::Object {
        return Ok(());
    }
    let mut object = scanner.enter_object()?;
    while let Some(name) = scanner.next_name(&mut object)? {
        let is = |known: &[&str]| known.iter().any(|known| name.is_string(known));
        let (is_tag, is_time) = (is(&["event", "type"]), is(&["t", "ts"]));
        // In a truncated line the time counts even if its value is cut off.
        seen.is_timed |= is_time;
        let value: Value<'_> = scanner.value()?;
        if is_tag {
            seen.tag = seen.tag.or(ReplayJsonlEventKind::of_tag(value));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_an_event() {
        for text in [
            r#"{"event":"ReplayHeader""#,
            "\u{FEFF}\r\n\n{\"event\":\"ReplayHeader\"}",
            "[]\n{\"event\":\"SessionStart\",\"t\":\"\"}",
            r#"{"created_at":"","replay_version":1,"type":"ReplayHeader"}"#,
            r#"{"event":"ToolCall","t":"2026-01-13T10:00:0"#,
            r#"{"ev\u0065nt":"ToolCall","t":1}"#,
        ] {
            assert!(is_replay(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn not_by_less() {
        for text in
            ["", "{}", "{\n\"event\":\"ReplayHeader\"}", r#"{"event":"ToolCall"}"#, r#"{"event":"x","t":1}"#]
        {
            assert!(!is_replay(text.as_bytes()), "{text}");
        }
    }
}
