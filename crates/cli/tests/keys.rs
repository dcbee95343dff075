//! Keys over their whole life: records that are signed with them verify where they should, and no output shows a secret.
//!
//! `cases` has what a single command does without any key; these tests take several commands.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod keys {
    mod export;
    mod lifecycle;
    mod listing;
    #[cfg(unix)]
    mod permissions;
    mod trust;
}
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use reenact_formats::key::PublicKey;
use reenact_formats::rer::RerVersion;
use reenact_formats::rer::seal::{ArtifactBuilder, NewEvent, RerRunHeader, Signer};
use reenact_keys::{KeyStore, SecretKey};
use support::folder::Folder;
use support::text;

/// A user: a folder to work in, and a configuration.
struct User {
    folder: Folder,
}

/// Exit code, standard output, standard error.
struct CommandOutput(Option<i32>, String, String);

impl CommandOutput {
    /// Panics unless the command succeeded without a notice; returns its output.
    fn expect_success(self) -> String {
        assert_eq!((self.0, self.2.as_str()), (Some(0), ""), "{}", self.1);
        self.1
    }

    /// Panics unless the command failed with exactly this message.
    fn expect_failure(self, code: i32, said: &str) {
        assert_eq!((self.0, self.1.as_str()), (Some(code), ""), "{}", self.2);
        let said = format!("reenact: {said}\n");
        assert!(text::matches(&said, &self.2), "{}", text::difference(&said, &self.2));
    }
}

impl User {
    fn new() -> Self {
        Self { folder: Folder::with_repository() }
    }

    fn config(&self) -> PathBuf {
        self.folder.home().join("reenact")
    }

    fn store(&self) -> KeyStore {
        KeyStore::new(self.config().join("keys"))
    }

    fn secret(&self, name: &str) -> SecretKey {
        self.store().load(&name.parse().unwrap()).unwrap()
    }

    fn public(&self, name: &str) -> PublicKey {
        self.secret(name).public_key()
    }

    fn id(&self, name: &str) -> String {
        self.public(name).id().to_string()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn trust_file(&self) -> String {
        fs::read_to_string(self.config().join("trust.json")).unwrap()
    }

    /// Runs a command that may print a secret.
    fn run_unchecked(&self, line: &str) -> CommandOutput {
        let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), &self.folder);
        let output = command.args(line.split(' ')).stdin(Stdio::null()).output().unwrap();
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput(output.status.code(), utf8(output.stdout), utf8(output.stderr))
    }

    /// Runs a command, and panics if it prints a secret of the user, old or new.
    fn run(&self, line: &str) -> CommandOutput {
        let mut secrets = self.secrets();
        let came = self.run_unchecked(line);
        secrets.extend(self.secrets());
        for secret in secrets {
            for said in [&came.1, &came.2] {
                assert!(!said.contains(&secret), "{line}: shows a secret");
            }
        }
        came
    }

    /// Returns `d` of every key, in base64url as it is stored, and in hexadecimal.
    fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        for name in self.store().list().unwrap() {
            let Ok(text) = fs::read_to_string(self.store().path(&name)) else { continue };
            let Some((_, rest)) = text.split_once("\"d\":\"") else { continue };
            let d = rest.split('"').next().unwrap();
            found.push(d.to_owned());
            found.push(hex(d));
        }
        found
    }

    /// Returns exit code and `signer` of `verify --json`.
    fn verdict(&self, arguments: &str) -> (Option<i32>, String) {
        let came = self.run(&format!("verify --json {arguments}"));
        assert_eq!(came.2, "", "{arguments}");
        assert!(came.1.contains("\"pass\":true"), "{}", came.1);
        let (_, signer) = came.1.split_once("\"signer\":{").unwrap();
        (came.0, signer.split('}').next().unwrap().to_owned())
    }
}

/// Converts base64url to hexadecimal.
fn hex(base64: &str) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: String = base64
        .bytes()
        .map(|byte| format!("{:06b}", alphabet.iter().position(|known| *known == byte).unwrap()))
        .collect();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|byte| {
            let byte = u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap();
            format!("{byte:02x}")
        })
        .collect()
}

fn signer(id: &str, trust: &str, label: Option<&str>) -> String {
    let label = label.map_or("null".to_owned(), |label| format!("\"{label}\""));
    format!("\"key_id\":\"{id}\",\"trust\":\"{trust}\",\"label\":{label}")
}

/// Returns a record of a run, signed with the key.
fn record(key: &SecretKey) -> Vec<u8> {
    let envelope = br#"{
        "envelope_version": "rer-envelope/0.2", "expiry": "2030-01-01T00:00:00Z",
        "limits": {"max_steps": 10, "max_spend_usd": 1, "rate_limit_rpm": 60}, "metadata": {},
        "permissions": {"allowed_models": ["*"], "allowed_tools": ["*"]}, "required_approvals": [],
        "required_signer_types": []
    }"#;
    let mut chain = ArtifactBuilder::new(RerVersion::V02);
    for (at, event_type) in (0..).zip(["rer.run.started", "rer.run.ended"]) {
        let timestamp = "2026-05-13T12:00:00.000Z";
        let event = NewEvent { step_index: at, event_type, timestamp, payload: Some(b"{}"), redacted: false };
        chain.append(&event).unwrap();
    }
    let header =
        RerRunHeader { run_id: "run", implementation: "test", version: "1", envelope, manifest_hash: None };
    chain.seal(&header, key).unwrap()
}
