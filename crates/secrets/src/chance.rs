//! Whether a value was made by chance.
//!
//! Chance changes between capitals, small letters and digits all the time, and puts letters side by side that
//! no word has side by side. Words, names in programs, dates, versions and names of models do neither.

use crate::class::ALNUM;

/// Whether a good part of the value was made by chance.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let random: usize = stretches(value).filter(|stretch| is_by_chance(stretch)).map(<[u8]>::len).sum();
    let is_stretched = random >= 12 && random * 5 >= value.len() * 2;
    (is_stretched || is_scattered(value)) && distinct(value) >= 8 && !value.windows(5).any(is_filler)
}

/// Whether signs cut a value that was made by chance into pieces too short to tell. Names with signs are of one case.
fn is_scattered(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    value.len() >= 16
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && is_unspeakable(value)
}

/// Runs of letters and digits.
pub(crate) fn stretches(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| !ALNUM.has(*byte)).filter(|stretch| !stretch.is_empty())
}

fn is_by_chance(stretch: &[u8]) -> bool {
    stretch.len() >= 8 && (changes_by_chance(stretch) || is_unspeakable(stretch))
}

fn changes_by_chance(stretch: &[u8]) -> bool {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    let mut changes = 0;
    for pair in stretch.windows(2) {
        // A capital and then a small letter: so do words begin.
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

/// Whether a quarter of the letters stand beside letters that they do not stand beside in words.
fn is_unspeakable(stretch: &[u8]) -> bool {
    let mut pairs = 0;
    let mut strange = 0;
    for pair in stretch.windows(2) {
        let &[one, two] = pair else { continue };
        if one.is_ascii_alphabetic() && two.is_ascii_alphabetic() {
            pairs += 1;
            let followers = FOLLOWERS[usize::from(one.to_ascii_lowercase() - b'a')];
            strange += usize::from(!followers.as_bytes().contains(&two.to_ascii_lowercase()));
        }
    }
    strange >= 4 && strange * 4 >= pairs
}

/// For each letter those that follow it in words: 19 of 20 pairs of neighbours in a large vocabulary.
const FOLLOWERS: [&str; 26] = [
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

fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    value.iter().filter(|byte| !core::mem::replace(&mut seen[usize::from(**byte)], true)).count()
}

/// Five times the same: what a person types to fill a place.
fn is_filler(window: &[u8]) -> bool {
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
