//! The player: requests in, recorded answers out.
//!
//! All state that changes during a replay is here, behind locks: the known secrets, the number of answers
//! served, and the misses. The recorded exchanges themselves never change. Start reading at [`Player::answer`].

use core::fmt;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use reenact_json::{Digest, Shown};
use reenact_run::Run;
use reenact_secrets::{Redactor, RulePack};

use crate::answer::RecordedAnswer;
use crate::closest::closest;
use crate::differing::{DifferingExchange, DifferingList};
use crate::edit::{EditError, check_edit, edited_answer};
use crate::form::RequestForm;
use crate::form::compare::{CompareContext, Substitutions};
use crate::form::index::{FormIndex, FormMatch};
use crate::form::moment::TimeWindow;
use crate::form::thread::ThreadIndex;
use crate::match_level::{LevelCounts, MatchLevel};
use crate::miss::{Miss, MissCause};
use crate::miss_list::MissList;
use crate::options::MatchOptions;
use crate::outcome::{ReplayOutcome, UnusedExchange};
use crate::recorded_exchanges::{self, LoadError, LoadNote, RecordedExchanges};
use crate::request::{MaskedPlayerRequest, PlayerRequest};
use crate::request_key::{self, FoundBy, RequestKey};
use crate::served::ServedExchanges;
use crate::served_prompt::{ServedPrompt, ServedPromptList};

/// Player of a recorded run: serves each recorded answer once, to the request that it was recorded for.
///
/// A player is `Send` and `Sync`; any number of threads may call [`Player::answer`] at once.
pub struct Player {
    exchanges: RecordedExchanges,
    options: MatchOptions,
    /// Start of the replay, in nanoseconds since 1970-01-01.
    started_at: i128,
    /// Time of the recorded run, if the record says so.
    recorded_window: Option<TimeWindow>,
    /// Forms of the recorded requests, once one is needed.
    forms: OnceLock<FormIndex>,
    /// Way in which the run goes on from its record; `None` for a replay that ends with it.
    fork: Option<Fork>,
    /// Exchange whose answer is replaced, and the new content.
    edit: Option<(usize, String)>,
    redactor: Mutex<Redactor>,
    state: Mutex<PlayerState>,
}

/// Reply to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayerReply {
    /// The recorded answer.
    Hit(Arc<RecordedAnswer>),
    /// No recorded answer; the [`Miss`] says why.
    Miss(Arc<Miss>),
}

/// State of a replay so far.
#[derive(Default)]
struct PlayerState {
    served: ServedExchanges,
    /// Ids of this replay that stand for those of the recorded run.
    substitutions: Substitutions,
    /// Exchanges that were found by equal bytes since the last search by form: their ids stand for themselves.
    equal_since: Vec<usize>,
    /// Conversations of this replay, by the recorded exchanges that were served.
    threads: ThreadIndex,
    levels: LevelCounts,
    /// Exchanges whose requests differed in what their level excuses.
    differing: DifferingList,
    /// Number of recorded denials that were served again; the next one has this index.
    denials_served: usize,
    ambiguous: usize,
    rebuilt: usize,
    found_by: Option<FoundBy>,
    misses: MissList,
    /// Prompts that were answered, if they are kept.
    prompts: ServedPromptList,
}

/// Way in which a run goes on from its record.
#[derive(Clone, Copy)]
enum Fork {
    /// Every request without a recorded answer goes to its vendor.
    Anywhere,
    /// Requests do so once this exchange was served; it is the last one that is.
    After(usize),
}

/// Reason for which a run cannot go on from its record as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// The step is no request, or the run has no such step.
    #[error("it is no step with a request and an answer")]
    NoExchange,
    /// Answers may be given more than once.
    #[error("answers of this record may be given more than once, so that they end with no step")]
    Repeatable,
}

/// Exchange that was found, and how.
#[derive(Clone, Copy)]
struct FoundExchange {
    level: MatchLevel,
    part: FoundBy,
    is_ambiguous: bool,
}

/// Result of a search by form.
enum Taken {
    Nothing,
    /// Index of the exchange, and the level at which it fits.
    One(usize, MatchLevel),
    /// Several fit that differ from each other.
    Several(MissCause),
}

/// Names of the rules by which a recorder masks values that it knows to be secret, wherever they appear.
pub mod rule {
    /// Rule for credentials that were sent in headers.
    pub const CREDENTIAL: &str = "credential";
    /// Rule for values of environment variables that are named like credentials.
    pub const ENVIRONMENT: &str = "environment";
    /// Rule for values that a recorder was told, such as the token in its gateway's address.
    pub const KNOWN: &str = "known";
}

impl Player {
    /// Reads all requests of a run, and computes their keys. Requests are masked with the standard redaction
    /// rules.
    ///
    /// # Errors
    /// As [`Player::load_with_pack`].
    pub fn load(run: &Run) -> Result<Self, LoadError> {
        Self::load_with_pack(run, RulePack::standard())
    }

    /// Reads all requests of a run, for a project that has redaction rules of its own.
    ///
    /// Requests are masked with the rules that the record names: those of `project`, or the standard rules
    /// alone.
    ///
    /// # Errors
    /// [`LoadError::Rules`] if the record was masked with custom rules other than `project`, since requests
    /// with secrets would not match; [`LoadError::OnlyHashes`] and [`LoadError::NothingToServe`] if no request
    /// of the record can be answered.
    pub fn load_with_pack(run: &Run, project: Arc<RulePack>) -> Result<Self, LoadError> {
        let pack = recorded_exchanges::redaction_pack(run, project)?;
        let library = RecordedExchanges::load(run)?;
        let state = PlayerState {
            served: ServedExchanges::none(library.entries.len(), library.groups.len()),
            ..PlayerState::default()
        };
        Ok(Self {
            recorded_window: recorded_window(run),
            exchanges: library,
            started_at: MatchOptions::default().now(),
            options: MatchOptions::default(),
            forms: OnceLock::new(),
            fork: None,
            edit: None,
            redactor: Mutex::new(Redactor::new(pack)),
            state: Mutex::new(state),
        })
    }

    /// Sets the options of the replay, which begins now.
    pub fn with_options(mut self, options: MatchOptions) -> Self {
        self.started_at = options.now();
        if let Some(window) = self.recorded_window.as_mut() {
            // No record says in which zone it was made: most are replayed where they were made.
            window.utc_offset = options.utc_offset;
        }
        self.options = options;
        self
    }

    /// Keeps the prompts that are answered from now on, for [`Player::served_prompts`].
    pub fn keeping_prompts(self) -> Self {
        self.state().prompts.keep();
        self
    }

    /// Returns the prompts that models were asked and that were answered, in the order in which they were; at most 10,001. Empty
    /// unless they are kept ([`Player::keeping_prompts`]).
    pub fn served_prompts(&self) -> Vec<ServedPrompt> {
        self.state().prompts.listed().to_vec()
    }

    /// Lets requests without a recorded answer go to their vendor ([`Player::fork_answer`]).
    ///
    /// With `last_step` only after that step was served: exchanges behind it are not served at all, and until then a request
    /// without a recorded answer is a miss.
    ///
    /// # Errors
    /// If there is no exchange of that step, or answers of the record may be given more than once, so that no step ends them.
    pub fn going_live(mut self, last_step: Option<&str>) -> Result<Self, ForkError> {
        let fork = match last_step {
            None => Fork::Anywhere,
            Some(step_id) => {
                let last = self.exchanges.index_of_step(step_id).ok_or(ForkError::NoExchange)?;
                if self.exchanges.is_repeatable() {
                    return Err(ForkError::Repeatable);
                }
                let mut state = self.state();
                for at in last + 1..self.exchanges.entries.len() {
                    state.served.mark(at);
                }
                drop(state);
                Fork::After(last)
            }
        };
        self.fork = Some(fork);
        Ok(self)
    }

    /// Replaces the recorded answer of a step: by a whole body in its vendor's shape, or by plain text, which becomes the message.
    /// A later call takes the place of an earlier one.
    ///
    /// # Errors
    /// If there is no such step, its answer is never given, or none can be made of the content; see [`EditError`].
    pub fn with_edit(mut self, step_id: &str, content: &[u8]) -> Result<Self, EditError> {
        let at = self.exchanges.index_of_step(step_id).ok_or(EditError::NoExchange)?;
        if self.state().served.is_served(at) {
            return Err(EditError::BehindFork);
        }
        let content = core::str::from_utf8(content).map_err(|_| EditError::NotText)?;
        check_edit(&self.exchanges.exchange(at).ok_or(EditError::NoExchange)?, content)?;
        self.edit = Some((at, content.to_owned()));
        Ok(self)
    }

    /// Registers a value that stands in for a secret: wherever a request contains the value, it is masked by
    /// the [`rule`] by which the recorder masked the secret.
    ///
    /// For the dummy values that a replayed command is given instead of its credentials.
    pub fn add_secret(&self, rule: impl Into<Cow<'static, str>>, value: &[u8]) {
        lock(&self.redactor).add_known(rule, value);
    }

    /// Returns the notes that were made while the run was loaded, at most 52.
    pub fn notes(&self) -> &[LoadNote] {
        &self.exchanges.notes
    }

    /// Returns the run that is played.
    pub fn run(&self) -> &Run {
        &self.exchanges.run
    }

    /// Returns the recorded answer to a request, and counts it as served.
    ///
    /// The request is masked as a recorder would mask it, then looked up by its keys, those of the largest part first: of
    /// several recorded exchanges with the same key, the next one in recorded order is served. If all are served, or
    /// none has the key, the recorded request that differs only in what the strictest [`MatchLevel`] excuses is
    /// served. A request that is not found may be one that policy denied in the recorded run; then it is denied
    /// again. Everything else is a [`Miss`].
    pub fn answer(&self, incoming: &PlayerRequest<'_>) -> PlayerReply {
        let masked = incoming.masked(&mut lock(&self.redactor));
        let (key, found) = self.find(&masked, incoming);
        found.unwrap_or_else(|cause| self.miss(&masked, key, cause))
    }

    /// Returns the recorded answer to a request as [`Player::answer`] does; `None` if there is none and the request goes to its
    /// vendor, as [`Player::going_live`] allows.
    pub fn fork_answer(&self, incoming: &PlayerRequest<'_>) -> Option<PlayerReply> {
        let masked = incoming.masked(&mut lock(&self.redactor));
        let (key, found) = self.find(&masked, incoming);
        match found {
            // A request that got no answer when it was recorded has none to be given.
            Ok(PlayerReply::Hit(answer)) if answer.status.is_none() && self.is_live() => None,
            Ok(hit) => Some(hit),
            Err(_) if self.is_live() => None,
            Err(cause) => Some(self.miss(&masked, key, cause)),
        }
    }

    /// Returns true if requests without a recorded answer go to their vendor from now on.
    fn is_live(&self) -> bool {
        match self.fork {
            None => false,
            Some(Fork::Anywhere) => true,
            Some(Fork::After(last)) => self.state().served.is_served(last),
        }
    }

    /// Counts a request without a recorded answer. Without a `cause` the closest recorded request is searched.
    fn miss(&self, masked: &MaskedPlayerRequest<'_>, key: Digest, cause: Option<MissCause>) -> PlayerReply {
        match cause {
            Some(cause) => self.record_miss(masked, key, cause),
            None => self.miss_unrecorded(masked, key),
        }
    }

    /// Searches the answer to a request, and counts it as served. Returns it with the key of the request; the cause is `None` where
    /// the closest recorded request tells more.
    fn find(
        &self,
        masked: &MaskedPlayerRequest<'_>,
        incoming: &PlayerRequest<'_>,
    ) -> (Digest, Result<PlayerReply, Option<MissCause>>) {
        let keys = request_key::requested_keys(masked, incoming, &self.exchanges.parts);
        let key = keys.first().map_or_else(|| masked.exact_key(), |(_, digest)| *digest);
        (key, self.find_by_keys(masked, incoming, &keys))
    }

    fn find_by_keys(
        &self,
        masked: &MaskedPlayerRequest<'_>,
        incoming: &PlayerRequest<'_>,
        keys: &[RequestKey],
    ) -> Result<PlayerReply, Option<MissCause>> {
        let found = keys.iter().find_map(|key| Some((key.0, self.exchanges.group_of(key)?)));
        let found = found.or_else(|| self.open_question(masked, incoming));
        // Places are told by the conversations so far, those that were found by equal bytes included.
        let mut form =
            (self.options.last_level == MatchLevel::Position).then(|| self.form_of(masked)).flatten();
        let next = found.and_then(|(part, group)| {
            let at = self.exchanges.take_next(group, &mut self.state().served)?;
            Some((
                at,
                FoundExchange {
                    level: MatchLevel::Exact,
                    part,
                    is_ambiguous: self.exchanges.is_ambiguous(group),
                },
            ))
        });
        if let Some((at, found)) = next {
            if self.options.last_level > MatchLevel::Exact && !self.exchanges.is_repeatable() {
                self.state().equal_since.push(at);
            }
            if let Some(form) = &form {
                self.state().threads.add(form, at);
            }
            return self.serve(at, found, masked, incoming);
        }
        form = form.or_else(|| self.form_of(masked));
        for last in [MatchLevel::Moved, MatchLevel::Tools] {
            match form.as_ref().map(|form| self.take_by_form(form, last.min(self.options.last_level))) {
                Some(Taken::One(at, level)) => {
                    let found = FoundExchange { level, part: FoundBy::Request, is_ambiguous: false };
                    return self.serve(at, found, masked, incoming);
                }
                Some(Taken::Several(cause)) => return Err(Some(cause)),
                Some(Taken::Nothing) | None => {}
            }
            // A denied request is told by its order alone, so that it comes before what tools may have changed.
            if let Some(denied) = self.replay_denial(masked, incoming) {
                return Ok(denied);
            }
        }
        if let Some(at) = form.as_ref().and_then(|form| self.take_by_place(form)) {
            let found =
                FoundExchange { level: MatchLevel::Position, part: FoundBy::Request, is_ambiguous: false };
            return self.serve(at, found, masked, incoming);
        }
        Err(found
            .map(|(_, group)| MissCause::AskedMoreOften { recorded: self.exchanges.members(group).len() }))
    }

    /// Returns the group of the question that a request is still about, where the record has its prompt's hash alone, has it more
    /// than once, and the first of them was asked for: tools were called on the way to the answer.
    fn open_question(
        &self,
        masked: &MaskedPlayerRequest<'_>,
        incoming: &PlayerRequest<'_>,
    ) -> Option<(FoundBy, usize)> {
        if !self.exchanges.parts.contains(&FoundBy::BodyHash) {
            return None;
        }
        let keys = request_key::question_keys(masked, incoming);
        let group = keys.iter().find_map(|key| self.exchanges.group_of(key))?;
        let [first, _, ..] = self.exchanges.members(group) else { return None };
        self.state().served.is_served(*first).then_some((FoundBy::BodyHash, group))
    }

    /// Serves the answer of an exchange that was taken.
    fn serve(
        &self,
        at: usize,
        found: FoundExchange,
        masked: &MaskedPlayerRequest<'_>,
        incoming: &PlayerRequest<'_>,
    ) -> Result<PlayerReply, Option<MissCause>> {
        let exchange = self.exchanges.exchange(at).ok_or(None)?;
        let step_id = exchange.step_id().into_owned();
        let answer = match (&self.edit, exchange.answer()) {
            (Some((edited, content)), Ok(recorded)) if *edited == at => {
                edited_answer(incoming, step_id, recorded, content)
            }
            (_, recorded) => RecordedAnswer::for_request(incoming, step_id, recorded),
        };
        match answer {
            Ok(answer) => {
                let prompt = self.state().prompts.is_open().then(|| ServedPrompt::of(&exchange, masked));
                let differing = (found.level > MatchLevel::Exact && !self.state().differing.is_full())
                    .then(|| DifferingExchange::of(&exchange, found.level, masked))
                    .flatten();
                let mut state = self.state();
                state.prompts.add(prompt.flatten());
                state.levels.add(found.level);
                state.ambiguous += usize::from(found.is_ambiguous);
                state.rebuilt += usize::from(answer.is_rebuilt);
                state.found_by = state.found_by.max(Some(found.part));
                if found.level > MatchLevel::Exact {
                    state.differing.add(differing);
                }
                Ok(PlayerReply::Hit(Arc::new(answer)))
            }
            Err(why) => {
                let step_id = Shown::new(&exchange.step_id()).to_string();
                Err(Some(MissCause::NoAnswer { step_id, why }))
            }
        }
    }

    /// Returns the form of a request; `None` if only exact matches count, or the request is no JSON.
    fn form_of(&self, masked: &MaskedPlayerRequest<'_>) -> Option<RequestForm> {
        if self.options.last_level == MatchLevel::Exact {
            return None;
        }
        RequestForm::of(&masked.key_parts(), masked.endpoint(), &self.options.rules)
    }

    /// Takes the recorded request that a form fits, at the strictest level up to `last`.
    fn take_by_form(&self, form: &RequestForm, last: MatchLevel) -> Taken {
        let index = self.forms.get_or_init(|| FormIndex::build(&self.exchanges, &self.options.rules));
        let asked_window = TimeWindow {
            start: self.started_at,
            end: self.options.now(),
            utc_offset: self.options.utc_offset,
        };
        // One lock for the search and its result, so that no two requests take one answer.
        let mut state = self.state();
        for at in core::mem::take(&mut state.equal_since) {
            index.ids_of(at).for_each(|word| state.substitutions.keep_itself(word));
        }
        let context = CompareContext {
            recorded_window: self.recorded_window.as_ref(),
            asked_window: &asked_window,
            substitutions: &state.substitutions,
            is_recorded: &|word| index.is_recorded_word(word),
        };
        match index.find(form, last, &context, |at| state.served.is_served(at)) {
            FormMatch::Nothing => Taken::Nothing,
            FormMatch::One { at, level, pairs } => {
                state.substitutions.keep(&pairs);
                state.served.mark(at);
                state.threads.add(form, at);
                Taken::One(at, level)
            }
            FormMatch::Several(both, level) => {
                let step_id = |at: usize| {
                    self.exchanges
                        .exchange(at)
                        .map(|exchange| Shown::new(&exchange.step_id()).to_string())
                        .unwrap_or_default()
                };
                Taken::Several(MissCause::Several { step_ids: both.map(step_id), level })
            }
        }
    }

    /// Takes the only recorded request that stands where a request stands in its conversation, if `--match` goes that far.
    fn take_by_place(&self, form: &RequestForm) -> Option<usize> {
        if self.options.last_level < MatchLevel::Position {
            return None;
        }
        let index = self.forms.get_or_init(|| FormIndex::build(&self.exchanges, &self.options.rules));
        let mut state = self.state();
        let place = state.threads.place(form);
        let at = index.at_place(place, |at| state.served.is_served(at))?;
        state.served.mark(at);
        state.threads.add(form, at);
        Some(at)
    }

    /// Serves the next recorded denial, if the request asks the same model and everything recorded before the
    /// denial is served.
    fn replay_denial(
        &self,
        masked: &MaskedPlayerRequest<'_>,
        incoming: &PlayerRequest<'_>,
    ) -> Option<PlayerReply> {
        let mut state = self.state();
        let denial = self.exchanges.denials.get(state.denials_served)?;
        let is_same = masked.model().unwrap_or_default() == Shown::new(&denial.model).to_string();
        if !is_same || !self.exchanges.is_all_served_before(denial.event_index, &state.served) {
            return None;
        }
        state.denials_served += 1;
        state.levels.add(MatchLevel::Exact);
        Some(PlayerReply::Hit(Arc::new(denial.answer(incoming))))
    }

    /// Makes the miss of a request whose key is not recorded. Agents retry, so the cause of an equal request is
    /// reused instead of searching for the closest one again.
    fn miss_unrecorded(&self, masked: &MaskedPlayerRequest<'_>, key: Digest) -> PlayerReply {
        let state = self.state();
        if let Some(cause) = state.misses.last_cause(&key).cloned() {
            drop(state);
            return self.record_miss(masked, key, cause);
        }
        let is_over = state.misses.is_full();
        let served: Vec<bool> =
            (0..self.exchanges.entries.len()).map(|at| state.served.is_served(at)).collect();
        drop(state);
        let is_served = |at: usize| served.get(at).copied().unwrap_or_default();
        let cause = match is_over {
            true => MissCause::NotCompared,
            false => match closest(&self.exchanges, masked, is_served) {
                Some(found) => MissCause::Unknown(found),
                None if self.exchanges.hash_only_requests > 0 => {
                    MissCause::OnlyHashes { recorded: self.exchanges.hash_only_requests }
                }
                None => MissCause::NothingRecorded,
            },
        };
        self.record_miss(masked, key, cause)
    }

    /// Counts a miss and keeps it, unless an equal one is kept.
    fn record_miss(&self, masked: &MaskedPlayerRequest<'_>, key: Digest, cause: MissCause) -> PlayerReply {
        let miss = Miss {
            provider: Shown::new(masked.provider).to_string(),
            method: Shown::new(masked.method).to_string(),
            path: Shown::new(&masked.path).to_string(),
            model: masked.model(),
            key: key.to_string(),
            cause,
        };
        PlayerReply::Miss(self.state().misses.add(key, miss))
    }

    /// Returns the outcome of the replay so far. Call it when the agent has ended.
    pub fn outcome(&self) -> ReplayOutcome {
        let state = self.state();
        let all = 0..self.exchanges.entries.len();
        let unused = all.filter(|at| !state.served.is_served(*at));
        ReplayOutcome {
            levels: state.levels,
            differing: state.differing.listed().to_vec(),
            misses: state.misses.listed().to_vec(),
            missed: state.misses.count(),
            accepts_tools: self.options.accepts_tools,
            unused: unused
                .filter_map(|at| Some(UnusedExchange::of(&self.exchanges.exchange(at)?, &self.options.rules)))
                .collect(),
            ambiguous: state.ambiguous,
            repeated: state.served.repeated,
            rebuilt: state.rebuilt,
            found_by: state.found_by,
        }
    }

    fn state(&self) -> MutexGuard<'_, PlayerState> {
        lock(&self.state)
    }
}

/// Returns the time of a recorded run; `None` if the record does not say when it began or ended.
fn recorded_window(run: &Run) -> Option<TimeWindow> {
    let (start, end) = run.time_span()?;
    Some(TimeWindow { start, end, utc_offset: None })
}

/// Locks a mutex, poisoned or not: each change under these locks is one step, so a panic leaves nothing half
/// done.
fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Player {
    /// Leaves out the redactor, which holds secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exchanges = self.exchanges.entries.len();
        f.debug_struct("Player")
            .field("run", &self.run().id())
            .field("exchanges", &exchanges)
            .finish_non_exhaustive()
    }
}
