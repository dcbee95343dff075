//! `reenact demo`: record, verify, forge and replay a run on this machine, in a few seconds.
//!
//! Only the model is scripted: each step starts this program again, with the arguments that a user would type. The author
//! who records and the stranger who verifies have configurations of their own. Start reading at `DemoArgs::run`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reenact_json::Shown;
use reenact_record::clock::{Clock, SystemClock, timestamp};
use reenact_sandbox::Isolation;
use reenact_testkit::{Script, ScriptedVendor, Vendor};
use reenact_verify::render::Tone;

use crate::output::{self, CommandError, paint};
use crate::{hardening, vendors};

/// Record an agent, catch a forgery, replay the run: no key, no network
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reenact demo")]
pub(crate) struct DemoArgs {
    /// Work in this folder, which must not exist yet, instead of a temporary one
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The agent of the demo, as a program of its own.
#[derive(clap::Args)]
pub(crate) struct DemoAgentArgs {
    /// Vendor whose API the agent speaks
    #[arg(long, value_name = "NAME", default_value = "openai", value_parser = vendors::vendor)]
    vendor: Vendor,

    /// Tell the model the time, and an id of this session, as coding agents do
    #[arg(long)]
    clock: bool,

    /// Task of the agent, instead of booking a flight from Vienna to Lisbon
    task: Option<String>,
}

impl DemoAgentArgs {
    /// Runs the agent of the demo, a small program that books a flight with two tools, and returns its exit code.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        let context = if self.clock { Some(clock_context()?) } else { None };
        Ok(reenact_testkit::agent::run(
            self.vendor,
            self.task.as_deref(),
            context,
            &mut std::io::stdout().lock(),
            &mut std::io::stderr().lock(),
        ))
    }
}

/// Returns a sentence that is another one in each run.
fn clock_context() -> Result<String, CommandError> {
    let session =
        reenact_record::RunId::generate().map_err(|error| CommandError::impossible(error.to_string()))?;
    Ok(format!("It is {}, in session {session}.", timestamp(SystemClock::start().now())))
}

/// File with the recorded run, as the demo's commands name it.
const RUN: &str = "run.rer.json";
/// File with the recorded run of an agent that tells its model the time.
const CLOCK_RUN: &str = "clock.rer.json";
/// File with the forged copy of the run.
const FORGED: &str = "forged.rer.json";
/// File with the author's public key.
const KEY: &str = "signer.jwk";

/// Text that the forgery changes, and its replacement: the price that the tool reported.
const FORGED_PRICE: (&str, &str) = (r#""price_eur":189"#, r#""price_eur":139"#);

/// Folder in which the demo runs, and the path of this program.
struct DemoFolder {
    /// Absolute path of the folder. The configurations and the runs of the author and of the stranger lie in it, too.
    folder: PathBuf,
    /// Path of this program, which each step starts again.
    program: PathBuf,
}

impl DemoArgs {
    /// Runs all steps of the demo, and prints each command with its output.
    ///
    /// # Errors
    ///
    /// If a step ends with another exit code than it should, or the replayed agent prints something else than
    /// the recorded one.
    pub(crate) fn run(&self) -> Result<u8, CommandError> {
        let demo = DemoFolder::create(self.dir.as_deref())?;
        let mut vendor = ScriptedVendor::start(Script::travel())
            .map_err(|error| CommandError::impossible(error.to_string()))?;
        print("A small agent books a flight. Its model is a script on this machine: no key, no network.\n")?;

        print_heading(
            1,
            "Record it: the agent runs as ever, and what it asks its model passes through reenact",
        )?;
        let base = vendor.base_url(Vendor::OPENAI);
        let record = ["record", "--out", RUN, "--", "reenact", "demo-agent"];
        let recorded = demo.run_reenact("author", &record, &[("OPENAI_BASE_URL", &base)])?;
        print_output(&recorded)?;
        require_exit_code(&recorded, 0)?;

        print_heading(2, "Verify it, as a stranger would: with the public key, and nothing else")?;
        let exported = demo.run_reenact("author", &["keys", "export", "default"], &[])?;
        require_exit_code(&exported, 0)?;
        fs::write(demo.folder.join(KEY), &exported.stdout).map_err(io_failure)?;
        let verified = demo.run_reenact("stranger", &["verify", "--key", KEY, RUN], &[])?;
        print_output(&verified)?;
        require_exit_code(&verified, 0)?;

        print_heading(3, "Forge one byte: the flight cost 139 euros, not 189")?;
        demo.write_forgery()?;
        let caught = demo.run_reenact("stranger", &["verify", "--key", KEY, FORGED], &[])?;
        print_failures(&caught)?;
        require_exit_code(&caught, 1)?;

        // Recorded while the model answers, and told when it is replayed.
        let clock = ["record", "--quiet", "--out", CLOCK_RUN, "--", "reenact", "demo-agent", "--clock"];
        let clocked = demo.start_reenact("author", &clock, &[("OPENAI_BASE_URL", &base)])?;
        require_exit_code(&clocked, 0)?;

        let has_sandbox = reenact_sandbox::probe().report.isolation != Isolation::None;
        let (network, sandbox): (_, &[&str]) = match has_sandbox {
            true => ("the kernel cuts off the network", &[]),
            false => ("this kernel gives no sandbox (reenact doctor)", &["--sandbox", "off"]),
        };
        print_heading(4, &format!("Replay it: the model is switched off, and {network}"))?;
        vendor.stop();
        let command = ["--", "reenact", "demo-agent"];
        let replay = [&["replay", RUN, "--key", KEY], sandbox, &command].concat();
        let replayed = demo.run_reenact("stranger", &replay, &[])?;
        print_output(&replayed)?;
        require_exit_code(&replayed, 0)?;
        if replayed.stdout != recorded.stdout {
            return Err(CommandError::refused(
                "the replayed agent said something else than the recorded one",
            ));
        }
        print_heading(
            5,
            "The same at another time: this agent tells its model the clock, and a new id for each session",
        )?;
        print_command(&clock, "")?;
        let replay = [&["replay", CLOCK_RUN, "--key", KEY], sandbox, &command, &["--clock"]].concat();
        let moved = demo.run_reenact("stranger", &replay, &[])?;
        print(&indented(String::from_utf8_lossy(&moved.stderr).lines()))?;
        require_exit_code(&moved, 0)?;

        let folder = demo.folder.to_string_lossy();
        print(&format!(
            "\nThe same words, from the record alone. Look around:\n  cd {}\n  reenact show {RUN} --key {KEY}\nYour own agent:\n  reenact record -- python agent.py\n",
            Shown::whole(&folder)
        ))?;
        Ok(0)
    }
}

impl DemoFolder {
    /// Creates the folder: the given one, or a new one among the temporary files.
    ///
    /// # Errors
    ///
    /// If the given folder exists already.
    fn create(folder: Option<&Path>) -> Result<Self, CommandError> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => {
                let id = reenact_record::RunId::generate()
                    .map_err(|error| CommandError::impossible(error.to_string()))?;
                std::env::temp_dir().join(format!("reenact-demo-{id}"))
            }
        };
        if folder.symlink_metadata().is_ok() {
            let name = folder.to_string_lossy();
            return Err(CommandError::impossible(format!(
                "{}: is there already; give a new folder",
                Shown::whole(&name)
            )));
        }
        reenact_keys::durable::create_private_folder(&folder).map_err(io_failure)?;
        let folder = fs::canonicalize(&folder).map_err(io_failure)?;
        let program = std::env::current_exe().map_err(io_failure)?;
        Ok(Self { folder, program })
    }

    /// Runs this program in the folder, with the configuration of `user`, and prints the command line first.
    fn run_reenact(
        &self,
        user: &str,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Output, CommandError> {
        let into = if words.contains(&"export") { format!(" > {KEY}") } else { String::new() };
        print_command(words, &into)?;
        self.start_reenact(user, words, variables)
    }

    /// Runs this program in the folder, with the configuration of `user`.
    fn start_reenact(
        &self,
        user: &str,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Output, CommandError> {
        // The agent is this program too, which may be installed under another name and outside of `PATH`.
        let name = self.program.file_name().unwrap_or(OsStr::new("reenact"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = self.program.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
        let mut command = Command::new(&self.program);
        command
            .args(words.iter().map(|word| if *word == "reenact" { name } else { OsStr::new(*word) }))
            .env(
                "PATH",
                std::env::join_paths(path).map_err(|error| CommandError::impossible(error.to_string()))?,
            )
            .current_dir(&self.folder)
            .env("XDG_CONFIG_HOME", self.folder.join(user))
            .env("REENACT_HOME", self.folder.join(user).join("state"))
            .env_remove("OPENAI_API_KEY")
            .envs(variables.iter().copied());
        hardening::with_inherited_limits(|| command.output()).map_err(io_failure)
    }

    /// Writes a copy of the run in which one digit of a price is changed.
    fn write_forgery(&self) -> Result<(), CommandError> {
        let mut text = fs::read_to_string(self.folder.join(RUN)).map_err(io_failure)?;
        let (from, to) = FORGED_PRICE;
        let at = text.find(from).ok_or_else(|| CommandError::refused("the price is not in the record"))?;
        text.replace_range(at..at + from.len(), to);
        fs::write(self.folder.join(FORGED), text).map_err(io_failure)
    }
}

/// Prints a part of the demo's text.
fn print(text: &str) -> Result<(), CommandError> {
    output::print(text)
}

/// Prints a command line, and where its output goes.
fn print_command(words: &[&str], into: &str) -> Result<(), CommandError> {
    print(&format!("  {}\n", paint(Tone::Title, &format!("$ reenact {}{into}", words.join(" ")))))
}

/// Prints the heading of a step.
fn print_heading(number: usize, title: &str) -> Result<(), CommandError> {
    print(&format!("\n{} {title}\n", paint(Tone::Title, &format!("{number}."))))
}

/// Prints the output of a command, indented: standard output, then standard error.
fn print_output(printed: &Output) -> Result<(), CommandError> {
    print(&indented(String::from_utf8_lossy(&printed.stdout).lines()))?;
    print(&indented(String::from_utf8_lossy(&printed.stderr).lines()))
}

/// Prints the failed checks of a verification with their reasons, and the verdict.
fn print_failures(printed: &Output) -> Result<(), CommandError> {
    let text = String::from_utf8_lossy(&printed.stdout);
    let mut fails = false;
    let failures = text.lines().filter(|line| {
        // A reason is indented deeper than its check.
        let is_reason = line.starts_with("        ");
        fails = if is_reason { fails } else { line.trim_start().starts_with("FAIL") };
        fails
    });
    print(&indented(failures))
}

/// Returns lines with an indentation of four spaces.
fn indented<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    lines.map(|line| format!("    {line}\n")).collect()
}

/// Ends the demo with the output of a step that had another exit code than expected.
fn require_exit_code(printed: &Output, code: i32) -> Result<(), CommandError> {
    if printed.status.code() == Some(code) {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&printed.stderr);
    Err(CommandError::refused(format!("this should have gone another way ({}):\n{stderr}", printed.status)))
}

/// Converts an I/O error into a message with exit code 2.
fn io_failure(error: std::io::Error) -> CommandError {
    CommandError::impossible(error.to_string())
}
