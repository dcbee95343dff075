//! Normalized paths: POSIX separators, no empty or dotted components, drives as folders.
//!
//! The function is not idempotent (`./C:/x` becomes `C:/x`, which becomes `/c/x`), so a writer must verify its own
//! output.

/// Returns the normalized path.
pub(super) fn normalized(text: &str) -> String {
    let mut path = text.replace('\\', "/");
    if let Some(rest) = after_drive(&path) {
        let drive = path.chars().next().unwrap_or_default().to_ascii_lowercase();
        path = format!("/{drive}/{rest}");
    }
    let is_absolute = path.starts_with('/');
    let is_folder = path.ends_with('/');
    let mut segments: Vec<&str> = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." if segments.last().is_some_and(|last| *last != "..") => {
                segments.pop();
            }
            ".." if is_absolute => {}
            other => segments.push(other),
        }
    }
    let mut normal = if is_absolute { "/".to_owned() } else { String::new() };
    normal.push_str(&segments.join("/"));
    if normal.is_empty() {
        normal.push('.');
    }
    if is_folder && normal != "/" {
        normal.push('/');
    }
    normal
}

/// Returns true if a path without backslashes certainly is normalized, as most paths in a file are, since they were
/// written so. `false` means only that the slow path must decide.
pub(super) fn is_normalized(path: &[u8]) -> bool {
    let inner = path.strip_prefix(b"/").unwrap_or(path);
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    path.get(1) != Some(&b':')
        && !inner.split(|byte| *byte == b'/').any(|part| matches!(part, b"" | b"." | b".."))
}

/// Returns the part behind a drive letter, colon and slash. A line feed at the very end is dropped; with one further
/// in, the path is not on a drive.
fn after_drive(path: &str) -> Option<&str> {
    let [letter, b':', b'/', ..] = path.as_bytes() else { return None };
    let rest = path.get(3..).filter(|_| letter.is_ascii_alphabetic())?;
    let rest = rest.strip_suffix('\n').unwrap_or(rest);
    (!rest.contains('\n')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::{is_normalized, normalized};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_short_cut_agrees(path in "[./ab:C\n]{0,12}") {
            prop_assert!(!is_normalized(path.as_bytes()) || normalized(&path) == path, "{:?}", path);
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
            assert_eq!(normalized(text), expected, "{text:?}");
        }
    }
}
