//! The state of everything that recording and replaying need on this machine, with advice.
//!
//! ```text
//!   ok     sandbox     the kernel cuts replays off from the network (netns)
//!   note   key         none yet: the first recording makes ~/.config/reenact/keys/default.jwk
//!   wrong  disk        12.0 MB free where runs are kept
//!                      → make room: a full disk ends a recording
//! ```
//!
//! Each function below checks one thing and returns a [`DoctorFinding`]. Values of environment variables are
//! never shown. Start reading at [`examine`], which lists the checks.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use reenact_gateway::NetworkEnvironment;
use reenact_json::Shown;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_keys::{KeyName, KeyStoreError};
use reenact_record::wal::WalDir;
use reenact_sandbox::Isolation;
use reenact_verify::render::Tone;
use reenact_wire::BaseVariable;

use crate::config::UserConfig;
use crate::output::{self, CommandError, paint};
use crate::{quantity, runs, upstreams};

/// Result of one check.
struct DoctorFinding {
    /// Short name of the thing that was checked, such as `sandbox`.
    about: &'static str,
    state: FindingState,
    /// State of the thing in one line. Safe to print.
    message: String,
    /// Steps that would improve the state, one a line.
    advice: Vec<String>,
}

/// State of the thing that was checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FindingState {
    /// Works.
    Fine,
    /// Works, in a way that the user may want to know about.
    Note,
    /// Does not work; something should be done.
    Wrong,
}

impl FindingState {
    /// Returns the name of the state, as it is printed.
    fn name(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Wrong => "wrong",
        }
    }
}

impl DoctorFinding {
    /// Returns a finding without advice.
    fn new(about: &'static str, state: FindingState, says: impl Into<String>) -> Self {
        Self { about, state, message: says.into(), advice: Vec::new() }
    }

    /// Adds a line of advice.
    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

/// Free space in bytes below which the doctor warns. The recording of a day fits into it many times over.
const LOW_DISK_BYTES: u64 = 1_000_000_000;

/// Runs all checks, and prints them as a page or as JSON. The exit code is 1 if something is wrong.
pub(super) fn examine(as_json: bool) -> Result<u8, CommandError> {
    let mut findings = vec![sandbox(), loopback(), wal_storage()];
    findings.extend(unsealed());
    findings.extend(key());
    findings.extend(variables());
    findings.extend(proxies_and_certificates());
    findings.extend(recorded_runs_and_space());
    let wrong = findings.iter().filter(|finding| finding.state == FindingState::Wrong).count();
    output::print(&if as_json { json(&findings) } else { page(&findings, wrong) })?;
    Ok(u8::from(wrong > 0))
}

/// Returns the findings as text for people.
fn page(findings: &[DoctorFinding], wrong: usize) -> String {
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let mut text = format!("reenact {version} on {os}, {arch}\n\n");
    for DoctorFinding { about, state, message: says, advice } in findings {
        let tone = match state {
            FindingState::Fine => Tone::Good,
            FindingState::Note => Tone::Quiet,
            FindingState::Wrong => Tone::Bad,
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

/// Returns the findings as one JSON object.
fn json(findings: &[DoctorFinding]) -> String {
    let mut text = String::new();
    let mut object = PrintObjectWriter::open(&mut text);
    object.string("version", env!("CARGO_PKG_VERSION"));
    object.string("os", std::env::consts::OS);
    object.string("arch", std::env::consts::ARCH);
    print::write_list(findings, object.name("findings"), |finding, out| {
        let mut object = PrintObjectWriter::open(out);
        object.string("about", finding.about);
        object.string("state", finding.state.name());
        object.string("says", finding.message.as_str());
        object.strings("advice", &finding.advice);
        object.close();
    });
    object.close();
    text + "\n"
}

/// Builds a sandbox up to its last step, to see whether the kernel can cut a replay off from the network.
fn sandbox() -> DoctorFinding {
    let probe = reenact_sandbox::probe();
    let finding = match probe.report.isolation {
        Isolation::None => {
            let why = probe.report.reason.unwrap_or_default();
            DoctorFinding::new(
                "sandbox",
                FindingState::Wrong,
                format!("replays are not cut off from the network: {why}"),
            )
        }
        Isolation::Landlock => DoctorFinding::new(
            "sandbox",
            FindingState::Fine,
            "the kernel lets replays connect to their gateway's port alone (landlock); namespaces would close more",
        ),
        rung => DoctorFinding::new(
            "sandbox",
            FindingState::Fine,
            format!("the kernel cuts replays off from the network ({rung})"),
        ),
    };
    probe.advice.into_iter().fold(finding, DoctorFinding::advise)
}

/// Checks that a gateway can listen on 127.0.0.1.
fn loopback() -> DoctorFinding {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
        Ok(_) => DoctorFinding::new("gateway", FindingState::Fine, "can listen on 127.0.0.1"),
        Err(error) => {
            DoctorFinding::new("gateway", FindingState::Wrong, format!("cannot listen on 127.0.0.1: {error}"))
        }
    }
}

/// Looks for memory-backed storage for the write-ahead log, to which traffic is written before it is passed on.
///
/// Without it recording works, but each request waits for the journal, and a kill loses answers that were still arriving.
fn wal_storage() -> DoctorFinding {
    match WalDir::find() {
        Some(dir) => {
            let path = dir.path().to_string_lossy();
            DoctorFinding::new(
                "log",
                FindingState::Fine,
                format!("what passes is kept in memory first ({})", Shown::whole(&path)),
            )
        }
        None => {
            let says = "no memory-backed storage that only you can read: recording waits for the journal, and a kill loses what was coming";
            DoctorFinding::new("log", FindingState::Note, says)
                .advise("set XDG_RUNTIME_DIR to a folder of yours on a tmpfs")
        }
    }
}

/// Looks for runs whose recorder was killed.
fn unsealed() -> Option<DoctorFinding> {
    let unsealed = runs::run_store().ok()?.unsealed_runs().ok().filter(|unsealed| !unsealed.is_empty())?;
    let says = format!("{} never sealed", quantity::count(unsealed.len() as u64, "run"));
    Some(DoctorFinding::new("runs", FindingState::Note, says).advise("reenact runs recover"))
}

/// Checks the key that signs runs by default. A missing one is fine: the first recording makes it. One that
/// other users can read is wrong, since the key store refuses it.
fn key() -> Option<DoctorFinding> {
    let about = "key";
    let config = match UserConfig::require() {
        Ok(config) => config,
        Err(CommandError::Failed { message, .. }) => {
            return Some(DoctorFinding::new(about, FindingState::Wrong, message));
        }
        Err(CommandError::ClosedPipe) => return None,
    };
    let (store, name) = (config.key_store(), KeyName::default());
    let path = store.path(&name);
    let path = path.to_string_lossy();
    let path = Shown::whole(&path);
    Some(match store.load(&name) {
        Ok(key) => {
            let id = reenact_formats::rer::seal::Signer::public_key(&key).id();
            DoctorFinding::new(
                about,
                FindingState::Fine,
                format!("runs are signed with {path} (key id {id})"),
            )
        }
        Err(KeyStoreError::NotFound { .. }) => DoctorFinding::new(
            about,
            FindingState::Note,
            format!("none yet: the first recording makes {path}"),
        ),
        Err(error) => DoctorFinding::new(about, FindingState::Wrong, error.to_string()),
    })
}

/// Checks for each vendor where its requests go, and that a credential is set.
///
/// Values of credentials are never shown. A base URL is shown, since it is known to hold none: such a URL is refused.
fn variables() -> Vec<DoctorFinding> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut findings = Vec::new();
    match upstreams::routes(&[], |name| std::env::var_os(name)) {
        Ok(routes) => {
            for route in &routes {
                let vendor = route.vendor;
                let set = vendor.base_variables().iter().map(BaseVariable::name).find(|name| is_set(name));
                let from = set.map_or(String::new(), |name| format!(" ({name})"));
                let key = vendor.key_variables().iter().find(|name| is_set(name));
                // Of the many vendors that speak the interfaces of others, only those that are used here.
                if !vendor.has_own_interfaces() && set.is_none() && key.is_none() {
                    continue;
                }
                let (state, is) = if key.is_some() {
                    (FindingState::Fine, "is set")
                } else {
                    (FindingState::Note, "is not set")
                };
                let name = key.or(vendor.key_variables().first());
                let key = name.map(|name| format!("; {name} {is}")).unwrap_or_default();
                let says = format!("requests go to {}{from}{key}", route.upstream);
                findings.push(DoctorFinding::new(vendor.name(), state, says));
            }
        }
        Err(CommandError::Failed { message, .. }) => {
            findings.push(DoctorFinding::new("variables", FindingState::Wrong, message))
        }
        Err(CommandError::ClosedPipe) => {}
    }
    findings
}

/// Checks the proxies and the additional certificates that the gateway would use. Proxies are named by their
/// variables only, because their URLs may hold passwords.
fn proxies_and_certificates() -> Vec<DoctorFinding> {
    let environment = NetworkEnvironment::from_process();
    let mut findings = Vec::new();
    let proxies = [
        ("HTTPS_PROXY", &environment.https_proxy),
        ("HTTP_PROXY", &environment.http_proxy),
        ("ALL_PROXY", &environment.all_proxy),
    ];
    let set: Vec<&str> = proxies.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name).collect();
    if !set.is_empty() {
        findings.push(DoctorFinding::new(
            "proxy",
            FindingState::Note,
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
            Ok(_) => DoctorFinding::new(
                "trust",
                FindingState::Note,
                format!("certificates of {shown} are trusted"),
            ),
            Err(error) => {
                DoctorFinding::new("trust", FindingState::Wrong, format!("certificates in {shown}: {error}"))
                    .advise("correct or unset the variable that names it")
            }
        });
    }
    findings
}

/// Counts the recorded runs, and checks the free space where they are kept.
fn recorded_runs_and_space() -> Vec<DoctorFinding> {
    let store = match runs::run_store() {
        Ok(store) => store,
        Err(error) => return vec![DoctorFinding::new("runs", FindingState::Wrong, error.into_message())],
    };
    let path = store.path().to_string_lossy();
    let path = Shown::whole(&path);
    let runs = match store.run_ids() {
        Ok(runs) if runs.is_empty() => {
            DoctorFinding::new("runs", FindingState::Note, format!("none recorded in {path} yet"))
        }
        Ok(runs) => DoctorFinding::new(
            "runs",
            FindingState::Fine,
            format!("{} in {path}", quantity::count(runs.len() as u64, "run")),
        ),
        Err(error) => DoctorFinding::new("runs", FindingState::Wrong, error.to_string()),
    };
    let mut findings = vec![runs];
    findings.extend(space(store.path()));
    findings
}

/// Checks the free space of the file system on which runs are kept, or will be.
#[cfg(unix)]
fn space(store: &Path) -> Option<DoctorFinding> {
    let found = store.ancestors().find_map(|folder| rustix::fs::statvfs(folder).ok())?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let says = format!("{} free where runs are kept", quantity::size(free));
    Some(if free < LOW_DISK_BYTES {
        DoctorFinding::new("disk", FindingState::Wrong, says)
            .advise("make room: a full disk ends a recording")
    } else {
        DoctorFinding::new("disk", FindingState::Fine, says)
    })
}

/// Returns nothing: the free space is not known on this system.
#[cfg(not(unix))]
fn space(_: &Path) -> Option<DoctorFinding> {
    let _ = LOW_DISK_BYTES;
    None
}
