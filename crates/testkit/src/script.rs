//! Who decides what a vendor answers: by order, by a function of the request, or ready-made.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::answer::{Answer, Encoding, Raw, Step};
use crate::failure::Failure;
use crate::reply::{Reply, long_text};
use crate::request::Request;
use crate::shape;

/// What one request gets.
#[derive(Clone)]
pub(crate) enum Play {
    /// Answers over HTTP.
    Http(Arc<dyn Fn(&Request) -> Answer + Send + Sync>),
    /// Answers below HTTP: the vendor reads HTTP/1.1 by itself, and sends exact bytes.
    Raw(Arc<dyn Fn(&Request) -> Raw + Send + Sync>),
}

/// A vendor's mind.
#[derive(Clone)]
pub struct Script {
    pub(crate) play: Play,
}

impl fmt::Debug for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.play {
            Play::Http(_) => "Script(http)",
            Play::Raw(_) => "Script(raw)",
        })
    }
}

/// One turn of a script that goes by order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// The model says something, in whichever format is asked for.
    Reply(Reply),
    /// The vendor says no, in its own shape.
    Failure(Failure),
    /// These bytes.
    Answer(Answer),
}

impl From<Reply> for Turn {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<Failure> for Turn {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Answer> for Turn {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl Turn {
    fn answer(&self, request: &Request) -> Answer {
        match self {
            Self::Reply(reply) => reply.answer(request),
            Self::Failure(failure) => failure.answer(request),
            Self::Answer(answer) => answer.clone(),
        }
    }
}

/// Who decides.
impl Script {
    /// This function decides about every request.
    pub fn answering(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self { play: Play::Http(Arc::new(answer)) }
    }

    /// This function says what the model says; requests that ask no model get what a vendor says to them.
    pub fn replying(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::answering(move |request| reply(request).answer(request))
    }

    /// Exact bytes, head included, over HTTP/1.1 without hyper.
    pub fn raw(raw: impl Fn(&Request) -> Raw + Send + Sync + 'static) -> Self {
        Self { play: Play::Raw(Arc::new(raw)) }
    }

    /// Each call of a model takes the next turn, in order of arrival; after the last one calls fail with 500. Requests that
    /// ask no model take no turn.
    pub fn in_order<T: Into<Turn>>(turns: impl IntoIterator<Item = T>) -> Self {
        let turns: Vec<Turn> = turns.into_iter().map(Into::into).collect();
        let next = AtomicUsize::new(0);
        Self::answering(move |request| {
            if let Some(answer) = shape::catalogue(request) {
                return answer;
            }
            match turns.get(next.fetch_add(1, Ordering::SeqCst)) {
                Some(turn) => turn.answer(request),
                None => Failure::new(500).saying("the script has no more turns").answer(request),
            }
        })
    }

    /// The first `requests` go by `first`, those after by `then`. What is below HTTP stays there: both must be of one kind,
    /// else `then` decides alone.
    pub fn first(requests: usize, first: Script, then: Script) -> Self {
        match (first.play, then.play) {
            (Play::Http(first), Play::Http(then)) => {
                Self::answering(
                    move |request| {
                        if request.index < requests { first(request) } else { then(request) }
                    },
                )
            }
            (Play::Raw(first), Play::Raw(then)) => {
                Self::raw(
                    move |request| if request.index < requests { first(request) } else { then(request) },
                )
            }
            (_, then) => Self { play: then },
        }
    }

    /// The same, with every answer changed. What is below HTTP stays as it is.
    pub fn map(self, change: impl Fn(&Request, Answer) -> Answer + Send + Sync + 'static) -> Self {
        match self.play {
            Play::Http(answer) => Self::answering(move |request| change(request, answer(request))),
            Play::Raw(_) => self,
        }
    }

    /// The same, with every body encoded, whether the client accepts that or not.
    pub fn encoded(self, encoding: Encoding) -> Self {
        self.map(move |_, answer| answer.encoded(encoding))
    }

    /// The same, with every stream waiting before each of its pieces: the request of number `r` (from 0) waits before its
    /// piece `p` at the gate `r.p`.
    pub fn gated(self) -> Self {
        self.map(
            |request, answer| {
                if answer.is_stream() { answer.gated(&format!("{}.", request.index)) } else { answer }
            },
        )
    }
}

/// Ready-made ones. All of them answer in the format that is asked for.
impl Script {
    /// Says back what the user said last, and a number that is different for every other request: no two requests get the
    /// same answer, and none gets another's.
    pub fn echo() -> Self {
        Self::replying(echo)
    }

    /// Thinks before it says the same as [`Script::echo`].
    pub fn thinking() -> Self {
        Self::replying(|request| Reply {
            blocks: [Reply::thinking("The user wants to hear it again.").blocks, echo(request).blocks]
                .concat(),
            ..Reply::default()
        })
    }

    /// Asks for the tool `lookup` with what the user said; once there is a result, says what it is.
    pub fn tool_loop() -> Self {
        Self::replying(|request| match request.reading().tool_results.last() {
            Some(result) => Reply::text(format!("The lookup says: {}", result.output)),
            None => lookup(Reply::text("Let me look that up."), &request.last_user_text()),
        })
    }

    /// Asks for the tool `lookup` twice at once; once there are results, says what they are.
    pub fn parallel_tools() -> Self {
        Self::replying(|request| {
            let results: Vec<String> =
                request.reading().tool_results.into_iter().map(|result| result.output).collect();
            if results.is_empty() {
                let text = request.last_user_text();
                return lookup(lookup(Reply::default(), &text), &format!("{text}, once more"));
            }
            Reply::text(format!("The lookups say: {}", results.join("; ")))
        })
    }

    /// Fails with this status, in the vendor's own shape.
    pub fn failing(status: u16) -> Self {
        Self::answering(move |request| Failure::new(status).answer(request))
    }

    /// Begins to say the same as [`Script::echo`], and hangs up in the middle: after this many whole events and half of the
    /// next. A document is one piece.
    pub fn cut_after(pieces: usize) -> Self {
        Self::echo().map(move |_, answer| answer.cut_after(pieces))
    }

    /// Begins to say the same as [`Script::echo`], and says in the middle of the stream, after this many events, that it is
    /// overloaded. A document is that failure.
    pub fn failing_after(pieces: usize) -> Self {
        Self::echo().map(move |request, mut answer| {
            let failure = Failure::new(529);
            if !answer.is_stream() {
                return failure.answer(request);
            }
            answer.steps.truncate(pieces);
            answer.steps.push(Step::send(failure.event(request, pieces)));
            answer
        })
    }

    /// Says a text of this many bytes.
    pub fn big(bytes: usize) -> Self {
        Self::replying(move |_| Reply::text(long_text(bytes)))
    }

    /// Succeeds and says nothing at all: no body.
    pub fn empty() -> Self {
        Self::answering(|_| Answer::empty(200))
    }

    /// Plays the model that helps [`crate::agent`] to book a flight.
    pub fn travel() -> Self {
        Self::replying(crate::travel::model)
    }
}

fn echo(request: &Request) -> Reply {
    Reply::text(format!("You said: {} [{:016x}]", request.last_user_text(), request.fingerprint()))
}

fn lookup(reply: Reply, query: &str) -> Reply {
    reply.and_call("lookup", serde_json::json!({ "query": query }).to_string())
}
