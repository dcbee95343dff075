//! One object with millions of names in no order: the worst case of the search for duplicate names.

use std::hint::black_box;

use reenact_json::digest::Hasher;
use reenact_json::{Digest, Jcs, Limits, Value, canonical};

use super::corpus::Xorshift;
use super::fastest;

/// Number of members.
const MEMBERS: u32 = 4_000_000;

/// Largest time of one scan, as a multiple of hashing the same bytes.
const BUDGET: &str = "20";

/// Measures and prints the rows whose names `is_selected` accepts.
///
/// # Errors
/// If the generated text is not valid: a bug of this program.
pub(super) fn rows(is_selected: impl Fn(&str) -> bool) -> Result<(), String> {
    let name = "one object of 4 million shuffled names";
    if !is_selected(name) {
        return Ok(());
    }
    let text = shuffled_object();
    let value = Value::parse(text.as_bytes(), &Limits::default()).map_err(|error| error.to_string())?;
    let hash = || {
        black_box(Digest::of(black_box(text.as_bytes())));
    };
    let scan = || {
        black_box(Value::parse(black_box(text.as_bytes()), &Limits::default()).is_ok());
    };
    let digest = || {
        black_box(canonical::digest(black_box(value), Jcs, &mut Hasher::new()).is_ok());
    };
    println!("{:<40} {:>9} {:>9} {:>9} {:>7} {:>7}", "object", "size", "sha-256", "time", "ratio", "budget");
    let size = text.len() as f64 / f64::from(1 << 20);
    let row = |name: &str, (hash, time): (std::time::Duration, std::time::Duration)| {
        let ratio = time.as_secs_f64() / hash.as_secs_f64();
        let [hash, time] = [hash, time].map(|time| time.as_secs_f64() * 1e3);
        println!("{name:<40} {size:>6.2} MB {hash:>6.2} ms {time:>6.2} ms {ratio:>7.2} {BUDGET:>7}");
    };
    row(name, fastest(hash, scan));
    row("  its canonical form, hashed", fastest(hash, digest));
    Ok(())
}

/// Returns the text of the object.
fn shuffled_object() -> String {
    let mut random = Xorshift::new(17);
    let mut order: Vec<u32> = (0..MEMBERS).collect();
    for at in (1..order.len()).rev() {
        let other = random.next() % (at as u64 + 1);
        order.swap(at, usize::try_from(other).unwrap_or(0));
    }
    let members: Vec<String> = order.iter().map(|name| format!("\"k{name:08}\":{}", name % 10)).collect();
    format!("{{{}}}", members.join(","))
}
