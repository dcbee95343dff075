//! What a record says of how its run was started and ended, and how dialects read it.

use reenact_formats::FormatId;
use reenact_formats::rer::EventType;
use reenact_json::Value;

use crate::event::Event;
use crate::exit::Exit;
use crate::run::Run;

/// How a run was started and ended, by its record's own words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReportedOutcome {
    /// The word for how it ended.
    pub(crate) status: Option<String>,
    /// Why it ended so.
    pub(crate) reason: Option<String>,
    /// How its command ended.
    pub(crate) exit: Option<Exit>,
    /// The command. To be shown, never to be run.
    pub(crate) command: Vec<String>,
}

/// The text of a value that is one.
pub(crate) fn owned_string(value: Option<Value<'_>>) -> Option<String> {
    value?.string().map(|text| text.into_owned())
}

/// The texts of a list.
pub(crate) fn owned_strings(list: Option<Value<'_>>) -> Vec<String> {
    let list = list.into_iter().flat_map(|list| list.elements());
    list.filter_map(|element| owned_string(Some(element))).collect()
}

/// The events in the words of another format than RER.
pub(crate) fn foreign_events(run: &Run) -> impl DoubleEndedIterator<Item = Event<'_>> {
    run.events().filter(|event| event.payload_format() != FormatId::Rer)
}

/// The payload of the last of these events of a type.
pub(crate) fn last_foreign_payload(run: &Run, event_type: EventType) -> Option<Value<'_>> {
    foreign_events(run).rfind(|event| event.kind() == Some(event_type))?.payload().value()
}

/// The exit code that a number is.
pub(crate) fn read_exit_code(value: Value<'_>) -> Option<Exit> {
    let double = value.double().filter(|code| code.fract() == 0.0)?;
    let in_range = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&double);
    // In that range the double is an integer, and the cast is exact.
    #[allow(clippy::cast_possible_truncation)]
    in_range.then_some(Exit::Code(double as i32))
}
