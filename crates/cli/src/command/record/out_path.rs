//! `record --out NAME`: the suffix of the name says what is made of the sealed run.
//!
//! | name | what is written |
//! |---|---|
//! | `*.rer.json` | the artifact, which then lies there and not in the state folder |
//! | `*.rer.tar.gz` | an RER bundle of it |
//! | `*.rpk`, `*model_io.json` | the run in these formats |
//! | `NAME/` | a folder with REPLAY.jsonl, its receipt and its summary |
//! | `*.tar.gz` | a Replay Bundle |
//!
//! Any other name is refused when the command line is read. Start reading at [`out_path`].

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_keys::durable;

use crate::output::CommandError;

/// Value of `--out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutPath {
    /// Path of the file or the folder, without a slash at its end.
    pub(super) path: PathBuf,
    /// File or folder that is written there.
    pub(super) form: OutForm,
}

/// Place and form that `--out` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutForm {
    /// The artifact itself.
    Artifact,
    /// An RER bundle; the artifact stays in the state folder.
    Bundle,
    /// The run in another format; the artifact stays in the state folder.
    Converted(FormatId),
}

/// Forms by the end of the name; the first that fits counts.
const SUFFIXES: [(&str, OutForm); 6] = [
    (".rer.json", OutForm::Artifact),
    (".rer.tar.gz", OutForm::Bundle),
    (".rpk", OutForm::Converted(FormatId::Rpk)),
    ("model_io.json", OutForm::Converted(FormatId::ModelIo)),
    ("/", OutForm::Converted(FormatId::ReplayJsonl)),
    (".tar.gz", OutForm::Converted(FormatId::ReplayBundle)),
];

/// Parses the value of `--out`, for clap.
///
/// # Errors
///
/// If the name ends in none of the suffixes, or a folder has no name of its own.
pub(super) fn out_path(value: &OsStr) -> Result<OutPath, String> {
    let name = value.to_string_lossy();
    let form = SUFFIXES.into_iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, form)| form);
    let path: PathBuf = Path::new(value).components().collect();
    match form {
        Some(form) if path.file_name().is_some() => Ok(OutPath { path, form }),
        _ => Err("the end of the name says what is written: *.rer.json (artifact), *.rer.tar.gz (RER bundle), *.rpk, *model_io.json, NAME/ (REPLAY.jsonl and its companions), *.tar.gz (Replay Bundle)".into()),
    }
}

impl OutPath {
    /// Refuses a name that is taken or cannot be written, before the agent runs and not after. The artifact's own place is
    /// checked when the run begins. Folders are never replaced.
    ///
    /// # Errors
    ///
    /// If the name is taken and `replaces` is false, or nothing can be written there.
    pub(super) fn require_writable(&self, replaces: bool) -> Result<(), CommandError> {
        let replaces = match self.form {
            OutForm::Artifact => return Ok(()),
            OutForm::Converted(FormatId::ReplayJsonl) => false,
            OutForm::Bundle | OutForm::Converted(_) => replaces,
        };
        durable::check_writable(&self.path, replaces)
            .map_err(|error: io::Error| CommandError::unwritable(&self.path, &error))
    }

    /// Returns the path if it is the artifact's own.
    pub(super) fn artifact(&self) -> Option<&Path> {
        (self.form == OutForm::Artifact).then_some(self.path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_say_what_is_written() {
        let form = |name: &str| out_path(OsStr::new(name)).map(|out| out.form).ok();
        let converted = |id| Some(OutForm::Converted(id));
        assert_eq!(form("a.rer.json"), Some(OutForm::Artifact));
        assert_eq!(form("x/a.rer.tar.gz"), Some(OutForm::Bundle));
        assert_eq!(form("a.rpk"), converted(FormatId::Rpk));
        assert_eq!(form("model_io.json"), converted(FormatId::ModelIo));
        assert_eq!(form("a.model_io.json"), converted(FormatId::ModelIo));
        assert_eq!(form("x/session/"), converted(FormatId::ReplayJsonl));
        assert_eq!(form("a.tar.gz"), converted(FormatId::ReplayBundle));
        for name in ["", "a", "a.json", "a.tgz", "a.rer", "a.replay", "/", "../", "-", "a.rpk.txt"] {
            assert_eq!(form(name), None, "{name}");
        }
    }

    #[test]
    fn a_folder_is_named_without_its_slash() {
        let out = out_path(OsStr::new("x/session//")).unwrap();
        assert_eq!(out.path, Path::new("x/session"));
    }
}
