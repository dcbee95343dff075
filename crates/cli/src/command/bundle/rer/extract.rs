//! Unpacking of RER bundles: the documents under their fixed names, each file under its SHA-256.
//!
//! No name of the archive becomes a path. A file is written under a number while its digest is not known, and then named
//! after the digest of what was written. Start reading at [`unpack`].

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};

use reenact_formats::format::MANIFEST_FILE;
use reenact_formats::rer::manifest::{BlobView, RerManifestView};
use reenact_formats::rer::{ARTIFACT_FILE, JWK_FILE, KEY_FILE};
use reenact_json::{Digest, Shown, Value};
use reenact_verify::disk;
use reenact_verify::{BundleMembers, Keys};

use super::super::extract::{ExtractTempDir, UnpackedBundle};
use super::super::{BundleSource, unreadable};
use super::{parse_document, read};
use crate::output::CommandError;

/// Documents of a bundle.
const DOCUMENTS: [&str; 4] = [ARTIFACT_FILE, MANIFEST_FILE, KEY_FILE, JWK_FILE];

/// Writes the documents, and each file that the manifest lists as `blobs/<SHA-256>.bin`. Other files are left out and counted; but of a
/// bundle that fails a check, whose list may be the fault, all files are written.
///
/// # Errors
///
/// If the bundle cannot be read to its end, or a file cannot be written.
pub(in crate::command::bundle) fn unpack(
    source: &BundleSource<'_>,
    keys: &Keys,
    folder: &ExtractTempDir,
) -> Result<UnpackedBundle, CommandError> {
    let mut count = 0_usize;
    let (members, report) = read(source, keys, &mut |_| {
        count += 1;
        folder.create_file(&numbered_name(count - 1)).map(Some)
    })?;
    let mut unpacked = UnpackedBundle { report, files: 0, bytes: 0, passed_over: 0 };
    let failed = |error: io::Error| {
        CommandError::impossible(format!("{}: {error}", Shown::whole(&folder.path.to_string_lossy())))
    };
    write_documents(&members, folder, &mut unpacked).map_err(failed)?;
    let mut wanted = listed_digests(&members);
    for number in 0..count {
        let path = folder.path.join(numbered_name(number));
        let digest = disk::file_digest(&path).map_err(unreadable)?;
        if wanted.remove(&digest) || (!unpacked.report.pass() && !is_unpacked(folder, digest)) {
            unpacked.files += 1;
            unpacked.bytes += path.metadata().map_err(failed)?.len();
            fs::rename(&path, folder.path.join(format!("blobs/{digest}.bin"))).map_err(failed)?;
        } else {
            // Unlisted, or listed and written already.
            unpacked.passed_over += usize::from(!is_unpacked(folder, digest));
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(unpacked)
}

/// Returns the name of a file whose digest is not known yet.
fn numbered_name(number: usize) -> String {
    format!("blobs/.{number}.tmp")
}

/// Returns true if a file of that digest was unpacked.
fn is_unpacked(folder: &ExtractTempDir, digest: Digest) -> bool {
    folder.path.join(format!("blobs/{digest}.bin")).is_file()
}

fn write_documents(
    members: &BundleMembers,
    folder: &ExtractTempDir,
    unpacked: &mut UnpackedBundle,
) -> io::Result<()> {
    for (name, bytes) in DOCUMENTS.into_iter().filter_map(|name| Some((name, members.document(name)?))) {
        folder.create_file(name)?.write_all(bytes)?;
        unpacked.files += 1;
        unpacked.bytes += bytes.len() as u64;
    }
    Ok(())
}

/// Returns the digests of the files that the manifest lists.
fn listed_digests(members: &BundleMembers) -> BTreeSet<Digest> {
    let manifest = parse_document(members.document(MANIFEST_FILE)).map(RerManifestView::of);
    let blobs = manifest.and_then(|manifest| manifest.blobs);
    let hash = |entry: Value<'_>| Digest::from_hex(&BlobView::of(entry).hash?.string()?);
    blobs.into_iter().flat_map(|blobs| blobs.elements()).filter_map(hash).collect()
}
