//! Damage to one byte of a sealed artifact is always noticed.
//!
//! If any bit flips, `pass` is false, or the canonical bytes are unchanged and a note says that the
//! file is not in canonical form. Other damage, of one byte or two, never passes with another meaning
//! either.
#![allow(clippy::unwrap_used)]

mod support;

use reenact_testkit::fixture::TestKey;
use reenact_verify::Keys;
use reenact_verify::rer::{ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE};
use support::{KeyRing as _, canonical, failed, pretty_printed, report_of, tricky_artifact, vector};

const SPELLING: &str =
    "the file is not in canonical form, and need not be: hashes are of its values, however they are spelled";

/// Number of damaged texts that were refused, and that have the same meaning.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    refused: usize,
    same: usize,
}

/// Sealed text, its canonical form, and the key.
struct SealedArtifact {
    text: Vec<u8>,
    meaning: Vec<u8>,
    keys: Keys,
}

impl SealedArtifact {
    fn new(text: Vec<u8>, keys: Keys) -> Self {
        let report = report_of(&text, &keys);
        assert!(report.pass(), "{:?}", report.reasons);
        let meaning = canonical(&text).unwrap();
        Self { text, meaning, keys }
    }

    fn vector(file: &str) -> Self {
        Self::new(vector(file), Keys::from_raw(&vector("keys/alpha.bin")))
    }

    fn tricky_artifact() -> Self {
        let key = TestKey::of(1);
        Self::new(tricky_artifact(&key), key.keys())
    }

    fn pretty_printed(&self) -> Self {
        Self::new(pretty_printed(&self.text), self.keys.clone())
    }

    /// Verifies a damaged text and counts the result.
    fn check(&self, damaged: &[u8], tally: &mut Tally) {
        // A text that fails without the key fails with it, and signatures take most of the time.
        let keyless = report_of(damaged, &Keys::default());
        let report = match failed(&keyless)[..] {
            [ENVELOPE_SIGNATURE, RUNTIME_SIGNATURE] => report_of(damaged, &self.keys),
            _ => keyless,
        };
        if !report.pass() {
            tally.refused += 1;
            return;
        }
        tally.same += 1;
        let text = String::from_utf8_lossy(damaged);
        assert_eq!(canonical(damaged).as_ref(), Some(&self.meaning), "passes with another meaning: {text}");
        let is_canonical = damaged.strip_suffix(b"\n").unwrap_or(damaged) == self.meaning;
        assert_eq!(report.notes.iter().any(|note| note == SPELLING), !is_canonical, "{text}");
    }

    fn flip(&self, bits: impl Fn(usize) -> std::ops::Range<u32>) -> Tally {
        let mut tally = Tally::default();
        let mut damaged = self.text.clone();
        for at in 0..damaged.len() {
            for bit in bits(at) {
                damaged[at] ^= 1 << bit;
                self.check(&damaged, &mut tally);
                damaged[at] ^= 1 << bit;
            }
        }
        tally
    }

    fn every_bit(&self) -> Tally {
        self.flip(|_| 0..8)
    }

    /// Flips one bit of each byte, each time another.
    fn a_bit_of_each_byte(&self) -> Tally {
        self.flip(|at| {
            let bit = u32::try_from(at % 8).unwrap();
            bit..bit + 1
        })
    }

    /// Damages the text once at each position.
    fn everywhere(&self, damage: impl Fn(&[u8], usize) -> Vec<u8>) -> Tally {
        let mut tally = Tally::default();
        for at in 0..self.text.len() {
            self.check(&damage(&self.text, at), &mut tally);
        }
        tally
    }

    fn other_damage(&self) -> [Tally; 5] {
        [
            self.everywhere(|text, at| [&text[..at], &text[at + 1..]].concat()),
            self.everywhere(|text, at| [&text[..at], &text[at..=at], &text[at..]].concat()),
            self.everywhere(|text, at| [&text[..at], b" ", &text[at..]].concat()),
            self.everywhere(|text, at| {
                let mut text = text.to_vec();
                let next = (at + 1).min(text.len() - 1);
                text.swap(at, next);
                text
            }),
            self.everywhere(|text, at| text[..at].to_vec()),
        ]
    }
}

#[test]
fn every_bit_of_a_canonical_artifact() {
    let sealed = SealedArtifact::tricky_artifact();
    // Four exponents may be written with E; 4e-324 and 7e-324 are the same double as 5e-324.
    assert_eq!(sealed.every_bit(), Tally { refused: 8 * sealed.text.len() - 6, same: 6 });
}

#[test]
fn half_of_the_bits_of_the_smallest_vector() {
    let sealed = SealedArtifact::vector("valid/v02_minimal_v01.json");
    let tally = sealed.flip(|at| if at % 2 == 0 { 0..4 } else { 4..8 });
    assert_eq!(tally, Tally { refused: 4 * sealed.text.len(), same: 0 });
}

#[test]
fn a_bit_of_each_byte_where_lines_are_broken() {
    assert_eq!(
        SealedArtifact::tricky_artifact().pretty_printed().a_bit_of_each_byte(),
        Tally { refused: 3118, same: 2 }
    );
    let sealed = SealedArtifact::vector("valid/v30_escaped_text.json");
    assert_eq!(sealed.a_bit_of_each_byte(), Tally { refused: sealed.text.len(), same: 0 });
}

/// Run with `cargo test --release --test bit_flips -- --ignored`.
#[test]
#[ignore = "200,000 texts"]
fn more_artifacts() {
    let same = |sealed: &SealedArtifact| sealed.every_bit().same;
    assert_eq!(same(&SealedArtifact::tricky_artifact().pretty_printed()), 6);
    for (file, expected) in [
        ("v02_minimal_v01.json", 0),
        ("v11_number_spelling.json", 2),
        ("v24_payload_scalars_arrays.json", 0),
        ("v27_envelope_everything.json", 0),
        ("v30_escaped_text.json", 6),
        ("v34_run_id_odd.json", 0),
        ("v39_canonical_file.json", 0),
    ] {
        assert_eq!(same(&SealedArtifact::vector(&format!("valid/{file}"))), expected, "{file}");
    }
    let numbers = SealedArtifact::vector("valid/v11_number_spelling.json");
    assert_eq!(numbers.other_damage().map(|tally| tally.same), [330, 332, 569, 447, 0]);
}

#[test]
fn a_byte_removed_doubled_spaced_or_swapped() {
    let sealed = SealedArtifact::tricky_artifact();
    let tally = |same| Tally { refused: sealed.text.len() - same, same };
    // The + of 1e+21 may go, zeros may stand before an exponent, equal neighbours may change places.
    assert_eq!(sealed.other_damage(), [1, 2, 279, 63, 0].map(tally));
}
