//! What came and what went, and the gates between them: the one thing that a test and its vendor share.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

use crate::request::Request;

/// How the sending of an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentEnd {
    /// All of it was sent.
    Whole,
    /// The script cut it, or hung up.
    Cut,
    /// The client left before.
    Left,
}

/// What a vendor sent in answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The bytes of the body as they were handed to the socket: encoded, without the framing of HTTP. Below HTTP: all
    /// bytes, the head included.
    pub body: Bytes,
    /// How it ended; `None` while it goes on.
    pub end: Option<SentEnd>,
}

/// Something that a test can wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// This many requests have come, each with its whole body.
    Requests(usize),
    /// This many answers have ended, in whichever way.
    Ends(usize),
    /// An answer stands before the gate of this name, and all that comes before it is on the socket.
    Gate(String),
}

/// A moment did not come in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("waited {limit:?} for {moment:?}")]
pub struct WaitError {
    /// What was waited for.
    pub moment: Moment,
    /// For how long.
    pub limit: Duration,
}

#[derive(Debug, Default)]
struct Gate {
    is_open: bool,
    is_reached: bool,
}

#[derive(Debug)]
struct Exchange {
    request: Request,
    sent: Vec<u8>,
    end: Option<SentEnd>,
}

#[derive(Debug, Default)]
struct Book {
    exchanges: Vec<Exchange>,
    gates: BTreeMap<String, Gate>,
}

impl Book {
    fn has(&self, moment: &Moment) -> bool {
        match moment {
            Moment::Requests(count) => self.exchanges.len() >= *count,
            Moment::Ends(count) => self.exchanges.iter().filter(|it| it.end.is_some()).count() >= *count,
            Moment::Gate(name) => self.gates.get(name).is_some_and(|gate| gate.is_reached),
        }
    }
}

/// Shared by all threads.
#[derive(Debug)]
pub(crate) struct Ledger {
    book: Mutex<Book>,
    /// For threads that wait.
    changed: Condvar,
    /// For tasks that wait.
    changes: watch::Sender<u64>,
}

impl Ledger {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { book: Mutex::default(), changed: Condvar::new(), changes: watch::Sender::new(0) })
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // A test that failed while it held the book has not hurt it.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let result = change(&mut self.book());
        self.changed.notify_all();
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Writes a request down, whose index is set to its place; gives the page for its answer.
    pub(crate) fn receive(self: &Arc<Self>, mut request: Request) -> (Request, Page) {
        self.change(|book| {
            request.index = book.exchanges.len();
            book.exchanges.push(Exchange { request: request.clone(), sent: Vec::new(), end: None });
        });
        let page = Page { ledger: Arc::clone(self), index: request.index, end: SentEnd::Left };
        (request, page)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.book().exchanges.iter().map(|exchange| exchange.request.clone()).collect()
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        let sent = |exchange: &Exchange| Sent { body: exchange.sent.clone().into(), end: exchange.end };
        self.book().exchanges.iter().map(sent).collect()
    }

    pub(crate) fn open(&self, gate: &str) {
        self.change(|book| book.gates.entry(gate.to_owned()).or_default().is_open = true);
    }

    /// An answer has come to a gate: goes on when it is open.
    pub(crate) async fn pass(&self, gate: &str) {
        self.change(|book| book.gates.entry(gate.to_owned()).or_default().is_reached = true);
        self.when(|book| book.gates.get(gate).is_some_and(|gate| gate.is_open)).await;
    }

    async fn when(&self, holds: impl Fn(&Book) -> bool) {
        let mut changes = self.changes.subscribe();
        while !holds(&self.book()) {
            // The sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    pub(crate) async fn moment(&self, moment: &Moment) {
        self.when(|book| book.has(moment)).await;
    }

    pub(crate) fn wait(&self, moment: Moment, limit: Duration) -> Result<(), WaitError> {
        let until = Instant::now() + limit;
        let mut book = self.book();
        while !book.has(&moment) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(WaitError { moment, limit });
            }
            book = self.changed.wait_timeout(book, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}

/// The page of one answer. When it is dropped, the answer has ended: the client left, if nothing else was said.
#[derive(Debug)]
pub(crate) struct Page {
    ledger: Arc<Ledger>,
    index: usize,
    end: SentEnd,
}

impl Page {
    pub(crate) fn sent(&self, bytes: &[u8]) {
        self.ledger.change(|book| {
            if let Some(exchange) = book.exchanges.get_mut(self.index) {
                exchange.sent.extend_from_slice(bytes);
            }
        });
    }

    pub(crate) async fn pass(&self, gate: &str) {
        self.ledger.pass(gate).await;
    }

    /// What the end will be called.
    pub(crate) fn ending(&mut self, end: SentEnd) {
        self.end = end;
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.ledger.change(|book| {
            if let Some(exchange) = book.exchanges.get_mut(self.index) {
                exchange.end = Some(self.end);
            }
        });
    }
}
