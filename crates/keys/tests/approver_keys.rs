//! Approvers' keys: encrypted under a passphrase, listed without it, and opened by nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::fs;

use reenact_formats::rer::approval::Approver;
use reenact_formats::rer::envelope::permission::SignerType::{Automated, Delegate, Human};
use reenact_formats::rer::seal::Signer;
use reenact_keys::keystore::KeyInfo;
use reenact_keys::protected::{InvalidPassphrase, KdfCost, ProtectedKey};
use reenact_keys::{KeyName, KeyStore, KeyStoreError, Passphrase, ProtectedKeyFault, SecretKey};
use reenact_testkit::fixture::TestDir;
use zeroize::Zeroizing;

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(Zeroizing::new(text.as_bytes().to_vec())).unwrap()
}

fn name(text: &str) -> KeyName {
    text.parse().unwrap()
}

const SECRET: &str = "correct horse";

fn generated_pair() -> (SecretKey, ProtectedKey) {
    let key = SecretKey::generate().unwrap();
    let closed = ProtectedKey::seal(&key, Human, &passphrase(SECRET), KdfCost::MIN).unwrap();
    (key, closed)
}

#[test]
fn kept_known_and_opened() {
    let place = TestDir::in_memory();
    let store = KeyStore::new(place.join("keys"));
    let (plain, key, robot) =
        (SecretKey::generate().unwrap(), SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    store.create(&name("default"), &plain).unwrap();
    let secret = passphrase(SECRET);
    store.create_approver(&name("alice"), &key, Human, &secret, KdfCost::default()).unwrap();
    store.create_approver(&name("robot"), &robot, Automated, &secret, KdfCost::MIN).unwrap();
    assert_eq!(store.list().unwrap(), [name("alice"), name("default"), name("robot")]);
    assert_eq!(
        store.approvers().unwrap(),
        [
            Approver { key: key.public_key(), signer_type: Human },
            Approver { key: robot.public_key(), signer_type: Automated }
        ]
    );
    assert_eq!(store.key_info(&name("alice")), Ok(KeyInfo { key: key.public_key(), approver: Some(Human) }));
    assert_eq!(store.key_info(&name("default")), Ok(KeyInfo { key: plain.public_key(), approver: None }));
    let opened = store.open_approver(&name("alice"), &secret).unwrap();
    assert_eq!(opened.public_key(), key.public_key());
    assert_eq!(opened.sign(b"x"), key.sign(b"x"));
    // The file shows nothing of the private key, and is no private JWK.
    let text = fs::read_to_string(store.path(&name("alice"))).unwrap();
    let jwk = key.to_jwk();
    let d = jwk.split("\"d\":\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(!text.contains(d));
    let file = reenact_formats::key::read(text.as_bytes()).unwrap();
    assert_eq!((file.keys, file.holds_private), (vec![key.public_key()], false));
}

#[test]
fn each_kind_does_its_own_work_only() {
    let place = TestDir::in_memory();
    let store = KeyStore::new(place.join("keys"));
    let (key, secret) = (SecretKey::generate().unwrap(), passphrase(SECRET));
    store.create(&name("plain"), &key).unwrap();
    store.create_approver(&name("alice"), &key, Human, &secret, KdfCost::MIN).unwrap();
    let path = |name: &KeyName| store.path(name).to_str().unwrap().to_owned();
    let protected = KeyStoreError::Protected { path: path(&name("alice")) };
    assert_eq!(store.load(&name("alice")).err(), Some(protected.clone()));
    assert_eq!(store.rotate(&name("alice"), &key).err(), Some(protected));
    let plain = KeyStoreError::NotAnApprover { path: path(&name("plain")) };
    assert_eq!(store.open_approver(&name("plain"), &secret).err(), Some(plain));
    let exists = KeyStoreError::Exists { path: path(&name("plain")) };
    let again = store.create_approver(&name("plain"), &key, Human, &secret, KdfCost::MIN);
    assert_eq!(again, Err(exists));
    assert!(store.load(&name("plain")).is_ok());
}

#[test]
fn a_wrong_passphrase() {
    let (key, closed) = generated_pair();
    assert_eq!(closed.open(&passphrase(SECRET)).unwrap().public_key(), key.public_key());
    for wrong in ["correct horsf", "correct horse ", "Correct horse"] {
        assert_eq!(
            closed.open(&passphrase(wrong)).err(),
            Some(ProtectedKeyFault::WrongPassphrase),
            "{wrong}"
        );
    }
}

#[test]
fn passphrases() {
    let new = |length: usize| Passphrase::new(Zeroizing::new(vec![b'x'; length])).map(|_| ());
    assert_eq!(
        [new(7), new(8), new(1024), new(1025)],
        [Err(InvalidPassphrase), Ok(()), Ok(()), Err(InvalidPassphrase)]
    );
    assert!(passphrase(SECRET).is_same(&passphrase(SECRET)));
    assert!(!passphrase(SECRET).is_same(&passphrase("correct house")));
    assert_eq!(format!("{:?}", passphrase(SECRET)), "Passphrase");
}

#[test]
fn no_two_files_are_alike() {
    let key = SecretKey::generate().unwrap();
    let seal = || ProtectedKey::seal(&key, Human, &passphrase(SECRET), KdfCost::MIN).unwrap().to_json();
    assert_ne!(seal(), seal());
}

#[test]
fn a_changed_file_is_refused() {
    let (_, closed) = generated_pair();
    let text = String::from_utf8(closed.to_json()).unwrap();
    assert_eq!(ProtectedKey::read(text.as_bytes()).as_ref(), Ok(&closed));
    let edited = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        ProtectedKey::read(text.replacen(from, to, 1).as_bytes())
    };
    // Signer type and cost are authenticated with the key.
    for (from, to) in [
        ("\"human\"", "\"automated\""),
        ("\"human\"", "\"delegate\""),
        ("\"passes\":2", "\"passes\":3"),
        ("\"memory_kib\":19456", "\"memory_kib\":19457"),
        ("\"lanes\":1", "\"lanes\":2"),
    ] {
        let changed = edited(from, to).unwrap();
        assert_eq!(changed.open(&passphrase(SECRET)).err(), Some(ProtectedKeyFault::WrongPassphrase), "{to}");
    }
    let other = generated_pair().1;
    let (x, kid) = (closed.public_key().to_base64url(), closed.public_key().id().to_string());
    let swapped = text.replace(&x, &other.public_key().to_base64url());
    let swapped = swapped.replace(&kid, &other.public_key().id().to_string());
    let swapped = ProtectedKey::read(swapped.as_bytes()).unwrap();
    assert_eq!(swapped.open(&passphrase(SECRET)).err(), Some(ProtectedKeyFault::WrongPassphrase));
    let member = |member, wanted| Err(ProtectedKeyFault::Member { member, wanted });
    assert_eq!(edited(&x, &other.public_key().to_base64url()), member("kid", "the id of the key"));
    assert_eq!(edited("\"x\":\"", "\"x\":\"A"), member("x", "an Ed25519 public key"));
    assert_eq!(edited("\"human\"", "\"person\""), member("signer_type", "human, delegate or automated"));
    assert_eq!(edited("argon2id", "scrypt"), member("kdf", "\"argon2id\""));
    assert_eq!(edited("xchacha20poly1305", "none"), member("cipher", "\"xchacha20poly1305\""));
    assert_eq!(edited("approver-key/1", "approver-key/2"), member("version", "\"reenact-approver-key/1\""));
    assert_eq!(edited("\"salt\":\"", "\"salt\":\"AA"), member("salt", "16 bytes in base64url"));
    assert_eq!(
        edited("\"ciphertext\":\"", "\"ciphertext\":\"AA"),
        member("ciphertext", "48 bytes in base64url")
    );
    assert_eq!(edited("{", "{\"a\":1,"), Err(ProtectedKeyFault::Unknown { name: "a".into() }));
    assert_eq!(edited("{", "{ "), Err(ProtectedKeyFault::NotCanonical));
}

/// Every byte of the ciphertext is authenticated: here the first one, and the first of the tag.
#[test]
fn a_changed_ciphertext_is_refused() {
    let (_, closed) = generated_pair();
    let text = String::from_utf8(closed.to_json()).unwrap();
    let begin = text.find("\"ciphertext\":\"").unwrap() + 14;
    for at in [begin, begin + 44] {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = ProtectedKey::read(&bytes).unwrap();
        assert_eq!(changed.open(&passphrase(SECRET)).err(), Some(ProtectedKeyFault::WrongPassphrase));
    }
}

#[test]
fn no_file_makes_its_reader_work_for_hours() {
    let (_, closed) = generated_pair();
    assert_eq!(closed.cost(), KdfCost::MIN);
    let text = String::from_utf8(closed.to_json()).unwrap();
    for (from, member, wanted, bad) in [
        ("\"memory_kib\":19456", "memory_kib", "from 19456 to 1048576", ["19455", "1048577", "null"]),
        ("\"passes\":2", "passes", "from 2 to 16", ["1", "17", "4294967298"]),
        ("\"lanes\":1", "lanes", "from 1 to 16", ["0", "17", "\"1\""]),
    ] {
        for bad in bad {
            let text = text.replacen(from, &format!("\"{member}\":{bad}"), 1);
            let fault = ProtectedKeyFault::Member { member, wanted };
            assert_eq!(ProtectedKey::read(text.as_bytes()), Err(fault), "{member} {bad}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_used_is_nobodys() {
    let place = TestDir::in_memory();
    let store = KeyStore::new(place.join("keys"));
    let (key, secret) = (SecretKey::generate().unwrap(), passphrase(SECRET));
    store.create_approver(&name("alice"), &key, Delegate, &secret, KdfCost::MIN).unwrap();
    let path = store.path(&name("alice"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("delegate", "nobody")).unwrap();
    assert_eq!(store.approvers(), Ok(vec![]));
    let error = ProtectedKeyFault::Member { member: "signer_type", wanted: "human, delegate or automated" };
    let path = path.to_str().unwrap().to_owned();
    assert_eq!(store.key_info(&name("alice")), Err(KeyStoreError::Approver { path, error }));
}
