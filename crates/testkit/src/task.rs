//! [`AgentTask`]: a model that leads an agent through a short task with a tool, whatever else the agent asks it on the side.
//!
//! Agents send more than their conversation: they ask for titles, summaries and memories, at the same time. The turn to take is
//! therefore chosen by what a request holds, not by order. Start reading at [`Script::task`].

use serde_json::Value;

use crate::answer::ScriptedAnswer;
use crate::failure::VendorFailure;
use crate::reply::ScriptedReply;
use crate::request::VendorRequest;
use crate::script::Script;
use crate::vendor_format;

/// Task of an agent: the turns of the model that leads through it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentTask {
    /// Turns in order.
    pub turns: Vec<TaskTurn>,
    /// Reply to a request that does not offer the tool of its turn, such as one for a title.
    pub aside: String,
}

/// Turn of an [`AgentTask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTurn {
    /// Text that a request holds once this turn has come, such as the output of the tool before it; empty for the first turn.
    pub after: String,
    /// Words or tool call of the model.
    pub reply: TaskReply,
}

/// Reply of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskReply {
    /// Text for the user.
    Text(String),
    /// Call of a tool that the request must offer.
    Call {
        /// Name of the tool.
        tool: String,
        /// Input: JSON text, or plain text for a tool that takes text.
        input: String,
    },
}

impl Script {
    /// Creates a script that plays the model of a task. Requests outside of the vendors' own paths get 404, and a WebSocket gets
    /// 426, so that an agent that goes astray fails.
    pub fn task(task: AgentTask) -> Self {
        Self::answering(move |request| task.answer(request))
    }
}

impl AgentTask {
    fn answer(&self, request: &VendorRequest) -> ScriptedAnswer {
        if request.header("upgrade").is_some() {
            return VendorFailure::new(426).answer(request);
        }
        if !is_path_of_vendor(request) {
            return VendorFailure::not_found().answer(request);
        }
        if let Some(answer) = vendor_format::catalogue(request) {
            return answer;
        }
        let body = String::from_utf8_lossy(&request.body);
        let Some(turn) = self.turns.iter().rev().find(|turn| body.contains(&turn.after)) else {
            return ScriptedReply::text(&self.aside).answer(request);
        };
        let reply = match &turn.reply {
            TaskReply::Text(text) => ScriptedReply::text(text),
            TaskReply::Call { tool, .. } if !offers_tool(&request.json(), tool) => {
                ScriptedReply::text(&self.aside)
            }
            TaskReply::Call { tool, input } => ScriptedReply::call(tool, input),
        };
        reply.answer(request)
    }
}

/// Returns true if the path begins as the vendor's own paths do.
fn is_path_of_vendor(request: &VendorRequest) -> bool {
    ["/v1/", "/v1beta/"].iter().any(|version| request.path.starts_with(version))
}

/// Returns true if a request describes a tool of this name, at any depth. A call of the tool in the conversation has no description.
fn offers_tool(value: &Value, name: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| offers_tool(item, name)),
        Value::Object(members) => {
            (members.contains_key("description") && members.get("name").is_some_and(|found| found == name))
                || members.values().any(|member| offers_tool(member, name))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;

    fn task() -> AgentTask {
        let call = TaskReply::Call { tool: "lookup".into(), input: r#"{"city":"Vienna"}"#.into() };
        let turns = vec![
            TaskTurn { after: String::new(), reply: call },
            TaskTurn { after: "sunny".into(), reply: TaskReply::Text("It is fine.".into()) },
        ];
        AgentTask { turns, aside: "A title".into() }
    }

    fn said(path: &str, body: &str) -> (Option<u16>, String) {
        let answer = task().answer(&request("POST", path, body));
        (answer.status, String::from_utf8(answer.body()).unwrap())
    }

    #[test]
    fn the_turn_is_chosen_by_what_the_request_holds() {
        let tools = r#""tools":[{"name":"lookup","description":"","input_schema":{}}]"#;
        let begin = format!(r#"{{{tools},"messages":[{{"role":"user","content":"weather?"}}]}}"#);
        assert!(said("/v1/messages", &begin).1.contains(r#""type":"tool_use""#));
        assert!(said("/v1/messages", &begin.replace("weather?", "sunny")).1.contains("It is fine."));
        assert!(said("/v1/messages", &begin.replace(tools, r#""tools":[]"#)).1.contains("A title"));
    }

    #[test]
    fn other_paths_are_not_found() {
        assert_eq!(said("/messages", "{}").0, Some(404));
        assert_eq!(said("/v1/chat/completion", "{}").0, Some(404));
        assert_eq!(said("/anthropic/v1/messages", "{}").0, Some(404));
        let mut upgrade = request("GET", "/v1/responses", "");
        upgrade.headers.push(("upgrade".into(), b"websocket".to_vec()));
        assert_eq!(task().answer(&upgrade).status, Some(426));
    }
}
