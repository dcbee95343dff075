//! Every made-up secret of the corpus is found by its rule, and nothing is found in texts without
//! secrets.

mod support;

use reenact_secrets::{RulePack, SecretFinding};
use std::collections::BTreeSet;
use support::{corpus, made, true_cases};

/// Number of times that each template with a secret is filled.
const TRUE_TIMES: u64 = support::SEEDS;
const FALSE_TIMES: u64 = 25;

#[test]
fn what_is_secret_is_found() {
    let pack = RulePack::standard();
    let mut misses = BTreeSet::new();
    let mut tried = 0;
    for (rule, template) in true_cases() {
        for seed in 0..TRUE_TIMES {
            let made = made(&template, seed);
            let found = pack.scan(made.text.as_bytes());
            tried += made.spans.len();
            let expected = made.spans.iter().map(|span| (rule.as_str(), span.clone()));
            if !found.iter().map(|finding| (&*finding.rule, finding.span.clone())).eq(expected) {
                misses.insert(format!("{rule} | {template}\n  {}\n  {found:?}", made.text));
                break;
            }
        }
    }
    println!("{tried} secrets, {} templates missed", misses.len());
    assert!(misses.is_empty(), "{}", misses.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_is_not_secret_is_not_found() {
    let pack = RulePack::standard();
    let mut alarms = BTreeSet::new();
    let mut bytes = 0;
    for (name, template) in corpus("false") {
        for seed in 0..FALSE_TIMES {
            let text = made(&template, seed).text;
            bytes += text.len();
            for SecretFinding { rule, span } in pack.scan(text.as_bytes()) {
                let from = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
                alarms.insert(format!("{name}: {rule}: {} in {:.200}", &text[span], &text[from..]));
            }
        }
    }
    println!("{bytes} bytes, {} false alarms", alarms.len());
    assert!(alarms.is_empty(), "{}", alarms.into_iter().collect::<Vec<_>>().join("\n"));
}

/// A rule without a case would be untested.
#[test]
fn every_rule_has_a_case() {
    let text = RulePack::standard().rules_text();
    let mut rules: BTreeSet<&str> = BTreeSet::new();
    for line in text.lines().skip(1) {
        match line.split_once(": ") {
            Some(("names", _)) => break,
            Some((names, _)) => rules.extend(names.split(", ")),
            None => panic!("{line}"),
        }
    }
    let cases = true_cases();
    let covered: BTreeSet<&str> = cases.iter().map(|(rule, _)| rule.as_str()).collect();
    assert_eq!(covered, rules);
}
