//! [`RunFile`]: `run.json` in the folder of a run: where it was recorded, its command, and where its artifact is.
//!
//! ```text
//! {"artifact":null,"command":["python","agent.py"],"folder":"/home/me/project","format":"reenact-run/1",
//!  "more_arguments":0,"run_id":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f","started":"2026-11-19T09:00:00.000000Z"}
//! ```
//!
//! The file is not signed. It serves lists, and finds a run by the folder that it was recorded in; nothing that is believed
//! of a run comes from here. Secrets in it are masked, as they are in the record.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reenact_formats::rer::time;
use reenact_json::canonical;
use reenact_json::{Limits, Shown, Value};

use crate::clock;
use crate::durable::{self, Readers};
use crate::mask::{MaskedText, Masks};
use crate::payload::quote;
use crate::run_id::RunId;
use crate::start::RunStart;

/// Name of the file in the folder of a run.
pub(super) const FILE_NAME: &str = "run.json";

/// Version of the form.
const FORMAT: &str = "reenact-run/1";

/// Beginning of [`FORMAT`] in all versions.
const FORMAT_FAMILY: &str = "reenact-run/";

/// Longest such file, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// Longest command that is written, in bytes. Of a longer one the first arguments are.
const MAX_COMMAND_BYTES: usize = 8 << 10;

/// Longest path that is written, in bytes.
const MAX_PATH_BYTES: usize = 8 << 10;

/// Facts about a run, from its `run.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFile {
    /// Id of the run.
    pub run_id: RunId,
    /// Folder in which the command ran, as an absolute path; `None` if it is not known, or holds a secret.
    pub folder: Option<PathBuf>,
    /// Command and its first arguments, masked.
    pub command: Vec<String>,
    /// Number of arguments that were too long to be kept.
    pub more_arguments: u64,
    /// Time at which the run began, in RFC 3339.
    pub started: String,
    /// Absolute path of the artifact, if it was to be written elsewhere than into the folder of the run.
    pub artifact: Option<PathBuf>,
}

/// Reason why a `run.json` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFileFault {
    /// There is none.
    #[error("there is no run.json")]
    Missing,
    /// The name belongs to a link, a folder or a device.
    #[error("run.json is not a file")]
    NotAFile,
    /// The file is longer than any that is written here.
    #[error("run.json is longer than 256 KB")]
    TooLong,
    /// The file was written by a later version.
    #[error("run.json is of a form that this version does not know: {}", Shown::new(.format))]
    OtherVersion {
        /// Form that the file says it has.
        format: String,
    },
    /// The file is not of the form.
    #[error("run.json is broken")]
    Broken,
    /// The file is that of another run.
    #[error("run.json is that of another run: {run_id}")]
    OtherRun {
        /// Id in the file.
        run_id: RunId,
    },
    /// The operating system returned an error.
    #[error("run.json cannot be read: {kind}")]
    Io {
        /// Kind of the error.
        kind: io::ErrorKind,
    },
}

impl RunFile {
    /// Returns the facts about a run that begins. Its time is that of its id.
    pub(crate) fn new(start: &RunStart<'_>, masks: &Masks) -> Self {
        let (command, more_arguments) = bounded(masks.command(start.command));
        let folder = start.places.folder.and_then(|folder| spellable(folder, masks));
        Self {
            run_id: start.run_id,
            folder,
            command,
            more_arguments,
            started: clock::timestamp(start.run_id.created_at()),
            artifact: start.target.as_ref().and_then(|target| spellable(&target.path, masks)),
        }
    }

    /// Writes the file into the folder of the run.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        durable::create(&folder.join(FILE_NAME), &self.to_json(), Readers::Owner)
    }

    /// Writes the file again if it does not say where the sealed artifact is, or somebody removed it.
    ///
    /// An error is ignored: the artifact is there, and the file only helps to find it.
    pub(crate) fn note_artifact(&self, folder: &Path, artifact: &Path, masks: &Masks) {
        let beside = artifact.parent() == Some(folder);
        let artifact = if beside { None } else { spellable(artifact, masks) };
        let noted = Self { artifact, ..self.clone() };
        if Self::read(folder, self.run_id) != Ok(noted.clone()) {
            let _ = durable::replace(&folder.join(FILE_NAME), &noted.to_json(), Readers::Owner);
        }
    }

    /// Reads the file in the folder of a run.
    pub(super) fn read(folder: &Path, run_id: RunId) -> Result<Self, RunFileFault> {
        let path = folder.join(FILE_NAME);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => RunFileFault::Missing,
            kind => RunFileFault::Io { kind },
        };
        // A link or a pipe in its place is not opened.
        if !path.symlink_metadata().map_err(failed)?.is_file() {
            return Err(RunFileFault::NotAFile);
        }
        let mut text = Vec::new();
        File::open(&path).map_err(failed)?.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(RunFileFault::TooLong);
        }
        let run = Self::from_json(&text)?;
        if run.run_id != run_id {
            return Err(RunFileFault::OtherRun { run_id: run.run_id });
        }
        Ok(run)
    }

    /// Returns the file's text: canonical JSON and a line feed.
    fn to_json(&self) -> Vec<u8> {
        let mut text = b"{\"artifact\":".to_vec();
        write_path(self.artifact.as_deref(), &mut text);
        text.extend_from_slice(b",\"command\":[");
        for (at, argument) in self.command.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            quote(argument, &mut text);
        }
        text.extend_from_slice(b"],\"folder\":");
        write_path(self.folder.as_deref(), &mut text);
        text.extend_from_slice(b",\"format\":");
        quote(FORMAT, &mut text);
        text.extend_from_slice(format!(",\"more_arguments\":{},\"run_id\":", self.more_arguments).as_bytes());
        quote(&self.run_id.to_string(), &mut text);
        text.extend_from_slice(b",\"started\":");
        quote(&self.started, &mut text);
        text.extend_from_slice(b"}\n");
        text
    }

    /// Parses a file's text.
    fn from_json(text: &[u8]) -> Result<Self, RunFileFault> {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let run = Value::parse(line, &Limits::default()).map_err(|_| RunFileFault::Broken)?;
        let format = run.member("format").and_then(|format| format.string()).ok_or(RunFileFault::Broken)?;
        if format != FORMAT {
            return Err(match format.starts_with(FORMAT_FAMILY) {
                true => RunFileFault::OtherVersion { format: format.into_owned() },
                false => RunFileFault::Broken,
            });
        }
        let parsed = Self::from_members(run).ok_or(RunFileFault::Broken)?;
        // Whatever is not exactly as this program writes it was written by another.
        (parsed.to_json() == text).then_some(parsed).ok_or(RunFileFault::Broken)
    }

    fn from_members(run: Value<'_>) -> Option<Self> {
        let text = |name: &str| Some(run.member(name)?.string()?.into_owned());
        let path = |name: &str| match run.member(name)? {
            none if none.is_null() => Some(None),
            path => {
                let path = PathBuf::from(path.string()?.as_ref());
                path.is_absolute().then_some(Some(path))
            }
        };
        let command = run.member("command")?.elements().map(|argument| Some(argument.string()?.into_owned()));
        Some(Self {
            run_id: text("run_id")?.parse().ok()?,
            folder: path("folder")?,
            command: command.collect::<Option<_>>()?,
            more_arguments: run.member("more_arguments")?.unsigned_integer()?,
            started: text("started").filter(|started| time::is_rfc3339(started.as_bytes()))?,
            artifact: path("artifact")?,
        })
    }
}

/// Appends a path as a JSON string; null without one, and for one that is no UTF-8.
fn write_path(path: Option<&Path>, out: &mut Vec<u8>) {
    match path.and_then(Path::to_str) {
        Some(path) => canonical::write_string(path, out),
        None => out.extend_from_slice(b"null"),
    }
}

/// Returns a path by its whole name, if it can be spelled without masks.
fn spellable(path: &Path, masks: &Masks) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let text = path.to_str()?;
    (masks.text(text).as_str() == text && is_short(&path)).then_some(path)
}

fn is_short(path: &Path) -> bool {
    path.as_os_str().len() <= MAX_PATH_BYTES
}

/// Returns as many arguments as fit, and the number of the others.
fn bounded(command: Vec<MaskedText>) -> (Vec<String>, u64) {
    let (mut kept, mut bytes) = (Vec::new(), 0);
    let count = command.len();
    for argument in command {
        bytes += argument.as_str().len() + 1;
        if bytes > MAX_COMMAND_BYTES {
            break;
        }
        kept.push(argument.as_str().to_owned());
    }
    let more = (count - kept.len()) as u64;
    (kept, more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    use reenact_secrets::RulePack;

    use crate::start::ArtifactTarget;
    use crate::surroundings::RunPlaces;

    const ID: &str = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";

    fn run_file() -> RunFile {
        RunFile {
            run_id: ID.parse().unwrap(),
            folder: Some("/home/a \"b\"\n\u{1b}/中".into()),
            command: vec!["python".into(), "a\u{7f}gent.py".into()],
            more_arguments: 7,
            started: "2026-11-19T09:00:00.000000Z".into(),
            artifact: Some("/x/run.rer.json".into()),
        }
    }

    fn in_folder(folder: &str) -> RunPlaces<'_> {
        RunPlaces { folder: Some(Path::new(folder)), ..RunPlaces::default() }
    }

    #[test]
    fn comes_back_as_it_was_written() {
        let bare = RunFile { folder: None, artifact: None, command: Vec::new(), ..run_file() };
        for run in [run_file(), bare] {
            assert_eq!(RunFile::from_json(&run.to_json()), Ok(run));
        }
    }

    #[test]
    fn other_texts_are_none() {
        let good = String::from_utf8(run_file().to_json()).unwrap();
        for (part, other) in [
            ("{\"a", " {\"a"),
            ("{\"a", "{\"a\":0,\"a"),
            ("}\n", "}"),
            ("}\n", "}\n\n"),
            ("}\n", ",\"z\":0}\n"),
            ("\"/x/run.rer.json\"", "\"run.rer.json\""),
            ("\"/x/run.rer.json\"", "7"),
            ("\"/home/a", "\"home/a"),
            ("[\"python\"", "[null"),
            ("[\"python\"", "[\"\\u0070ython\""),
            (":7,", ":-7,"),
            (":7,", ":7.0,"),
            (":7,", ":99999999999999999999,"),
            ("017f", "../f"),
            ("2026-11", "2026-13"),
            ("reenact-run/1", "other/1"),
            (&good, ""),
            (&good, "{}"),
            (&good, "[]"),
        ] {
            assert!(good.contains(part), "{part}");
            let text = good.replacen(part, other, 1);
            assert_eq!(RunFile::from_json(text.as_bytes()), Err(RunFileFault::Broken), "{other}");
        }
        let later = good.replace("run/1", "run/\\u001b2");
        let format = "reenact-run/\u{1b}2".to_owned();
        let fault = RunFile::from_json(later.as_bytes()).unwrap_err();
        assert!(!fault.to_string().contains(char::is_control), "{fault}");
        assert_eq!(fault, RunFileFault::OtherVersion { format });
        let deep = "[".repeat(100_000);
        assert_eq!(RunFile::from_json(deep.as_bytes()), Err(RunFileFault::Broken));
    }

    #[test]
    fn secrets_are_masked_and_lengths_are_bounded() {
        let masks = Masks::new(RulePack::standard());
        masks.add_secret("environment", b"planted-secret");
        let long = "x".repeat(MAX_COMMAND_BYTES - 20);
        let command: Vec<OsString> =
            ["curl", "planted-secret", &long, "not kept"].map(OsString::from).to_vec();
        let run_id = ID.parse().unwrap();
        let target = ArtifactTarget { path: "/planted-secret/run.rer.json".into(), replace: false };
        let start = RunStart {
            command: &command,
            places: in_folder("/home/planted-secret"),
            target: Some(target),
            ..RunStart::new(run_id)
        };
        let run = RunFile::new(&start, &masks);
        assert_eq!(run.command, ["curl", "[masked:environment:1]"]);
        assert_eq!((run.more_arguments, run.folder, run.artifact), (2, None, None));
        assert_eq!(run.started, "2022-02-22T19:22:22.000000Z");
        let long = format!("/{}", "x".repeat(MAX_PATH_BYTES));
        let start = RunStart { places: in_folder(&long), ..RunStart::new(run_id) };
        assert_eq!(RunFile::new(&start, &masks).folder, None);
        let start = RunStart { places: in_folder("/home/me"), ..RunStart::new(run_id) };
        assert_eq!(RunFile::new(&start, &masks).folder, Some("/home/me".into()));
    }

    #[test]
    fn a_hostile_file_is_a_fault() {
        let dir = reenact_testkit::fixture::TestDir::new();
        let (folder, id): (&Path, RunId) = (dir.path(), ID.parse().unwrap());
        let path = folder.join(FILE_NAME);
        let read = || RunFile::read(folder, id);
        assert_eq!(read(), Err(RunFileFault::Missing));
        run_file().write(folder).unwrap();
        assert_eq!(read(), Ok(run_file()));
        let other = "019a8172-3a80-7d21-9f3e-2b6c5d4e3f2a".parse().unwrap();
        assert_eq!(RunFile::read(folder, other), Err(RunFileFault::OtherRun { run_id: id }));
        std::fs::write(&path, vec![b' '; 300 << 10]).unwrap();
        assert_eq!(read(), Err(RunFileFault::TooLong));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(read(), Err(RunFileFault::NotAFile));
        #[cfg(unix)]
        {
            std::fs::remove_dir(&path).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            assert_eq!(read(), Err(RunFileFault::NotAFile));
        }
    }
}
