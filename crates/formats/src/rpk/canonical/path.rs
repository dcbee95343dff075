//! The one spelling of a path: POSIX separators, no empty or dotted components, drives as folders.
//!
//! It is not idempotent (`./C:/x` becomes `C:/x`, which becomes `/c/x`): whoever writes a file must read it again.

/// The path that `text` stands for.
pub(super) fn normal(text: &str) -> String {
    let mut path = text.replace('\\', "/");
    if let Some(rest) = after_drive(&path) {
        let drive = path.chars().next().unwrap_or_default().to_ascii_lowercase();
        path = format!("/{drive}/{rest}");
    }
    let is_absolute = path.starts_with('/');
    let is_folder = path.ends_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if is_absolute => {}
            other => kept.push(other),
        }
    }
    let mut normal = if is_absolute { "/".to_owned() } else { String::new() };
    normal.push_str(&kept.join("/"));
    if normal.is_empty() {
        normal.push('.');
    }
    if is_folder && normal != "/" {
        normal.push('/');
    }
    normal
}

/// Whether a path without backslashes is surely its own spelling, as most paths in a file are: it was written so. `false` means
/// only that it takes a closer look.
pub(super) fn is_normal(path: &[u8]) -> bool {
    let inner = path.strip_prefix(b"/").unwrap_or(path);
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    path.get(1) != Some(&b':')
        && !inner.split(|byte| *byte == b'/').any(|part| matches!(part, b"" | b"." | b".."))
}

/// What follows a drive's letter, its colon and a slash. A line feed at the very end is dropped; with one further in, this is
/// no path on a drive.
fn after_drive(path: &str) -> Option<&str> {
    let [letter, b':', b'/', ..] = path.as_bytes() else { return None };
    let rest = path.get(3..).filter(|_| letter.is_ascii_alphabetic())?;
    let rest = rest.strip_suffix('\n').unwrap_or(rest);
    (!rest.contains('\n')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::{is_normal, normal};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_short_cut_agrees(path in "[./ab:C\n]{0,12}") {
            prop_assert!(!is_normal(path.as_bytes()) || normal(&path) == path, "{:?}", path);
        }
    }

    #[test]
    fn known_paths() {
        for (text, expected) in [
            ("", "."),
            ("/", "/"),
            ("//", "/"),
            ("./", "./"),
            ("a/../", "./"),
            ("a//b/./c/..", "a/b"),
            ("../../x", "../../x"),
            ("/../../x", "/x"),
            ("C:\\Users\\..\\x", "/c/x"),
            ("C:/a/../b\n", "/c/b"),
            ("C:/a\nb/c", "C:/a\nb/c"),
            ("D:", "D:"),
            ("D:foo", "D:foo"),
            ("\\\\srv\\share", "/srv/share"),
            ("http://h//a/../b", "http:/h/b"),
            ("./C:/x", "C:/x"),
            ("C:/x", "/c/x"),
            ("é/世/../ü", "é/ü"),
            ("\n", "\n"),
        ] {
            assert_eq!(normal(text), expected, "{text:?}");
        }
    }
}
