//! The pack as text: what its digest is taken of.

use crate::header;
use crate::value::{PROTOCOL_IDS, STAND_INS, STAND_INS_ANYWHERE};
use crate::{Pack, assignment, name, pem, rules, url};
use core::fmt::Write;

/// One line for each shape, then one for each list of words.
pub(crate) fn of(pack: &Pack) -> String {
    let mut text = format!("{}\n", pack.name());
    let mut line = |name: &str, said: &dyn core::fmt::Display| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}: {said}");
    };
    for rule in rules::all() {
        for shape in rule.shapes {
            line(rule.name, shape);
        }
    }
    line(url::RULE, &format!("{:?} user \":\" secret \"@\"; not {}", url::STARTS, url::SHOWN.join(" ")));
    line(pem::RULE, &format!("{:?} … \"PRIVATE KEY\" … to its end", pem::START));
    line(&assignment::RULES.join(", "), &"a name that ends so, a sign, a plausible value");
    for (list, words) in [
        ("names", &name::WORDS[..]),
        ("names of keys", &name::KEYS),
        ("tokens of text", &name::TOKENS_OF_TEXT),
        ("ends of names", &name::TAILS),
        ("told of", &assignment::QUALIFIERS),
        ("stand-ins", STAND_INS),
        ("stand-ins anywhere", STAND_INS_ANYWHERE),
        ("protocol ids", PROTOCOL_IDS),
        ("parameters", &name::PARAMETERS),
        ("headers and parameters", &header::RULES),
        ("headers with credentials", &header::CREDENTIALS),
        ("headers of accounts", &header::ACCOUNTS),
        ("headers without secrets", &header::HARMLESS),
        ("headers of requests", &header::REQUEST),
        ("headers of answers", &header::ANSWER),
        ("headers that speak of secrets", &header::SPEAKING),
    ] {
        line(list, &words.join(" "));
    }
    for rule in pack.custom() {
        line("custom", rule);
    }
    text
}
