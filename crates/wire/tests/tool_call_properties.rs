//! Properties of the tool call scanner: for any stream it returns every call that a client would find, and no
//! byte of a call passes before the call is returned.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use proptest::prelude::*;
use reenact_wire::exchange::{answering_model, parse_answer};
use reenact_wire::sse::SseReader;
use reenact_wire::tool_calls::ToolCallScanner;
use reenact_wire::{Endpoint, PROTOCOLS, ToolCall};

/// Event: its text, and the marks in it that may pass only after a call that contains them was returned.
#[derive(Debug, Clone)]
struct TestEvent {
    text: String,
    marks: Vec<String>,
}

impl TestEvent {
    fn new(data: String, marks: Vec<String>) -> Self {
        Self { text: format!("data: {data}\n\n"), marks }
    }
}

/// Next step of a random stream. Many make no sense at their point, and are taken all the same.
type Step = (u8, u8, u8, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..8_u8, 0..3_u8, 0..2_u8, any::<bool>()), 0..24)
}

/// Returns a chat stream. Names and inputs contain the number of their event.
fn chat(steps: &[Step]) -> Vec<TestEvent> {
    let event = |(at, &(what, index, choice, flag)): (usize, &Step)| {
        let (name, input) = (format!("n{at};"), format!("a{at};"));
        let key = if flag { "custom" } else { "function" };
        let member = if flag { "input" } else { "arguments" };
        let (delta, marks) = match what {
            0..=2 => (
                format!(
                    r#"{{"tool_calls":[{{"index":{index},"id":"c{choice}.{index}","{key}":{{"name":"{name}","{member}":""}}}}]}}"#
                ),
                vec![name],
            ),
            3 | 4 => (
                format!(r#"{{"tool_calls":[{{"index":{index},"{key}":{{"{member}":"{input}"}}}}]}}"#),
                vec![input],
            ),
            5 => (
                format!(r#"{{"function_call":{{"name":"{name}","arguments":"{input}"}}}}"#),
                vec![name, input],
            ),
            _ => (r#"{"content":"text"}"#.to_owned(), vec![]),
        };
        if what == 7 && flag {
            return TestEvent::new("[DONE]".to_owned(), vec![]);
        }
        let reason = if what >= 6 || (what == 2 && flag) { "\"stop\"" } else { "null" };
        let choice = format!(r#"{{"index":{choice},"delta":{delta},"finish_reason":{reason}}}"#);
        TestEvent::new(format!(r#"{{"choices":[{choice}]}}"#), marks)
    };
    steps.iter().enumerate().map(event).collect()
}

fn messages(steps: &[Step]) -> Vec<TestEvent> {
    let mut has_tool = [false; 3];
    let event = |(at, &(what, index, _, flag)): (usize, &Step)| {
        let (name, input) = (format!("n{at};"), format!("a{at};"));
        let place = usize::from(index);
        match what {
            0 | 1 => {
                has_tool[place] = true;
                let input = if flag { "{}".to_owned() } else { format!("\"{input}\"") };
                let block = format!(r#"{{"type":"tool_use","id":"t{at}","name":"{name}","input":{input}}}"#);
                let data =
                    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#);
                TestEvent::new(data, vec![name])
            }
            2 => {
                let kind = if flag { "server_tool_use" } else { "text" };
                let data = format!(
                    r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"{kind}","text":"x"}}}}"#
                );
                TestEvent::new(data, vec![])
            }
            3..=5 => {
                let data = format!(
                    r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":"{input}"}}}}"#
                );
                // An empty piece has no mark.
                TestEvent::new(data, if has_tool[place] { vec![input] } else { vec![] })
            }
            6 => TestEvent::new(format!(r#"{{"type":"content_block_stop","index":{index}}}"#), vec![]),
            _ => TestEvent::new(
                if flag { r#"{"type":"message_stop"}"# } else { r#"{"type":"ping"}"# }.to_owned(),
                vec![],
            ),
        }
    };
    steps.iter().enumerate().map(event).collect()
}

fn responses(steps: &[Step]) -> Vec<TestEvent> {
    let item = |index: u8, at: usize, name: &str, input: &str| {
        format!(
            r#"{{"type":"function_call","id":"i{index}","call_id":"c{at}","name":"{name}","arguments":"{input}"}}"#
        )
    };
    let mut open: [Option<(usize, String, String)>; 3] = [const { None }; 3];
    let mut said = Vec::new();
    for (at, &(what, index, _, flag)) in steps.iter().enumerate() {
        let (name, input) = (format!("n{at};"), format!("a{at};"));
        let place = usize::from(index);
        match (what, &mut open[place]) {
            (0 | 1, slot) => {
                let data = item(index, at, &name, "");
                let data = format!(
                    r#"{{"type":"response.output_item.added","output_index":{index},"item":{data}}}"#
                );
                *slot = Some((at, name.clone(), String::new()));
                said.push(TestEvent::new(data, vec![name]));
            }
            (2..=4, Some((_, _, so_far))) => {
                let data = format!(
                    r#"{{"type":"response.function_call_arguments.delta","output_index":{index},"item_id":"i{index}","delta":"{input}"}}"#
                );
                so_far.push_str(&input);
                said.push(TestEvent::new(data, vec![input]));
            }
            (5, slot) => {
                // The item may end as it began, or as something else.
                let same = slot.take().filter(|_| flag);
                let (id, name, input) = same.unwrap_or((at, name, input));
                let data = item(index, id, &name, &input);
                let data =
                    format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{data}}}"#);
                said.push(TestEvent::new(data, vec![name]));
            }
            (6, _) if flag => {
                let data = item(index, at, &name, &input);
                let data = format!(r#"{{"type":"response.completed","response":{{"output":[{data}]}}}}"#);
                open = [const { None }; 3];
                said.push(TestEvent::new(data, vec![name, input]));
            }
            _ => said.push(TestEvent::new(
                r#"{"type":"response.output_text.delta","delta":"x"}"#.to_owned(),
                vec![],
            )),
        }
    }
    said
}

fn has(given: &[ToolCall], mark: &str) -> bool {
    given.iter().any(|call| call.name.contains(mark) || call.input.contains(mark))
}

/// Holds bytes back as a gateway does, and reports marks that passed too early.
fn check(endpoint: Endpoint, said: &[TestEvent]) -> Result<(), TestCaseError> {
    let (mut gate, mut reader) = (ToolCallScanner::new(endpoint), SseReader::new());
    let (mut given, mut held) = (Vec::new(), Vec::new());
    for said in said {
        for event in reader.push(said.text.as_bytes()) {
            given.extend(gate.scan_event(&event).unwrap());
        }
        held.extend(&said.marks);
        if !gate.is_open() {
            for mark in held.drain(..) {
                prop_assert!(has(&given, mark), "{mark} passed, and only these were given: {given:?}");
            }
        }
    }
    let stream: String = said.iter().map(|said| said.text.as_str()).collect();
    let whole = parse_answer(endpoint, true, stream.as_bytes()).unwrap();
    let (found, due) = (gate.facts(), (whole.usage, whole.text_bytes()));
    prop_assert_eq!((found.usage, found.text_bytes), due);
    let model = answering_model(endpoint, true, stream.as_bytes());
    prop_assert_eq!(found.model, model.as_deref());
    given.extend(gate.finish());
    for mark in held {
        prop_assert!(has(&given, mark), "{mark} was never given: {given:?}");
    }
    for mut call in whole.tool_calls {
        if call.input.is_empty() {
            call.input.push_str("{}");
        }
        prop_assert!(given.contains(&call), "a client finds {call:?}, and these were given: {given:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn of_chats(steps in steps()) {
        check(Endpoint::CHAT_COMPLETIONS, &chat(&steps))?;
    }

    #[test]
    fn of_messages(steps in steps()) {
        check(Endpoint::MESSAGES, &messages(&steps))?;
    }

    #[test]
    fn of_responses(steps in steps()) {
        check(Endpoint::RESPONSES, &responses(&steps))?;
    }
}

proptest! {
    /// The scanner never panics, whatever comes.
    #[test]
    fn of_anything(lines in prop::collection::vec(r#"(data|event|: |x)[ :]{0,2}[\[\]{}",a-z0-9:]{0,20}\n?"#, 0..20)) {
        for endpoint in PROTOCOLS {
            let (mut gate, mut reader) = (ToolCallScanner::new(endpoint), SseReader::new());
            let mut events = reader.push(lines.concat().as_bytes());
            events.extend(reader.finish());
            events.iter().for_each(|event| drop(gate.scan_event(event)));
            gate.finish();
        }
    }
}
