//! `replay RUN --out NAME.model_io.json`: what the replay answered, as a Model IO session in the mode `replay`.
//!
//! The file is made when the agent has ended, verified, and then gets its name. Start reading at [`SessionOut::write`].

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

/// End of the names of sessions.
const SUFFIX: &str = "model_io.json";

/// Value of `--out`: the file that a session is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionOut(PathBuf);

/// Parses the value of `--out`, for clap.
///
/// # Errors
///
/// If the name is not one of a session.
pub(super) fn session_out(value: &OsStr) -> Result<SessionOut, String> {
    let path = Path::new(value);
    let is_session = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(SUFFIX));
    match is_session && !value.as_encoded_bytes().ends_with(b"/") {
        true => Ok(SessionOut(path.to_owned())),
        false => Err(format!(
            "a replay writes a Model IO session, whose name ends in {SUFFIX}, such as again.{SUFFIX}"
        )),
    }
}

impl SessionOut {
    /// Refuses a name that is taken or cannot be written, before the agent runs and not after.
    ///
    /// # Errors
    ///
    /// If there is a file of that name, or nothing can be written there.
    pub(super) fn require_writable(&self) -> Result<(), CommandError> {
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
    fn only_names_of_sessions() {
        for name in ["model_io.json", "x/again.model_io.json"] {
            assert_eq!(session_out(OsStr::new(name)), Ok(SessionOut(name.into())));
        }
        for name in ["", "again.json", "again.rpk", "model_io.json/", "model_io.json.gz", "-"] {
            assert!(session_out(OsStr::new(name)).is_err(), "{name}");
        }
    }
}
