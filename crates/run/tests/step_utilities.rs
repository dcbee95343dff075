//! Utilities that an agent reports reach the tool calls that they are about, and no other call.
#![allow(clippy::unwrap_used)]

mod support;

use reenact_testkit::fixture::RunBuilder;
use support::OpenRun as _;

/// Builder of runs in which an agent calls tools and tells of its steps.
struct Told(RunBuilder);

impl Told {
    fn new() -> Self {
        Self(RunBuilder::started())
    }

    /// Adds the answer of a model, which asks for tools.
    fn answer(self) -> Self {
        Self(self.0.returned("m", "{}"))
    }

    /// Adds a call and its result, inferred from the conversation.
    fn tool(self, id: &str) -> Self {
        self.call(id, "inferred").result(id)
    }

    fn call(self, id: &str, source: &str) -> Self {
        let payload =
            format!(r#"{{"step_id":"{id}-step","tool_call_id":"{id}","tool":"t","source":"{source}"}}"#);
        Self(self.0.event("rer.tool.called", &payload))
    }

    fn result(self, id: &str) -> Self {
        let payload = format!(r#"{{"step_id":"{id}-step","tool_call_id":"{id}","tool":"t","output":1}}"#);
        Self(self.0.event("rer.tool.returned", &payload))
    }

    fn plan(self, steps: &str) -> Self {
        Self(self.0.event("rer.plan.started", &format!(r#"{{"steps":{steps},"source":"reported"}}"#)))
    }

    fn done(self, step: &str, utility: &str) -> Self {
        let payload =
            format!(r#"{{"step_id":"{step}","status":"ok","utility":{utility},"source":"reported"}}"#);
        Self(self.0.event("rer.step.completed", &payload))
    }

    /// Returns the utility of each call.
    fn utilities(self) -> Vec<Option<f32>> {
        let run = self.0.ended(0).run();
        run.tool_calls().map(|tool| tool.result().unwrap().utility).collect()
    }
}

#[test]
fn a_step_that_is_named_as_a_call_is_that_call() {
    // Before the record holds the call, and behind it; calls beside it keep nothing.
    let told = Told::new().answer().done("c1", "0.5").tool("c1").answer().tool("c2").tool("c3");
    assert_eq!(told.done("c3", "-1").utilities(), [Some(0.5), None, Some(-1.0)]);
    // The first report counts.
    assert_eq!(Told::new().tool("c1").done("c1", "0.25").done("c1", "1").utilities(), [Some(0.25)]);
}

#[test]
fn a_step_of_the_plan_reaches_the_calls_between_two_steps() {
    let told = Told::new()
        .answer()
        .tool("before")
        .plan(r#"["look",{"id":"book"}]"#)
        .answer()
        .tool("c1")
        .tool("c2")
        .answer()
        .done("look", "0.75")
        .answer()
        .tool("c3")
        .answer()
        .done("book", "0")
        .answer()
        .tool("after");
    assert_eq!(told.utilities(), [None, Some(0.75), Some(0.75), Some(0.0), None]);
}

#[test]
fn a_step_without_a_plan_has_a_name_of_the_agents_own() {
    assert_eq!(Told::new().answer().tool("c1").answer().done("look", "0.5").utilities(), [Some(0.5)]);
}

#[test]
fn a_call_on_both_sides_of_a_report_belongs_to_neither_step() {
    // Asked for before the report, answered behind it.
    let told = Told::new().plan(r#"["a","b"]"#).answer().done("a", "0.5").tool("c1").answer();
    assert_eq!(told.done("b", "1").utilities(), [None]);
    // The same of a call that was seen when it began.
    let told = Told::new().plan(r#"["a","b"]"#).answer().call("c1", "observed").done("a", "0.5").result("c1");
    assert_eq!(told.done("b", "1").utilities(), [None]);
    // An observed call began when it was seen, not at the answer before.
    let told = Told::new().plan(r#"["a","b"]"#).answer().done("a", "0.5").call("c1", "observed").result("c1");
    assert_eq!(told.done("b", "1").utilities(), [Some(1.0)]);
}

#[test]
fn a_utility_out_of_range_is_unknown() {
    for utility in ["1.5", "-1.01", "1e40", "null", "\"1\""] {
        assert_eq!(Told::new().tool("c1").done("c1", utility).utilities(), [None], "{utility}");
    }
    let withheld = Told::new().answer().tool("c1");
    let withheld = Told(withheld.0.withheld("rer.step.completed", r#"{"step_id":"a","utility":1}"#));
    assert_eq!(withheld.answer().done("b", "1").utilities(), [None]);
}

#[test]
fn a_name_in_the_plan_is_no_call() {
    let told = Told::new().plan(r#"["c2"]"#).answer().tool("c1").tool("c2").answer();
    assert_eq!(told.done("c2", "0.5").utilities(), [Some(0.5), Some(0.5)]);
}
