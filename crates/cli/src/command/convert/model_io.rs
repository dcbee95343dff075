//! Choices of a Model IO session on the command line: the part of a request that is its prompt, and session or pack.
//!
//! A name that ends in a slash asks for a folder, which for Model IO is a pack: the session, and `run.json`, which names it.

use std::path::Path;

use reenact_formats::FormatId;
use reenact_run::convert::{ModelIoOptions, ModelIoPromptPart};

use crate::output::CommandError;

/// Values of `--prompt`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::command) enum PromptPartArg {
    /// The user's last text, where the request has one
    User,
    /// The whole body
    Body,
}

/// Returns the choices for an output.
///
/// # Errors
///
/// If `--prompt` is given for another format, or a folder is named for a format that is one file.
pub(in crate::command) fn options(
    to: FormatId,
    out: Option<&Path>,
    prompt: Option<PromptPartArg>,
) -> Result<ModelIoOptions, CommandError> {
    if prompt.is_some() && to != FormatId::ModelIo {
        return Err(CommandError::impossible(
            "--prompt goes with model-io: no other format has a hash of the prompt in place of the prompt",
        ));
    }
    let folder = out.filter(|out| names_folder(out));
    let prompt = match prompt {
        None | Some(PromptPartArg::User) => ModelIoPromptPart::UserText,
        Some(PromptPartArg::Body) => ModelIoPromptPart::Body,
    };
    Ok(ModelIoOptions { prompt, is_pack: folder.is_some() && to == FormatId::ModelIo })
}

/// Returns true if a path ends in a slash, and so is to be a folder.
fn names_folder(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    last.is_some_and(|last| std::path::is_separator(char::from(*last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_asks_for_a_pack() {
        let is_pack = |to, out: &str| options(to, Some(Path::new(out)), None).map(|options| options.is_pack);
        assert!(is_pack(FormatId::ModelIo, "p1/").unwrap());
        assert!(!is_pack(FormatId::ModelIo, "p1").unwrap());
        assert!(!is_pack(FormatId::ReplayJsonl, "p1/").unwrap());
    }
}
