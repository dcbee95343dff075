//! The published text of a pack, of which records state the digest.

use crate::header;
use crate::value::{PLACEHOLDER_PREFIXES, PLACEHOLDER_WORDS, PROTOCOL_ID_PREFIXES};
use crate::{RulePack, assignment, command_line, cookie, name, pem, rules, url};
use core::fmt::Write;

/// Returns one line for each shape, then one for each list of words, then one for each custom rule.
///
/// The result for the standard rules is pinned by `tests/reenact-1.txt`.
pub(crate) fn rules_text(pack: &RulePack) -> String {
    let mut text = format!("{}\n", pack.name());
    let mut line = |name: &str, value: &dyn core::fmt::Display| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}: {value}");
    };
    for rule in rules::all() {
        for shape in rule.shapes {
            line(rule.name, shape);
        }
    }
    line(
        url::RULE,
        &format!(
            "{:?} user \":\" secret \"@\"; not {}",
            url::AUTHORITY_STARTS,
            url::PLACEHOLDER_PASSWORDS.join(" ")
        ),
    );
    line(pem::RULE, &format!("{:?} … \"PRIVATE KEY\" … to its end", pem::START));
    line(cookie::RULE, &"a list of cookies, a plausible value");
    line(&assignment::RULES.join(", "), &"a name that ends so, a sign, a plausible value");
    let programs: Vec<String> = command_line::PROGRAMS.iter().map(|program| program.usage()).collect();
    for (list, words) in [
        ("names", &name::NAME_ENDINGS[..]),
        ("names of keys", &name::KEY_QUALIFIERS),
        ("tokens of text", &name::HARMLESS_TOKEN_QUALIFIERS),
        ("names of no passwords", &name::HARMLESS_PASSES),
        ("options with credentials", &name::CREDENTIAL_OPTIONS),
        ("lists of cookies", &cookie::NAME_BEGINNINGS),
        ("ends of names", &name::NAME_SUFFIXES),
        ("told of", &assignment::QUALIFIERS),
        ("stand-ins", PLACEHOLDER_PREFIXES),
        ("stand-ins anywhere", PLACEHOLDER_WORDS),
        ("protocol ids", PROTOCOL_ID_PREFIXES),
        ("parameters", &name::SECRET_PARAMETERS),
        ("parameters that may be words", &name::WORD_PARAMETERS),
        ("headers and parameters", &header::RULES),
        ("headers with credentials", &header::CREDENTIAL_HEADERS),
        ("headers of accounts", &header::ACCOUNT_HEADERS),
        ("headers without secrets", &header::HARMLESS_HEADERS),
        ("headers of requests", &header::RECORDED_REQUEST_HEADERS),
        ("headers of answers", &header::RECORDED_ANSWER_HEADERS),
        ("headers that speak of secrets", &header::SECRET_WORDS),
    ] {
        line(list, &words.join(" "));
    }
    line("command lines", &programs.join(", "));
    for rule in pack.custom_rules() {
        line("custom", rule);
    }
    text
}
