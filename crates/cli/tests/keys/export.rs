//! Keys that are exported, in every format, and imported again.

use std::fs;

use crate::{User, record, signer};

#[test]
fn a_key_is_exported_in_every_form() {
    let user = User::new();
    user.run("keys generate").expect_success();
    user.folder.write("run.rer.json", record(&user.secret("default")));
    let public = user.public("default");
    let expected = format!(
        "{{\"crv\":\"Ed25519\",\"kid\":\"{}\",\"kty\":\"OKP\",\"x\":\"{}\"}}\n",
        public.id(),
        public.to_base64url()
    );
    assert_eq!(user.run("keys export default").expect_success(), expected);
    for form in ["jwk", "pem", "der", "raw"] {
        assert_eq!(
            user.run(&format!("keys export default --as {form} --out key.{form}")).expect_success(),
            ""
        );
        let read = reenact_formats::key::read(&fs::read(user.file(&format!("key.{form}"))).unwrap()).unwrap();
        assert_eq!((read.keys, read.holds_private), (vec![public], false));
        // Supplied, and known by its name.
        let verdict = user.verdict(&format!("--key key.{form} run.rer.json"));
        assert_eq!(verdict, (Some(0), signer(&public.id().to_string(), "supplied", Some("default"))));
    }
    user.run("keys export default --out key.pem")
        .expect_failure(2, "key.pem: there is such a file already; give another name");
    user.run("keys export default --out nowhere/key.jwk").expect_failure(2, "nowhere/key.jwk: [..]");
}

#[test]
fn a_private_key_goes_only_where_it_was_sent() {
    let user = User::new();
    user.run("keys generate").expect_success();
    user.run("keys trust --label alpha vectors/rer/keys/alpha.jwk").expect_success();
    let jwk = user.secret("default").to_jwk();
    let came = user.run_unchecked("keys export default --private");
    assert_eq!((came.0, came.1.trim_end(), came.2.as_str()), (Some(0), jwk.as_str(), ""));
    assert_eq!(user.run("keys export default --private --out backup.jwk").expect_success(), "");
    assert_eq!(fs::read_to_string(user.file("backup.jwk")).unwrap().trim_end(), *jwk);
    user.run("keys export default --private --out backup.jwk")
        .expect_failure(2, "backup.jwk: there is such a file already; give another name");
    for form in ["pem", "der", "raw"] {
        user.run(&format!("keys export default --private --as {form}"))
            .expect_failure(2, "a private key is exported as a JWK only: leave out --as");
    }
    user.run("keys export alpha --private")
        .expect_failure(2, "alpha (C7uY[..]) is not a key of your own: you have its public half only");

    // And back, elsewhere.
    let other = User::new();
    fs::copy(user.file("backup.jwk"), other.file("backup.jwk")).unwrap();
    let said = other.run("keys import backup.jwk mine").expect_success();
    assert!(said.starts_with(&format!("name    mine\nkey_id  {}\nfile    ", user.id("default"))), "{said}");
    assert_eq!(other.public("mine"), user.public("default"));
    other
        .run("keys import backup.jwk again")
        .expect_failure(2, "backup.jwk: this key is kept already, as mine");
    user.run("keys generate second").expect_success();
    user.run("keys export second --private --out second.jwk").expect_success();
    fs::copy(user.file("second.jwk"), other.file("second.jwk")).unwrap();
    other.run("keys import second.jwk mine").expect_failure(
        2,
        "there is a key called mine already; give another name: reenact keys import second.jwk NAME",
    );
}
