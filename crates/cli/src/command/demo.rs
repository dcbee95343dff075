//! `reenact demo`: the whole story on this machine, in a few seconds: record, verify, forge, replay.
//!
//! Nothing is staged but the model: each step is this program, run again as a user would run it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reenact_json::Shown;
use reenact_testkit::{Kind, Script, Vendor};
use reenact_verify::render::Tone;

use crate::output::{self, Ending, paint};
use crate::vendors;

/// Record an agent, catch a forgery, replay the run offline: no key, no network, a few seconds
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reenact demo")]
pub(crate) struct Demo {
    /// Work in this folder, which must not exist yet, instead of a temporary one
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The agent of the demo, as a program of its own.
#[derive(clap::Args)]
pub(crate) struct DemoAgent {
    /// Whose interface it speaks
    #[arg(long, value_name = "NAME", default_value = "openai", value_parser = vendors::vendor)]
    vendor: Kind,

    /// What it is to do, instead of booking a flight from Vienna to Lisbon
    task: Option<String>,
}

impl DemoAgent {
    pub(crate) fn run(&self) -> Result<u8, Ending> {
        Ok(reenact_testkit::agent::run(
            self.vendor,
            self.task.as_deref(),
            &mut std::io::stdout().lock(),
            &mut std::io::stderr().lock(),
        ))
    }
}

/// The recorded run, its forgery and the public key, by the names that the story uses.
const RUN: &str = "run.rer.json";
const FORGED: &str = "forged.rer.json";
const KEY: &str = "signer.jwk";

/// What is forged: the price that the tool reported.
const PRICE: (&str, &str) = (r#""price_eur":189"#, r#""price_eur":139"#);

/// The folder of one demo.
struct Stage {
    folder: PathBuf,
    program: PathBuf,
}

impl Demo {
    pub(crate) fn run(&self) -> Result<u8, Ending> {
        let stage = Stage::set(self.dir.as_deref())?;
        let mut vendor =
            Vendor::start(Script::travel()).map_err(|error| Ending::impossible(error.to_string()))?;
        say("A small agent books a flight. Its model is a script on this machine: no key, no network.\n")?;

        chapter(1, "Record it: the agent runs as ever, and what it asks its model passes through reenact")?;
        let base = vendor.base_url(Kind::OPENAI);
        let record = ["record", "--out", RUN, "--", "reenact", "demo-agent"];
        let recorded = stage.reenact("author", &record, &[("OPENAI_BASE_URL", &base)])?;
        show(&recorded)?;
        expect(&recorded, 0)?;

        chapter(2, "Verify it, as a stranger would: with the public key, and nothing else")?;
        let exported = stage.reenact("author", &["keys", "export", "default"], &[])?;
        expect(&exported, 0)?;
        fs::write(stage.folder.join(KEY), &exported.stdout).map_err(failed)?;
        let verified = stage.reenact("stranger", &["verify", "--key", KEY, RUN], &[])?;
        show(&verified)?;
        expect(&verified, 0)?;

        chapter(3, "Forge one byte: the flight cost 139 euros, not 189")?;
        stage.forge()?;
        let caught = stage.reenact("stranger", &["verify", "--key", KEY, FORGED], &[])?;
        show_failures(&caught)?;
        expect(&caught, 1)?;

        chapter(4, "Replay it: the model is switched off, and the kernel cuts off the network")?;
        vendor.stop();
        let replay = ["replay", RUN, "--key", KEY, "--", "reenact", "demo-agent"];
        let replayed = stage.reenact("stranger", &replay, &[])?;
        show(&replayed)?;
        expect(&replayed, 0)?;
        if replayed.stdout != recorded.stdout {
            return Err(Ending::refused("the replayed agent said something else than the recorded one"));
        }
        let folder = stage.folder.to_string_lossy();
        say(&format!(
            "\nThe same words, from the record alone. Look around:\n  cd {}\n  reenact show {RUN} --key {KEY}\nYour own agent:\n  reenact record -- python agent.py\n",
            Shown::whole(&folder)
        ))?;
        Ok(0)
    }
}

impl Stage {
    fn set(folder: Option<&Path>) -> Result<Self, Ending> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => {
                let id = reenact_record::RunId::generate()
                    .map_err(|error| Ending::impossible(error.to_string()))?;
                std::env::temp_dir().join(format!("reenact-demo-{id}"))
            }
        };
        if folder.symlink_metadata().is_ok() {
            let name = folder.to_string_lossy();
            return Err(Ending::impossible(format!(
                "{}: is there already; give a new folder",
                Shown::whole(&name)
            )));
        }
        reenact_keys::durable::create_private_folder(&folder).map_err(failed)?;
        let folder = fs::canonicalize(&folder).map_err(failed)?;
        let program = std::env::current_exe().map_err(failed)?;
        Ok(Self { folder, program })
    }

    /// Runs this program in the folder, as someone with a configuration of their own.
    fn reenact(&self, who: &str, words: &[&str], variables: &[(&str, &str)]) -> Result<Output, Ending> {
        let into = if words.contains(&"export") { format!(" > {KEY}") } else { String::new() };
        say(&format!("  {}\n", paint(Tone::Title, &format!("$ reenact {}{into}", words.join(" ")))))?;
        // The agent is this program too, wherever it is installed and whatever it is called.
        let name = self.program.file_name().unwrap_or(OsStr::new("reenact"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = self.program.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
        Command::new(&self.program)
            .args(words.iter().map(|word| if *word == "reenact" { name } else { OsStr::new(*word) }))
            .env("PATH", std::env::join_paths(path).map_err(|error| Ending::impossible(error.to_string()))?)
            .current_dir(&self.folder)
            .env("XDG_CONFIG_HOME", self.folder.join(who))
            .env_remove("OPENAI_API_KEY")
            .envs(variables.iter().copied())
            .output()
            .map_err(failed)
    }

    /// Changes one byte of the run.
    fn forge(&self) -> Result<(), Ending> {
        let mut text = fs::read_to_string(self.folder.join(RUN)).map_err(failed)?;
        let (from, to) = PRICE;
        let at = text.find(from).ok_or_else(|| Ending::refused("the price is not in the record"))?;
        text.replace_range(at..at + from.len(), to);
        fs::write(self.folder.join(FORGED), text).map_err(failed)
    }
}

fn say(text: &str) -> Result<(), Ending> {
    output::print(text)
}

fn chapter(number: usize, title: &str) -> Result<(), Ending> {
    say(&format!("\n{} {title}\n", paint(Tone::Title, &format!("{number}."))))
}

/// What a command printed, indented.
fn show(printed: &Output) -> Result<(), Ending> {
    say(&indented(String::from_utf8_lossy(&printed.stdout).lines()))?;
    say(&indented(String::from_utf8_lossy(&printed.stderr).lines()))
}

/// Of a verdict: the checks that do not hold, their reasons, and the last line.
fn show_failures(printed: &Output) -> Result<(), Ending> {
    let text = String::from_utf8_lossy(&printed.stdout);
    let mut fails = false;
    let failures = text.lines().filter(|line| {
        // Reasons stand deeper than checks.
        let is_reason = line.starts_with("        ");
        fails = if is_reason { fails } else { line.trim_start().starts_with("FAIL") };
        fails
    });
    say(&indented(failures))
}

fn indented<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    lines.map(|line| format!("    {line}\n")).collect()
}

/// A step that goes another way ends the demo, with what it said.
fn expect(printed: &Output, code: i32) -> Result<(), Ending> {
    if printed.status.code() == Some(code) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&printed.stderr);
    Err(Ending::refused(format!("this should have gone another way ({}):\n{said}", printed.status)))
}

fn failed(error: std::io::Error) -> Ending {
    Ending::impossible(error.to_string())
}
