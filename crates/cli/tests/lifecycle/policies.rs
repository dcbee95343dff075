//! Envelopes made of runs, and tried on runs.

use std::fs;

use reenact_testkit::{Script, ScriptStep};

use super::project::{REENACT, TestProject};

/// Agents of the demo, one for each vendor.
const AGENTS: [[&str; 3]; 3] = [
    [REENACT, "demo-agent", "--vendor=openai"],
    [REENACT, "demo-agent", "--vendor=anthropic"],
    [REENACT, "demo-agent", "--vendor=gemini"],
];

fn record<'a>(options: &[&'a str], agent: &[&'a str]) -> Vec<&'a str> {
    [&["record"], options, &["--"], agent].concat()
}

fn read(project: &TestProject, name: &str) -> String {
    fs::read_to_string(project.folder.path().join(name)).unwrap()
}

/// Goes the circle: record, make an envelope of it, try that on the run, and record the same agent under it.
#[test]
fn a_run_keeps_the_envelope_that_is_made_of_it() {
    for agent in AGENTS {
        let project = TestProject::new(Script::travel());
        project.run(&record(&["-q"], &agent)).expect(0, "...\n", "");
        project.run(&["policy", "init", "--from", "last"]).expect(
            0,
            "envelope.toml: an envelope that run [..] would have kept\nread it, then: [..]\n",
            "",
        );
        project.run(&["policy", "check", "envelope.toml"]).expect(
            0,
            "envelope.toml: a good envelope\n...\n  tools     book_flight, search_flights\n  steps     at most 7 calls\n...\n",
            "",
        );
        project.run(&["policy", "try", "envelope.toml", "last"]).expect(
            0,
            "run [..]: 7 actions, nothing would have been blocked\n  spent and reserved at one time: at most [..] USD\n",
            "",
        );
        project.run(&record(&["--envelope", "envelope.toml"], &agent)).expect(
            0,
            "...\n",
            "reenact: recorded [..]; envelope.toml enforced: nothing was denied; the audit finds every rule kept; [..]\n...\n",
        );
        // The enforced run keeps it, too.
        project.run(&["policy", "try", "envelope.toml", "last", "--json"]).expect(
            0,
            "{\"run_id\":\"[..]\",\"verdict\":\"kept\",\"pass\":true,\"actions\":7,\"blocked\":{},\"cannot_tell\":0,\
             \"highest_rate\":7,\"highest_commitment_usd\":[..],\"uncounted_calls\":0,\"findings\":[],\"notes\":[]}\n",
            "",
        );
    }
}

#[test]
fn a_file_that_is_there_is_left_alone() {
    let project = TestProject::new(Script::travel());
    project.run(&record(&["-q"], &AGENTS[0])).expect(0, "...\n", "");
    fs::write(project.folder.path().join("envelope.toml"), "mine").unwrap();
    let init = ["policy", "init", "--from", "last"];
    project.run(&init).expect(
        2,
        "",
        "reenact: envelope.toml: there is such a file already; give another name\n",
    );
    assert_eq!(read(&project, "envelope.toml"), "mine");
    project.run(&[&init[..], &["--force", "--json"]].concat()).expect(
        0,
        "{\"run_id\":\"[..]\",\"file\":\"envelope.toml\",\"verdict\":\"kept\",\"findings\":[],\"notes\":[]}\n",
        "",
    );
    // What goes to standard output is the same file.
    let printed = project.run(&[&init[..], &["--out", "-"]].concat());
    assert_eq!((printed.code, printed.stdout), (Some(0), read(&project, "envelope.toml")));
    project.run(&[&init[..], &["--out", "-", "--json"]].concat()).expect(
        2,
        "",
        "reenact: --json and --out - [..]\n",
    );
}

/// Each rule is broken in turn, and each denial is named by its rule.
#[test]
fn a_trial_says_what_would_have_been_blocked() {
    for (from, to, rule, name, blocked) in [
        ("\"gpt-5\"", "\"gpt-4\"", "allowed_models", "gpt-5", 4),
        ("\"book_flight\", ", "", "allowed_tools", "book_flight", 1),
        ("max_steps = 7", "max_steps = 6", "max_steps", "gpt-5", 1),
        ("rate_limit_rpm = 7", "rate_limit_rpm = 6", "rate_limit_rpm", "gpt-5", 1),
        ("# expiry = \"2027", "expiry = \"2001", "expiry", "gpt-5", 7),
    ] {
        let project = TestProject::new(Script::travel());
        project.run(&record(&["-q"], &AGENTS[0])).expect(0, "...\n", "");
        project.run(&["policy", "init", "--from", "last"]).expect(0, "...\n", "");
        let text = read(&project, "envelope.toml");
        assert!(text.contains(from), "{text}");
        fs::write(project.folder.path().join("envelope.toml"), text.replace(from, to)).unwrap();
        let tried = project.run(&["policy", "try", "envelope.toml", "last", "--json"]);
        let denials = tried.stdout.matches("\"decision\":\"deny\"").count();
        let by_rule = tried.stdout.matches(&format!("\"decision\":\"deny\",\"rule\":\"{rule}\"")).count();
        assert_eq!((tried.code, denials, by_rule), (Some(1), blocked, blocked), "{}", tried.stdout);
        assert!(
            tried.stdout.contains(&format!("\"name\":\"{name}\",\"decision\":\"deny\"")),
            "{}",
            tried.stdout
        );
        project.run(&["policy", "try", "envelope.toml", "last"]).expect(
            1,
            &format!("run [..]: 7 actions, {blocked} would have been blocked\n  event [..]: {rule}: [..]\n...\n  blocked by {rule}: {blocked}\n...\n"),
            "",
        );
    }
}

/// Holds that a record which does not tell is never taken for one that allows.
#[test]
fn what_a_record_does_not_hold_cannot_be_told() {
    let project = TestProject::new(Script::travel());
    project.run(&record(&["-q"], &AGENTS[0])).expect(0, "...\n", "");
    project.run(&["policy", "init", "--from", "last"]).expect(0, "...\n", "");
    // A request that was denied when it was recorded.
    let denying = read(&project, "envelope.toml").replace("\"gpt-5\"", "\"gpt-4\"");
    fs::write(project.folder.path().join("denying.toml"), denying).unwrap();
    project.run(&record(&["-q", "--envelope", "denying.toml"], &AGENTS[0])).expect(1, "...\n", "...\n");
    project.run(&["policy", "try", "envelope.toml", "last"]).expect(
        1,
        "run [..]: 0 actions, 1 cannot be told\n  event [..] model.call gpt-5: cannot tell: it was denied by allowed_models when it was recorded, and its request is not in the record\n...\n",
        "",
    );
    project.run(&["policy", "try", "envelope.toml", "nowhere.rer.json", "last"]).expect(
        2,
        "run [..]: 0 actions, 1 cannot be told\n...\n",
        "reenact: nowhere.rer.json: [..]\n",
    );
}

/// The vendor answers with another model than the one that was asked, which the recorder sees too late to deny the call.
#[test]
fn another_model_than_the_one_asked_breaks_the_rules() {
    let script = Script::travel().map(|_, mut answer| {
        for step in &mut answer.steps {
            if let ScriptStep::Send(bytes) = step {
                *bytes = String::from_utf8_lossy(bytes).replace("\"gpt-5\"", "\"gpt-4\"").into();
            }
        }
        answer
    });
    let project = TestProject::new(script);
    let envelope = "[envelope]\n[envelope.permissions]\nallowed_models = [\"gpt-5\"]\n\
                    allowed_tools = [\"search_flights\", \"book_flight\"]\n";
    fs::write(project.folder.path().join("envelope.toml"), envelope).unwrap();
    project.run(&record(&["--envelope", "envelope.toml"], &AGENTS[0])).expect(
        0,
        "...\n",
        "reenact: recorded [..]; envelope.toml enforced: nothing was denied; the audit finds broken: allowed_models; [..]\n...\n",
    );
    let denial = "model.call gpt-4: allowed_models: \"gpt-5\" was asked, and \"gpt-4\" answered, which is not on the list";
    project.run(&["policy", "try", "envelope.toml", "last"]).expect(
        1,
        &format!("run [..]: 7 actions, 4 would have been blocked\n  event [..] {denial}\n...\n  blocked by allowed_models: 4\n"),
        "",
    );
    project.run(&["policy", "init", "--from", "last", "--out", "of-it.toml"]).expect(0, "...\n", "");
    assert!(read(&project, "of-it.toml").contains("allowed_models = [\"gpt-4\", \"gpt-5\"]"));
    // Nobody knows what the tokens of the other model cost.
    project.run(&record(&["--envelope", "of-it.toml"], &AGENTS[0])).expect(
        0,
        "...\n",
        "reenact: recorded [..]; of-it.toml enforced: nothing was denied; the audit cannot tell: max_spend_usd; [..]\n...\n",
    );
}

/// Of records that hold no requests as they were sent, models and tools are judged by their names, and the rest cannot be told.
#[test]
fn records_of_other_formats_cannot_be_told() {
    let project = TestProject::new(Script::travel());
    let runs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runs/");
    for (record, lines) in [
        (
            "invoice.rpk",
            &["allowed_models = [\"claude-sonnet-4-5\"]", "allowed_tools = [\"lookup_invoice\"]"][..],
        ),
        (
            "invoice.model_io.json",
            &["allowed_models = [\"claude-sonnet-4-5\"]", "# No rate_limit_rpm: the record"],
        ),
        ("invoice.tar.gz", &["\"judge-1\"", "# No max_spend_usd: there is no price for "]),
        ("invoice.replay", &["allowed_tools = [\"lookup_invoice\"]"]),
        ("invoice.bundle", &[]),
        ("invoice.pack", &[]),
    ] {
        let path = format!("{runs}{record}");
        project.run(&["policy", "init", "--from", &path, "--force"]).expect(
            1,
            "envelope.toml: nobody can tell whether [..] would have kept it: [..] cannot be told\n...\n",
            "",
        );
        let text = read(&project, "envelope.toml");
        assert!(lines.iter().all(|line| text.contains(line)), "{record}: {text}");
        project.run(&["policy", "check", "envelope.toml"]).expect(0, "...\n", "");
        project.run(&["policy", "try", "envelope.toml", &path]).expect(
            1,
            "[..] cannot be told\n...\n  event 0: cannot tell: a record of this format does not hold all that an envelope judges\n...\n",
            "",
        );
    }
}
