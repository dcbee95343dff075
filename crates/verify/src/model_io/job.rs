//! What takes time: the hash of each response, and the hash of the session.

use reenact_formats::model_io::interaction::{response_bytes, response_digest};
use reenact_formats::model_io::{
    CoreFault, Head, InteractionView, LARGEST_RESPONSE, content_hash, core, read_content_hash,
};
use reenact_json::Digest;
use reenact_json::digest::Hasher;

use super::spelling::{text_of, type_of};
use super::violation::{Place, Violations};
use super::{MI7, MI11};

/// A part of a session to judge, apart from all other parts.
#[derive(Debug, Clone, Copy)]
pub struct Job<'s, 'a>(Work<'s, 'a>);

#[derive(Debug, Clone, Copy)]
enum Work<'s, 'a> {
    /// The responses of some interactions.
    Responses { first: usize, interactions: &'s [InteractionView<'a>] },
    /// The hash of the whole.
    Core { head: &'s Head<'a>, interactions: &'s [InteractionView<'a>] },
}

/// What one job found.
#[derive(Debug, Default)]
pub struct Finding {
    pub(super) responses: Responses,
    pub(super) core: Option<Result<Digest, CoreFault>>,
}

/// A batch is worth a thread's attention.
const BATCH_BYTES: usize = 256 * 1024;

impl<'s, 'a> Job<'s, 'a> {
    /// The jobs of a session: the longest first, since nothing can share its work.
    pub(super) fn all(head: &'s Head<'a>, interactions: &'s [InteractionView<'a>]) -> Vec<Self> {
        let mut jobs = vec![Self(Work::Core { head, interactions })];
        let (mut first, mut bytes) = (0, 0);
        for (at, interaction) in interactions.iter().enumerate() {
            bytes += interaction.response_content.map_or(0, |content| content.text().len());
            if bytes >= BATCH_BYTES || at + 1 == interactions.len() {
                let batch = interactions.get(first..=at).unwrap_or_default();
                jobs.push(Self(Work::Responses { first, interactions: batch }));
                (first, bytes) = (at + 1, 0);
            }
        }
        jobs
    }

    /// Does it.
    pub fn run(&self) -> Finding {
        match self.0 {
            Work::Core { head, interactions } => {
                Finding { core: Some(core::hash_of(head, interactions)), ..Finding::default() }
            }
            Work::Responses { first, interactions } => {
                let mut responses = Responses::default();
                let mut hasher = Hasher::new();
                for (at, interaction) in (first..).zip(interactions) {
                    responses.judge(at, interaction, &mut hasher);
                }
                Finding { responses, core: None }
            }
        }
    }
}

/// MI7 and MI11 of some interactions.
#[derive(Debug, Default)]
pub(super) struct Responses {
    pub(super) violations: Violations,
    /// How many bytes of UTF-8 they have together.
    pub(super) bytes: u64,
}

impl Responses {
    pub(super) fn judge(&mut self, at: usize, interaction: &InteractionView<'_>, hasher: &mut Hasher) {
        let violations = &mut self.violations;
        let carried = read_content_hash(interaction.response_hash);
        if carried.is_none() {
            violations.push(MI7, Place::InteractionMember(at, "response_hash"), || {
                let found = text_of(interaction.response_hash);
                format!("response_hash must be sha256:<64 hex chars>, got {found}")
            });
        }
        let Some(content) = interaction.response() else {
            if carried.is_some() {
                violations.push(MI7, Place::InteractionMember(at, "response_content"), || {
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
                    violations.push(MI7, Place::InteractionMember(at, "response_hash"), || {
                        let (computed, carried) = (content_hash(&computed), content_hash(&carried));
                        format!("response_hash mismatch: expected {computed}, got {carried}")
                    });
                }
                bytes
            }
        };
        if bytes > LARGEST_RESPONSE {
            violations.push(MI11, Place::InteractionMember(at, "response_content"), || {
                format!("response_content size ({bytes} bytes) exceeds limit ({LARGEST_RESPONSE})")
            });
        }
        self.bytes += bytes;
    }

    pub(super) fn absorb(&mut self, others: Self) {
        self.violations.absorb(others.violations);
        self.bytes += others.bytes;
    }
}
