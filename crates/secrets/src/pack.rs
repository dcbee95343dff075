//! The pack: all rules, and the one pass that finds what they name.

use crate::custom::{CUSTOM, CustomRule};
use crate::known::Known;
use crate::literals::{Literal, LiteralSet};
use crate::rule::Shape;
use crate::{assignment, escape, header, name, pem, placeholder, rules, text, url};
use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// A versioned set of named rules.
pub struct Pack {
    name: String,
    /// Rules of a project, added to the rules that we ship.
    custom: Vec<CustomRule>,
    /// Actions by the id of their literal.
    targets: Vec<Target>,
    literals: LiteralSet,
}

/// Something that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name.
    pub rule: Cow<'static, str>,
    /// Where the secret itself lies, without the words around it.
    pub span: Range<usize>,
}

/// What to do where a literal is found.
enum Target {
    Shape(&'static str, &'static Shape<'static>),
    /// The custom rule at this place.
    Custom(usize),
    Word(usize),
    Url(usize),
    Pem,
    Mark,
    Escape,
}

/// What one pass over a text found.
pub(crate) struct Pass {
    /// In order, not overlapping, clear of the marks.
    pub(crate) findings: Vec<Finding>,
    /// Marks that were there already, in order.
    pub(crate) marks: Vec<Range<usize>>,
    /// Whether something is spelled with escapes that could be part of a secret.
    pub(crate) is_hiding: bool,
}

static STANDARD: LazyLock<Arc<Pack>> = LazyLock::new(|| Arc::new(Pack::build(&[])));

/// The name of the rules that we ship.
const NAME: &str = "reenact-1";

impl Pack {
    /// The rules that we ship.
    pub fn standard() -> Arc<Pack> {
        Arc::clone(&STANDARD)
    }

    /// The pack of this name, as a record gives it.
    pub fn named(name: &str) -> Option<Arc<Pack>> {
        Some(Self::standard()).filter(|pack| pack.name() == name)
    }

    /// The rules that we ship and others beside them. None of ours can be taken away or changed by that.
    ///
    /// Builds an automaton of all rules: make a pack once and share it.
    pub fn with(custom: &[CustomRule]) -> Arc<Pack> {
        if custom.is_empty() { Self::standard() } else { Arc::new(Self::build(custom)) }
    }

    /// The pack's name, with its version; with other rules beside ours it ends in `+custom`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a record that names this pack was masked by other rules beside ours.
    pub fn is_custom(name: &str) -> bool {
        name.ends_with(CUSTOM)
    }

    /// The rules beside ours.
    pub fn custom(&self) -> &[CustomRule] {
        &self.custom
    }

    /// The names that marks of this pack may have.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let ours = rules::all().map(|rule| rule.name);
        let ours = ours.chain(assignment::RULES).chain(header::RULES).chain([url::RULE, pem::RULE]);
        ours.chain(self.custom.iter().map(CustomRule::name))
    }

    /// All rules as text. It changes when a rule does: callers record its digest.
    pub fn text(&self) -> String {
        text::of(self)
    }

    /// Everything that the rules find: in order, not overlapping.
    pub fn scan(&self, text: &[u8]) -> Vec<Finding> {
        self.pass(text, &[]).findings
    }

    fn build(custom: &[CustomRule]) -> Self {
        let mut targets = Vec::new();
        let mut literals: Vec<Literal<'_>> = Vec::new();
        let mut add = |target, text, any_case| {
            targets.push(target);
            literals.push(Literal { bytes: str::as_bytes(text), any_case });
        };
        for rule in rules::all() {
            for shape in rule.shapes {
                add(Target::Shape(rule.name, shape), shape.literal, false);
            }
        }
        for (place, rule) in custom.iter().enumerate() {
            add(Target::Custom(place), rule.prefix(), false);
        }
        for start in url::STARTS {
            add(Target::Url(start.len()), start, false);
        }
        for word in name::WORDS {
            add(Target::Word(word.len()), word, true);
        }
        add(Target::Pem, pem::START, false);
        add(Target::Mark, placeholder::OPEN, false);
        for start in ["\\u00", "\\/"] {
            add(Target::Escape, start, false);
        }
        let literals = LiteralSet::new(literals);
        let name = format!("{NAME}{}", if custom.is_empty() { "" } else { CUSTOM });
        Self { name, custom: custom.to_vec(), targets, literals }
    }

    /// Looks through a text once. Marks are those of this pack's rules and of the others given: a secret between
    /// brackets is not made a mark by that.
    pub(crate) fn pass(&self, text: &[u8], others: &[&str]) -> Pass {
        self.pass_with(text, others, |found| self.literals.search(text, found))
    }

    /// The same, with known values beside: those found, with their ids, in no order.
    pub(crate) fn pass_beside(&self, text: &[u8], known: &mut Known) -> (Pass, Vec<(usize, Finding)>) {
        let Some(literals) = known.beside(&self.literals) else { return (self.pass(text, &[]), Vec::new()) };
        let mut forms = Vec::new();
        let mut ours = Vec::new();
        literals.search(text, |id, start| match id.checked_sub(self.targets.len()) {
            None => ours.push((id, start)),
            Some(form) => forms.push((form, start)),
        });
        let pass = self.pass_with(text, &known.rules(), |found| {
            ours.into_iter().for_each(|(id, start)| found(id, start));
        });
        (pass, forms.into_iter().filter_map(|(form, start)| known.finding(form, start)).collect())
    }

    fn pass_with(
        &self,
        text: &[u8],
        others: &[&str],
        search: impl FnOnce(&mut dyn FnMut(usize, usize)),
    ) -> Pass {
        let is_rule =
            |name: &[u8]| self.names().chain(others.iter().copied()).any(|rule| rule.as_bytes() == name);
        let mut found: Vec<(usize, Finding)> = Vec::new();
        let mut marks: Vec<Range<usize>> = Vec::new();
        let mut is_hiding = false;
        search(&mut |id, start| {
            let finding = match self.targets.get(id) {
                Some(Target::Shape(rule, shape)) => shape.find(text, start).map(|span| (*rule, span)),
                Some(Target::Custom(place)) => {
                    if let Some(rule) = self.custom.get(*place)
                        && let Some(span) = rule.find(text, start)
                    {
                        found.push((id, Finding { rule: Cow::Owned(rule.name().to_owned()), span }));
                    }
                    None
                }
                Some(Target::Word(length)) => assignment::find(text, start..start + length),
                Some(Target::Url(length)) => url::find(text, start + length).map(|span| (url::RULE, span)),
                Some(Target::Pem) => pem::find(text, start).map(|span| (pem::RULE, span)),
                Some(Target::Mark) => {
                    let mark = placeholder::read(text, start).filter(|mark| is_rule(mark.rule));
                    marks.extend(mark.map(|mark| mark.span));
                    None
                }
                Some(Target::Escape) => {
                    is_hiding = is_hiding || escape::hides(text, start);
                    None
                }
                None => None,
            };
            if let Some((rule, span)) = finding {
                found.push((id, Finding { rule: Cow::Borrowed(rule), span }));
            }
        });
        marks.sort_unstable_by_key(|mark| mark.start);
        // The first of those that begin at the same place is the longest, or the one whose rule stands first.
        found.sort_by_key(|(id, finding)| (finding.span.start, usize::MAX - finding.span.end, *id));
        let findings = without(&marks, joined(found.into_iter().map(|(_, finding)| finding)));
        Pass { findings, marks, is_hiding }
    }
}

/// Of findings in order those that overlap none before them. Where one runs on beyond the one before, that
/// one grows: of two secrets that share bytes no part is left.
pub(crate) fn joined(findings: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    for finding in findings {
        match joined.last_mut() {
            Some(last) if finding.span.start < last.span.end => {
                last.span.end = last.span.end.max(finding.span.end);
            }
            _ => joined.push(finding),
        }
    }
    joined
}

/// The findings without the bytes that the holes cover; both in order and not overlapping.
pub(crate) fn without(holes: &[Range<usize>], findings: Vec<Finding>) -> Vec<Finding> {
    if holes.is_empty() {
        return findings;
    }
    let mut left = Vec::with_capacity(findings.len());
    let mut hole = 0;
    for Finding { rule, span } in findings {
        let mut from = span.start;
        while holes.get(hole).is_some_and(|hole| hole.end <= from) {
            hole += 1;
        }
        // A hole may reach into the next finding too: `hole` stays on the last one that was met.
        let mut at = hole;
        while let Some(hole) = holes.get(at).filter(|hole| hole.start < span.end) {
            if from < hole.start {
                left.push(Finding { rule: rule.clone(), span: from..hole.start });
            }
            from = from.max(hole.end);
            at += 1;
        }
        if from < span.end {
            left.push(Finding { rule, span: from..span.end });
        }
    }
    left
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pack").field("name", &self.name()).finish_non_exhaustive()
    }
}
