//! File modes: private keys are readable by their owner only, and files that others can change are refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use reenact_formats::rer::seal::Signer;
use reenact_keys::SecretKey;
use reenact_keys::durable::{self, Readers};

use crate::{CommandOutput, User, record};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn only_the_owner_reads_what_is_private() {
    let user = User::new();
    user.run("keys generate").expect_success();
    user.run("keys rotate").expect_success();
    user.run("keys export default --private --out backup.jwk").expect_success();
    user.run("keys export default --out public.jwk").expect_success();
    assert_eq!(mode(&user.config()), 0o700);
    assert_eq!(mode(&user.config().join("keys")), 0o700);
    for name in user.store().list().unwrap() {
        assert_eq!(mode(&user.store().path(&name)), 0o600);
    }
    assert_eq!(mode(&user.file("backup.jwk")), 0o600);
    for public in [user.file("public.jwk"), user.config().join("trust.json")] {
        assert_eq!(mode(&public) & 0o477, 0o444 & mode(&public));
        assert_eq!(mode(&public) & 0o600, 0o600);
    }
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let user = User::new();
    user.run("keys generate").expect_success();
    user.folder.write("run.rer.json", record(&user.secret("default")));
    let path = user.store().path(&"default".parse().unwrap());
    set_mode(&path, 0o640);
    let said = format!(
        "{path}: others can read this private key (mode 0640); if nobody has it, close it with: chmod 600 {path}",
        path = path.display()
    );
    for command in ["show default", "export default", "export default --private", "rotate", "jwks", "list"] {
        user.run(&format!("keys {command}")).expect_failure(2, &said);
    }
    let CommandOutput(code, text, complained) = user.run("verify --json run.rer.json");
    assert_eq!(code, Some(1));
    assert!(text.contains("no key for key_id"), "{text}");
    assert_eq!(complained, format!("reenact: {said}; until then this key is not used\n"));
    set_mode(&path, 0o600);
    assert_eq!(user.verdict("run.rer.json").0, Some(0));
}

#[test]
fn a_key_that_lies_open_elsewhere_is_kept_with_a_warning() {
    let user = User::new();
    let key = SecretKey::generate().unwrap();
    durable::create(&user.file("open.jwk"), key.to_jwk().as_bytes(), Readers::Everyone).unwrap();
    set_mode(&user.file("open.jwk"), 0o644);
    let CommandOutput(code, _, complained) = user.run("keys import open.jwk");
    assert_eq!(code, Some(0));
    assert_eq!(
        complained,
        "reenact: open.jwk: others can read this private key where it lies; delete it, and rotate the key if somebody may have it\n"
    );
    assert_eq!(user.public("default"), key.public_key());
}

#[test]
fn a_trust_store_that_others_write_is_refused() {
    let user = User::new();
    user.run("keys trust vectors/rer/keys/alpha.jwk").expect_success();
    let path = user.config().join("trust.json");
    set_mode(&path, 0o666);
    let said = "[..]trust.json: others can write to this file, so they decide whom you trust; look through it, then: chmod 644 [..]trust.json";
    user.run("verify vectors/rer/valid/v39_canonical_file.json").expect_failure(2, said);
    user.run("keys list").expect_failure(2, said);
    set_mode(&path, 0o644);
    assert_eq!(user.verdict("vectors/rer/valid/v39_canonical_file.json").0, Some(0));
}
