//! The plan of a recording or a replay: what would be set for an agent, why, and what that changes.
//!
//! A plan is made before there is a gateway, and reads only. [`crate::launch`] puts the gateway's address into it. Start
//! reading at [`LaunchPlan::new`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reenact_wire::{BaseVariable, VENDORS, Vendor};

use crate::command::{ArgumentsPlace, NO_PROGRAM_ADVICE, OWN_ARGUMENTS_ADVICE, RecognisedCommand};
use crate::condition;
use crate::dummy::{self, PlannedDummy, RecordedLogin};
use crate::effective::EffectiveVariables;
use crate::installed;
use crate::local::LocalEnvironment;
use crate::login;
use crate::options;
use crate::provider::{self, ChosenProvider};
use crate::row::{AgentRow, LoginKind, ProviderKind, SetRow};

/// Reason for which there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// JSON that the user gives to be merged into is none.
    #[error("{place}: what you give there is no JSON object, so that an address cannot be added to it")]
    NoObject {
        /// Option or variable.
        place: String,
    },
}

/// Route that an agent needs beside those of the vendors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRoute {
    /// Name in the gateway's address and in records.
    pub name: String,
    /// Vendor whose interface is spoken.
    pub speaks: Vendor,
    /// Address to which requests go.
    pub upstream: String,
}

/// Thing that is set, and its effect on the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserverNote {
    /// The thing, with `GATEWAY` in place of the gateway's address.
    pub set: String,
    /// Effect and reason.
    pub why: String,
}

/// One thing to set, with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedSetting {
    pub(crate) row: SettingKind,
    pub(crate) why: String,
    /// Variable that a file overrides, for the placeholders `${overridden:…}`.
    pub(crate) overridden: Option<(BaseVariable, Vendor)>,
}

/// Kind of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingKind {
    Variable {
        name: String,
        value: String,
    },
    /// Variable or option whose value is the path of an overlay file, or the JSON itself.
    Json {
        place: JsonPlace,
        file: Option<String>,
        json: String,
        merged_into: Option<serde_json::Value>,
    },
    Arguments(Vec<String>),
    /// Variable that stays as the user has it.
    Leave(String),
}

/// Place of JSON settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonPlace {
    Variable(String),
    Option(String),
}

/// Facts on an agent on this machine, before anything is decided.
pub(crate) struct AgentContext<'a> {
    pub(crate) row: &'a AgentRow,
    pub(crate) local: &'a LocalEnvironment,
    pub(crate) arguments: &'a [String],
    pub(crate) effective: &'a EffectiveVariables,
}

impl AgentContext<'_> {
    /// Returns a variable as the agent sees it, if it is not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.effective.get(name, self.local)
    }

    /// Returns the file that a path of the row names.
    pub(crate) fn path(&self, path: &str) -> Option<PathBuf> {
        self.local.path(path, &self.row.folders, &|name| options::last_value(self.arguments, &[name]))
    }
}

/// Login and provider of an agent.
pub(crate) struct Findings {
    pub(crate) login: LoginKind,
    pub(crate) provider: Option<ChosenProvider>,
}

/// Route of the provider that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderTarget {
    pub(crate) route: String,
    /// Member that sets the address.
    pub(crate) key: String,
    /// Path behind the address of the route.
    pub(crate) path: String,
}

/// Plan of a recording or a replay of a known agent.
#[derive(Clone)]
pub struct LaunchPlan {
    /// Name of the agent.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Way in which the agent was recognised.
    pub recognised: RecognisedCommand,
    /// Kind of its login.
    pub login: LoginKind,
    /// Version, if it can be told without running it.
    pub version: Option<String>,
    /// Routes that it needs beside those of the vendors.
    pub routes: Vec<PlannedRoute>,
    /// Calls that will not be recorded.
    pub unrecorded: Vec<String>,
    pub(crate) settings: Vec<PlannedSetting>,
    /// Options by which the user sets single members.
    pub(crate) override_options: Vec<String>,
    /// Names of all routes of the row.
    row_routes: Vec<String>,
    /// Dummies in place of the recorded login, for a replay.
    pub(crate) dummies: Vec<PlannedDummy>,
    /// Dummies in settings that stand for credentials.
    pub(crate) covered_secrets: Vec<String>,
    /// Variables of logins of another kind than the recorded one.
    pub(crate) other_logins: Vec<String>,
    /// Chosen provider.
    pub(crate) provider: Option<ProviderTarget>,
    effective: EffectiveVariables,
    local: LocalEnvironment,
}

impl LaunchPlan {
    /// Makes the plan for an agent that was recognised in a command.
    ///
    /// `upstreams` holds the addresses by which the user overrides those of vendors, as route and address.
    ///
    /// # Errors
    ///
    /// If the user's own settings cannot be merged with.
    pub fn new(
        row: &AgentRow,
        recognised: RecognisedCommand,
        local: &LocalEnvironment,
        upstreams: &[(String, String)],
    ) -> Result<Self, PlanError> {
        Self::make(row, recognised, local, upstreams, None)
    }

    /// Makes the plan for the replay of an agent that was recorded with a login: its kind counts, whatever is found on this machine,
    /// and dummies stand for it.
    ///
    /// # Errors
    ///
    /// As [`LaunchPlan::new`].
    pub fn for_replay(
        row: &AgentRow,
        recognised: RecognisedCommand,
        local: &LocalEnvironment,
        upstreams: &[(String, String)],
        recorded: &RecordedLogin,
    ) -> Result<Self, PlanError> {
        Self::make(row, recognised, local, upstreams, Some(recorded))
    }

    fn make(
        row: &AgentRow,
        recognised: RecognisedCommand,
        local: &LocalEnvironment,
        upstreams: &[(String, String)],
        recorded: Option<&RecordedLogin>,
    ) -> Result<Self, PlanError> {
        let mut local = local.clone();
        recognised.variables.iter().for_each(|(name, value)| local.set(name, value));
        let effective = EffectiveVariables::read(row, &local, &recognised.arguments);
        let context =
            AgentContext { row, local: &local, arguments: &recognised.arguments, effective: &effective };
        let login = recorded.map_or_else(|| login::find(&context), |recorded| recorded.kind);
        let dummies = recorded.map(|recorded| dummy::planned(recorded, &context)).unwrap_or_default();
        let other_logins = recorded.map(|recorded| dummy::other_variables(row, recorded.kind));
        let provider = row.provider.as_ref().map(|provider| provider::choose(provider, &context, login));
        let found = Findings { login, provider };
        let itself = |name: &str| leads_to_vendor(name, &context, upstreams);
        let mut routes = Vec::new();
        for route in row.route.iter().filter(|route| condition::holds(&route.when, &context, &found, &itself))
        {
            let speaks = Vendor::of_name(&route.speaks).unwrap_or(Vendor::of_route(&route.name));
            let set = route.variable.as_ref().and_then(|name| context.variable(name));
            let upstream = set.unwrap_or(&route.upstream).to_owned();
            routes.push(PlannedRoute { name: route.name.clone(), speaks, upstream });
        }
        let provider = found.provider.as_ref().filter(|chosen| chosen.kind != ProviderKind::Fixed);
        let provider = provider.zip(row.provider.as_ref()).map(|(chosen, provider)| {
            let (name, route) = provider_route(chosen, &provider.route, &context, upstreams);
            routes.extend(route);
            ProviderTarget { route: name, key: chosen.key.clone(), path: chosen.path.clone() }
        });
        let mut settings = Vec::new();
        for set in row.set.iter().filter(|set| condition::holds(&set.when, &context, &found, &itself)) {
            settings.extend(planned(set, &context)?);
        }
        let covered = recorded.map(|recorded| dummy::covered_variables(recorded.kind, &context));
        let covered = covered.unwrap_or_default();
        for (variable, set) in covered.iter().zip(dummy::strongest_settings(row).into_iter().cycle()) {
            let json = serde_json::json!({ "env": { &variable.name: &variable.value } }).to_string();
            settings.extend(planned(&SetRow { json: Some(json), ..set.clone() }, &context)?);
        }
        let is_unrecorded = |when: &crate::row::When| condition::holds(when, &context, &found, &itself);
        let unrecorded = row.unrecorded.iter().filter(|calls| calls.when.as_ref().is_some_and(is_unrecorded));
        let unrecorded = unrecorded.map(|calls| calls.what.clone()).collect();
        routes.retain(|route| !upstreams.iter().any(|(name, _)| *name == route.name));
        let (name, title) = (row.name.clone(), row.title.clone());
        let program = recognised.program.as_ref().and_then(|program| local.program(program));
        let version = program.and_then(|path| installed::version(row, &path));
        let mut plan = Self {
            name,
            title,
            login,
            version,
            routes,
            unrecorded,
            settings,
            row_routes: row.route.iter().map(|route| route.name.clone()).collect(),
            override_options: row.provider.iter().flat_map(|row| row.override_options.clone()).collect(),
            dummies,
            other_logins: other_logins.unwrap_or_default(),
            covered_secrets: covered.into_iter().map(|covered| covered.value).collect(),
            provider,
            recognised,
            effective,
            local,
        };
        plan.check_place();
        Ok(plan)
    }

    /// Names the calls that do not reach the gateway because arguments cannot be given to the agent where the command has it.
    fn check_place(&mut self) {
        if let ArgumentsPlace::Shim(name) = &self.recognised.place {
            if self.program(name).is_none() {
                self.recognised.place = ArgumentsPlace::Nowhere(NO_PROGRAM_ADVICE);
            } else if self.replaces_arguments() {
                // A program before the agent adds arguments; it replaces none.
                self.recognised.place = ArgumentsPlace::Nowhere(OWN_ARGUMENTS_ADVICE);
            }
        }
        let is_lost = self.settings.iter().any(|setting| setting.is_lost_without_place(&self.effective));
        if let (ArgumentsPlace::Nowhere(advice), true) = (&self.recognised.place, is_lost) {
            self.unrecorded.push(format!("model calls of this command ({advice})"));
        }
    }

    /// Returns a variable as the agent sees it without us, if it is not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.effective.get(name, &self.local)
    }

    /// Returns the names of routes that no vendor has, whether they are given or of this plan.
    pub fn own_routes(&self) -> Vec<String> {
        let provider = self.provider.as_ref().map(|provider| &provider.route);
        let names = self.row_routes.iter().chain(provider);
        names.filter(|name| Vendor::of_name(name).is_none()).cloned().collect()
    }

    /// Returns the path of a program as the agent's shell finds it.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        self.local.program(name)
    }

    /// Returns the value of `PATH` with a folder before all others.
    pub(crate) fn path_with(&self, folder: &Path) -> OsString {
        let folders = std::iter::once(folder.to_owned()).chain(self.local.search_path());
        std::env::join_paths(folders).unwrap_or_else(|_| folder.into())
    }
}

impl PlannedSetting {
    /// Returns true if it is an argument of the agent, which has to stand somewhere in the command.
    pub(crate) fn needs_place(&self) -> bool {
        matches!(self.row, SettingKind::Arguments(_) | SettingKind::Json { place: JsonPlace::Option(_), .. })
    }

    /// Returns true if nothing else leads the agent to the gateway where arguments cannot be given to it.
    fn is_lost_without_place(&self, effective: &EffectiveVariables) -> bool {
        let mut variables = VENDORS.iter().flat_map(|vendor| vendor.base_variables());
        match &self.row {
            SettingKind::Arguments(_) => true,
            SettingKind::Json { place: JsonPlace::Option(_), .. } => {
                variables.any(|variable| effective.overridden(variable.name()).is_some())
            }
            SettingKind::Json { .. } | SettingKind::Variable { .. } | SettingKind::Leave(_) => false,
        }
    }
}

/// Returns the address to which a vendor's route leads: what the user says, else the variable, else the vendor's own.
fn vendor_address(
    vendor: Vendor,
    context: &AgentContext<'_>,
    upstreams: &[(String, String)],
) -> Option<String> {
    let given = upstreams.iter().rev().find(|(route, _)| route == vendor.name()).map(|(_, url)| url.clone());
    let variable = || {
        vendor.base_variables().iter().find_map(|known| Some(known.base_url(context.variable(known.name())?)))
    };
    given
        .or_else(variable)
        .or_else(|| vendor.base_url())
        .map(|address| address.trim_end_matches('/').to_owned())
}

/// Returns true if the requests of a vendor's route reach the vendor's own servers.
fn leads_to_vendor(name: &str, context: &AgentContext<'_>, upstreams: &[(String, String)]) -> bool {
    let Some(vendor) = Vendor::of_name(name) else { return false };
    let address = vendor_address(vendor, context, upstreams);
    let rest = vendor.origin().and_then(|origin| address.as_deref()?.strip_prefix(origin));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the name of a provider's route, and the route itself if it is none of a vendor's.
fn provider_route(
    chosen: &ChosenProvider,
    vendor_route: &str,
    context: &AgentContext<'_>,
    upstreams: &[(String, String)],
) -> (String, Option<PlannedRoute>) {
    let is_given = |name: &str| upstreams.iter().any(|(given, _)| given == name);
    // What the user says of the provider by its name, or of the vendor, counts.
    let is_vendor = Vendor::of_name(&chosen.route).is_some();
    let own_name = if is_vendor { &context.row.name } else { &chosen.route };
    if let Some(name) = [own_name, &chosen.route].into_iter().find(|name| is_given(name)) {
        return (name.clone(), None);
    }
    let speaks = Vendor::of_route(vendor_route);
    let upstream = chosen.upstream.clone().or_else(|| speaks.base_url()).unwrap_or_default();
    if is_given(vendor_route)
        || Some(upstream.trim_end_matches('/')) == vendor_address(speaks, context, upstreams).as_deref()
    {
        return (vendor_route.to_owned(), None);
    }
    // A vendor's own name belongs to the route of its variables, which leads elsewhere.
    (own_name.clone(), Some(PlannedRoute { name: own_name.clone(), speaks, upstream }))
}

/// Returns the settings of a row: one, or one for each variable that a file overrides.
fn planned(set: &SetRow, context: &AgentContext<'_>) -> Result<Vec<PlannedSetting>, PlanError> {
    let row = kind(set, context)?;
    let setting = |overridden| PlannedSetting { row: row.clone(), why: set.why.clone(), overridden };
    if !set.each_overridden {
        return Ok(vec![setting(None)]);
    }
    let variables =
        VENDORS.iter().flat_map(|vendor| vendor.base_variables().iter().map(|variable| (*variable, *vendor)));
    let overridden = variables.filter(|(known, _)| context.effective.overridden(known.name()).is_some());
    Ok(overridden.map(|overridden| setting(Some(overridden))).collect())
}

fn kind(set: &SetRow, context: &AgentContext<'_>) -> Result<SettingKind, PlanError> {
    if let Some(arguments) = &set.arguments {
        return Ok(SettingKind::Arguments(arguments.clone()));
    }
    if let Some(name) = &set.leave {
        return Ok(SettingKind::Leave(name.clone()));
    }
    let name = set.variable.clone().unwrap_or_default();
    if let Some(value) = &set.value {
        return Ok(SettingKind::Variable { name, value: value.clone() });
    }
    let (place, given) = match &set.option {
        Some(option) => {
            (JsonPlace::Option(option.clone()), options::last_value(context.arguments, &[option]))
        }
        None => (JsonPlace::Variable(name.clone()), context.local.variable(&name).map(str::to_owned)),
    };
    let merged_into = match given {
        Some(given) => Some(
            user_json(&given, set, context)
                .ok_or(PlanError::NoObject { place: set.option.clone().unwrap_or(name) })?,
        ),
        None => None,
    };
    let json = set.json.clone().unwrap_or_default();
    Ok(SettingKind::Json { place, file: set.file.clone(), json, merged_into })
}

/// Returns the JSON object that the user gives by a variable or an option, as text or as a path.
fn user_json(given: &str, set: &SetRow, context: &AgentContext<'_>) -> Option<serde_json::Value> {
    use crate::local::{parse_json, read_settings};
    let is_text = set.file.is_none() || given.trim_start().starts_with('{');
    let text = if is_text { given.to_owned() } else { read_settings(&context.local.folder().join(given))? };
    parse_json(&text).filter(serde_json::Value::is_object)
}
