//! The standing index of verified runs: which record each run had when it was first verified (RER §11.5).
//!
//! ```json
//! {"reenact_index":1}
//! {"digest":"9c56…","key_id":"tgAw…","run_id":"019a8172-…"}
//! ```
//!
//! A line names the key, the run, and the digest of the record's signed header, which every copy of the record has. A second record of a run
//! by the same key is noted, and with `--deny-duplicates` refused. The file is replaced as a whole, under a lock, so that it is never half
//! written and two writers lose nothing of each other. Start reading at [`RunIndex::update`].

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reenact_formats::key::KeyId;
use reenact_json::print::PrintObjectWriter;
use reenact_json::{Digest, Limits, Shown, Value, ValueKind};
use reenact_keys::durable::{self, Readers};
use reenact_verify::report::RunIdentity;
use reenact_verify::{Demands, TargetOutcome};

use crate::output::CommandError;

/// Largest index, in bytes: about a million runs.
const MAX_INDEX_BYTES: u64 = 256 << 20;

/// Longest id of a run that is entered as it is, in bytes. Ids are any text; a longer one is entered by its SHA-256.
const MAX_RUN_ID_BYTES: usize = 256;

/// First line of an index of this version.
const HEADER: &str = "{\"reenact_index\":1}";

/// Reason why a file is no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum RunIndexFault {
    #[error("it does not begin with {HEADER}: it is no index, or one of another version")]
    Header,
    #[error("line {line} is not an entry of digest, key_id and run_id")]
    Entry {
        /// Number of the line, from 1.
        line: usize,
    },
    #[error("line {line} has a run that an earlier line has")]
    Repeated {
        /// Number of the line, from 1.
        line: usize,
    },
    #[error("its last line has no end")]
    Unended,
    #[error("it is larger than {MAX_INDEX_BYTES} bytes")]
    TooLarge,
}

/// Key and id of a run.
type RunKey = (String, String);

/// Index as it was read, with the entries that are to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunIndex {
    entries: BTreeMap<RunKey, Digest>,
    /// Text of the file; empty if there is none yet.
    text: String,
}

/// Change of an index by one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexUpdate {
    /// Number of runs that were added.
    pub(crate) added: usize,
    /// Number of runs in the index now.
    pub(crate) total: usize,
}

impl RunIndex {
    /// Reads the index in a file; empty if there is no such file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is no index. It is left as it is then.
    pub(crate) fn load(path: &Path) -> Result<Self, CommandError> {
        let failed = |error: io::Error| impossible(path, &error);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_INDEX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        Self::parse(bytes).map_err(|fault| {
            impossible(path, &format_args!("the index is damaged: {fault}; nothing was written to it"))
        })
    }

    /// Compares the outcomes with the index in a file, and enters those that hold.
    ///
    /// A report of a run whose entry has another digest gets a note, and counts as a duplicate. Such a run, one that comes in two versions
    /// among the targets, and one that does not hold under the demands is not entered.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, locked or written, or is no index.
    pub(crate) fn update(
        path: &Path,
        outcomes: &mut [(String, TargetOutcome)],
        demands: &Demands,
    ) -> Result<IndexUpdate, CommandError> {
        // People may keep the file elsewhere, and have a link here: the link's target is replaced, not the link.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let _lock = lock(path)?;
        let mut index = Self::load(path)?;
        for (_, outcome) in outcomes.iter_mut() {
            let TargetOutcome::Report(report) = outcome else { continue };
            let entered =
                report.run.as_ref().and_then(|run| Some((index.entries.get(&key_of(run))?, run.digest)));
            if entered.is_some_and(|(entered, digest)| *entered != digest) {
                report.has_duplicate = true;
                report.notes.push("the index has another record of the same run by the same key".into());
            }
        }
        let mut added = 0;
        for (_, outcome) in outcomes.iter() {
            let TargetOutcome::Report(report) = outcome else { continue };
            let Some(run) = report.run.as_ref().filter(|_| !report.has_duplicate) else { continue };
            if demands.exit_code(outcome) != 0 {
                continue;
            }
            added += usize::from(index.enter(run));
        }
        if added > 0 {
            if index.text.len() as u64 > MAX_INDEX_BYTES {
                return Err(impossible(path, &format_args!("the index is full; give another file")));
            }
            durable::replace(path, index.text.as_bytes(), Readers::Owner)
                .map_err(|error| CommandError::unwritable(path, &error))?;
        }
        Ok(IndexUpdate { added, total: index.entries.len() })
    }

    /// Enters a run. Returns false if the index has it already.
    fn enter(&mut self, run: &RunIdentity) -> bool {
        let key = key_of(run);
        if self.entries.contains_key(&key) {
            return false;
        }
        if self.text.is_empty() {
            self.text = format!("{HEADER}\n");
        }
        let mut object = PrintObjectWriter::open(&mut self.text);
        object.string("digest", run.digest.to_string().as_str());
        object.string("key_id", key.0.as_str());
        object.string("run_id", key.1.as_str());
        object.close();
        self.text.push('\n');
        self.entries.insert(key, run.digest);
        true
    }

    /// Parses the text of an index.
    fn parse(bytes: Vec<u8>) -> Result<Self, RunIndexFault> {
        if bytes.len() as u64 > MAX_INDEX_BYTES {
            return Err(RunIndexFault::TooLarge);
        }
        let text = String::from_utf8(bytes).map_err(|_| RunIndexFault::Header)?;
        let Some(lines) = text.strip_prefix(HEADER).and_then(|rest| rest.strip_prefix('\n')) else {
            return Err(RunIndexFault::Header);
        };
        if !lines.is_empty() && !lines.ends_with('\n') {
            return Err(RunIndexFault::Unended);
        }
        let mut entries = BTreeMap::new();
        for (at, line) in lines.lines().enumerate() {
            let line_number = at + 2;
            let (key, digest) = entry(line).ok_or(RunIndexFault::Entry { line: line_number })?;
            if entries.insert(key, digest).is_some() {
                return Err(RunIndexFault::Repeated { line: line_number });
            }
        }
        Ok(Self { entries, text })
    }
}

/// Parses a line: an object of just the three members.
fn entry(line: &str) -> Option<(RunKey, Digest)> {
    let value = Value::parse(line.as_bytes(), &Limits::default()).ok()?;
    if value.kind() != ValueKind::Object || value.members().count() != 3 {
        return None;
    }
    let [digest, key_id, run_id] = value.select_members(["digest", "key_id", "run_id"]);
    let digest = Digest::from_hex(&digest?.string()?)?;
    let key_id = key_id?.string().filter(|id| KeyId::parse(id).is_some())?;
    Some(((key_id.into_owned(), run_id?.string()?.into_owned()), digest))
}

fn key_of(run: &RunIdentity) -> RunKey {
    let run_id = match run.run_id.len() {
        0..=MAX_RUN_ID_BYTES => run.run_id.clone(),
        _ => format!("sha256:{}", Digest::of(run.run_id.as_bytes())),
    };
    (run.key_id.clone(), run_id)
}

/// Makes other processes that update the index wait, until the returned file is closed. The lock is a file of its own, since the index is
/// replaced.
fn lock(path: &Path) -> Result<File, CommandError> {
    let mut name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(".lock");
    let lock_path: PathBuf = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let lock = options.open(&lock_path).map_err(|error| CommandError::unwritable(&lock_path, &error))?;
    loop {
        match lock.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            locked => return locked.map(|()| lock).map_err(|error| impossible(&lock_path, &error)),
        }
    }
}

/// Returns an error about a file, with exit code 2.
fn impossible(path: &Path, why: &dyn std::fmt::Display) -> CommandError {
    CommandError::impossible(format!("{}: {why}", Shown::whole(&path.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "tgAwbPp2cj_ew5XlOps9n9t4seLXojwy_LzS3G0MQJI";

    fn line(digest: &str, key_id: &str, run_id: &str) -> String {
        format!("{{\"digest\":\"{digest}\",\"key_id\":\"{key_id}\",\"run_id\":{run_id}}}\n")
    }

    fn parse(text: &str) -> Result<RunIndex, RunIndexFault> {
        RunIndex::parse(text.as_bytes().to_vec())
    }

    #[test]
    fn what_is_entered_is_read_again() {
        let mut index = RunIndex::default();
        for run_id in ["one", "two \u{202e}\n\"\\", "", &"x".repeat(1 << 20)] {
            let run = RunIdentity { key_id: KEY.into(), run_id: run_id.into(), digest: Digest::of(b"1") };
            assert!(index.enter(&run));
            // The first record of a run stays.
            assert!(!index.enter(&RunIdentity { digest: Digest::of(b"2"), ..run }));
        }
        assert!(index.text.is_ascii() && index.text.len() < 1_000);
        assert_eq!(parse(&index.text), Ok(index));
    }

    #[test]
    fn a_damaged_index_is_none() {
        let digest = Digest::of(b"1").to_string();
        let good = line(&digest, KEY, "\"a\"");
        assert!(parse(&format!("{HEADER}\n{good}")).is_ok());
        assert!(parse(&format!("{HEADER}\n")).is_ok());
        let second = |text: &str| parse(&format!("{HEADER}\n{good}{text}"));
        for wrong in [
            "\n".to_owned(),
            "{}\n".into(),
            "[]\n".into(),
            line("9c56", KEY, "\"b\""),
            line(&digest, "short", "\"b\""),
            line(&digest, KEY, "7"),
            line(&digest, KEY, "\"b\",\"more\":1"),
            line(&digest, KEY, "\"b\",\"run_id\":\"c\""),
        ] {
            assert_eq!(second(&wrong), Err(RunIndexFault::Entry { line: 3 }), "{wrong}");
        }
        assert_eq!(second(&line(&digest, KEY, "\"a\"")), Err(RunIndexFault::Repeated { line: 3 }));
        assert_eq!(second(line(&digest, KEY, "\"b\"").trim_end()), Err(RunIndexFault::Unended));
        for wrong in ["", "\n", "{\"reenact_index\":2}\n", "{\"reenact_index\":1}", &good] {
            assert_eq!(parse(wrong), Err(RunIndexFault::Header), "{wrong}");
        }
    }
}
