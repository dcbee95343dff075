//! Parser of reports as an agent in any language sends them: `{"type": "rer.plan.started", "payload": {…}}`.

use std::borrow::Cow;

use reenact_formats::rer::EventType;
use reenact_formats::rer::payload::{
    ArtifactWrittenView, OutputFinalView, PayloadMember, PlanStartedView, PromptRenderedView,
    StepCompletedView, VerificationRanView,
};
use reenact_json::{Digest, Limits, Shown, Value, ValueKind};

use super::AgentReport;

/// Reason why a text is no valid report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentReportFault {
    /// The text is not JSON by the strict rules; the message says where.
    #[error("it is not JSON: {0}")]
    Json(String),
    /// The type is missing, or agents may not report it.
    #[error("type: must be one of {}, and this is {found}", types())]
    Type {
        /// The type, escaped for printing.
        found: String,
    },
    /// A member of the payload is missing, or has a wrong value.
    #[error("payload.{member}: must be {wanted}")]
    Member {
        /// Name of the member.
        member: &'static str,
        /// Description of a correct value.
        wanted: &'static str,
    },
    /// An unknown member.
    #[error("{member}: there is no such member")]
    UnknownMember {
        /// Name of the member, escaped for printing.
        member: String,
    },
}

/// Returns the names of the event types that agents may report. Events that the recorder observes are not among them.
fn types() -> String {
    EventType::names(EventType::may_be_reported).join(", ")
}

/// Parses a report, and passes it to `take`. The report borrows from `text`, so it cannot be returned.
///
/// # Errors
/// [`AgentReportFault`] names the first fault. Unknown members are faults too: a misspelled name must not be dropped
/// silently.
pub fn parse<R>(text: &[u8], take: impl FnOnce(&AgentReport<'_>) -> R) -> Result<R, AgentReportFault> {
    let document = Value::parse(text, &Limits::default())
        .map_err(|error| AgentReportFault::Json(error.describe(text)))?;
    check_members(document, "", &["payload", "type"])?;
    let name = document.member("type").and_then(|name| name.string());
    let known = name.as_deref().and_then(EventType::of_name).filter(|known| known.may_be_reported());
    let Some(event_type) = known else {
        let found = name.map_or("none".to_owned(), |other| format!("\"{}\"", Shown::new(&other)));
        return Err(AgentReportFault::Type { found });
    };
    let payload = document.member("payload").filter(|payload| payload.kind() == ValueKind::Object);
    let payload = payload.ok_or(AgentReportFault::Member { member: "*", wanted: "an object" })?;
    // The source is always `reported`, and not for the agent to state.
    let members: Vec<&str> =
        event_type.members().iter().copied().filter(|member| *member != "source").collect();
    check_members(payload, "payload.", &members)?;
    match event_type {
        EventType::PromptRendered => {
            let view = PromptRenderedView::read(payload);
            let (prompt, template) = (required_text(view.prompt)?, optional_text(view.template)?);
            let (template, variables) = (template.as_deref(), json(view.variables));
            Ok(take(&AgentReport::PromptRendered {
                template,
                variables: variables.as_deref(),
                prompt: &prompt,
            }))
        }
        EventType::PlanStarted => {
            let view = PlanStartedView::read(payload);
            let plan_hash = optional(view.plan_hash, HEX_DIGITS, hash)?;
            let steps = json(view.steps).ok_or_else(|| member_fault(view.steps, PRESENT))?;
            Ok(take(&AgentReport::PlanStarted { plan_hash, steps: &steps }))
        }
        EventType::StepCompleted => {
            let view = StepCompletedView::read(payload);
            let (step_id, status) = (required_text(view.step_id)?, required_text(view.status)?);
            let iterations = optional(view.iterations, WHOLE_NUMBER, |value| value.unsigned_integer())?;
            let utility = optional(view.utility, UTILITY, utility)?;
            Ok(take(&AgentReport::StepCompleted { step_id: &step_id, status: &status, iterations, utility }))
        }
        EventType::VerificationRan => {
            let view = VerificationRanView::read(payload);
            let commands = list(view.commands, "a list of texts", |value| value.string())?;
            let exit_codes = list(view.exit_codes, "a list of exit codes", exit_code)?;
            let delta = json(view.delta).unwrap_or_else(|| "null".to_owned());
            let commands: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
            let (commands, exit_codes) = (commands.as_slice(), exit_codes.as_slice());
            Ok(take(&AgentReport::VerificationRan { commands, exit_codes, delta: &delta }))
        }
        EventType::ArtifactWritten => {
            let view = ArtifactWrittenView::read(payload);
            let artifact_hash = required(view.artifact_hash, HEX_DIGITS, hash)?;
            let size_bytes = required(view.size_bytes, WHOLE_NUMBER, |value| value.unsigned_integer())?;
            let (name, media_type) = (required_text(view.name)?, optional_text(view.media_type)?);
            let media_type = media_type.as_deref();
            Ok(take(&AgentReport::ArtifactWritten { artifact_hash, name: &name, size_bytes, media_type }))
        }
        EventType::OutputFinal => {
            let view = OutputFinalView::read(payload);
            let text = view.output.raw().and_then(|output| output.string()).map(Cow::into_owned);
            let output =
                text.or_else(|| json(view.output)).ok_or_else(|| member_fault(view.output, PRESENT))?;
            Ok(take(&AgentReport::OutputFinal { output: &output }))
        }
        other => Err(AgentReportFault::Type { found: format!("\"{}\"", other.name()) }),
    }
}

const PRESENT: &str = "there";
const HEX_DIGITS: &str = "64 hexadecimal digits";
const WHOLE_NUMBER: &str = "a whole number";
const UTILITY: &str = "a number from -1 to 1";

fn member_fault(member: PayloadMember<'_>, wanted: &'static str) -> AgentReportFault {
    AgentReportFault::Member { member: member.path(), wanted }
}

fn optional<'v, T>(
    member: PayloadMember<'v>,
    wanted: &'static str,
    read: impl FnOnce(Value<'v>) -> Option<T>,
) -> Result<Option<T>, AgentReportFault> {
    member.read(wanted, read).map_err(|_| member_fault(member, wanted))
}

fn required<'v, T>(
    member: PayloadMember<'v>,
    wanted: &'static str,
    read: impl FnOnce(Value<'v>) -> Option<T>,
) -> Result<T, AgentReportFault> {
    optional(member, wanted, read)?.ok_or_else(|| member_fault(member, wanted))
}

fn optional_text(member: PayloadMember<'_>) -> Result<Option<Cow<'_, str>>, AgentReportFault> {
    optional(member, "a text", |value| value.string())
}

fn required_text(member: PayloadMember<'_>) -> Result<Cow<'_, str>, AgentReportFault> {
    required(member, "a text", |value| value.string())
}

fn list<'v, T>(
    member: PayloadMember<'v>,
    wanted: &'static str,
    read: impl Fn(Value<'v>) -> Option<T>,
) -> Result<Vec<T>, AgentReportFault> {
    let list = member.list(wanted, read).ok().flatten();
    list.ok_or_else(|| member_fault(member, wanted))
}

/// Returns the value of a member as JSON text; `null` is a value too.
fn json(member: PayloadMember<'_>) -> Option<String> {
    Some(String::from_utf8_lossy(member.raw()?.text()).into_owned())
}

fn hash(value: Value<'_>) -> Option<[u8; 32]> {
    Some(*Digest::from_hex(&value.string()?)?.as_bytes())
}

/// Fails for a member of `object` that is not in the list.
fn check_members(object: Value<'_>, prefix: &str, members: &[&str]) -> Result<(), AgentReportFault> {
    let strange = |name: &Value<'_>| !members.iter().any(|known| name.is_string(known));
    match object.members().map(|(name, _)| name).find(strange) {
        None => Ok(()),
        Some(name) => {
            let name = name.string().unwrap_or_default();
            Err(AgentReportFault::UnknownMember { member: format!("{prefix}{}", Shown::new(&name)) })
        }
    }
}

/// Returns the utility of a step. What is outside of the range would be refused by every format that has a place for it.
fn utility(value: Value<'_>) -> Option<f64> {
    value.double().filter(|utility| (-1.0..=1.0).contains(utility))
}

fn exit_code(value: Value<'_>) -> Option<i32> {
    core::str::from_utf8(value.text()).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, String> {
        parse(text.as_bytes(), |report| format!("{report:?}")).map_err(|fault| fault.to_string())
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
                r#""rer.step.completed","payload":{"step_id":"1","status":"ok","utility":-1}"#.to_owned(),
                r#"StepCompleted { step_id: "1", status: "ok", iterations: None, utility: Some(-1.0) }"#,
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
            assert_eq!(parsed(&format!(r#"{{"type":{payload}}}"#)), Ok(expected.to_owned()));
        }
        let written = format!(
            r#"{{"type":"rer.artifact.written","payload":{{"artifact_hash":"{hash}","name":"a","size_bytes":3}}}}"#
        );
        assert!(parsed(&written).unwrap().starts_with("ArtifactWritten { artifact_hash: [171, "));
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
                r#"{"type":"rer.step.completed","payload":{"step_id":"1","status":"ok","utility":1.01}}"#,
                "payload.utility: must be a number from -1 to 1".to_owned(),
            ),
            (
                r#"{"type":"rer.step.completed","payload":{"step_id":"1","status":"ok","utility":-5}}"#,
                "payload.utility: must be a number from -1 to 1".to_owned(),
            ),
            (
                r#"{"type":"rer.verification.ran","payload":{"commands":["a"],"exit_codes":[0.5]}}"#,
                "payload.exit_codes: must be a list of exit codes".to_owned(),
            ),
        ] {
            assert_eq!(parsed(text), Err(expected), "{text}");
        }
        assert!(parsed("{").unwrap_err().starts_with("it is not JSON: "));
    }
}
