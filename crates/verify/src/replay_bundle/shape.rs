//! The types of a manifest's members (§3.1).
//!
//! A manifest that the reference tool cannot read is refused. Members that it does not know are
//! ignored.

use reenact_formats::replay_bundle::manifest::{
    CoverageView, ManifestView, OutputsView, RunnerView, ScrubView, SeedsView, ToolchainView,
};
use reenact_json::{Shown, Value, ValueKind};

use crate::report::shown_carried;

/// Returns the faults of a manifest, each naming its member.
pub(super) fn faults(manifest: &ManifestView<'_>) -> Vec<String> {
    let mut shape = ManifestShape::default();
    check_versions(manifest, &mut shape);
    for (name, value) in [
        ("created_at", manifest.created_at),
        ("source_run_path", manifest.source_run_path),
        ("selection_method", manifest.selection_method),
        ("git_sha", manifest.git_sha),
        ("workflow_run_id", manifest.workflow_run_id),
        ("trace_path", manifest.trace_path),
    ] {
        shape.expect_string(name, value);
    }
    shape.expect_boolean("git_dirty", manifest.git_dirty);
    if let Some(outputs) = shape.expect_object("outputs", manifest.outputs) {
        OutputsView::of(outputs)
            .named()
            .for_each(|(name, value)| shape.expect_string(&format!("outputs.{name}"), Some(value)));
    }
    if let Some(toolchain) = shape.expect_object("toolchain", manifest.toolchain) {
        let toolchain = ToolchainView::of(toolchain);
        shape.expect_string("toolchain.rustc", toolchain.rustc);
        shape.expect_string("toolchain.cargo", toolchain.cargo);
        shape.expect_string("toolchain.cargo_lock_hash", toolchain.cargo_lock_hash);
        if let Some(runner) = shape.expect_object("toolchain.runner", toolchain.runner) {
            let runner = RunnerView::of(runner);
            shape.expect_string("toolchain.runner.os", runner.os);
            shape.expect_string("toolchain.runner.arch", runner.arch);
            shape.expect_string("toolchain.runner.container_image_digest", runner.container_image_digest);
            shape.expect_boolean("toolchain.runner.ci", runner.ci);
        }
    }
    if let Some(seeds) = shape.expect_object("seeds", manifest.seeds) {
        let seeds = SeedsView::of(seeds);
        shape.expect_number("seeds.seed_version", seeds.seed_version);
        shape.expect_string("seeds.order_seed", seeds.order_seed);
        shape.expect_string("seeds.judge_seed", seeds.judge_seed);
    }
    if let Some(coverage) = shape.expect_object("replay_coverage", manifest.replay_coverage) {
        check_coverage(&CoverageView::of(coverage), &mut shape);
    }
    if let Some(policy) = shape.expect_object("scrub_policy", manifest.scrub_policy) {
        let policy = ScrubView::of(policy);
        shape.expect_boolean("scrub_policy.include_prompts", policy.include_prompts);
        shape.expect_boolean("scrub_policy.scrub_cassettes", policy.scrub_cassettes);
        shape.expect_string("scrub_policy.name", policy.name);
    }
    shape.expect_object("env", manifest.env);
    shape.faults
}

/// Checks the two required members, `schema_version` and `assay_version`.
fn check_versions(manifest: &ManifestView<'_>, shape: &mut ManifestShape) {
    match manifest.schema_version {
        None => shape.faults.push("schema_version is missing".into()),
        // 1.0 is refused: the reference tool reads an integer.
        Some(version) if version.text() == b"1" => {}
        Some(version) => shape.faults.push(format!("schema_version is {}, not 1", shown_value(version))),
    }
    match manifest.assay_version {
        None => shape.faults.push("assay_version is missing".into()),
        Some(version) if version.is_string("") => shape.faults.push("assay_version is empty".into()),
        version => shape.expect_string("assay_version", version),
    }
}

/// Checks the members of `replay_coverage`.
fn check_coverage(coverage: &CoverageView<'_>, shape: &mut ManifestShape) {
    for (name, list) in
        [("complete_tests", coverage.complete_tests), ("incomplete_tests", coverage.incomplete_tests)]
    {
        let name = format!("replay_coverage.{name}");
        match list {
            Some(list) if list.kind() == ValueKind::Array => {
                let other = list.elements().enumerate().find(|(_, test)| test.kind() != ValueKind::String);
                if let Some((at, test)) = other {
                    shape.expect_string(&format!("{name}[{at}]"), Some(test));
                }
            }
            Some(list) => shape.add_fault(&name, list, "a list"),
            None => shape.faults.push(format!("{name} is missing")),
        }
    }
    if let Some(reason) = shape.expect_object("replay_coverage.reason", coverage.reason) {
        let other = reason.members().find(|(_, why)| why.kind() != ValueKind::String);
        if let Some((test, why)) = other {
            let test = test.string().unwrap_or_default();
            shape.expect_string(&format!("replay_coverage.reason of {}", Shown::new(&test)), Some(why));
        }
    }
}

/// Faults so far, with a method for each expected type. Absent members are accepted.
#[derive(Default)]
struct ManifestShape {
    /// Faults in the order of the members, ready to be reasons.
    faults: Vec<String>,
}

impl ManifestShape {
    /// Adds the fault of a value that is not `wanted`.
    fn add_fault(&mut self, name: &str, value: Value<'_>, wanted: &str) {
        self.faults.push(format!("{name} is {}, not {wanted}", shown_value(value)));
    }

    /// Adds a fault unless the value is absent or a string.
    fn expect_string(&mut self, name: &str, value: Option<Value<'_>>) {
        if let Some(value) = value.filter(|value| value.kind() != ValueKind::String) {
            self.add_fault(name, value, "a string");
        }
    }

    /// Adds a fault unless the value is absent or a boolean.
    fn expect_boolean(&mut self, name: &str, value: Option<Value<'_>>) {
        if let Some(value) = value.filter(|value| value.boolean().is_none()) {
            self.add_fault(name, value, "true or false");
        }
    }

    /// Adds a fault unless the value is absent or an integer of 32 bits.
    fn expect_number(&mut self, name: &str, value: Option<Value<'_>>) {
        if let Some(value) = value.filter(|value| plain_integer::<u32>(*value).is_none()) {
            self.add_fault(name, value, "a whole number");
        }
    }

    /// Returns the value if it is an object; adds a fault if it is anything else.
    fn expect_object<'a>(&mut self, name: &str, value: Option<Value<'a>>) -> Option<Value<'a>> {
        let value = value?;
        if value.kind() != ValueKind::Object {
            self.add_fault(name, value, "an object");
            return None;
        }
        Some(value)
    }
}

/// Parses a number without sign, point or exponent that fits the type.
pub(super) fn plain_integer<T: core::str::FromStr>(value: Value<'_>) -> Option<T> {
    let text = core::str::from_utf8(value.text()).ok()?;
    (value.kind() == ValueKind::Number && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

/// Returns a value for a reason: a string or a number as written, anything else by its kind.
pub(super) fn shown_value(value: Value<'_>) -> String {
    match value.kind() {
        ValueKind::String => format!("\"{}\"", shown_carried(&value.string().unwrap_or_default())),
        ValueKind::Number => shown_carried(&String::from_utf8_lossy(value.text())),
        kind => kind.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    fn found(text: &str) -> Vec<String> {
        let document = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        faults(&ManifestView::of(document))
    }

    #[test]
    fn all_that_may_be_absent_may_be_null() {
        let rest =
            ["created_at", "git_dirty", "outputs", "toolchain", "seeds", "replay_coverage", "files", "env"];
        let rest: String = rest.iter().map(|name| format!(r#","{name}":null"#)).collect();
        assert_eq!(
            found(&format!(r#"{{"schema_version":1,"assay_version":"x"{rest}}}"#)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_type_is_asked_for() {
        for (member, fault) in [
            (r#""created_at":1"#, "created_at is 1, not a string"),
            (r#""git_dirty":"no""#, "git_dirty is \"no\", not true or false"),
            (r#""outputs":[]"#, "outputs is an array, not an object"),
            (r#""outputs":{"summary":{}}"#, "outputs.summary is an object, not a string"),
            (r#""toolchain":{"runner":{"ci":1}}"#, "toolchain.runner.ci is 1, not true or false"),
            (r#""seeds":{"seed_version":1.0}"#, "seeds.seed_version is 1.0, not a whole number"),
            (
                r#""seeds":{"seed_version":4294967296}"#,
                "seeds.seed_version is 4294967296, not a whole number",
            ),
            (r#""replay_coverage":{"complete_tests":[]}"#, "replay_coverage.incomplete_tests is missing"),
            (
                r#""replay_coverage":{"complete_tests":["a",2,3],"incomplete_tests":[]}"#,
                "replay_coverage.complete_tests[1] is 2, not a string",
            ),
            (
                r#""replay_coverage":{"complete_tests":[],"incomplete_tests":["t"],"reason":{"t\u001b":0}}"#,
                "replay_coverage.reason of t\\u{1b} is 0, not a string",
            ),
            (r#""scrub_policy":true"#, "scrub_policy is true, not an object"),
            (r#""env":"x""#, "env is \"x\", not an object"),
        ] {
            let text = format!(r#"{{"schema_version":1,"assay_version":"x",{member}}}"#);
            assert_eq!(found(&text), [fault]);
        }
    }

    #[test]
    fn versions() {
        for (text, faults) in [
            ("{}", vec!["schema_version is missing", "assay_version is missing"]),
            (
                r#"{"schema_version":1.0,"assay_version":""}"#,
                vec!["schema_version is 1.0, not 1", "assay_version is empty"],
            ),
            (
                r#"{"schema_version":"1","assay_version":6}"#,
                vec!["schema_version is \"1\", not 1", "assay_version is 6, not a string"],
            ),
            (r#"{"schema_version":2,"assay_version":"6.21.0"}"#, vec!["schema_version is 2, not 1"]),
        ] {
            assert_eq!(found(text), faults);
        }
    }
}
