//! Conditions of a row: what must hold for a setting, a route or a note.

use crate::effective;
use crate::local::read_settings;
use crate::options;
use crate::plan::{AgentContext, Findings};
use crate::row::When;

/// Returns true if a condition holds, as far as it does not ask for what is only found later: login, provider, upstreams.
pub(crate) fn holds_without_login(when: &When, context: &AgentContext<'_>) -> bool {
    let is_set = |name: &String| context.variable(name).is_some();
    let file = |path: &str| context.path(path);
    when.set.iter().all(is_set)
        && !when.unset.iter().any(is_set)
        && (when.any.is_empty() || when.any.iter().any(is_set))
        && (when.words.is_empty() || when.words.iter().any(|word| options::has_word(context.arguments, word)))
        && when.overridden.as_ref().is_none_or(|name| context.effective.overridden(name).is_some())
        && when.member.as_ref().is_none_or(|member| {
            file(&member.file).is_some_and(|path| effective::has_member(&path, &member.path))
        })
        && !when
            .lacks
            .iter()
            .any(|member| file(&member.file).is_some_and(|path| effective::has_member(&path, &member.path)))
        && when.overlay_is_roots.is_none_or(|expected| context.local.overlay_is_roots() == expected)
        && when.text.as_ref().is_none_or(|text| {
            file(&text.file)
                .and_then(|path| read_settings(&path))
                .is_some_and(|found| found.contains(&text.has))
        })
}

/// Returns true if a condition holds. `is_vendor_itself` tells whether the route of a vendor leads to the vendor's own servers.
pub(crate) fn holds(
    when: &When,
    context: &AgentContext<'_>,
    found: &Findings,
    is_vendor_itself: &dyn Fn(&str) -> bool,
) -> bool {
    holds_without_login(when, context)
        && when.login.is_none_or(|login| login == found.login)
        && when.provider.is_none_or(|kind| found.provider.as_ref().is_some_and(|chosen| chosen.kind == kind))
        && when.vendor_itself.as_ref().is_none_or(|vendor| is_vendor_itself(vendor))
}
