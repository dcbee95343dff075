//! Placeholders in the values of a row, and their replacement.
//!
//! | placeholder | value |
//! |---|---|
//! | `${base:NAME}` | the gateway's address of a route, the path of its upstream included |
//! | `${provider:base}`, `${provider:key}` | the gateway's address of the chosen provider, and the member that sets it |
//! | `${overridden:base}`, `${overridden:name}` | the gateway's address for a variable that a file overrides, and its name |
//!
//! In paths: `~`, `${cwd}`, `${root}` (of the repository), `${FOLDER}` of the row, `${variable:NAME}`, `${option:NAME}` (its
//! value in the command) and `${above:NAME}` (the nearest file of that name, upwards). Everything else stays as it is.

/// Replaces the placeholders of a text by the values of `value`; `None` if one has none.
pub(crate) fn expand(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}')?;
        expanded.push_str(before);
        expanded.push_str(&value(name)?);
        rest = after;
    }
    expanded.push_str(rest);
    Some(expanded)
}

/// Checks the placeholders of a value that is set.
pub(crate) fn check(text: &str, is_route: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut unknown = None;
    let known = |name: &str| match name.split_once(':') {
        Some(("base", route)) => is_route(route),
        Some(("provider" | "overridden", "base"))
        | Some(("provider", "key"))
        | Some(("overridden", "name")) => true,
        _ => false,
    };
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            return Err("a placeholder has no end".into());
        };
        if !known(name) {
            unknown = Some(name);
        }
        rest = after;
    }
    unknown.map_or(Ok(()), |name| Err(format!("there is no placeholder ${{{name}}}")))
}
