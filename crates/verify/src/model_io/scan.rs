//! One strict walk over the text of a session. It checks everything but the responses, which become
//! jobs.

use std::collections::BTreeSet;

use reenact_formats::model_io::session::ModelIoReadError;
use reenact_formats::model_io::{
    InteractionView, MAX_INTERACTIONS, ModelIoHead, ModelIoReader, read_content_hash,
};
use reenact_json::canonical::ByteSink;
use reenact_json::digest::Hasher;
use reenact_json::{Digest, Value, ValueKind};

use super::job::{ModelIoFindings, ModelIoJob, ResponseChecks};
use super::js_text::{self, text_of, type_of};
use super::stats::SessionMetrics;
use super::verdict;
use super::violation::{ViolationPath, Violations};
use super::{MI5, MI6, MI8, MI9};
use crate::{Options, Report};

/// Result of the walk over a session.
///
/// Run the [`jobs`](ModelIoScan::jobs), then call [`ModelIoScan::into_report`].
pub struct ModelIoScan<'a> {
    /// Members beside the interactions.
    pub(super) head: ModelIoHead<'a>,
    /// Interactions up to the largest number of a session. Those beyond are checked at once and
    /// dropped.
    pub(super) interactions: Vec<InteractionView<'a>>,
    /// Number of all interactions.
    pub(super) count: usize,
    /// Violations of MI5, MI6, MI8 and MI9.
    pub(super) violations: Violations,
    /// Results for the interactions that were dropped.
    pub(super) responses: ResponseChecks,
    /// Sums for the notes on `stats`.
    pub(super) metrics: SessionMetrics,
}

impl<'a> ModelIoScan<'a> {
    /// Walks the text to its end.
    ///
    /// # Errors
    /// Fails if the text is not strict JSON within the limits, or not an object.
    pub fn read(bytes: &'a [u8], options: &Options) -> Result<Self, ModelIoReadError> {
        let mut reader = ModelIoReader::open(bytes, &options.limits)?;
        let mut scan = Self {
            head: ModelIoHead::default(),
            interactions: Vec::new(),
            count: 0,
            violations: Violations::default(),
            responses: ResponseChecks::default(),
            metrics: SessionMetrics::default(),
        };
        let mut index_checks = IndexChecks::default();
        let mut hasher = Hasher::new();
        while let Some(interaction) = reader.next_interaction()? {
            let at = scan.count;
            index_checks.check(at, &interaction, &scan.interactions, &mut scan.violations);
            if read_content_hash(interaction.prompt_hash).is_none() {
                scan.violations.push(MI6, ViolationPath::InteractionMember(at, "prompt_hash"), || {
                    let found = text_of(interaction.prompt_hash);
                    format!("prompt_hash must be sha256:<64 hex chars>, got {found}")
                });
            }
            scan.metrics.add(&interaction);
            if at < MAX_INTERACTIONS {
                scan.interactions.push(interaction);
            } else {
                scan.responses.check(at, &interaction, &mut hasher);
            }
            scan.count += 1;
        }
        scan.head = *reader.head();
        Ok(scan)
    }

    /// Returns the remaining work; none if SCHEMA does not hold.
    pub fn jobs(&self) -> Vec<ModelIoJob<'_, 'a>> {
        if verdict::has_required_members(&self.head) {
            ModelIoJob::all(&self.head, &self.interactions)
        } else {
            Vec::new()
        }
    }

    /// Combines the findings of all jobs, in their order, with the remaining checks.
    pub fn into_report(self, findings: Vec<ModelIoFindings>) -> Report {
        verdict::finish_report(self, findings)
    }
}

/// State of MI5, MI8 and MI9, which are about indices.
#[derive(Default)]
struct IndexChecks<'a> {
    /// Index of the interaction before, if it is a number.
    previous: Option<Value<'a>>,
    /// Pairs of prompt hash and index for MI8. `None` while every interaction has its proper index,
    /// since no two can be the same then.
    pairs: Option<BTreeSet<Digest>>,
    /// Hasher that is reused for every pair.
    hasher: Hasher,
}

/// Number of interactions that MI8 covers. MI8 cannot be broken without MI5, and so many interactions
/// break MI4, too, so a session beyond this fails in any case.
const MAX_REMEMBERED_PAIRS: usize = 100_000;

impl<'a> IndexChecks<'a> {
    /// Checks the interaction at index `at`. `earlier` are the interactions before it that were kept.
    fn check(
        &mut self,
        at: usize,
        interaction: &InteractionView<'a>,
        earlier: &[InteractionView<'a>],
        violations: &mut Violations,
    ) {
        let index = interaction.i.filter(|i| i.kind() == ValueKind::Number);
        let is_index_right = index.is_some_and(|index| index.unsigned_integer() == Some(at as u64));
        if !is_index_right {
            violations.push(MI5, ViolationPath::InteractionMember(at, "i"), || match index {
                Some(_) => format!("index must be {at}, got {}", text_of(index)),
                None => format!("index must be a number, got {}", type_of(interaction.i)),
            });
        }
        if self.is_duplicate(at, interaction, is_index_right, earlier) {
            violations.push(MI8, ViolationPath::Interaction(at), || {
                format!("duplicate (prompt_hash, i) pair at index {at}")
            });
        }
        if let (Some(before), Some(index)) = (self.previous, index)
            && as_double(before) >= as_double(index)
        {
            violations.push(MI9, ViolationPath::Interaction(at), || {
                let (before, index) = (text_of(Some(before)), text_of(Some(index)));
                format!("interactions not sorted by i: {before} >= {index}")
            });
        }
        self.previous = index;
    }

    /// Returns true if an earlier interaction has the same prompt hash and index, compared as strings.
    fn is_duplicate(
        &mut self,
        at: usize,
        interaction: &InteractionView<'a>,
        is_index_right: bool,
        earlier: &[InteractionView<'a>],
    ) -> bool {
        if at >= MAX_REMEMBERED_PAIRS || (is_index_right && self.pairs.is_none() && at < MAX_INTERACTIONS) {
            return false;
        }
        let hasher = &mut self.hasher;
        let seen = self.pairs.get_or_insert_with(|| {
            earlier.iter().map(|interaction| pair_digest(interaction, hasher)).collect()
        });
        !seen.insert(pair_digest(interaction, hasher))
    }
}

/// Returns the digest of prompt hash and index, a short stand-in for the pair.
fn pair_digest(interaction: &InteractionView<'_>, hasher: &mut Hasher) -> Digest {
    js_text::write_text(interaction.prompt_hash, hasher);
    hasher.put(b"|");
    js_text::write_text(interaction.i, hasher);
    hasher.finish()
}

/// Returns a number as the nearest double, or as infinity if it is too large.
fn as_double(number: Value<'_>) -> f64 {
    let infinite = if number.text().starts_with(b"-") { f64::NEG_INFINITY } else { f64::INFINITY };
    number.double().unwrap_or(infinite)
}
