//! Outcome of the run in a bundle, for `bundle inspect`, which reads a bundle once and keeps none of its files but the reports.
//!
//! Start reading at [`ReportCopies`].

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use reenact_formats::replay_bundle::manifest::OutputsView;
use reenact_formats::replay_bundle::{CASSETTES_FOLDER, FILES_FOLDER, ManifestView};
use reenact_json::Value;
use reenact_run::BundledOutcome;
use reenact_verify::replay_bundle::masked;

/// Largest number of bytes that are kept of all reports together: 64 MiB. The outcome of a bundle with more is not shown.
const MAX_BYTES: usize = 64 << 20;

/// Copies of the files that may be reports: which they are, only the manifest tells, and it may come last.
pub(super) struct ReportCopies {
    files: Vec<(String, Rc<RefCell<Vec<u8>>>)>,
    /// Number of bytes that may still be kept.
    left: Rc<RefCell<usize>>,
}

/// Writer of one copy, which is emptied if there is too much of all.
struct ReportCopy {
    bytes: Rc<RefCell<Vec<u8>>>,
    left: Rc<RefCell<usize>>,
}

impl Write for ReportCopy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut left = self.left.borrow_mut();
        match left.checked_sub(bytes.len()) {
            Some(rest) => {
                *left = rest;
                self.bytes.borrow_mut().extend_from_slice(bytes);
            }
            None => {
                *left = 0;
                self.bytes.borrow_mut().clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ReportCopies {
    /// Returns copies that are empty.
    pub(super) fn new() -> Self {
        Self { files: Vec::new(), left: Rc::new(RefCell::new(MAX_BYTES)) }
    }

    /// Returns the writer for a member that may be a report; `None` for others.
    pub(super) fn writer_for(&mut self, name: &str) -> Option<Box<dyn Write>> {
        let is_input = name.starts_with(FILES_FOLDER) || name.starts_with(CASSETTES_FOLDER);
        if is_input || !name.ends_with(".json") {
            return None;
        }
        let bytes = Rc::new(RefCell::new(Vec::new()));
        self.files.push((name.to_owned(), Rc::clone(&bytes)));
        Some(Box::new(ReportCopy { bytes, left: Rc::clone(&self.left) }))
    }

    /// Returns the outcome that the reports tell, with secrets masked; `None` if the manifest names no report that can be read.
    pub(super) fn outcome(&self, manifest: &ManifestView<'_>) -> Option<BundledOutcome> {
        let outputs = OutputsView::of(manifest.outputs?);
        let file = |path: Option<Value<'_>>| {
            let name = path?.string()?;
            let (_, bytes) = self.files.iter().find(|(known, _)| *known == name)?;
            Some(masked(&bytes.borrow()).into_owned())
        };
        BundledOutcome::read(file(outputs.summary).as_deref(), file(outputs.run).as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_not_kept() {
        let mut copies = ReportCopies::new();
        for name in ["files/a.json", "cassettes/a.json", "outputs/junit.xml"] {
            assert!(copies.writer_for(name).is_none(), "{name}");
        }
        let mut copy = copies.writer_for("outputs/run.json").unwrap();
        *copies.left.borrow_mut() = 10;
        assert_eq!(copy.write(b"12345678").unwrap(), 8);
        assert_eq!(copies.files[0].1.borrow().len(), 8);
        assert_eq!(copy.write(b"1234").unwrap(), 4);
        assert_eq!(copy.write(b"").unwrap(), 0);
        assert_eq!(copies.files[0].1.borrow().len(), 0);
    }
}
