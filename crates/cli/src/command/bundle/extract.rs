//! `reenact bundle extract`: the files of a bundle in a new folder, all of them or none.
//!
//! Files are written into a temporary folder, which gets its name only after the whole archive was read and
//! verified. Start reading at `BundleExtractArgs::run`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use reenact_json::Shown;
use reenact_json::print::PrintObjectWriter;
use reenact_verify::{Demands, Keys, Report};

use super::{BundleKind, BundleSource, complete_snapshot, joined_reasons, unreadable};
use crate::output::{self, CommandError};
use crate::quantity;
use crate::runs::{self, KeyFileArgs};

/// Unpack a bundle into a new folder, verifying it on the way
///
/// Nothing is written outside the folder, no link is followed or made, and the folder is there only when everything is in it.
/// The files of an RER bundle are named after their SHA-256, whatever they are called in the archive. A bundle that does not verify is not unpacked.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact bundle extract run.tar.gz --out run\n  reenact bundle extract run.rer.tar.gz --key signer.jwk --out run\n  reenact bundle extract --json --out run - < run.tar.gz"
)]
pub(super) struct BundleExtractArgs {
    /// An archive, or - for standard input
    #[arg(value_name = "FILE")]
    target: PathBuf,

    /// The folder to make; one that is there already is left alone
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// A public key for an RER bundle, which is signed; may be given more than once
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,

    /// Take any signer: without it, --key answers no unless one of its keys signed
    #[arg(long)]
    any_signer: bool,

    /// Unpack it even if a check of its content does not hold; never one with unsafe names, or that cannot be read to its end
    #[arg(long)]
    force: bool,

    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Bundle whose files are in the temporary folder.
pub(super) struct UnpackedBundle {
    /// Verdict on what was unpacked.
    pub(super) report: Report,
    /// Number of files that were written.
    pub(super) files: usize,
    /// Size of these files, in bytes.
    pub(super) bytes: u64,
    /// Number of files that were left out, because nothing in the bundle vouches for them.
    pub(super) passed_over: usize,
}

impl BundleExtractArgs {
    /// Extracts the archive while it is verified. A bundle that does not verify needs `--force`.
    ///
    /// # Errors
    ///
    /// If the output exists, the archive cannot be read to its end, or a name in it is unsafe; `--force` does
    /// not help then.
    pub(super) fn run(&self) -> Result<u8, CommandError> {
        let shown = |path: &Path| Shown::whole(&path.to_string_lossy()).to_string();
        if self.target.is_dir() {
            let message = format!("{}: this is a folder already; give an archive", shown(&self.target));
            return Err(CommandError::impossible(message));
        }
        let failed = |error: io::Error| CommandError::impossible(format!("{}: {error}", shown(&self.out)));
        if self.out.symlink_metadata().is_ok() {
            return Err(CommandError::impossible(format!(
                "{}: it is there already; name a folder that is not",
                shown(&self.out)
            )));
        }
        let files = KeyFileArgs { key: self.key.clone(), ..KeyFileArgs::default() };
        let keys = runs::load_keys(&files)?;
        let temporary = ExtractTempDir::create_beside(&self.out).map_err(failed)?;
        let source = BundleSource::open(&self.target).map_err(unreadable)?;
        let unpacked = (BundleKind::of(&source).unpack)(&source, &keys, &temporary)?;
        let demands = Demands { supplied: !self.any_signer && !self.key.is_empty(), ..Demands::default() };
        let mut reasons = demands.unmet(&unpacked.report);
        if !unpacked.report.pass() {
            reasons.insert(0, joined_reasons(&unpacked.report));
        }
        if !reasons.is_empty() {
            let reasons = reasons.join("; ");
            if !self.force {
                return Err(CommandError::refused(format!(
                    "{}: not unpacked: {reasons}",
                    shown(&self.target)
                )));
            }
            output::print_notice(&format!("{}: {reasons}", shown(&self.target)));
        }
        temporary.rename(&self.out).map_err(failed)?;
        if unpacked.passed_over > 0 {
            let files = quantity::count(unpacked.passed_over as u64, "file");
            let (verb, them) = if unpacked.passed_over == 1 { ("is", "it") } else { ("are", "them") };
            output::print_notice(&format!(
                "{}: {files} {verb} not unpacked: the manifest does not list {them}",
                shown(&self.target)
            ));
        }
        let UnpackedBundle { report, files, bytes, passed_over } = unpacked;
        output::print(&if self.json {
            let mut line = String::new();
            let mut object = PrintObjectWriter::open(&mut line);
            object.string("target", self.target.to_string_lossy().as_ref());
            object.string("out", self.out.to_string_lossy().as_ref());
            object.string("format", report.format.as_str());
            object.boolean("pass", report.pass());
            object.string("verdict", report.verdict().name());
            object.name("files").push_str(&files.to_string());
            object.name("bytes").push_str(&bytes.to_string());
            object.name("passed_over").push_str(&passed_over.to_string());
            object.close();
            line + "\n"
        } else {
            format!(
                "{}, {}, in {}\n",
                quantity::count(files as u64, "file"),
                quantity::count(bytes, "byte"),
                shown(&self.out)
            )
        })?;
        Ok(0)
    }
}

/// Unpacks a Replay Bundle. Its reader has judged every name.
pub(super) fn replay_bundle(
    source: &BundleSource<'_>,
    _: &Keys,
    folder: &ExtractTempDir,
) -> Result<UnpackedBundle, CommandError> {
    let (snapshot, report) = complete_snapshot(source, &mut |name| folder.create_file(name).map(Some))?;
    let manifest = snapshot.manifest().map_or(0, |bytes| bytes.len() as u64);
    Ok(UnpackedBundle {
        report,
        files: snapshot.members().count() + usize::from(snapshot.manifest().is_some()),
        bytes: manifest + snapshot.members().map(|(_, facts)| facts.size).sum::<u64>(),
        passed_over: 0,
    })
}

/// Folder that is removed when it is dropped, unless it was renamed. It is new and only its owner can write
/// to it, so that it contains no links of others.
pub(super) struct ExtractTempDir {
    pub(super) path: PathBuf,
}

impl ExtractTempDir {
    /// Creates the folder beside `out`, on the same file system, so that it can be renamed.
    fn create_beside(out: &Path) -> io::Result<Self> {
        let name = out.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
        for count in 0.. {
            let path = out.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()));
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                // A killed process with the same id has left the folder behind.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self { path }),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Creates the file of a member, and the folders above it. The reader has checked the name already: it is
    /// relative, has no `..`, and is not the folder of another name.
    pub(super) fn create_file(&self, name: &str) -> io::Result<Box<dyn Write>> {
        let path = name.split('/').fold(self.path.clone(), |path, segment| path.join(segment));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(file))
    }

    /// Gives the folder its final name. Fails if the name is taken meanwhile; an empty folder is replaced.
    fn rename(self, out: &Path) -> io::Result<()> {
        fs::rename(&self.path, out)
    }
}

impl Drop for ExtractTempDir {
    fn drop(&mut self) {
        // After a rename there is nothing to remove. Another failure cannot be helped here.
        let _ = fs::remove_dir_all(&self.path);
    }
}
