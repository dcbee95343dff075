//! Records a run from a Rust program that is its own agent: `cargo run -p reenact-record --example record`.
//!
//! Agents in other languages are recorded from outside, by `reenact record -- CMD`. A program in Rust can also say itself what it
//! does, under an envelope that is enforced while it runs, and seal the run at the end.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use reenact_formats::rer::seal::Signer;
use reenact_keys::SecretKey;
use reenact_record::actor::ModelCall;
use reenact_record::{
    EventSource, RawAnswer, RawRequest, RawToolCall, RawToolResult, Recorder, RunEnd, RunId, RunStart,
    RunStatus, RunStore, ToolChannel,
};
use reenact_verify::{Keys, Options, verify};

/// One model, one tool, three steps.
const ENVELOPE: &[u8] = br#"{"envelope_version":"rer-envelope/0.2","limits":{"max_steps":3},"metadata":{},
    "permissions":{"allowed_models":["gpt-5"],"allowed_tools":["lookup"]}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::temp_dir().join(format!("reenact-example-{}", std::process::id()));
    let result = record(&folder).and_then(|(path, key)| check(&path, &key));
    fs::remove_dir_all(&folder)?;
    result
}

/// Records a model call, a tool call, and a call that the envelope denies. Returns the sealed artifact and its key.
fn record(folder: &Path) -> Result<(PathBuf, SecretKey), Box<dyn Error>> {
    let (store, key) = (RunStore::new(folder), SecretKey::generate()?);
    let start = RunStart { envelope: Some(ENVELOPE), ..RunStart::new(RunId::generate()?) };
    let recorder = Recorder::builder(&store, &key).begin(&start)?;
    let actor = recorder.actor()?;

    // Headers and bodies are masked before anything is written: the key below is in no file.
    let request = RawRequest {
        provider: "openai",
        method: "POST",
        path: "/v1/responses",
        headers: &[("authorization", b"Bearer sk-proj-correct-horse-battery-staple")],
        body: br#"{"model":"gpt-5","input":"Is invoice 2041 paid?"}"#,
    };
    let call = actor.model_call(&ModelCall::new(request, "gpt-5"))?;
    // Here the program asks its model.
    let answer =
        RawAnswer { status: Some(200), body: b"{\"output\":[]}", complete: true, ..RawAnswer::default() };
    call.finish(answer, None)?;

    let tool = actor.tool_call(&RawToolCall {
        tool_call_id: "call_1",
        tool: "lookup",
        input: r#"{"invoice":2041}"#,
        via: ToolChannel::Sdk,
        source: EventSource::Reported,
    })?;
    tool.finish(&RawToolResult { output: "unpaid", is_error: false, latency: None })?;

    match actor.model_call(&ModelCall::new(request, "gpt-4")) {
        Ok(_) => return Err("the envelope names one model".into()),
        Err(denied) => println!("{denied}"),
    }

    let ended = recorder.end(&RunEnd::new(RunStatus::Completed, "done"))?;
    let sealed = ended.seal(&key)?;
    println!("sealed {} events", sealed.counts.events);
    Ok((sealed.path, key))
}

/// Verifies the artifact as a stranger would, with the public key, and looks for the API key in it.
fn check(path: &Path, key: &SecretKey) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let mut keys = Keys::default();
    keys.add_supplied(key.public_key());
    let report = verify(&bytes, &keys, &Options::default());
    println!("{}", report.summary);
    let has_broken_rule = report.audit.as_ref().is_some_and(|audit| audit.ok() == Some(false));
    if !report.pass() || has_broken_rule {
        return Err(format!("{:?} {:?}", report.reasons, report.audit).into());
    }
    match String::from_utf8(bytes)?.contains("correct-horse") {
        true => Err("a secret was written".into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        super::main().unwrap();
    }
}
