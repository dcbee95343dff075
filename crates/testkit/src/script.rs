//! [`Script`]: decides what a vendor answers, in order, by a function of the request, or
//! ready-made.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::answer::{Encoding, RawBytesAnswer, ScriptStep, ScriptedAnswer};
use crate::failure::VendorFailure;
use crate::reply::{ScriptedReply, long_text};
use crate::request::VendorRequest;
use crate::vendor_format;

/// Function that answers one request.
#[derive(Clone)]
pub(crate) enum AnswerFn {
    /// Answers over HTTP.
    Http(Arc<dyn Fn(&VendorRequest) -> ScriptedAnswer + Send + Sync>),
    /// Answers below HTTP: the vendor parses HTTP/1.1 by itself, and sends exact bytes.
    Raw(Arc<dyn Fn(&VendorRequest) -> RawBytesAnswer + Send + Sync>),
}

/// Script of a vendor: a function from requests to answers.
///
/// Scripts are built by the constructors below and combined by [`Script::map`] and its relatives.
/// They are deterministic: the same requests in the same order get the same bytes.
#[derive(Clone)]
pub struct Script {
    /// Function that answers every request.
    pub(crate) answer_fn: AnswerFn,
}

impl fmt::Debug for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.answer_fn {
            AnswerFn::Http(_) => "Script(http)",
            AnswerFn::Raw(_) => "Script(raw)",
        })
    }
}

/// Turn of a script that answers in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedTurn {
    /// Reply of the model, in the format that is asked for.
    Reply(ScriptedReply),
    /// Error of the vendor, in its own format.
    Failure(VendorFailure),
    /// Exact answer.
    Answer(ScriptedAnswer),
}

impl From<ScriptedReply> for ScriptedTurn {
    fn from(reply: ScriptedReply) -> Self {
        Self::Reply(reply)
    }
}

impl From<VendorFailure> for ScriptedTurn {
    fn from(failure: VendorFailure) -> Self {
        Self::Failure(failure)
    }
}

impl From<ScriptedAnswer> for ScriptedTurn {
    fn from(answer: ScriptedAnswer) -> Self {
        Self::Answer(answer)
    }
}

impl ScriptedTurn {
    /// Renders the turn as the answer to a request.
    fn answer(&self, request: &VendorRequest) -> ScriptedAnswer {
        match self {
            Self::Reply(reply) => reply.answer(request),
            Self::Failure(failure) => failure.answer(request),
            Self::Answer(answer) => answer.clone(),
        }
    }
}

/// Construction and combination.
impl Script {
    /// Creates a script of a function that answers every request.
    pub fn answering(answer: impl Fn(&VendorRequest) -> ScriptedAnswer + Send + Sync + 'static) -> Self {
        Self { answer_fn: AnswerFn::Http(Arc::new(answer)) }
    }

    /// Creates a script of a function that gives the model's reply. Requests that call no model get
    /// the vendor's usual answer.
    pub fn replying(reply: impl Fn(&VendorRequest) -> ScriptedReply + Send + Sync + 'static) -> Self {
        Self::answering(move |request| reply(request).answer(request))
    }

    /// Creates a script that sends exact bytes, head included, over HTTP/1.1 without hyper.
    pub fn raw(raw: impl Fn(&VendorRequest) -> RawBytesAnswer + Send + Sync + 'static) -> Self {
        Self { answer_fn: AnswerFn::Raw(Arc::new(raw)) }
    }

    /// Creates a script of turns. Each model call takes the next one in order of arrival; after the
    /// last one calls fail with 500. Requests that call no model take no turn.
    ///
    /// ```
    /// use reenact_testkit::{Script, ScriptedReply, ScriptedTurn, VendorFailure};
    ///
    /// let turns: [ScriptedTurn; 2] =
    ///     [VendorFailure::new(429).into(), ScriptedReply::text("Done.").into()];
    /// let script = Script::in_order(turns);
    /// ```
    pub fn in_order<T: Into<ScriptedTurn>>(turns: impl IntoIterator<Item = T>) -> Self {
        let turns: Vec<ScriptedTurn> = turns.into_iter().map(Into::into).collect();
        let next = AtomicUsize::new(0);
        Self::answering(move |request| {
            if let Some(answer) = vendor_format::catalogue(request) {
                return answer;
            }
            match turns.get(next.fetch_add(1, Ordering::SeqCst)) {
                Some(turn) => turn.answer(request),
                None => VendorFailure::new(500).with_message("the script has no more turns").answer(request),
            }
        })
    }

    /// Creates a script that answers the first `requests` requests by `first` and the others by
    /// `then`.
    ///
    /// Both must answer over HTTP, or both below; otherwise `then` answers all.
    pub fn first(requests: usize, first: Script, then: Script) -> Self {
        match (first.answer_fn, then.answer_fn) {
            (AnswerFn::Http(first), AnswerFn::Http(then)) => {
                Self::answering(
                    move |request| {
                        if request.index < requests { first(request) } else { then(request) }
                    },
                )
            }
            (AnswerFn::Raw(first), AnswerFn::Raw(then)) => {
                Self::raw(
                    move |request| if request.index < requests { first(request) } else { then(request) },
                )
            }
            (_, then) => Self { answer_fn: then },
        }
    }

    /// Changes every answer by a function. Answers below HTTP stay as they are.
    pub fn map(
        self,
        change: impl Fn(&VendorRequest, ScriptedAnswer) -> ScriptedAnswer + Send + Sync + 'static,
    ) -> Self {
        match self.answer_fn {
            AnswerFn::Http(answer) => Self::answering(move |request| change(request, answer(request))),
            AnswerFn::Raw(_) => self,
        }
    }

    /// Encodes every body, even if the client does not accept that.
    pub fn encoded(self, encoding: Encoding) -> Self {
        self.map(move |_, answer| answer.encoded(encoding))
    }

    /// Inserts a gate before each piece of every stream: the request of index `r` waits before its
    /// piece `p` at the gate `r.p`, both counted from 0.
    pub fn gated(self) -> Self {
        self.map(
            |request, answer| {
                if answer.is_stream() { answer.gated(&format!("{}.", request.index)) } else { answer }
            },
        )
    }
}

/// Ready-made scripts. All of them answer in the format that is asked for.
impl Script {
    /// Repeats what the user said last, with a hash of the request: no two requests get the same
    /// answer, so a test notices if one gets another's.
    pub fn echo() -> Self {
        Self::replying(echo)
    }

    /// Replies as [`Script::echo`] does, with reasoning before it.
    pub fn thinking() -> Self {
        Self::replying(|request| ScriptedReply {
            blocks: [
                ScriptedReply::thinking("The user wants to hear it again.").blocks,
                echo(request).blocks,
            ]
            .concat(),
            ..ScriptedReply::default()
        })
    }

    /// Calls the tool `lookup` with what the user said; once there is a result, replies with it.
    pub fn tool_loop() -> Self {
        Self::replying(|request| match request.parsed().tool_results.last() {
            Some(result) => ScriptedReply::text(format!("The lookup says: {}", result.output)),
            None => lookup(ScriptedReply::text("Let me look that up."), &request.last_user_text()),
        })
    }

    /// Calls the tool `lookup` twice in parallel; once there are results, replies with them.
    pub fn parallel_tools() -> Self {
        Self::replying(|request| {
            let results: Vec<String> =
                request.parsed().tool_results.into_iter().map(|result| result.output).collect();
            if results.is_empty() {
                let text = request.last_user_text();
                return lookup(lookup(ScriptedReply::default(), &text), &format!("{text}, once more"));
            }
            ScriptedReply::text(format!("The lookups say: {}", results.join("; ")))
        })
    }

    /// Fails with this status, in the vendor's own format.
    pub fn failing(status: u16) -> Self {
        Self::answering(move |request| VendorFailure::new(status).answer(request))
    }

    /// Replies as [`Script::echo`] does, and closes the connection after this many whole events and
    /// half of the next. A document counts as one piece.
    pub fn cut_after(pieces: usize) -> Self {
        Self::echo().map(move |_, answer| answer.cut_after(pieces))
    }

    /// Replies as [`Script::echo`] does, and reports an overload in the middle of the stream, after
    /// this many events. Instead of a document, the failure is the answer.
    pub fn failing_after(pieces: usize) -> Self {
        Self::echo().map(move |request, mut answer| {
            let failure = VendorFailure::new(529);
            if !answer.is_stream() {
                return failure.answer(request);
            }
            answer.steps.truncate(pieces);
            answer.steps.push(ScriptStep::send(failure.event(request, pieces)));
            answer
        })
    }

    /// Replies with a text of this many bytes.
    pub fn big(bytes: usize) -> Self {
        Self::replying(move |_| ScriptedReply::text(long_text(bytes)))
    }

    /// Answers with 200 and no body.
    pub fn empty() -> Self {
        Self::answering(|_| ScriptedAnswer::empty(200))
    }

    /// Plays the model that helps [`crate::agent`] to book a flight.
    pub fn travel() -> Self {
        Self::replying(crate::travel::travel_model)
    }
}

/// Returns the reply of [`Script::echo`].
fn echo(request: &VendorRequest) -> ScriptedReply {
    ScriptedReply::text(format!("You said: {} [{:016x}]", request.last_user_text(), request.fingerprint()))
}

/// Appends a call of the tool `lookup`.
fn lookup(reply: ScriptedReply, query: &str) -> ScriptedReply {
    reply.and_call("lookup", serde_json::json!({ "query": query }).to_string())
}
