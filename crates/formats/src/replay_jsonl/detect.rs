//! Recognition of a replay by its first bytes.

use reenact_json::{Kind, Limits, Scanner, SyntaxError, Value};

use super::EventKind;

/// How many bytes are looked at.
pub const LOOKED_AT: usize = 64 << 10;

/// Whether a text begins like a replay: one of its first lines is an object that says so, in any dialect. The rest of the
/// text is not looked at, and the line may be torn.
pub fn is_replay(text: &[u8]) -> bool {
    let text = text.get(..LOOKED_AT).unwrap_or(text);
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    text.split(|byte| *byte == b'\n').take(16).any(|line| {
        let mut seen = Seen::default();
        // A torn line tells what it can.
        let _ = look(line, &mut seen);
        seen.is_event()
    })
}

#[derive(Default)]
struct Seen {
    tag: Option<EventKind>,
    is_timed: bool,
}

impl Seen {
    /// A header is one by its name; other events could be those of any log, but for their time.
    fn is_event(&self) -> bool {
        match self.tag {
            Some(EventKind::ReplayHeader) => true,
            Some(_) => self.is_timed,
            None => false,
        }
    }
}

fn look(line: &[u8], seen: &mut Seen) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::new(line, &Limits::default())?;
    if scanner.kind()? != Kind::Object {
        return Ok(());
    }
    let mut object = scanner.enter_object()?;
    while let Some(name) = scanner.next_name(&mut object)? {
        let is = |known: &[&str]| known.iter().any(|known| name.is_string(known));
        let (is_tag, is_time) = (is(&["event", "type"]), is(&["t", "ts"]));
        // Of a torn line the time counts even if it cannot be read.
        seen.is_timed |= is_time;
        let value: Value<'_> = scanner.value()?;
        if is_tag {
            seen.tag = seen.tag.or(EventKind::of_tag(value));
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
