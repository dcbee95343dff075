//! Artifact of a stub replay: the steps of another one, played and hashed anew, to the byte as the format's own programs write it.
//!
//! Every step gets two members in its metadata, which its hash covers, so that no step has the hash that it had in the source.
//! Members that the format does not know, step timestamps, and where the source came from are left out, as those programs do.
//! Start reading at [`stub_replay`].

use reenact_json::{Digest, Limits, Value, ValueKind, canonical};

use super::canonical::RpkForm;
use super::object_builder::{RpkObjectBuilder, json_list, json_string};
use super::write::{NewRpkStep, RpkDocumentBuilder, RpkRunHeader, RpkWriteError};
use super::{RpkHead, RpkStepView};

/// Seed of a replay for which none is given.
pub const DEFAULT_SEED: u64 = 0;

/// Time of a replay for which none is given, as documents have it.
pub const DEFAULT_CLOCK: &str = "2026-01-01T00:00:00.000000Z";

/// Mode of the replay.
const STUB: &str = "stub";

/// Writes the stub replay of an artifact. `seed` and `clock`, a time as documents have it, become part of its id and its metadata.
///
/// # Errors
///
/// [`RpkWriteError`] if the source is not of the published shape, or a path in it has no stable spelling.
pub fn stub_replay(source: &[u8], seed: u64, clock: &str) -> Result<Vec<u8>, RpkWriteError> {
    let head = RpkHead::read(source, &Limits::default())?;
    let run = head.run_members;
    let source_id = run.id.and_then(|id| id.string()).unwrap_or_default();
    let steps: Vec<RpkStepView<'_>> =
        run.steps.into_iter().flat_map(|steps| steps.elements()).map(RpkStepView::of).collect();
    let mut builder = RpkDocumentBuilder::new();
    let null = b"null".as_slice();
    for (index, step) in steps.iter().enumerate() {
        let text = |value: Option<Value<'_>>| {
            value.and_then(|value| value.string()).unwrap_or_default().into_owned()
        };
        let strategy =
            [("replay_strategy", json_string(STUB)), ("source_step_id", json_string(&text(step.id)))];
        builder.append(&NewRpkStep {
            id: &format!("step-{:06}", index + 1),
            step_type: &text(step.step_type),
            input: step.input.map_or(null, |input| input.text()),
            output: step.output.map_or(null, |output| output.text()),
            metadata: &with_members(step.metadata, &strategy),
            timestamp: None,
        })?;
    }
    let quoted_source = json_string(&source_id);
    let environment = [
        ("replay_mode", json_string(STUB)),
        ("replay_offline", b"true".to_vec()),
        ("source_run_id", quoted_source.clone()),
    ];
    let versions = [
        ("replay_fixed_clock", json_string(clock)),
        ("replay_mode", json_string(STUB)),
        ("replay_seed", json_string(&seed.to_string())),
    ];
    let (mode, seed_text, clock_text) =
        (json_string(STUB), seed.to_string().into_bytes(), json_string(clock));
    let id = replay_id(&source_id, &steps, seed, clock)?;
    builder.finish(
        &RpkRunHeader {
            version: "1.0",
            id: &id,
            timestamp: clock,
            environment_fingerprint: &with_members(run.environment_fingerprint, &environment),
            runtime_versions: &with_members(run.runtime_versions, &versions),
            extra_members: &[],
            metadata: &[
                ("fixed_clock", &clock_text),
                ("replay_mode", &mode),
                ("seed", &seed_text),
                ("source_run_id", &quoted_source),
            ],
            created_at: clock,
        },
        None,
    )
}

/// Returns the id of the replay: the beginning of a hash over its mode, its seed, its time, and the hashes of the source's steps.
fn replay_id(
    source_id: &str,
    steps: &[RpkStepView<'_>],
    seed: u64,
    clock: &str,
) -> Result<String, RpkWriteError> {
    let hash = |step: &RpkStepView<'_>| step.hash.map_or(b"null".to_vec(), |hash| hash.text().to_vec());
    let hashes: Vec<Vec<u8>> = steps.iter().map(hash).collect();
    let mut fingerprint = RpkObjectBuilder::new();
    fingerprint.text("source_id", source_id).raw("steps", &json_list(&hashes));
    let fingerprint = canonical_text(&fingerprint.close())?;
    let mut identity = RpkObjectBuilder::new();
    identity
        .text("fixed_clock", clock)
        .text("mode", STUB)
        .raw("seed", seed.to_string().as_bytes())
        .text("source_fingerprint", &String::from_utf8_lossy(&fingerprint));
    let digest = Digest::of(&canonical_text(&identity.close())?).to_string();
    Ok(format!("replay-{}", digest.get(..12).unwrap_or_default()))
}

/// Returns the canonical text of JSON.
fn canonical_text(text: &[u8]) -> Result<Vec<u8>, RpkWriteError> {
    let value = Value::parse(text, &Limits::default())
        .map_err(|error| RpkWriteError::Syntax { what: "the source", error })?;
    Ok(canonical::to_vec(value, RpkForm)?)
}

/// Returns an object with these members, which replace those of the same name.
fn with_members(object: Option<Value<'_>>, added: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = RpkObjectBuilder::new();
    let members = object.filter(|object| object.kind() == ValueKind::Object);
    for (name, value) in members.into_iter().flat_map(|object| object.members()) {
        if !added.iter().any(|(replaced, _)| name.is_string(replaced)) {
            builder.member(name, value);
        }
    }
    for (name, value) in added {
        builder.raw(name, value);
    }
    builder.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Artifact of two steps, with an environment that names a machine. Its hashes are not looked at.
    const SOURCE: &str = r#"{"version":"1.0","metadata":{"run_id":"r","created_at":"2026-02-21T14:00:00Z"},"payload":{"run":{"id":"r","timestamp":"2026-02-21T14:00:00Z","environment_fingerprint":{"os":"x","cwd":"/home/me","replay_mode":"old"},"runtime_versions":{"python":"3"},"provider":"p","steps":[{"id":"a","type":"model.request","input":{"model":"m"},"output":{},"metadata":{"model":"m"},"timestamp":"2026-02-21T14:00:01Z","hash":"sha256:00"},{"id":"b","type":"output.final","input":null,"output":[1],"metadata":{},"hash":"sha256:11"}]}},"checksum":"sha256:22"}"#;

    #[test]
    fn steps_are_copied_and_numbered_and_hashed_anew() {
        let replay = stub_replay(SOURCE.as_bytes(), 7, DEFAULT_CLOCK).unwrap();
        assert_eq!(replay, stub_replay(SOURCE.as_bytes(), 7, DEFAULT_CLOCK).unwrap(), "the same every time");
        let document = Value::parse(&replay, &Limits::default()).unwrap();
        let run = document.member("payload").unwrap().member("run").unwrap();
        let ids: Vec<_> = run
            .member("steps")
            .unwrap()
            .elements()
            .map(|step| step.member("id").unwrap().string().unwrap().into_owned())
            .collect();
        assert_eq!(ids, ["step-000001", "step-000002"]);
        let first = run.member("steps").unwrap().elements().next().unwrap();
        assert!(first.member("timestamp").unwrap().is_null());
        assert!(first.member("metadata").unwrap().member("source_step_id").unwrap().is_string("a"));
        let environment = run.member("environment_fingerprint").unwrap();
        assert!(environment.member("replay_mode").unwrap().is_string(STUB));
        assert!(environment.member("cwd").is_none() && run.member("provider").is_none());
        let metadata = document.member("metadata").unwrap();
        assert_eq!(metadata.member("seed").unwrap().unsigned_integer(), Some(7));
        assert!(metadata.member("run_id").unwrap().string().unwrap().starts_with("replay-"));
        assert_ne!(replay, stub_replay(SOURCE.as_bytes(), 8, DEFAULT_CLOCK).unwrap());
    }

    /// The hashed text is written out by hand, as the rule of the format's programs has it.
    #[test]
    fn the_id_follows_the_rule() {
        let text = br#"{"fixed_clock":"2026-01-01T00:00:00.000000Z","mode":"stub","seed":0,"source_fingerprint":"{\"source_id\":\"r\",\"steps\":[\"sha256:00\",\"sha256:11\"]}"}"#;
        let replay = stub_replay(SOURCE.as_bytes(), DEFAULT_SEED, DEFAULT_CLOCK).unwrap();
        let id = format!("replay-{}", &Digest::of(text).to_string()[..12]);
        assert!(String::from_utf8(replay).unwrap().contains(&format!("\"id\": \"{id}\"")));
    }
}
