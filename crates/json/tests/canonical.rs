//! Canonical bytes under RFC 8785: the samples of the RFC itself, then properties over generated documents, with two
//! other writers of RFC 8785 as oracles.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use reenact_json::canonical::{self, ByteSink};
use reenact_json::digest::{Digest, Hasher};
use reenact_json::scanner::Scanner;
use reenact_json::{CanonicalFault, Jcs, Limits, NumberFault, Value, ValueKind};

fn parse(text: &str) -> Value<'_> {
    Value::parse(text.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn canonical_of(text: &str) -> Result<String, CanonicalFault> {
    canonical::to_vec(parse(text), Jcs).map(|bytes| String::from_utf8(bytes).unwrap())
}

// ---------------------------------------------------------------------------------------------------- the RFC's samples

/// Samples of RFC 8785, Appendix B: bits of a double, and its text.
const APPENDIX_B: [(u64, &str); 24] = [
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

#[test]
fn numbers_of_appendix_b() {
    for (bits, expected) in APPENDIX_B {
        let double = f64::from_bits(bits);
        assert_eq!(expected.parse::<f64>().unwrap().abs().to_bits(), double.abs().to_bits(), "{expected}");
        for literal in [format!("{double:e}"), format!("{double:.16e}"), format!("{double:.40E}")] {
            assert_eq!(canonical_of(&literal).as_deref(), Ok(expected), "{literal}");
        }
        // The text is its own canonical form, also where it spells an integer beyond 2⁵³.
        assert!(parse(expected).is_canonical(), "{expected}");
        assert_eq!(canonical_of(expected).as_deref(), Ok(expected));
    }
}

#[test]
fn names_sort_as_in_section_3_2_3() {
    let text = r#"{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let expected = concat!(
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",",
        "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",",
        "\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
    );
    assert_eq!(canonical_of(text).as_deref(), Ok(expected));
    assert!(parse(expected).is_canonical());
}

#[test]
fn sample_of_section_3_2_2() {
    let text = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let expected = concat!(
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
        r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
    assert_eq!(canonical_of(text).as_deref(), Ok(expected));
}

#[test]
fn each_character_below_u_0080_has_one_spelling() {
    for code in 0..0x80_u8 {
        let expected = match code {
            8 => r"\b".to_owned(),
            9 => r"\t".to_owned(),
            10 => r"\n".to_owned(),
            12 => r"\f".to_owned(),
            13 => r"\r".to_owned(),
            34 => r#"\""#.to_owned(),
            92 => r"\\".to_owned(),
            0..=0x1f => format!("\\u{code:04x}"),
            _ => char::from(code).to_string(),
        };
        assert_eq!(canonical_of(&format!("\"\\u{code:04X}\"")), Ok(format!("\"{expected}\"")));
        assert!(parse(&format!("\"{expected}\"")).is_canonical(), "{expected}");
    }
}

#[test]
fn integers_that_doubles_cannot_hold_are_refused() {
    let refused_at = |path: &str, literal: &str, fault| {
        Err(CanonicalFault::Number { path: path.into(), literal: literal.chars().take(60).collect(), fault })
    };
    let refused = |literal: &str, fault| refused_at("$", literal, fault);
    for literal in [
        "9007199254740993",
        "-9007199254740993",
        "9007199254740995",
        "18446744073709551615",
        "1000000000000000000000",
        "-1000000000000000000000",
        "100000000000000000001",
        "295147905179352825856",
    ] {
        assert_eq!(canonical_of(literal), refused(literal, NumberFault::Inexact), "{literal}");
        let within = format!(r#"{{"b":[{literal}],"a":1}}"#);
        assert_eq!(canonical_of(&within), refused_at("$.b[0]", literal, NumberFault::Inexact));
        assert!(!parse(literal).is_canonical());
        assert_eq!(parse(literal).number_text(), None);
    }
    // Beyond 2⁵³, but ECMAScript prints the very same digits.
    for literal in ["9007199254740992", "9007199254740994", "100000000000000000000", "295147905179352830000"]
    {
        assert_eq!(canonical_of(literal).as_deref(), Ok(literal));
        assert_eq!(parse(literal).number_text().as_deref(), Some(literal));
    }
    let long = "9".repeat(400);
    assert_eq!(canonical_of(&long), refused(&long, NumberFault::Overflow));
    for literal in ["1e309", "-1E+309", "1.7976931348623159e308"] {
        assert_eq!(canonical_of(literal), refused(literal, NumberFault::Overflow));
        assert_eq!(parse(literal).double(), None);
        assert_eq!(parse(literal).unsigned_integer(), None);
    }
}

#[test]
fn a_failed_digest_leaves_the_hasher_empty() {
    let mut hasher = Hasher::new();
    let text = format!("[ \"{}\", 1e999]", "x".repeat(50_000));
    assert!(canonical::digest(parse(&text), Jcs, &mut hasher).is_err());
    assert_eq!(hasher.finish(), Digest::of(b""));
}

#[test]
fn a_cleared_hasher_forgets_what_it_has_hashed_already() {
    let mut hasher = Hasher::new();
    hasher.put(&[b'x'; 50_000]);
    hasher.put(b"y");
    hasher.clear();
    assert_eq!(hasher.finish(), Digest::of(b""));
}

#[test]
fn what_is_no_object_has_nothing_to_leave_out() {
    for text in ["[1]", "[ 1]", "[{\"a\":1}]", " [{\"a\":1} ]", "\"a\"", "1", "1.0", "null", "[]"] {
        let mut out = Vec::new();
        canonical::write_without(parse(text), &["a"], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), canonical_of(text).unwrap(), "{text}");
    }
}

#[test]
fn all_members_left_out() {
    for text in [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{"\u0061":1,"b":2}"#, "{}", "{ }"] {
        let mut out = Vec::new();
        canonical::write_without(parse(text), &["b", "c", "a"], &mut out).unwrap();
        assert_eq!(out, b"{}", "{text}");
    }
}

#[test]
fn objects_from_parts() {
    use canonical::ObjectPart;
    let first = parse(r#" {"z":1.0, "y":"\u0041"} "#);
    let mut out = Vec::new();
    let members = [
        ("a", ObjectPart::String("\"\u{1}\n€")),
        ("b", ObjectPart::Value(first)),
        ("c", ObjectPart::String("")),
    ];
    canonical::write_object(&members, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "{\"a\":\"\\\"\\u0001\\n€\",\"b\":{\"y\":\"A\",\"z\":1},\"c\":\"\"}"
    );
    let mut out = Vec::new();
    canonical::write_object(&[], &mut out).unwrap();
    assert_eq!(out, b"{}");
}

// ------------------------------------------------------------------------------------------------- generated documents

#[derive(Debug, Clone)]
enum Tree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Object(BTreeMap<String, Tree>),
}

impl Tree {
    fn to_serde(&self) -> serde_json::Value {
        match self {
            Tree::Null => serde_json::Value::Null,
            Tree::Bool(truth) => (*truth).into(),
            Tree::Number(number) => (*number).into(),
            Tree::Text(text) => text.as_str().into(),
            Tree::List(items) => items.iter().map(Tree::to_serde).collect(),
            Tree::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), value.to_serde())).collect()
            }
        }
    }
}

/// Strategy for characters at the borders of the ranges that UTF-8, UTF-16 and JSON treat differently, and any other.
fn character() -> impl Strategy<Value = char> {
    let borders = "\0\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f} !\"#/0a[\\]bfnrtu~\u{7f}\u{80}\u{7ff}\u{800}éö€\
                   \u{2028}\u{d7ff}\u{e000}\u{fb33}\u{fdd0}\u{feff}\u{fffd}\u{ffff}\u{10000}😀\u{10ffff}";
    prop_oneof![4 => select(borders.chars().collect::<Vec<_>>()), 1 => any::<char>()]
}

fn text() -> impl Strategy<Value = String> {
    let short = vec(character(), 0..6).prop_map(String::from_iter);
    // A special character somewhere in a long plain run.
    let long = ("[a-z ]{0,40}", character(), "[a-z ]{0,40}")
        .prop_map(|(before, middle, after)| format!("{before}{middle}{after}"));
    prop_oneof![3 => short, 1 => long]
}

/// Strategy for names that often share a prefix.
fn name() -> impl Strategy<Value = String> {
    let few = ['a', 'b', '\n', '"', '\\', 'é', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', '😀'];
    prop_oneof![2 => vec(select(few.to_vec()), 0..4).prop_map(String::from_iter), 1 => text()]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("JSON has no other", |double| double.is_finite()),
        (-9_007_199_254_740_993_i64..=9_007_199_254_740_993).prop_map(|integer| integer as f64),
        (-1000_i32..1000).prop_map(f64::from),
        (-100_000_i32..100_000, -30..30).prop_map(|(digits, ten)| format!("{digits}e{ten}").parse().unwrap()),
        select(APPENDIX_B.to_vec()).prop_map(|(bits, _)| f64::from_bits(bits)),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        1 => Just(Tree::Null),
        1 => any::<bool>().prop_map(Tree::Bool),
        3 => number().prop_map(Tree::Number),
        3 => text().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..6).prop_map(Tree::List),
            2 => btree_map(name(), inner, 0..8).prop_map(Tree::Object),
        ]
    })
}

fn object() -> impl Strategy<Value = BTreeMap<String, Tree>> {
    btree_map(name(), tree(), 0..8)
}

/// Writer that renders a tree in one of the many ways that JSON allows, chosen by its seed.
struct Scrambler(u64);

impl Scrambler {
    /// SplitMix64.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap()
    }

    fn space(&mut self, out: &mut String) {
        for _ in 0..[0, 0, 0, 1, 2][self.below(5)] {
            out.push([' ', '\n', '\t', '\r'][self.below(4)]);
        }
    }

    fn value(&mut self, tree: &Tree, out: &mut String) {
        self.space(out);
        match tree {
            Tree::Null => out.push_str("null"),
            Tree::Bool(truth) => write!(out, "{truth}").unwrap(),
            Tree::Number(number) => out.push_str(&self.number(*number)),
            Tree::Text(text) => self.string(text, out),
            Tree::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    self.value(item, out);
                }
                self.space(out);
                out.push(']');
            }
            Tree::Object(members) => {
                let mut order: Vec<_> = members.iter().collect();
                for at in (1..order.len()).rev() {
                    order.swap(at, self.below(at + 1));
                }
                out.push('{');
                for (at, (name, value)) in order.into_iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    self.space(out);
                    self.string(name, out);
                    self.space(out);
                    out.push(':');
                    self.value(value, out);
                }
                self.space(out);
                out.push('}');
            }
        }
        self.space(out);
    }

    fn string(&mut self, text: &str, out: &mut String) {
        out.push('"');
        for character in text.chars() {
            let short = match character {
                '\u{8}' => Some("\\b"),
                '\t' => Some("\\t"),
                '\n' => Some("\\n"),
                '\u{c}' => Some("\\f"),
                '\r' => Some("\\r"),
                '"' => Some("\\\""),
                '\\' => Some("\\\\"),
                '/' => Some("\\/"),
                _ => None,
            };
            let needed = character < ' ' || character == '"' || character == '\\';
            match (self.below(4), short) {
                (0 | 1, _) if !needed => out.push(character),
                (0..3, Some(short)) => out.push_str(short),
                _ => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        match self.below(2) {
                            0 => write!(out, "\\u{unit:04x}").unwrap(),
                            _ => write!(out, "\\u{unit:04X}").unwrap(),
                        }
                    }
                }
            }
        }
        out.push('"');
    }

    fn number(&mut self, number: f64) -> String {
        // Without an exponent, however long; the point keeps it from being read as an integer.
        let plain = |zeros: &str| match format!("{number}") {
            text if text.contains('.') => format!("{text}{zeros}"),
            text => format!("{text}.0{zeros}"),
        };
        let exact = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
        match self.below(9) {
            0 => plain(""),
            1 => plain("000000000000000000000000000"),
            2 => format!("{number:e}"),
            3 => format!("{number:E}").replace('E', "E+").replace("E+-", "E-0"),
            4 => format!("{number:.16e}"),
            5 => format!("{number:.17e}").replace('e', "000e"),
            6 => format!("{number:.45e}"),
            7 => format!("{number:e}").replace("e-", "e-00"),
            _ if exact => format!("{number:.0}"),
            _ => format!("{number:.16E}"),
        }
    }
}

fn scrambled(tree: &Tree, seed: u64) -> String {
    let mut out = String::new();
    Scrambler(seed).value(tree, &mut out);
    out
}

fn renderings(tree: &Tree, seed: u64) -> [String; 4] {
    let serde = tree.to_serde();
    [
        serde.to_string(),
        serde_json::to_string_pretty(&serde).unwrap(),
        scrambled(tree, seed),
        scrambled(tree, !seed),
    ]
}

/// Asserts that a value and serde_json's value of the same text agree.
fn assert_same_value(ours: Value<'_>, theirs: &serde_json::Value) {
    use serde_json::Value as Serde;
    let kind = match theirs {
        Serde::Null => ValueKind::Null,
        Serde::Bool(true) => ValueKind::True,
        Serde::Bool(false) => ValueKind::False,
        Serde::Number(_) => ValueKind::Number,
        Serde::String(_) => ValueKind::String,
        Serde::Array(_) => ValueKind::Array,
        Serde::Object(_) => ValueKind::Object,
    };
    assert_eq!(ours.kind(), kind);
    assert_eq!(ours.is_null(), theirs.is_null());
    assert_eq!(ours.boolean(), theirs.as_bool());
    assert_eq!(ours.string().as_deref(), theirs.as_str());
    assert_eq!(ours.double().map(f64::to_bits), theirs.as_f64().map(f64::to_bits));
    let whole = theirs.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(n));
    assert_eq!(ours.unsigned_integer().map(|whole| whole as f64), whole.map(f64::abs));
    assert_eq!(ours.number_text(), theirs.as_f64().map(|n| serde_json_canonicalizer::to_string(&n).unwrap()));
    if let Some(text) = theirs.as_str() {
        assert!(ours.is_string(text));
        assert!(!ours.is_string(&format!("{text}x")));
        let mut shorter = text.to_owned();
        assert!(shorter.pop().is_none() || !ours.is_string(&shorter));
        let quoted = std::str::from_utf8(ours.text()).unwrap();
        assert_eq!(ours.is_string(&quoted[1..quoted.len() - 1]), !quoted.contains('\\'));
    } else {
        assert!(!ours.is_string(""));
        assert!(!ours.is_string(std::str::from_utf8(ours.text()).unwrap()));
    }
    let elements = theirs.as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(ours.elements().count(), elements.len());
    for (ours, theirs) in ours.elements().zip(elements) {
        assert_same_value(ours, theirs);
    }
    assert_eq!(ours.members().count(), theirs.as_object().map_or(0, serde_json::Map::len));
    for (name, value) in ours.members() {
        let name = name.string().unwrap();
        assert_same_value(value, &theirs[name.as_ref()]);
        assert_eq!(ours.member(&name).map(|member| member.text()), Some(value.text()));
    }
    assert!(ours.member("no such name").is_none());
}

/// Sink that keeps each piece apart.
#[derive(Default)]
struct ChunkSink(Vec<Vec<u8>>);

impl ByteSink for ChunkSink {
    fn put(&mut self, bytes: &[u8]) {
        self.0.push(bytes.to_vec());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_rendering_has_the_canonical_form_that_others_give_it(tree in tree(), seed in any::<u64>()) {
        let expected = serde_json_canonicalizer::to_string(&tree.to_serde()).unwrap();
        prop_assert_eq!(&serde_jcs::to_string(&tree.to_serde()).unwrap(), &expected);
        for text in renderings(&tree, seed) {
            prop_assert_eq!(canonical_of(&text).unwrap(), expected.clone(), "{}", text);
        }
    }

    #[test]
    fn canonical_text_is_its_own_canonical_form(tree in tree(), seed in any::<u64>()) {
        let canonical = canonical_of(&scrambled(&tree, seed)).unwrap();
        let value = parse(&canonical);
        prop_assert!(value.is_canonical(), "{}", canonical);
        let mut pieces = ChunkSink::default();
        canonical::write(value, Jcs, &mut pieces).unwrap();
        prop_assert_eq!(pieces.0, vec![canonical.into_bytes()], "it goes through as it lies");
    }

    #[test]
    fn canonical_is_said_of_canonical_text_only(tree in tree(), seed in any::<u64>()) {
        for text in renderings(&tree, seed) {
            let value = parse(&text);
            let canonical = canonical::to_vec(value, Jcs).unwrap();
            prop_assert_eq!(value.is_canonical(), value.text() == canonical, "{}", text);
            let mut scanner = Scanner::new(text.as_bytes(), &Limits::default()).unwrap();
            scanner.value().unwrap();
            scanner.finish().unwrap();
            prop_assert_eq!(scanner.is_canonical(), text.as_bytes() == canonical, "{}", text);
        }
    }

    #[test]
    fn members_left_out_are_as_if_they_had_never_been(
        members in object(),
        omitted in vec(name(), 0..3),
        chosen in any::<u64>(),
        seed in any::<u64>(),
    ) {
        let present = members.keys().enumerate().filter(|(at, _)| chosen >> (at % 64) & 1 == 1);
        let mut names: Vec<&str> = present.map(|(_, name)| name.as_str()).collect();
        names.extend(omitted.iter().map(String::as_str));
        let mut rest = members.clone();
        rest.retain(|name, _| !names.contains(&name.as_str()));
        let expected = serde_json_canonicalizer::to_string(&Tree::Object(rest).to_serde()).unwrap();
        let tree = Tree::Object(members.clone());
        let canonical = canonical_of(&scrambled(&tree, seed)).unwrap();
        for text in renderings(&tree, seed).iter().chain([&canonical]) {
            let mut out = Vec::new();
            canonical::write_without(parse(text), &names, &mut out).unwrap();
            prop_assert_eq!(&String::from_utf8(out).unwrap(), &expected, "{} without {:?}", text, names);
        }
    }

    #[test]
    fn the_digest_is_that_of_the_canonical_bytes(trees in vec(tree(), 1..4), seed in any::<u64>()) {
        // One hasher for all: it must carry nothing over.
        let mut hasher = Hasher::new();
        for tree in &trees {
            let expected = serde_json_canonicalizer::to_vec(&tree.to_serde()).unwrap();
            for text in renderings(tree, seed) {
                let digest = canonical::digest(parse(&text), Jcs, &mut hasher).unwrap();
                prop_assert_eq!(digest, Digest::of(&expected));
            }
        }
    }

    #[test]
    fn values_say_what_serde_json_says(tree in tree(), seed in any::<u64>()) {
        for text in renderings(&tree, seed) {
            assert_same_value(parse(&text), &serde_json::from_str(&text).unwrap());
        }
    }

    #[test]
    fn members_come_in_the_order_of_the_text(members in object(), seed in any::<u64>()) {
        let text = scrambled(&Tree::Object(members), seed);
        let offsets: Vec<_> = parse(&text).members().map(|(name, _)| name.text().as_ptr()).collect();
        prop_assert!(offsets.is_sorted());
    }

    #[test]
    fn integers_keep_their_digits_or_are_refused(literal in "-?[1-9][0-9]{14,24}") {
        let double: f64 = literal.parse().unwrap();
        let printed = serde_json_canonicalizer::to_string(&double).unwrap();
        let fault = CanonicalFault::Number { path: "$".into(), literal: literal.clone(), fault: NumberFault::Inexact };
        let expected = if printed == literal { Ok(printed) } else { Err(fault) };
        prop_assert_eq!(canonical_of(&literal), expected);
    }

    #[test]
    fn sixty_four_bit_integers_keep_their_digits_or_are_refused(integer in any::<i64>(), shift in 0..64_u32) {
        let literal = (integer >> shift).to_string();
        let printed = serde_json_canonicalizer::to_string(&literal.parse::<f64>().unwrap()).unwrap();
        let fault = CanonicalFault::Number { path: "$".into(), literal: literal.clone(), fault: NumberFault::Inexact };
        let expected = if printed == literal { Ok(printed) } else { Err(fault) };
        prop_assert_eq!(canonical_of(&literal), expected);
    }
}
