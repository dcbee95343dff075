//! Canonical text of doubles, compared with `JSON.stringify` of Node, whose output RFC 8785 prescribes.
//!
//! Needs `node` on the PATH; prints a note and passes where there is none.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{ErrorKind, Read, Write};
use std::process::{Command, Stdio};

use reenact_json::{CanonicalFault, Jcs, Limits, NumberFault, Value, canonical};

/// Script for Node. Each line of its input is `b` and the bits of a double in hexadecimal, or `t` and a JSON number.
const SCRIPT: &str = r#"
const lines = require("fs").readFileSync(0, "latin1").split("\n").filter(line => line);
const bytes = new DataView(new ArrayBuffer(8));
process.stdout.write(lines.map(line => {
    if (line[0] === "t") return JSON.stringify(JSON.parse(line.slice(1)));
    bytes.setBigUint64(0, BigInt("0x" + line.slice(1)));
    return JSON.stringify(bytes.getFloat64(0));
}).join("\n"));
"#;

/// Returns the output of Node, line by line; `None` without Node.
fn node(lines: &[String]) -> Option<Vec<String>> {
    let mut child = match Command::new("node")
        .args(["-e", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => panic!("node: {error}"),
    };
    // Node reads all of its input before it writes, so this cannot block on a full pipe.
    child.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    Some(text.lines().map(str::to_owned).collect())
}

/// SplitMix64 generator with a fixed seed: the same doubles each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Returns the bits of a double, and of the two just below and above it.
fn neighbours(double: f64) -> impl Iterator<Item = u64> {
    let bits = double.to_bits();
    (bits.saturating_sub(2)..=bits.saturating_add(2)).filter(|bits| f64::from_bits(*bits).is_finite())
}

fn doubles() -> Vec<u64> {
    let mut random = Random(1);
    let mut bits: Vec<u64> = (0..8_000).map(|_| random.next()).collect();
    for exponent in -1_074..=1_023 {
        bits.extend(neighbours(2_f64.powi(exponent)));
    }
    for exponent in -324..=308 {
        bits.extend(neighbours(format!("1e{exponent}").parse().unwrap()));
    }
    for exponent in [-7, -6, -5, 20, 21, 22] {
        for digit in 1..=9 {
            bits.extend(neighbours(format!("{digit}e{exponent}").parse().unwrap()));
        }
    }
    // Denormals.
    bits.extend(0..200);
    bits.extend((0..500).map(|_| random.next() >> 12));
    bits.extend((0..500).map(|_| random.next() >> 12 >> (random.next() % 52)));
    // Integers around 2⁵³, and the largest double.
    bits.extend((-300_i32..300).map(|near| (9_007_199_254_740_992.0 + f64::from(near)).to_bits()));
    bits.extend(neighbours(f64::MAX));
    let negative: Vec<u64> = bits.iter().step_by(7).map(|bits| bits ^ 1 << 63).collect();
    bits.extend(negative);
    bits.retain(|bits| f64::from_bits(*bits).is_finite());
    bits
}

/// Returns decimals of 1 to 17 digits (and some longer), as people and programs write them.
fn decimals() -> Vec<String> {
    let mut random = Random(2);
    let mut texts = Vec::new();
    for count in 0..6_000_usize {
        let mut digits = random.next().to_string();
        if count % 10 == 0 {
            digits += &random.next().to_string();
        } else {
            digits.truncate(1 + count % 17);
        }
        let sign = if count % 3 == 0 { "-" } else { "" };
        texts.push(match count % 5 {
            0 => format!("{sign}0.{digits}"),
            1 => format!("{sign}0.{}{digits}", "0".repeat(count / 5 % 12)),
            2 => format!("{sign}{}.{digits}", random.next() >> (random.next() % 60 + 4)),
            3 => format!("{sign}{}.{digits}e{}", random.next() % 10, random.next().cast_signed() % 300),
            _ => format!("{sign}{}", digits.trim_start_matches('0')),
        });
    }
    texts.retain(|text| !matches!(text.as_str(), "" | "-"));
    texts
}

fn canonical_of(text: &str) -> Result<String, CanonicalFault> {
    let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
    canonical::to_vec(value, Jcs).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn doubles_are_printed_as_node_prints_them() {
    let (doubles, decimals) = (doubles(), decimals());
    assert!(doubles.len() + decimals.len() > 20_000);
    let mut lines: Vec<String> = doubles.iter().map(|bits| format!("b{bits:016x}")).collect();
    lines.extend(decimals.iter().map(|text| format!("t{text}")));
    let Some(printed) = node(&lines) else {
        println!("skipped: node is not installed");
        return;
    };
    assert_eq!(printed.len(), lines.len());
    let (of_doubles, of_decimals) = printed.split_at(doubles.len());
    for (bits, expected) in doubles.iter().zip(of_doubles) {
        // Seventeen digits tell every double from every other.
        let text = format!("{:.16e}", f64::from_bits(*bits));
        assert_eq!(canonical_of(&text).as_ref(), Ok(expected), "{bits:016x}");
        let value = Value::parse(expected.as_bytes(), &Limits::default()).unwrap();
        assert!(value.is_canonical(), "{expected}");
    }
    for (text, expected) in decimals.iter().zip(of_decimals) {
        let integer = !text.contains(['.', 'e']);
        let expected = if integer && expected != text {
            Err(CanonicalFault::Number {
                path: "$".into(),
                literal: text.clone(),
                fault: NumberFault::Inexact,
            })
        } else {
            Ok(expected.clone())
        };
        assert_eq!(canonical_of(text), expected, "{text}");
        let value = Value::parse(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(value.is_canonical(), expected.as_ref() == Ok(text), "{text}");
    }
}
