//! A run from an RER artifact.

use reenact_formats::rer::artifact::ReadError;
use reenact_formats::rer::{ArtifactReader, Item, Noted};
use reenact_json::{Kind as JsonKind, Limits, Value};

use crate::index::{Index, Span};
use crate::kind::Kind;
use crate::open::NotARun;
use crate::run::{Parts, Producer};

/// Reads what a run keeps of an artifact.
pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Parts, NotARun> {
    let unreadable = |error: ReadError| {
        NotARun::Unreadable(match error {
            ReadError::Syntax(error) => error.describe(bytes),
            other => other.to_string(),
        })
    };
    let mut reader = ArtifactReader::open(bytes, limits).map_err(unreadable)?;
    let mut index = Index::default();
    while let Some(item) = reader.next_event().map_err(|error| unreadable(error.into()))? {
        let Item::Event(event) = item else {
            index.push(Kind::Other, [Span::default(); 3], false, None);
            continue;
        };
        let kind = event.event_type.and_then(|name| name.read_string(Kind::of_rer)).unwrap_or(Kind::Other);
        let withheld = event.is_redacted();
        let payload = event.payload.filter(|payload| !withheld && !payload.is_null());
        let parts = [event.event_type, event.timestamp, payload].map(|part| Span::of(part, bytes));
        index.push(kind, parts, withheld, event.noted(Noted::StepId));
    }
    let head = reader.into_head();
    if head.events != Some(JsonKind::Array) {
        return Err(NotARun::NoEvents);
    }
    let text = |value: Option<Value<'_>>| value?.string().map(|text| text.into_owned());
    let runtime = |name: &str| text(head.runtime.and_then(|runtime| runtime.member(name)));
    Ok(Parts {
        id: text(head.run_id).unwrap_or_default(),
        producer: Producer {
            name: runtime("implementation"),
            version: runtime("version"),
            key_id: runtime("key_id"),
        },
        envelope: Span::of(head.envelope, bytes),
        index: index.finish(),
    })
}
