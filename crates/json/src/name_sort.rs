//! Sorting of the names of a large object in place, four bytes at a time.
//!
//! A radix sort from the first byte on: the names of a run that is equal so far are sorted by their next four bytes, and each
//! run that is still equal then is the next to be sorted. No name is compared with another one, so that names which share a
//! long beginning cost each of their bytes once, and a cache miss serves four bytes of every name instead of one comparison.
//! Needs no memory beside the spans of the names, but eight bytes for each run that waits. Start reading at [`sort`].

use crate::member_names::{NameSpan, to_u32};
use crate::name_order::NameOrder;
use crate::string::{SHORT_ESCAPES, decode_unicode_escape};

/// Key of a name from one position on: its next bytes, big-endian, which sorts as the names do. The last byte is zero if and
/// only if the name ends within them.
type SortKey = u32;

/// Sorts the names of one object into canonical order and returns the one that repeats an earlier name, if there are any; of
/// several that repeat, the first one in the text. Afterwards only the start of each span counts.
///
/// `are_plain` is true if all names are ASCII without escapes; `names` are in the order of the text.
pub(crate) fn sort(
    input: &[u8],
    names: &mut [NameSpan],
    are_plain: bool,
    order: NameOrder,
) -> Option<NameSpan> {
    let repeated = match are_plain {
        true => sort_by_keys(names, |at| plain_key(input, at)),
        false => sort_by_keys(names, |at| escaped_key(input, at, order)),
    };
    for name in names {
        name.0 = name_start(input, name.0);
    }
    repeated.map(|at| (name_start(input, at), name_end(input, at as usize)))
}

/// Sorts names by the keys that `key_at` returns for a position in a name, together with the position behind the key. Returns the
/// position in the first name of the text that repeats another.
///
/// While it sorts, a span holds the key of a name and the position from which the key was taken; at the end the position alone.
fn sort_by_keys(names: &mut [NameSpan], key_at: impl Fn(u32) -> (SortKey, u32)) -> Option<u32> {
    let take_keys = |names: &mut [NameSpan]| {
        for name in &mut *names {
            name.0 = key_at(name.1).0;
        }
        names.sort_unstable_by_key(|(key, at)| u64::from(*key) << 32 | u64::from(*at));
    };
    for name in &mut *names {
        name.1 = name.0;
    }
    take_keys(names);
    let mut repeated: Option<u32> = None;
    // Stretches of the list that wait until the run before them is sorted.
    let mut waiting: Vec<(usize, usize)> = Vec::new();
    let (mut from, mut to) = (0, names.len());
    loop {
        if from == to {
            match waiting.pop() {
                Some(stretch) => (from, to) = stretch,
                None => break,
            }
        }
        let key = names[from].0;
        let end = from + names[from..to].iter().take_while(|name| name.0 == key).count();
        if end - from > 1 && key.to_be_bytes()[3] == 0 {
            // Equal to their end: the second is the first that repeats.
            let second = names[from + 1].1;
            repeated = Some(repeated.map_or(second, |first| first.min(second)));
        } else if end - from > 1 {
            if end < to {
                waiting.push((end, to));
            }
            to = end;
            let run = &mut names[from..to];
            for name in &mut *run {
                name.1 = key_at(name.1).1;
            }
            take_keys(run);
            continue;
        }
        from = end;
    }
    for name in names {
        name.0 = name.1;
    }
    repeated
}

/// Returns the next four bytes of a plain name, padded with zeros, and the position behind them.
#[inline(always)]
fn plain_key(input: &[u8], at: u32) -> (SortKey, u32) {
    let mut key = [0; 4];
    for (slot, &byte) in key.iter_mut().zip(input.get(at as usize..).unwrap_or_default()) {
        if byte == b'"' {
            break;
        }
        *slot = byte;
    }
    (u32::from_be_bytes(key), at + 4)
}

/// Returns the next characters of any name, as far as four bytes hold them, and the position behind the last whole one.
///
/// A character counts with the bytes of its UTF-8 text. ASCII is raised by one, since U+0000 must not look like the end. Of a
/// character that does not fit whole only the first byte counts, and the next key begins with the same character.
fn escaped_key(input: &[u8], mut at: u32, order: NameOrder) -> (SortKey, u32) {
    let (mut key, mut filled) = ([0; 4], 0);
    while filled < key.len()
        && let Some((character, next)) = next_char(input, at as usize)
    {
        let mut buffer = [0; 4];
        let bytes = character.encode_utf8(&mut buffer).len();
        buffer[0] = match buffer[0] {
            ascii @ ..0x80 => ascii + 1,
            // As UTF-16, U+E000 to U+FFFF come after all surrogates.
            lead @ (0xEE | 0xEF) if order == NameOrder::Utf16 => lead + 0x10,
            lead => lead,
        };
        match key.get_mut(filled..filled + bytes) {
            Some(slots) => {
                slots.copy_from_slice(&buffer[..bytes]);
                filled += bytes;
                at = next;
            }
            None => {
                // The rest is not zero, which would mean the end.
                key[filled..].fill(1);
                key[filled] = buffer[0];
                break;
            }
        }
    }
    (u32::from_be_bytes(key), at)
}

/// Returns the character at a position in a name, unescaped, and the position behind it; `None` at the closing quote.
fn next_char(input: &[u8], at: usize) -> Option<(char, u32)> {
    let (character, next) = match *input.get(at)? {
        b'"' => return None,
        b'\\' => match SHORT_ESCAPES[usize::from(*input.get(at + 1)?)] {
            0 => decode_unicode_escape(input, at),
            short => (char::from(short), at + 2),
        },
        ascii @ ..0x80 => (char::from(ascii), at + 1),
        lead => {
            let length = match lead {
                ..0xE0 => 2,
                0xE0..0xF0 => 3,
                0xF0.. => 4,
            };
            let text = core::str::from_utf8(input.get(at..at + length)?).ok()?;
            (text.chars().next()?, at + length)
        }
    };
    Some((character, to_u32(next)))
}

/// Returns the position behind the opening quote of the name that holds the position `at`, or that ends there.
///
/// A quote inside a name has a backslash before it, which an opening quote cannot have.
fn name_start(input: &[u8], at: u32) -> u32 {
    let before = input.get(..at as usize).unwrap_or_default();
    let quote =
        (0..before.len()).rev().find(|&at| before[at] == b'"' && (at == 0 || before[at - 1] != b'\\'));
    to_u32(quote.map_or(0, |quote| quote + 1))
}

/// Returns the position of the closing quote of the name that holds the position `at`.
fn name_end(input: &[u8], at: usize) -> u32 {
    let mut end = at;
    while let Some(&byte) = input.get(end)
        && byte != b'"'
    {
        end += if byte == b'\\' { 2 } else { 1 };
    }
    to_u32(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member_names::name_text;
    use crate::string::UnescapedChars;
    use proptest::prelude::*;

    /// Returns an object of these names, which are given as written between their quotes, and the spans of the names.
    fn object(names: &[String]) -> (Vec<u8>, Vec<NameSpan>) {
        let (mut text, mut spans) = (vec![b'{'], Vec::new());
        for (index, name) in names.iter().enumerate() {
            text.extend_from_slice(if index == 0 { b"\"" } else { b", \"" });
            let start = to_u32(text.len());
            text.extend_from_slice(name.as_bytes());
            spans.push((start, to_u32(text.len())));
            text.extend_from_slice(b"\":\"x\\\"\"");
        }
        text.push(b'}');
        (text, spans)
    }

    /// Returns the names in sorted order, and the one that repeats an earlier name first in the text, by comparing whole names.
    fn compared(names: &[String], order: NameOrder) -> (Vec<&str>, Option<usize>) {
        let equal = |a: &str, b: &str| order.compare(a.as_bytes(), b.as_bytes()).is_eq();
        let repeated = (0..names.len()).find(|&at| names[..at].iter().any(|other| equal(other, &names[at])));
        let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        sorted.sort_by(|a, b| order.compare(a.as_bytes(), b.as_bytes()));
        (sorted, repeated)
    }

    fn assert_sorted(names: &[String], order: NameOrder) {
        let (text, mut spans) = object(names);
        let given = spans.clone();
        let are_plain = names.iter().all(|name| name.is_ascii() && !name.contains('\\'));
        let repeated = sort(&text, &mut spans, are_plain, order);
        let (expected, expected_repeat) = compared(names, order);
        assert_eq!(repeated, expected_repeat.map(|at| given[at]), "{names:?}");
        let unescaped = |name: &[u8]| UnescapedChars::new(name).collect::<String>();
        let sorted: Vec<String> = spans
            .iter()
            .map(|(start, _)| given.iter().find(|span| span.0 == *start).expect("the start of a name"))
            .map(|span| unescaped(name_text(&text, *span)))
            .collect();
        let expected: Vec<String> = expected.iter().map(|name| unescaped(name.as_bytes())).collect();
        assert_eq!(sorted, expected);
    }

    /// Pieces of names: plain ones of all lengths around a key, escapes of the same characters, quotes, U+0000, and characters
    /// that the two orders sort differently.
    const PIECES: [&str; 22] = [
        "a",
        "b",
        "ab",
        "abc",
        "abcd",
        "abcde",
        "\\u0061",
        "\\u0062",
        "\\\"",
        "\\\\",
        "\\n",
        "\\u0000",
        "é",
        "\\u00e9",
        "世",
        "\\u4e16",
        "\u{E000}",
        "\\uffff",
        "\u{10000}",
        "\\ud83d\\ude00",
        "😀",
        "\u{7F}",
    ];

    proptest! {
        #[test]
        fn names_sort_as_by_comparison(
            names in prop::collection::vec(
                prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..7).prop_map(|pieces| pieces.concat()),
                1..40,
            ),
        ) {
            for order in [NameOrder::Utf16, NameOrder::CodePoints] {
                assert_sorted(&names, order);
            }
        }

        #[test]
        fn plain_names_sort_as_by_comparison(names in prop::collection::vec("[a-c]{0,11}", 1..60)) {
            assert_sorted(&names, NameOrder::Utf16);
        }
    }

    #[test]
    fn names_that_share_all_but_their_end() {
        let names: Vec<String> =
            (0..300).rev().map(|index| format!("{}{index}", "x".repeat(index))).collect();
        assert_sorted(&names, NameOrder::Utf16);
    }
}
