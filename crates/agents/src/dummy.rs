//! Dummy logins: what a replayed agent is given in place of the login that it was recorded with.
//!
//! Agents do other things with an account than with a key: other models, other headers, other addresses. A replay needs the kind
//! of the recorded login, also where nobody is logged in, and no credential that a server would take. Variables are preferred to
//! files, because a file moves the agent's folder of settings. Start reading at [`planned`].

use std::path::{Path, PathBuf};

use reenact_wire::Vendor;
use serde_json::Value;

use crate::launch::{OverlayFile, OverlayLink};
use crate::login;
use crate::plan::AgentContext;
use crate::row::{AgentRow, DummyRow, LoginKind, SetRow};
use crate::template;

/// Login of a recorded run, for its replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedLogin {
    /// Kind of the login.
    pub kind: LoginKind,
    /// Names of the models that were asked.
    pub models: Vec<String>,
}

/// Dummy login that a plan has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlannedDummy {
    /// Variable with its value.
    Variable { name: String, value: String },
    /// File in a folder of its own, to which a variable leads the agent.
    File {
        /// Variable that names the folder.
        variable: String,
        /// Folder below that the agent looks into.
        below: Option<String>,
        /// Name of the file.
        file: String,
        content: String,
        /// Texts in the content that stand for credentials.
        secrets: Vec<String>,
        /// The user's own folder, whose other files the agent finds as ever.
        own_folder: Option<PathBuf>,
    },
}

/// Text that stands for a token in files.
const TOKEN: &str = "reenact-dummy-token-0123456789abcdef";

/// Most entries of the user's folder that are linked.
const MAX_LINKS: usize = 1_000;

/// Returns the dummies for a login. A file is left out if the agent has a login of the kind on this machine: moving its folder would
/// change the paths that it names in its requests.
pub(crate) fn planned(recorded: &RecordedLogin, context: &AgentContext<'_>) -> Vec<PlannedDummy> {
    let is_asked = |model: &String| recorded.models.iter().any(|asked| asked.contains(model.as_str()));
    let rows = context.row.dummy.iter();
    let rows = rows.filter(|row| row.kind == recorded.kind && row.model.as_ref().is_none_or(is_asked));
    let is_logged_in = login::find(context) == recorded.kind;
    rows.filter_map(|row| match (&row.variable, &row.value) {
        (Some(name), Some(value)) => {
            Some(PlannedDummy::Variable { name: name.clone(), value: value.clone() })
        }
        _ if is_logged_in => None,
        _ => planned_file(row, context),
    })
    .collect()
}

fn planned_file(row: &DummyRow, context: &AgentContext<'_>) -> Option<PlannedDummy> {
    let name = row.folder.as_ref()?;
    let folder = context.row.folders.get(name)?;
    let jwt = row.claims.as_deref().map(token_with_claims);
    let value = |name: &str| match name {
        "token" => Some(TOKEN.to_owned()),
        "jwt" => jwt.clone(),
        _ => None,
    };
    Some(PlannedDummy::File {
        variable: folder.variable.clone(),
        below: folder.below.clone(),
        file: row.file.clone()?,
        content: template::expand(row.content.as_deref()?, value)?,
        secrets: [TOKEN.to_owned()].into_iter().chain(jwt.clone()).collect(),
        own_folder: context.path(&format!("${{{name}}}")),
    })
}

/// Returns the variables of the row's logins of other kinds, which must not be there: the agent would take one of them.
pub(crate) fn other_variables(row: &AgentRow, kind: LoginKind) -> Vec<String> {
    if kind == LoginKind::None {
        return Vec::new();
    }
    let others = row.login.iter().filter(|login| login.kind != kind);
    others.filter_map(|login| login.variable.clone()).collect()
}

/// Credential that a file of the agent sets over its environment, and what is set over that file.
pub(crate) struct CoveredVariable {
    pub(crate) name: String,
    /// A dummy; empty for a login of another kind than the recorded one, which the agent then does not see.
    pub(crate) value: String,
}

/// Returns the logins that files of the agent set as variables over its environment, each with what is to stand there.
pub(crate) fn covered_variables(kind: LoginKind, context: &AgentContext<'_>) -> Vec<CoveredVariable> {
    let mut covered: Vec<CoveredVariable> = Vec::new();
    let logins = context.row.login.iter().filter(|_| kind != LoginKind::None);
    for (name, login) in logins.filter_map(|login| Some((login.variable.as_ref()?, login))) {
        let Some(value) = context.effective.overridden(name) else { continue };
        if covered.iter().any(|known| known.name == *name) {
            continue;
        }
        let value = match login.kind == kind {
            true => Vendor::dummy_credential(name, value),
            false => String::new(),
        };
        covered.push(CoveredVariable { name: name.clone(), value });
    }
    covered
}

/// Returns the row's settings that set variables over all other files, as `{"env": {…}}`, and that an option gives.
pub(crate) fn strongest_settings(row: &AgentRow) -> Option<&SetRow> {
    let sets_variables = |set: &&SetRow| {
        let json = set.json.as_deref().and_then(|json| serde_json::from_str::<Value>(json).ok());
        set.option.is_some() && json.is_some_and(|json| json.get("env").is_some_and(Value::is_object))
    };
    row.set.iter().find(sets_variables)
}

impl PlannedDummy {
    /// Returns the variable and its value. Files go below `folder`.
    pub(crate) fn variable(&self, folder: &Path) -> (String, String) {
        match self {
            Self::Variable { name, value } => (name.clone(), value.clone()),
            Self::File { variable, .. } => {
                (variable.clone(), folder.join(FOLDER).to_string_lossy().into_owned())
            }
        }
    }

    /// Returns the file, and links to all else that the user's own folder has.
    pub(crate) fn files(&self, folder: &Path) -> Option<(OverlayFile, Vec<OverlayLink>)> {
        let Self::File { below, file, content, own_folder, .. } = self else { return None };
        let place = folder.join(FOLDER);
        let place = below.as_ref().map_or(place.clone(), |below| place.join(below));
        let entries = own_folder.iter().filter_map(|own| std::fs::read_dir(own).ok()).flatten().flatten();
        let others = entries.filter(|entry| entry.file_name() != **file).take(MAX_LINKS);
        let links =
            others.map(|entry| OverlayLink { path: place.join(entry.file_name()), target: entry.path() });
        let links = links.collect();
        Some((OverlayFile { path: place.join(file), content: content.clone(), is_program: false }, links))
    }

    /// Returns the texts that stand for credentials in files. Values of variables are known as such.
    pub(crate) fn secrets(&self) -> &[String] {
        match self {
            Self::Variable { .. } => &[],
            Self::File { secrets, .. } => secrets,
        }
    }
}

/// Name of the folder of dummy files among the overlay files.
const FOLDER: &str = "login";

/// Returns a JSON Web Token with these claims, which nobody signed.
fn token_with_claims(claims: &str) -> String {
    let parts = [r#"{"alg":"RS256","typ":"JWT"}"#, claims, "reenact-dummy-signature"];
    parts.map(|part| base64url(part.as_bytes())).join(".")
}

/// Returns bytes in base64url without padding (RFC 4648 §5).
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0, |group, byte| (group << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = (group >> (18 - 6 * place)) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_as_in_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
            ("\u{3ff}\u{3fe}~", "z7_Pvn4"),
        ] {
            assert_eq!(base64url(bytes.as_bytes()), text);
        }
    }
}
