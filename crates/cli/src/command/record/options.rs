//! Options of `reenact record`, as clap reads them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueHint;
use clap::builder::{OsStringValueParser, TypedValueParser};
use reenact_keys::KeyName;
use reenact_record::{Durability, PolicyMode};

use super::command_words::shell_quoted;
use super::emit::{EmitPath, emit_path};
use super::out_path::{OutForm, OutPath, out_path};
use super::replay_bundle_out::RecordedBundleArgs;
use crate::agent::AgentOptions;
use crate::upstreams;

/// Record an agent: its calls to models, sealed into a file that anyone can verify and replay
///
/// The command runs as it would without us: it has the terminal, its signals and its exit code. Its clients are sent through a
/// gateway on this machine by the variables that they read anyway (OPENAI_BASE_URL and the like), and agents such as Codex or
/// Claude Code by their own arguments and settings (--dry-run tells which); no code changes. Credentials are masked before anything is
/// written. The exit code is the command's own; 125 if recording failed, 126 or 127 if the command
/// could not be started.
#[derive(clap::Args)]
#[command(
    override_usage = "reenact record [OPTIONS] [--] <CMD>...",
    after_help = "Examples:\n  reenact record python agent.py\n  reenact record --out run.rer.json node agent.js --fast\n  reenact record --upstream openai=http://localhost:8080/v1 ./agent\n  reenact record --dry-run codex exec \"fix the tests\"\n  reenact record --upstream together_ai=https://api.together.xyz/v1 ./agent"
)]
pub(crate) struct RecordArgs {
    /// Write the run here, as the end of the name says: *.rer.json (the artifact, which is then not in the state folder),
    /// *.rer.tar.gz (a bundle of it), *.rpk, *model_io.json, NAME/ (REPLAY.jsonl and its companions), *.tar.gz (a Replay Bundle)
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().try_map(|value| out_path(&value)))]
    pub(super) out: Option<OutPath>,

    /// Also write the run while it is recorded, event by event: replay-jsonl=DIR writes DIR/REPLAY.jsonl, and at the end RECEIPT.json
    /// and PR_SUMMARY.md beside it
    #[arg(long, value_name = "FORMAT=PATH", value_parser = OsStringValueParser::new().try_map(|value| emit_path(&value)))]
    pub(super) emit: Option<EmitPath>,

    /// Overwrite the file that --out names
    #[arg(long, requires = "out")]
    pub(super) force: bool,

    #[command(flatten)]
    pub(super) replay_bundle: RecordedBundleArgs,

    /// Where a vendor's requests go, such as openai=URL; another name makes a route to a server that speaks OpenAI's interface, which
    /// the agent finds by NAME_BASE_URL and NAME_API_BASE. May be given more than once
    #[arg(long, value_name = "NAME=URL", value_parser = upstreams::upstream)]
    pub(super) upstream: Vec<upstreams::UpstreamArg>,

    #[command(flatten)]
    pub(super) agent: AgentOptions,

    /// Sign with this key of yours
    #[arg(long, value_name = "NAME", value_parser = crate::command::keys::key_name)]
    pub(super) key: Option<KeyName>,

    /// Enforce this envelope instead of the one in reenact.toml: what the run may call, how often, until when and for how much;
    /// TOML, or JSON that was signed with `reenact policy sign`
    #[arg(long, value_name = "FILE")]
    pub(super) envelope: Option<PathBuf>,

    /// What happens to an action that the envelope denies: it is blocked, or only recorded as one that would have been
    #[arg(long, value_name = "MODE", value_enum, default_value = "enforce")]
    pub(super) policy_mode: PolicyModeArg,

    /// What models cost, in place of the list prices (see `reenact doctor prices`)
    #[arg(long, value_name = "FILE")]
    pub(super) prices: Option<PathBuf>,

    /// How long an action waits that needs an approval (`reenact policy approve` gives it): 90s, 10m, 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = crate::command::policy::approve::duration)]
    pub(super) approval_timeout: Duration,

    /// What the record survives: the sudden end of the recorder, or also that of the machine, at the price of a flush to the disk
    /// before each request and at the end of each answer
    #[arg(long, value_name = "WHAT", value_enum, default_value = "process")]
    pub(super) durability: DurabilityArg,

    /// Say nothing at the end, unless something went wrong; new approvers are named at the start all the same
    #[arg(long, short)]
    pub(super) quiet: bool,

    /// The agent, and its arguments: everything from the first word on that is no option of ours
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(in crate::command) command: Vec<OsString>,
}

/// Values of `--durability`; the library's [`Durability`].
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DurabilityArg {
    /// The recorder's end
    Process,
    /// The machine's end
    Machine,
}

impl From<DurabilityArg> for Durability {
    fn from(survives: DurabilityArg) -> Self {
        match survives {
            DurabilityArg::Process => Self::Process,
            DurabilityArg::Machine => Self::Machine,
        }
    }
}

/// Values of `--policy-mode`; the library's [`PolicyMode`].
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PolicyModeArg {
    /// Nothing that is denied happens
    Enforce,
    /// Nothing is denied, held back or asked for
    Warn,
}

impl From<PolicyModeArg> for PolicyMode {
    fn from(mode: PolicyModeArg) -> Self {
        match mode {
            PolicyModeArg::Enforce => Self::Enforce,
            PolicyModeArg::Warn => Self::Warn,
        }
    }
}

impl RecordArgs {
    /// Returns the name of this run for the commands that the summary suggests: the path that was written for `--out`,
    /// or `last`, also where the run was written in another format, which holds less of it.
    pub(super) fn run_name(&self, written: &Path) -> String {
        match &self.out {
            Some(out) if !matches!(out.form, OutForm::Converted(_)) => {
                shell_quoted(&written.to_string_lossy())
            }
            _ => "last".into(),
        }
    }
}
