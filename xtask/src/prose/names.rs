//! Type names: each is defined once in the workspace, so that a search for a name finds the one thing it names.
//!
//! Types that a macro makes are seen where its call begins with their names, as `words! { PolicyDecision; …` does.

use std::collections::BTreeMap;

use super::source::SourceFile;

/// Type names that may be defined more than once, and why.
const REPEATED: &[(&str, &str)] = &[(
    "Terminal",
    "one for systems with a controlling terminal, one for those without; the rest of the command knows one",
)];

/// Definition of a struct, an enum, a union, a trait or a type alias outside of tests.
pub(crate) struct TypeDefinition<'s> {
    /// Name of the type.
    pub(crate) name: &'s str,
    /// Path and line, as terminals and editors open them.
    pub(crate) location: String,
}

/// Returns the type definitions outside of tests. Associated types of traits are no definitions of their own.
pub(crate) fn definitions(sources: &[SourceFile]) -> impl Iterator<Item = TypeDefinition<'_>> {
    sources.iter().flat_map(|source| {
        let mut is_macro_call = false;
        source.code_lines().flat_map(move |(number, line)| {
            let names = match is_macro_call {
                true => types_of_macro(line),
                false => defined_type(line).into_iter().collect(),
            };
            is_macro_call = line.ends_with("! {") && !line.starts_with(' ');
            let location = format!("{}:{number}", source.path);
            names.into_iter().map(move |name| TypeDefinition { name, location: location.clone() })
        })
    })
}

/// Returns the names that more than one definition has, each with the places of all of them.
pub(crate) fn repeated(sources: &[SourceFile]) -> BTreeMap<&str, Vec<String>> {
    let mut locations: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for definition in definitions(sources) {
        locations.entry(definition.name).or_default().push(definition.location);
    }
    locations.retain(|_, locations| locations.len() > 1);
    locations
}

/// Returns the type names with which a macro call begins: `A;`, `A, B;` or `A {`.
fn types_of_macro(line: &str) -> Vec<&str> {
    let Some((names, _)) = line.trim_start().split_once([';', '{']) else { return Vec::new() };
    let is_type = |name: &&str| {
        name.starts_with(|letter: char| letter.is_ascii_uppercase())
            && name.chars().all(char::is_alphanumeric)
    };
    let names: Vec<&str> = names.trim_end().split(", ").collect();
    if names.iter().all(is_type) { names } else { Vec::new() }
}

/// Returns the reason why a name may be defined more than once; `None` if it may not.
pub(crate) fn allowed_because(name: &str) -> Option<&'static str> {
    REPEATED.iter().find(|(listed, _)| *listed == name).map(|(_, reason)| *reason)
}

/// Returns the name of the type that a line begins to define.
fn defined_type(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let is_nested = item.len() < line.len();
    let item = match item.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => item,
    };
    let (keyword, rest) = item.split_once(' ')?;
    // An indented `type` is an associated type; an alias inside of an inline module does not occur.
    let is_definition =
        matches!(keyword, "struct" | "enum" | "union" | "trait") || (keyword == "type" && !is_nested);
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    let name = &rest[..end];
    (is_definition && name.starts_with(|letter: char| letter.is_ascii_uppercase())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::TaskContext;

    #[test]
    fn every_type_name_is_defined_once() {
        let sources = SourceFile::read_all(TaskContext::new().root()).unwrap();
        assert!(definitions(&sources).count() > 500, "the sources are not where they were");
        let repeated: Vec<String> = repeated(&sources)
            .into_iter()
            .filter(|(name, _)| allowed_because(name).is_none())
            .map(|(name, locations)| format!("{name}: {}", locations.join(", ")))
            .collect();
        assert!(
            repeated.is_empty(),
            "say in each name what the type is about, or list it in REPEATED with a reason:\n{}",
            repeated.join("\n")
        );
    }

    #[test]
    fn every_listed_name_is_repeated() {
        let sources = SourceFile::read_all(TaskContext::new().root()).unwrap();
        let repeated = repeated(&sources);
        for (name, _) in REPEATED {
            assert!(repeated.contains_key(name), "{name} is defined once: strike it out of REPEATED");
        }
    }

    #[test]
    fn types_of_macros_are_found_at_the_beginning_of_a_call() {
        let text = "words! {\n    /// Says.\n    Word;\n    Other;\n}\npayload! {\n    A, B;\n}\ncodes! {\n    Bom \"E\" X,\n}\nview! {\n    V { a }\n}\n";
        let sources = [SourceFile::new("x/src/a.rs".into(), "x".into(), text)];
        let names: Vec<&str> = definitions(&sources).map(|definition| definition.name).collect();
        assert_eq!(names, ["Word", "A", "B", "V"]);
    }

    #[test]
    fn definitions_are_told_from_uses() {
        assert_eq!(defined_type("pub struct Run<'a> {"), Some("Run"));
        assert_eq!(defined_type("pub(in crate::x) enum Kind {"), Some("Kind"));
        assert_eq!(defined_type("    struct Inner;"), Some("Inner"));
        assert_eq!(defined_type("trait Answers {"), Some("Answers"));
        assert_eq!(defined_type("type Place = usize;"), Some("Place"));
        assert_eq!(defined_type("    type Item = u8;"), None);
        assert_eq!(defined_type("impl Run {"), None);
        assert_eq!(defined_type("let structure = Run {"), None);
    }
}
