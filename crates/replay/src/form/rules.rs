//! Rules of a replay: members of requests that change no answer, and words that an agent makes up anew in each run.
//!
//! They come from the row of the interface, from the row of the agent, and from the user. Start reading at [`MatchRules::new`].

use reenact_agents::{AgentRow, SideCallRow, VariesKind};
use reenact_json::path_pattern::{PathPattern, PathPatternError, PathPatterns, PathProgress};
use reenact_json::{Limits, Value};
use reenact_run::ExchangeRequest;
use reenact_wire::{Endpoint, PROTOCOLS, request_parts};

use super::token::TokenKind;

/// Rules of a replay, for all interfaces.
#[derive(Debug, Clone)]
pub struct MatchRules {
    /// Rules for the endpoints of [`PROTOCOLS`], in the order of that table.
    of_protocols: Vec<EndpointRules>,
    /// Rules for requests to no known interface.
    of_others: EndpointRules,
    side_calls: Vec<SideCallRule>,
}

/// Rule that recognises a call that may be made in any order, or not at all.
#[derive(Debug, Clone)]
struct SideCallRule {
    model_has: Option<String>,
    place: PathPatterns,
    begins: String,
}

/// Rules for the requests to one interface.
#[derive(Debug, Clone, Default)]
pub(crate) struct EndpointRules {
    pub(crate) patterns: PathPatterns,
    /// Rule of each pattern.
    places: Vec<PlaceRule>,
    /// Texts behind which a number stands that differs, in results of tools.
    pub(crate) number_labels: Vec<String>,
}

/// Rule for a place in requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlaceRule {
    /// The value changes no answer, and does not count.
    Free,
    /// The text is an id, which stands for the same thing wherever it stands.
    Id,
    /// The words behind these texts are of these kinds.
    After(Vec<(String, TokenKind)>),
}

impl MatchRules {
    /// Collects the rules of all interfaces with those of an agent's row, and the paths that the user leaves out.
    ///
    /// # Errors
    /// [`PathPatternError`] if a path of a row is none.
    pub fn new(agent: Option<&AgentRow>, ignored: &[PathPattern]) -> Result<Self, PathPatternError> {
        let mut shared = EndpointRules::default();
        let mut patterns: Vec<(PathPattern, PlaceRule)> =
            ignored.iter().map(|path| (path.clone(), PlaceRule::Free)).collect();
        for row in agent.into_iter().flat_map(|agent| &agent.varies) {
            match (&row.path, row.kind, &row.after) {
                (_, VariesKind::Number, Some(label)) => shared.number_labels.push(label.clone()),
                (Some(path), VariesKind::Id | VariesKind::Free, Some(label)) => {
                    let is_id = row.kind == VariesKind::Id;
                    let label = (label.clone(), if is_id { TokenKind::Id } else { TokenKind::Free });
                    let path = path.parse()?;
                    let labels = patterns.iter_mut().find_map(|(known, rule)| match rule {
                        PlaceRule::After(labels) if *known == path => Some(labels),
                        _ => None,
                    });
                    match labels {
                        Some(labels) => labels.push(label),
                        None => patterns.push((path, PlaceRule::After(vec![label]))),
                    }
                }
                (Some(path), VariesKind::Id, None) => patterns.push((path.parse()?, PlaceRule::Id)),
                (Some(path), VariesKind::Free, None) => patterns.push((path.parse()?, PlaceRule::Free)),
                // The row's own check refuses these.
                (None, VariesKind::Id | VariesKind::Free, _) | (_, VariesKind::Number, None) => {}
            }
        }
        let with = |own: &[&str]| {
            let own: Result<Vec<PathPattern>, _> = own.iter().map(|path| path.parse()).collect();
            let own = own?.into_iter().map(|path| (path, PlaceRule::Free));
            let (paths, places) = own.chain(patterns.iter().cloned()).unzip();
            Ok(EndpointRules { patterns: PathPatterns::new(paths), places, ..shared.clone() })
        };
        let of_protocols = PROTOCOLS.iter().map(|endpoint| with(request_parts::varying_members(*endpoint)));
        let side_call = |row: &SideCallRow| {
            let place = PathPatterns::new(vec![row.path.parse()?]);
            Ok(SideCallRule { model_has: row.model_has.clone(), place, begins: row.begins.clone() })
        };
        let side_calls = agent.into_iter().flat_map(|agent| &agent.side_call).map(side_call);
        Ok(Self {
            of_protocols: of_protocols.collect::<Result<_, _>>()?,
            of_others: with(&[])?,
            side_calls: side_calls.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the rules of the interfaces alone.
    pub fn of_protocols() -> Self {
        // Paths of the table are patterns: a test of wire parses them all.
        Self::new(None, &[]).unwrap_or(Self {
            of_protocols: Vec::new(),
            of_others: EndpointRules::default(),
            side_calls: Vec::new(),
        })
    }

    /// Returns the rules for requests to an interface.
    pub(crate) fn of_endpoint(&self, endpoint: Option<Endpoint>) -> &EndpointRules {
        let at = endpoint.and_then(|endpoint| PROTOCOLS.iter().position(|row| *row == endpoint));
        at.and_then(|at| self.of_protocols.get(at)).unwrap_or(&self.of_others)
    }
}

impl MatchRules {
    /// Returns true if a recorded request may be made in any order, or not at all: it asks for nothing but headers, is of an interface
    /// that says so, or is one that the agent's row names.
    pub(crate) fn is_side_call(&self, request: &ExchangeRequest<'_>) -> bool {
        if request.method == "HEAD" || request.endpoint.is_some_and(Endpoint::is_side_call) {
            return true;
        }
        let has_model = |rule: &&SideCallRule| {
            let part = rule.model_has.as_deref().unwrap_or_default();
            request.model.as_deref().unwrap_or_default().contains(part)
        };
        let mut rules = self.side_calls.iter().filter(has_model).peekable();
        if rules.peek().is_none() {
            return false;
        }
        let Ok(body) = Value::parse(request.body.bytes(), &Limits::default()) else { return false };
        rules.any(|rule| has_text(body, &rule.place, &rule.place.at_root(), &rule.begins))
    }
}

/// Returns true if a text at one of the places begins so.
fn has_text(value: Value<'_>, places: &PathPatterns, progress: &PathProgress, begins: &str) -> bool {
    if progress.is_over() {
        return false;
    }
    if places.matches(progress).next().is_some()
        && value.string().is_some_and(|text| text.starts_with(begins))
    {
        return true;
    }
    let is_in_member = |(name, member): (Value<'_>, Value<'_>)| {
        let progress = places.at_member(progress, &name.string().unwrap_or_default());
        has_text(member, places, &progress, begins)
    };
    let is_in_element =
        |(index, element)| has_text(element, places, &places.at_element(progress, index), begins);
    value.members().any(is_in_member) || value.elements().enumerate().any(is_in_element)
}

impl EndpointRules {
    /// Returns the rule for a place; the first that fits, if there are several.
    pub(crate) fn place(&self, progress: &PathProgress) -> Option<&PlaceRule> {
        self.patterns.matches(progress).next().and_then(|pattern| self.places.get(pattern))
    }
}
