//! Randomness: tells values that a generator made from values that people wrote.
//!
//! Random text changes between capitals, small letters and digits all the time, and puts letters
//! side by side that no word has side by side. Words, names in programs, dates, versions and names
//! of models do neither. Start reading at [`is_random`].

use crate::byte_class::ALNUM;

/// Returns true if a good part of the value is random: at least 12 bytes and two fifths of it, with
/// at least 8 distinct bytes and no byte five times in a row.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let random: usize =
        alphanumeric_runs(value).filter(|stretch| is_random_run(stretch)).map(<[u8]>::len).sum();
    let is_stretched = random >= 12 && random * 5 >= value.len() * 2;
    (is_stretched || is_random_with_separators(value))
        && distinct_bytes(value) >= 8
        && !value.windows(5).any(is_one_repeated_byte)
}

/// Returns true if a value is random although separators cut it into runs too short to tell.
///
/// Names with separators are of one case, so all three of digits, capitals and small letters are
/// required.
fn is_random_with_separators(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    value.len() >= 16
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has_rare_letter_pairs(value)
}

/// Splits a value into its runs of letters and digits.
pub(crate) fn alphanumeric_runs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| !ALNUM.contains(*byte)).filter(|stretch| !stretch.is_empty())
}

/// Returns true if a run of at least 8 letters and digits is random.
fn is_random_run(stretch: &[u8]) -> bool {
    stretch.len() >= 8 && (changes_class_often(stretch) || has_rare_letter_pairs(stretch))
}

/// Returns true if a run changes between digits, capitals and small letters more often than names
/// do.
fn changes_class_often(stretch: &[u8]) -> bool {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    let mut changes = 0;
    for pair in stretch.windows(2) {
        // A capital before a small letter begins a word, and counts for nothing.
        if let &[one, two] = pair
            && kind(one) != kind(two)
            && (kind(one), kind(two)) != (1, 2)
        {
            changes += 1;
        }
    }
    // Names in programs have their digits in one place: `X509KeyUsage`.
    let digits = stretch.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty()).count();
    let enough = match digits {
        0 => 3,
        1 => 4,
        _ => 6,
    };
    changes >= 3 && changes * enough >= stretch.len()
}

/// Returns true if a quarter of the letter pairs, and at least four, do not occur in words.
fn has_rare_letter_pairs(stretch: &[u8]) -> bool {
    let mut pairs = 0;
    let mut strange = 0;
    for pair in stretch.windows(2) {
        let &[one, two] = pair else { continue };
        if one.is_ascii_alphabetic() && two.is_ascii_alphabetic() {
            pairs += 1;
            let followers = COMMON_FOLLOWERS[usize::from(one.to_ascii_lowercase() - b'a')];
            strange += usize::from(!followers.as_bytes().contains(&two.to_ascii_lowercase()));
        }
    }
    strange >= 4 && strange * 4 >= pairs
}

/// Letters that follow each letter in words: they cover 19 of 20 pairs of neighbours in a large
/// vocabulary.
const COMMON_FOLLOWERS: [&str; 26] = [
    "abcdfgiklmnprstuvwxy",
    "abceilorsu",
    "acehiklmorstu",
    "abdefilorsu",
    "abcdefghiklmnopqrstuvwxy",
    "aefilorstu",
    "aeghilnorsu",
    "aeiortu",
    "abcdefgklmnoprstvxz",
    "aeo",
    "aeios",
    "acdefilopstuy",
    "abdeilmopsu",
    "acdefgiklmnoprstuvy",
    "abcdefgiklmnoprstuvw",
    "acehiloprstuy",
    "u",
    "abcdefgiklmnoprstuvy",
    "acehiklmnopstuwy",
    "acefhilmoprstuwy",
    "abcdefgilmnprst",
    "aeio",
    "aehinors",
    "ceipt",
    "aeimnps",
    "aei",
];

/// Returns the number of distinct bytes.
fn distinct_bytes(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    value.iter().filter(|byte| !core::mem::replace(&mut seen[usize::from(**byte)], true)).count()
}

/// Returns true if all bytes are equal, as people type them to fill a place.
fn is_one_repeated_byte(window: &[u8]) -> bool {
    window.windows(2).all(|pair| matches!(pair, [one, two] if one == two))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_by_chance() {
        for value in [
            "FTXqKHwGWdhlixnSDHhBCbOBMNavfcPH",
            "hlmjn5wvjlciikmxsj5rulcwmskrwpa6",
            "9f8c7b1e4d2a3f60",
            "rPtYwrqEeILsTWplzxrPy_CB-NPA",
            "k95B_xbDMbi-xlspZp-J7B1Y0k0CuI-qdSFo",
        ] {
            assert!(is_random(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn made_by_people() {
        for value in [
            "claude-sonnet-4-5-20250929",
            "gpt-4o-mini-2024-07-18",
            "X509HardwareKeyUsageFlags",
            "Curve25519SeedBin",
            "getUserByNameAndPassword2",
            "2024-01-02T03:04:05.678Z",
            "x86_64-unknown-linux-gnu",
            "correct-horse-battery-staple",
            "/usr/lib/x86_64-linux-gnu/libssl.so.3",
            "AbstractSingletonProxyFactoryBean",
            "aaaaaaaa1111111122222222",
            "1234567890123456",
        ] {
            assert!(!is_random(value.as_bytes()), "{value}");
        }
    }
}
