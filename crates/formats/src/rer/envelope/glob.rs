//! Patterns of approval rules: `*` for any run of characters, `?` for one, everything else for itself.

/// Returns true if a pattern matches a whole name.
///
/// Takes at most as many steps as the product of both lengths, in characters; a caller with untrusted input must
/// bound those.
pub fn matches(pattern: &str, name: &str) -> bool {
    covers(pattern, name, |mark, character| mark == '?' || mark == character)
}

/// Returns true if `pattern` is known to match every name that `other` matches. It may be false for patterns that do so
/// in a roundabout way, such as `*?` and `?*`.
pub fn includes(pattern: &str, other: &str) -> bool {
    // A star of `other` stands for any characters, so that only a star takes it.
    covers(pattern, other, |mark, theirs| theirs != '*' && (mark == '?' || mark == theirs))
}

/// Returns true if a pattern covers a whole text, whose characters each fit a mark of the pattern or go into a star.
fn covers(pattern: &str, name: &str, fits: impl Fn(char, char) -> bool) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    // Backtracking point: behind the last star, which then takes one character more.
    let mut retry: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                retry = Some((at, in_name));
            }
            Some(&mark) if fits(mark, name[in_name]) => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((behind_star, from)) = retry else { return false };
                at = behind_star;
                in_name = from + 1;
                retry = Some((behind_star, in_name));
            }
        }
    }
    pattern[at..].iter().all(|mark| *mark == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, taken literally.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|taken| naive(rest, &name[taken..])),
            Some((mark, rest)) => match name.split_first() {
                Some((first, others)) => (*mark == '?' || mark == first) && naive(rest, others),
                None => false,
            },
        }
    }

    #[test]
    fn whole_names_only() {
        assert!(matches("pay_*", "pay_invoice"));
        assert!(!matches("pay_*", "repay_invoice"));
        assert!(!matches("pay", "pay_invoice"));
        assert!(matches("*", ""));
        assert!(matches("", ""));
        assert!(!matches("?", ""));
        assert!(matches("a.b", "a.b"));
        assert!(!matches("a.b", "axb"));
        assert!(!matches("Pay_*", "pay_x"));
        assert!(matches("?", "é"));
    }

    #[test]
    fn included_patterns() {
        for (pattern, other) in [
            ("*", "pay_*"),
            ("pay_*", "pay_*"),
            ("p*", "pay_*"),
            ("pay_?", "pay_x"),
            ("*_*", "pay_*"),
            ("?*", "?"),
        ] {
            assert!(includes(pattern, other), "{pattern} {other}");
        }
        for (pattern, other) in
            [("pay_*", "*"), ("pay_?", "pay_*"), ("pay_x", "pay_?"), ("pay", "pay_*"), ("?", "*")]
        {
            assert!(!includes(pattern, other), "{pattern} {other}");
        }
    }

    #[test]
    fn a_hostile_pattern_ends() {
        assert!(!matches(&"*a".repeat(500), &"a".repeat(400)));
        assert!(matches(&"*".repeat(10_000), &"a".repeat(10_000)));
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), naive(&chars(&pattern), &chars(&name)));
        }

        /// A pattern that includes another matches all that the other matches.
        #[test]
        fn what_is_included_matches(pattern in "[ab*?]{0,6}", other in "[ab*?]{0,6}", name in "[ab]{0,6}") {
            if includes(&pattern, &other) && matches(&other, &name) {
                prop_assert!(matches(&pattern, &name));
            }
        }
    }
}
