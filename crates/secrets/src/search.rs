//! Everything in a text that must be masked, in whatever way it is written there.

use crate::escape::DEEPEST;
use crate::known::Known;
use crate::pack::{joined, without};
use crate::reading::{self, Reading};
use crate::stream::{self, Parting};
use crate::{Finding, Pack};
use core::ops::Range;
use std::borrow::Cow;
use std::collections::HashMap;

/// A secret, and every place that holds a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secret {
    pub(crate) rule: Cow<'static, str>,
    /// In order, apart from each other and from all others' places.
    pub(crate) places: Vec<Range<usize>>,
    /// Which known value it is, if it is exactly one.
    pub(crate) known: Option<usize>,
}

/// How often a text is looked through again because of marks that were set: each may free what stood next to
/// a secret. More than three times was never needed.
const PASSES: usize = 16;

/// Everything to be masked, none of it overlapping.
pub(crate) fn secrets(pack: &Pack, known: &mut Known, text: &[u8], forced: Vec<Finding>) -> Vec<Secret> {
    let is_stream = stream::is_stream(text);
    let mut look = Look { pack, known: Some(known) };
    let (first, marks) = look.at(text, forced, is_stream);
    if first.is_empty() {
        return first;
    }
    // What stood next to a secret may be found when a mark stands there. The marks are not longer or
    // shorter than the secrets here, so that all places stay what they are.
    let mut look = Look { pack, known: None };
    let mut secrets = merged(first);
    let mut marked = text.to_vec();
    blank(&mut marked, marks.iter());
    blank(&mut marked, secrets.iter().flat_map(|secret| &secret.places));
    for _ in 0..PASSES {
        let mut taken: Vec<Range<usize>> = marks.clone();
        taken.extend(secrets.iter().flat_map(|secret| secret.places.iter().cloned()));
        taken.sort_unstable_by_key(|place| place.start);
        let (more, _) = look.at(&marked, Vec::new(), is_stream);
        let more = more.into_iter().map(|secret| secret.outside(&taken));
        let more: Vec<Secret> = more.filter(|secret| !secret.places.is_empty()).collect();
        if more.is_empty() {
            break;
        }
        blank(&mut marked, more.iter().flat_map(|secret| &secret.places));
        secrets.extend(more);
        secrets = merged(secrets);
    }
    secrets
}

impl Secret {
    /// Without what lies in these places, which are in order and apart.
    fn outside(mut self, taken: &[Range<usize>]) -> Self {
        let places = self.places.into_iter().map(|span| Finding { rule: self.rule.clone(), span });
        let left = without(taken, places.collect());
        self.places = left.into_iter().map(|finding| finding.span).collect();
        self
    }
}

/// What is looked for.
struct Look<'l> {
    pack: &'l Pack,
    /// Known values, the first time: a mark frees no more of them.
    known: Option<&'l mut Known>,
}

/// What was found in one reading of a text: in order, apart, and which of it is exactly a known value.
#[derive(Default)]
struct Seen {
    findings: Vec<Finding>,
    whole: HashMap<(usize, usize), usize>,
    marks: Vec<Range<usize>>,
}

impl Look<'_> {
    /// Looks at a text, and at what it tells if it is a stream. Gives also the marks that are there already.
    fn at(&mut self, text: &[u8], forced: Vec<Finding>, is_stream: bool) -> (Vec<Secret>, Vec<Range<usize>>) {
        let Seen { findings, whole, marks } = self.through(text, forced, DEEPEST);
        let mut secrets: Vec<Secret> = findings
            .into_iter()
            .map(|Finding { rule, span }| {
                // Where a backslash went too, the value begins behind it.
                let known =
                    whole.get(&(span.start, span.end)).or_else(|| whole.get(&(span.start + 1, span.end)));
                Secret { rule, known: known.copied(), places: vec![span] }
            })
            .collect();
        if is_stream {
            self.stream(text, &marks, &mut secrets);
        }
        (secrets, marks)
    }

    /// Looks at what a stream tells, in one reading of it after the other. What one finds the next does not see.
    fn stream(&mut self, text: &[u8], marks: &[Range<usize>], secrets: &mut Vec<Secret>) {
        let told = stream::told(text);
        let mut text = Cow::Borrowed(text);
        for parting in Parting::ALL {
            let before = secrets.len();
            told.readings(&text, parting, &mut |reading: &Reading| {
                let before = secrets.len();
                self.told(reading, marks, secrets);
                if parting != Parting::Name {
                    self.cut_off(&text, reading, secrets);
                }
                secrets.len() > before
            });
            let found = secrets.get(before..).unwrap_or_default();
            if !found.is_empty() {
                blank(text.to_mut(), found.iter().flat_map(|secret| &secret.places));
            }
        }
    }

    /// Looks at what the pieces of a stream tell together. What was a mark in one of them stays one.
    fn told(&mut self, reading: &Reading, marks: &[Range<usize>], secrets: &mut Vec<Secret>) {
        let seen = self.through(&reading.text, Vec::new(), DEEPEST);
        for Finding { rule, span } in seen.findings {
            let known = seen.whole.get(&(span.start, span.end)).copied();
            let secret = Secret { rule, known, places: reading.places(&span) };
            // Strings lie in order only where the stream is read in order.
            debug_assert!(secret.places.is_sorted_by_key(|place| place.start));
            let secret = secret.outside(marks);
            if !secret.places.is_empty() {
                secrets.push(secret);
            }
        }
    }

    /// Looks whether the stream breaks off in the middle of a known value.
    fn cut_off(&self, text: &[u8], reading: &Reading, secrets: &mut Vec<Secret>) {
        let found = self.known.as_ref().and_then(|known| known.cut_off(&reading.text));
        let Some((id, finding)) = found else { return };
        let places = reading.places(&finding.span);
        if places.last().is_some_and(|last| stream::is_last(text, last.end)) {
            secrets.push(Secret { rule: finding.rule, known: Some(id), places });
        }
    }

    /// Looks through a text as it is, and as it reads with its escapes resolved.
    fn through(&mut self, text: &[u8], forced: Vec<Finding>, deep: usize) -> Seen {
        let (pass, mut known) = match &mut self.known {
            Some(known) => self.pack.pass_beside(text, known),
            None => (self.pack.pass(text, &[]), Vec::new()),
        };
        let is_percent = self.known.as_ref().is_some_and(|known| known.is_changed_by_urls())
            && deep == DEEPEST
            && has_percent(text);
        if pass.findings.is_empty() && known.is_empty() && forced.is_empty() && !pass.is_hiding && !is_percent
        {
            return Seen { marks: pass.marks, ..Seen::default() };
        }
        if is_percent && let Some(all) = &mut self.known {
            let reading = reading::from_url(text);
            let (_, found) = self.pack.pass_beside(&reading.text, all);
            known
                .extend(found.into_iter().filter_map(|(id, finding)| Some((id, placed(&reading, finding)?))));
        }
        let mut whole: HashMap<_, _> =
            known.iter().map(|(id, finding)| ((finding.span.start, finding.span.end), *id)).collect();
        // Of findings in the same place what is known comes first.
        let mut all: Vec<Finding> = known.into_iter().map(|(_, finding)| finding).collect();
        all.extend(forced);
        all.extend(pass.findings);
        if pass.is_hiding
            && let Some(deeper) = deep.checked_sub(1)
            && let Some(reading) = reading::unescaped(text)
        {
            let seen = self.through(&reading.text, Vec::new(), deeper);
            for finding in seen.findings {
                let known = seen.whole.get(&(finding.span.start, finding.span.end)).copied();
                let Some(finding) = placed(&reading, finding) else { continue };
                whole.extend(known.map(|id| ((finding.span.start, finding.span.end), id)));
                all.push(finding);
            }
        }
        let mut findings = without(&pass.marks, in_order(all));
        extend_over_escapes(text, &mut findings);
        Seen { findings, whole, marks: pass.marks }
    }
}

/// A finding of a reading that leaves nothing out, where it lies in the source.
fn placed(reading: &Reading, finding: Finding) -> Option<Finding> {
    let places = reading.places(&finding.span);
    let span = places.first()?.start..places.last()?.end;
    Some(Finding { span, ..finding })
}

fn has_percent(text: &[u8]) -> bool {
    memchr::memchr_iter(b'%', text).any(|at| text.get(at + 1).is_some_and(u8::is_ascii_hexdigit))
}

/// In order, and not overlapping.
fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| (finding.span.start, usize::MAX - finding.span.end));
    joined(findings)
}

/// Overwrites what is masked with what no rule sees: brackets, as a mark has them.
fn blank<'s>(text: &mut [u8], spans: impl Iterator<Item = &'s Range<usize>>) {
    for span in spans {
        if let Some(there) = text.get_mut(span.clone()) {
            there.fill(b'[');
        }
    }
}

/// A known value may begin in the middle of an escape, as `nose` does in `\nose`, or end with the backslash of one. The other half
/// would be left alone beside the mark, and the JSON would be broken: it goes too.
fn extend_over_escapes(text: &[u8], secrets: &mut [Finding]) {
    let mut end = 0;
    let starts: Vec<usize> =
        secrets.iter().skip(1).map(|secret| secret.span.start).chain([text.len()]).collect();
    for (secret, next) in secrets.iter_mut().zip(starts) {
        let slashes = |from: usize, to: usize| {
            text.get(from..to).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'\\').count()
        };
        if slashes(end, secret.span.start) % 2 == 1 {
            secret.span.start -= 1;
        }
        if slashes(secret.span.start, secret.span.end) % 2 == 1 && secret.span.end < next {
            secret.span.end += 1;
        }
        end = secret.span.end;
    }
}

/// Makes one of all that share bytes: of two secrets that overlap no part is left. The one that begins first names them, of
/// those the longest, of those the known one.
fn merged(mut secrets: Vec<Secret>) -> Vec<Secret> {
    let is_apart = |secrets: &[Secret]| {
        secrets.windows(2).all(|pair| match pair {
            [one, two] => {
                one.places.last().map(|place| place.end) <= two.places.first().map(|place| place.start)
            }
            _ => true,
        })
    };
    let begin = |secret: &Secret| secret.places.first().map_or(0, |place| place.start);
    let length = |secret: &Secret| secret.places.iter().map(Range::len).sum::<usize>();
    secrets.sort_by_cached_key(|secret| {
        (begin(secret), usize::MAX - length(secret), secret.known.is_none(), secret.rule.clone())
    });
    if is_apart(&secrets) {
        return secrets;
    }
    let mut places: Vec<(Range<usize>, usize)> = Vec::new();
    for (id, secret) in secrets.iter().enumerate() {
        places.extend(secret.places.iter().map(|place| (place.clone(), id)));
    }
    places.sort_by_key(|(place, id)| (place.start, *id));
    // Which secret each belongs to: itself, or one that stands before it.
    let mut owner: Vec<usize> = (0..secrets.len()).collect();
    let mut apart: Vec<(Range<usize>, usize)> = Vec::new();
    for (place, id) in places {
        match apart.last_mut() {
            Some((last, before)) if place.start < last.end => {
                last.end = last.end.max(place.end);
                let (one, two) = (owned_by(&mut owner, *before), owned_by(&mut owner, id));
                owner[one.max(two)] = one.min(two);
            }
            _ => apart.push((place, id)),
        }
    }
    let mut all: Vec<Vec<Range<usize>>> = vec![Vec::new(); secrets.len()];
    for (place, id) in apart {
        all[owned_by(&mut owner, id)].push(place);
    }
    let kept = secrets.into_iter().zip(all).filter(|(_, places)| !places.is_empty());
    kept.map(|(secret, places)| {
        // What grew is no longer the value that is known.
        let known = secret.known.filter(|_| secret.places == places);
        Secret { rule: secret.rule, known, places }
    })
    .collect()
}

/// The first of those that belong together.
fn owned_by(owner: &mut [usize], id: usize) -> usize {
    let mut first = id;
    while owner[first] != first {
        owner[first] = owner[owner[first]];
        first = owner[first];
    }
    first
}
