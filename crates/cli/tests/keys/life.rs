//! A key from its making to its end.

use std::fs;

use crate::{Came, User, record, signer};

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
