//! One strict walk over a session's text. It judges everything but the responses, which become jobs.

use std::collections::BTreeSet;

use reenact_formats::model_io::session::ReadError;
use reenact_formats::model_io::{Head, InteractionView, MOST_INTERACTIONS, SessionReader, read_content_hash};
use reenact_json::canonical::Sink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Kind, Value};

use super::job::{Finding, Job, Responses};
use super::judge;
use super::spelling::{self, text_of, type_of};
use super::stats::Metrics;
use super::violation::{Place, Violations};
use super::{MI5, MI6, MI8, MI9};
use crate::{Options, Report};

/// What a walk found. Run the jobs, then [`Survey::conclude`].
pub struct Survey<'a> {
    pub(super) head: Head<'a>,
    /// As many as a session may have. Those beyond are judged on the way and not kept.
    pub(super) interactions: Vec<InteractionView<'a>>,
    pub(super) count: usize,
    pub(super) violations: Violations,
    /// Of the interactions that are not kept.
    pub(super) responses: Responses,
    pub(super) metrics: Metrics,
}

impl<'a> Survey<'a> {
    /// Walks the text.
    pub fn read(bytes: &'a [u8], options: &Options) -> Result<Self, ReadError> {
        let mut reader = SessionReader::open(bytes, &options.limits)?;
        let mut survey = Self {
            head: Head::default(),
            interactions: Vec::new(),
            count: 0,
            violations: Violations::default(),
            responses: Responses::default(),
            metrics: Metrics::default(),
        };
        let mut places = Places::default();
        let mut hasher = Hasher::new();
        while let Some(interaction) = reader.next_interaction()? {
            let at = survey.count;
            places.judge(at, &interaction, &survey.interactions, &mut survey.violations);
            if read_content_hash(interaction.prompt_hash).is_none() {
                survey.violations.push(MI6, Place::InteractionMember(at, "prompt_hash"), || {
                    let found = text_of(interaction.prompt_hash);
                    format!("prompt_hash must be sha256:<64 hex chars>, got {found}")
                });
            }
            survey.metrics.add(&interaction);
            if at < MOST_INTERACTIONS {
                survey.interactions.push(interaction);
            } else {
                survey.responses.judge(at, &interaction, &mut hasher);
            }
            survey.count += 1;
        }
        survey.head = *reader.head();
        Ok(survey)
    }

    /// What is left to do. Of a session without its shape nothing more is asked.
    pub fn jobs(&self) -> Vec<Job<'_, 'a>> {
        if judge::has_shape(&self.head) { Job::all(&self.head, &self.interactions) } else { Vec::new() }
    }

    /// Puts the findings of all jobs, in their order, together with everything else.
    pub fn conclude(self, findings: Vec<Finding>) -> Report {
        judge::conclude(self, findings)
    }
}

/// MI5, MI8 and MI9: the indices.
#[derive(Default)]
struct Places<'a> {
    /// The index of the interaction before, if it is a number.
    before: Option<Value<'a>>,
    /// What MI8 has seen; `None` while every interaction stands in its place, where none can be another's double.
    seen: Option<BTreeSet<Digest>>,
    hasher: Hasher,
}

/// MI8 looks so far back. It cannot be broken without MI5, and a session of so many breaks MI4 too.
const MOST_SEEN: usize = 100_000;

impl<'a> Places<'a> {
    /// Judges the interaction at `at`. `earlier` are those before it, as many as are kept.
    fn judge(
        &mut self,
        at: usize,
        interaction: &InteractionView<'a>,
        earlier: &[InteractionView<'a>],
        violations: &mut Violations,
    ) {
        let index = interaction.i.filter(|i| i.kind() == Kind::Number);
        let in_place = index.is_some_and(|index| index.whole() == Some(at as u64));
        if !in_place {
            violations.push(MI5, Place::InteractionMember(at, "i"), || match index {
                Some(_) => format!("index must be {at}, got {}", text_of(index)),
                None => format!("index must be a number, got {}", type_of(interaction.i)),
            });
        }
        if self.is_double(at, interaction, in_place, earlier) {
            violations.push(MI8, Place::Interaction(at), || {
                format!("duplicate (prompt_hash, i) pair at index {at}")
            });
        }
        if let (Some(before), Some(index)) = (self.before, index)
            && nearest(before) >= nearest(index)
        {
            violations.push(MI9, Place::Interaction(at), || {
                let (before, index) = (text_of(Some(before)), text_of(Some(index)));
                format!("interactions not sorted by i: {before} >= {index}")
            });
        }
        self.before = index;
    }

    /// Whether an earlier interaction has the same prompt hash and index, both as strings.
    fn is_double(
        &mut self,
        at: usize,
        interaction: &InteractionView<'a>,
        in_place: bool,
        earlier: &[InteractionView<'a>],
    ) -> bool {
        if at >= MOST_SEEN || (in_place && self.seen.is_none() && at < MOST_INTERACTIONS) {
            return false;
        }
        let hasher = &mut self.hasher;
        let seen = self
            .seen
            .get_or_insert_with(|| earlier.iter().map(|interaction| pair(interaction, hasher)).collect());
        !seen.insert(pair(interaction, hasher))
    }
}

/// What MI8 compares, in few bytes.
fn pair(interaction: &InteractionView<'_>, hasher: &mut Hasher) -> Digest {
    spelling::write(interaction.prompt_hash, hasher);
    hasher.put(b"|");
    spelling::write(interaction.i, hasher);
    hasher.finish()
}

/// A number as the nearest double, or infinite.
fn nearest(number: Value<'_>) -> f64 {
    let infinite = if number.text().starts_with(b"-") { f64::NEG_INFINITY } else { f64::INFINITY };
    number.double().unwrap_or(infinite)
}
