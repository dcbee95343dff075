//! Comparison of two forms with equal skeletons: which level, if any, excuses all that differs.
//!
//! A uuid or id of one run may stand for that of another, one to one and through the whole replay, unless it came from a recorded
//! answer. A date or time may stand for another if each lies in its own run. Durations and labelled numbers of results may
//! differ. A result of a tool that differs in anything else is left to [`MatchLevel::Tools`]. Start reading at [`compare`].

use std::collections::HashMap;

use super::moment::{TimeWindow, could_be};
use super::spelling::whole_moment;
use super::token::TokenKind;
use super::{FormToken, RequestForm};
use crate::match_level::MatchLevel;

/// Facts about a replay that comparisons need.
pub(crate) struct CompareContext<'c> {
    /// Time of the recorded run, if the record says so.
    pub(crate) recorded_window: Option<&'c TimeWindow>,
    /// Time of this replay so far.
    pub(crate) asked_window: &'c TimeWindow,
    /// Words that stand for others since an earlier exchange.
    pub(crate) substitutions: &'c Substitutions,
    /// True for a word of the record, in a request or in an answer: it stands for nothing but itself.
    pub(crate) is_recorded: &'c dyn Fn(&str) -> bool,
}

/// Ids of the recorded run, and those of the replay that stand for them, one to one.
#[derive(Debug, Default)]
pub(crate) struct Substitutions {
    asked_by_recorded: HashMap<Box<str>, Box<str>>,
    recorded_by_asked: HashMap<Box<str>, Box<str>>,
}

/// Pairs that a comparison found, in addition to those that hold already.
#[derive(Debug, Default)]
pub(crate) struct NewPairs<'f> {
    asked_by_recorded: HashMap<&'f str, &'f str>,
    recorded_by_asked: HashMap<&'f str, &'f str>,
    /// The pairs in the order in which they were found, so that the last ones can be taken back.
    in_order: Vec<(&'f str, &'f str)>,
}

impl Substitutions {
    /// Keeps pairs for the rest of the replay.
    pub(crate) fn keep(&mut self, pairs: &NewPairs<'_>) {
        for (recorded, asked) in &pairs.asked_by_recorded {
            self.asked_by_recorded.insert((*recorded).into(), (*asked).into());
            self.recorded_by_asked.insert((*asked).into(), (*recorded).into());
        }
    }

    /// Keeps that a word stands for itself, unless one of its two sides is taken.
    pub(crate) fn keep_itself(&mut self, word: &str) {
        if !self.asked_by_recorded.contains_key(word) && !self.recorded_by_asked.contains_key(word) {
            self.asked_by_recorded.insert(word.into(), word.into());
            self.recorded_by_asked.insert(word.into(), word.into());
        }
    }
}

impl<'f> NewPairs<'f> {
    /// Adds a pair, and returns false if one of the two stands for something else already.
    fn add(&mut self, recorded: &'f str, asked: &'f str, known: &Substitutions) -> bool {
        let fits = |kept: Option<&Box<str>>, new: Option<&&'f str>, due: &str| {
            kept.is_none_or(|kept| **kept == *due) && new.is_none_or(|new| **new == *due)
        };
        let is_one_to_one =
            fits(known.asked_by_recorded.get(recorded), self.asked_by_recorded.get(recorded), asked)
                && fits(known.recorded_by_asked.get(asked), self.recorded_by_asked.get(asked), recorded);
        if is_one_to_one && self.asked_by_recorded.insert(recorded, asked).is_none() {
            self.recorded_by_asked.insert(asked, recorded);
            self.in_order.push((recorded, asked));
        }
        is_one_to_one
    }

    /// Takes back all pairs but the first `kept`.
    fn take_back_to(&mut self, kept: usize) {
        for (recorded, asked) in self.in_order.drain(kept.min(self.in_order.len())..) {
            self.asked_by_recorded.remove(recorded);
            self.recorded_by_asked.remove(asked);
        }
    }
}

/// Returns the strictest level at which two requests with equal skeletons are the same, and the pairs that it takes; `None` if
/// there is none.
pub(crate) fn compare<'f>(
    recorded: &'f RequestForm,
    asked: &'f RequestForm,
    context: &CompareContext<'_>,
) -> Option<(MatchLevel, NewPairs<'f>)> {
    if recorded.results.len() != asked.results.len() {
        return None;
    }
    let mut pairs = NewPairs::default();
    let mut level =
        compare_tokens((recorded, &recorded.tokens), (asked, &asked.tokens), context, &mut pairs)?;
    for (ours, theirs) in recorded.results.iter().zip(&asked.results) {
        let before = pairs.in_order.len();
        let found = (ours.skeleton == theirs.skeleton)
            .then(|| compare_tokens((recorded, &ours.tokens), (asked, &theirs.tokens), context, &mut pairs));
        match found.flatten() {
            Some(found) => level = level.max(found),
            None => {
                pairs.take_back_to(before);
                level = MatchLevel::Tools;
            }
        }
    }
    Some((level, pairs))
}

/// Compares tokens one by one, and returns the strictest level that excuses their differences.
fn compare_tokens<'f>(
    (recorded, ours): (&'f RequestForm, &'f [FormToken]),
    (asked, theirs): (&'f RequestForm, &'f [FormToken]),
    context: &CompareContext<'_>,
    pairs: &mut NewPairs<'f>,
) -> Option<MatchLevel> {
    if ours.len() != theirs.len() {
        return None;
    }
    let mut level = MatchLevel::Ids;
    for (token, other) in ours.iter().zip(theirs) {
        let (from, to) = (recorded.text(token), asked.text(other));
        if token.kind != other.kind {
            return None;
        }
        match token.kind {
            TokenKind::Uuid | TokenKind::Id => {
                let is_new = from != to;
                if is_new && (token.is_from_answer || (context.is_recorded)(to)) {
                    return None;
                }
                if !pairs.add(from, to, context.substitutions) {
                    return None;
                }
            }
            _ if from == to => {}
            TokenKind::Free => {}
            TokenKind::Moment => {
                let is_excused = !token.is_from_answer
                    && context
                        .recorded_window
                        .is_some_and(|window| is_moved(from, window, to, context.asked_window));
                if !is_excused {
                    return None;
                }
                level = MatchLevel::Moved;
            }
            TokenKind::Duration | TokenKind::Number => level = MatchLevel::Moved,
        }
    }
    Some(level)
}

/// Returns true if two texts are dates or times, each in its own window.
fn is_moved(from: &str, from_window: &TimeWindow, to: &str, to_window: &TimeWindow) -> bool {
    let (Some(from), Some(to)) = (whole_moment(from), whole_moment(to)) else { return false };
    could_be(&from, from_window, &to, to_window)
}

/// Returns true if two recorded requests with equal skeletons are equal to a replay, so that they are one queue: no incoming request
/// can be the one and not the other.
///
/// `is_parallel` says that both were open at once: then nothing tells which of two times, durations or numbers is whose.
pub(crate) fn is_same_form(
    first: &RequestForm,
    second: &RequestForm,
    window: Option<&TimeWindow>,
    is_parallel: bool,
) -> bool {
    let mut pairs = NewPairs::default();
    let none = Substitutions::default();
    let mut is_same = |ours: &'_ [FormToken], theirs: &'_ [FormToken]| {
        ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(token, other)| {
                let (from, to) = (first.text(token), second.text(other));
                match token.kind {
                    TokenKind::Uuid | TokenKind::Id => {
                        let may_differ = from == to || !(token.is_from_answer || other.is_from_answer);
                        may_differ && pairs.add(from, to, &none)
                    }
                    _ if from == to => true,
                    TokenKind::Moment => {
                        let is_day = whole_moment(from).is_none_or(|moment| moment.is_day());
                        let is_free =
                            !(is_day || is_parallel || token.is_from_answer || other.is_from_answer);
                        is_free && window.is_some_and(|window| is_moved(from, window, to, window))
                    }
                    TokenKind::Duration | TokenKind::Number => !is_parallel,
                    TokenKind::Free => true,
                }
            })
    };
    let mut results = first.results.iter().zip(&second.results);
    first.results.len() == second.results.len()
        && is_same(&first.tokens, &second.tokens)
        && results
            .all(|(ours, theirs)| ours.skeleton == theirs.skeleton && is_same(&ours.tokens, &theirs.tokens))
}
