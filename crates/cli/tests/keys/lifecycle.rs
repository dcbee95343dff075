//! A key from its generation to its end.

use std::fs;

use crate::{CommandOutput, User, record, signer};

#[test]
fn from_the_first_key_to_its_end() {
    let (us, them) = (User::new(), User::new());

    // A key, and a run that is signed with it.
    us.run("keys generate").expect_success();
    us.folder.write("before.rer.json", record(&us.secret("default")));
    let first = us.id("default");
    assert_eq!(us.verdict("before.rer.json"), (Some(0), signer(&first, "trusted", Some("default"))));
    let text = us.run("verify before.rer.json").expect_success();
    assert!(text.contains("PASS  intact, and signed by a key that you trust (2 events)"), "{text}");

    // Another key in its place: both runs verify.
    us.run("keys rotate").expect_success();
    us.folder.write("after.rer.json", record(&us.secret("default")));
    let (second, old_name) = (us.id("default"), format!("default-{:.8}", first));
    assert_ne!(first, second);
    assert_eq!(us.id(&old_name), first);
    assert_eq!(us.verdict("before.rer.json"), (Some(0), signer(&first, "superseded", Some(&old_name))));
    assert_eq!(us.verdict("after.rer.json"), (Some(0), signer(&second, "trusted", Some("default"))));
    let text = us.run("verify before.rer.json").expect_success();
    assert!(text.contains("PASS  intact, and signed by a key that has been superseded (2 events)"), "{text}");

    // Both verify for a user who has nothing but the published set.
    let published = us.run("keys jwks").expect_success();
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

    // They trust the keys from now on, and mark one when it is lost.
    let said = them.run("keys trust --label us published.jwks").expect_success();
    assert_eq!(
        said,
        format!("us ({second}) is trusted as runtime now\nus ({first}) is trusted as runtime now\n")
    );
    assert_eq!(them.verdict("after.rer.json"), (Some(0), signer(&second, "trusted", Some("us"))));
    them.run(&format!("keys supersede {first} --by {second}")).expect_success();
    assert_eq!(them.verdict("before.rer.json"), (Some(0), signer(&first, "superseded", Some("us"))));
    // A key that is supplied keeps its label, and a warning beats it.
    assert_eq!(supplied("after.rer.json"), (Some(0), signer(&second, "supplied", Some("us"))));
    them.run(&format!("keys compromise {second} --since 2026-05-01T00:00:00Z")).expect_success();
    assert_eq!(them.verdict("after.rer.json"), (Some(1), signer(&second, "compromised", Some("us"))));
    assert_eq!(supplied("after.rer.json"), (Some(1), signer(&second, "compromised", Some("us"))));
    let CommandOutput(code, text, _) = them.run("verify after.rer.json");
    assert_eq!(code, Some(1));
    assert!(text.contains("intact, but signed by a key that is marked as compromised (2 events)"), "{text}");
    assert_eq!(supplied("before.rer.json").0, Some(0));
    let CommandOutput(code, said, complained) = them.run("keys trust published.jwks");
    assert_eq!((code, said), (Some(1), format!("us ({first}) is superseded, and stays so\n")));
    assert_eq!(
        complained,
        format!(
            "reenact: us ({second}) is marked as compromised and not trusted; \
             if that is wrong, let it be forgotten first: reenact keys forget\n"
        )
    );
    them.run(&format!("keys forget {second}")).expect_success();
    them.run(&format!("keys forget {first}")).expect_success();
    assert_eq!(them.trust_file(), "{\n  \"version\": 2,\n  \"keys\": []\n}\n");
    assert_eq!(them.run("verify after.rer.json").0, Some(1));

    // A compromised key of one's own: not published, not trusted, and it stays so when it is replaced.
    us.run("keys compromise default").expect_success();
    assert_eq!(us.verdict("after.rer.json"), (Some(1), signer(&second, "compromised", Some("default"))));
    let CommandOutput(code, published, complained) = us.run("keys jwks");
    assert_eq!((code, published.contains(&second), published.contains(&first)), (Some(0), false, true));
    assert_eq!(complained, format!("reenact: default ({second}) is marked as compromised and left out\n"));
    let said = us.run("keys rotate").expect_success();
    assert!(said.contains("still compromised\n\nNothing that the old key signed can be believed."), "{said}");
    let lost = format!("default-{second:.8}");
    assert_eq!(us.verdict("after.rer.json"), (Some(1), signer(&second, "compromised", Some(&lost))));
    us.run(&format!("keys supersede {lost} --by default")).expect_failure(
        2,
        &format!("{lost} ({second}) is marked as compromised, which is worse; it stays so"),
    );
}

#[test]
fn a_key_is_kept_where_it_says() {
    let user = User::new();
    let said = user.run("keys generate ci").expect_success();
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
    user.run("keys generate ci").expect_failure(
        2,
        "there is a key called ci already; give another name, or put a new key in its place with: reenact keys rotate ci",
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    user.run("keys rotate other")
        .expect_failure(2, "you have no key called other; make it: reenact keys generate other");
}
