//! Showing: the timeline of a recorded flight, one step of it, and the same for programs.

use reenact_testkit::Script;

use super::airport::{Airport, REENACT};

fn recorded() -> Airport {
    let airport = Airport::new(Script::travel());
    airport.fly(&["record", "-q", "--", REENACT, "demo-agent", "--vendor=anthropic"]).expect(0, "...\n", "");
    airport
}

#[test]
fn a_timeline_under_the_verdict() {
    recorded().fly(&["show", "last"]).expect(
        0,
        "PASS  intact, and signed by a key that you trust (16 events)\n\
         \n\
         run     [..]\n\
         command [..] demo-agent --vendor=anthropic\n\
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
    let airport = recorded();
    let step = airport.fly(&["show", "last", "--step", "3"]);
    assert_eq!(airport.fly(&["show", "last", "--step", "s3"]).stdout, step.stdout);
    step.expect(
        0,
        "asked POST /v1/messages (anthropic)\n...\n  {\n...\n  }\n\n\
         answered status 200, HTTP/1.1, first byte after [..], all after [..], ended by eof\n...\n\
         put together\n  The cheapest is 248 euros, [..]\n  asks for search_flights [..]\n\n\
         as it came\n  event: message_start\n...\n",
        "",
    );
    airport.fly(&["show", "last", "--step", "2"]).expect(
        0,
        "called search_flights\n  {\n...\n  }\n\ngave\n...\n",
        "",
    );
    airport.fly(&["show", "last", "--step", "8"]).expect(
        2,
        "",
        "reenact: the run has no step 8; it has s1 to s7\n",
    );
}

#[test]
fn for_programs() {
    let airport = recorded();
    airport.fly(&["show", "last", "--json"]).expect(
        0,
        "{\"run_id\":\"[..]\",\"format\":\"rer-artifact/0.2\",\"imported_from\":null,\"pass\":true,[..]\"status\":\"completed\",\"reason\":\"exit 0\",\"exit_code\":0,\"events\":16,\"model_calls\":4,\"tool_calls\":3,[..]\"steps\":[{\"step_id\":\"s1\",[..]}]}\n",
        "",
    );
    airport.fly(&["show", "last", "--step", "1", "--json"]).expect(
        0,
        "{\"step_id\":\"s1\",[..]\"request_body\":\"{\\\"model\\\":[..]\"answer_body\":\"event: message_start\\n[..]}\n",
        "",
    );
}

#[test]
fn runs_by_the_beginning_of_their_ids() {
    let airport = recorded();
    let id = airport.artifact().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    for name in [&id[..], &id[..20]] {
        airport.fly(&["show", name]).expect(0, "PASS [..]\n...\n", "");
    }
    airport.fly(&["record", "-q", "--", "true"]).expect(0, "", "");
    airport.fly(&["show", "0"]).expect(2, "", "reenact: \"0\" begins 2 ids: [..]\n");
    airport.fly(&["show", "ffff"]).expect(2, "", "reenact: [..]\n");
    airport.fly(&["show", "../../etc/passwd"]).expect(2, "", "reenact: ../../etc/passwd: [..]\n");
}
