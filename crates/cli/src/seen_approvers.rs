//! Approvers that earlier runs had: `seen_approvers.json` in the user's configuration folder.
//!
//! ```json
//! {"version":1,"keys":["…"]}
//! ```
//!
//! The file only decides which approvers `record` names at its start. It proves nothing: whoever runs as the user can change it. Start
//! reading at [`SeenApprovers`].

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use reenact_formats::key::KeyId;
use reenact_json::{Limits, Shown, Value, ValueKind};
use reenact_keys::durable::{self, Readers};

use crate::config::UserConfig;

/// Longest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// File of the approvers that earlier runs had. It need not exist.
pub(crate) struct SeenApprovers {
    path: PathBuf,
}

impl SeenApprovers {
    /// Returns the file of a user.
    pub(crate) fn new(config: &UserConfig) -> Self {
        Self { path: config.file("seen_approvers.json") }
    }

    /// Reads the keys; none if there is no file yet.
    ///
    /// # Errors
    ///
    /// What is wrong with the file, safe to print.
    pub(crate) fn load(&self) -> Result<BTreeSet<KeyId>, String> {
        // Anything else than a file could make the command wait.
        if std::fs::metadata(&self.path).is_ok_and(|found| !found.is_file()) {
            return Err(self.fault("is no file"));
        }
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            file => file.map_err(|error| self.fault(&error.to_string()))?,
        };
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(|error| self.fault(&error.to_string()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(self.fault("is too large"));
        }
        parse(&text).ok_or_else(|| self.fault("is no list of approvers"))
    }

    /// Replaces the file, closed to other users, as a whole or not at all.
    ///
    /// # Errors
    ///
    /// The error of the file system, safe to print.
    pub(crate) fn save(&self, keys: &BTreeSet<KeyId>) -> Result<(), String> {
        let keys: Vec<String> = keys.iter().map(|id| format!("\"{id}\"")).collect();
        let text = format!("{{\"version\":1,\"keys\":[{}]}}\n", keys.join(","));
        let failed = |error: io::Error| self.fault(&format!("cannot be written: {error}"));
        if let Some(folder) = self.path.parent() {
            durable::create_private_folder(folder).map_err(failed)?;
        }
        durable::replace(&self.path, text.as_bytes(), Readers::Owner).map_err(failed)
    }

    fn fault(&self, why: &str) -> String {
        format!("{}: {}", Shown::whole(&self.path.to_string_lossy()), Shown::new(why))
    }
}

fn parse(text: &[u8]) -> Option<BTreeSet<KeyId>> {
    let value = Value::parse(text, &Limits::default()).ok()?;
    let is_known = value.member("version")?.unsigned_integer() == Some(1);
    let keys = value.member("keys").filter(|keys| is_known && keys.kind() == ValueKind::Array)?;
    keys.elements().map(|id| KeyId::parse(&id.string()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let id = "A".repeat(43);
        let known: BTreeSet<KeyId> = [KeyId::parse(&id).unwrap()].into();
        assert_eq!(parse(format!(r#"{{"version":1,"keys":["{id}"]}}"#).as_bytes()), Some(known));
        assert_eq!(parse(br#"{"version":1,"keys":[]}"#), Some(BTreeSet::new()));
        for broken in [
            "",
            "[]",
            r#"{"keys":[]}"#,
            r#"{"version":2,"keys":[]}"#,
            r#"{"version":1}"#,
            r#"{"version":1,"keys":{}}"#,
            r#"{"version":1,"keys":["alice"]}"#,
            r#"{"version":1,"keys":[1]}"#,
            r#"{"version":1,"keys":[],"keys":[]}"#,
        ] {
            assert_eq!(parse(broken.as_bytes()), None, "{broken}");
        }
    }
}
