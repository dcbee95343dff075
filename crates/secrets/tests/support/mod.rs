//! Texts with made-up secrets, filled from templates.
//!
//! No file of the corpus holds anything that looks like a key: `{{sk-ant-api03- word:80}}` is a key
//! in the making. Between the braces stand a class with a length, `nl` for a line break, `sp` for a
//! blank, or fixed text.

// Each suite uses a part of this module, and a template that is wrong is a test that is wrong.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::ops::Range;
use std::path::PathBuf;

/// Number of seeds for which every made-up secret is known to be found. Random letters form words,
/// too, if there are enough of them.
pub(crate) const SEEDS: u64 = 1000;

/// Generator of numbers that look random and are the same each time (xorshift).
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    /// Returns `length` letters of a class.
    pub(crate) fn letters(&mut self, class: &str, length: usize) -> String {
        let letters = alphabet(class).unwrap_or_else(|| panic!("no class {class}")).as_bytes();
        (0..length).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }
}

fn alphabet(class: &str) -> Option<&'static str> {
    Some(match class {
        "digit" => "0123456789",
        "hex" => "0123456789abcdef",
        "base32" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "upper" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "lower" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "alnum" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "word" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        "base64" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        _ => return None,
    })
}

/// Filled template, with the spans of its made-up values.
pub(crate) struct FilledTemplate {
    pub(crate) text: String,
    pub(crate) spans: Vec<Range<usize>>,
}

/// Fills the placeholders of a template.
pub(crate) fn made(template: &str, seed: u64) -> FilledTemplate {
    let mut random = SeededRandom::new(seed);
    let mut made = FilledTemplate { text: String::new(), spans: Vec::new() };
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (pieces, behind) = behind.split_once("}}").unwrap_or_else(|| panic!("no end: {behind:.60}"));
        made.text.push_str(before);
        let start = made.text.len();
        for piece in pieces.split_ascii_whitespace() {
            made.text.push_str(&filled(piece, &mut random));
        }
        made.spans.push(start..made.text.len());
        rest = behind;
    }
    made.text.push_str(rest);
    made
}

fn filled(piece: &str, random: &mut SeededRandom) -> String {
    match piece {
        "nl" => return "\n".into(),
        "sp" => return " ".into(),
        _ => {}
    }
    match piece.split_once(':') {
        Some((class, length)) if alphabet(class).is_some() => random.letters(class, length.parse().unwrap()),
        _ => piece.into(),
    }
}

/// Returns the files of a folder of the corpus: name and content, sorted.
pub(crate) fn corpus(folder: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Returns the true cases, one a line: the rule that must find the value, and the template.
pub(crate) fn true_cases() -> Vec<(String, String)> {
    let mut cases = Vec::new();
    for (_, text) in corpus("true") {
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (rule, template) = line.split_once(" | ").unwrap_or_else(|| panic!("no rule: {line}"));
            cases.push((rule.trim().to_owned(), template.to_owned()));
        }
    }
    cases
}
