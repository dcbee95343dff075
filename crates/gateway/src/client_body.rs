//! Bodies that clients get: a text of the gateway's own, a vendor's answer, or a replayed answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use crate::recording::{FilteredBody, RecordedBody};
use crate::replay::ReplayedBody;

/// Body of an answer to a client.
pub(crate) enum ClientBody {
    /// Bytes in one piece.
    Whole(Full<Bytes>),
    /// Vendor's answer, copied into the record.
    Recorded(Box<RecordedBody>),
    /// Vendor's stream, with tool calls held back until they are decided on.
    Filtered(Box<FilteredBody>),
    /// Recorded answer.
    Replayed(Box<ReplayedBody>),
}

/// Error that breaks off an answer, and the connection with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer breaks off here")]
pub(crate) struct AnswerAborted;

impl ClientBody {
    /// Makes a body of bytes in one piece.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::Whole(Full::new(bytes))
    }
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = AnswerAborted;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerAborted>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Recorded(body) => Pin::new(body.as_mut()).poll_frame(cx),
            Self::Filtered(body) => Pin::new(body.as_mut()).poll_frame(cx),
            Self::Replayed(body) => Pin::new(body.as_mut()).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Recorded(body) => body.is_end_stream(),
            Self::Filtered(body) => body.is_end_stream(),
            Self::Replayed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Recorded(body) => body.size_hint(),
            Self::Filtered(body) => body.size_hint(),
            Self::Replayed(body) => body.size_hint(),
        }
    }
}
