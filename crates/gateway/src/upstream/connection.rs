//! HTTP/1 connection to a vendor, for one request at a time.
//!
//! hyper splits a connection into a sender of requests and a future that does the I/O, which usually runs in a
//! task of its own. Here the task that waits for the answer polls that future, and hands the answer on in the
//! same poll. With a second task every piece would wait for the scheduler twice.
//!
//! Start reading at [`ConnectionDriver::poll_until`].

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use tokio::task::coop::has_budget_remaining;

use super::connector::{SentBytes, VendorStream};
use super::failure::UpstreamFailure;
use super::idle_timeout::IdleTimeout;

/// Request to a vendor.
pub(super) type OutboundRequest = Request<Full<Bytes>>;

/// HTTP/1 connection to a vendor.
pub(super) struct VendorConnection {
    /// Half of the connection that takes requests.
    sender: SendRequest<Full<Bytes>>,
    /// Half of the connection that does the I/O.
    driver: ConnectionDriver,
    /// Timeout for the vendor's silence; its timer is used again for the next request.
    idle_timeout: IdleTimeout,
    /// Bytes written to the socket.
    sent_bytes: SentBytes,
    /// True if a proxy reads the requests, which must then name their absolute address.
    is_proxied: bool,
}

/// Reason why a request has no answer.
pub(super) enum VendorSendError {
    /// Nothing of the request was sent; it can be sent again.
    Unsent(Box<OutboundRequest>),
    /// The request may have been sent.
    Failed(UpstreamFailure),
}

impl VendorConnection {
    /// Makes an HTTP connection over a stream. The vendor may be silent for `idle` while its answer is awaited.
    pub(super) async fn handshake(stream: VendorStream, idle: Duration) -> Result<Self, UpstreamFailure> {
        let (is_proxied, sent) = (stream.is_proxied(), stream.sent_bytes());
        let mut builder = http1::Builder::new();
        builder.preserve_header_case(true);
        let (sender, http) =
            builder.handshake(stream).await.map_err(|error| UpstreamFailure::from_http_error(&error))?;
        let (driver, silence) = (ConnectionDriver { http: Some(http), waker: None }, IdleTimeout::new(idle));
        Ok(Self { sender, driver, idle_timeout: silence, sent_bytes: sent, is_proxied })
    }

    /// Returns true if a proxy reads the requests, which must then name their absolute address.
    pub(super) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    /// Returns true if a request can be sent, as far as is known without polling the connection.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Polls the connection once, and returns true if a request can be sent.
    pub(super) fn poll_is_usable(&mut self) -> bool {
        self.driver.poll_once();
        self.is_ready()
    }

    /// Sends a request, and waits for the head of its answer.
    ///
    /// # Errors
    /// [`VendorSendError::Unsent`] returns the request if nothing of it was sent.
    pub(super) async fn send(
        &mut self,
        request: OutboundRequest,
    ) -> Result<Response<Incoming>, VendorSendError> {
        let mut answer = pin!(self.sender.try_send_request(request));
        // The silence before the end of the previous answer does not count.
        self.idle_timeout.reset();
        self.driver.request_poll();
        let mut sent = self.sent_bytes.total();
        let answer = poll_fn(|cx| {
            if let Poll::Ready(answer) = self.driver.poll_until(cx, |cx| answer.as_mut().poll(cx)) {
                self.idle_timeout.reset();
                return Poll::Ready(Some(answer));
            }
            // A vendor that accepts bytes is not silent, however slow it is.
            let so_far = self.sent_bytes.total();
            if so_far != sent {
                sent = so_far;
                self.idle_timeout.reset();
            }
            ready!(self.idle_timeout.poll_elapsed(cx));
            Poll::Ready(None)
        });
        match answer.await {
            None => Err(VendorSendError::Failed(UpstreamFailure::IdleTimeout)),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(mut error)) => Err(match error.take_message() {
                Some(request) => VendorSendError::Unsent(Box::new(request)),
                None => VendorSendError::Failed(UpstreamFailure::from_http_error(&error.into_error())),
            }),
        }
    }

    /// Polls for the next frame of the answer's body.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        self.driver.poll_until(cx, |cx| Pin::new(&mut *body).poll_frame(cx))
    }

    /// Returns the timeout for the vendor's silence.
    pub(super) fn idle_timeout(&mut self) -> &mut IdleTimeout {
        &mut self.idle_timeout
    }
}

/// Largest number of polls of a connection in a row, before other tasks get their turn.
const MAX_POLLS: usize = 8;

/// Driver that polls a connection within the task that waits for its answer.
struct ConnectionDriver {
    /// `None` when the connection is closed.
    http: Option<http1::Connection<VendorStream, Full<Bytes>>>,
    /// Waker of the connection, in both its forms.
    waker: Option<(Arc<DriverWaker>, Waker)>,
}

impl ConnectionDriver {
    /// Marks the connection as in need of a poll, because a request was queued.
    fn request_poll(&self) {
        if let Some((nudge, _)) = &self.waker {
            nudge.needs_poll.store(true, Ordering::SeqCst);
        }
    }

    /// Polls the connection while no task waits for it.
    fn poll_once(&mut self) {
        let Some(http) = &mut self.http else { return };
        if Pin::new(http).poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            self.http = None;
        }
        self.request_poll();
    }

    /// Polls the connection until `look` is ready. Only the connection can make it ready, so `look` needs no
    /// waker of its own.
    ///
    /// Polls at most [`MAX_POLLS`] times in a row, as long as the connection asks for more; then wakes the
    /// task, so that others get their turn.
    fn poll_until<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let (nudge, waker) = match &mut self.waker {
            Some(known) if known.0.task.will_wake(cx.waker()) => known,
            other => other.insert(DriverWaker::of(cx.waker().clone())),
        };
        nudge.is_polling.store(true, Ordering::SeqCst);
        let mut found = Poll::Pending;
        for round in 0..=MAX_POLLS {
            found = look(&mut Context::from_waker(Waker::noop()));
            let Some(http) = self.http.as_mut().filter(|_| found.is_pending()) else { break };
            if round == MAX_POLLS || !nudge.needs_poll.swap(false, Ordering::SeqCst) {
                break;
            }
            if Pin::new(http).poll(&mut Context::from_waker(waker)).is_ready() {
                // `look` learns of the end only when the connection is dropped.
                self.http = None;
            }
        }
        nudge.is_polling.store(false, Ordering::SeqCst);
        // A task without cooperative budget may have been put off without a look at its sockets.
        let is_put_off = nudge.needs_poll.load(Ordering::SeqCst) || !has_budget_remaining();
        if found.is_pending() && is_put_off {
            cx.waker().wake_by_ref();
        }
        found
    }
}

/// Waker that wakes a task, unless that task is polling the connection right now and will notice by itself.
struct DriverWaker {
    task: Waker,
    /// True if the connection asks to be polled.
    needs_poll: AtomicBool,
    /// True while the task polls the connection.
    is_polling: AtomicBool,
}

impl DriverWaker {
    /// Makes a waker for this task, in both its forms.
    fn of(task: Waker) -> (Arc<Self>, Waker) {
        // The connection must be polled once to learn of its new waker.
        let (is_wanted, is_driven) = (AtomicBool::new(true), AtomicBool::new(false));
        let nudge = Arc::new(Self { task, needs_poll: is_wanted, is_polling: is_driven });
        (Arc::clone(&nudge), Waker::from(nudge))
    }
}

impl Wake for DriverWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.needs_poll.store(true, Ordering::SeqCst);
        if !self.is_polling.load(Ordering::SeqCst) {
            self.task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const IDLE: Duration = Duration::from_secs(10);

    fn long_request() -> OutboundRequest {
        Request::new(Full::new(Bytes::from(vec![b'x'; 4 << 10])))
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_request_slowly_is_not_silent() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let mut connection = VendorConnection::handshake(VendorStream::plain(near), IDLE).await.unwrap();
        let vendor = async {
            let mut taken = [0; 1 << 10];
            for _ in 0..4 {
                tokio::time::sleep(IDLE * 3 / 4).await;
                far.read_exact(&mut taken).await.unwrap();
            }
            far.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        };
        let (answer, ()) = tokio::join!(connection.send(long_request()), vendor);
        assert!(answer.is_ok_and(|answer| answer.status() == 200));
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_only_a_part_of_it_is() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let mut connection = VendorConnection::handshake(VendorStream::plain(near), IDLE).await.unwrap();
        let begun = tokio::time::Instant::now();
        let vendor = async {
            tokio::time::sleep(IDLE / 2).await;
            far.read_exact(&mut [0; 100]).await.unwrap();
        };
        let (answer, ()) = tokio::join!(connection.send(long_request()), vendor);
        assert!(matches!(answer, Err(VendorSendError::Failed(UpstreamFailure::IdleTimeout))));
        assert!(begun.elapsed() >= IDLE / 2 + IDLE, "it was not silent before");
    }
}
