//! Reports as an agent in any language sends them: `{"type": "rer.plan.started", "payload": {…}}`.

use std::borrow::Cow;

use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{
    ArtifactWrittenView, Member, OutputFinalView, PlanStartedView, PromptRenderedView, StepCompletedView,
    VerificationRanView,
};
use reenact_json::{Digest, Kind, Limits, Shown, Value};

use super::Report;

/// Why a report is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportFault {
    /// Not JSON, by the strict rules.
    #[error("it is not JSON: {0}")]
    Json(String),
    /// A type that nobody may report, or none.
    #[error("type: must be one of {}, and this is {found}", types())]
    Type {
        /// What it is; safe to print.
        found: String,
    },
    /// A member that is missing, or is not what it should be.
    #[error("payload.{member}: must be {wanted}")]
    Member {
        /// Which.
        member: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// A member that the event does not have.
    #[error("{member}: there is no such member")]
    Stranger {
        /// Which; safe to print.
        member: String,
    },
}

/// Names of what may be reported. What was seen by others is not an agent's to tell.
fn types() -> String {
    EventType::names(EventType::may_be_reported).join(", ")
}

/// Reads a report, and hands it on.
pub fn read<R>(text: &[u8], take: impl FnOnce(&Report<'_>) -> R) -> Result<R, ReportFault> {
    let document =
        Value::parse(text, &Limits::default()).map_err(|error| ReportFault::Json(error.describe(text)))?;
    only(document, "", &["payload", "type"])?;
    let name = document.member("type").and_then(|name| name.string());
    let known = name.as_deref().and_then(EventType::of_name).filter(|known| known.may_be_reported());
    let Some(event_type) = known else {
        let found = name.map_or("none".to_owned(), |other| format!("\"{}\"", Shown::new(&other)));
        return Err(ReportFault::Type { found });
    };
    let payload = document.member("payload").filter(|payload| payload.kind() == Kind::Object);
    let payload = payload.ok_or(ReportFault::Member { member: "*", wanted: "an object" })?;
    // That it is only reported is not for the agent to say.
    let members: Vec<&str> =
        event_type.members().iter().copied().filter(|member| *member != "source").collect();
    only(payload, "payload.", &members)?;
    match event_type {
        EventType::PromptRendered => {
            let view = PromptRenderedView::read(payload);
            let (prompt, template) = (needed_text(view.prompt)?, text_of(view.template)?);
            let (template, variables) = (template.as_deref(), json(view.variables));
            Ok(take(&Report::PromptRendered { template, variables: variables.as_deref(), prompt: &prompt }))
        }
        EventType::PlanStarted => {
            let view = PlanStartedView::read(payload);
            let plan_hash = optional(view.plan_hash, DIGITS, hash)?;
            let steps = json(view.steps).ok_or_else(|| missing(view.steps, THERE))?;
            Ok(take(&Report::PlanStarted { plan_hash, steps: &steps }))
        }
        EventType::StepCompleted => {
            let view = StepCompletedView::read(payload);
            let (step_id, status) = (needed_text(view.step_id)?, needed_text(view.status)?);
            let iterations = optional(view.iterations, WHOLE, |value| value.whole())?;
            let utility = optional(view.utility, "a number", |value| value.double())?;
            Ok(take(&Report::StepCompleted { step_id: &step_id, status: &status, iterations, utility }))
        }
        EventType::VerificationRan => {
            let view = VerificationRanView::read(payload);
            let commands = list(view.commands, "a list of texts", |value| value.string())?;
            let exit_codes = list(view.exit_codes, "a list of exit codes", exit_code)?;
            let delta = json(view.delta).unwrap_or_else(|| "null".to_owned());
            let commands: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
            let (commands, exit_codes) = (commands.as_slice(), exit_codes.as_slice());
            Ok(take(&Report::VerificationRan { commands, exit_codes, delta: &delta }))
        }
        EventType::ArtifactWritten => {
            let view = ArtifactWrittenView::read(payload);
            let artifact_hash = needed(view.artifact_hash, DIGITS, hash)?;
            let size_bytes = needed(view.size_bytes, WHOLE, |value| value.whole())?;
            let (name, media_type) = (needed_text(view.name)?, text_of(view.media_type)?);
            let media_type = media_type.as_deref();
            Ok(take(&Report::ArtifactWritten { artifact_hash, name: &name, size_bytes, media_type }))
        }
        EventType::OutputFinal => {
            let view = OutputFinalView::read(payload);
            let text = view.output.raw().and_then(|output| output.string()).map(Cow::into_owned);
            let output = text.or_else(|| json(view.output)).ok_or_else(|| missing(view.output, THERE))?;
            Ok(take(&Report::OutputFinal { output: &output }))
        }
        other => Err(ReportFault::Type { found: format!("\"{}\"", other.name()) }),
    }
}

const THERE: &str = "there";
const DIGITS: &str = "64 hexadecimal digits";
const WHOLE: &str = "a whole number";

fn missing(member: Member<'_>, wanted: &'static str) -> ReportFault {
    ReportFault::Member { member: member.path(), wanted }
}

fn optional<'v, T>(
    member: Member<'v>,
    wanted: &'static str,
    read: impl FnOnce(Value<'v>) -> Option<T>,
) -> Result<Option<T>, ReportFault> {
    member.read(wanted, read).map_err(|_| missing(member, wanted))
}

fn needed<'v, T>(
    member: Member<'v>,
    wanted: &'static str,
    read: impl FnOnce(Value<'v>) -> Option<T>,
) -> Result<T, ReportFault> {
    optional(member, wanted, read)?.ok_or_else(|| missing(member, wanted))
}

fn text_of(member: Member<'_>) -> Result<Option<Cow<'_, str>>, ReportFault> {
    optional(member, "a text", |value| value.string())
}

fn needed_text(member: Member<'_>) -> Result<Cow<'_, str>, ReportFault> {
    needed(member, "a text", |value| value.string())
}

fn list<'v, T>(
    member: Member<'v>,
    wanted: &'static str,
    read: impl Fn(Value<'v>) -> Option<T>,
) -> Result<Vec<T>, ReportFault> {
    let list = member.list(wanted, read).ok().flatten();
    list.ok_or_else(|| missing(member, wanted))
}

/// Text of a member as JSON, also that of `null`.
fn json(member: Member<'_>) -> Option<String> {
    Some(String::from_utf8_lossy(member.raw()?.text()).into_owned())
}

fn hash(value: Value<'_>) -> Option<[u8; 32]> {
    Some(*Digest::from_hex(&value.string()?)?.as_bytes())
}

fn only(object: Value<'_>, prefix: &str, members: &[&str]) -> Result<(), ReportFault> {
    let strange = |name: &Value<'_>| !members.iter().any(|known| name.is_string(known));
    match object.members().map(|(name, _)| name).find(strange) {
        None => Ok(()),
        Some(name) => {
            let name = name.string().unwrap_or_default();
            Err(ReportFault::Stranger { member: format!("{prefix}{}", Shown::new(&name)) })
        }
    }
}

fn exit_code(value: Value<'_>) -> Option<i32> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<String, String> {
        read(text.as_bytes(), |report| format!("{report:?}")).map_err(|fault| fault.to_string())
    }

    #[test]
    fn each_type_is_read() {
        let hash = "ab".repeat(32);
        for (payload, expected) in [
            (r#""rer.output.final","payload":{"output":"done"}"#.to_owned(), r#"OutputFinal { output: "done" }"#),
            (r#""rer.output.final","payload":{"output":{"a":1}}"#.to_owned(), r#"OutputFinal { output: "{\"a\":1}" }"#),
            (
                r#""rer.plan.started","payload":{"steps":["a"]}"#.to_owned(),
                r#"PlanStarted { plan_hash: None, steps: "[\"a\"]" }"#,
            ),
            (
                r#""rer.step.completed","payload":{"step_id":"1","status":"ok","utility":0.5,"iterations":2}"#.to_owned(),
                r#"StepCompleted { step_id: "1", status: "ok", iterations: Some(2), utility: Some(0.5) }"#,
            ),
            (
                r#""rer.prompt.rendered","payload":{"prompt":"p","variables":{"x":1}}"#.to_owned(),
                r#"PromptRendered { template: None, variables: Some("{\"x\":1}"), prompt: "p" }"#,
            ),
            (
                r#""rer.verification.ran","payload":{"commands":["t"],"exit_codes":[-1],"delta":null}"#.to_owned(),
                r#"VerificationRan { commands: ["t"], exit_codes: [-1], delta: "null" }"#,
            ),
        ] {
            assert_eq!(told(&format!(r#"{{"type":{payload}}}"#)), Ok(expected.to_owned()));
        }
        let written = format!(
            r#"{{"type":"rer.artifact.written","payload":{{"artifact_hash":"{hash}","name":"a","size_bytes":3}}}}"#
        );
        assert!(told(&written).unwrap().starts_with("ArtifactWritten { artifact_hash: [171, "));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let types = types();
        for (text, expected) in [
            ("{}", format!("type: must be one of {types}, and this is none")),
            (
                r#"{"type":"rer.model.called","payload":{}}"#,
                format!("type: must be one of {types}, and this is \"rer.model.called\""),
            ),
            (r#"{"type":"rer.output.final"}"#, "payload.*: must be an object".to_owned()),
            (r#"{"type":"rer.output.final","payload":{}}"#, "payload.output: must be there".to_owned()),
            (
                r#"{"type":"rer.output.final","payload":{"output":1},"x":1}"#,
                "x: there is no such member".to_owned(),
            ),
            (
                r#"{"type":"rer.output.final","payload":{"output":1,"salt":1}}"#,
                "payload.salt: there is no such member".to_owned(),
            ),
            (
                r#"{"type":"rer.step.completed","payload":{"step_id":1,"status":"ok"}}"#,
                "payload.step_id: must be a text".to_owned(),
            ),
            (
                r#"{"type":"rer.verification.ran","payload":{"commands":["a"],"exit_codes":[0.5]}}"#,
                "payload.exit_codes: must be a list of exit codes".to_owned(),
            ),
        ] {
            assert_eq!(told(text), Err(expected), "{text}");
        }
        assert!(told("{").unwrap_err().starts_with("it is not JSON: "));
    }
}
