//! Requests in, recorded answers out.

use core::fmt;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reenact_json::{Digest, Shown};
use reenact_run::Run;
use reenact_secrets::{Pack, Redactor};

use crate::answer::RecordedAnswer;
use crate::closest::closest;
use crate::incoming::{Incoming, Masked};
use crate::library::{self, Library, LoadError, Note};
use crate::miss::{Cause, Miss};
use crate::outcome::{Outcome, Unused};
use crate::rung::{self, Rung};

/// Plays a recorded run: each recorded answer once, to the request that it was recorded for. Any number of threads may ask.
pub struct Player {
    library: Library,
    masks: Mutex<Redactor>,
    state: Mutex<State>,
}

/// What a request gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// What was recorded.
    Hit(Arc<RecordedAnswer>),
    /// Nothing, and why.
    Miss(Arc<Miss>),
}

/// What was asked so far.
#[derive(Default)]
struct State {
    /// How many of each group were given out.
    given: Vec<usize>,
    hits: usize,
    /// How many of those that were denied were denied again.
    denied: usize,
    ambiguous: usize,
    rebuilt: usize,
    rung: Option<Rung>,
    missed: usize,
    misses: Vec<Arc<Miss>>,
    /// The last miss of each key.
    miss_of: HashMap<Digest, Arc<Miss>>,
}

/// The rules by which a recorder masks what it knows to be secret, wherever it appears.
pub mod rule {
    /// Credentials that it saw in headers.
    pub const CREDENTIAL: &str = "credential";
    /// Values of variables that are named like credentials.
    pub const ENVIRONMENT: &str = "environment";
}

/// An agent that asks for ever is not listened to for ever.
const MOST_MISSES: usize = 1_000;

impl Player {
    /// Reads all requests of a run, and computes their keys.
    pub fn load(run: &Run) -> Result<Self, LoadError> {
        Self::load_with(run, Pack::standard())
    }

    /// The same, where a project has rules of its own. Requests are masked with the rules that the record names: these, or ours
    /// alone. A record that was masked with other rules of a project's own is refused: what it holds would not be found.
    pub fn load_with(run: &Run, project: Arc<Pack>) -> Result<Self, LoadError> {
        let pack = library::pack(run, project)?;
        let library = Library::load(run)?;
        let state = State { given: vec![0; library.groups.len()], ..State::default() };
        let masks = Redactor::new(pack);
        Ok(Self { library, masks: Mutex::new(masks), state: Mutex::new(state) })
    }

    /// Makes a value known that stands in for a secret: it is masked, wherever a request has it, by the [`rule`] by which the
    /// recorder masked that secret. For the dummies that a replayed command is given in the place of its credentials.
    pub fn know(&self, rule: impl Into<Cow<'static, str>>, value: &[u8]) {
        locked(&self.masks).know(rule, value);
    }

    /// What whoever plays this run should know.
    pub fn notes(&self) -> &[Note] {
        &self.library.notes
    }

    /// The run that is played.
    pub fn run(&self) -> &Run {
        &self.library.run
    }

    /// The answer to a request.
    pub fn answer(&self, incoming: &Incoming<'_>) -> Reply {
        let asked = incoming.masked(&mut locked(&self.masks));
        let keys = rung::asked(&asked, incoming, &self.library.rungs);
        let key = keys.first().map_or_else(|| asked.key(), |(_, digest)| *digest);
        let found = keys.iter().find_map(|key| Some((key.0, self.library.group(key)?)));
        let Some((rung, group)) = found else {
            return self.denied(&asked, incoming).unwrap_or_else(|| self.unknown(&asked, key));
        };
        let Some(at) = self.take(group) else {
            if let Some(denied) = self.denied(&asked, incoming) {
                return denied;
            }
            let recorded = self.library.members(group).len();
            return self.miss(&asked, key, Cause::AskedMoreOften { recorded });
        };
        let Some(exchange) = self.library.exchange(at) else { return self.unknown(&asked, key) };
        match RecordedAnswer::to(incoming, exchange.step_id().into_owned(), exchange.answer()) {
            Ok(answer) => {
                let mut state = self.state();
                state.hits += 1;
                state.ambiguous += usize::from(self.library.is_ambiguous(group));
                state.rebuilt += usize::from(answer.is_rebuilt);
                state.rung = state.rung.max(Some(rung));
                Reply::Hit(Arc::new(answer))
            }
            Err(why) => {
                let step_id = Shown::new(&exchange.step_id()).to_string();
                self.miss(&asked, key, Cause::NoAnswer { step_id, why })
            }
        }
    }

    /// The next of a group that nobody was given yet, or that may be given again.
    fn take(&self, group: usize) -> Option<usize> {
        let mut state = self.state();
        let given = state.given.get_mut(group)?;
        let (at, given_then) = self.library.next(group, *given)?;
        *given = given_then;
        for &other in self.library.beside(group) {
            if let Some(given) = state.given.get_mut(other) {
                *given = self.library.members(other).len();
            }
        }
        Some(at)
    }

    /// What was denied next, if this can be that.
    fn denied(&self, asked: &Masked<'_>, incoming: &Incoming<'_>) -> Option<Reply> {
        let mut state = self.state();
        let denial = self.library.denials.get(state.denied)?;
        let is_same = asked.model().unwrap_or_default() == Shown::new(&denial.model).to_string();
        if !is_same || !self.library.is_reached(denial.event, &state.given) {
            return None;
        }
        state.denied += 1;
        state.hits += 1;
        Some(Reply::Hit(Arc::new(denial.answer(incoming))))
    }

    /// A request whose key nothing has. Agents try again: what was found once is not looked for twice.
    fn unknown(&self, asked: &Masked<'_>, key: Digest) -> Reply {
        let state = self.state();
        if let Some(before) = state.miss_of.get(&key) {
            let cause = before.cause.clone();
            drop(state);
            return self.miss(asked, key, cause);
        }
        let is_over = state.misses.len() >= MOST_MISSES;
        let given = state.given.clone();
        drop(state);
        let is_served = |at: usize| self.library.is_given(at, &given);
        let cause = match is_over {
            true => Cause::NotCompared,
            false => match closest(&self.library, asked, is_served) {
                Some(found) => Cause::Unknown(found),
                None if self.library.hashes > 0 => Cause::OnlyHashes { recorded: self.library.hashes },
                None => Cause::NothingRecorded,
            },
        };
        self.miss(asked, key, cause)
    }

    fn miss(&self, asked: &Masked<'_>, key: Digest, cause: Cause) -> Reply {
        let model = asked.model();
        let mut state = self.state();
        state.missed += 1;
        if let Some(before) = state.miss_of.get(&key).filter(|before| before.cause == cause) {
            return Reply::Miss(Arc::clone(before));
        }
        let miss = Arc::new(Miss {
            provider: Shown::new(asked.provider).to_string(),
            method: Shown::new(asked.method).to_string(),
            path: Shown::new(&asked.path).to_string(),
            model,
            key: key.to_string(),
            cause,
        });
        if state.misses.len() < MOST_MISSES {
            state.misses.push(Arc::clone(&miss));
            state.miss_of.insert(key, Arc::clone(&miss));
        }
        Reply::Miss(miss)
    }

    /// What became of it all so far.
    pub fn conclude(&self) -> Outcome {
        let state = self.state();
        let all = 0..self.library.recorded.len();
        let unused = all.filter(|at| !self.library.is_given(*at, &state.given));
        Outcome {
            hits: state.hits,
            misses: state.misses.clone(),
            missed: state.missed,
            unused: unused.filter_map(|at| Some(Unused::of(&self.library.exchange(at)?))).collect(),
            ambiguous: state.ambiguous,
            rebuilt: state.rebuilt,
            rung: state.rung,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// What is behind a lock. A thread that panicked while it held one left nothing half done: each change is one step.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Player {
    /// Says nothing of the values that it knows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exchanges = self.library.recorded.len();
        f.debug_struct("Player")
            .field("run", &self.run().id())
            .field("exchanges", &exchanges)
            .finish_non_exhaustive()
    }
}
