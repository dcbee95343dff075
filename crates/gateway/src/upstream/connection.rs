//! A connection to a vendor on which one request at a time is made, in HTTP/1.
//!
//! It has no task of its own: whoever waits for its answer drives it, in the same turn in which the answer is handed on. Between
//! two tasks each piece would wait for a turn of either.

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

use super::connector::{Sent, Stream};
use super::failure::Failure;
use super::silence::Silence;

/// What is sent.
pub(super) type Outbound = Request<Full<Bytes>>;

/// A connection to a vendor.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: Driver,
    /// Its timer goes on from one request to the next.
    silence: Silence,
    sent: Sent,
    is_proxied: bool,
}

/// Why a request has no answer.
pub(super) enum Unanswered {
    /// Nothing of it was sent.
    Unsent(Box<Outbound>),
    Failed(Failure),
}

impl Connection {
    /// A vendor that says nothing for `idle` while it is waited for has fallen silent.
    pub(super) async fn over(stream: Stream, idle: Duration) -> Result<Self, Failure> {
        let (is_proxied, sent) = (stream.is_proxied(), stream.sent());
        let mut builder = http1::Builder::new();
        builder.preserve_header_case(true);
        let (sender, http) = builder.handshake(stream).await.map_err(|error| Failure::of_http(&error))?;
        let (driver, silence) = (Driver { http: Some(http), nudge: None }, Silence::new(idle));
        Ok(Self { sender, driver, silence, sent, is_proxied })
    }

    /// Requests name their whole address: a proxy reads them.
    pub(super) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    /// Whether a request can be made on it, as far as is known without looking.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Looks whether a request can be made on it.
    pub(super) fn is_usable(&mut self) -> bool {
        self.driver.settle();
        self.is_ready()
    }

    /// Makes a request, and waits for the head of its answer.
    pub(super) async fn ask(&mut self, request: Outbound) -> Result<Response<Incoming>, Unanswered> {
        let mut answer = pin!(self.sender.try_send_request(request));
        // How long the end of the answer before was waited for is over.
        self.silence.end();
        self.driver.want();
        let mut sent = self.sent.bytes();
        let answer = poll_fn(|cx| {
            if let Poll::Ready(answer) = self.driver.poll_until(cx, |cx| answer.as_mut().poll(cx)) {
                self.silence.end();
                return Poll::Ready(Some(answer));
            }
            // Who takes what is sent is not silent, however long that takes.
            let so_far = self.sent.bytes();
            if so_far != sent {
                sent = so_far;
                self.silence.end();
            }
            ready!(self.silence.poll_too_long(cx));
            Poll::Ready(None)
        });
        match answer.await {
            None => Err(Unanswered::Failed(Failure::IdleTimeout)),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(mut error)) => Err(match error.take_message() {
                Some(request) => Unanswered::Unsent(Box::new(request)),
                None => Unanswered::Failed(Failure::of_http(&error.into_error())),
            }),
        }
    }

    /// The next of the body of its answer.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        self.driver.poll_until(cx, |cx| Pin::new(&mut *body).poll_frame(cx))
    }

    /// How long nothing has come.
    pub(super) fn silence(&mut self) -> &mut Silence {
        &mut self.silence
    }
}

/// So often is a connection that wants more turns given one, before others have theirs.
const ROUNDS: usize = 8;

/// Gives a connection its turns, within those of a task that waits for something of it.
struct Driver {
    /// `None` when it is over.
    http: Option<http1::Connection<Stream, Full<Bytes>>>,
    /// By which it says that it wants a turn, and the same as a waker.
    nudge: Option<(Arc<Nudge>, Waker)>,
}

impl Driver {
    /// There is something new for it.
    fn want(&self) {
        if let Some((nudge, _)) = &self.nudge {
            nudge.is_wanted.store(true, Ordering::SeqCst);
        }
    }

    /// Gives it a turn while nobody waits.
    fn settle(&mut self) {
        let Some(http) = &mut self.http else { return };
        if Pin::new(http).poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            self.http = None;
        }
        self.want();
    }

    /// Gives it turns until there is what is looked for. Nothing but the connection brings that, so that it need not be woken for.
    fn poll_until<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let (nudge, waker) = match &mut self.nudge {
            Some(known) if known.0.task.will_wake(cx.waker()) => known,
            other => other.insert(Nudge::of(cx.waker().clone())),
        };
        nudge.is_driven.store(true, Ordering::SeqCst);
        let mut found = Poll::Pending;
        for round in 0..=ROUNDS {
            found = look(&mut Context::from_waker(Waker::noop()));
            let Some(http) = self.http.as_mut().filter(|_| found.is_pending()) else { break };
            if round == ROUNDS || !nudge.is_wanted.swap(false, Ordering::SeqCst) {
                break;
            }
            if Pin::new(http).poll(&mut Context::from_waker(waker)).is_ready() {
                // Who waits for it learns of its end only when it is gone.
                self.http = None;
            }
        }
        nudge.is_driven.store(false, Ordering::SeqCst);
        // Who has used up the turns that a task has may have been put off without having been looked at.
        let is_put_off = nudge.is_wanted.load(Ordering::SeqCst) || !has_budget_remaining();
        if found.is_pending() && is_put_off {
            cx.waker().wake_by_ref();
        }
        found
    }
}

/// Wakes a task, unless it is awake: then it finds out by itself.
struct Nudge {
    task: Waker,
    /// The connection wants a turn.
    is_wanted: AtomicBool,
    /// The task gives it turns.
    is_driven: AtomicBool,
}

impl Nudge {
    fn of(task: Waker) -> (Arc<Self>, Waker) {
        // The connection must learn of its new waker.
        let (is_wanted, is_driven) = (AtomicBool::new(true), AtomicBool::new(false));
        let nudge = Arc::new(Self { task, is_wanted, is_driven });
        (Arc::clone(&nudge), Waker::from(nudge))
    }
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_wanted.store(true, Ordering::SeqCst);
        if !self.is_driven.load(Ordering::SeqCst) {
            self.task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const IDLE: Duration = Duration::from_secs(10);

    fn long_request() -> Outbound {
        Request::new(Full::new(Bytes::from(vec![b'x'; 4 << 10])))
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_request_slowly_is_not_silent() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let mut connection = Connection::over(Stream::plain(near), IDLE).await.unwrap();
        let vendor = async {
            let mut taken = [0; 1 << 10];
            for _ in 0..4 {
                tokio::time::sleep(IDLE * 3 / 4).await;
                far.read_exact(&mut taken).await.unwrap();
            }
            far.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        };
        let (answer, ()) = tokio::join!(connection.ask(long_request()), vendor);
        assert!(answer.is_ok_and(|answer| answer.status() == 200));
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_only_a_part_of_it_is() {
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let mut connection = Connection::over(Stream::plain(near), IDLE).await.unwrap();
        let begun = tokio::time::Instant::now();
        let vendor = async {
            tokio::time::sleep(IDLE / 2).await;
            far.read_exact(&mut [0; 100]).await.unwrap();
        };
        let (answer, ()) = tokio::join!(connection.ask(long_request()), vendor);
        assert!(matches!(answer, Err(Unanswered::Failed(Failure::IdleTimeout))));
        assert!(begun.elapsed() >= IDLE / 2 + IDLE, "it was not silent before");
    }
}
