//! Keys from their making to their end: what is signed with them verifies where it should, and nothing tells a secret.
//!
//! What one command says without any key at hand lies in `cases`; here is what takes several.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on stops")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use reenact_formats::key::PublicKey;
use reenact_formats::rer::Version;
use reenact_formats::rer::seal::{Chain, NewEvent, RunHeader, Signer};
use reenact_record::durable::{self, Readers};
use reenact_record::{KeyName, KeyStore, SecretKey};
use support::folder::Folder;
use support::text;

/// A user: a folder to work in, and a configuration.
struct User {
    folder: Folder,
}

/// Exit code, standard output, standard error.
struct Came(Option<i32>, String, String);

impl Came {
    /// Done: what it printed.
    fn done(self) -> String {
        assert_eq!((self.0, self.2.as_str()), (Some(0), ""), "{}", self.1);
        self.1
    }

    /// Not done: exactly this was said, and nothing else.
    fn refused(self, code: i32, said: &str) {
        assert_eq!((self.0, self.1.as_str()), (Some(code), ""), "{}", self.2);
        let said = format!("reenact: {said}\n");
        assert!(text::matches(&said, &self.2), "{}", text::difference(&said, &self.2));
    }
}

impl User {
    fn new() -> Self {
        Self { folder: Folder::with_repository() }
    }

    fn config(&self) -> PathBuf {
        self.folder.home().join("reenact")
    }

    fn store(&self) -> KeyStore {
        KeyStore::new(self.config().join("keys"))
    }

    fn secret(&self, name: &str) -> SecretKey {
        self.store().load(&name.parse().unwrap()).unwrap()
    }

    fn public(&self, name: &str) -> PublicKey {
        self.secret(name).public_key()
    }

    fn id(&self, name: &str) -> String {
        self.public(name).id().to_string()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn trust_file(&self) -> String {
        fs::read_to_string(self.config().join("trust.json")).unwrap()
    }

    /// Runs a command that may show a secret.
    fn run_openly(&self, line: &str) -> Came {
        let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), &self.folder);
        let output = command.args(line.split(' ')).stdin(Stdio::null()).output().unwrap();
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        Came(output.status.code(), utf8(output.stdout), utf8(output.stderr))
    }

    /// Runs a command. Whatever it does, it shows none of the user's secrets, before or after.
    fn run(&self, line: &str) -> Came {
        let mut secrets = self.secrets();
        let came = self.run_openly(line);
        secrets.extend(self.secrets());
        for secret in secrets {
            for said in [&came.1, &came.2] {
                assert!(!said.contains(&secret), "{line}: shows a secret");
            }
        }
        came
    }

    /// `d` of every key, as it is written and in hexadecimal.
    fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        for name in self.store().list().unwrap() {
            let Ok(text) = fs::read_to_string(self.store().path(&name)) else { continue };
            let Some((_, rest)) = text.split_once("\"d\":\"") else { continue };
            let d = rest.split('"').next().unwrap();
            found.push(d.to_owned());
            found.push(hex(d));
        }
        found
    }

    /// What `verify` says of a record: exit code and `signer`.
    fn verdict(&self, arguments: &str) -> (Option<i32>, String) {
        let came = self.run(&format!("verify --json {arguments}"));
        assert_eq!(came.2, "", "{arguments}");
        assert!(came.1.contains("\"pass\":true"), "{}", came.1);
        let (_, signer) = came.1.split_once("\"signer\":{").unwrap();
        (came.0, signer.split('}').next().unwrap().to_owned())
    }
}

/// base64url to hexadecimal.
fn hex(base64: &str) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: String = base64
        .bytes()
        .map(|byte| format!("{:06b}", alphabet.iter().position(|known| *known == byte).unwrap()))
        .collect();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|byte| {
            let byte = u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 2).unwrap();
            format!("{byte:02x}")
        })
        .collect()
}

fn signer(id: &str, trust: &str, label: Option<&str>) -> String {
    let label = label.map_or("null".to_owned(), |label| format!("\"{label}\""));
    format!("\"key_id\":\"{id}\",\"trust\":\"{trust}\",\"label\":{label}")
}

/// A record of a run, signed with the key.
fn record(key: &SecretKey) -> Vec<u8> {
    let envelope = br#"{
        "envelope_version": "rer-envelope/0.2", "expiry": "2030-01-01T00:00:00Z",
        "limits": {"max_steps": 10, "max_spend_usd": 1, "rate_limit_rpm": 60}, "metadata": {},
        "permissions": {"allowed_models": ["*"], "allowed_tools": ["*"]}, "required_approvals": [],
        "required_signer_types": []
    }"#;
    let mut chain = Chain::new(Version::V02);
    for (at, event_type) in (0..).zip(["rer.run.started", "rer.run.ended"]) {
        let timestamp = "2026-05-13T12:00:00.000Z";
        let event = NewEvent { step_index: at, event_type, timestamp, payload: Some(b"{}"), redacted: false };
        chain.append(&event).unwrap();
    }
    let header =
        RunHeader { run_id: "run", implementation: "test", version: "1", envelope, manifest_hash: None };
    chain.seal(&header, key).unwrap()
}

#[test]
fn from_the_first_key_to_its_end() {
    let (us, them) = (User::new(), User::new());

    // A key, and a run that is signed with it.
    us.run("keys generate").done();
    us.folder.write("before.rer.json", record(&us.secret("default")));
    let first = us.id("default");
    assert_eq!(us.verdict("before.rer.json"), (Some(0), signer(&first, "trusted", Some("default"))));
    let text = us.run("verify before.rer.json").done();
    assert!(text.contains("PASS  intact, and signed by a key that you trust (2 events)"), "{text}");

    // Another key in its place: both runs verify.
    us.run("keys rotate").done();
    us.folder.write("after.rer.json", record(&us.secret("default")));
    let (second, old_name) = (us.id("default"), format!("default-{:.8}", first));
    assert_ne!(first, second);
    assert_eq!(us.id(&old_name), first);
    assert_eq!(us.verdict("before.rer.json"), (Some(0), signer(&first, "superseded", Some(&old_name))));
    assert_eq!(us.verdict("after.rer.json"), (Some(0), signer(&second, "trusted", Some("default"))));
    let text = us.run("verify before.rer.json").done();
    assert!(text.contains("PASS  intact, and signed by a key that has been superseded (2 events)"), "{text}");

    // Both verify for somebody who has the published set and nothing else.
    let published = us.run("keys jwks").done();
    for record in ["before.rer.json", "after.rer.json"] {
        fs::copy(us.file(record), them.file(record)).unwrap();
    }
    them.folder.write("published.jwks", &published);
    let supplied = |record: &str| them.verdict(&format!("--keys published.jwks {record}"));
    assert_eq!(supplied("before.rer.json"), (Some(0), signer(&first, "supplied", None)));
    assert_eq!(supplied("after.rer.json"), (Some(0), signer(&second, "supplied", None)));
    let came = them.run("verify --json after.rer.json");
    assert_eq!(came.0, Some(1));
    assert!(came.1.contains(&format!("no key for key_id {second}")), "{}", came.1);

    // They trust it from now on, and know what to think when a key is lost.
    let said = them.run("keys trust --label us published.jwks").done();
    assert_eq!(said, format!("us ({second}) is trusted now\nus ({first}) is trusted now\n"));
    assert_eq!(them.verdict("after.rer.json"), (Some(0), signer(&second, "trusted", Some("us"))));
    them.run(&format!("keys supersede {first} --by {second}")).done();
    assert_eq!(them.verdict("before.rer.json"), (Some(0), signer(&first, "superseded", Some("us"))));
    // A key that is supplied keeps its label, and a warning beats it.
    assert_eq!(supplied("after.rer.json"), (Some(0), signer(&second, "supplied", Some("us"))));
    them.run(&format!("keys compromise {second} --since 2026-05-01T00:00:00Z")).done();
    assert_eq!(them.verdict("after.rer.json"), (Some(1), signer(&second, "compromised", Some("us"))));
    assert_eq!(supplied("after.rer.json"), (Some(1), signer(&second, "compromised", Some("us"))));
    let Came(code, text, _) = them.run("verify after.rer.json");
    assert_eq!(code, Some(1));
    assert!(text.contains("intact, but signed by a key that is marked as compromised (2 events)"), "{text}");
    assert_eq!(supplied("before.rer.json").0, Some(0));
    let Came(code, said, complained) = them.run("keys trust published.jwks");
    assert_eq!((code, said), (Some(1), format!("us ({first}) is superseded, and stays so\n")));
    assert_eq!(
        complained,
        format!(
            "reenact: us ({second}) is marked as compromised and not trusted; \
             if that is wrong, let it be forgotten first: reenact keys forget\n"
        )
    );
    them.run(&format!("keys forget {second}")).done();
    them.run(&format!("keys forget {first}")).done();
    assert_eq!(them.trust_file(), "{\n  \"version\": 1,\n  \"keys\": []\n}\n");
    assert_eq!(them.run("verify after.rer.json").0, Some(1));

    // A compromised key of one's own: not published, not trusted, and it stays so when it is replaced.
    us.run("keys compromise default").done();
    assert_eq!(us.verdict("after.rer.json"), (Some(1), signer(&second, "compromised", Some("default"))));
    let Came(code, published, complained) = us.run("keys jwks");
    assert_eq!((code, published.contains(&second), published.contains(&first)), (Some(0), false, true));
    assert_eq!(complained, format!("reenact: default ({second}) is marked as compromised and left out\n"));
    let said = us.run("keys rotate").done();
    assert!(said.contains("still compromised\n\nNothing that the old key signed can be believed."), "{said}");
    let lost = format!("default-{second:.8}");
    assert_eq!(us.verdict("after.rer.json"), (Some(1), signer(&second, "compromised", Some(&lost))));
    us.run(&format!("keys supersede {lost} --by default"))
        .refused(2, &format!("{lost} ({second}) is marked as compromised, which is worse; it stays so"));
}

#[test]
fn a_key_is_kept_where_it_says() {
    let user = User::new();
    let said = user.run("keys generate ci").done();
    let path = user.config().join("keys/ci.jwk");
    let expected = format!(
        "name    ci\nkey_id  {}\nfile    {}\n\n\
         The file is your private key: keep it to yourself. To let others verify what you sign, give them its public half:\n  \
         reenact keys export ci --out ci.public.jwk\n",
        user.id("ci"),
        path.display()
    );
    assert_eq!(said, expected);
    let before = fs::read(&path).unwrap();
    user.run("keys generate ci").refused(
        2,
        "there is a key called ci already; give another name, or put a new key in its place with: reenact keys rotate ci",
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    user.run("keys rotate other")
        .refused(2, "you have no key called other; make it: reenact keys generate other");
}

#[test]
fn keys_are_listed_and_shown() {
    let user = User::new();
    user.run("keys generate b").done();
    user.run("keys generate a").done();
    user.run("keys rotate b").done();
    user.run("keys trust --label alpha vectors/rer/keys/alpha.jwk").done();
    user.run("keys trust vectors/rer/keys/bravo.bin").done();
    user.run("keys compromise alpha --since 2026-05-01T00:00:00Z").done();
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
         -           {bravo}  trusted\n"
    );
    assert_eq!(user.run("keys list").done(), expected);

    let lines = user.run("keys list --json").done();
    let line = |at: usize| lines.lines().nth(at).unwrap();
    assert_eq!(lines.lines().count(), 5);
    let x = user.public(old).to_base64url();
    assert_eq!(
        line(2),
        format!(
            r#"{{"key_id":"{old_id}","x":"{x}","name":"{old}","label":null,"own":true,"standing":"superseded","by":"{b}","since":null,"approver":null}}"#
        )
    );
    assert_eq!(
        line(3),
        format!(
            r#"{{"key_id":"{alpha}","x":"ISsSXTbI1o8oK6RYDfRaioVrJGS76mk_9QO9lW6nQHI","name":null,"label":"alpha","own":false,"standing":"compromised","by":null,"since":"2026-05-01T00:00:00Z","approver":null}}"#
        )
    );

    let shown = user.run("keys show alpha").done();
    assert_eq!(
        shown,
        format!(
            "label     alpha\nkey_id    {alpha}\nstanding  compromised since 2026-05-01T00:00:00Z\n\
             x         ISsSXTbI1o8oK6RYDfRaioVrJGS76mk_9QO9lW6nQHI\n\
             sha256    0bbb98e4d57bf5f18b53ff4806731a200ccfa6fd531a5e3aed9a017002e45997\n"
        )
    );
    for called in [alpha, &alpha[..8]] {
        assert_eq!(user.run(&format!("keys show {called}")).done(), shown);
    }
    let text = user.run(&format!("keys show {old}")).done();
    let path = user.store().path(&names[2]);
    for line in [format!("by        {b}\n"), format!("file      {}\n", path.display())] {
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn a_key_must_be_named_without_doubt() {
    let user = User::new();
    user.run("keys generate a").done();
    user.run("keys trust --label a vectors/rer/keys/alpha.jwk vectors/rer/keys/bravo.jwk").done();
    let id = user.id("a");
    user.run("keys compromise a").refused(
        2,
        &format!(
            "\"a\" may be any of these keys; give more of its key id:\n  a ({id})\n  a (C7uY[..])\n  a (NkmB[..])"
        ),
    );
    user.run("keys compromise C7uY").done();
    assert!(user.trust_file().contains(r#""label":"a","standing":"compromised"}"#));
    user.run("keys show nobody").refused(2, "no key is called \"nobody\"; see: reenact keys list");
}

#[test]
fn an_id_that_begins_with_a_hyphen_is_no_option() {
    let user = User::new();
    let key = std::iter::repeat_with(|| SecretKey::generate().unwrap())
        .find(|key| key.public_key().id().to_string().starts_with('-'))
        .unwrap();
    let id = key.public_key().id().to_string();
    user.store().create(&"a".parse().unwrap(), &key).unwrap();
    user.run("keys generate b").done();
    for called in [&id, &id[..6]] {
        assert!(user.run(&format!("keys show {called}")).done().contains(&id));
        assert!(
            user.run(&format!("keys export {called} --as pem")).done().starts_with("-----BEGIN PUBLIC KEY")
        );
        assert!(
            user.run(&format!("keys export --as pem {called}")).done().starts_with("-----BEGIN PUBLIC KEY")
        );
        user.run(&format!("keys supersede b --by {called}")).done();
        user.run(&format!("keys compromise {called} --since 2026-05-01T00:00:00Z")).done();
        user.run(&format!("keys forget {called}")).done();
    }
}

#[test]
fn a_key_is_exported_in_every_form() {
    let user = User::new();
    user.run("keys generate").done();
    user.folder.write("run.rer.json", record(&user.secret("default")));
    let public = user.public("default");
    let expected = format!(
        "{{\"crv\":\"Ed25519\",\"kid\":\"{}\",\"kty\":\"OKP\",\"x\":\"{}\"}}\n",
        public.id(),
        public.to_base64url()
    );
    assert_eq!(user.run("keys export default").done(), expected);
    for form in ["jwk", "pem", "der", "raw"] {
        assert_eq!(user.run(&format!("keys export default --as {form} --out key.{form}")).done(), "");
        let read = reenact_formats::key::read(&fs::read(user.file(&format!("key.{form}"))).unwrap()).unwrap();
        assert_eq!((read.keys, read.holds_private), (vec![public], false));
        // Supplied, and known by its name.
        let verdict = user.verdict(&format!("--key key.{form} run.rer.json"));
        assert_eq!(verdict, (Some(0), signer(&public.id().to_string(), "supplied", Some("default"))));
    }
    user.run("keys export default --out key.pem")
        .refused(2, "key.pem: there is such a file already; give another name");
    user.run("keys export default --out nowhere/key.jwk").refused(2, "nowhere/key.jwk: [..]");
}

#[test]
fn a_private_key_goes_only_where_it_was_sent() {
    let user = User::new();
    user.run("keys generate").done();
    user.run("keys trust --label alpha vectors/rer/keys/alpha.jwk").done();
    let jwk = user.secret("default").to_jwk();
    let came = user.run_openly("keys export default --private");
    assert_eq!((came.0, came.1.trim_end(), came.2.as_str()), (Some(0), jwk.as_str(), ""));
    assert_eq!(user.run("keys export default --private --out backup.jwk").done(), "");
    assert_eq!(fs::read_to_string(user.file("backup.jwk")).unwrap().trim_end(), *jwk);
    user.run("keys export default --private --out backup.jwk")
        .refused(2, "backup.jwk: there is such a file already; give another name");
    for form in ["pem", "der", "raw"] {
        user.run(&format!("keys export default --private --as {form}"))
            .refused(2, "a private key is exported as a JWK only: leave out --as");
    }
    user.run("keys export alpha --private")
        .refused(2, "alpha (C7uY[..]) is not a key of your own: you have its public half only");

    // And back, elsewhere.
    let other = User::new();
    fs::copy(user.file("backup.jwk"), other.file("backup.jwk")).unwrap();
    let said = other.run("keys import backup.jwk mine").done();
    assert!(said.starts_with(&format!("name    mine\nkey_id  {}\nfile    ", user.id("default"))), "{said}");
    assert_eq!(other.public("mine"), user.public("default"));
    other.run("keys import backup.jwk again").refused(2, "backup.jwk: this key is kept already, as mine");
    user.run("keys generate second").done();
    user.run("keys export second --private --out second.jwk").done();
    fs::copy(user.file("second.jwk"), other.file("second.jwk")).unwrap();
    other.run("keys import second.jwk mine").refused(
        2,
        "there is a key called mine already; give another name: reenact keys import second.jwk NAME",
    );
}

#[test]
fn what_is_known_is_told_once() {
    let user = User::new();
    user.run("keys generate").done();
    user.run("keys export default --out own.jwk").done();
    let id = user.id("default");
    let alpha = "C7uY5NV79fGLU_9IBnMaIAzPpv1TGl467ZoBcALkWZc";
    let trust = |arguments: &str| user.run(&format!("keys trust {arguments}")).done();
    assert_eq!(trust("own.jwk"), format!("default ({id}) is a key of your own\n"));
    assert!(!user.config().join("trust.json").exists());
    assert_eq!(trust("vectors/rer/keys/alpha.bin"), format!("{alpha} is trusted now\n"));
    assert_eq!(trust("vectors/rer/keys/alpha.jwk"), format!("{alpha} was trusted already\n"));
    assert_eq!(trust("vectors/rer/keys/alpha.bin --label a"), format!("a ({alpha}) has its label now\n"));
    user.run("keys supersede a --by a").refused(2, &format!("a ({alpha}): a key cannot supersede itself"));
    user.run("keys compromise a --since 2026-05-01")
        .refused(2, "--since 2026-05-01: is not a time like 2026-05-01T00:00:00Z");
    assert_eq!(user.run("keys forget a").done(), format!("a ({alpha}) is forgotten; it was trusted\n"));
    user.run("keys forget a.b").refused(2, "no key is called \"a.b\"; see: reenact keys list");
    user.run("keys forget default").refused(
        2,
        &format!("default ({id}) is a key of your own without any mark; its private key is [..]default.jwk"),
    );
    user.run("keys compromise default").done();
    user.run("keys trust vectors/rer/keys/alpha.bin").done();
    user.run(&format!("keys supersede {alpha} --by default"))
        .refused(2, &format!("default ({id}) is marked as compromised: nobody should sign with it"));
    assert_eq!(
        user.run("keys forget default").done(),
        format!(
            "default ({id}) is forgotten; it was compromised, and a key of your own without any mark now\n"
        )
    );
}

#[test]
fn a_broken_trust_store_is_never_passed_over() {
    let user = User::new();
    user.run("keys generate").done();
    user.folder.write("run.rer.json", record(&user.secret("default")));
    let path = user.config().join("trust.json");
    let before = fs::read(user.store().path(&"default".parse().unwrap())).unwrap();
    for (text, why) in [
        ("", "is not JSON: line 1, column 1 ($): the text is empty"),
        (r#"{"version":2,"keys":[]}"#, "`version` must be 1: a newer reenact may have written this"),
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
            user.run(command).refused(2, &said);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    // A rotation that could not be written down did not happen.
    assert_eq!(fs::read(user.store().path(&"default".parse().unwrap())).unwrap(), before);
    assert_eq!(user.store().list().unwrap().len(), 1);
}

#[test]
fn without_a_home_there_are_no_keys_but_verdicts() {
    let user = User::new();
    let run = |arguments: &[&str]| {
        let mut command = support::command(Path::new(env!("CARGO_BIN_EXE_reenact")), &user.folder);
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
    user.run("keys generate").done();
    let keys: Vec<PublicKey> =
        std::iter::repeat_with(|| SecretKey::generate().unwrap().public_key()).take(12).collect();
    std::thread::scope(|scope| {
        for (at, key) in keys.iter().enumerate() {
            let user = &user;
            scope.spawn(move || {
                let file = format!("{at}.bin");
                user.folder.write(&file, key.as_bytes());
                user.run(&format!("keys trust {file}")).done();
            });
        }
    });
    let text = user.trust_file();
    assert!(keys.iter().all(|key| text.contains(&key.id().to_string())), "{text}");
}

#[cfg(unix)]
mod permissions {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn only_the_owner_reads_what_is_private() {
        let user = User::new();
        user.run("keys generate").done();
        user.run("keys rotate").done();
        user.run("keys export default --private --out backup.jwk").done();
        user.run("keys export default --out public.jwk").done();
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
        user.run("keys generate").done();
        user.folder.write("run.rer.json", record(&user.secret("default")));
        let path = user.store().path(&"default".parse().unwrap());
        set_mode(&path, 0o640);
        let said = format!(
            "{path}: others can read this private key (mode 0640); if nobody has it, close it with: chmod 600 {path}",
            path = path.display()
        );
        for command in
            ["show default", "export default", "export default --private", "rotate", "jwks", "list"]
        {
            user.run(&format!("keys {command}")).refused(2, &said);
        }
        let Came(code, text, complained) = user.run("verify --json run.rer.json");
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
        let Came(code, _, complained) = user.run("keys import open.jwk");
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
        user.run("keys trust vectors/rer/keys/alpha.jwk").done();
        let path = user.config().join("trust.json");
        set_mode(&path, 0o666);
        let said = "[..]trust.json: others can write to this file, so they decide whom you trust; look through it, then: chmod 644 [..]trust.json";
        user.run("verify vectors/rer/valid/v39_canonical_file.json").refused(2, said);
        user.run("keys list").refused(2, said);
        set_mode(&path, 0o644);
        assert_eq!(user.verdict("vectors/rer/valid/v39_canonical_file.json").0, Some(0));
    }
}
