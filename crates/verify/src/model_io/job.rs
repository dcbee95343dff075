//! The expensive part of a session: the hash of each response, and the hash of the whole.

use reenact_formats::model_io::interaction::{response_bytes, response_digest};
use reenact_formats::model_io::{
    CoreFault, InteractionView, MAX_RESPONSE_BYTES, ModelIoHead, content_hash, core_hash, read_content_hash,
};
use reenact_json::Digest;
use reenact_json::digest::Hasher;

use super::js_text::{text_of, type_of};
use super::violation::{ViolationPath, Violations};
use super::{MI7, MI11};

/// Part of a session to check, independent of all other parts.
#[derive(Debug, Clone, Copy)]
pub struct ModelIoJob<'s, 'a>(ModelIoWork<'s, 'a>);

/// Work of one job.
#[derive(Debug, Clone, Copy)]
enum ModelIoWork<'s, 'a> {
    /// Check the responses of some interactions, the first of which has the index `first`.
    Responses { first: usize, interactions: &'s [InteractionView<'a>] },
    /// Compute the hash of the whole session.
    Core { head: &'s ModelIoHead<'a>, interactions: &'s [InteractionView<'a>] },
}

/// Findings of one job.
#[derive(Debug, Default)]
pub struct ModelIoFindings {
    /// Violations of MI7 and MI11.
    pub(super) responses: ResponseChecks,
    /// Hash of the session, from the one job that computes it.
    pub(super) core: Option<Result<Digest, CoreFault>>,
}

/// Size of the responses in one job, in bytes of text; worth a thread's attention.
const BATCH_BYTES: usize = 256 * 1024;

impl<'s, 'a> ModelIoJob<'s, 'a> {
    /// Returns the jobs of a session. The hash of the whole comes first: it takes longest and cannot be
    /// shared.
    pub(super) fn all(head: &'s ModelIoHead<'a>, interactions: &'s [InteractionView<'a>]) -> Vec<Self> {
        let mut jobs = vec![Self(ModelIoWork::Core { head, interactions })];
        let (mut first, mut bytes) = (0, 0);
        for (at, interaction) in interactions.iter().enumerate() {
            bytes += interaction.response_content.map_or(0, |content| content.text().len());
            if bytes >= BATCH_BYTES || at + 1 == interactions.len() {
                let batch = interactions.get(first..=at).unwrap_or_default();
                jobs.push(Self(ModelIoWork::Responses { first, interactions: batch }));
                (first, bytes) = (at + 1, 0);
            }
        }
        jobs
    }

    /// Runs the job.
    pub fn run(&self) -> ModelIoFindings {
        match self.0 {
            ModelIoWork::Core { head, interactions } => ModelIoFindings {
                core: Some(core_hash::hash_of(head, interactions)),
                ..ModelIoFindings::default()
            },
            ModelIoWork::Responses { first, interactions } => {
                let mut responses = ResponseChecks::default();
                let mut hasher = Hasher::new();
                for (at, interaction) in (first..).zip(interactions) {
                    responses.check(at, interaction, &mut hasher);
                }
                ModelIoFindings { responses, core: None }
            }
        }
    }
}

/// Results of MI7 and MI11 for some interactions.
#[derive(Debug, Default)]
pub(super) struct ResponseChecks {
    /// Violations found.
    pub(super) violations: Violations,
    /// Total size of the responses in bytes of UTF-8.
    pub(super) bytes: u64,
}

impl ResponseChecks {
    /// Checks MI7 and MI11 of the interaction at index `at`.
    pub(super) fn check(&mut self, at: usize, interaction: &InteractionView<'_>, hasher: &mut Hasher) {
        let violations = &mut self.violations;
        let carried = read_content_hash(interaction.response_hash);
        if carried.is_none() {
            violations.push(MI7, ViolationPath::InteractionMember(at, "response_hash"), || {
                let found = text_of(interaction.response_hash);
                format!("response_hash must be sha256:<64 hex chars>, got {found}")
            });
        }
        let Some(content) = interaction.response() else {
            if carried.is_some() {
                violations.push(MI7, ViolationPath::InteractionMember(at, "response_content"), || {
                    let found = type_of(interaction.response_content);
                    format!("response_content must be a string, got {found}")
                });
            }
            return;
        };
        let bytes = match carried {
            None => response_bytes(content),
            Some(carried) => {
                let (computed, bytes) = response_digest(content, hasher);
                if computed != carried {
                    violations.push(MI7, ViolationPath::InteractionMember(at, "response_hash"), || {
                        let (computed, carried) = (content_hash(&computed), content_hash(&carried));
                        format!("response_hash mismatch: expected {computed}, got {carried}")
                    });
                }
                bytes
            }
        };
        if bytes > MAX_RESPONSE_BYTES {
            violations.push(MI11, ViolationPath::InteractionMember(at, "response_content"), || {
                format!("response_content size ({bytes} bytes) exceeds limit ({MAX_RESPONSE_BYTES})")
            });
        }
        self.bytes += bytes;
    }

    /// Appends the results for other interactions.
    pub(super) fn append(&mut self, others: Self) {
        self.violations.append(others.violations);
        self.bytes += others.bytes;
    }
}
