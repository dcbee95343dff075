//! Any bytes through the scanner and the canonical writer, compared with serde_json.
//!
//! Both read the same language but for four things: serde_json takes duplicate names (so here they
//! are refused while it reads), has its own limit of depth, refuses numbers beyond the doubles, and
//! rounds integers that doubles cannot hold.
#![no_main]

use std::collections::BTreeSet;
use std::fmt;

use libfuzzer_sys::fuzz_target;
use reenact_json::canonical::{self, write_without};
use reenact_json::digest::{Digest, Hasher};
use reenact_json::{Jcs, Limits, Position, Scanner, SyntaxError, Value, ValueKind};

fuzz_target!(|input: &[u8]| {
    let limits = Limits::default();
    let parsed = Value::parse(input, &limits);
    assert_eq!(walk(input, &limits), parsed.as_ref().map(|_| ()).map_err(Clone::clone), "the doors disagree");
    positions(input);
    let theirs = serde_json::from_slice::<Distinct>(input);
    match parsed {
        Err(error) => {
            assert!(error.offset <= input.len());
            let _ = error.describe(input);
            assert!(theirs.is_err(), "we refuse what serde_json reads: {error}");
        }
        Ok(value) => accepted(input, value, theirs.err()),
    }
});

fn accepted(input: &[u8], value: Value<'_>, refused: Option<serde_json::Error>) {
    let mut hasher = Hasher::new();
    let canonical = match canonical::to_vec(value, Jcs) {
        Ok(canonical) => canonical,
        Err(fault) => {
            assert!(!value.is_canonical());
            assert_eq!(canonical::digest(value, Jcs, &mut hasher), Err(fault));
            return;
        }
    };
    assert_eq!(canonical::digest(value, Jcs, &mut hasher), Ok(Digest::of(&canonical)));
    assert_eq!(value.is_canonical(), value.text() == canonical);

    let again = Value::parse(&canonical, &Limits::default()).expect("canonical text is JSON");
    assert!(again.is_canonical());
    assert_eq!(canonical::to_vec(again, Jcs).as_deref(), Ok(canonical.as_slice()));

    // Omitting a member gives the same from either text; omitting none gives the whole text.
    let first = again.members().next().and_then(|(name, _)| name.string());
    for omitted in [None, first.as_deref()] {
        let omitted: Vec<&str> = omitted.into_iter().collect();
        let (mut from_input, mut from_canonical) = (Vec::new(), Vec::new());
        write_without(value, &omitted, &mut from_input).expect("it was written before");
        write_without(again, &omitted, &mut from_canonical).expect("it was written before");
        assert_eq!(from_input, from_canonical);
        assert_eq!(omitted.is_empty(), from_input == canonical);
    }
    if let Some(text) = value.string() {
        assert!(value.is_string(&text));
    }

    match refused {
        Some(error) => assert!(error.to_string().starts_with("recursion limit exceeded"), "{error}"),
        None => {
            let theirs: serde_json::Value = serde_json::from_slice(input).expect("it was read before");
            let theirs = serde_json_canonicalizer::to_vec(&theirs).expect("it has a canonical form");
            assert_eq!(String::from_utf8_lossy(&canonical), String::from_utf8_lossy(&theirs));
        }
    }
}

/// Reads a document by entering every object and array in it.
fn walk(input: &[u8], limits: &Limits) -> Result<(), SyntaxError> {
    fn value(scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
        match scanner.kind()? {
            ValueKind::Object => {
                let mut object = scanner.enter_object()?;
                while scanner.next_name(&mut object)?.is_some() {
                    value(scanner)?;
                }
            }
            ValueKind::Array => {
                let mut array = scanner.enter_array()?;
                while scanner.next_element(&mut array)? {
                    value(scanner)?;
                }
            }
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    }
    let mut scanner = Scanner::new(input, limits)?;
    value(&mut scanner)?;
    scanner.finish()
}

/// Computes the positions of offsets that the input itself chooses, inside of it and beyond.
fn positions(input: &[u8]) {
    let chosen = input.iter().take(8).fold(0_usize, |sum, &byte| sum.wrapping_mul(31) + usize::from(byte));
    for offset in [0, chosen % (input.len() + 2), input.len(), usize::MAX] {
        let position = Position::of(input, offset);
        assert!(position.line >= 1 && position.column >= 1 && position.path.starts_with('$'));
        assert!(!position.to_string().chars().any(reenact_json::shown::is_unsafe));
    }
}

/// JSON as serde_json reads it, but without duplicate names.
struct Distinct;

impl<'de> serde::Deserialize<'de> for Distinct {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Distinct)
    }
}

impl<'de> serde::de::Visitor<'de> for Distinct {
    type Value = Distinct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Distinct>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(name) {
                return Err(serde::de::Error::custom("duplicate name"));
            }
            members.next_value::<Distinct>()?;
        }
        Ok(self)
    }
}
