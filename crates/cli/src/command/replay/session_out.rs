//! `replay RUN --out NAME`: what the replay answered, as a Model IO session in the mode `replay`; or the artifact of a stub replay.
//!
//! | name | file | replay |
//! |---|---|---|
//! | `*model_io.json` | a session of what was answered | of a command |
//! | `*.rpk` | the played steps as an artifact, which `stub` writes | of an `.rpk` without a command |
//!
//! The file is made at the end, verified, and then gets its name. Start reading at [`SessionOut::write`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use reenact_formats::FormatId;
use reenact_json::Shown;
use reenact_keys::durable::{self, Readers};
use reenact_replay::Player;
use reenact_run::convert::export::model_io::replayed_session;
use reenact_verify::{Keys, Options, verify};

use crate::output::{self, CommandError};
use crate::quantity;

/// Value of `--out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplayOut {
    /// Session of what a command was answered.
    Session(SessionOut),
    /// Artifact of the steps that were played without one.
    Steps(PathBuf),
}

/// File that a session is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionOut(PathBuf);

/// Parses the value of `--out`, for clap.
///
/// # Errors
///
/// If the end of the name says nothing that a replay writes.
pub(super) fn replay_out(value: &OsStr) -> Result<ReplayOut, &'static str> {
    let path = Path::new(value);
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    match name {
        _ if value.as_encoded_bytes().ends_with(b"/") => {}
        name if name.ends_with("model_io.json") => {
            return Ok(ReplayOut::Session(SessionOut(path.to_owned())));
        }
        name if name.ends_with(".rpk") => return Ok(ReplayOut::Steps(path.to_owned())),
        _ => {}
    }
    Err(
        "the end of the name says what is written: *model_io.json (a session of what was answered), *.rpk (the played steps of an .rpk)",
    )
}

impl ReplayOut {
    /// Returns the session to write of a replay with a command.
    ///
    /// # Errors
    ///
    /// If something else is asked for, the name is taken, or nothing can be written there.
    pub(super) fn session(&self) -> Result<&SessionOut, CommandError> {
        match self {
            Self::Session(session) => session.require_writable().map(|()| session),
            Self::Steps(_) => Err(CommandError::impossible(
                "--out *.rpk is for an .rpk that is played without a command; a replay of a command writes *model_io.json",
            )),
        }
    }
}

impl SessionOut {
    /// Refuses a name that is taken or cannot be written, before the agent runs and not after.
    ///
    /// # Errors
    ///
    /// If there is a file of that name, or nothing can be written there.
    fn require_writable(&self) -> Result<(), CommandError> {
        durable::check_writable(&self.0, false).map_err(|error| CommandError::unwritable(&self.0, &error))
    }

    /// Writes the session of a replay that began and ended at these times, and prints a notice about it.
    ///
    /// # Errors
    ///
    /// If it exceeds a limit of the format, does not verify, or cannot be written.
    pub(super) fn write(&self, player: &Player, began: &str, ended: &str) -> Result<(), CommandError> {
        let name = self.0.to_string_lossy();
        let name = Shown::whole(&name);
        let failed =
            |why: &str| CommandError::impossible(format!("{name} was not written: {}", Shown::whole(why)));
        let answered: Vec<_> =
            player.served_prompts().iter().map(|served| (served.event_index, served.prompt)).collect();
        let session = replayed_session(player.run(), &answered, began, ended)
            .map_err(|error| failed(&error.to_string()))?;
        let options = Options { format: Some(FormatId::ModelIo), ..Options::default() };
        let report = verify(&session.bytes, &Keys::default(), &options);
        if !report.pass() {
            return Err(failed(report.reasons.first().map_or("it does not verify", String::as_str)));
        }
        durable::create(&self.0, &session.bytes, Readers::Owner)
            .map_err(|error| CommandError::unwritable(&self.0, &error))?;
        let interactions = quantity::count(session.interactions as u64, "interaction");
        output::print_notice(&format!("session of this replay: {name} ({interactions})"));
        if session.of_other_models > 0 {
            output::print_notice(&format!(
                "a session names one model: {} of them {} another one",
                quantity::grouped(session.of_other_models as u64),
                if session.of_other_models == 1 { "is of" } else { "are of" }
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_name_says_what_is_written() {
        for name in ["model_io.json", "x/again.model_io.json"] {
            assert_eq!(replay_out(OsStr::new(name)), Ok(ReplayOut::Session(SessionOut(name.into()))));
        }
        assert_eq!(replay_out(OsStr::new("x/again.rpk")), Ok(ReplayOut::Steps("x/again.rpk".into())));
        for name in ["", "again.json", "model_io.json/", "model_io.json.gz", "a.rpk/", "a.rer.json", "-"] {
            assert!(replay_out(OsStr::new(name)).is_err(), "{name}");
        }
    }
}
