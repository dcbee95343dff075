//! The members of one line, as they stand, right or wrong.

use core::fmt;

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
            const COUNT: usize = [$(Self::$name),*].len();

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
    fields: [Option<Value<'a>>; Field::COUNT],
    /// How many members there are beside `event`.
    count: u64,
    whole: Option<Value<'a>>,
}

impl<'a> EventView<'a> {
    /// Reads a line.
    pub fn read(line: &'a [u8], limits: &Limits) -> Result<Self, LineFault> {
        let mut scanner = Scanner::new(line, limits)?;
        let kind = scanner.kind()?;
        if kind != Kind::Object {
            // Bad JSON is bad JSON first, whatever it would have been.
            scanner.value()?;
            scanner.finish()?;
            return Err(LineFault::NotAnObject { found: kind.name() });
        }
        let (mut tag, mut is_other_dialect) = (None, false);
        let mut fields = [None; Field::COUNT];
        let mut count = 0;
        let mut object = scanner.enter_object()?;
        while let Some(name) = scanner.next_name(&mut object)? {
            let value = scanner.value()?;
            match name.read_string(Field::of_name).flatten() {
                Some(field) => fields[field as usize] = Some(value),
                None if name.is_string("event") => {
                    tag = Some(value);
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
        Ok(Self { tag, kind: EventKind::of_tag(tag), fields, count, whole: scanner.left(&object) })
    }

    /// The value of a member.
    pub fn get(&self, field: Field) -> Option<Value<'a>> {
        self.fields[field as usize]
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
