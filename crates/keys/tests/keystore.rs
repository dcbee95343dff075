//! Keys on a disk: kept, found again, never overwritten, closed to other users.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use reenact_formats::rer::seal::Signer;
use reenact_keys::durable::{self, Readers};
use reenact_keys::keystore::{ExternalKeyError, InvalidKeyName, read_external};
use reenact_keys::{KeyName, KeyStore, KeyStoreError, SecretKey, SecretKeyError};
use reenact_testkit::fixture::TestDir;

/// Temporary folder with a key store in it.
struct KeyStoreFixture(TestDir);

impl KeyStoreFixture {
    fn new() -> Self {
        Self(TestDir::new())
    }

    fn store(&self) -> KeyStore {
        KeyStore::new(self.0.join("keys"))
    }

    /// Returns the names of all files in the folder of keys, temporary files too.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.join("keys")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn name(text: &str) -> KeyName {
    text.parse().unwrap()
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn names() {
    for good in ["a", "0", "Default", "a.b_c-d", &"x".repeat(64)] {
        assert_eq!(good.parse::<KeyName>().unwrap().as_str(), good);
    }
    for bad in ["", ".", "..", ".a", "-a", "_a", "a/b", "a\\b", "a b", "é", "a\0", &"x".repeat(65)] {
        assert_eq!(bad.parse::<KeyName>(), Err(InvalidKeyName), "{bad}");
    }
}

#[test]
fn a_key_is_kept_and_found() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    assert_eq!(store.list(), Ok(Vec::new()));
    let key = SecretKey::generate().unwrap();
    store.create(&name("b"), &key).unwrap();
    store.create(&name("a"), &SecretKey::generate().unwrap()).unwrap();
    fs::write(folder.0.join("keys/notes.txt"), "not a key").unwrap();
    assert_eq!(store.list(), Ok(vec![name("a"), name("b")]));
    assert_eq!(store.load(&name("b")).unwrap().public_key(), key.public_key());
    assert_eq!(folder.files(), ["a.jwk", "b.jwk", "notes.txt"]);
    let path = shown(&store.path(&name("c")));
    assert_eq!(store.load(&name("c")).err(), Some(KeyStoreError::NotFound { path }));
}

#[test]
fn a_key_is_never_overwritten() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    let (one, two) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    store.create(&name("a"), &one).unwrap();
    let path = shown(&store.path(&name("a")));
    assert_eq!(store.create(&name("a"), &two), Err(KeyStoreError::Exists { path }));
    assert_eq!(store.load(&name("a")).unwrap().public_key(), one.public_key());
    assert_eq!(folder.files(), ["a.jwk"]);
}

#[test]
fn many_at_once_and_one_wins() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    let won = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let key = SecretKey::generate().unwrap();
                if store.create(&name("a"), &key).is_ok() {
                    won.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(won.into_inner(), 1);
    assert!(store.load(&name("a")).is_ok());
    assert_eq!(folder.files(), ["a.jwk"]);
}

#[test]
fn rotation_keeps_the_old_key() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    let (one, two) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let path = shown(&store.path(&name("a")));
    assert_eq!(store.rotate(&name("a"), &two).err(), Some(KeyStoreError::NotFound { path }));
    store.create(&name("a"), &one).unwrap();
    let (kept, old) = store.rotate(&name("a"), &two).unwrap();
    let id = one.public_key().id().to_string();
    assert_eq!(kept.as_str(), format!("a-{}", &id[..8]));
    assert_eq!(old.public_key(), one.public_key());
    assert_eq!(store.load(&name("a")).unwrap().public_key(), two.public_key());
    assert_eq!(store.load(&kept).unwrap().public_key(), one.public_key());
    assert_eq!(store.list().unwrap().len(), 2);
    assert_eq!(folder.files().len(), 2);
}

#[test]
fn an_interrupted_rotation_is_done_again() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    let (one, two) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let kept = name(&format!("a-{:.8}", one.public_key().id().to_string()));
    store.create(&name("a"), &one).unwrap();
    store.create(&kept, &one).unwrap();
    assert_eq!(store.rotate(&name("a"), &two).unwrap().0, kept);
    // Another key of that name is not mistaken for the old one.
    store.create(&name("b"), &one).unwrap();
    let other = name(&format!("b-{:.8}", one.public_key().id().to_string()));
    store.create(&other, &two).unwrap();
    let path = shown(&store.path(&other));
    assert_eq!(
        store.rotate(&name("b"), &SecretKey::generate().unwrap()).err(),
        Some(KeyStoreError::Exists { path })
    );
    assert_eq!(store.load(&name("b")).unwrap().public_key(), one.public_key());
}

#[test]
fn the_longest_name_can_be_rotated() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    let long = name(&"x".repeat(64));
    store.create(&long, &SecretKey::generate().unwrap()).unwrap();
    let (kept, _) = store.rotate(&long, &SecretKey::generate().unwrap()).unwrap();
    assert_eq!(kept.as_str().len(), 64);
    assert!(kept.as_str().starts_with(&format!("{}-", "x".repeat(55))));
}

#[test]
fn what_is_no_key_is_refused() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    store.create(&name("a"), &SecretKey::generate().unwrap()).unwrap();
    let path = store.path(&name("a"));
    let public = reenact_formats::key::read(&fs::read(&path).unwrap()).unwrap().keys[0].to_base64url();
    let text = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{public}"}}"#);
    fs::write(&path, text).unwrap();
    let error = SecretKeyError::PublicOnly;
    assert_eq!(store.load(&name("a")).err(), Some(KeyStoreError::Key { path: shown(&path), error }));
    fs::write(&path, vec![b' '; 20_000]).unwrap();
    assert!(matches!(store.load(&name("a")), Err(KeyStoreError::Io { kind: ErrorKind::FileTooLarge, .. })));
    fs::create_dir(store.path(&name("folder"))).unwrap();
    let path = shown(&store.path(&name("folder")));
    assert_eq!(store.load(&name("folder")).err(), Some(KeyStoreError::NotAFile { path }));
}

#[test]
fn a_key_from_elsewhere() {
    let folder = KeyStoreFixture::new();
    let key = SecretKey::generate().unwrap();
    let path = folder.0.join("key.jwk");
    durable::create(&path, key.to_jwk().as_bytes(), Readers::Owner).unwrap();
    let (read, is_open) = read_external(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!((read.public_key(), is_open), (key.public_key(), false));
    durable::replace(&path, key.public_key().as_bytes(), Readers::Everyone).unwrap();
    assert_eq!(
        read_external(fs::File::open(&path).unwrap()).err(),
        Some(ExternalKeyError::Key(SecretKeyError::PublicOnly))
    );
}

#[cfg(unix)]
mod permissions {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn closed_from_the_start() {
        let folder = KeyStoreFixture::new();
        let store = folder.store();
        store.create(&name("a"), &SecretKey::generate().unwrap()).unwrap();
        let (kept, _) = store.rotate(&name("a"), &SecretKey::generate().unwrap()).unwrap();
        assert_eq!(mode(&folder.0.join("keys")), 0o700);
        assert_eq!(mode(&store.path(&name("a"))), 0o600);
        assert_eq!(mode(&store.path(&kept)), 0o600);
    }

    #[test]
    fn open_to_others_is_refused() {
        let folder = KeyStoreFixture::new();
        let store = folder.store();
        store.create(&name("a"), &SecretKey::generate().unwrap()).unwrap();
        let path = store.path(&name("a"));
        for mode in [0o640, 0o604, 0o620, 0o601, 0o644] {
            set_mode(&path, mode);
            let expected = KeyStoreError::OpenToOthers { path: shown(&path), mode };
            let error = store.load(&name("a")).unwrap_err();
            assert_eq!(error, expected);
            assert!(error.to_string().ends_with(&format!("chmod 600 {}", path.display())), "{error}");
        }
        for mode in [0o600, 0o400] {
            set_mode(&path, mode);
            assert!(store.load(&name("a")).is_ok());
        }
        let (_, is_open) = {
            set_mode(&path, 0o644);
            read_external(fs::File::open(&path).unwrap()).unwrap()
        };
        assert!(is_open);
    }

    #[test]
    fn a_folder_that_others_write_to_is_refused() {
        let folder = KeyStoreFixture::new();
        let store = folder.store();
        store.create(&name("a"), &SecretKey::generate().unwrap()).unwrap();
        let keys = folder.0.join("keys");
        set_mode(&keys, 0o770);
        let expected = KeyStoreError::FolderOpenToOthers { path: shown(&keys), mode: 0o770 };
        assert_eq!(store.load(&name("a")).err(), Some(expected.clone()));
        assert_eq!(store.create(&name("b"), &SecretKey::generate().unwrap()), Err(expected));
        set_mode(&keys, 0o755);
        assert!(store.load(&name("a")).is_ok());
    }

    #[test]
    fn links_are_not_followed() {
        let folder = KeyStoreFixture::new();
        let store = folder.store();
        store.create(&name("a"), &SecretKey::generate().unwrap()).unwrap();
        let link = store.path(&name("link"));
        symlink(store.path(&name("a")), &link).unwrap();
        assert_eq!(store.load(&name("link")).err(), Some(KeyStoreError::Link { path: shown(&link) }));
        // A dangling link is not followed either when a key is written.
        let nowhere = store.path(&name("nowhere"));
        symlink(folder.0.join("elsewhere.jwk"), &nowhere).unwrap();
        let expected = KeyStoreError::Exists { path: shown(&nowhere) };
        assert_eq!(store.create(&name("nowhere"), &SecretKey::generate().unwrap()), Err(expected));
        assert!(!folder.0.join("elsewhere.jwk").exists());
    }
}

#[test]
fn the_default_key_is_made_once() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    let first = store.default_key().unwrap();
    assert!(first.is_new);
    let second = store.default_key().unwrap();
    assert!(!second.is_new);
    assert_eq!(first.key.public_key(), second.key.public_key());
    assert_eq!(store.list().unwrap(), [KeyName::default()]);
    assert_eq!(KeyName::default(), name("default"));
}

#[test]
fn all_who_ask_first_get_the_same_default_key() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    let line = std::sync::Barrier::new(8);
    let keys: Vec<_> = std::thread::scope(|scope| {
        let ask = || {
            line.wait();
            store.default_key().unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(keys.iter().filter(|key| key.is_new).count(), 1);
    assert!(keys.iter().all(|key| key.key.public_key() == keys[0].key.public_key()));
    assert_eq!(folder.files(), ["default.jwk"]);
}

#[test]
fn a_default_key_that_cannot_be_read_is_not_replaced() {
    let folder = KeyStoreFixture::new();
    let store = folder.store();
    store.default_key().unwrap();
    let path = store.path(&KeyName::default());
    durable::replace(&path, b"{}", Readers::Owner).unwrap();
    let refused = store.default_key().unwrap_err();
    assert!(matches!(refused, KeyStoreError::Key { .. }), "{refused}");
    assert_eq!(fs::read(path).unwrap(), b"{}");
}
