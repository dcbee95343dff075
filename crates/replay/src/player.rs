//! The player: requests in, recorded answers out.
//!
//! All state that changes during a replay is here, behind locks: the known secrets, the number of answers
//! served, and the misses. The recorded exchanges themselves never change. Start reading at [`Player::answer`].

use core::fmt;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reenact_json::{Digest, Shown};
use reenact_run::Run;
use reenact_secrets::{Redactor, RulePack};

use crate::answer::RecordedAnswer;
use crate::closest::closest;
use crate::match_level::{self, MatchLevel};
use crate::miss::{Miss, MissCause};
use crate::miss_list::MissList;
use crate::outcome::{ReplayOutcome, UnusedExchange};
use crate::recorded_exchanges::{self, LoadError, LoadNote, RecordedExchanges};
use crate::request::{MaskedPlayerRequest, PlayerRequest};

/// Player of a recorded run: serves each recorded answer once, to the request that it was recorded for.
///
/// A player is `Send` and `Sync`; any number of threads may call [`Player::answer`] at once.
pub struct Player {
    exchanges: RecordedExchanges,
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
    /// Number of answers served from each key group, by the group's index.
    served_per_group: Vec<usize>,
    hits: usize,
    /// Number of recorded denials that were served again; the next one has this index.
    denials_served: usize,
    ambiguous: usize,
    rebuilt: usize,
    weakest_level: Option<MatchLevel>,
    misses: MissList,
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
        let state = PlayerState { served_per_group: vec![0; library.groups.len()], ..PlayerState::default() };
        let redactor = Redactor::new(pack);
        Ok(Self { exchanges: library, redactor: Mutex::new(redactor), state: Mutex::new(state) })
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
    /// The request is masked as a recorder would mask it, then looked up by its keys, the strictest
    /// [`MatchLevel`] first. Of several recorded exchanges with the same key, the next one in recorded order is
    /// served. A request that is not found may be one that policy denied in the recorded run; then it is denied
    /// again. Everything else is a [`Miss`].
    pub fn answer(&self, incoming: &PlayerRequest<'_>) -> PlayerReply {
        let masked = incoming.masked(&mut lock(&self.redactor));
        let keys = match_level::requested_keys(&masked, incoming, &self.exchanges.levels);
        let key = keys.first().map_or_else(|| masked.exact_key(), |(_, digest)| *digest);
        let found = keys.iter().find_map(|key| Some((key.0, self.exchanges.group_of(key)?)));
        let Some((rung, group)) = found else {
            return self
                .replay_denial(&masked, incoming)
                .unwrap_or_else(|| self.miss_unrecorded(&masked, key));
        };
        let Some(at) = self.take_next(group) else {
            if let Some(denied) = self.replay_denial(&masked, incoming) {
                return denied;
            }
            let recorded = self.exchanges.members(group).len();
            return self.record_miss(&masked, key, MissCause::AskedMoreOften { recorded });
        };
        let Some(exchange) = self.exchanges.exchange(at) else { return self.miss_unrecorded(&masked, key) };
        match RecordedAnswer::for_request(incoming, exchange.step_id().into_owned(), exchange.answer()) {
            Ok(answer) => {
                let mut state = self.state();
                state.hits += 1;
                state.ambiguous += usize::from(self.exchanges.is_ambiguous(group));
                state.rebuilt += usize::from(answer.is_rebuilt);
                state.weakest_level = state.weakest_level.max(Some(rung));
                PlayerReply::Hit(Arc::new(answer))
            }
            Err(why) => {
                let step_id = Shown::new(&exchange.step_id()).to_string();
                self.record_miss(&masked, key, MissCause::NoAnswer { step_id, why })
            }
        }
    }

    /// Takes the next exchange of a group to serve; `None` if all of them are served. Groups that are aliases
    /// of this one count as served, too.
    fn take_next(&self, group: usize) -> Option<usize> {
        let mut state = self.state();
        let given = state.served_per_group.get_mut(group)?;
        let (at, given_then) = self.exchanges.next_answer(group, *given)?;
        *given = given_then;
        for &other in self.exchanges.aliases(group) {
            if let Some(given) = state.served_per_group.get_mut(other) {
                *given = self.exchanges.members(other).len();
            }
        }
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
        if !is_same || !self.exchanges.is_all_served_before(denial.event_index, &state.served_per_group) {
            return None;
        }
        state.denials_served += 1;
        state.hits += 1;
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
        let given = state.served_per_group.clone();
        drop(state);
        let is_served = |at: usize| self.exchanges.is_served(at, &given);
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
        let unused = all.filter(|at| !self.exchanges.is_served(*at, &state.served_per_group));
        ReplayOutcome {
            hits: state.hits,
            misses: state.misses.listed().to_vec(),
            missed: state.misses.count(),
            unused: unused.filter_map(|at| Some(UnusedExchange::of(&self.exchanges.exchange(at)?))).collect(),
            ambiguous: state.ambiguous,
            rebuilt: state.rebuilt,
            weakest_level: state.weakest_level,
        }
    }

    fn state(&self) -> MutexGuard<'_, PlayerState> {
        lock(&self.state)
    }
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
