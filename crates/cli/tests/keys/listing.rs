//! `keys list` and `keys show`, and the names by which a key is found.

use reenact_formats::rer::seal::Signer;
use reenact_keys::{KeyName, SecretKey};

use crate::User;

#[test]
fn keys_are_listed_and_shown() {
    let user = User::new();
    user.run("keys generate b").expect_success();
    user.run("keys generate a").expect_success();
    user.run("keys rotate b").expect_success();
    user.run("keys trust --label alpha vectors/rer/keys/alpha.jwk").expect_success();
    user.run("keys trust vectors/rer/keys/bravo.bin").expect_success();
    user.run("keys compromise alpha --since 2026-05-01T00:00:00Z").expect_success();
    let names: Vec<KeyName> = user.store().list().unwrap();
    let old = names[2].as_str();
    let (a, b, old_id) = (user.id("a"), user.id("b"), user.id(old));
    let (alpha, bravo) =
        ("C7uY5NV79fGLU_9IBnMaIAzPpv1TGl467ZoBcALkWZc", "NkmBqk-1YNGAhgYh7eB_41ji0SiwPFxwJ_ocptistpo");
    let expected = format!(
        "NAME        KEY ID                                       STANDING\n\
         a           {a}  own\n\
         b           {b}  own\n\
         {old}  {old_id}  own, superseded by b\n\
         alpha       {alpha}  compromised since 2026-05-01T00:00:00Z\n\
         -           {bravo}  trusted as runtime\n"
    );
    assert_eq!(user.run("keys list").expect_success(), expected);

    let lines = user.run("keys list --json").expect_success();
    let line = |at: usize| lines.lines().nth(at).unwrap();
    assert_eq!(lines.lines().count(), 5);
    let x = user.public(old).to_base64url();
    assert_eq!(
        line(2),
        format!(
            r#"{{"key_id":"{old_id}","x":"{x}","name":"{old}","label":null,"own":true,"standing":"superseded","roles":["runtime","platform"],"by":"{b}","since":null,"approver":null,"sha256":"{}","file":"{}"}}"#,
            user.public(old).digest(),
            user.store().path(&names[2]).display()
        )
    );
    assert_eq!(
        line(3),
        format!(
            r#"{{"key_id":"{alpha}","x":"ISsSXTbI1o8oK6RYDfRaioVrJGS76mk_9QO9lW6nQHI","name":null,"label":"alpha","own":false,"standing":"compromised","roles":["runtime"],"by":null,"since":"2026-05-01T00:00:00Z","approver":null,"sha256":"0bbb98e4d57bf5f18b53ff4806731a200ccfa6fd531a5e3aed9a017002e45997","file":null}}"#
        )
    );

    let shown = user.run("keys show alpha").expect_success();
    assert_eq!(
        shown,
        format!(
            "label     alpha\nkey_id    {alpha}\nstanding  compromised since 2026-05-01T00:00:00Z\n\
             x         ISsSXTbI1o8oK6RYDfRaioVrJGS76mk_9QO9lW6nQHI\n\
             sha256    0bbb98e4d57bf5f18b53ff4806731a200ccfa6fd531a5e3aed9a017002e45997\n"
        )
    );
    assert_eq!(user.run("keys show alpha --json").expect_success(), format!("{}\n", line(3)));
    for called in [alpha, &alpha[..8]] {
        assert_eq!(user.run(&format!("keys show {called}")).expect_success(), shown);
    }
    let text = user.run(&format!("keys show {old}")).expect_success();
    let path = user.store().path(&names[2]);
    for line in [format!("by        {b}\n"), format!("file      {}\n", path.display())] {
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn a_key_must_be_named_without_doubt() {
    let user = User::new();
    user.run("keys generate a").expect_success();
    user.run("keys trust --label a vectors/rer/keys/alpha.jwk vectors/rer/keys/bravo.jwk").expect_success();
    let id = user.id("a");
    user.run("keys compromise a").expect_failure(
        2,
        &format!(
            "\"a\" may be any of these keys; give more of its key id:\n  a ({id})\n  a (C7uY[..])\n  a (NkmB[..])"
        ),
    );
    user.run("keys compromise C7uY").expect_success();
    assert!(user.trust_file().contains(r#""label":"a","standing":"compromised","roles":["runtime"]}"#));
    user.run("keys show nobody").expect_failure(2, "no key is called \"nobody\"; see: reenact keys list");
}

#[test]
fn an_id_that_begins_with_a_hyphen_is_no_option() {
    let user = User::new();
    let key = std::iter::repeat_with(|| SecretKey::generate().unwrap())
        .find(|key| key.public_key().id().to_string().starts_with('-'))
        .unwrap();
    let id = key.public_key().id().to_string();
    user.store().create(&"a".parse().unwrap(), &key).unwrap();
    user.run("keys generate b").expect_success();
    for called in [&id, &id[..6]] {
        assert!(user.run(&format!("keys show {called}")).expect_success().contains(&id));
        assert!(
            user.run(&format!("keys export {called} --as pem"))
                .expect_success()
                .starts_with("-----BEGIN PUBLIC KEY")
        );
        assert!(
            user.run(&format!("keys export --as pem {called}"))
                .expect_success()
                .starts_with("-----BEGIN PUBLIC KEY")
        );
        user.run(&format!("keys supersede b --by {called}")).expect_success();
        user.run(&format!("keys compromise {called} --since 2026-05-01T00:00:00Z")).expect_success();
        user.run(&format!("keys forget {called}")).expect_success();
    }
}

/// Each command that changes a key prints it as the list does afterwards.
#[test]
fn every_change_is_told_to_programs() {
    let user = User::new();
    let listed = |user: &User, id: &str| {
        let lines = user.run("keys list --json").expect_success();
        let found = lines.lines().find(|line| line.starts_with(&format!("{{\"key_id\":\"{id}\"")));
        found.map(|line| format!("{line}\n"))
    };
    let generated = user.run("keys generate ci --json").expect_success();
    assert_eq!(Some(generated), listed(&user, &user.id("ci")));
    user.folder.write("bot.passphrase", "correct horse battery staple");
    let approver =
        "keys generate bot --approver --signer-type automated --passphrase-file bot.passphrase --json";
    // A notice says that others can read the file with the passphrase.
    let generated = user.run(approver).1;
    assert!(
        generated.contains("\"name\":\"bot\"") && generated.contains("\"approver\":\"automated\""),
        "{generated}"
    );
    let old = user.id("ci");
    let rotated = user.run("keys rotate ci --json").expect_success();
    let both = [listed(&user, &user.id("ci")), listed(&user, &old)].map(Option::unwrap).concat();
    assert_eq!(rotated, both);

    let alpha = "C7uY5NV79fGLU_9IBnMaIAzPpv1TGl467ZoBcALkWZc";
    let bravo = "NkmBqk-1YNGAhgYh7eB_41ji0SiwPFxwJ_ocptistpo";
    let files = "vectors/rer/keys/alpha.jwk vectors/rer/keys/bravo.bin";
    let trusted = user.run(&format!("keys trust --json {files}")).expect_success();
    assert_eq!(trusted, [listed(&user, alpha), listed(&user, bravo)].map(Option::unwrap).concat());
    for (change, standing) in [
        (format!("keys supersede {alpha} --by {bravo}"), "superseded"),
        (format!("keys compromise {alpha}"), "compromised"),
    ] {
        let told = user.run(&format!("{change} --json")).expect_success();
        assert!(told.contains(&format!("\"standing\":\"{standing}\"")), "{told}");
        assert_eq!(Some(told), listed(&user, alpha));
    }
    let told = user.run(&format!("keys forget {alpha} --json")).expect_success();
    assert!(
        told.starts_with(&format!("{{\"key_id\":\"{alpha}\"")) && told.contains("\"standing\":\"unknown\""),
        "{told}"
    );
    assert_eq!(listed(&user, alpha), None);
    let imported = user.run("keys import vectors/rer/keys/alpha.private.jwk again --json").1;
    assert_eq!(Some(imported), listed(&user, alpha));
}
