//! What surrounded a run's calls, for people and for programs: agent, folder, files, input, connections.

use std::fmt::Write as _;

use reenact_formats::rer::payload::ForkMode;
use reenact_json::Shown;
use reenact_json::print::{self, PrintObjectWriter};
use reenact_run::surroundings::{FileChangeFacts, StandardInput, Surroundings};
use reenact_run::{Exchange, Run};

use crate::quantity;

/// Most addresses that are listed in one line.
const MAX_ADDRESSES: usize = 6;

/// Appends the lines of the heading; none for a record that says nothing of its surroundings.
pub(super) fn push_heading(run: &Run, text: &mut String) {
    let found = run.surroundings();
    if let Some(parent) = &found.parent {
        let mode = fork_words(parent.mode);
        let step = parent.step_id.as_deref().unwrap_or("?");
        let (answered, live) = fork_counts(run);
        let _ = writeln!(
            text,
            "parent  {} ({mode} step {}): {} from its record, {}",
            Shown::new(&parent.run_id),
            Shown::new(step),
            quantity::count(answered as u64, "answer"),
            quantity::count(live as u64, "live call")
        );
    }
    if let Some(agent) = &found.agent {
        let version =
            agent.version.as_ref().map(|version| format!(" {}", Shown::new(version))).unwrap_or_default();
        let login = agent.login.map(|login| format!(", login {}", login.name())).unwrap_or_default();
        let _ = writeln!(text, "agent   {}{version}{login}", Shown::new(&agent.name));
    }
    // Every recorded command gets the variables of vendors' clients; what a known agent gets beside them is worth a line.
    let settings = found.observer.iter().filter(|_| found.agent.is_some());
    for (set, why) in settings {
        let _ = writeln!(text, "set     {} ({})", Shown::new(set), Shown::new(why));
    }
    if let Some(folder) = &found.folder {
        let _ = writeln!(text, "folder  {}{}", Shown::new(folder), commit_text(&found));
    }
    if let Some(files) = found.files.as_ref().filter(|files| !files.is_empty()) {
        let _ = writeln!(text, "files   {}", files_text(files));
    }
}

/// Returns the way in which a run goes on from another one, as words before the name of the step.
pub(in crate::command) fn fork_words(mode: Option<ForkMode>) -> &'static str {
    match mode {
        Some(ForkMode::Live) => "live, behind",
        Some(ForkMode::From) => "from, behind",
        Some(ForkMode::Edit) => "edit, of",
        None => "in a way that is not known, at",
    }
}

/// Returns how many requests of a run were answered from the record of its parent, and how many were not.
fn fork_counts(run: &Run) -> (usize, usize) {
    let answered = run.exchanges().filter(Exchange::is_answered_from_record).count();
    (answered, run.exchanges().count() - answered)
}

/// Returns the commit of the working folder, and whether the folder was as that commit has it: `, at 0123456789ab (clean)`.
fn commit_text(found: &Surroundings<'_>) -> String {
    let clean = match found.is_clean {
        Some(true) => " (clean)",
        Some(false) => " (with changes)",
        None => "",
    };
    match &found.commit {
        Some(commit) => {
            let short: String = commit.chars().take(12).collect();
            format!(", at {}{clean}", Shown::new(&short))
        }
        None => clean.to_owned(),
    }
}

/// Returns how many files changed, and the first of them by name.
fn files_text(files: &FileChangeFacts<'_>) -> String {
    let counts =
        [(files.added.len(), "added"), (files.changed.len(), "changed"), (files.removed.len(), "removed")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> =
        counts.map(|(count, what)| format!("{} {what}", quantity::grouped(count as u64))).collect();
    if files.more > 0 {
        parts.push(format!("{} more", quantity::grouped(files.more)));
    }
    let hashed = files.added.iter().chain(&files.changed).map(|(path, _)| path);
    let names: Vec<String> =
        hashed.chain(&files.removed).take(3).map(|path| Shown::new(path).to_string()).collect();
    let rest = files.added.len() + files.changed.len() + files.removed.len() > names.len() || files.more > 0;
    format!("{}: {}{}", parts.join(", "), names.join(", "), if rest { ", …" } else { "" })
}

/// Returns the line of what was piped into the command.
pub(super) fn input_line(input: &StandardInput<'_>) -> String {
    let size = quantity::size(input.bytes.len() as u64);
    let rest = if input.is_complete { "" } else { ", and more that was not recorded" };
    format!("standard input  {size}{rest}")
}

/// Returns addresses in one line; beyond the first few they are counted.
pub(in crate::command) fn addresses_text(addresses: &[(impl AsRef<str>, u16)]) -> String {
    let shown = addresses.iter().take(MAX_ADDRESSES).map(|(host, port)| {
        let host = Shown::new(host.as_ref()).to_string();
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if let more @ 1.. = addresses.len().saturating_sub(MAX_ADDRESSES) {
        let _ = write!(text, " and {} more", quantity::grouped(more as u64));
    }
    text
}

/// Writes the members on the surroundings; `null` where the record does not say.
pub(super) fn write_members(run: &Run, object: &mut PrintObjectWriter<'_>) {
    let found = run.surroundings();
    match &found.agent {
        Some(agent) => {
            let mut inner = PrintObjectWriter::open(object.name("agent"));
            inner.string("name", &*agent.name);
            inner.string("version", agent.version.as_deref());
            inner.string("login", agent.login.map(|login| login.name()));
            inner.close();
        }
        None => object.string("agent", None),
    }
    print::write_list(&found.observer, object.name("observer"), |(set, why), out| {
        let mut inner = PrintObjectWriter::open(out);
        inner.string("set", &**set);
        inner.string("why", &**why);
        inner.close();
    });
    object.string("capture", found.capture.map(|capture| capture.name()));
    object.string("folder", found.folder.as_deref());
    object.string("home", found.home.as_deref());
    object.string("temp", found.temp.as_deref());
    object.string("commit", found.commit.as_deref());
    match found.is_clean {
        Some(is_clean) => object.boolean("clean", is_clean),
        None => object.string("clean", None),
    }
    match &found.files {
        Some(files) => write_files(files, object.name("files")),
        None => object.string("files", None),
    }
    match &found.parent {
        Some(parent) => {
            let mut inner = PrintObjectWriter::open(object.name("parent"));
            inner.string("run_id", &*parent.run_id);
            inner.string("digest", parent.digest.as_deref());
            inner.string("step_id", parent.step_id.as_deref());
            inner.string("mode", parent.mode.map(|mode| mode.name()));
            inner.close();
        }
        None => object.string("parent", None),
    }
    object.name("from_record").push_str(&fork_counts(run).0.to_string());
    object.string("stdout_sha256", found.stdout_sha256.as_deref());
    print::write_list(run.seen_addresses(), object.name("addresses"), |(host, port), out| {
        out.push('[');
        print::write_string(&host, out);
        let _ = write!(out, ",{port}]");
    });
}

fn write_files(files: &FileChangeFacts<'_>, out: &mut String) {
    let mut object = PrintObjectWriter::open(out);
    for (name, list) in [("added", &files.added), ("changed", &files.changed)] {
        print::write_list(list, object.name(name), |(path, digest), out| {
            print::write_list([path, digest], out, |text, out| print::write_string(text, out));
        });
    }
    object.strings("removed", &files.removed);
    object.name("more").push_str(&files.more.to_string());
    object.close();
}
