//! The bodies that clients get: a text of our own, a vendor's answer, a recorded answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use crate::recording::{FilteredBody, RecordedBody};
use crate::replaying::Played;

/// Any of them.
pub(crate) enum Outgoing {
    Whole(Full<Bytes>),
    Recorded(Box<RecordedBody>),
    Filtered(Box<FilteredBody>),
    Played(Box<Played>),
}

/// The answer breaks off here, and the connection with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer breaks off here")]
pub(crate) struct Cut;

impl Outgoing {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::Whole(Full::new(bytes))
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Recorded(body) => Pin::new(body.as_mut()).poll_frame(cx),
            Self::Filtered(body) => Pin::new(body.as_mut()).poll_frame(cx),
            Self::Played(body) => Pin::new(body.as_mut()).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Recorded(body) => body.is_end_stream(),
            Self::Filtered(body) => body.is_end_stream(),
            Self::Played(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Recorded(body) => body.size_hint(),
            Self::Filtered(body) => body.size_hint(),
            Self::Played(body) => body.size_hint(),
        }
    }
}
