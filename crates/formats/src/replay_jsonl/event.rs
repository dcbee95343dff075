//! The members of one line, as they stand, right or wrong.

use core::fmt;

use reenact_json::scanner::{OpenObject, Room};
use reenact_json::{Kind, Limits, Scanner, SyntaxError, Value};

/// The events that the format defines; the last two came with later revisions of the same version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
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
    /// Money moved.
    Payment,
    /// Something that the runtime says.
    RuntimeEvent,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [EventKind; 10] = [
        Self::ReplayHeader,
        Self::SessionStart,
        Self::PlanStart,
        Self::ToolCall,
        Self::ToolResult,
        Self::StepComplete,
        Self::Verification,
        Self::SessionEnd,
        Self::Payment,
        Self::RuntimeEvent,
    ];

    /// The tag.
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
            Self::Payment => "Payment",
            Self::RuntimeEvent => "RuntimeEvent",
        }
    }

    /// The kind of that tag.
    pub fn of_tag(tag: Value<'_>) -> Option<Self> {
        tag.read_string(|tag| Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == tag)).flatten()
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! fields {
    ($($name:ident $text:literal,)*) => {
        /// A member that some event has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Field {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Field {
            const COUNT: usize = Self::ALL.len();

            /// Every one.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name),*];

            /// The member's name.
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

// The most frequent first.
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
    Rail "rail",
    AssetId "asset_id",
    AmountMsats "amount_msats",
    PaymentProof "payment_proof",
    JobHash "job_hash",
    Seq "seq",
    RuntimeEventType "runtime_event_type",
    PayloadHash "payload_hash",
    Payload "payload",
    IdempotencyKey "idempotency_key",
}

/// Why a line is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// It is not JSON that we read.
    #[error("{}", .0.fault)]
    Syntax(SyntaxError),
    /// It is JSON, but not an object.
    #[error("an event is an object, this is {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// It has no `event` that is a string.
    #[error("the member \"event\" is missing{}", if *.is_other_dialect { " (its \"type\" is that of another dialect)" } else { "" })]
    NoTag {
        /// It has a `type`, as one revision of the format had it.
        is_other_dialect: bool,
    },
}

impl From<SyntaxError> for LineFault {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

/// The members of an event.
#[derive(Debug, Clone)]
pub struct EventView<'a> {
    /// What `event` says.
    pub tag: Value<'a>,
    /// The kind of that tag, if the format defines it.
    pub kind: Option<EventKind>,
    fields: Fields<'a>,
    /// How many members there are beside `event`.
    count: u64,
    whole: Option<Value<'a>>,
}

impl<'a> EventView<'a> {
    /// Reads a line.
    pub fn read(line: &'a [u8], limits: &Limits) -> Result<Self, LineFault> {
        Self::read_within(line, limits, &mut Room::default())
    }

    /// As [`EventView::read`]; `room` is what the line before has left.
    pub fn read_within(line: &'a [u8], limits: &Limits, room: &mut Room) -> Result<Self, LineFault> {
        let mut scanner = Scanner::new(line, limits)?.within(core::mem::take(room));
        let kind = scanner.kind()?;
        if kind != Kind::Object {
            // Bad JSON is bad JSON first, whatever it would have been.
            scanner.value()?;
            scanner.finish()?;
            return Err(LineFault::NotAnObject { found: kind.name() });
        }
        let mut object = scanner.enter_object()?;
        let mut fields = Fields::default();
        let (mut tag, mut kind, mut is_other_dialect) = (None, None, false);
        if scanner.takes(&mut object, b"\"event\":") {
            let value = scanner.value()?;
            kind = EventKind::of_tag(value);
            tag = Some(value);
            fields.expect(kind, &mut scanner, &mut object)?;
        }
        let mut count = fields.count as u64;
        while let Some(name) = scanner.next_name(&mut object)? {
            let value = scanner.value()?;
            match name.read_string(Field::of_name).flatten() {
                Some(field) => fields.put(field, value),
                None if name.is_string("event") => {
                    tag = Some(value);
                    kind = EventKind::of_tag(value);
                    continue;
                }
                None => is_other_dialect |= name.is_string("type"),
            }
            count += 1;
        }
        scanner.finish()?;
        let Some(tag) = tag.filter(|tag| tag.kind() == Kind::String) else {
            return Err(LineFault::NoTag { is_other_dialect });
        };
        let whole = scanner.left(&object);
        *room = scanner.into_room();
        Ok(Self { tag, kind, fields, count, whole })
    }

    /// The value of a member.
    pub fn get(&self, field: Field) -> Option<Value<'a>> {
        self.fields.get(field)
    }

    /// How many members there are beside `event`.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The object itself. Whether it counts as canonical (RFC 8785) includes the white space before it.
    pub fn whole(&self) -> Option<Value<'a>> {
        self.whole
    }
}

/// No event that the format defines has more members than this.
const FEW: usize = 8;

/// The known members of an event. A line has few of the many that there are.
#[derive(Debug, Clone, Default)]
struct Fields<'a> {
    /// For each field, where its value stands, counted from 1.
    places: Places,
    count: usize,
    few: [Option<Value<'a>>; FEW],
    /// Those that did not fit.
    more: Vec<Value<'a>>,
}

#[derive(Debug, Clone)]
struct Places([u8; Field::COUNT]);

impl Default for Places {
    fn default() -> Self {
        Self([0; Field::COUNT])
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn put(&mut self, field: Field, value: Value<'a>) {
        match self.few.get_mut(self.count) {
            Some(slot) => *slot = Some(value),
            None => self.more.push(value),
        }
        self.count += 1;
        // A name stands in an object once, so that there are no more values than fields.
        self.places.0[field as usize] = u8::try_from(self.count).unwrap_or_default();
    }

    #[inline]
    fn get(&self, field: Field) -> Option<Value<'a>> {
        let at = usize::from(self.places.0[field as usize]).checked_sub(1)?;
        match self.few.get(at) {
            Some(value) => *value,
            None => self.more.get(at - FEW).copied(),
        }
    }

    /// Takes the members of the two events that replays consist of, as far as they stand in canonical order.
    fn expect(
        &mut self,
        kind: Option<EventKind>,
        scanner: &mut Scanner<'a>,
        object: &mut OpenObject,
    ) -> Result<(), SyntaxError> {
        macro_rules! take {
            ($($name:literal $field:ident)*) => {{
                $(if scanner.takes(object, $name) {
                    self.put(Field::$field, scanner.value()?);
                })*
            }};
        }
        match kind {
            Some(EventKind::ToolCall) => take! {
                b"\"id\":" Id
                b"\"params\":" Params
                b"\"params_hash\":" ParamsHash
                b"\"step_id\":" StepId
                b"\"t\":" T
                b"\"tool\":" Tool
            },
            Some(EventKind::ToolResult) => take! {
                b"\"exit_code\":" ExitCode
                b"\"id\":" Id
                b"\"latency_ms\":" LatencyMs
                b"\"output_hash\":" OutputHash
                b"\"step_utility\":" StepUtility
                b"\"t\":" T
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

    fn read(line: &str) -> Result<EventView<'_>, LineFault> {
        EventView::read(line.as_bytes(), &Limits::default())
    }

    /// What each field holds, as text.
    fn told(view: &EventView<'_>) -> Vec<(&'static str, String)> {
        let text = |field: &Field| Some(String::from_utf8_lossy(view.get(*field)?.text()).into_owned());
        Field::ALL.iter().filter_map(|field| Some((field.name(), text(field)?))).collect()
    }

    #[test]
    fn all_members_at_once() {
        let members: Vec<String> =
            Field::ALL.iter().map(|field| format!("\"{}\":\"{}\"", field.name(), *field as usize)).collect();
        for tag in ["ToolCall", "ToolResult", "Other"] {
            let line = format!("{{\"event\":\"{tag}\",{}}}", members.join(","));
            let view = read(&line).unwrap();
            for (at, field) in Field::ALL.into_iter().enumerate() {
                assert!(view.get(field).is_some_and(|value| value.is_string(&at.to_string())), "{field:?}");
            }
            assert_eq!((view.count(), view.kind.is_some()), (Field::COUNT as u64, tag != "Other"));
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
        let mut room = Room::default();
        for line in
            [r#"{"event":"ToolCall","id":"a"}"#, r#"{"id":"b","event":"X"}"#, "{", "[]", r#"{"event":"Y"}"#]
        {
            let within = EventView::read_within(line.as_bytes(), &Limits::default(), &mut room);
            assert_eq!(within.map(|view| told(&view)), read(line).map(|view| told(&view)), "{line}");
        }
    }

    proptest! {
        /// Members that come as expected are read as those that do not.
        #[test]
        fn any_order_tells_the_same(
            tag in prop::sample::select(vec!["ToolCall", "ToolResult", "SessionEnd", "Other"]),
            chosen in prop::sample::subsequence(Field::ALL.to_vec(), 0..12),
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
                prop_assert_eq!(told(view), told(&views[0]));
                prop_assert_eq!((view.count(), view.kind), (chosen.len() as u64 + 1, views[0].kind));
                prop_assert!(view.tag.is_string(tag));
            }
            prop_assert_eq!(told(&views[0]).len(), chosen.len());
        }
    }
}
