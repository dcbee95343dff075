//! `reenact bundle extract`: the files of a Replay Bundle in a new folder, all of them or none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use reenact_json::Shown;
use reenact_json::print::Object;

use super::{told, whole_snapshot};
use crate::output::{self, Ending};

/// Unpack a Replay Bundle into a new folder, verifying it on the way
///
/// Nothing is written outside the folder, no link is followed or made, and the folder is there only when everything is in it.
/// A bundle that does not verify is not unpacked.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reenact bundle extract run.tar.gz --out run\n  reenact bundle extract --json --out run - < run.tar.gz"
)]
pub(super) struct Extract {
    /// An archive, or - for standard input
    #[arg(value_name = "FILE")]
    target: PathBuf,

    /// The folder to make; one that is there already is left alone
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Unpack it even if a check of its content does not hold; never one with unsafe names, or that cannot be read to its end
    #[arg(long)]
    force: bool,

    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

impl Extract {
    pub(super) fn run(&self) -> Result<u8, Ending> {
        let shown = |path: &Path| Shown::whole(&path.to_string_lossy()).to_string();
        if self.target.is_dir() {
            let message = format!("{}: this is a folder already; give an archive", shown(&self.target));
            return Err(Ending::impossible(message));
        }
        let failed = |error: io::Error| Ending::impossible(format!("{}: {error}", shown(&self.out)));
        if self.out.symlink_metadata().is_ok() {
            return Err(Ending::impossible(format!(
                "{}: it is there already; name a folder that is not",
                shown(&self.out)
            )));
        }
        let temporary = Temporary::beside(&self.out).map_err(failed)?;
        let (snapshot, report) = whole_snapshot(&self.target, &mut |name| temporary.create(name).map(Some))?;
        if !report.pass() {
            let told = told(&report);
            if !self.force {
                return Err(Ending::refused(format!("{}: not unpacked: {told}", shown(&self.target))));
            }
            output::complain(&format!("{}: {told}", shown(&self.target)));
        }
        temporary.rename(&self.out).map_err(failed)?;
        let files = snapshot.members().count() + usize::from(snapshot.manifest().is_some());
        let manifest = snapshot.manifest().map_or(0, |bytes| bytes.len() as u64);
        let bytes = manifest + snapshot.members().map(|(_, facts)| facts.size).sum::<u64>();
        output::print(&if self.json {
            let mut line = String::new();
            let mut object = Object::open(&mut line);
            object.string("target", self.target.to_string_lossy().as_ref());
            object.string("out", self.out.to_string_lossy().as_ref());
            object.boolean("pass", report.pass());
            object.name("files").push_str(&files.to_string());
            object.name("bytes").push_str(&bytes.to_string());
            object.close();
            line + "\n"
        } else {
            let plural = if files == 1 { "" } else { "s" };
            format!("{files} file{plural}, {bytes} bytes, in {}\n", shown(&self.out))
        })?;
        Ok(0)
    }
}

/// A folder that is gone when it is dropped, unless it was renamed. It is new and its owner's alone, so that nobody put a
/// link into it.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn beside(out: &Path) -> io::Result<Self> {
        let name = out.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
        for count in 0.. {
            let path = out.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()));
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                // Left by a process of the same id that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self { path }),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A new file of a name that was found safe when it was read: relative, without dots, no other name's folder.
    fn create(&self, name: &str) -> io::Result<Box<dyn Write>> {
        let path = name.split('/').fold(self.path.clone(), |path, segment| path.join(segment));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(file))
    }

    /// Gives the folder its name. Whatever has it by now stays as it is, and this fails; but an empty folder is nothing.
    fn rename(self, out: &Path) -> io::Result<()> {
        fs::rename(&self.path, out)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing is there any more after a rename; and nothing can be done if it stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}
