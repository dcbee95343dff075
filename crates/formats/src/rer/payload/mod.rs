//! Payloads of events. Each is declared once, by its members in canonical order; its writer and its view follow from
//! that.
//!
//! `ToolCalled` is what a recorder writes, `ToolCalledView` is how a reader sees a payload in a record, right or
//! wrong. Text from outside is a leaf whose type the writer chooses ([`Leaves`]): the recorder's leaves are masked
//! texts, so that unmasked text does not compile. Start reading at [`tool`].

mod member;
mod writer;

pub mod approval;
pub mod capture;
pub mod exchange;
pub mod policy;
pub mod reported;
pub mod run;
pub mod tool;
pub mod vocabulary;

pub use approval::{
    ApprovalDenied, ApprovalDeniedView, ApprovalGranted, ApprovalGrantedView, ApprovalRequested,
    ApprovalRequestedView,
};
pub use capture::{
    CaptureGap, CaptureGapView, ErrorRaised, ErrorRaisedView, JournalChanged, JournalChangedView, NetSeen,
    NetSeenView, RunRecovered, RunRecoveredView, StdinRead, StdinReadView,
};
pub use exchange::{
    ExchangeCalled, ExchangeCalledView, ExchangeReturned, ExchangeReturnedView, HttpAnswer, HttpAnswerView,
    HttpRequest, HttpRequestView,
};
pub use member::{MemberFault, PayloadMember};
pub use policy::{
    PolicyEvaluated, PolicyEvaluatedView, SpendCounted, SpendCountedView, StepBlocked, StepBlockedView,
};
pub use reported::{
    ArtifactWritten, ArtifactWrittenView, OutputFinal, OutputFinalView, PlanStarted, PlanStartedView,
    PromptRendered, PromptRenderedView, StepCompleted, StepCompletedView, VerificationRan,
    VerificationRanView,
};
pub use run::{
    Agent, AgentView, Environment, EnvironmentView, FileChanges, FileChangesView, ObserverEffect,
    ObserverEffectView, PAYLOADS_VERSION, ParentRun, ParentRunView, RedactionPack, RedactionPackView,
    RunEnded, RunEndedView, RunStarted, RunStartedView, WorkTree, WorkTreeView,
};
pub use tool::{ToolCalled, ToolCalledView, ToolReturned, ToolReturnedView};
pub use vocabulary::{
    AgentLogin, CaptureMode, Chunk, EndedBy, EventSource, ForkMode, PayloadWord, PolicyDecision,
    RecoverySource, RunStatus, StepId, ToolChannel,
};
pub use writer::{Leaves, PayloadWriter};

/// Declares a payload: the struct that is written (`$name`), and the view of one in a record (`$view`).
///
/// A member is `required`; `optional`, so that it is left out where there is nothing to say; or `nullable`, so that
/// it is `null` then. Its kind is a method of [`PayloadWriter`]. The order of the members is checked at compile time.
/// Objects inside a payload name the path of their members with `in`.
///
/// `without text` declares a payload of words and numbers alone, which has no leaf of the writer's.
macro_rules! payload {
    (
        $(#[$doc:meta])* $name:ident, $view:ident without text;
        $( $(#[$member_doc:meta])* $member:ident: $presence:ident $kind:ident $(($of:ident))?, )+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $( $(#[$member_doc])* pub $member: $crate::rer::payload::member_type!($presence L $kind $($of)?), )+
        }

        impl $name {
            /// Writes the members, in canonical order.
            pub fn write<L: $crate::rer::payload::Leaves, W: $crate::rer::payload::PayloadWriter<L>>(&self, out: &mut W) {
                $( $crate::rer::payload::write_member!($presence $kind, self.$member, stringify!($member), out); )+
            }
        }

        $crate::rer::payload::payload_view! { $name, $view in ""; $( $(#[$member_doc])* $member, )+ }
    };
    ($(#[$doc:meta])* $name:ident, $view:ident; $($members:tt)+) => {
        $crate::rer::payload::payload! { $(#[$doc])* $name, $view in ""; $($members)+ }
    };
    (
        $(#[$doc:meta])* $name:ident, $view:ident in $path:literal;
        $( $(#[$member_doc:meta])* $member:ident: $presence:ident $kind:ident $(($of:ident))?, )+
    ) => {
        $(#[$doc])*
        pub struct $name<L: $crate::rer::payload::Leaves> {
            $( $(#[$member_doc])* pub $member: $crate::rer::payload::member_type!($presence L $kind $($of)?), )+
        }

        impl<L: $crate::rer::payload::Leaves> $name<L> {
            /// Writes the members, in canonical order.
            pub fn write<W: $crate::rer::payload::PayloadWriter<L>>(&self, out: &mut W) {
                $( $crate::rer::payload::write_member!($presence $kind, self.$member, stringify!($member), out); )+
            }
        }

        $crate::rer::payload::payload_view! { $name, $view in $path; $( $(#[$member_doc])* $member, )+ }
    };
}

/// Declares the view of a payload.
macro_rules! payload_view {
    ($name:ident, $view:ident in $path:literal; $( $(#[$member_doc:meta])* $member:ident, )+) => {
        #[doc = concat!("View of a [`", stringify!($name), "`]: the members as they stand, right or wrong.")]
        #[derive(Debug, Clone, Copy)]
        pub struct $view<'v> {
            $( $(#[$member_doc])* pub $member: $crate::rer::payload::PayloadMember<'v>, )+
        }

        impl<'v> $view<'v> {
            /// Names of the members, in canonical order.
            pub const MEMBERS: &'static [&'static str] = &[$(stringify!($member)),+];

            /// Finds the members in one pass. A value that is not an object has none.
            pub fn read(payload: reenact_json::Value<'v>) -> Self {
                let [$($member),+] = payload.select_members([$(stringify!($member)),+]);
                Self { $( $member: $crate::rer::payload::PayloadMember::new(concat!($path, stringify!($member)), $member), )+ }
            }
        }

        const _: () = assert!($crate::rer::payload::is_sorted($view::MEMBERS), "members must be in canonical order");
    };
}

/// Type of a member in the struct that is written.
macro_rules! member_type {
    (required $leaves:ident $($kind:tt)+) => { $crate::rer::payload::leaf_type!($leaves $($kind)+) };
    ($presence:ident $leaves:ident $($kind:tt)+) => { Option<$crate::rer::payload::leaf_type!($leaves $($kind)+)> };
}

/// Type of a value of that kind.
macro_rules! leaf_type {
    ($leaves:ident text) => { $leaves::Text };
    ($leaves:ident texts) => { Vec<$leaves::Text> };
    ($leaves:ident text_map) => { Vec<(&'static str, $leaves::Text)> };
    ($leaves:ident json) => { $leaves::Json };
    ($leaves:ident body) => { $leaves::Body };
    ($leaves:ident headers) => { $leaves::Headers };
    ($leaves:ident object $of:ident) => { $of<$leaves> };
    ($leaves:ident objects $of:ident) => { Vec<$of<$leaves>> };
    ($leaves:ident hashed_files) => { Vec<($leaves::Text, reenact_json::Digest)> };
    ($leaves:ident addresses) => { Vec<core::net::SocketAddr> };
    ($leaves:ident word $of:ident) => { $of };
    ($leaves:ident constant) => { &'static str };
    ($leaves:ident step) => { $crate::rer::payload::StepId };
    ($leaves:ident digest) => { reenact_json::Digest };
    ($leaves:ident flag) => { bool };
    ($leaves:ident whole) => { u64 };
    ($leaves:ident whole_map) => { Vec<(&'static str, u64)> };
    ($leaves:ident integer) => { i64 };
    ($leaves:ident integers) => { Vec<i64> };
    ($leaves:ident double) => { f64 };
    ($leaves:ident money) => { $crate::rer::envelope::money::Money };
    ($leaves:ident money_map) => { Vec<(&'static str, $crate::rer::envelope::money::Money)> };
    ($leaves:ident chunks) => { Vec<$crate::rer::payload::Chunk> };
}

/// Writes a member, or `null` for one that is nullable and absent.
macro_rules! write_member {
    (required $kind:ident, $value:expr, $name:expr, $out:ident) => {
        $crate::rer::payload::write_leaf!($kind, &$value, $name, $out)
    };
    (optional $kind:ident, $value:expr, $name:expr, $out:ident) => {
        if let Some(value) = &$value {
            $crate::rer::payload::write_leaf!($kind, value, $name, $out);
        }
    };
    (nullable $kind:ident, $value:expr, $name:expr, $out:ident) => {
        match &$value {
            Some(value) => $crate::rer::payload::write_leaf!($kind, value, $name, $out),
            None => $out.null($name),
        }
    };
}

/// Writes a value of that kind.
macro_rules! write_leaf {
    (object, $value:expr, $name:expr, $out:ident) => {
        $out.object($name, |out| $value.write(out))
    };
    (objects, $value:expr, $name:expr, $out:ident) => {
        $out.objects($name, $value, |item, out| item.write(out))
    };
    (word, $value:expr, $name:expr, $out:ident) => {
        $out.constant($name, $value.name())
    };
    (constant, $value:expr, $name:expr, $out:ident) => {
        $out.constant($name, $value)
    };
    ($kind:ident, $value:expr, $name:expr, $out:ident) => {
        $out.$kind($name, $value)
    };
}

pub(crate) use {leaf_type, member_type, payload, payload_view, write_leaf, write_member};

/// Returns true if names ascend byte by byte, which for ASCII is canonical order (RFC 8785 §3.2.3).
const fn is_sorted(names: &[&str]) -> bool {
    let mut at = 1;
    while at < names.len() {
        if !is_before(names[at - 1].as_bytes(), names[at].as_bytes()) {
            return false;
        }
        at += 1;
    }
    true
}

const fn is_before(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() {
        if left[at] != right[at] {
            return left[at] < right[at];
        }
        at += 1;
    }
    left.len() < right.len()
}

#[cfg(test)]
mod tests;
