//! The trust store: complete messages, no lost update, and no way around a broken file.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use reenact_formats::key::PublicKey;
use reenact_formats::rer::seal::Signer;
use reenact_keys::SecretKey;

use crate::{User, record};

#[test]
fn what_is_known_is_told_once() {
    let user = User::new();
    user.run("keys generate").expect_success();
    user.run("keys export default --out own.jwk").expect_success();
    let id = user.id("default");
    let alpha = "C7uY5NV79fGLU_9IBnMaIAzPpv1TGl467ZoBcALkWZc";
    let trust = |arguments: &str| user.run(&format!("keys trust {arguments}")).expect_success();
    assert_eq!(trust("own.jwk"), format!("default ({id}) is a key of your own\n"));
    assert!(!user.config().join("trust.json").exists());
    assert_eq!(trust("vectors/rer/keys/alpha.bin"), format!("{alpha} is trusted as runtime now\n"));
    assert_eq!(trust("vectors/rer/keys/alpha.jwk"), format!("{alpha} was trusted already\n"));
    assert_eq!(trust("vectors/rer/keys/alpha.bin --label a"), format!("a ({alpha}) has its label now\n"));
    let twice = "vectors/rer/keys/alpha.bin --as platform --as runtime";
    assert_eq!(trust(twice), format!("a ({alpha}) is trusted as runtime, platform now\n"));
    assert_eq!(trust(twice), format!("a ({alpha}) was trusted already\n"));
    user.run("keys supersede a --by a")
        .expect_failure(2, &format!("a ({alpha}): a key cannot supersede itself"));
    user.run("keys compromise a --since 2026-05-01")
        .expect_failure(2, "--since 2026-05-01: is not a time like 2026-05-01T00:00:00Z");
    assert_eq!(
        user.run("keys forget a").expect_success(),
        format!("a ({alpha}) is forgotten; it was trusted\n")
    );
    user.run("keys forget a.b").expect_failure(2, "no key is called \"a.b\"; see: reenact keys list");
    user.run("keys forget default").expect_failure(
        2,
        &format!("default ({id}) is a key of your own without any mark; its private key is [..]default.jwk"),
    );
    user.run("keys compromise default").expect_success();
    user.run("keys trust vectors/rer/keys/alpha.bin").expect_success();
    user.run(&format!("keys supersede {alpha} --by default"))
        .expect_failure(2, &format!("default ({id}) is marked as compromised: nobody should sign with it"));
    assert_eq!(
        user.run("keys forget default").expect_success(),
        format!(
            "default ({id}) is forgotten; it was compromised, and a key of your own without any mark now\n"
        )
    );
}

#[test]
fn a_broken_trust_store_is_never_passed_over() {
    let user = User::new();
    user.run("keys generate").expect_success();
    user.folder.write("run.rer.json", record(&user.secret("default")));
    let path = user.config().join("trust.json");
    let before = fs::read(user.store().path(&"default".parse().unwrap())).unwrap();
    for (text, why) in [
        ("", "is not JSON: line 1, column 1 ($): the text is empty"),
        (r#"{"version":3,"keys":[]}"#, "`version` must be 1 or 2: a newer reenact may have written this"),
        (
            r#"{"version":1,"keys":[{}]}"#,
            "keys[0]: `x` must be an Ed25519 public key in base64url without padding",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let said = format!("[..]trust.json: {why} (correct it, or move it away to begin anew)");
        for command in [
            "verify run.rer.json",
            "keys list",
            "keys jwks",
            "keys rotate",
            "keys compromise default",
            "keys trust vectors/rer/keys/alpha.jwk",
        ] {
            user.run(command).expect_failure(2, &said);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    // A rotation that the trust store cannot note does not happen.
    assert_eq!(fs::read(user.store().path(&"default".parse().unwrap())).unwrap(), before);
    assert_eq!(user.store().list().unwrap().len(), 1);
}

#[test]
fn without_a_home_there_are_no_keys_but_verdicts() {
    let user = User::new();
    let run = |arguments: &[&str]| {
        let mut command = crate::support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), &user.folder);
        command.env_remove("HOME").env("XDG_CONFIG_HOME", "relative").args(arguments);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let output = run(&["keys", "list"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "reenact: there is no place for keys: set HOME or XDG_CONFIG_HOME to a folder, by its whole path\n"
    );
    let record = "vectors/rer/valid/v39_canonical_file.json";
    assert_eq!(run(&["verify", "--key", "vectors/rer/keys/alpha.jwk", record]).status.code(), Some(0));
}

#[test]
fn many_at_once_lose_nothing() {
    let user = User::new();
    user.run("keys generate").expect_success();
    let keys: Vec<PublicKey> =
        std::iter::repeat_with(|| SecretKey::generate().unwrap().public_key()).take(12).collect();
    std::thread::scope(|scope| {
        for (at, key) in keys.iter().enumerate() {
            let user = &user;
            scope.spawn(move || {
                let file = format!("{at}.bin");
                user.folder.write(&file, key.as_bytes());
                user.run(&format!("keys trust {file}")).expect_success();
            });
        }
    });
    let text = user.trust_file();
    assert!(keys.iter().all(|key| text.contains(&key.id().to_string())), "{text}");
}
