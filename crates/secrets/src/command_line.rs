//! Secrets in command lines: `curl -u user:…`, `mysql -p…`, `docker login -p …`, and options such as `--pass …`.
//!
//! `-p` is a password to one program and a port to the next. So in a text a short option counts only behind a program of
//! `PROGRAMS`. The arguments of a command that is recorded are read by [`secret_arguments`], where an option that is
//! named like a secret has one, whatever it looks like. Start reading at `find`.

use crate::assignment::quoted_value;
use crate::name::HARMLESS_PASSES;
use crate::rule::is_word_start;
use crate::value::{is_identifier, is_mixed, is_placeholder_value};
use crate::{cookie, entropy, url};
use core::ops::Range;

/// Name of the rule for passwords on command lines.
pub(crate) const RULE: &str = "password";

/// Program that takes a secret by a short option.
pub(crate) struct SecretProgram {
    /// Name; the automaton looks for it.
    pub(crate) name: &'static str,
    /// True if the name is also the beginning of the names of sister programs, as in `mysqldump`.
    has_sisters: bool,
    /// Word that stands between the program and the option.
    subcommand: Option<&'static str>,
    /// Options with a secret.
    options: &'static [SecretOption],
}

/// Option whose value is a secret, or holds one.
struct SecretOption {
    name: &'static str,
    value: OptionValue,
    /// True if the value may only stand directly behind the name, as in `mysql -pVALUE`.
    is_attached: bool,
}

/// Part of an option's value that is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionValue {
    /// All of it.
    Password,
    /// The password of `user:password`.
    Pair,
    /// The values of `a=1; b=2`.
    Cookies,
}

const fn option(name: &'static str, value: OptionValue) -> SecretOption {
    SecretOption { name, value, is_attached: false }
}

const fn program(name: &'static str, options: &'static [SecretOption]) -> SecretProgram {
    SecretProgram { name, has_sisters: false, subcommand: None, options }
}

/// Creates the row of a program whose `login` takes a password by `-p`.
const fn registry(name: &'static str) -> SecretProgram {
    SecretProgram { subcommand: Some("login"), ..program(name, &LOGIN) }
}

static LOGIN: [SecretOption; 1] = [option("-p", OptionValue::Password)];

static MYSQL: [SecretOption; 1] =
    [SecretOption { name: "-p", value: OptionValue::Password, is_attached: true }];

/// Programs that take a secret by a short option. Part of the published text of a pack.
pub(crate) static PROGRAMS: [SecretProgram; 14] = [
    program(
        "curl",
        &[
            option("-u", OptionValue::Pair),
            option("--user", OptionValue::Pair),
            option("-U", OptionValue::Pair),
            option("--proxy-user", OptionValue::Pair),
            option("-b", OptionValue::Cookies),
        ],
    ),
    SecretProgram { has_sisters: true, ..program("mysql", &MYSQL) },
    SecretProgram { has_sisters: true, ..program("mariadb", &MYSQL) },
    program("sshpass", &[option("-p", OptionValue::Password)]),
    program("redis-cli", &[option("-a", OptionValue::Password)]),
    SecretProgram { has_sisters: true, ..program("mongo", &[option("-p", OptionValue::Password)]) },
    SecretProgram { has_sisters: true, ..program("ldap", &[option("-w", OptionValue::Password)]) },
    registry("docker"),
    registry("podman"),
    registry("nerdctl"),
    registry("helm"),
    registry("skopeo"),
    registry("buildah"),
    registry("oras"),
];

/// Longest command line that is read, in bytes from its program on.
const MAX_COMMAND_BYTES: usize = 2048;
/// Shortest password, in bytes.
const MIN_PASSWORD_BYTES: usize = 3;
/// Shortest password, in bytes, that stands apart from its option, where a sentence would go on.
const MIN_APART_BYTES: usize = 6;

impl SecretProgram {
    /// Returns the options of the program, as the published text of a pack lists them.
    pub(crate) fn usage(&self) -> String {
        let mut text = self.name.to_owned();
        text.push_str(if self.has_sisters { "*" } else { "" });
        for word in self.subcommand.into_iter().chain(self.options.iter().map(|option| option.name)) {
            text.push(' ');
            text.push_str(word);
        }
        text
    }
}

/// Returns the secrets in the command line whose program's name stands at `start`, each with its rule.
pub(crate) fn find(bytes: &[u8], start: usize, program: &SecretProgram) -> Vec<(&'static str, Range<usize>)> {
    let mut found = Vec::new();
    if !is_word_start(bytes, start) {
        return found;
    }
    let end = bytes.len().min(start + MAX_COMMAND_BYTES);
    let Some(text) = bytes.get(..end) else { return found };
    let mut from = start + program.name.len();
    if program.has_sisters {
        from += text.iter().skip(from).take_while(|byte| byte.is_ascii_lowercase() || **byte == b'-').count();
    }
    let Some(mut words) = CommandWords::after_program(text, from) else { return found };
    let mut is_named = program.subcommand.is_none();
    while let Some(word) = words.next() {
        let Some(value) = text.get(word.clone()) else { break };
        if !is_named {
            is_named = program.subcommand.is_some_and(|subcommand| subcommand.as_bytes() == value);
            continue;
        }
        let Some(option) = program.options.iter().find(|option| option.is_at(value)) else { continue };
        let attached = option.attached_value(text, &word);
        let (span, is_apart) = match attached {
            Some(span) => (span, false),
            None if option.is_attached => continue,
            None => match words.next() {
                Some(span) => (span, true),
                None => break,
            },
        };
        let rule = if option.value == OptionValue::Cookies { cookie::RULE } else { RULE };
        found.extend(option.value.secrets_in(text, span, is_apart).into_iter().map(|secret| (rule, secret)));
    }
    found
}

impl SecretOption {
    /// Returns true if a word is this option, alone or with its value behind it.
    fn is_at(&self, word: &[u8]) -> bool {
        let Some(rest) = word.strip_prefix(self.name.as_bytes()) else { return false };
        // A long option has a sign before its value.
        rest.is_empty() || !self.name.starts_with("--") || rest.starts_with(b"=")
    }

    /// Returns the span of a value that stands in the same word as the option.
    fn attached_value(&self, text: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
        let sign = usize::from(self.name.starts_with("--"));
        let from = word.start + self.name.len() + sign;
        (from < word.end).then(|| without_quotes(text, from..word.end))
    }
}

impl OptionValue {
    /// Returns the secrets in a value. `is_apart` is true for a value behind a blank, which may be a word of a sentence.
    fn secrets_in(self, text: &[u8], span: Range<usize>, is_apart: bool) -> Vec<Range<usize>> {
        let Some(value) = text.get(span.clone()) else { return Vec::new() };
        let is_text = value.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
        let from = match self {
            Self::Cookies => return cookie::values_in(text, span, false),
            Self::Password => Some(0).filter(|_| !is_apart || is_no_word(value)),
            Self::Pair => pair_secret(value),
        };
        from.filter(|from| is_text && is_password(&value[*from..]))
            .map(|from| span.start + from..span.end)
            .into_iter()
            .collect()
    }
}

/// Returns the offset of the secret in `user:password`; of `token:`, where the user is the secret, 0.
pub(crate) fn pair_secret(value: &[u8]) -> Option<usize> {
    let colon = memchr::memchr(b':', value)?;
    let (user, password) = (&value[..colon], &value[colon + 1..]);
    if password.is_empty() {
        return (entropy::is_random(user) && user.len() >= 16).then_some(0);
    }
    let is_shown = user == password || password.starts_with(b"//") || password.starts_with(b"\\");
    (!is_shown).then_some(colon + 1)
}

/// Returns true if a value may be a password: none of the words that show where one would stand.
pub(crate) fn is_password(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    value.len() >= MIN_PASSWORD_BYTES
        && !is_placeholder_value(value)
        && !url::PLACEHOLDER_PASSWORDS.iter().any(|word| word.as_bytes() == lower)
}

/// Returns true if a value is no word of a sentence, and no further option.
fn is_no_word(value: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b',' | b'.' | b':' | b'-' | b'\'');
    value.len() >= MIN_APART_BYTES
        && !value.starts_with(b"-")
        && (is_mixed(value) || !value.iter().all(is_word) || value.len() >= 20)
}

/// Returns a span without the quotes around it.
fn without_quotes(text: &[u8], span: Range<usize>) -> Range<usize> {
    match opening_quote(text, span.start) {
        Some((depth, quote)) => {
            let from = span.start + depth + 1;
            quoted_value(text, from, depth, quote).unwrap_or(span)
        }
        None => span,
    }
}

/// Returns the backslashes before the quote at `at`, and the quote.
fn opening_quote(text: &[u8], at: usize) -> Option<(usize, u8)> {
    let ahead = text.get(at..)?;
    let depth = ahead.iter().take(8).take_while(|byte| **byte == b'\\').count();
    let quote = *ahead.get(depth)?;
    matches!(quote, b'"' | b'\'').then_some((depth, quote))
}

/// Words of a command line, as a shell or a list in JSON has them.
struct CommandWords<'t> {
    text: &'t [u8],
    at: usize,
    /// Backslashes before each quote, and the quote, if the words are the strings of a list.
    list: Option<(usize, u8)>,
}

impl<'t> CommandWords<'t> {
    /// Returns the words behind a program whose name ends at `from`; `None` if no words follow.
    fn after_program(text: &'t [u8], from: usize) -> Option<Self> {
        let from = if text.get(from..)?.starts_with(b".exe") { from + 4 } else { from };
        let words = Self { text, at: from, list: None };
        if words.blanks_at(from) > 0 {
            return Some(words);
        }
        let (depth, quote) = opening_quote(text, from)?;
        let list = Self { at: from + depth + 1, list: Some((depth, quote)), ..words };
        (text.get(list.at + list.blanks_at(list.at)) == Some(&b',')).then_some(list)
    }

    /// Returns the length of the blanks at `at`; in a shell also of a line break behind a backslash, in JSON too.
    fn blanks_at(&self, at: usize) -> usize {
        let mut end = at;
        loop {
            match self.text.get(end) {
                Some(b' ' | b'\t') => end += 1,
                Some(b'\n' | b'\r') if self.list.is_some() => end += 1,
                Some(b'\\') if self.list.is_none() => {
                    let slashes = self.text.iter().skip(end).take_while(|byte| **byte == b'\\').count();
                    match self.text.get(end + slashes) {
                        Some(b'\n') if slashes == 1 => end += 2,
                        // As JSON spells a backslash and a line break.
                        Some(b'n') if slashes % 3 == 0 => end += slashes + 1,
                        _ => return end - at,
                    }
                }
                _ => return end - at,
            }
        }
    }

    /// Returns the span of the next word, without quotes around all of it; `None` at the end of the command.
    fn next(&mut self) -> Option<Range<usize>> {
        self.at += self.blanks_at(self.at);
        if let Some((depth, quote)) = self.list {
            self.at += usize::from(self.text.get(self.at) == Some(&b','));
            self.at += self.blanks_at(self.at);
            (opening_quote(self.text, self.at)? == (depth, quote)).then_some(())?;
            let span = quoted_value(self.text, self.at + depth + 1, depth, quote)?;
            self.at = span.end + depth + 1;
            return Some(span);
        }
        let start = self.at;
        let mut at = start;
        while let Some(byte) = self.text.get(at) {
            // A quote begins a value at the start of a word, behind `=`, and behind the letter of an option; elsewhere it ends
            // the text that the command stands in.
            let so_far = self.text.get(start..at)?;
            let may_open =
                so_far.is_empty() || so_far.ends_with(b"=") || (so_far.len() == 2 && so_far[0] == b'-');
            match (byte, opening_quote(self.text, at)) {
                (b'\\' | b'"' | b'\'', Some((depth, quote))) if may_open => {
                    at = quoted_value(self.text, at + depth + 1, depth, quote)?.end + depth + 1;
                    break;
                }
                (b'\\' | b'"' | b'\'', Some(_))
                | (b' ' | b'\t' | b'\n' | b'\r' | b'|' | b';' | b'&' | b')' | b'`' | b'<', _) => break,
                (b'\\', None) if is_line_break(self.text, at) => break,
                _ => at += 1,
            }
        }
        self.at = at;
        (at > start).then(|| without_quotes(self.text, start..at))
    }
}

/// Returns true if the backslashes at `at` begin a line break as JSON spells it, or are followed by one.
fn is_line_break(text: &[u8], at: usize) -> bool {
    let slashes = text.iter().skip(at).take_while(|byte| **byte == b'\\').count();
    matches!(text.get(at + slashes), Some(b'\n' | b'n'))
}

/// Endings of the names of variables and options with a secret value. Part of the documentation, as are the lists below.
const SECRET_ENDINGS: [&str; 8] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"];
/// Last words of such names.
const SECRET_LAST_WORDS: [&str; 4] = ["PAT", "PWD", "JWT", "COOKIE"];
/// Last words of the names of options alone.
const SECRET_OPTION_WORDS: [&str; 3] = ["AUTH", "BEARER", "SAS"];
/// Variables that are named like secrets and hold a path.
const PATH_VARIABLES: [&str; 3] = ["PWD", "OLDPWD", "GOOGLE_APPLICATION_CREDENTIALS"];
/// Endings of names whose value may also be a file.
const FILE_ENDINGS: [&str; 5] = ["CREDENTIAL", "CREDENTIALS", "COOKIE", "PWD", "PASS"];

/// Returns true if a variable of the environment holds a secret, by its name; a path is none.
pub fn is_secret_variable(name: &str, value: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    names_secret(&name) && !PATH_VARIABLES.contains(&&*name) && !is_file_of(&name, value)
}

/// Returns the offset, for each argument of a command, at which its secret begins: its length if it has none.
///
/// Secret are what follows `--…-key`, `--pass` and other options that are named like secrets, whatever it looks like; the
/// password of `-u user:password`; and the values of the short options of `PROGRAMS`.
pub fn secret_arguments(command: &[&[u8]]) -> Vec<usize> {
    let mut awaited: Option<ArgumentKind> = None;
    let mut program: Option<&SecretProgram> = None;
    let mut is_named = false;
    let mut starts = Vec::with_capacity(command.len());
    for argument in command {
        let is_option = argument.starts_with(b"-");
        if let Some(kind) = awaited.take().filter(|_| !is_option) {
            starts.push(kind.secret_start(argument, 0));
            continue;
        }
        let found = PROGRAMS.iter().find(|known| known.is_program(argument));
        program = found.or(program);
        is_named = match program {
            Some(program) => program
                .subcommand
                .is_none_or(|subcommand| (is_named && found.is_none()) || subcommand.as_bytes() == *argument),
            None => false,
        };
        let name = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
        let has_value = name.len() < argument.len();
        let option_name = String::from_utf8_lossy(name).to_ascii_uppercase();
        let short = program
            .filter(|_| is_named)
            .and_then(|program| program.options.iter().find(|option| option.is_at(argument)));
        let start = if is_option && names_secret_option(&option_name) {
            let kind = ArgumentKind::Named(option_name);
            match has_value {
                true => kind.secret_start(argument, name.len() + 1),
                false => {
                    awaited = Some(kind);
                    argument.len()
                }
            }
        } else if let Some(option) = short {
            let sign = usize::from(option.name.starts_with("--"));
            let from = option.name.len() + sign;
            match from < argument.len() {
                true => ArgumentKind::Of(option.value).secret_start(argument, from),
                false => {
                    awaited = (!option.is_attached).then_some(ArgumentKind::Of(option.value));
                    argument.len()
                }
            }
        } else {
            // Other programs take `user:password` so, too; uid:gid and host:port are numbers.
            awaited = (*argument == b"-u").then_some(ArgumentKind::User);
            argument.len()
        };
        starts.push(start);
    }
    starts
}

/// Option whose value comes next.
enum ArgumentKind {
    /// Option that is named like a secret, in capitals.
    Named(String),
    /// Short option of a known program.
    Of(OptionValue),
    /// `-u` of another program.
    User,
}

impl ArgumentKind {
    /// Returns the offset of the secret in an argument whose value begins at `from`.
    fn secret_start(&self, argument: &[u8], from: usize) -> usize {
        let value = argument.get(from..).unwrap_or_default();
        let start = match self {
            Self::Named(name) if is_file_of(name, value) => None,
            Self::Named(name) if name.ends_with("AUTH") => Some(pair_secret(value).unwrap_or(0)),
            Self::Named(_) | Self::Of(OptionValue::Password | OptionValue::Cookies) => Some(0),
            Self::Of(OptionValue::Pair) => pair_secret(value),
            Self::User => pair_secret(value).filter(|start| {
                value.get(*start..).is_some_and(|password| !password.iter().all(u8::is_ascii_digit))
            }),
        };
        start.map_or(argument.len(), |start| from + start)
    }
}

impl SecretProgram {
    /// Returns true if an argument is this program, by its name or its path.
    fn is_program(&self, argument: &[u8]) -> bool {
        let name = argument.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default();
        let name = name.strip_suffix(b".exe").unwrap_or(name);
        match self.has_sisters {
            true => name.starts_with(self.name.as_bytes()),
            false => name == self.name.as_bytes(),
        }
    }
}

/// Returns true if an option, in capitals and with its dashes, has a secret value. `--no-…` has none.
fn names_secret_option(name: &str) -> bool {
    let is_of = |words: &[&str]| words.contains(&last_word(name));
    !name.starts_with("--NO-") && (names_secret(name) || is_of(&SECRET_OPTION_WORDS))
}

/// Returns true if a name in capitals is that of a secret.
fn names_secret(name: &str) -> bool {
    let is_pass = || {
        name.ends_with("PASS") && {
            let lower = name.to_ascii_lowercase();
            !HARMLESS_PASSES.iter().any(|word| lower.ends_with(word))
        }
    };
    SECRET_ENDINGS.iter().any(|word| name.ends_with(word))
        || SECRET_LAST_WORDS.contains(&last_word(name))
        || is_pass()
}

/// Returns the last word of a name with dashes or underscores.
fn last_word(name: &str) -> &str {
    name.rsplit(['-', '_', '.']).next().unwrap_or_default()
}

/// Returns true if the value of a variable or an option is the name of a file, where that may be.
fn is_file_of(name: &str, value: &[u8]) -> bool {
    const STARTS: [&[u8]; 4] = [b"/", b"./", b"../", b"~/"];
    const EXTENSIONS: [&[u8]; 5] = [b".json", b".txt", b".toml", b".yaml", b".yml"];
    let path = value.strip_prefix(b"~").unwrap_or(value);
    FILE_ENDINGS.iter().any(|word| name.ends_with(word))
        && is_identifier(path)
        && (STARTS.iter().any(|start| value.starts_with(start))
            || EXTENSIONS.iter().any(|extension| value.ends_with(extension)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for program in &PROGRAMS {
            for (start, _) in text.match_indices(program.name) {
                found.extend(find(text.as_bytes(), start, program).into_iter().map(|(_, span)| &text[span]));
            }
        }
        found
    }

    #[test]
    fn values_of_short_options() {
        for (text, expected) in [
            ("curl -s -u ada:hunter2 https://h/", vec!["hunter2"]),
            ("curl --user 'ada:hunter 2' https://h/ | jq .", vec!["hunter 2"]),
            ("curl -u\"ada:hunter2\" --proxy-user=bob:tr0ub4 x", vec!["hunter2", "tr0ub4"]),
            ("/usr/bin/curl \\\n  -u ada:hunter2 \\\n  https://h/", vec!["hunter2"]),
            (r#"{"cmd":"curl \\\n -u ada:hunter2","x":"y"}"#, vec!["hunter2"]),
            (r#"{"cmd":"curl -u \"ada:hunter2\" h"}"#, vec!["hunter2"]),
            (r#"["curl", "-u", "ada:hunter2", "h"]"#, vec!["hunter2"]),
            (r#"{"a":"[\"curl\",\"-u\",\"ada:hunter2\"]"}"#, vec!["hunter2"]),
            ("curl -b 'sid=4fc1b2a9; theme=dark' h", vec!["4fc1b2a9"]),
            ("mysql -u root -phunter2 shop", vec!["hunter2"]),
            ("mysqldump -p'hunter2' shop", vec!["hunter2"]),
            ("sshpass -p hunter2 ssh ada@h", vec!["hunter2"]),
            ("sshpass -phunter2 ssh ada@h", vec!["hunter2"]),
            ("docker login -u ada -p hunter2 ghcr.io", vec!["hunter2"]),
            ("redis-cli -h db -a hunter2 ping", vec!["hunter2"]),
            ("mongosh -u ada -p hunter2", vec!["hunter2"]),
            ("ldapsearch -x -w hunter2", vec!["hunter2"]),
        ] {
            assert_eq!(secrets(text), expected, "{text}");
        }
    }

    #[test]
    fn options_of_other_programs_and_other_values() {
        for text in [
            "docker run -u 1000:1000 -p 8080:80 nginx",
            "ssh -p 2222 ada@host",
            "mysql -p shop2024",
            "mysql -P3306 -p",
            "curl -u user:pass https://h/",
            "curl -u $USER:$PASS https://h/",
            "curl -u ada https://h/",
            "libcurl -u ada:hunter2",
            "use curl; then -u ada:hunter2",
            "curl is called\nwith -u ada:hunter2",
            "docker login -p is not safe, says docker login",
            "redis-cli -a parameter",
            "the curl, -u ada:hunter2",
            "mkdir -p docker/login2 && cp -p hunter2 x",
        ] {
            assert_eq!(secrets(text), Vec::<&str>::new(), "{text}");
        }
    }

    fn masked(command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        let bytes: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let starts = secret_arguments(&bytes);
        let shown = words.iter().zip(starts).map(|(word, start)| {
            if start < word.len() { format!("{}…", &word[..start]) } else { (*word).to_owned() }
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arguments() {
        for (command, expected) in [
            ("x --api-key a1 --token=b2 c", "x --api-key … --token=… c"),
            ("x --pass a --passwd b --pwd c --passphrase d", "x --pass … --passwd … --pwd … --passphrase …"),
            (
                "x --auth a --bearer b --pat c --jwt d --sas e",
                "x --auth … --bearer … --pat … --jwt … --sas …",
            ),
            ("x --credential a --credentials b --cookie c=d", "x --credential … --credentials … --cookie …"),
            ("x --auth ada:hunter2 --cookie=a=b", "x --auth ada:… --cookie=…"),
            ("agent -u ada:hunter2 -p 80", "agent -u ada:… -p 80"),
            ("docker run -u 1000:1000 -p 80:80 x", "docker run -u 1000:1000 -p 80:80 x"),
            ("python -u agent.py", "python -u agent.py"),
            ("env A=b /usr/bin/curl -uada:hunter2 h", "env A=b /usr/bin/curl -uada:… h"),
            ("mysql -phunter2 -p shop", "mysql -p… -p shop"),
            ("docker login -p a ghcr.io", "docker login -p … ghcr.io"),
            (
                "x --credentials gcp.json --no-token a --compat b --bypass c",
                "x --credentials gcp.json --no-token a --compat b --bypass c",
            ),
            ("x --api-key --verbose y", "x --api-key --verbose y"),
        ] {
            assert_eq!(masked(command), expected);
        }
    }

    #[test]
    fn variables() {
        for name in [
            "ADO_PAT",
            "SMTP_PASS",
            "GCP_CREDENTIALS",
            "MYSQL_PWD",
            "odd_secret",
            "API_KEY",
            "DBPASS",
            "A_JWT",
        ] {
            assert!(is_secret_variable(name, b"correct-horse"), "{name}");
        }
        for (name, value) in [
            ("PWD", "correct-horse"),
            ("OLDPWD", "correct-horse"),
            ("SSH_ASKPASS", "correct-horse"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "correct-horse"),
            ("AWS_CREDENTIALS", "/home/ada/.aws/credentials"),
            ("PROJECT_PWD", "~/src/shop-2"),
            ("COMPAT", "correct-horse"),
            ("BYPASS", "correct-horse"),
            ("HOME", "correct-horse"),
        ] {
            assert!(!is_secret_variable(name, value.as_bytes()), "{name}");
        }
    }
}
