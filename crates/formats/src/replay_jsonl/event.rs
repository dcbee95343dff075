//! One line as an event: its members as they stand, right or wrong.

use core::fmt;

use reenact_json::scanner::{OpenObject, ScannerBuffers};
use reenact_json::{Limits, Scanner, SyntaxError, Value, ValueKind};

/// Kinds of events that the format defines. The last two came with later revisions of the same version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayJsonlEventKind {
    /// The version, on the first line.
    ReplayHeader,
    /// The session begins.
    SessionStart,
    /// A plan was made.
    PlanStart,
    /// A tool is called.
    ToolCall,
    /// A tool answered.
    ToolResult,
    /// A step of the plan is done.
    StepComplete,
    /// Commands that check the work were run.
    Verification,
    /// The session ends.
    SessionEnd,
}

impl ReplayJsonlEventKind {
    /// Every kind, in the order of the enum.
    pub const ALL: [ReplayJsonlEventKind; 8] = [
        Self::ReplayHeader,
        Self::SessionStart,
        Self::PlanStart,
        Self::ToolCall,
        Self::ToolResult,
        Self::StepComplete,
        Self::Verification,
        Self::SessionEnd,
    ];

    /// Returns the text of the member `event`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReplayHeader => "ReplayHeader",
            Self::SessionStart => "SessionStart",
            Self::PlanStart => "PlanStart",
            Self::ToolCall => "ToolCall",
            Self::ToolResult => "ToolResult",
            Self::StepComplete => "StepComplete",
            Self::Verification => "Verification",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// Returns the kind that a value of `event` names.
    pub fn of_tag(tag: Value<'_>) -> Option<Self> {
        tag.with_string_bytes(|tag| Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == tag))
            .flatten()
    }
}

impl fmt::Display for ReplayJsonlEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! fields {
    ($($name:ident $text:literal,)*) => {
        /// Name of a member that some event has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ReplayJsonlField {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl ReplayJsonlField {
            const COUNT: usize = Self::ALL.len();

            /// Every field, in the order of the enum.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name),*];

            /// Returns the member's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            #[inline]
            fn of_name(name: &[u8]) -> Option<Self> {
                $(if name == $text.as_bytes() {
                    return Some(Self::$name);
                })*
                None
            }
        }
    };
}

// The most frequent names come first: names are compared in this order.
fields! {
    T "t",
    Id "id",
    Tool "tool",
    Params "params",
    ParamsHash "params_hash",
    StepId "step_id",
    OutputHash "output_hash",
    ExitCode "exit_code",
    StepUtility "step_utility",
    LatencyMs "latency_ms",
    Status "status",
    Iterations "iterations",
    ReplayVersion "replay_version",
    Producer "producer",
    CreatedAt "created_at",
    SessionId "session_id",
    IssueNumber "issue_number",
    PolicyVersion "policy_version",
    PolicyBundleId "policy_bundle_id",
    PlanHash "plan_hash",
    StepCount "step_count",
    Commands "commands",
    ExitCodes "exit_codes",
    VerificationDelta "verification_delta",
    Confidence "confidence",
    TotalToolCalls "total_tool_calls",
    TotalLatencyMs "total_latency_ms",
    Unknown "unknown",
}

/// Reason why a line is not an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// The line is not JSON within the limits.
    #[error("{}", .0.fault)]
    Syntax(SyntaxError),
    /// The line is JSON, but not an object.
    #[error("an event is an object, this is {found}")]
    NotAnObject {
        /// Kind of the value, in words.
        found: &'static str,
    },
    /// The line has no `event` that is a string.
    #[error("the member \"event\" is missing{}", if *.is_other_dialect { " (its \"type\" is that of another dialect)" } else { "" })]
    NoTag {
        /// True if the line has a `type`, the name of the tag in one revision of the format.
        is_other_dialect: bool,
    },
}

impl From<SyntaxError> for LineFault {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

/// Members of one event.
#[derive(Debug, Clone)]
pub struct ReplayJsonlEventView<'a> {
    /// Value of `event`.
    pub tag: Value<'a>,
    /// Kind that the tag names, if the format defines it.
    pub kind: Option<ReplayJsonlEventKind>,
    fields: FieldValues<'a>,
    /// Number of members beside `event`.
    count: u64,
    object: Option<Value<'a>>,
}

impl<'a> ReplayJsonlEventView<'a> {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// [`LineFault`] if the line is not a JSON object with a string `event`.
    pub fn read(line: &'a [u8], limits: &Limits) -> Result<Self, LineFault> {
        Self::read_with_buffers(line, limits, &mut ScannerBuffers::default())
    }

    /// Reads a line as [`ReplayJsonlEventView::read`] does, and reuses the scanner's buffers of the line before.
    ///
    /// # Errors
    ///
    /// As [`ReplayJsonlEventView::read`].
    pub fn read_with_buffers(
        line: &'a [u8],
        limits: &Limits,
        buffers: &mut ScannerBuffers,
    ) -> Result<Self, LineFault> {
        let mut scanner = Scanner::new(line, limits)?.with_buffers(core::mem::take(buffers));
        let kind = scanner.kind()?;
        if kind != ValueKind::Object {
            // A syntax error anywhere in the line comes before the complaint about its kind.
            scanner.value()?;
            scanner.finish()?;
            return Err(LineFault::NotAnObject { found: kind.name() });
        }
        let mut object = scanner.enter_object()?;
        let mut fields = FieldValues::default();
        let (mut tag, mut kind, mut is_other_dialect) = (None, None, false);
        if scanner.take_member_if_next(&mut object, b"\"event\":") {
            let value = scanner.value()?;
            kind = ReplayJsonlEventKind::of_tag(value);
            tag = Some(value);
            fields.read_expected(kind, &mut scanner, &mut object)?;
        }
        let mut count = fields.count as u64;
        while let Some(name) = scanner.next_name(&mut object)? {
            let value = scanner.value()?;
            match name.with_string_bytes(ReplayJsonlField::of_name).flatten() {
                Some(field) => fields.put(field, value),
                None if name.is_string("event") => {
                    tag = Some(value);
                    kind = ReplayJsonlEventKind::of_tag(value);
                    continue;
                }
                None => is_other_dialect |= name.is_string("type"),
            }
            count += 1;
        }
        scanner.finish()?;
        let Some(tag) = tag.filter(|tag| tag.kind() == ValueKind::String) else {
            return Err(LineFault::NoTag { is_other_dialect });
        };
        let whole = scanner.finished_object(&object);
        *buffers = scanner.into_buffers();
        Ok(Self { tag, kind, fields, count, object: whole })
    }

    /// Returns the value of a member.
    pub fn get(&self, field: ReplayJsonlField) -> Option<Value<'a>> {
        self.fields.get(field)
    }

    /// Returns the number of members beside `event`.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the object itself. Its flag for canonical form (RFC 8785) also covers the white space before it.
    pub fn object(&self) -> Option<Value<'a>> {
        self.object
    }
}

/// Number of values stored inline. No event that the format defines has more members.
const INLINE_VALUES: usize = 8;

/// Values of the known members. A line has few of the many fields that exist, so values are stored densely, and
/// `slots` maps fields to them.
#[derive(Debug, Clone, Default)]
struct FieldValues<'a> {
    /// Index of each field's value, 1-based; 0 if the member is absent.
    slots: FieldSlots,
    count: usize,
    inline: [Option<Value<'a>>; INLINE_VALUES],
    /// Values that did not fit inline.
    overflow: Vec<Value<'a>>,
}

#[derive(Debug, Clone)]
struct FieldSlots([u8; ReplayJsonlField::COUNT]);

impl Default for FieldSlots {
    fn default() -> Self {
        Self([0; ReplayJsonlField::COUNT])
    }
}

impl<'a> FieldValues<'a> {
    #[inline]
    fn put(&mut self, field: ReplayJsonlField, value: Value<'a>) {
        match self.inline.get_mut(self.count) {
            Some(slot) => *slot = Some(value),
            None => self.overflow.push(value),
        }
        self.count += 1;
        // A name occurs once in an object, so there are no more values than fields.
        self.slots.0[field as usize] = u8::try_from(self.count).unwrap_or_default();
    }

    #[inline]
    fn get(&self, field: ReplayJsonlField) -> Option<Value<'a>> {
        let at = usize::from(self.slots.0[field as usize]).checked_sub(1)?;
        match self.inline.get(at) {
            Some(value) => *value,
            None => self.overflow.get(at - INLINE_VALUES).copied(),
        }
    }

    /// Reads the members of the two most frequent events, as long as they come in canonical order.
    fn read_expected(
        &mut self,
        kind: Option<ReplayJsonlEventKind>,
        scanner: &mut Scanner<'a>,
        object: &mut OpenObject,
    ) -> Result<(), SyntaxError> {
        macro_rules! take {
            ($($name:literal $field:ident)*) => {{
                $(if scanner.take_member_if_next(object, $name) {
                    self.put(ReplayJsonlField::$field, scanner.value()?);
                })*
            }};
        }
        match kind {
            Some(ReplayJsonlEventKind::ToolCall) => take! {
                b"\"id\":" Id
                b"\"params\":" Params
                b"\"params_hash\":" ParamsHash
                b"\"step_id\":" StepId
                b"\"t\":" T
                b"\"tool\":" Tool
            },
            Some(ReplayJsonlEventKind::ToolResult) => take! {
                b"\"exit_code\":" ExitCode
                b"\"id\":" Id
                b"\"latency_ms\":" LatencyMs
                b"\"output_hash\":" OutputHash
                b"\"step_utility\":" StepUtility
                b"\"t\":" T
                b"\"unknown\":" Unknown
            },
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reenact_json::SyntaxFault;

    fn read(line: &str) -> Result<ReplayJsonlEventView<'_>, LineFault> {
        ReplayJsonlEventView::read(line.as_bytes(), &Limits::default())
    }

    /// Returns each field that is present, with its text.
    fn members_of(view: &ReplayJsonlEventView<'_>) -> Vec<(&'static str, String)> {
        let text =
            |field: &ReplayJsonlField| Some(String::from_utf8_lossy(view.get(*field)?.text()).into_owned());
        ReplayJsonlField::ALL.iter().filter_map(|field| Some((field.name(), text(field)?))).collect()
    }

    #[test]
    fn all_members_at_once() {
        let members: Vec<String> = ReplayJsonlField::ALL
            .iter()
            .map(|field| format!("\"{}\":\"{}\"", field.name(), *field as usize))
            .collect();
        for tag in ["ToolCall", "ToolResult", "Other"] {
            let line = format!("{{\"event\":\"{tag}\",{}}}", members.join(","));
            let view = read(&line).unwrap();
            for (at, field) in ReplayJsonlField::ALL.into_iter().enumerate() {
                assert!(view.get(field).is_some_and(|value| value.is_string(&at.to_string())), "{field:?}");
            }
            assert_eq!((view.count(), view.kind.is_some()), (ReplayJsonlField::COUNT as u64, tag != "Other"));
        }
    }

    #[test]
    fn a_name_that_was_expected_stands_there_once() {
        for line in [
            r#"{"event":"ToolCall","id":"a","id":"b"}"#,
            r#"{"event":"ToolCall","id":"a","params":1,"\u0069d":"b"}"#,
            r#"{"event":"ToolResult","id":"a","t":"b","id":"c"}"#,
        ] {
            let Err(LineFault::Syntax(error)) = read(line) else { panic!("{line}") };
            assert_eq!(error.fault, SyntaxFault::DuplicateName { name: "id".into() }, "{line}");
        }
        let Err(LineFault::Syntax(error)) = read(r#"{"event":"ToolCall","event":"ToolCall"}"#) else {
            panic!()
        };
        assert_eq!(error.fault, SyntaxFault::DuplicateName { name: "event".into() });
    }

    #[test]
    fn room_is_left_to_the_next_line() {
        let mut buffers = ScannerBuffers::default();
        for line in
            [r#"{"event":"ToolCall","id":"a"}"#, r#"{"id":"b","event":"X"}"#, "{", "[]", r#"{"event":"Y"}"#]
        {
            let within =
                ReplayJsonlEventView::read_with_buffers(line.as_bytes(), &Limits::default(), &mut buffers);
            assert_eq!(
                within.map(|view| members_of(&view)),
                read(line).map(|view| members_of(&view)),
                "{line}"
            );
        }
    }

    proptest! {
        /// Members in the expected order are read like those in any other.
        #[test]
        fn any_order_tells_the_same(
            tag in prop::sample::select(vec!["ToolCall", "ToolResult", "SessionEnd", "Other"]),
            chosen in prop::sample::subsequence(ReplayJsonlField::ALL.to_vec(), 0..12),
            seed in any::<prop::sample::Index>(),
            space in prop::sample::select(vec!["", " "]),
        ) {
            let mut members: Vec<String> = vec![format!("\"event\":{space}\"{tag}\""), "\"extra\":[]".into()];
            members.extend(chosen.iter().map(|field| format!("\"{}\":{space}{}", field.name(), *field as usize)));
            members.sort();
            let sorted = format!("{{{}}}", members.join(","));
            let turn = seed.index(members.len());
            members.rotate_left(turn);
            let turned = format!("{{{}}}", members.join(","));
            members.sort();
            members.retain(|member| !member.starts_with("\"event\""));
            let first = format!("{{\"event\":\"{tag}\",{}}}", members.join(","));
            let views = [&sorted, &turned, &first].map(|line| read(line).unwrap());
            for view in &views {
                prop_assert_eq!(members_of(view), members_of(&views[0]));
                prop_assert_eq!((view.count(), view.kind), (chosen.len() as u64 + 1, views[0].kind));
                prop_assert!(view.tag.is_string(tag));
            }
            prop_assert_eq!(members_of(&views[0]).len(), chosen.len());
        }
    }
}
