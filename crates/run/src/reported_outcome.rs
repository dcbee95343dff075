//! Outcome of a run as its record reports it, and functions by which readers find it.

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_json::Value;

use crate::event::Event;
use crate::exit::Exit;
use crate::run::Run;

/// Command and outcome of a run, by the record's own word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReportedOutcome {
    /// Status, such as `completed`.
    pub(crate) status: Option<String>,
    /// Reason of the status.
    pub(crate) reason: Option<String>,
    /// Exit of the command.
    pub(crate) exit: Option<Exit>,
    /// Command and arguments. To be shown, never to be run.
    pub(crate) command: Vec<String>,
}

/// Returns the text of a value that is a string.
pub(crate) fn owned_string(value: Option<Value<'_>>) -> Option<String> {
    value?.string().map(|text| text.into_owned())
}

/// Returns the strings of a list; other elements are left out.
pub(crate) fn owned_strings(list: Option<Value<'_>>) -> Vec<String> {
    let list = list.into_iter().flat_map(|list| list.elements());
    list.filter_map(|element| owned_string(Some(element))).collect()
}

/// Returns the events whose payload is in another format than RER.
pub(crate) fn foreign_events(run: &Run) -> impl DoubleEndedIterator<Item = Event<'_>> {
    run.events().filter(|event| event.payload_format() != FormatId::Rer)
}

/// Returns the payload of the last event of a type that is in another format than RER.
pub(crate) fn last_foreign_payload(run: &Run, event_type: EventType) -> Option<Value<'_>> {
    foreign_events(run).rfind(|event| event.kind() == Some(event_type))?.payload().value()
}

/// Returns a number as an exit code; `None` if it is no integer of 32 bits.
pub(crate) fn read_exit_code(value: Value<'_>) -> Option<Exit> {
    let double = value.double().filter(|code| code.fract() == 0.0)?;
    let in_range = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&double);
    // In that range the double is an integer, and the cast is exact.
    #[allow(clippy::cast_possible_truncation)]
    in_range.then_some(Exit::Code(double as i32))
}
