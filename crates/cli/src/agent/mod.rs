//! The agent that a command starts: which one it is, and what is set for it so that its model calls reach the gateway.
//!
//! The facts are rows of the crate `agents` and of the user's folder `agents/`. A [`PlannedAgent`] is made before the gateway
//! starts and reads only; [`PlannedAgent::launch`] puts the gateway's address into it. Start reading at [`PlannedAgent::new`].

mod base_url_var;
mod dry_run;
mod options;
pub(crate) mod overlay;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use reenact_agents::{
    AgentRow, AgentTable, ArgumentsPlace, LaunchPlan, LocalEnvironment, LoginKind, ObserverNote, OverlayFile,
    OverlayLink, PlanError, RecognisedCommand, RecordedLogin,
};
use reenact_formats::rer::payload::AgentLogin;
use reenact_gateway::{UpstreamUrlError, VendorRoute};
use reenact_json::Shown;
use reenact_record::RecordedAgent;
use reenact_run::surroundings::AgentFacts;

use self::base_url_var::BaseUrlVariable;
pub(crate) use self::options::AgentOptions;
pub(crate) use self::overlay::Overlay;
use crate::config::UserConfig;
use crate::output::CommandError;
use crate::upstreams::{self, UpstreamArg};
use crate::{runs, vendors};

/// Agent of a command, and all routes that its requests need.
pub(crate) struct PlannedAgent {
    /// Plan of a known agent; `None` for any other command.
    plan: Option<LaunchPlan>,
    variables: Vec<BaseUrlVariable>,
    routes: Vec<VendorRoute>,
    /// Names of the routes that only this agent needs.
    own_routes: BTreeSet<String>,
}

/// Command and environment of an agent, with the gateway's address in them.
pub(crate) struct AgentLaunch {
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Variables that are removed: logins of another kind than the recorded one.
    pub(crate) removed_variables: Vec<String>,
    /// Dummies in overlay files that stand for credentials.
    pub(crate) secrets: Vec<String>,
    /// Arguments that were inserted or replaced.
    arguments: Vec<String>,
    files: Vec<OverlayFile>,
    links: Vec<OverlayLink>,
}

impl PlannedAgent {
    /// Recognises the agent, reads its settings, and finds the address of each route. Nothing is written.
    ///
    /// # Errors
    ///
    /// If a row of the user is broken, `--agent` names none, or an address cannot be read.
    pub(crate) fn new(
        options: &AgentOptions,
        command: &[OsString],
        upstream: &[UpstreamArg],
    ) -> Result<Self, CommandError> {
        let given: Vec<(String, String)> = upstream.iter().map(UpstreamArg::route_and_url).collect();
        let plan = plan(&table()?, options.agent.as_deref(), command, &given, None)?;
        let variable = |name: &str| match &plan {
            Some(plan) => plan.variable(name).map(OsString::from),
            None => std::env::var_os(name),
        };
        let mut routes = upstreams::routes(upstream, variable)?;
        let general: BTreeSet<String> = routes.iter().map(|route| route.name.clone()).collect();
        for route in plan.iter().flat_map(|plan| &plan.routes) {
            let upstream = route.upstream.parse().map_err(|error: UpstreamUrlError| {
                CommandError::impossible(format!("the address of {}: {error}", Shown::whole(&route.name)))
            })?;
            routes.push(VendorRoute { name: route.name.clone(), vendor: route.speaks, upstream });
        }
        let mut variables = Vec::new();
        for argument in &options.base_url_var {
            variables.push(BaseUrlVariable::new(argument, variable(&argument.name), &mut routes)?);
        }
        let own_routes = routes.iter().map(|route| route.name.clone()).filter(|name| !general.contains(name));
        let own_routes = own_routes.collect();
        Ok(Self { plan, variables, routes, own_routes })
    }

    /// Finds the agent of a replay: the one that the record names, led to the routes of the record, with dummies for the recorded
    /// login. A command that was recorded as no known agent is replayed as none. `models` are those that were asked.
    ///
    /// # Errors
    ///
    /// If a row of the user is broken.
    pub(crate) fn of_record(
        recorded: Option<&AgentFacts<'_>>,
        models: Vec<String>,
        command: &[OsString],
        routes: &[VendorRoute],
    ) -> Result<Self, CommandError> {
        let kind = recorded.and_then(|agent| agent.login).map(|login| match login {
            AgentLogin::ApiKey => LoginKind::ApiKey,
            AgentLogin::OAuth => LoginKind::Oauth,
            AgentLogin::None => LoginKind::None,
        });
        let login = kind.map(|kind| RecordedLogin { kind, models });
        Self::led_again(recorded, login.as_ref(), command, routes)
    }

    /// Finds the agent of a run that goes on from its record: as [`Self::of_record`], with the user's own login.
    ///
    /// # Errors
    ///
    /// If a row of the user is broken.
    pub(crate) fn of_fork(
        recorded: Option<&AgentFacts<'_>>,
        command: &[OsString],
        routes: &[VendorRoute],
    ) -> Result<Self, CommandError> {
        Self::led_again(recorded, None, command, routes)
    }

    /// Leads the agent that a record names to the routes of the record. Dummies stand for a recorded login; without one, the agent
    /// keeps the logins of this machine.
    fn led_again(
        recorded: Option<&AgentFacts<'_>>,
        login: Option<&RecordedLogin>,
        command: &[OsString],
        routes: &[VendorRoute],
    ) -> Result<Self, CommandError> {
        let table = table()?;
        let given: Vec<(String, String)> =
            routes.iter().map(|route| (route.name.clone(), route.upstream.to_string())).collect();
        let name = recorded.map(|agent| &*agent.name).filter(|name| table.of_name(name).is_some());
        let chosen = name.unwrap_or(options::NO_AGENT);
        let plan = plan(&table, Some(chosen), command, &given, login)?;
        let own_routes = plan.iter().flat_map(LaunchPlan::own_routes).collect();
        Ok(Self { plan, variables: Vec::new(), routes: routes.to_vec(), own_routes })
    }

    /// Returns the routes of the gateway.
    pub(crate) fn routes(&self) -> &[VendorRoute] {
        &self.routes
    }

    /// Returns the variables that may hold a login of the agent, as its row names them.
    ///
    /// # Errors
    ///
    /// If a row of the user is broken.
    pub(crate) fn login_variables(&self) -> Result<BTreeSet<String>, CommandError> {
        let table = table()?;
        let row = self.plan.as_ref().and_then(|plan| table.of_name(&plan.name));
        let logins = row.into_iter().flat_map(|row| &row.login);
        Ok(logins.filter_map(|login| login.variable.clone()).collect())
    }

    /// Returns the calls that will not be recorded, each as a line for the user.
    pub(crate) fn unrecorded(&self) -> Vec<String> {
        let calls = self.plan.iter().flat_map(|plan| &plan.unrecorded);
        calls.map(|calls| format!("not recorded: {}", Shown::whole(calls))).collect()
    }

    /// Returns the agent for the record; `None` if it is not known.
    pub(crate) fn recorded(&self) -> Option<RecordedAgent<'_>> {
        let plan = self.plan.as_ref()?;
        let login = match plan.login {
            LoginKind::ApiKey => AgentLogin::ApiKey,
            LoginKind::Oauth => AgentLogin::OAuth,
            LoginKind::None => AgentLogin::None,
        };
        Some(RecordedAgent { name: &plan.name, version: plan.version.as_deref(), login })
    }

    /// Returns what is set and why, for the record.
    pub(crate) fn observer(&self) -> Vec<ObserverNote> {
        let mut notes = self.plan.as_ref().map(LaunchPlan::observer).unwrap_or_default();
        let general = self.routes.iter().filter(|route| !self.own_routes.contains(&route.name));
        let mut names: Vec<String> = general.flat_map(|route| vendors::variables(&route.name)).collect();
        names.extend(self.variables.iter().map(|variable| variable.name.clone()));
        notes.push(ObserverNote {
            set: names.join(", "),
            why: "clients that read these variables send their calls to the gateway".to_owned(),
        });
        notes.push(ObserverNote {
            set: "NO_PROXY, no_proxy".to_owned(),
            why: "calls to the gateway, on loopback, take no proxy".to_owned(),
        });
        notes
    }

    /// Puts the gateway's addresses into the plan: `bases` are routes, each with its address. Overlay files go to `folder`.
    ///
    /// # Errors
    ///
    /// If a route has no address.
    pub(crate) fn launch(
        &self,
        command: &[OsString],
        inherited: Vec<(OsString, OsString)>,
        bases: &[(String, String)],
        folder: &Path,
    ) -> Result<AgentLaunch, CommandError> {
        let base = |name: &str| bases.iter().find(|(route, _)| route == name).map(|(_, url)| url.clone());
        // Routes of the agent alone have no variables of their own.
        let general: Vec<(String, String)> =
            bases.iter().filter(|(route, _)| !self.own_routes.contains(route)).cloned().collect();
        let before = inherited.clone();
        let mut environment = vendors::agent_environment(inherited, &general);
        for variable in &self.variables {
            vendors::set_variable(&mut environment, &variable.name, variable.value(&base)?.into());
        }
        let Some(plan) = &self.plan else {
            let command = command.to_vec();
            return Ok(AgentLaunch {
                command,
                environment,
                removed_variables: Vec::new(),
                secrets: Vec::new(),
                arguments: Vec::new(),
                files: Vec::new(),
                links: Vec::new(),
            });
        };
        let launch = plan
            .launch(command, &base, folder)
            .map_err(|error| CommandError::impossible(Shown::whole(&error.to_string()).to_string()))?;
        for (name, value) in launch.variables {
            match value
                .or_else(|| before.iter().find(|(known, _)| *known == *name).map(|(_, value)| value.clone()))
            {
                Some(value) => vendors::set_variable(&mut environment, &name, value),
                None => environment.retain(|(known, _)| *known != *name),
            }
        }
        Ok(AgentLaunch {
            command: launch.command,
            environment,
            removed_variables: launch.removed_variables,
            secrets: launch.secrets,
            arguments: launch.arguments,
            files: launch.files,
            links: launch.links,
        })
    }
}

impl AgentLaunch {
    /// Writes the overlay files.
    pub(crate) fn write_overlay(&self, folder: &Path) -> Result<Overlay, CommandError> {
        Overlay::write(folder, &self.files, &self.links)
    }
}

/// Returns the table of agents, the user's own rows included.
///
/// # Errors
///
/// If a row is broken; the error names its file and line.
pub(crate) fn table() -> Result<AgentTable, CommandError> {
    let table = match UserConfig::find() {
        Some(config) => AgentTable::with_folder(&config.file("agents")),
        None => AgentTable::built_in(),
    };
    table.map_err(|error| CommandError::impossible(Shown::whole(&error.to_string()).to_string()))
}

/// Returns the plan for a command; `None` if it starts no agent that is known. `given` holds routes with their addresses, `recorded`
/// is the login of the run that is replayed.
fn plan(
    table: &AgentTable,
    chosen: Option<&str>,
    command: &[OsString],
    given: &[(String, String)],
    recorded: Option<&RecordedLogin>,
) -> Result<Option<LaunchPlan>, CommandError> {
    let Some((row, how)) = recognised(table, chosen, command)? else { return Ok(None) };
    let folder = std::env::current_dir().unwrap_or_default();
    let mut local = LocalEnvironment::new(std::env::vars_os(), folder);
    if let Ok(store) = runs::run_store() {
        local = local.with_overlay_below(store.path().to_owned());
    }
    let refused = |error: PlanError| CommandError::impossible(Shown::whole(&error.to_string()).to_string());
    let plan = match recorded {
        Some(recorded) => LaunchPlan::for_replay(row, how, &local, given, recorded),
        None => LaunchPlan::new(row, how, &local, given),
    };
    plan.map(Some).map_err(refused)
}

/// Returns the agent that a command starts, or that `--agent` names; `None` for a command that starts none that is known.
fn recognised<'t>(
    table: &'t AgentTable,
    chosen: Option<&str>,
    command: &[OsString],
) -> Result<Option<(&'t AgentRow, RecognisedCommand)>, CommandError> {
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some(chosen) = chosen else { return Ok(table.recognise(&words)) };
    if chosen == options::NO_AGENT {
        return Ok(None);
    }
    let row = table.of_name(chosen).ok_or_else(|| {
        let names: Vec<&str> = table.rows().iter().map(|row| row.name.as_str()).collect();
        CommandError::impossible(format!(
            "--agent {}: there is no such agent; there is: {}, {}",
            Shown::new(chosen),
            names.join(", "),
            options::NO_AGENT
        ))
    })?;
    let how = reenact_agents::command::recognise(&row.recognise, &words);
    Ok(Some((row, how.unwrap_or_else(|| started_within(row, &words)))))
}

/// Returns the place of an agent that a command of another name starts, as the user says.
fn started_within(row: &AgentRow, words: &[String]) -> RecognisedCommand {
    let program = words.first().map(|program| OsStr::new(program).to_string_lossy().into_owned());
    RecognisedCommand {
        how: "--agent".to_owned(),
        place: row
            .recognise
            .programs
            .first()
            .map_or(ArgumentsPlace::Nowhere("its program has no name"), |name| {
                ArgumentsPlace::Shim(name.clone())
            }),
        program,
        arguments: Vec::new(),
        variables: Vec::new(),
    }
}
