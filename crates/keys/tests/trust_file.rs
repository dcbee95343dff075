//! The trust store on a disk: empty until it is written, refused if other users can write it or it cannot be parsed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::fs;

use reenact_formats::rer::seal::Signer;
use reenact_formats::trust::{KeyRole, KeyRoles, Standing, TrustStore};
use reenact_keys::{SecretKey, TrustFile, TrustFileError};
use reenact_testkit::fixture::TestDir;

fn text(folder: &TestDir) -> String {
    folder.join("trust.json").to_str().unwrap().to_owned()
}

#[test]
fn what_is_edited_is_loaded() {
    let folder = TestDir::new();
    let file = TrustFile::new(folder.path());
    assert_eq!(file.load(), Ok(TrustStore::default()));
    let key = SecretKey::generate().unwrap().public_key();
    file.edit(|store| -> Result<(), TrustFileError> {
        store.trust(key, None, KeyRole::Platform.into()).unwrap();
        Ok(())
    })
    .unwrap();
    let loaded = file.load().unwrap();
    let entry = loaded.find(&key.id()).unwrap();
    assert_eq!((&entry.standing, entry.roles), (&Standing::Trusted, KeyRole::Platform.into()));
}

#[test]
fn an_edit_that_fails_changes_nothing() {
    let folder = TestDir::new();
    let file = TrustFile::new(folder.path());
    let refused = TrustFileError::TooLarge { path: "x".into() };
    let failed: Result<(), _> = file.edit(|store| {
        store.trust(SecretKey::generate().unwrap().public_key(), None, KeyRoles::NONE).unwrap();
        Err(refused.clone())
    });
    assert_eq!(failed, Err(refused));
    assert!(!folder.join("trust.json").exists());
}

#[test]
fn what_is_broken_is_an_error() {
    let folder = TestDir::new();
    fs::write(folder.join("trust.json"), "{").unwrap();
    let error = TrustFile::new(folder.path()).load().unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: is not JSON: ", text(&folder))), "{error}");
    assert!(error.to_string().ends_with(" (correct it, or move it away to begin anew)"), "{error}");
}

#[cfg(unix)]
#[test]
fn what_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TestDir::new();
    let path = folder.join("trust.json");
    fs::write(&path, TrustStore::default().to_json()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let file = TrustFile::new(folder.path());
    assert_eq!(file.load(), Err(TrustFileError::WrittenByOthers { path: text(&folder) }));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(file.load(), Ok(TrustStore::default()));
}
