//! Envelopes: denied actions never happen, the record says so, and a replay denies them again.

use std::fs;

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

const AGENT: [&str; 2] = [REENACT, "demo-agent"];

/// Writes an envelope under which the demo's agent may do all that it wants, with one text replaced.
fn envelope(project: &TestProject, from: &str, to: &str) {
    let text = "[envelope]\nexpiry = \"2999-12-31T00:00:00Z\"\n\
        [envelope.permissions]\nallowed_models = [\"gpt-5\", \"claude-sonnet-4-5\"]\n\
        allowed_tools = [\"search_flights\", \"book_flight\"]\n\
        [envelope.limits]\nmax_steps = 7\nmax_spend_usd = 2\nrate_limit_rpm = 7\n";
    assert!(text.contains(from), "{from}");
    fs::write(project.folder.path().join("envelope.toml"), text.replace(from, to)).unwrap();
}

fn record<'a>(agent: &[&'a str]) -> Vec<&'a str> {
    [&["record", "--envelope", "envelope.toml", "--"], agent].concat()
}

#[test]
fn what_is_allowed_happens_up_to_the_very_limit() {
    let mut project = TestProject::new(Script::travel());
    envelope(&project, "", "");
    project.run(&record(&AGENT)).expect(
        0,
        "task: [..]\n...\nmodel: Booked: [..]\n",
        "reenact: recorded 4 model calls and 3 tool calls, [..] (exit 0); envelope.toml enforced: nothing was denied; the audit finds every rule kept; self-authorised: only the runtime's own key signed the envelope → [..]\n...\n",
    );
    project.run(&["verify", "last"]).expect(
        0,
        "...\n  audit   rules of the envelope: 9 kept, 1 inconclusive\n            unclear  authorization: [..]\n  PASS[..]\n",
        "",
    );
    project.vendor.stop();
    project.run(&[&["replay", "last", "--"], &AGENT[..]].concat()).expect(0, "...\n", "...\n");
}

#[test]
fn what_is_denied_never_happens_and_is_denied_again() {
    for (from, to, rule, requests, agent) in [
        ("\"gpt-5\"", "\"gpt-4\"", "allowed_models: the model \"gpt-5\" is not on the list", 0, &AGENT[..]),
        (
            ", \"book_flight\"",
            "",
            "allowed_tools: the tool \"book_flight\" is not on the list",
            3,
            &AGENT[..],
        ),
        (
            ", \"book_flight\"",
            "",
            "allowed_tools: the tool \"book_flight\" is not on the list",
            3,
            &[REENACT, "demo-agent", "--vendor=anthropic"][..],
        ),
        (
            "max_steps = 7",
            "max_steps = 6",
            "max_steps: 6 actions are allowed, and as many have begun",
            3,
            &AGENT[..],
        ),
        (
            "max_spend_usd = 2",
            "max_spend_usd = 0",
            "max_spend_usd: 0.00 USD are spent, this one may cost 1.28[..] USD, and 0.00 USD are allowed; it sets no \
             max_completion_tokens, so that the model may write 128000 tokens: set it, or raise the limit",
            0,
            &AGENT[..],
        ),
        (
            "rate_limit_rpm = 7",
            "rate_limit_rpm = 2",
            "rate_limit_rpm: 2 actions are allowed in 60 seconds, and as many have begun",
            1,
            &AGENT[..],
        ),
    ] {
        let mut project = TestProject::new(Script::travel());
        envelope(&project, from, to);
        let recorded = project.run(&record(agent));
        recorded.expect(
            1,
            "task: [..]\n...\n",
            &format!(
                "agent: the vendor says: reenact: denied by {rule}\n...\n\
                 reenact: recorded [..]; envelope.toml enforced: 1 action denied; the audit finds every rule kept; self-authorised: [..]\n...\n"
            ),
        );
        assert_eq!(project.vendor.requests().len(), requests, "{rule}");
        project.vendor.stop();
        let replayed = project.run(&[&["replay", "last", "--"], agent].concat());
        replayed.expect(
            0,
            &recorded.stdout,
            &format!("agent: the vendor says: reenact: denied by {rule}\n...\n"),
        );
    }
}

#[test]
fn an_envelope_that_has_expired_begins_nothing() {
    let project = TestProject::new(Script::travel());
    envelope(&project, "2999", "2001");
    project.run(&record(&AGENT)).expect(
        125,
        "",
        "reenact: the envelope has expired: nothing may happen under it any more\n",
    );
    assert!(project.vendor.requests().is_empty());
}

#[test]
fn prices_of_ones_own() {
    let project = TestProject::new(Script::travel());
    envelope(&project, "max_spend_usd = 2", "max_spend_usd = 0");
    let prices = project.folder.path().join("prices.toml");
    fs::write(&prices, "date = \"2026-01-31\"\n[openai]\n\"gpt-5\" = { input = 0, output = 0 }\n").unwrap();
    let record = |agent: &[&'static str]| {
        [&["record", "-q", "--envelope", "envelope.toml", "--prices", "prices.toml", "--"], agent].concat()
    };
    // A model that is free is allowed with a limit of 0; a model without a known price is not.
    project.run(&record(&AGENT)).expect(0, "...\n", "");
    project.run(&record(&[REENACT, "demo-agent", "--vendor=anthropic"])).expect(
        1,
        "task: [..]\n",
        "agent: the vendor says: reenact: denied by max_spend_usd: nobody knows what \"claude-sonnet-4-5\" costs, and 0.00 USD are allowed; give it a price\n",
    );
    let printed = project.run(&["doctor", "prices"]);
    printed.expect(
        0,
        "# Dollars for a million tokens[..]\ndate = \"[..]\"\n\n[anthropic]\n...\n[openai]\n...\n",
        "",
    );
    fs::write(&prices, printed.stdout).unwrap();
    project.run(&record(&AGENT)).expect(1, "...\n", "...\n");
}

#[test]
fn a_projects_own_envelope_holds_unless_another_is_named() {
    let project = TestProject::new(Script::travel());
    envelope(&project, ", \"book_flight\"", "");
    fs::rename(project.folder.path().join("envelope.toml"), project.folder.path().join("reenact.toml"))
        .unwrap();
    project.run(&[&["record", "--"], &AGENT[..]].concat()).expect(
        1,
        "...\n",
        "agent: the vendor says: reenact: denied by allowed_tools: [..]\n...\n\
         reenact: recorded [..]; reenact.toml enforced: 1 action denied; the audit finds every rule kept; self-authorised: [..]\n...\n",
    );
    envelope(&project, "", "");
    project.run(&record(&AGENT)).expect(
        0,
        "...\n",
        "reenact: recorded [..]; envelope.toml enforced: nothing was denied; [..]\n...\n",
    );
}

#[test]
fn a_run_that_only_warns_goes_on_and_tells() {
    let project = TestProject::new(Script::travel());
    envelope(&project, ", \"book_flight\"", "");
    let warned =
        [&["record", "--envelope", "envelope.toml", "--policy-mode", "warn", "--"], &AGENT[..]].concat();
    project.run(&warned).expect(
        0,
        "task: [..]\n...\nmodel: Booked: [..]\n",
        "reenact: recorded 4 model calls and 3 tool calls, [..] (exit 0); envelope.toml only warned: nothing was denied; 1 action would have been, by allowed_tools 1; \
         the audit finds broken: allowed_tools; self-authorised: [..]\n...\n",
    );
    project.run(&["record", "--policy-mode", "warn", "--", "true"]).expect(
        125,
        "",
        "reenact: there is no envelope to warn by; give one with --envelope FILE\n",
    );
}

/// Signs `envelope.toml` as `envelope.json` with these further arguments.
fn authorise(project: &TestProject, arguments: &[&str]) {
    let _ = fs::remove_file(project.folder.path().join("envelope.json"));
    let sign = ["policy", "sign", "envelope.toml", "--out", "envelope.json"];
    project.run(&[&sign[..], arguments].concat()).expect(0, "...\n", "");
}

const RECORD_AUTHORISED: [&str; 6] = ["record", "--envelope", "envelope.json", "--", REENACT, "demo-agent"];

#[test]
fn who_authorised_a_run_is_told() {
    let project = TestProject::new(Script::travel());
    envelope(&project, "", "");
    for name in ["default", "platform"] {
        project.run(&["keys", "generate", name]).expect(0, "...\n", "");
    }
    authorise(&project, &["--key", "platform", "--runtime", "default"]);
    project.run(&RECORD_AUTHORISED).expect(
        0,
        "...\n",
        "...\n\
         reenact: recorded [..]; envelope.json enforced: nothing was denied; the audit finds every rule kept; \
         authorised by platform (key [..], trusted as platform) → [..]\n...\n",
    );
    project.run(&["verify", "--require-trusted", "--require-audit", "last"]).expect(
        0,
        "...\n  audit   rules of the envelope: 10 kept\n  PASS[..]\n",
        "",
    );
}

/// Each authorization that the sealed run could not be believed by is refused before the agent starts.
#[test]
fn a_wrong_authorization_begins_nothing() {
    let project = TestProject::new(Script::travel());
    envelope(&project, "", "");
    for name in ["default", "other", "platform"] {
        project.run(&["keys", "generate", name]).expect(0, "...\n", "");
    }
    let again = "sign it again, with the platform's key: reenact policy sign envelope.json --key NAME --runtime=[..] --out NEW.json";
    let refused = |why: &str, next: &str| {
        let said = format!("reenact: envelope.json: {why}\n{next}\n");
        project.run(&RECORD_AUTHORISED).expect(125, "", &said);
    };
    authorise(&project, &["--key", "platform", "--runtime", "other"]);
    refused(
        "the authorization by [..] is for another runtime's key, and this run is signed by \"default\" ([..])",
        &format!("record with the key that it names (--key), or {again}"),
    );
    let signed = project.folder.path().join("envelope.json");
    let edit = |from: &str, to: &str| {
        let text = fs::read_to_string(&signed).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&signed, text.replacen(from, to, 1)).unwrap();
    };
    // The form of 0.1.0 names no runtime.
    authorise(&project, &["--key", "platform", "--any-runtime"]);
    edit("\"runtime_key_id\":\"*\",", "");
    refused("the authorization by [..] is of the form of 0.1.0: [..]", again);
    // A limit is raised after the platform signed.
    authorise(&project, &["--key", "platform", "--any-runtime"]);
    edit("\"max_steps\":7", "\"max_steps\":8");
    refused("the authorization is not signed by [..]", again);
    authorise(&project, &["--key", "platform", "--any-runtime", "--not-after", "2999-01-01T00:00:00Z"]);
    edit("2999-01-01", "2001-01-01");
    refused("the authorization is not signed by [..]", again);
    // A key that the trust store holds for a runtime's only.
    let colleague = TestProject::new(Script::travel());
    envelope(&colleague, "", "");
    colleague.run(&["keys", "generate", "theirs"]).expect(0, "...\n", "");
    authorise(&colleague, &["--key", "theirs", "--any-runtime"]);
    let public = colleague.run(&["keys", "export", "theirs"]).stdout;
    fs::write(project.folder.path().join("theirs.jwk"), public).unwrap();
    fs::copy(colleague.folder.path().join("envelope.json"), &signed).unwrap();
    project.run(&["keys", "trust", "theirs.jwk"]).expect(0, "[..] is trusted as runtime now\n", "");
    refused(
        "authorised by [..], which is trusted as runtime and not as platform",
        "if it may authorise runs, say so: reenact keys trust --as platform FILE",
    );
    assert!(project.vendor.requests().is_empty());
    project.run(&["keys", "trust", "--as", "platform", "theirs.jwk"]).expect(
        0,
        "[..] is trusted as runtime, platform now\n",
        "",
    );
    project.run(&RECORD_AUTHORISED).expect(
        0,
        "...\n",
        "reenact: recorded [..]; authorised by [..] (trusted as platform) → [..]\n...\n",
    );
}

/// The seal of a platform's own run covers its envelope, too. Moved into the place of an authorization it authorises nobody.
#[test]
fn a_platforms_own_seal_is_no_authorization() {
    let project = TestProject::new(Script::travel());
    envelope(&project, "", "");
    for name in ["default", "platform"] {
        project.run(&["keys", "generate", name]).expect(0, "...\n", "");
    }
    let own =
        ["record", "-q", "--key", "platform", "--envelope", "envelope.toml", "--", REENACT, "demo-agent"];
    project.run(&own).expect(0, "...\n", "");
    let sealed = project.run(&["policy", "show", "last", "--json"]).stdout;
    let exported = project.run(&["keys", "export", "platform"]).stdout;
    let member = |text: &str, name: &str| {
        let (_, rest) = text
            .replace("\": \"", "\":\"")
            .split_once(&format!("\"{name}\":\""))
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let (signature, key_id) = (member(&sealed, "signature"), member(&exported, "kid"));
    let requests = project.vendor.requests().len();
    for (runtime, why) in [
        (",\"runtime_key_id\":\"*\"", "the authorization is not signed by [..]"),
        ("", "the authorization by [..] is of the form of 0.1.0: [..]"),
    ] {
        let forged =
            format!("\"authorization\":{{\"key_id\":\"{key_id}\"{runtime},\"signature\":\"{signature}\"}}");
        let text =
            sealed.replacen("\"metadata\":{", &format!("\"metadata\":{{{forged},"), 1).replace(",}", "}");
        assert!(text.contains(&forged), "{text}");
        fs::write(project.folder.path().join("envelope.json"), text).unwrap();
        project.run(&RECORD_AUTHORISED).expect(125, "", &format!("reenact: envelope.json: {why}\n...\n"));
    }
    assert_eq!(project.vendor.requests().len(), requests);
}
