//! The search for secrets: every encoding of a text is looked through, and overlapping findings are
//! merged.
//!
//! A text is scanned as it is, with its JSON escapes, its percent-encoding or its form decoded (up to
//! [`MAX_NESTING`] times, in any order) and, if it is a stream of events, with the strings of the
//! events joined; if it is a JSON document, with the strings at one path joined. Findings in a decoded text are mapped back to spans of the source. Start reading at [`find_secrets`].

use crate::entropy::is_random;
use crate::escape::MAX_NESTING;
use crate::known_values::KnownValues;
use crate::mapped_text::{self, MappedText};
use crate::pack::{merge_overlaps, subtract_spans};
use crate::stream::{self, StreamGrouping};
use crate::{RulePack, SecretFinding, pem};
use core::ops::Range;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Secret in a text, with every span that holds a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secret {
    /// Name of the rule that found it.
    pub(crate) rule: Cow<'static, str>,
    /// Spans in the source, in order; they overlap neither each other nor the spans of other
    /// secrets.
    pub(crate) spans: Vec<Range<usize>>,
    /// Id of the known value that this secret is exactly; `None` for other secrets.
    pub(crate) known_id: Option<usize>,
}

/// Largest number of repeated scans. Each mark may free text that stood next to a secret, so the
/// text is scanned again until nothing new is found; more than three scans were never needed.
const MAX_PASSES: usize = 16;

/// Layout of a text, which says what strings of it are joined for the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextLayout {
    /// Text of no known layout, or a part of a text: nothing is joined.
    Plain,
    /// Stream of server-sent events.
    Stream,
    /// JSON object or list.
    Document,
}

impl TextLayout {
    /// Returns the layout of a whole text.
    pub(crate) fn of(text: &[u8]) -> Self {
        if stream::is_stream(text) {
            Self::Stream
        } else if stream::is_document(text) {
            Self::Document
        } else {
            Self::Plain
        }
    }
}

/// Returns everything to be masked in a text, without overlap.
///
/// `forced` are findings of the caller, such as the value of an `Authorization` header.
pub(crate) fn find_secrets(
    pack: &RulePack,
    known: &mut KnownValues,
    text: &[u8],
    forced: Vec<SecretFinding>,
    layout: TextLayout,
) -> Vec<Secret> {
    let mut look = SecretSearch::new(pack, known);
    let (first, marks) = look.search_text(text, forced, layout);
    if first.is_empty() {
        return first;
    }
    // Text next to a secret may become a finding once a mark stands there. Masked bytes are
    // overwritten in place, so that all offsets stay valid.
    look.known = None;
    let mut secrets = merge_overlapping(first);
    let mut marked = text.to_vec();
    blank_out(&mut marked, marks.iter());
    blank_out(&mut marked, secrets.iter().flat_map(|secret| &secret.spans));
    for _ in 0..MAX_PASSES {
        let mut taken: Vec<Range<usize>> = marks.clone();
        taken.extend(secrets.iter().flat_map(|secret| secret.spans.iter().cloned()));
        taken.sort_unstable_by_key(|span| span.start);
        let (more, _) = look.search_text(&marked, Vec::new(), layout);
        let more = more.into_iter().map(|secret| secret.minus_spans(&taken));
        let more: Vec<Secret> = more.filter(|secret| !secret.spans.is_empty()).collect();
        if more.is_empty() {
            break;
        }
        blank_out(&mut marked, more.iter().flat_map(|secret| &secret.spans));
        secrets.extend(more);
        secrets = merge_overlapping(secrets);
    }
    secrets
}

impl Secret {
    /// Returns the secret without the bytes of `occupied`, whose spans are in order and do not
    /// overlap.
    fn minus_spans(mut self, occupied: &[Range<usize>]) -> Self {
        let spans = self.spans.into_iter().map(|span| SecretFinding { rule: self.rule.clone(), span });
        let left = subtract_spans(occupied, spans.collect());
        self.spans = left.into_iter().map(|finding| finding.span).collect();
        self
    }
}

impl Secret {
    /// Returns true if a secret was cut over parts of a document. A secret inside of one part was found there, and words
    /// that happen to follow each other are none.
    ///
    /// Where one part holds a secret by itself, `whole` has its span, and only what the other parts add decides: otherwise the
    /// letters of the secret would decide whether a word behind it is masked, and a replay with another value would not find
    /// its request.
    fn is_cut(&self, text: &[u8], whole: &[Range<usize>]) -> bool {
        if self.spans.len() < 2 {
            return false;
        }
        let is_whole = |span: &Range<usize>| {
            whole.iter().any(|whole| whole.start <= span.start && span.end <= whole.end)
        };
        let rest = self.spans.iter().filter(|span| !is_whole(span));
        let rest: Vec<&[u8]> = rest.filter_map(|span| text.get(span.clone())).collect();
        self.known_id.is_some() || self.rule == pem::RULE || is_random(&rest.concat())
    }
}

/// Rules and known values of one search.
struct SecretSearch<'l> {
    pack: &'l RulePack,
    /// Known values; `None` when the text is scanned again, because a mark frees no further ones.
    known: Option<&'l mut KnownValues>,
    /// Source offsets of the bytes that stand before a secret in the joined strings of a grouping that is done, such as
    /// the colon of `-u ada:`. In a coarser grouping such a byte announces nothing more: what follows there was sent in
    /// between.
    announcements: HashSet<usize>,
    /// Source offsets of the bytes that stand before the secrets of the current grouping.
    new_announcements: Vec<usize>,
}

/// Largest number of blanks and quotes between a secret and the byte that announces it.
const MAX_BYTES_BEFORE_VALUE: usize = 8;

/// Findings in one text: in order, without overlap.
#[derive(Default)]
struct TextFindings {
    /// Secrets of the text.
    findings: Vec<SecretFinding>,
    /// Ids of known values, by the start and end of the finding that is exactly that value.
    exact_known: HashMap<(usize, usize), usize>,
    /// Marks that are in the text already.
    marks: Vec<Range<usize>>,
}

impl<'l> SecretSearch<'l> {
    /// Creates a search that has found nothing yet.
    fn new(pack: &'l RulePack, known: &'l mut KnownValues) -> Self {
        Self { pack, known: Some(known), announcements: HashSet::new(), new_announcements: Vec::new() }
    }

    /// Searches a text and, by its layout, the joined strings of its events or parts. Also returns the
    /// marks that are in the text already.
    fn search_text(
        &mut self,
        text: &[u8],
        forced: Vec<SecretFinding>,
        layout: TextLayout,
    ) -> (Vec<Secret>, Vec<Range<usize>>) {
        let TextFindings { findings, exact_known: whole, marks } =
            self.search_unescaped(text, forced, MAX_NESTING);
        let mut secrets: Vec<Secret> = findings
            .into_iter()
            .map(|SecretFinding { rule, span }| {
                // `extend_over_escapes` may have moved the start back by one backslash; the known
                // value begins behind it.
                let known =
                    whole.get(&(span.start, span.end)).or_else(|| whole.get(&(span.start + 1, span.end)));
                Secret { rule, known_id: known.copied(), spans: vec![span] }
            })
            .collect();
        match layout {
            TextLayout::Stream => self.search_stream(text, &marks, &mut secrets),
            TextLayout::Document => self.search_parts(text, &marks, &mut secrets),
            TextLayout::Plain => {}
        }
        (secrets, marks)
    }

    /// Searches the joined parts of a document for secrets that are cut over them.
    ///
    /// A known value that one part holds whole ends a secret before it: otherwise the next part's first letters would
    /// decide by which rule the known value is masked, and a replay with another value would not find its request.
    fn search_parts(&mut self, text: &[u8], marks: &[Range<usize>], secrets: &mut Vec<Secret>) {
        let known = secrets.iter().filter(|secret| secret.known_id.is_some());
        let known: Vec<Range<usize>> = known.flat_map(|secret| secret.spans.iter().cloned()).collect();
        let mut text = Cow::Borrowed(text);
        if !known.is_empty() {
            blank_out(text.to_mut(), known.iter());
        }
        let whole: Vec<Range<usize>> =
            secrets.iter().flat_map(|secret| secret.spans.iter().cloned()).collect();
        stream::for_each_joined(&text, &mut |reading| {
            let mut found = Vec::new();
            self.search_joined(reading, marks, &mut found);
            secrets.extend(found.into_iter().filter(|secret| secret.is_cut(&text, &whole)));
        });
    }

    /// Searches the joined strings of a stream, one grouping after the other. Findings of one
    /// grouping are overwritten for the next.
    fn search_stream(&mut self, text: &[u8], marks: &[Range<usize>], secrets: &mut Vec<Secret>) {
        let texts = stream::collect_texts(text);
        let mut text = Cow::Borrowed(text);
        for grouping in StreamGrouping::ALL {
            let before = secrets.len();
            texts.for_each_text(&text, grouping, &mut |reading: &MappedText| {
                let before = secrets.len();
                self.search_joined(reading, marks, secrets);
                if grouping != StreamGrouping::Name {
                    self.search_truncated(&text, reading, secrets);
                }
                secrets.len() > before
            });
            let found = secrets.get(before..).unwrap_or_default();
            if !found.is_empty() {
                blank_out(text.to_mut(), found.iter().flat_map(|secret| &secret.spans));
            }
            self.announcements.extend(self.new_announcements.drain(..));
        }
    }

    /// Searches the joined strings of one group. Marks inside of a string stay.
    fn search_joined(&mut self, reading: &MappedText, marks: &[Range<usize>], secrets: &mut Vec<Secret>) {
        let seen = self.search_unescaped(&reading.text, Vec::new(), MAX_NESTING);
        // A mark stands for the value that was announced.
        for mark in &seen.marks {
            self.note_announcement(reading, mark.start);
        }
        for SecretFinding { rule, span } in seen.findings {
            let known = seen.exact_known.get(&(span.start, span.end)).copied();
            if known.is_none() && self.is_behind_announcement(reading, span.start) {
                continue;
            }
            self.note_announcement(reading, span.start);
            let secret = Secret { rule, known_id: known, spans: reading.source_spans(&span) };
            // A group lists its strings in stream order.
            debug_assert!(secret.spans.is_sorted_by_key(|span| span.start));
            let secret = secret.minus_spans(marks);
            if !secret.spans.is_empty() {
                secrets.push(secret);
            }
        }
    }

    /// Returns true if the byte before `start` stands before another secret in a finer grouping.
    fn is_behind_announcement(&self, reading: &MappedText, start: usize) -> bool {
        if self.announcements.is_empty() {
            return false;
        }
        let before = start.checked_sub(1).and_then(|at| reading.source_spans(&(at..start)).first().cloned());
        before.is_some_and(|before| self.announcements.contains(&before.start))
    }

    /// Remembers the byte that stands before a secret, and the blanks and quotes between them.
    fn note_announcement(&mut self, reading: &MappedText, start: usize) {
        for at in (0..start).rev().take(MAX_BYTES_BEFORE_VALUE + 1) {
            self.new_announcements.extend(reading.source_spans(&(at..at + 1)).first().map(|span| span.start));
            if !reading.text.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`')) {
                break;
            }
        }
    }

    /// Searches for a known value of which the stream ends in the middle.
    fn search_truncated(&self, text: &[u8], reading: &MappedText, secrets: &mut Vec<Secret>) {
        let found = self.known.as_ref().and_then(|known| known.truncated_at_end(&reading.text));
        let Some((id, finding)) = found else { return };
        let spans = reading.source_spans(&finding.span);
        if spans.last().is_some_and(|last| stream::is_in_last_event(text, last.end)) {
            secrets.push(Secret { rule: finding.rule, known_id: Some(id), spans });
        }
    }

    /// Searches a text as it is and, as often as `levels_left` allows, with its JSON escapes
    /// or its percent-encoding decoded.
    fn search_unescaped(
        &mut self,
        text: &[u8],
        forced: Vec<SecretFinding>,
        levels_left: usize,
    ) -> TextFindings {
        let (pass, known) = match &mut self.known {
            Some(known) => self.pack.scan_with_known(text, known),
            None => (self.pack.scan_with_marks(text, &[]), Vec::new()),
        };
        let is_percent = levels_left > 0 && has_percent(text);
        let form = if levels_left > 0 { mapped_text::decode_form(text) } else { None };
        if pass.findings.is_empty()
            && form.is_none()
            && known.is_empty()
            && forced.is_empty()
            && !pass.has_hidden_bytes
            && !is_percent
        {
            return TextFindings { marks: pass.marks, ..TextFindings::default() };
        }
        let mut whole: HashMap<_, _> =
            known.iter().map(|(id, finding)| ((finding.span.start, finding.span.end), *id)).collect();
        // Known values come first: at the same place, the known value names the secret.
        let mut all: Vec<SecretFinding> = known.into_iter().map(|(_, finding)| finding).collect();
        all.extend(forced);
        all.extend(pass.findings);
        let unescaped = pass.has_hidden_bytes.then(|| mapped_text::unescape_json(text)).flatten();
        let decoded = is_percent.then(|| mapped_text::decode_percent(text));
        let values = (is_percent || form.is_some()).then(|| mapped_text::decode_values(text));
        let deeper = levels_left.saturating_sub(1);
        for reading in
            unescaped.filter(|_| levels_left > 0).into_iter().chain(decoded).chain(form).chain(values)
        {
            let seen = self.search_unescaped(&reading.text, Vec::new(), deeper);
            for finding in seen.findings {
                let known = seen.exact_known.get(&(finding.span.start, finding.span.end)).copied();
                let Some(finding) = in_source(&reading, finding) else { continue };
                whole.extend(known.map(|id| ((finding.span.start, finding.span.end), id)));
                all.push(finding);
            }
        }
        let mut findings = subtract_spans(&pass.marks, sorted_disjoint(all));
        extend_over_escapes(text, &mut findings);
        TextFindings { findings, exact_known: whole, marks: pass.marks }
    }
}

/// Maps a finding in a contiguous decoded text to its span in the source.
fn in_source(reading: &MappedText, finding: SecretFinding) -> Option<SecretFinding> {
    let spans = reading.source_spans(&finding.span);
    let span = spans.first()?.start..spans.last()?.end;
    Some(SecretFinding { span, ..finding })
}

/// Returns true if the text has a percent sign with a hexadecimal digit behind it.
fn has_percent(text: &[u8]) -> bool {
    memchr::memchr_iter(b'%', text).any(|at| text.get(at + 1).is_some_and(u8::is_ascii_hexdigit))
}

/// Sorts findings by start, the longer first, and merges those that overlap.
fn sorted_disjoint(mut findings: Vec<SecretFinding>) -> Vec<SecretFinding> {
    findings.sort_by_key(|finding| (finding.span.start, usize::MAX - finding.span.end));
    merge_overlaps(findings)
}

/// Overwrites masked spans with `[`: a byte that ends every word and that no rule accepts.
fn blank_out<'s>(text: &mut [u8], spans: impl Iterator<Item = &'s Range<usize>>) {
    for span in spans {
        if let Some(there) = text.get_mut(span.clone()) {
            there.fill(b'[');
        }
    }
}

/// Extends findings over half escapes. A known value may begin inside an escape, as `nose` does in
/// `\nose`, or end with the backslash of the next one. The other half would be left beside the mark
/// and break the JSON, so it is masked too.
fn extend_over_escapes(text: &[u8], secrets: &mut [SecretFinding]) {
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

/// Merges secrets that share bytes, so that no part of either is left.
///
/// The name is that of the secret that begins first; at the same start, of the longest; at the same
/// length, of the known one.
fn merge_overlapping(mut secrets: Vec<Secret>) -> Vec<Secret> {
    let is_apart = |secrets: &[Secret]| {
        secrets.windows(2).all(|pair| match pair {
            [one, two] => one.spans.last().map(|span| span.end) <= two.spans.first().map(|span| span.start),
            _ => true,
        })
    };
    let begin = |secret: &Secret| secret.spans.first().map_or(0, |span| span.start);
    let length = |secret: &Secret| secret.spans.iter().map(Range::len).sum::<usize>();
    secrets.sort_by_cached_key(|secret| {
        (begin(secret), usize::MAX - length(secret), secret.known_id.is_none(), secret.rule.clone())
    });
    if is_apart(&secrets) {
        return secrets;
    }
    let mut spans: Vec<(Range<usize>, usize)> = Vec::new();
    for (id, secret) in secrets.iter().enumerate() {
        spans.extend(secret.spans.iter().map(|span| (span.clone(), id)));
    }
    spans.sort_by_key(|(span, id)| (span.start, *id));
    // Union-find: the parent of each secret is itself, or a secret that sorts before it.
    let mut owner: Vec<usize> = (0..secrets.len()).collect();
    let mut apart: Vec<(Range<usize>, usize)> = Vec::new();
    for (span, id) in spans {
        match apart.last_mut() {
            Some((last, before)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                let (one, two) = (find_root(&mut owner, *before), find_root(&mut owner, id));
                owner[one.max(two)] = one.min(two);
            }
            _ => apart.push((span, id)),
        }
    }
    let mut all: Vec<Vec<Range<usize>>> = vec![Vec::new(); secrets.len()];
    for (span, id) in apart {
        all[find_root(&mut owner, id)].push(span);
    }
    let remaining = secrets.into_iter().zip(all).filter(|(_, spans)| !spans.is_empty());
    remaining
        .map(|(secret, spans)| {
            // A secret that grew is no longer exactly the known value.
            let known = secret.known_id.filter(|_| secret.spans == spans);
            Secret { rule: secret.rule, known_id: known, spans }
        })
        .collect()
}

/// Returns the root of a secret's union-find tree, and shortens the path to it.
fn find_root(owner: &mut [usize], id: usize) -> usize {
    let mut first = id;
    while owner[first] != first {
        owner[first] = owner[owner[first]];
        first = owner[first];
    }
    first
}
