//! `reenact doctor`: what works on this machine, and what to do about the rest.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use reenact_gateway::Environment;
use reenact_json::Shown;
use reenact_json::print::{self, Object};
use reenact_keys::{KeyName, KeyStoreError};
use reenact_record::wal::Place;
use reenact_sandbox::Rung;
use reenact_verify::render::Tone;

use crate::config::Config;
use crate::output::{self, Ending, paint};
use crate::{quantity, runs, vendors};

/// Tell what works on this machine: sandbox, keys, variables, disk
///
/// The exit code is 0 if everything is fine, 1 if something should be done.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reenact doctor\n  reenact doctor --json")]
pub(crate) struct Doctor {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// What was found about one thing.
struct Finding {
    about: &'static str,
    state: State,
    says: String,
    /// What to do.
    advice: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It works.
    Fine,
    /// It works, and someone may want to know how.
    Note,
    /// Something should be done.
    Wrong,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Wrong => "wrong",
        }
    }
}

impl Finding {
    fn new(about: &'static str, state: State, says: impl Into<String>) -> Self {
        Self { about, state, says: says.into(), advice: Vec::new() }
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

/// A run of a day fits into this many times over; less is worth a word.
const LITTLE_SPACE: u64 = 1_000_000_000;

impl Doctor {
    pub(crate) fn run(&self) -> Result<u8, Ending> {
        let mut findings = vec![sandbox(), loopback(), log()];
        findings.extend(unsealed());
        findings.extend(key());
        findings.extend(variables());
        findings.extend(way_out());
        findings.extend(disk());
        let wrong = findings.iter().filter(|finding| finding.state == State::Wrong).count();
        output::print(&if self.json { json(&findings) } else { page(&findings, wrong) })?;
        Ok(u8::from(wrong > 0))
    }
}

fn page(findings: &[Finding], wrong: usize) -> String {
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let mut text = format!("reenact {version} on {os}, {arch}\n\n");
    for Finding { about, state, says, advice } in findings {
        let tone = match state {
            State::Fine => Tone::Good,
            State::Note => Tone::Quiet,
            State::Wrong => Tone::Bad,
        };
        text.push_str(&format!("  {}  {about:10}  {says}\n", paint(tone, &format!("{:5}", state.name()))));
        for line in advice {
            text.push_str(&format!("  {:5}  {:10}  → {line}\n", "", ""));
        }
    }
    text.push_str(&match wrong {
        0 => "\nready to record and to replay\n".to_owned(),
        _ => format!("\n{} to look at\n", quantity::count(wrong as u64, "thing")),
    });
    text
}

fn json(findings: &[Finding]) -> String {
    let mut text = String::new();
    let mut object = Object::open(&mut text);
    object.string("version", env!("CARGO_PKG_VERSION"));
    object.string("os", std::env::consts::OS);
    object.string("arch", std::env::consts::ARCH);
    print::list(findings, object.name("findings"), |finding, out| {
        let mut object = Object::open(out);
        object.string("about", finding.about);
        object.string("state", finding.state.name());
        object.string("says", finding.says.as_str());
        object.strings("advice", &finding.advice);
        object.close();
    });
    object.close();
    text + "\n"
}

fn sandbox() -> Finding {
    let probe = reenact_sandbox::probe();
    let finding = match probe.enforcement.rung {
        Rung::None => {
            let why = probe.enforcement.why.unwrap_or_default();
            Finding::new("sandbox", State::Wrong, format!("replays are not cut off from the network: {why}"))
        }
        rung => Finding::new(
            "sandbox",
            State::Fine,
            format!("the kernel cuts replays off from the network ({rung})"),
        ),
    };
    probe.advice.into_iter().fold(finding, Finding::advise)
}

fn loopback() -> Finding {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
        Ok(_) => Finding::new("gateway", State::Fine, "can listen on 127.0.0.1"),
        Err(error) => Finding::new("gateway", State::Wrong, format!("cannot listen on 127.0.0.1: {error}")),
    }
}

/// Where what passes is written before it passes on.
fn log() -> Finding {
    match Place::find() {
        Some(place) => {
            let path = place.path().to_string_lossy();
            Finding::new(
                "log",
                State::Fine,
                format!("what passes is kept in memory first ({})", Shown::whole(&path)),
            )
        }
        None => {
            let says = "no memory-backed storage that only you can read: recording waits for the journal, and a kill loses what was coming";
            Finding::new("log", State::Note, says)
                .advise("set XDG_RUNTIME_DIR to a folder of yours on a tmpfs")
        }
    }
}

/// Runs whose recorder was killed.
fn unsealed() -> Option<Finding> {
    let unsealed = runs::folder().unsealed().ok().filter(|unsealed| !unsealed.is_empty())?;
    let says = format!("{} never sealed", quantity::count(unsealed.len() as u64, "run"));
    Some(Finding::new("runs", State::Note, says).advise("reenact recover"))
}

fn key() -> Option<Finding> {
    let about = "key";
    let config = match Config::require() {
        Ok(config) => config,
        Err(Ending::Failed { message, .. }) => return Some(Finding::new(about, State::Wrong, message)),
        Err(Ending::ClosedPipe) => return None,
    };
    let (store, name) = (config.key_store(), KeyName::default());
    let path = store.path(&name);
    let path = path.to_string_lossy();
    let path = Shown::whole(&path);
    Some(match store.load(&name) {
        Ok(key) => {
            let id = reenact_formats::rer::seal::Signer::public_key(&key).id();
            Finding::new(about, State::Fine, format!("runs are signed with {path} (key id {id})"))
        }
        Err(KeyStoreError::NotFound { .. }) => {
            Finding::new(about, State::Note, format!("none yet: the first recording makes {path}"))
        }
        Err(error) => Finding::new(about, State::Wrong, error.to_string()),
    })
}

/// Whether agents will find their way, and bring a credential along. Values are never shown.
fn variables() -> Vec<Finding> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut findings = Vec::new();
    match vendors::routes(&[], |name| std::env::var_os(name)) {
        Ok(routes) => {
            for route in &routes {
                let vendor = route.vendor;
                let set = vendor.base_variables().iter().find(|name| is_set(name));
                let from = set.map_or(String::new(), |name| format!(" ({name})"));
                let key = vendor.key_variables().iter().find(|name| is_set(name));
                let (state, is) =
                    if key.is_some() { (State::Fine, "is set") } else { (State::Note, "is not set") };
                let name = key.or(vendor.key_variables().first()).copied().unwrap_or_default();
                let says = format!("requests go to {}{from}; {name} {is}", route.upstream);
                findings.push(Finding::new(vendor.name(), state, says));
            }
        }
        Err(Ending::Failed { message, .. }) => {
            findings.push(Finding::new("variables", State::Wrong, message))
        }
        Err(Ending::ClosedPipe) => {}
    }
    findings
}

/// Proxies and certificates of the user's own.
fn way_out() -> Vec<Finding> {
    let environment = Environment::from_process();
    let mut findings = Vec::new();
    let proxies = [
        ("HTTPS_PROXY", &environment.https_proxy),
        ("HTTP_PROXY", &environment.http_proxy),
        ("ALL_PROXY", &environment.all_proxy),
    ];
    let set: Vec<&str> = proxies.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name).collect();
    if !set.is_empty() {
        findings.push(Finding::new(
            "proxy",
            State::Note,
            format!("vendors are reached by way of {}", set.join(", ")),
        ));
    }
    let files = environment
        .ssl_cert_file
        .iter()
        .chain(&environment.ssl_cert_dir)
        .chain(&environment.extra_certificates);
    let files: BTreeSet<&PathBuf> = files.collect();
    for file in files {
        let shown = file.to_string_lossy();
        let shown = Shown::whole(&shown);
        findings.push(match std::fs::metadata(file) {
            Ok(_) => Finding::new("trust", State::Note, format!("certificates of {shown} are trusted")),
            Err(error) => Finding::new("trust", State::Wrong, format!("certificates in {shown}: {error}"))
                .advise("correct or unset the variable that names it"),
        });
    }
    findings
}

fn disk() -> Vec<Finding> {
    let folder = runs::folder();
    let path = folder.path().to_string_lossy().into_owned();
    let runs = match folder.runs() {
        Ok(runs) if runs.is_empty() => {
            Finding::new("runs", State::Note, format!("none recorded in {path} yet"))
        }
        Ok(runs) => Finding::new(
            "runs",
            State::Fine,
            format!("{} in {path}", quantity::count(runs.len() as u64, "run")),
        ),
        Err(error) => Finding::new("runs", State::Wrong, error.to_string()),
    };
    let mut findings = vec![runs];
    findings.extend(space());
    findings
}

#[cfg(unix)]
fn space() -> Option<Finding> {
    let found = rustix::fs::statvfs(Path::new(".")).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let says = format!("{} free here", quantity::size(free));
    Some(if free < LITTLE_SPACE {
        Finding::new("disk", State::Wrong, says).advise("make room: a full disk ends a recording")
    } else {
        Finding::new("disk", State::Fine, says)
    })
}

#[cfg(not(unix))]
fn space() -> Option<Finding> {
    let _ = (Path::new("."), LITTLE_SPACE);
    None
}
