//! Views of a manifest: its members as they stand, right or wrong (§3.1). Unknown members are ignored at every depth
//! (§6).

use reenact_json::Value;

macro_rules! view {
    ($(#[$about:meta])* $view:ident { $($name:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default)]
        pub struct $view<'a> {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: Option<Value<'a>>,
            )*
        }

        impl<'a> $view<'a> {
            /// Picks the members of an object. A member that is `null` counts as absent: the real tool reads it so.
            pub fn of(object: Value<'a>) -> Self {
                let mut view = Self::default();
                for (name, value) in object.members() {
                    let slot = match name.string().as_deref() {
                        $(Some(stringify!($name)) => &mut view.$name,)*
                        _ => continue,
                    };
                    *slot = Some(value).filter(|value| !value.is_null());
                }
                view
            }
        }
    };
}

view! {
    /// Members of a manifest.
    ManifestView {
        schema_version,
        assay_version,
        created_at,
        source_run_path,
        selection_method,
        git_sha,
        git_dirty,
        workflow_run_id,
        config_digest,
        policy_digest,
        baseline_digest,
        trace_digest,
        trace_path,
        outputs,
        toolchain,
        seeds,
        replay_coverage,
        scrub_policy,
        files,
        env,
    }
}

view! {
    /// Members of `outputs` (§3.2): file names inside the bundle. The specification does not list `run`; the real
    /// tool writes it.
    OutputsView { run, summary, junit, sarif, }
}

view! {
    /// Members of one entry of `files`. The entry's own name is the file name inside the bundle.
    FileView { sha256, size, mode, content_type, }
}

view! {
    /// Members of `replay_coverage`: the tests that the bundle holds enough data to replay.
    CoverageView { complete_tests, incomplete_tests, reason, }
}

view! {
    /// Members of `toolchain`.
    ToolchainView { rustc, cargo, cargo_lock_hash, runner, }
}

view! {
    /// Members of `toolchain.runner`.
    RunnerView { os, arch, container_image_digest, ci, }
}

view! {
    /// Members of `seeds`.
    SeedsView { seed_version, order_seed, judge_seed, }
}

view! {
    /// Members of `scrub_policy`: what the producer claims to have removed.
    ScrubView { include_prompts, scrub_cassettes, name, }
}

impl<'a> OutputsView<'a> {
    /// Returns the outputs that are present, each with its member name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Value<'a>)> {
        [("run", self.run), ("summary", self.summary), ("junit", self.junit), ("sarif", self.sarif)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
    }
}

impl<'a> CoverageView<'a> {
    /// Returns the tests that cannot be replayed, each with the reason that the producer gives.
    pub fn incomplete(&self) -> impl Iterator<Item = (Value<'a>, Option<Value<'a>>)> {
        let reason = self.reason;
        self.incomplete_tests.into_iter().flat_map(|list| list.elements()).map(move |test| {
            let why = test.string().and_then(|test| reason?.member(&test));
            (test, why)
        })
    }

    /// Returns the number of tests that can be replayed, and the number of those that cannot.
    pub fn counts(&self) -> (usize, usize) {
        let count = |list: Option<Value<'a>>| list.map_or(0, |list| list.elements().count());
        (count(self.complete_tests), count(self.incomplete_tests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    #[test]
    fn null_is_absent_and_unknown_is_ignored() {
        let text = br#"{"schema_version":1,"trace_path":null,"x":{"files":2},"outputs":{"junit":"outputs/j","y":0}}"#;
        let view = ManifestView::of(Value::parse(text, &Limits::default()).unwrap());
        assert_eq!(view.schema_version.unwrap().text(), b"1");
        assert!(view.trace_path.is_none() && view.files.is_none());
        let outputs = OutputsView::of(view.outputs.unwrap());
        let named: Vec<_> = outputs.named().map(|(name, value)| (name, value.string().unwrap())).collect();
        assert_eq!(named, [("junit", "outputs/j".into())]);
    }

    #[test]
    fn coverage_with_reasons() {
        let text = br#"{"complete_tests":["a"],"incomplete_tests":["b","c"],"reason":{"c":"no trace"}}"#;
        let view = CoverageView::of(Value::parse(text, &Limits::default()).unwrap());
        assert_eq!(view.counts(), (1, 2));
        let skipped: Vec<_> = view
            .incomplete()
            .map(|(test, why)| (test.string().unwrap(), why.and_then(|why| why.string())))
            .collect();
        assert_eq!(skipped, [("b".into(), None), ("c".into(), Some("no trace".into()))]);
    }
}
