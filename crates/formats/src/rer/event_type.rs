//! The table of event types: one line for each `rer.…` type that reenact writes and reads.
//!
//! The recorder, the log, the audit, the run model, redaction and conversion all use this table. A new event is one
//! payload in [`super::payload`] and one line in `event_types!` below; start reading there.

use reenact_json::Value;

use super::payload::{
    ApprovalDeniedView, ApprovalGrantedView, ApprovalRequestedView, ArtifactWrittenView, CaptureGapView,
    ErrorRaisedView, ExchangeCalledView, ExchangeReturnedView, JournalChangedView, NetSeenView,
    OutputFinalView, PlanStartedView, PolicyEvaluatedView, PromptRenderedView, RunEndedView,
    RunRecoveredView, RunStartedView, SpendCountedView, StdinReadView, StepBlockedView, StepCompletedView,
    ToolCalledView, ToolReturnedView, VerificationRanView,
};

/// Part that an event plays in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Begins or ends the run.
    Lifecycle,
    /// Begins an action.
    Call(Callee),
    /// Ends an action.
    Return(Callee),
    /// Says what was permitted, approved or spent.
    Policy,
    /// Reported by the agent itself; the recorder did not observe the event.
    Report,
    /// Says what the command was given, and where its processes went, beside models and tools.
    Context,
    /// Says what went wrong, or was not seen, while recording.
    Capture,
}

impl Role {
    /// Returns the kind of callee, if such an event begins or ends an action.
    pub fn callee(self) -> Option<Callee> {
        match self {
            Self::Call(callee) | Self::Return(callee) => Some(callee),
            _ => None,
        }
    }
}

/// Kind of thing that an action calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callee {
    /// A model.
    Model,
    /// Any other HTTP endpoint, such as a list of models.
    Http,
    /// A tool.
    Tool,
}

/// Rule for sealing an event without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PayloadRetention {
    /// Never: without the payload the rest of the run could not be judged.
    Kept,
    /// Allowed, if the user asks for it.
    Withholdable,
}

/// One line of the table.
struct EventTypeRow {
    name: &'static str,
    role: Role,
    payload: PayloadRetention,
    unsupported_message: &'static str,
    members: &'static [&'static str],
}

/// Declares the enum and its table. Each line holds: variant, name, role, retention of the payload, subject of the
/// message for formats that have no such events, view of the payload.
macro_rules! event_types {
    ($( $(#[$doc:meta])* $variant:ident: $name:literal, $role:expr, $payload:ident, $subject:literal, $view:ident; )+) => {
        /// Type of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventType {
            $( $(#[$doc])* $variant, )+
        }

        impl EventType {
            /// All types, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the type of that name.
            pub fn of_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn row(self) -> EventTypeRow {
                match self {
                    $(Self::$variant => EventTypeRow {
                        name: $name,
                        role: $role,
                        payload: PayloadRetention::$payload,
                        unsupported_message: concat!("the format has no place for ", $subject),
                        members: $view::MEMBERS,
                    },)+
                }
            }
        }
    };
}

event_types! {
    /// The run began.
    RunStarted: "rer.run.started", Role::Lifecycle, Kept, "how a run began", RunStartedView;
    /// The run ended.
    RunEnded: "rer.run.ended", Role::Lifecycle, Kept, "how a run ended", RunEndedView;
    /// A prompt was put together.
    PromptRendered: "rer.prompt.rendered", Role::Report, Withholdable, "prompts that were put together", PromptRenderedView;
    /// A model was asked.
    ModelCalled: "rer.model.called", Role::Call(Callee::Model), Withholdable, "what models are asked and answer", ExchangeCalledView;
    /// A model answered.
    ModelReturned: "rer.model.returned", Role::Return(Callee::Model), Withholdable, "what models are asked and answer", ExchangeReturnedView;
    /// Something else was asked over HTTP, such as a list of models.
    HttpCalled: "rer.http.called", Role::Call(Callee::Http), Withholdable, "other requests over HTTP", ExchangeCalledView;
    /// The response to such a request arrived.
    HttpReturned: "rer.http.returned", Role::Return(Callee::Http), Withholdable, "other requests over HTTP", ExchangeReturnedView;
    /// A tool was called.
    ToolCalled: "rer.tool.called", Role::Call(Callee::Tool), Withholdable, "tools", ToolCalledView;
    /// A tool gave its result.
    ToolReturned: "rer.tool.returned", Role::Return(Callee::Tool), Withholdable, "tools", ToolReturnedView;
    /// The policy decided on an action.
    PolicyEvaluated: "rer.policy.evaluated", Role::Policy, Kept, "what was permitted", PolicyEvaluatedView;
    /// An action was not allowed.
    StepBlocked: "rer.policy.step_blocked", Role::Policy, Kept, "what was permitted", StepBlockedView;
    /// An approver was asked to allow an action.
    ApprovalRequested: "rer.approval.requested", Role::Policy, Kept, "approvals", ApprovalRequestedView;
    /// An approver allowed an action.
    ApprovalGranted: "rer.approval.granted", Role::Policy, Kept, "approvals", ApprovalGrantedView;
    /// An approver did not allow an action.
    ApprovalDenied: "rer.approval.denied", Role::Policy, Kept, "approvals", ApprovalDeniedView;
    /// A call's cost was counted.
    SpendCounted: "rer.spend.counted", Role::Policy, Kept, "what was spent", SpendCountedView;
    /// A plan was made.
    PlanStarted: "rer.plan.started", Role::Report, Withholdable, "plans and their steps", PlanStartedView;
    /// A step of a plan was done.
    StepCompleted: "rer.step.completed", Role::Report, Withholdable, "plans and their steps", StepCompletedView;
    /// The outcome was checked.
    VerificationRan: "rer.verification.ran", Role::Report, Withholdable, "verifications", VerificationRanView;
    /// An error occurred.
    ErrorRaised: "rer.error.raised", Role::Capture, Withholdable, "errors", ErrorRaisedView;
    /// The final output.
    OutputFinal: "rer.output.final", Role::Report, Withholdable, "the final output", OutputFinalView;
    /// A file was written.
    ArtifactWritten: "rer.artifact.written", Role::Report, Withholdable, "files that were written", ArtifactWrittenView;
    /// Something was piped into the command.
    StdinRead: "rer.stdin.read", Role::Context, Withholdable, "what was piped into the command", StdinReadView;
    /// Connections were seen that did not go through the recorder.
    NetSeen: "rer.net.seen", Role::Context, Withholdable, "connections past the recorder", NetSeenView;
    /// Something was not captured.
    CaptureGap: "rer.capture.gap", Role::Capture, Kept, "gaps in the capture", CaptureGapView;
    /// The recorder did not come to the end: what follows, and the seal, are a recovery's.
    RunRecovered: "rer.run.recovered", Role::Capture, Kept, "recoveries", RunRecoveredView;
    /// Someone changed the journal: only a part of it is sealed.
    JournalChanged: "rer.journal.changed", Role::Capture, Kept, "changes of the journal", JournalChangedView;
}

impl EventType {
    /// Returns the type that a string value names.
    pub fn of(name: Value<'_>) -> Option<Self> {
        name.with_string_bytes(|name| Self::of_name(core::str::from_utf8(name).ok()?))?
    }

    /// Returns the type's name, such as `rer.run.started`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the names of the types that `is_wanted` selects, in alphabetical order.
    pub fn names(is_wanted: impl Fn(Self) -> bool) -> Vec<&'static str> {
        let wanted = Self::ALL.iter().copied().filter(|event_type| is_wanted(*event_type));
        let mut names: Vec<_> = wanted.map(Self::name).collect();
        names.sort_unstable();
        names
    }

    /// Returns the part that such an event plays in a run.
    pub fn role(self) -> Role {
        self.row().role
    }

    /// Returns true if an agent may report such an event itself. All other events are only the recorder's to write.
    pub fn may_be_reported(self) -> bool {
        self.role() == Role::Report
    }

    /// Returns true if such an event says that the recorder does not vouch for the whole run: it did not come to the
    /// end, or someone changed its journal.
    pub fn marks_recovery(self) -> bool {
        matches!(self, Self::RunRecovered | Self::JournalChanged)
    }

    /// Returns true if such an event says that something may have happened that the record does not hold.
    pub fn marks_missing_events(self) -> bool {
        self == Self::CaptureGap || self.marks_recovery()
    }

    /// Returns true if a recorder may seal such an event without its payload.
    pub fn may_be_withheld(self) -> bool {
        self.row().payload == PayloadRetention::Withholdable
    }

    /// Returns the names of the payload's members in canonical order, without the recorder's own (`salt`).
    pub fn members(self) -> &'static [&'static str] {
        self.row().members
    }

    /// Returns the reason, as text, why a format without such events keeps nothing of one.
    pub fn unsupported_reason(self) -> &'static str {
        self.row().unsupported_message
    }

    /// Returns the type of the event that ends the action which this event begins.
    pub fn matching_return(self) -> Option<Self> {
        let Role::Call(callee) = self.role() else { return None };
        Self::ALL.iter().copied().find(|other| other.role() == Role::Return(callee))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rer::IndexedMember;
    use reenact_json::Limits;

    #[test]
    fn each_name_names_its_type() {
        for (at, event_type) in EventType::ALL.iter().enumerate() {
            assert_eq!(EventType::of_name(event_type.name()), Some(*event_type));
            assert_eq!(*event_type as usize, at, "{event_type:?}");
            let quoted = format!("\"{}\"", event_type.name());
            let value = Value::parse(quoted.as_bytes(), &Limits::default()).unwrap();
            assert_eq!(EventType::of(value), Some(*event_type));
        }
        for other in ["", "rer.", "rer.run", "run.started", "rer.run.started ", "RER.RUN.STARTED"] {
            assert_eq!(EventType::of_name(other), None, "{other}");
        }
        let number = Value::parse(b"1", &Limits::default()).unwrap();
        assert_eq!(EventType::of(number), None);
    }

    #[test]
    fn every_call_has_a_return() {
        let pairs: Vec<_> = EventType::ALL
            .iter()
            .filter_map(|call| Some((call.name(), call.matching_return()?.name())))
            .collect();
        let expected = [
            ("rer.model.called", "rer.model.returned"),
            ("rer.http.called", "rer.http.returned"),
            ("rer.tool.called", "rer.tool.returned"),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn an_agent_reports_only_what_nobody_else_could_see() {
        let expected = [
            "rer.artifact.written",
            "rer.output.final",
            "rer.plan.started",
            "rer.prompt.rendered",
            "rer.step.completed",
            "rer.verification.ran",
        ];
        assert_eq!(EventType::names(EventType::may_be_reported), expected);
    }

    #[test]
    fn what_judges_a_run_is_never_withheld() {
        let expected = [
            "rer.approval.denied",
            "rer.approval.granted",
            "rer.approval.requested",
            "rer.capture.gap",
            "rer.journal.changed",
            "rer.policy.evaluated",
            "rer.policy.step_blocked",
            "rer.run.ended",
            "rer.run.recovered",
            "rer.run.started",
            "rer.spend.counted",
        ];
        assert_eq!(EventType::names(|event_type| !event_type.may_be_withheld()), expected);
    }

    /// A member that verification looks for must be one that some payload has, so that the two lists cannot drift
    /// apart.
    #[test]
    fn each_noted_member_is_one_of_a_payload() {
        for noted in IndexedMember::ALL {
            let is_there = |event: &&EventType| event.members().contains(&noted.name());
            assert!(EventType::ALL.iter().find(is_there).is_some(), "{}", noted.name());
        }
    }
}
