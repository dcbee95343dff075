//! What goes wrong, in each vendor's own shape.

use crate::answer::Answer;
use crate::request::Request;
use crate::shape;

/// An error that a vendor answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The status.
    pub status: u16,
    /// What it says; by default what the vendor would say to this status.
    pub message: Option<String>,
    /// Seconds, in `retry-after`.
    pub retry_after: Option<u64>,
}

impl Failure {
    /// This status. A 429 asks to come back after a second.
    pub fn new(status: u16) -> Self {
        Self { status, message: None, retry_after: (status == 429).then_some(1) }
    }

    /// What a vendor says to a path that it does not know.
    pub fn not_found() -> Self {
        Self::new(404)
    }

    /// In these words.
    pub fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The answer, in the shape of the vendor that was asked.
    pub fn answer(&self, request: &Request) -> Answer {
        let shape = shape::of(request);
        let body = shape.failure(self, request);
        let mut answer = shape.headers(Answer::json(self.status, body.to_string()), request);
        if let Some(seconds) = self.retry_after {
            answer = answer.header("retry-after", seconds.to_string());
        }
        answer
    }

    /// As the event of this number, from 0, in a stream that began well.
    pub fn event(&self, request: &Request, number: usize) -> String {
        shape::of(request).failure_event(self, request, number)
    }
}
