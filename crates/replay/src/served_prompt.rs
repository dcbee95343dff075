//! Prompts that were answered in a replay, in the order in which they were: what a session of the replay is made of.

use reenact_json::Digest;
use reenact_run::{Exchange, ExchangeKind, ExchangeRequestBody};

use crate::request::MaskedPlayerRequest;
use crate::request_key::last_user_text;

/// Prompt that was answered by a recorded exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedPrompt {
    /// Index in the run of the event that holds the recorded request.
    pub event_index: usize,
    /// SHA-256 of the prompt that was asked now: the user's last text, or else the body. Where the record has only a hash, by which the
    /// request was found, that one.
    pub prompt: Digest,
}

impl ServedPrompt {
    /// Returns the prompt of a request to a model; `None` for other requests.
    pub(crate) fn of(exchange: &Exchange<'_>, masked: &MaskedPlayerRequest<'_>) -> Option<Self> {
        if exchange.kind != ExchangeKind::Model {
            return None;
        }
        let prompt = match exchange.request().ok()?.body {
            ExchangeRequestBody::Hash(recorded) => recorded,
            _ => match last_user_text(&masked.body) {
                Some(text) => Digest::of(text.as_bytes()),
                None => Digest::of(&masked.body),
            },
        };
        Some(Self { event_index: exchange.called.index(), prompt })
    }
}

/// List of the prompts that were answered, if one is kept.
#[derive(Debug, Default)]
pub(crate) struct ServedPromptList {
    prompts: Option<Vec<ServedPrompt>>,
}

/// Largest number of prompts that are kept: one more than a session may hold, so that a session that is too long is noticed.
const MAX_PROMPTS: usize = 10_001;

impl ServedPromptList {
    /// Begins to keep prompts.
    pub(crate) fn keep(&mut self) {
        self.prompts.get_or_insert_default();
    }

    /// Returns true if prompts are kept and there is room for one more.
    pub(crate) fn is_open(&self) -> bool {
        self.prompts.as_ref().is_some_and(|prompts| prompts.len() < MAX_PROMPTS)
    }

    /// Appends a prompt.
    pub(crate) fn add(&mut self, prompt: Option<ServedPrompt>) {
        if let Some(prompts) = self.prompts.as_mut() {
            prompts.extend(prompt);
        }
    }

    /// Returns the prompts so far.
    pub(crate) fn listed(&self) -> &[ServedPrompt] {
        self.prompts.as_deref().unwrap_or_default()
    }
}
