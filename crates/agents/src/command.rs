//! Recognition of an agent in a command, and the place of its arguments.
//!
//! A command is a program, or a wrapper that starts one: `env A=b codex`, `npx -y @openai/codex`, `python -m aider`,
//! `node …/cli.js`, `sh -c "codex …"`. Wrappers stand in tables. A shell's text is only read: where an agent stands inside of
//! one, arguments reach it through a program of its name that stands first in `PATH`. Start reading at [`recognise`].

use crate::row::Recognition;
use crate::shell;

/// Agent in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecognisedCommand {
    /// Words by which it was recognised, such as `npx @openai/codex`. Untrusted text.
    pub how: String,
    /// Place for further arguments.
    pub place: ArgumentsPlace,
    /// Program, script or module that is started, as the command names it. Untrusted text.
    pub program: Option<String>,
    /// The agent's own arguments.
    pub arguments: Vec<String>,
    /// Variables that the command sets for it.
    pub variables: Vec<(String, String)>,
}

/// Place for further arguments of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentsPlace {
    /// Position in the command, before the agent's own arguments.
    At(usize),
    /// A program of this name, first in `PATH`, that starts the agent with them.
    Shim(String),
    /// None; the text says what to do about it.
    Nowhere(&'static str),
}

/// Wrapper that starts the program behind it.
struct Wrapper {
    name: &'static str,
    /// First arguments that make it one.
    words: &'static [&'static str],
    /// Options with a value of their own argument.
    value_options: &'static [&'static str],
    /// Arguments before the program.
    skip: usize,
}

const fn wrapper(
    name: &'static str,
    words: &'static [&'static str],
    value_options: &'static [&'static str],
    skip: usize,
) -> Wrapper {
    Wrapper { name, words, value_options, skip }
}

/// Programs that start the program behind them as it stands there.
const WRAPPERS: &[Wrapper] = &[
    wrapper("caffeinate", &[], &["-t", "-w"], 0),
    wrapper("command", &[], &[], 0),
    wrapper("direnv", &["exec"], &[], 1),
    wrapper("ionice", &[], &["-c", "-n"], 0),
    wrapper("mise", &["exec"], &[], 0),
    wrapper("nice", &[], &["-n", "--adjustment"], 0),
    wrapper("nohup", &[], &[], 0),
    wrapper("op", &["run"], &["--env-file"], 0),
    wrapper("pipenv", &["run"], &[], 0),
    wrapper("poetry", &["run"], &[], 0),
    wrapper("setsid", &[], &[], 0),
    wrapper("stdbuf", &[], &["-i", "-o", "-e"], 0),
    wrapper("time", &[], &["-f", "-o"], 0),
    wrapper("timeout", &[], &["-k", "--kill-after", "-s", "--signal"], 1),
    wrapper(
        "uv",
        &["run"],
        &["--with", "--python", "-p", "--env-file", "--project", "--directory", "--extra", "--group", "-m"],
        0,
    ),
];

/// Programs that fetch a package and start its program.
const RUNNERS: &[Wrapper] = &[
    wrapper("npx", &[], NODE_PACKAGE_OPTIONS, 0),
    wrapper("pnpx", &[], NODE_PACKAGE_OPTIONS, 0),
    wrapper("bunx", &[], NODE_PACKAGE_OPTIONS, 0),
    wrapper("bun", &["x"], NODE_PACKAGE_OPTIONS, 0),
    wrapper("pnpm", &["dlx"], NODE_PACKAGE_OPTIONS, 0),
    wrapper("pnpm", &["exec"], NODE_PACKAGE_OPTIONS, 0),
    wrapper("yarn", &["dlx"], NODE_PACKAGE_OPTIONS, 0),
    wrapper("npm", &["exec"], NODE_PACKAGE_OPTIONS, 0),
    wrapper("npm", &["x"], NODE_PACKAGE_OPTIONS, 0),
    wrapper("uvx", &[], PYTHON_PACKAGE_OPTIONS, 0),
    wrapper("uv", &["tool", "run"], PYTHON_PACKAGE_OPTIONS, 0),
    wrapper("pipx", &["run"], PYTHON_PACKAGE_OPTIONS, 0),
];
const NODE_PACKAGE_OPTIONS: &[&str] = &["-p", "--package", "-w", "--workspace", "--registry", "--cache"];
const PYTHON_PACKAGE_OPTIONS: &[&str] =
    &["--from", "--with", "--python", "-p", "--spec", "--pip-args", "--index-url", "-i", "--env-file"];
/// Options of interpreters with a value of their own argument.
const INTERPRETER_OPTIONS: &[&str] =
    &["-r", "--require", "--import", "--loader", "--env-file", "-W", "-X", "--config", "-c"];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash"];
/// Deepest nesting of wrappers that is followed.
const MAX_DEPTH: usize = 8;

/// Advice where `npm exec` would take the arguments for its own.
const NPM_ADVICE: &str =
    "npm takes what follows the package for its own options: write `--` before the arguments of the agent";
/// Advice where a shell's text starts an agent by a path or a runner.
const SHELL_ADVICE: &str =
    "the agent is started by a path inside of a shell's text: give its command to `reenact record` itself";
/// Advice for an agent that a shell finds nowhere in `PATH`.
pub(crate) const NO_PROGRAM_ADVICE: &str =
    "the agent is not in PATH, so that none can stand before it: give its command to `reenact record` itself";
/// Advice where a login shell would set `PATH` anew.
const LOGIN_SHELL_ADVICE: &str = "a login shell sets PATH anew, so that the address cannot be given to the agent in its text: leave \
                                  the option out, or give its command to `reenact record` itself";
/// Advice where the agent's own arguments in a shell's text name another address.
pub(crate) const OWN_ARGUMENTS_ADVICE: &str =
    "its own arguments in a shell's text name another address: give its command to `reenact record` itself";

/// Returns the agent of a row in a command; `None` if the command does not start it.
pub fn recognise(row: &Recognition, command: &[String]) -> Option<RecognisedCommand> {
    walk(row, command, 0)
}

/// Returns the agent in `words`. Positions in the result count from the start of `words`.
fn walk(row: &Recognition, words: &[String], depth: usize) -> Option<RecognisedCommand> {
    let program = program_name(words.first()?);
    if depth > MAX_DEPTH {
        return None;
    }
    if row.programs.iter().any(|known| known == program) {
        return Some(found(words, 1, program.to_owned()));
    }
    if let Some(start) = wrapped_by(WRAPPERS, program, words) {
        return inner(row, words, start, depth);
    }
    match program {
        "env" => environment_wrapper(row, words, depth),
        _ if SHELLS.contains(&program) => shell_text(row, words, depth),
        _ => package(row, program, words).or_else(|| script(row, program, words)),
    }
}

/// Returns the agent in the command behind a wrapper, with positions of the whole.
fn inner(row: &Recognition, words: &[String], start: usize, depth: usize) -> Option<RecognisedCommand> {
    let mut found = walk(row, words.get(start..)?, depth + 1)?;
    if let ArgumentsPlace::At(at) = &mut found.place {
        *at += start;
    }
    Some(found)
}

fn found(words: &[String], at: usize, how: String) -> RecognisedCommand {
    let arguments = words.get(at..).unwrap_or_default().to_vec();
    let program = words.get(at.wrapping_sub(1)).cloned();
    RecognisedCommand { how, place: ArgumentsPlace::At(at), program, arguments, variables: Vec::new() }
}

/// Returns the name of a program without its folder and the extensions of Windows.
pub(crate) fn program_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    [".exe", ".cmd", ".bat", ".ps1"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Returns where the program begins that a wrapper of the table starts: behind its words, options and arguments.
fn wrapped_by(table: &[Wrapper], program: &str, words: &[String]) -> Option<usize> {
    let is_it = |wrapper: &&Wrapper| {
        wrapper.name == program
            && wrapper
                .words
                .iter()
                .enumerate()
                .all(|(at, word)| words.get(at + 1).is_some_and(|given| given == word))
    };
    let wrapper = table.iter().find(is_it)?;
    Some(skip_options(words, 1 + wrapper.words.len(), wrapper.value_options) + wrapper.skip)
}

/// Returns the position of the first argument from `at` on that is no option; `--` ends them.
fn skip_options(words: &[String], mut at: usize, value_options: &[&str]) -> usize {
    while let Some(word) = words.get(at) {
        if word == "--" {
            return at + 1;
        }
        if !word.starts_with('-') || word == "-" {
            break;
        }
        at += if value_options.contains(&word.as_str()) { 2 } else { 1 };
    }
    at
}

/// `env [-i] [-u NAME] [A=b]… COMMAND`.
fn environment_wrapper(row: &Recognition, words: &[String], depth: usize) -> Option<RecognisedCommand> {
    let start = skip_options(words, 1, &["-u", "--unset", "-C", "--chdir"]);
    assigned(row, words, start, depth)
}

/// Returns the agent behind assignments `A=b`, which become its variables.
fn assigned(row: &Recognition, words: &[String], start: usize, depth: usize) -> Option<RecognisedCommand> {
    let pairs: Vec<(String, String)> =
        words.get(start..)?.iter().map_while(|word| assignment(word)).collect();
    let mut found = inner(row, words, start + pairs.len(), depth)?;
    found.variables.splice(0..0, pairs);
    Some(found)
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// `sh -c TEXT`.
fn shell_text(row: &Recognition, words: &[String], depth: usize) -> Option<RecognisedCommand> {
    let is_text = |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let options = words.iter().skip(1).take_while(|word| word.starts_with(['-', '+'])).count();
    let text = words.get(1..=options)?.iter().find(is_text).and_then(|_| words.get(1 + options))?;
    let shell = program_name(words.first()?);
    let is_login = words.get(1..=options)?.iter().any(|word| is_login_option(word));
    shell::simple_commands(text).iter().find_map(|command| {
        let mut found = assigned(row, command, 0, depth + 1)?;
        // A name without a folder is looked up in `PATH`.
        let name = found.program.clone().filter(|name| found.how == *name && row.programs.contains(name));
        found.how = format!("{} in the text of {shell}", found.how);
        found.place = match (name, found.place) {
            _ if is_login => ArgumentsPlace::Nowhere(LOGIN_SHELL_ADVICE),
            (Some(name), _) => ArgumentsPlace::Shim(name),
            (None, ArgumentsPlace::Shim(name)) => ArgumentsPlace::Shim(name),
            (None, _) => ArgumentsPlace::Nowhere(SHELL_ADVICE),
        };
        Some(found)
    })
}

/// Returns true for an option of a shell, or several in one word, that makes it a login shell.
fn is_login_option(word: &str) -> bool {
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    word == "--login" || short.is_some_and(|letters| letters.contains('l'))
}

/// `npx [-y] PACKAGE`, `uvx PACKAGE` and the like.
fn package(row: &Recognition, program: &str, words: &[String]) -> Option<RecognisedCommand> {
    let at = wrapped_by(RUNNERS, program, words)?;
    let given = words.get(at)?;
    let bare = without_version(given);
    if !row.packages.iter().chain(&row.programs).any(|known| known == bare) {
        return None;
    }
    let how = format!("{program} {given}");
    if program != "npm" || words.get(at - 1).is_some_and(|before| before == "--") {
        return Some(found(words, at + 1, how));
    }
    // npm reads options behind the package, too.
    match words.get(at + 1) {
        Some(end) if end == "--" => Some(found(words, at + 2, how)),
        _ => Some(RecognisedCommand {
            place: ArgumentsPlace::Nowhere(NPM_ADVICE),
            ..found(words, at + 1, how)
        }),
    }
}

/// Returns the name of a package without `@version`, `==version` and `[extras]`.
fn without_version(package: &str) -> &str {
    let package = package.strip_prefix("npm:").unwrap_or(package);
    let scope = usize::from(package.starts_with('@'));
    let end = package
        .get(scope..)
        .and_then(|rest| rest.find(['@', '=', '[', '<', '>', '~']))
        .map(|end| end + scope);
    end.map_or(package, |end| &package[..end])
}

/// `node …/cli.js`, `python -m MODULE`, `deno run npm:PACKAGE`.
fn script(row: &Recognition, program: &str, words: &[String]) -> Option<RecognisedCommand> {
    let is_python = program.starts_with("python") || program == "py";
    if !is_python && !["node", "nodejs", "bun", "deno", "tsx"].contains(&program) {
        return None;
    }
    if is_python && let Some(at) = words.iter().position(|word| word == "-m") {
        let module = words.get(at + 1)?;
        let is_it = skip_options(&words[..at], 1, INTERPRETER_OPTIONS) >= at && row.modules.contains(module);
        return is_it.then(|| found(words, at + 2, format!("{program} -m {module}")));
    }
    let start = 1 + usize::from(words.get(1).is_some_and(|word| word == "run"));
    let at = skip_options(words, start, INTERPRETER_OPTIONS);
    let given = words.get(at)?;
    let is_script = |end: &String| {
        given.strip_suffix(end.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let is_package =
        given.starts_with("npm:") && row.packages.iter().any(|known| known == without_version(given));
    let is_it = is_package
        || row.scripts.iter().any(is_script)
        || given.contains('/') && row.programs.iter().any(|known| known == program_name(given));
    is_it.then(|| found(words, at + 1, format!("{program} {given}")))
}
