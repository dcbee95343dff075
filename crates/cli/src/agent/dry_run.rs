//! `record --dry-run`: what would be set for an agent, as text or as JSON.
//!
//! The gateway's port and token are not known before a run; `PORT` and `TOKEN` stand for them. Values that look like secrets are
//! masked, since overlay files may hold what the user has set.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use reenact_gateway::VendorRoute;
use reenact_json::Shown;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_secrets::{Redactor, RulePack};

use super::{AgentLaunch, PlannedAgent};
use crate::output::{self, CommandError};
use crate::vendors;

impl PlannedAgent {
    /// Prints what would be set.
    pub(crate) fn print_dry_run(&self, command: &[OsString], is_json: bool) -> Result<(), CommandError> {
        let base = |route: &VendorRoute| {
            let url = format!("http://127.0.0.1:PORT/TOKEN/{}{}", route.name, route.upstream.base_path());
            (route.name.clone(), url)
        };
        let bases: Vec<(String, String)> = self.routes.iter().map(base).collect();
        let before: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let launch = self.launch(command, before.clone(), &bases, Path::new("RUN/overlay"))?;
        let before: BTreeMap<_, _> = before.into_iter().collect();
        let mut redactor = Redactor::new(RulePack::standard());
        let mut shown =
            |text: &str| String::from_utf8_lossy(&redactor.redact(text.as_bytes()).bytes).into_owned();
        let changed = launch.environment.iter().filter(|(name, value)| before.get(name) != Some(value));
        let variables: BTreeMap<String, String> = changed
            .map(|(name, value)| (name.to_string_lossy().into_owned(), shown(&value.to_string_lossy())))
            .collect();
        let command: Vec<String> = launch.command.iter().map(|word| shown(&word.to_string_lossy())).collect();
        let files: Vec<(String, String)> = launch
            .files
            .iter()
            .map(|file| (file.path.to_string_lossy().into_owned(), shown(&file.content)))
            .collect();
        let settings = DrySettings { command, variables, files };
        output::print(&if is_json { self.json(&settings, &launch) } else { self.page(&settings) })
    }

    fn json(&self, settings: &DrySettings, launch: &AgentLaunch) -> String {
        let mut text = String::new();
        let mut out = PrintObjectWriter::open(&mut text);
        match &self.plan {
            None => out.name("agent").push_str("null"),
            Some(plan) => {
                let mut agent = PrintObjectWriter::open(out.name("agent"));
                agent.string("name", plan.name.as_str());
                agent.string("title", plan.title.as_str());
                agent.string("recognised", plan.recognised.how.as_str());
                agent.string("version", plan.version.as_deref());
                agent.string("login", plan.login.name());
                agent.close();
            }
        }
        out.strings("command", &settings.command);
        out.strings("arguments", &launch.arguments);
        let mut variables = PrintObjectWriter::open(out.name("variables"));
        settings.variables.iter().for_each(|(name, value)| variables.string(name, value.as_str()));
        variables.close();
        print::write_list(&settings.files, out.name("files"), |(path, content), out| {
            let mut file = PrintObjectWriter::open(out);
            file.string("path", path.as_str());
            file.string("content", content.as_str());
            file.close();
        });
        let mut upstreams = PrintObjectWriter::open(out.name("upstreams"));
        self.routes
            .iter()
            .for_each(|route| upstreams.string(&route.name, route.upstream.to_string().as_str()));
        upstreams.close();
        print::write_list(self.observer(), out.name("observer"), |note, out| {
            let mut entry = PrintObjectWriter::open(out);
            entry.string("set", note.set.as_str());
            entry.string("why", note.why.as_str());
            entry.close();
        });
        out.strings(
            "unrecorded",
            self.plan.as_ref().map(|plan| plan.unrecorded.as_slice()).unwrap_or_default(),
        );
        out.close();
        text + "\n"
    }

    /// Returns the page for people: what is special to the agent first, with the reason beside it, then a line for each address.
    fn page(&self, settings: &DrySettings) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<10}  {value}\n"));
        match &self.plan {
            None => line("agent", "none that is known: the variables of vendors' clients are set"),
            Some(plan) => {
                let version = plan.version.as_ref().map(|version| format!(" {}", Shown::new(version)));
                let how = Shown::new(&plan.recognised.how);
                line("agent", &format!("{}{} (by: {how})", plan.title, version.unwrap_or_default()));
                line("login", plan.login.phrase());
                for calls in &plan.unrecorded {
                    line("unrecorded", &Shown::whole(calls).to_string());
                }
                for note in plan.observer() {
                    line("sets", &Shown::whole(&note.set).to_string());
                    line("", &Shown::whole(&note.why).to_string());
                }
            }
        }
        let words: Vec<String> =
            settings.command.iter().map(|word| crate::command::shell_quoted(word)).collect();
        line("command", &words.join(" "));
        for (path, content) in &settings.files {
            line("file", &format!("{}: {}", Shown::whole(path), Shown::whole(content)));
        }
        for route in &self.routes {
            let (name, upstream) = (Shown::new(&route.name).to_string(), route.upstream.to_string());
            line(
                "upstream",
                &format!("{name} → {}  by {}", Shown::whole(&upstream), self.led_by(&route.name)),
            );
        }
        line("also", "NO_PROXY for loopback, REENACT_REPORT_URL");
        text + "\nnothing was started, nothing was written\n"
    }

    /// Returns what leads clients to a route: variables, or what is set for the agent alone.
    fn led_by(&self, route: &str) -> String {
        let own = self.variables.iter().filter(|variable| variable.route == route);
        let mut names: Vec<String> = own.map(|variable| variable.name.clone()).collect();
        if !self.own_routes.contains(route) {
            names.extend(vendors::variables(route));
        }
        if names.is_empty() { "what is set for this agent".to_owned() } else { names.join(", ") }
    }
}

/// Settings with everything masked that looks like a secret.
struct DrySettings {
    command: Vec<String>,
    variables: BTreeMap<String, String>,
    files: Vec<(String, String)>,
}
