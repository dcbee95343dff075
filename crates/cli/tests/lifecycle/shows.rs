//! Showing: the timeline of a recorded run, one step of it, and both as JSON.

use reenact_testkit::Script;

use super::project::{REENACT, TestProject};

fn recorded() -> TestProject {
    let project = TestProject::new(Script::travel());
    project.run(&["record", "-q", "--", REENACT, "demo-agent", "--vendor=anthropic"]).expect(0, "...\n", "");
    project
}

#[test]
fn a_timeline_under_the_verdict() {
    recorded().run(&["show", "last"]).expect(
        0,
        "PASS  intact, and signed by a key that you trust (16 events)\n\
         \n\
         run     [..]\n\
         command [..] demo-agent --vendor=anthropic\n\
         folder  [..]\n\
         time    began [..], took [..], completed (exit 0)\n\
         calls   4 model calls, 3 tool calls\n\
         masked  account 1\n\
         model   [..]: 4 calls, [..] tokens in, [..] out, about [..] USD\n\
         \n  \
         s1 [..]  messages, stream, [..] tokens in, [..] out, [..] ms\n                 \
         Let me see what flies on that day.\n                 \
         asks for search_flights {\"date\":\"2026-05-12\",\"from\":\"Vienna\",\"to\":\"Lisbon\"}\n\
         \n  \
         s2 [..]  search_flights  tool (inferred)\n                 \
         {\"date\":\"2026-05-12\",\"from\":\"Vienna\",\"to\":\"Lisbon\"}\n                 \
         gave {\"flights\":[..]\n\
         ...\n",
        "",
    );
}

#[test]
fn one_step_in_full() {
    let project = recorded();
    let step = project.run(&["show", "last", "--step", "3"]);
    assert_eq!(project.run(&["show", "last", "--step", "s3"]).stdout, step.stdout);
    step.expect(
        0,
        "asked POST /v1/messages (anthropic)\n...\n  {\n...\n  }\n\n\
         answered status 200, HTTP/1.1, first byte after [..], all after [..], ended by eof\n...\n\
         put together\n  The cheapest is 248 euros, [..]\n  asks for search_flights [..]\n\n\
         as it came\n  event: message_start\n...\n",
        "",
    );
    project.run(&["show", "last", "--step", "2"]).expect(
        0,
        "called search_flights\n  {\n...\n  }\n\ngave\n...\n",
        "",
    );
    project.run(&["show", "last", "--step", "8"]).expect(
        2,
        "",
        "reenact: the run has no step 8; it has s1 to s7\n",
    );
}

#[test]
fn for_programs() {
    let project = recorded();
    project.run(&["show", "last", "--json"]).expect(
        0,
        "{\"run_id\":\"[..]\",\"format\":\"rer-artifact/0.2\",\"imported_from\":null,\"pass\":true,[..]\"status\":\"completed\",\"reason\":\"exit 0\",\"exit_code\":0,\"events\":16,\"model_calls\":4,\"tool_calls\":3,[..]\"steps\":[{\"step_id\":\"s1\",[..]}],\"steps_in_all\":[..]}\n",
        "",
    );
    project.run(&["show", "last", "--step", "1", "--json"]).expect(
        0,
        "{\"step_id\":\"s1\",[..]\"request_body\":\"{\\\"model\\\":[..]\"answer_body\":\"event: message_start\\n[..]}\n",
        "",
    );
}

#[test]
fn runs_by_the_beginning_of_their_ids() {
    let project = recorded();
    let id = project.artifact().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    for name in [&id[..], &id[..20]] {
        project.run(&["show", name]).expect(0, "PASS [..]\n...\n", "");
    }
    project.run(&["record", "-q", "--", "true"]).expect(0, "", "");
    project.run(&["show", "0"]).expect(2, "", "reenact: \"0\" means 2 runs: [..]\n");
    project.run(&["show", "ffff"]).expect(2, "", "reenact: [..]\n");
    project.run(&["show", "../../etc/passwd"]).expect(2, "", "reenact: ../../etc/passwd: [..]\n");
}
