//! The recorded exchanges, by their keys.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reenact_json::{Digest, Shown};
use reenact_run::FormatId;
use reenact_run::{Body, Exchange, Held, Run, Unreadable};
use reenact_secrets::Pack;

use crate::denial::Denial;
use crate::rung::{self, Key, Rung};
use crate::told::Told;

/// Why a run cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A record of tools, of which it holds the calls and the hashes of what they gave.
    #[error(
        "a REPLAY.jsonl holds only hashes of what tools gave, and no answer of a model: nothing in it can be replayed (E_REPLAY_MISSING_DEPENDENCY)\nreplay a record that holds answers: an RER artifact, an .rpk, a Model IO session or a Replay Bundle"
    )]
    OnlyHashes,
    /// Masked with rules of a project's own, which are not those that are here.
    #[error(
        "the run was masked with rules of its project's own (digest {recorded}), and those here are others (digest {ours}): requests with secrets would not be found (E_REPLAY_MISSING_DEPENDENCY)\nreplay it where reenact.toml has the [redaction] rules that it was recorded with"
    )]
    Rules {
        /// The digest that the record names.
        recorded: String,
        /// That of the rules that are here.
        ours: String,
    },
    /// There are exchanges, but none whose request can be read.
    #[error("none of the {exchanges} recorded requests can be read; of the first one, {first}")]
    NothingToServe {
        /// How many there are.
        exchanges: usize,
        /// What is wrong with the first.
        first: Unreadable,
    },
}

/// The rules that a run's requests are masked with.
pub(crate) fn pack(run: &Run, project: Arc<Pack>) -> Result<Arc<Pack>, LoadError> {
    let redaction = recorded_rules(run);
    let Some((name, digest)) = redaction.filter(|(name, _)| Pack::is_custom(name)) else {
        return Ok(Pack::standard());
    };
    let ours = Digest::of(project.text().as_bytes());
    if name == project.name() && ours.is_hex(digest.as_bytes()) {
        return Ok(project);
    }
    Err(LoadError::Rules { recorded: Shown::new(&digest).to_string(), ours: ours.to_string() })
}

/// The name and the digest of the rules that a record names.
fn recorded_rules(run: &Run) -> Option<(String, String)> {
    if run.dialect() != FormatId::Rer {
        return None;
    }
    let redaction = run.started()?.member("redaction")?;
    let word = |name: &str| redaction.member(name).and_then(|word| Some(word.string()?.into_owned()));
    Some((word("pack")?, word("digest").unwrap_or_default()))
}

/// Something about a run that whoever plays it should know. Step ids are safe to print.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The recorder's key is not the one that its request has; ours is used.
    #[error("step {step_id}: the recorded match_key is not that of the recorded request, and is not used")]
    MatchKey {
        /// Which step.
        step_id: String,
    },
    /// A request that cannot be matched.
    #[error("step {step_id}: the request cannot be read ({why}), so nothing will match it")]
    Request {
        /// Which step.
        step_id: String,
        /// What is wrong with it.
        why: Unreadable,
    },
    /// Masked by other rules than ours.
    #[error(
        "the run was masked with the rules {recorded}, here are {ours}: requests that contain secrets may not match"
    )]
    Pack {
        /// The name of the rules that the record names.
        recorded: String,
        /// The name of ours.
        ours: String,
    },
    /// There are more notes than are kept.
    #[error("{more} more notes of this kind")]
    More {
        /// How many.
        more: usize,
    },
}

/// How many notes are worth keeping.
const MOST_NOTES: usize = 50;

/// One recorded exchange.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The place of the event with the request.
    pub(crate) event: usize,
    /// Which group it belongs to, and its place there; `None` if its request cannot be read.
    pub(crate) group: Option<(usize, usize)>,
    /// A digest of what it is a request to: whom, how, where without the query.
    pub(crate) place: u64,
}

/// Exchanges with the same key, in recorded order.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Places in [`Library::recorded`].
    members: Vec<usize>,
    /// Groups of the same request whose record does not say where it went: what is given here stands for theirs, too.
    beside: Vec<usize>,
    /// Whether their answers differ.
    differ: bool,
}

/// All exchanges of a run.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) run: Run,
    pub(crate) recorded: Vec<Recorded>,
    pub(crate) groups: Vec<Group>,
    by_key: HashMap<Key, usize>,
    /// Which keys there are.
    pub(crate) rungs: BTreeSet<Rung>,
    /// Whether an answer may be given again: a bundle says what is answered, not how often.
    is_repeatable: bool,
    /// How many requests are known by their hash alone.
    pub(crate) hashes: usize,
    pub(crate) notes: Vec<Note>,
    /// What was denied, in order.
    pub(crate) denials: Vec<Denial>,
}

impl Library {
    pub(crate) fn load(run: &Run) -> Result<Self, LoadError> {
        if run.dialect() == FormatId::ReplayJsonl {
            return Err(LoadError::OnlyHashes);
        }
        let mut library = Self {
            run: run.clone(),
            recorded: Vec::new(),
            groups: Vec::new(),
            by_key: HashMap::new(),
            rungs: BTreeSet::new(),
            is_repeatable: run.dialect() == FormatId::ReplayBundle,
            hashes: 0,
            notes: Vec::new(),
            denials: Denial::all(run),
        };
        let mut first = None;
        let mut notes = 0;
        let mut beside = Vec::new();
        for exchange in run.exchanges() {
            if let Some(note) = library.take(&exchange, &mut beside) {
                if let Note::Request { why, .. } = &note {
                    first.get_or_insert_with(|| why.clone());
                }
                notes += 1;
                if library.notes.len() < MOST_NOTES {
                    library.notes.push(note);
                }
            }
        }
        if let (Some(first), true) = (first, library.groups.is_empty()) {
            return Err(LoadError::NothingToServe { exchanges: library.recorded.len(), first });
        }
        if notes > library.notes.len() {
            library.notes.push(Note::More { more: notes - library.notes.len() });
        }
        library.notes.extend(pack_note(run));
        library.join(beside);
        library.compare_answers();
        Ok(library)
    }

    /// Joins groups to those of the same requests, which may come before them or after.
    fn join(&mut self, beside: Vec<(usize, Vec<Key>)>) {
        for (group, keys) in beside.into_iter().filter(|_| self.is_repeatable) {
            let found: BTreeSet<usize> = keys.iter().filter_map(|key| self.group(key)).collect();
            if let Some(own) = self.groups.get_mut(group).filter(|own| own.beside.is_empty()) {
                own.beside = found.into_iter().filter(|other| *other != group).collect();
            }
        }
    }

    fn take(&mut self, exchange: &Exchange<'_>, beside: &mut Vec<(usize, Vec<Key>)>) -> Option<Note> {
        let event = exchange.called.index();
        let step_id = || Shown::new(&exchange.step_id()).to_string();
        let request = match exchange.request() {
            Ok(request) => request,
            Err(why) => {
                self.recorded.push(Recorded { event, group: None, place: 0 });
                return Some(Note::Request { step_id: step_id(), why });
            }
        };
        let keys = rung::recorded(&request, exchange.called.dialect() == FormatId::Rer);
        let Some(&(own, digest)) = keys.own.first() else {
            self.recorded.push(Recorded { event, group: None, place: 0 });
            let why = Unreadable::Missing { member: "what was asked" };
            return Some(Note::Request { step_id: step_id(), why });
        };
        let group = *self.by_key.entry((own, digest)).or_insert_with(|| {
            self.groups.push(Group::default());
            self.groups.len() - 1
        });
        beside.push((group, keys.beside));
        for key in keys.own {
            self.rungs.insert(key.0);
            self.by_key.entry(key).or_insert(group);
        }
        self.hashes += usize::from(matches!(request.body, Body::Hash(_)));
        let members = &mut self.groups[group].members;
        members.push(self.recorded.len());
        let group = Some((group, members.len() - 1));
        let place = place(&request.provider, &request.method, &request.path);
        self.recorded.push(Recorded { event, group, place });
        let differs = own == Rung::Exact
            && request.match_key.is_some_and(|recorded| !digest.is_hex(recorded.as_bytes()));
        differs.then(|| Note::MatchKey { step_id: step_id() })
    }

    /// Finds the groups whose answers are not all the same. Headers do not count: ids and dates always differ.
    fn compare_answers(&mut self) {
        let says = |at: &usize| {
            let exchange = self.run.exchange(self.recorded.get(*at)?.event)?;
            let answer = exchange.answer().ok()?;
            let said = answer.said.as_ref().map(|said| (said.text.clone(), said.tool_calls.clone()));
            Some((answer.status, answer.complete, Digest::of(&answer.body), said))
        };
        let differ = |group: &Group| {
            if self.is_repeatable {
                return self.contradicts(group);
            }
            let mut answers = group.members.iter().map(says);
            let first = answers.next();
            answers.any(|answer| Some(answer) != first)
        };
        let differ: Vec<bool> = self.groups.iter().map(differ).collect();
        for (group, differ) in self.groups.iter_mut().zip(differ) {
            group.differ = differ;
        }
    }

    /// Whether the records of a request that may be given again say different things: one is given for all of them.
    fn contradicts(&self, group: &Group) -> bool {
        let others = group.beside.iter().flat_map(|other| self.members(*other));
        let all: Vec<usize> = group.members.iter().chain(others).copied().collect();
        if all.len() < 2 {
            return false;
        }
        let exchanges = || all.iter().filter_map(|at| self.exchange(*at));
        let endpoint = exchanges().find_map(|exchange| exchange.request().ok()?.endpoint);
        let mut told = Told::default();
        exchanges().any(|exchange| told.contradicts(&exchange, endpoint))
    }

    /// The group of requests with this key.
    pub(crate) fn group(&self, key: &Key) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// Of a group, so many of which were given out: the next one to give, and how many are given then. What may be given again is
    /// given in the best form that there is, and stands for all of its group.
    pub(crate) fn next(&self, group: usize, given: usize) -> Option<(usize, usize)> {
        let members = self.members(group);
        if !self.is_repeatable {
            return Some((*members.get(given)?, given + 1));
        }
        let held = |at: &&usize| {
            let answer = self.exchange(**at).and_then(|exchange| exchange.answer().ok());
            answer.map_or((true, Held::Said), |answer| (false, answer.held))
        };
        Some((*members.iter().min_by_key(held)?, members.len()))
    }

    /// The exchanges of a group, in recorded order: places in [`Library::recorded`].
    pub(crate) fn members(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], |group| &group.members)
    }

    /// The groups that a group stands for.
    pub(crate) fn beside(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], |group| &group.beside)
    }

    /// Whether the answers of a group differ.
    pub(crate) fn is_ambiguous(&self, group: usize) -> bool {
        self.groups.get(group).is_some_and(|group| group.differ)
    }

    /// Whether the exchange at a place is among those given out, so many of each group.
    pub(crate) fn is_given(&self, at: usize, given: &[usize]) -> bool {
        let group = self.recorded.get(at).and_then(|recorded| recorded.group);
        group.is_some_and(|(group, place)| given.get(group).is_some_and(|given| place < *given))
    }

    /// Whether everything that was asked before an event has been asked.
    pub(crate) fn is_reached(&self, event: usize, given: &[usize]) -> bool {
        let before = self.recorded.iter().enumerate().take_while(|(_, recorded)| recorded.event < event);
        before.into_iter().all(|(at, recorded)| recorded.group.is_none() || self.is_given(at, given))
    }

    /// The exchange at a place in [`Library::recorded`].
    pub(crate) fn exchange(&self, at: usize) -> Option<Exchange<'_>> {
        self.run.exchange(self.recorded.get(at)?.event)
    }
}

/// A number for whom, how and where, the query left out: requests to the same place are the closest to each other.
pub(crate) fn place(provider: &str, method: &str, path: &str) -> u64 {
    let path = path.split('?').next().unwrap_or(path);
    let digest = Digest::of(format!("{provider}\0{method}\0{path}").as_bytes());
    digest.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn pack_note(run: &Run) -> Option<Note> {
    if run.dialect() != FormatId::Rer {
        return None;
    }
    let redaction = run.started()?.member("redaction")?;
    let word = |name: &str| redaction.member(name).and_then(|word| word.string());
    let ours = Pack::standard();
    if word("pack").is_some_and(|pack| Pack::is_custom(&pack)) {
        // Compared before, digest and all.
        return None;
    }
    let digest = Digest::of(ours.text().as_bytes());
    let same = word("pack").is_some_and(|pack| pack == ours.name())
        && word("digest").is_none_or(|found| digest.is_hex(found.as_bytes()));
    let name = |pack: &str, digest: &str| format!("{} ({})", Shown::new(pack), Shown::new(digest));
    (!same).then(|| Note::Pack {
        recorded: name(&word("pack").unwrap_or_default(), &word("digest").unwrap_or_default()),
        ours: name(ours.name(), &digest.to_string()),
    })
}
