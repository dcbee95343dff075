//! Codes by which programs tell faults apart, and the check that each belongs to.
//!
//! Reports list the codes beside the reasons, so programs need not parse sentences.

use crate::check::CheckId;

use super::{HASHES, HEADER, LIFECYCLE, LINES, PAIRING, RECEIPT, TOTALS};

macro_rules! codes {
    ($($name:ident $text:literal $check:ident,)*) => {
        /// Kind of a fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum FaultCode {
            $($name,)*
        }

        impl FaultCode {
            /// Returns the code that reports use.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Returns the check that this fault fails.
            pub(super) fn check(self) -> CheckId {
                match self {
                    $(Self::$name => $check,)*
                }
            }
        }
    };
}

codes! {
    Bom "E_BOM" LINES,
    NotUtf8 "E_NOT_UTF8" LINES,
    BadJson "E_BAD_JSON" LINES,
    DuplicateName "E_DUPLICATE_NAME" LINES,
    TornTail "E_TORN_TAIL" LINES,
    LineTooLong "E_LINE_TOO_LONG" LINES,
    NotObject "E_NOT_OBJECT" LINES,
    NoEventTag "E_NO_EVENT_TAG" LINES,
    Field "E_FIELD" LINES,
    VerificationLengths "E_VERIFICATION_LENGTHS" LINES,
    // The same code as `Field`, but a bad member of the header fails the header check.
    HeaderField "E_FIELD" HEADER,
    HeaderNotFirst "E_HEADER_NOT_FIRST" HEADER,
    HeaderRepeated "E_HEADER_REPEATED" HEADER,
    Version "E_VERSION" HEADER,
    NoSessionStart "E_NO_SESSION_START" LIFECYCLE,
    SessionStartNotFirst "E_SESSION_START_NOT_FIRST" LIFECYCLE,
    SessionStartRepeated "E_SESSION_START_REPEATED" LIFECYCLE,
    NoSessionEnd "E_NO_SESSION_END" LIFECYCLE,
    SessionEndRepeated "E_SESSION_END_REPEATED" LIFECYCLE,
    EventAfterEnd "E_EVENT_AFTER_END" LIFECYCLE,
    CallIdRepeated "E_CALL_ID_REPEATED" PAIRING,
    CallWithoutResult "E_CALL_WITHOUT_RESULT" PAIRING,
    ResultWithoutCall "E_RESULT_WITHOUT_CALL" PAIRING,
    ResultRepeated "E_RESULT_REPEATED" PAIRING,
    TooManyCalls "E_TOO_MANY_CALLS" PAIRING,
    ParamsHash "E_PARAMS_HASH" HASHES,
    TotalToolCalls "E_TOTAL_TOOL_CALLS" TOTALS,
    TotalLatency "E_TOTAL_LATENCY" TOTALS,
    BadReceipt "R_BAD_RECEIPT" RECEIPT,
    ReceiptDigest "R_DIGEST" RECEIPT,
    ReplayHash "R_REPLAY_HASH" RECEIPT,
    SessionId "R_SESSION_ID" RECEIPT,
    Issue "R_ISSUE" RECEIPT,
    Policy "R_POLICY" RECEIPT,
    PlanHash "R_PLAN_HASH" RECEIPT,
    CallRepeated "R_CALL_ID_REPEATED" RECEIPT,
    CallNotInReplay "R_CALL_NOT_IN_REPLAY" RECEIPT,
    CallNotInReceipt "R_CALL_NOT_IN_RECEIPT" RECEIPT,
    Tool "R_TOOL" RECEIPT,
    CallParamsHash "R_PARAMS_HASH" RECEIPT,
    OutputHash "R_OUTPUT_HASH" RECEIPT,
    Utility "R_UTILITY" RECEIPT,
    Latency "R_LATENCY" RECEIPT,
    Verification "R_VERIFICATION" RECEIPT,
    Confidence "R_CONFIDENCE" RECEIPT,
    Metrics "R_METRICS" RECEIPT,
}

/// Finding that fails no check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Warning {
    /// A line of white space.
    BlankLine,
    /// A line that ends with CR LF.
    Crlf,
    /// The last line has no line feed.
    NoFinalNewline,
    /// A line that is not in canonical form.
    NotCanonical,
    /// A timestamp earlier than that of the event before.
    TimeBackwards,
}

impl Warning {
    /// Returns the code that reports use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BlankLine => "W_BLANK_LINE",
            Self::Crlf => "W_CRLF",
            Self::NoFinalNewline => "W_NO_FINAL_NEWLINE",
            Self::NotCanonical => "W_NOT_CANONICAL",
            Self::TimeBackwards => "W_TIME_BACKWARDS",
        }
    }

    /// Returns the words that follow the number of the first affected line.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::BlankLine => "is blank",
            Self::Crlf => "ends with CR LF, not LF",
            Self::NoFinalNewline => "is the last and has no line feed: the writer may have stopped inside it",
            Self::NotCanonical => {
                "is not spelled in canonical form; its values were checked, not its spelling"
            }
            Self::TimeBackwards => "is of an earlier time than the one before it",
        }
    }
}
