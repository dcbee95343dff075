//! [`RulePack`]: all rules behind one automaton, so that one pass over a text applies them all.
//!
//! Every rule has a literal. The automaton stops at each occurrence of each literal, and the action
//! of that literal looks at the bytes around it. Start reading at [`RulePack::scan`].

use crate::custom::{CUSTOM_SUFFIX, CustomRule};
use crate::known_values::KnownValues;
use crate::literals::{Literal, LiteralSet};
use crate::rule::SecretShape;
use crate::{assignment, command_line, cookie, escape, header, mask_mark, name, pack_text, pem, rules, url};
use core::fmt;
use core::ops::Range;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// Versioned set of named rules.
///
/// A pack is immutable. The rules that we ship are [`RulePack::standard`];
/// [`RulePack::with_custom`] adds those of a project.
pub struct RulePack {
    /// Name with version, such as `reenact-1`.
    name: String,
    /// Rules of a project, added to the rules that we ship.
    custom_rules: Vec<CustomRule>,
    /// Actions, by the id of their literal.
    actions: Vec<LiteralAction>,
    /// Literals of all rules, each with its index in `actions` as its id.
    literals: LiteralSet,
}

/// Secret that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFinding {
    /// Name of the rule.
    pub rule: Cow<'static, str>,
    /// Byte span of the secret itself, without the words around it.
    pub span: Range<usize>,
}

/// Action at an occurrence of a literal.
enum LiteralAction {
    /// Matches a shape of the rule with this name.
    Shape(&'static str, &'static SecretShape<'static>),
    /// Matches the custom rule at this index.
    Custom(usize),
    /// Looks for an assignment around a word of this length, such as `token`.
    Word(usize),
    /// Looks for a password in the URL whose authority begins behind this many bytes.
    Url(usize),
    /// Looks for a private key in PEM.
    Pem,
    /// Looks for the values of cookies.
    Cookie,
    /// Reads the command line of the program at this index.
    Program(usize),
    /// Reads a mark.
    Mark,
    /// Notes an escape that may hide a byte of a secret.
    Escape,
}

/// Result of one pass over a text.
pub(crate) struct ScanPass {
    /// Findings in order, without overlap, outside of the marks.
    pub(crate) findings: Vec<SecretFinding>,
    /// Marks that are in the text already, in order.
    pub(crate) marks: Vec<Range<usize>>,
    /// True if an escape may hide a byte of a secret, so that the decoded text must be scanned too.
    pub(crate) has_hidden_bytes: bool,
}

static STANDARD: LazyLock<Arc<RulePack>> = LazyLock::new(|| Arc::new(RulePack::build(&[])));

/// Beginnings of the escapes that may hide a byte of a secret.
const ESCAPE_STARTS: [&str; 2] = ["\\u00", "\\/"];

/// Name of the rules that we ship, with their version.
const STANDARD_NAME: &str = "reenact-1";

impl RulePack {
    /// Returns the rules that we ship. They are built once and shared.
    pub fn standard() -> Arc<RulePack> {
        Arc::clone(&STANDARD)
    }

    /// Returns the pack of this name, as a record states it; `None` for names of other versions.
    pub fn named(name: &str) -> Option<Arc<RulePack>> {
        Some(Self::standard()).filter(|pack| pack.name() == name)
    }

    /// Returns the rules that we ship with custom rules beside them. No rule of ours is removed or
    /// changed by that.
    ///
    /// Builds an automaton over all rules: make a pack once and share it.
    pub fn with_custom(custom: &[CustomRule]) -> Arc<RulePack> {
        if custom.is_empty() { Self::standard() } else { Arc::new(Self::build(custom)) }
    }

    /// Returns the name of the pack with its version; it ends in `+custom` if there are custom
    /// rules.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if a record that names this pack was masked with custom rules, too.
    pub fn is_custom(name: &str) -> bool {
        name.ends_with(CUSTOM_SUFFIX)
    }

    /// Returns the custom rules.
    pub fn custom_rules(&self) -> &[CustomRule] {
        &self.custom_rules
    }

    /// Returns the rule names that marks of this pack may have.
    pub(crate) fn rule_names(&self) -> impl Iterator<Item = &str> {
        let ours = rules::all().map(|rule| rule.name);
        let ours = ours.chain(assignment::RULES).chain(header::RULES).chain([url::RULE, pem::RULE]);
        ours.chain(self.custom_rules.iter().map(CustomRule::name))
    }

    /// Returns all rules as text. Records state the digest of this text, which changes with every
    /// rule.
    pub fn rules_text(&self) -> String {
        pack_text::rules_text(self)
    }

    /// Returns everything that the rules find in a text, in order and without overlap.
    ///
    /// Known values and encoded text are the business of [`Redactor`](crate::Redactor); this is the
    /// scan of the plain bytes alone.
    pub fn scan(&self, text: &[u8]) -> Vec<SecretFinding> {
        self.scan_with_marks(text, &[]).findings
    }

    /// Builds the automaton over the literals of all rules.
    fn build(custom: &[CustomRule]) -> Self {
        let mut actions = Vec::new();
        let mut literals: Vec<Literal<'_>> = Vec::new();
        let mut add = |target, text, any_case| {
            actions.push(target);
            literals.push(Literal { bytes: str::as_bytes(text), any_case });
        };
        for rule in rules::all() {
            for shape in rule.shapes {
                add(LiteralAction::Shape(rule.name, shape), shape.literal, false);
            }
        }
        for (index, rule) in custom.iter().enumerate() {
            add(LiteralAction::Custom(index), rule.prefix(), false);
        }
        for start in url::AUTHORITY_STARTS {
            add(LiteralAction::Url(start.len()), start, false);
        }
        for word in name::NAME_ENDINGS {
            add(LiteralAction::Word(word.len()), word, true);
        }
        add(LiteralAction::Pem, pem::START, false);
        add(LiteralAction::Cookie, cookie::WORD, true);
        for (index, program) in command_line::PROGRAMS.iter().enumerate() {
            add(LiteralAction::Program(index), program.name, false);
        }
        add(LiteralAction::Mark, mask_mark::MARK_PREFIX, false);
        for start in ESCAPE_STARTS {
            add(LiteralAction::Escape, start, false);
        }
        let literals = LiteralSet::new(literals);
        let name = format!("{STANDARD_NAME}{}", if custom.is_empty() { "" } else { CUSTOM_SUFFIX });
        Self { name, custom_rules: custom.to_vec(), actions, literals }
    }

    /// Returns a pack without rules, for a search for known values alone. Escapes are decoded all the same.
    pub(crate) fn without_rules() -> Arc<RulePack> {
        let literals = ESCAPE_STARTS.map(|start| Literal { bytes: start.as_bytes(), any_case: false });
        let actions = ESCAPE_STARTS.map(|_| LiteralAction::Escape).into();
        let (name, custom_rules) = (String::new(), Vec::new());
        Arc::new(Self { name, custom_rules, actions, literals: LiteralSet::new(literals) })
    }

    /// Scans a text once. Marks are those of this pack's rules and of `other_rules`: a secret
    /// inside of brackets does not pass as a mark.
    pub(crate) fn scan_with_marks(&self, text: &[u8], other_rules: &[&str]) -> ScanPass {
        self.scan_literals(text, other_rules, |found| self.literals.search(text, found))
    }

    /// Scans a text once for the rules and for known values. The second result are the known values
    /// with their ids, in no order.
    pub(crate) fn scan_with_known(
        &self,
        text: &[u8],
        known: &mut KnownValues,
    ) -> (ScanPass, Vec<(usize, SecretFinding)>) {
        let Some(literals) = known.literals_with_pack(&self.literals) else {
            return (self.scan_with_marks(text, &[]), Vec::new());
        };
        let mut forms = Vec::new();
        let mut ours = Vec::new();
        literals.search(text, |id, start| match id.checked_sub(self.actions.len()) {
            None => ours.push((id, start)),
            Some(form) => forms.push((form, start)),
        });
        let pass = self.scan_literals(text, &known.rules(), |found| {
            ours.into_iter().for_each(|(id, start)| found(id, start));
        });
        (pass, forms.into_iter().filter_map(|(form, start)| known.finding_of_form(form, start)).collect())
    }

    /// Runs the actions at the literals that `search` reports, and sorts and merges what they find.
    fn scan_literals(
        &self,
        text: &[u8],
        other_rules: &[&str],
        search: impl FnOnce(&mut dyn FnMut(usize, usize)),
    ) -> ScanPass {
        let is_rule = |name: &[u8]| {
            self.rule_names().chain(other_rules.iter().copied()).any(|rule| rule.as_bytes() == name)
        };
        let mut found: Vec<(usize, SecretFinding)> = Vec::new();
        let mut marks: Vec<Range<usize>> = Vec::new();
        let mut is_hiding = false;
        search(&mut |id, start| {
            let finding = match self.actions.get(id) {
                Some(LiteralAction::Shape(rule, shape)) => {
                    shape.match_at(text, start).map(|span| (*rule, span))
                }
                Some(LiteralAction::Custom(index)) => {
                    if let Some(rule) = self.custom_rules.get(*index)
                        && let Some(span) = rule.match_at(text, start)
                    {
                        found.push((id, SecretFinding { rule: Cow::Owned(rule.name().to_owned()), span }));
                    }
                    None
                }
                Some(LiteralAction::Word(length)) => assignment::find(text, start..start + length),
                Some(LiteralAction::Url(length)) => {
                    url::find(text, start + length).map(|span| (url::RULE, span))
                }
                Some(LiteralAction::Pem) => pem::find(text, start).map(|span| (pem::RULE, span)),
                Some(LiteralAction::Cookie) => {
                    for span in cookie::find(text, start..start + cookie::WORD.len()) {
                        found.push((id, SecretFinding { rule: cookie::RULE.into(), span }));
                    }
                    None
                }
                Some(LiteralAction::Program(index)) => {
                    if let Some(program) = command_line::PROGRAMS.get(*index) {
                        for (rule, span) in command_line::find(text, start, program) {
                            found.push((id, SecretFinding { rule: rule.into(), span }));
                        }
                    }
                    None
                }
                Some(LiteralAction::Mark) => {
                    let mark = mask_mark::parse_mark(text, start).filter(|mark| is_rule(mark.rule));
                    marks.extend(mark.map(|mark| mark.span));
                    None
                }
                Some(LiteralAction::Escape) => {
                    is_hiding = is_hiding || escape::hides_secret_byte(text, start);
                    None
                }
                None => None,
            };
            if let Some((rule, span)) = finding {
                found.push((id, SecretFinding { rule: Cow::Borrowed(rule), span }));
            }
        });
        marks.sort_unstable_by_key(|mark| mark.start);
        // At the same start the longest finding comes first, then the one whose rule stands first.
        found.sort_by_key(|(id, finding)| (finding.span.start, usize::MAX - finding.span.end, *id));
        let findings = subtract_spans(&marks, merge_overlaps(found.into_iter().map(|(_, finding)| finding)));
        ScanPass { findings, marks, has_hidden_bytes: is_hiding }
    }
}

/// Merges findings that overlap; they must be in order. The first one grows over the second, so
/// that of two secrets that share bytes no part is left.
pub(crate) fn merge_overlaps(findings: impl IntoIterator<Item = SecretFinding>) -> Vec<SecretFinding> {
    let mut joined: Vec<SecretFinding> = Vec::new();
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

/// Removes the bytes of `holes` from findings; both must be in order and without overlap.
pub(crate) fn subtract_spans(holes: &[Range<usize>], findings: Vec<SecretFinding>) -> Vec<SecretFinding> {
    if holes.is_empty() {
        return findings;
    }
    let mut left = Vec::with_capacity(findings.len());
    let mut hole = 0;
    for SecretFinding { rule, span } in findings {
        let mut from = span.start;
        while holes.get(hole).is_some_and(|hole| hole.end <= from) {
            hole += 1;
        }
        // A hole may reach into the next finding, too: `hole` stays on the last one that was met.
        let mut at = hole;
        while let Some(hole) = holes.get(at).filter(|hole| hole.start < span.end) {
            if from < hole.start {
                left.push(SecretFinding { rule: rule.clone(), span: from..hole.start });
            }
            from = from.max(hole.end);
            at += 1;
        }
        if from < span.end {
            left.push(SecretFinding { rule, span: from..span.end });
        }
    }
    left
}

impl fmt::Debug for RulePack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulePack").field("name", &self.name()).finish_non_exhaustive()
    }
}
