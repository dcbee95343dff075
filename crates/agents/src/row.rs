//! Rows: what the TOML file of an agent may say.
//!
//! Members that are not known are refused with the file and the line. Values may hold placeholders such as
//! `${base:NAME}`, the gateway's address of a route; see `template`. Start reading at [`AgentRow`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reenact_json::path_pattern::PathPattern;
use reenact_wire::Vendor;
use serde::Deserialize;

use crate::template;

/// Longest file of a row, in bytes.
pub const MAX_ROW_BYTES: usize = 64 << 10;
/// Most entries in a list of a row.
const MAX_ENTRIES: usize = 64;
/// Longest text in front of a value that differs, in bytes.
const MAX_LABEL_BYTES: usize = 128;

/// Reason for which the file of a row is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {problem}", file.display(), line.map(|line| format!(": line {line}")).unwrap_or_default())]
pub struct RowError {
    /// The file, or the name of a built-in row.
    pub file: PathBuf,
    /// Line, from 1, if the problem has a place.
    pub line: Option<usize>,
    /// Problem, and what is allowed. May quote the file: escape before printing.
    pub problem: String,
}

/// Known agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRow {
    /// Name on the command line and in records: lower-case letters, digits and hyphens.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Version against which the facts of the row were checked.
    #[serde(default)]
    pub checked: Option<String>,
    /// Recognition by command.
    #[serde(default)]
    pub recognise: Recognition,
    /// Folders that other values name as `${NAME}`.
    #[serde(default)]
    pub folders: BTreeMap<String, FolderRow>,
    /// Files by which the agent sets variables for itself, the strongest last.
    #[serde(default)]
    pub environment: Vec<EnvironmentRow>,
    /// Logins, the first that is found counts.
    #[serde(default)]
    pub login: Vec<LoginRow>,
    /// Dummy logins for replays.
    #[serde(default)]
    pub dummy: Vec<DummyRow>,
    /// Routes beyond those of the vendors.
    #[serde(default)]
    pub route: Vec<RouteRow>,
    /// Choice of a provider in the agent's own settings.
    #[serde(default)]
    pub provider: Option<ProviderRow>,
    /// Settings of a recording or a replay.
    #[serde(default)]
    pub set: Vec<SetRow>,
    /// Calls that are not recorded.
    #[serde(default)]
    pub unrecorded: Vec<UnrecordedRow>,
    /// Values in requests that differ from run to run.
    #[serde(default)]
    pub varies: Vec<VariesRow>,
    /// Calls that may be made in any order, or not at all.
    #[serde(default)]
    pub side_call: Vec<SideCallRow>,
}

/// Names by which a command is recognised.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recognition {
    /// Program names, without folder and extension.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Packages, as `npx` or `uvx` take them, without a version.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Ends of the path of a script, as `node` takes it.
    #[serde(default)]
    pub scripts: Vec<String>,
    /// Modules, as `python -m` takes them.
    #[serde(default)]
    pub modules: Vec<String>,
}

/// Folder: the value of a variable, else a default, and a folder below it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderRow {
    /// Variable that names the folder.
    pub variable: String,
    /// Folder if the variable is not set. `~` is the home folder.
    pub default: String,
    /// Folder below.
    #[serde(default)]
    pub below: Option<String>,
}

/// Format of a file that sets variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentFormat {
    /// JSON, comments allowed.
    Json,
    /// Lines `NAME=value`.
    Dotenv,
}

/// Files by which an agent sets variables for itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentRow {
    /// Paths, the strongest last.
    pub files: Vec<String>,
    /// Format of each.
    pub format: EnvironmentFormat,
    /// JSON Pointer: an object of variables, or the value of `variable`.
    #[serde(default)]
    pub member: Option<String>,
    /// Variable that the member is the value of.
    #[serde(default)]
    pub variable: Option<String>,
    /// True if the file beats the environment, false if it only fills gaps.
    pub beats_environment: bool,
}

/// Kind of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginKind {
    /// A key.
    ApiKey,
    /// A login with an account.
    Oauth,
    /// None was found.
    #[default]
    None,
}

impl LoginKind {
    /// Returns the name for people.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::ApiKey => "a key",
            Self::Oauth => "an account",
            Self::None => "none was found",
        }
    }

    /// Returns the name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Oauth => "oauth",
            Self::None => "none",
        }
    }
}

/// Place of a login. Values of credentials are never read beyond whether there is one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginRow {
    /// Kind of the login.
    pub kind: LoginKind,
    /// Variable that holds it.
    #[serde(default)]
    pub variable: Option<String>,
    /// File that holds it.
    #[serde(default)]
    pub file: Option<String>,
    /// JSON Pointer to a text in the file that is not empty.
    #[serde(default)]
    pub member: Option<String>,
    /// Texts that the member may be; empty for any.
    #[serde(default)]
    pub values: Vec<String>,
    /// Condition under which the agent reads it.
    #[serde(default)]
    pub when: When,
}

/// Dummy that a replay gives in place of a login: a variable with its value, or a file in a folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DummyRow {
    /// Kind of the recorded login.
    pub kind: LoginKind,
    /// Part of the name of a model; the dummy is only given if a recorded request asks for one.
    #[serde(default)]
    pub model: Option<String>,
    /// Variable.
    #[serde(default)]
    pub variable: Option<String>,
    /// Value of the variable. A credential is exchanged for a dummy of its shape.
    #[serde(default)]
    pub value: Option<String>,
    /// Folder of the row whose variable leads the agent to the file.
    #[serde(default)]
    pub folder: Option<String>,
    /// Name of the file.
    #[serde(default)]
    pub file: Option<String>,
    /// Content of the file. `${token}` is a token, `${jwt}` a JSON Web Token with `claims`.
    #[serde(default)]
    pub content: Option<String>,
    /// Claims of the JSON Web Token, as JSON.
    #[serde(default)]
    pub claims: Option<String>,
}

/// Route beyond those of the vendors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteRow {
    /// Name in the gateway's address and in records.
    pub name: String,
    /// Vendor whose interface is spoken.
    pub speaks: String,
    /// Address by default.
    pub upstream: String,
    /// Variable by which the user names another address.
    #[serde(default)]
    pub variable: Option<String>,
    /// Condition under which there is a route.
    #[serde(default)]
    pub when: When,
}

/// Choice of a provider in TOML settings, with an address each.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderRow {
    /// Settings, the strongest last.
    pub files: Vec<String>,
    /// Settings of the profile `${profile}`, stronger than `files`.
    pub profile_file: String,
    /// Options that name the profile.
    pub profile_options: Vec<String>,
    /// Options that set one member, as `KEY=VALUE`.
    pub override_options: Vec<String>,
    /// Member with the id of the provider.
    pub selector: String,
    /// Table of providers by id.
    pub table: String,
    /// Member of a provider with its address.
    pub address: String,
    /// Route of the provider that is built in.
    pub route: String,
    /// Id of the provider that is built in, the default.
    pub built_in: String,
    /// Member with the address of the one that is built in.
    pub built_in_key: String,
    /// Address for a login with an account.
    pub oauth: OauthRow,
    /// Ids of providers whose address cannot be another.
    #[serde(default)]
    pub fixed: Vec<String>,
    /// Model servers on this machine.
    #[serde(default)]
    pub local: Option<LocalProviderRow>,
}

/// Address for a login with an account.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OauthRow {
    /// Name of the route.
    pub route: String,
    /// Address by default.
    pub upstream: String,
}

/// Model servers on this machine, chosen by an option.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalProviderRow {
    /// Option that chooses one.
    pub option: String,
    /// Options that name which.
    pub name_options: Vec<String>,
    /// Member that names which.
    pub name_key: String,
    /// Variable with the address.
    pub variable: String,
    /// Variable with the port.
    pub port_variable: String,
    /// Ports by name.
    pub ports: BTreeMap<String, u16>,
}

/// Kind of a provider that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Its address stands in settings, or is the default.
    Configured,
    /// A server on this machine, whose address a variable names.
    Local,
    /// Its address cannot be another.
    Fixed,
}

/// One thing that is set, and why. Exactly one of `variable`, `arguments`, `option` and `leave` says where.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetRow {
    /// Variable.
    #[serde(default)]
    pub variable: Option<String>,
    /// Arguments, before the user's own. A `KEY=` that the user sets by the same option is replaced in its place.
    #[serde(default)]
    pub arguments: Option<Vec<String>>,
    /// Option with the path of `file`; the user's own value is merged into the file.
    #[serde(default)]
    pub option: Option<String>,
    /// Variable that stays as the user has it, although it leads clients to the gateway.
    #[serde(default)]
    pub leave: Option<String>,
    /// Value of the variable.
    #[serde(default)]
    pub value: Option<String>,
    /// Name of an overlay file with `json`, whose path is the value.
    #[serde(default)]
    pub file: Option<String>,
    /// JSON: content of `file`, or the value of the variable, merged with the user's own.
    #[serde(default)]
    pub json: Option<String>,
    /// True to set once for each variable of a vendor that a file of the agent overrides.
    #[serde(default)]
    pub each_overridden: bool,
    /// Condition.
    #[serde(default)]
    pub when: When,
    /// Effect on the agent, and the reason, for the record.
    pub why: String,
}

/// Calls that are not recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnrecordedRow {
    /// Calls, as a phrase.
    pub what: String,
    /// Condition; a note without one is for the documentation alone.
    #[serde(default)]
    pub when: Option<When>,
}

/// Value in requests that the agent makes anew in each run. Dates, times and uuids need no row: a replay knows them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariesRow {
    /// Place of the value in the body of a request, as a pattern of a path; `None` for all results of tools.
    #[serde(default)]
    pub path: Option<String>,
    /// Text in front of the value; `None` if the value is all that stands at the place.
    #[serde(default)]
    pub after: Option<String>,
    /// Kind of the value.
    pub kind: VariesKind,
    /// Meaning of the value, in words for people.
    pub why: String,
}

/// Model call beside the task, such as for a title: the agent makes it in any order, or not at all, and does the same.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideCallRow {
    /// Purpose, in words for people.
    pub why: String,
    /// Part of the model's name.
    #[serde(default)]
    pub model_has: Option<String>,
    /// Place in the body of the request, as a pattern of a path.
    pub path: String,
    /// Beginning of a text at the place.
    pub begins: String,
}

/// Kind of a value that differs from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariesKind {
    /// Id, which stands for one thing wherever it stands: ids of two runs are exchanged one to one.
    Id,
    /// Any value: it changes no answer.
    Free,
    /// Number behind a text, in results of tools, such as a process id.
    Number,
}

impl VariesKind {
    /// Returns the name in rows and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Free => "free",
            Self::Number => "number",
        }
    }
}

/// Condition: all of its members hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// Variables that are set and not empty.
    #[serde(default)]
    pub set: Vec<String>,
    /// Variables that are not.
    #[serde(default)]
    pub unset: Vec<String>,
    /// Variables of which one is set and not empty.
    #[serde(default)]
    pub any: Vec<String>,
    /// Words of which one is an argument of the agent; an option also with `=VALUE`.
    #[serde(default)]
    pub words: Vec<String>,
    /// Kind of the login.
    #[serde(default)]
    pub login: Option<LoginKind>,
    /// Vendor whose route leads to the vendor's own servers.
    #[serde(default)]
    pub vendor_itself: Option<String>,
    /// Kind of the provider that was chosen.
    #[serde(default)]
    pub provider: Option<ProviderKind>,
    /// Variable that a file of the agent overrides.
    #[serde(default)]
    pub overridden: Option<String>,
    /// Member that a JSON file has.
    #[serde(default)]
    pub member: Option<MemberOfFile>,
    /// Members that none of these JSON files has.
    #[serde(default)]
    pub lacks: Vec<MemberOfFile>,
    /// Text that a file has.
    #[serde(default)]
    pub text: Option<TextOfFile>,
    /// True if only root can change overlay files and the folders around them, false if not.
    #[serde(default)]
    pub overlay_is_roots: Option<bool>,
}

/// Member of a JSON file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberOfFile {
    /// Path of the file.
    pub file: String,
    /// JSON Pointer.
    pub path: String,
}

/// Text in a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextOfFile {
    /// Path of the file.
    pub file: String,
    /// The text.
    pub has: String,
}

impl AgentRow {
    /// Reads a row.
    ///
    /// # Errors
    ///
    /// If the text is longer than [`MAX_ROW_BYTES`], is no TOML, or says what is not known or not possible.
    pub fn parse(text: &str, file: &Path) -> Result<Self, RowError> {
        let refused = |line, problem| RowError { file: file.to_owned(), line, problem };
        if text.len() > MAX_ROW_BYTES {
            return Err(refused(None, format!("it is longer than {} KiB", MAX_ROW_BYTES >> 10)));
        }
        let row: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_number(text, span.start));
            refused(line, error.message().to_owned())
        })?;
        row.check().map_err(|(needle, problem)| refused(line_of(text, &needle), problem))?;
        Ok(row)
    }

    /// Checks what the types do not. The error is a text to look for in the file, and the problem.
    fn check(&self) -> Result<(), (String, String)> {
        if !is_plain_name(&self.name) {
            return Err((
                self.name.clone(),
                "a name is of lower-case letters, digits and hyphens, at most 64".into(),
            ));
        }
        let lengths = [
            self.environment.len(),
            self.login.len(),
            self.dummy.len(),
            self.route.len(),
            self.set.len(),
            self.unrecorded.len(),
            self.varies.len(),
            self.side_call.len(),
        ];
        if lengths.iter().any(|length| *length > MAX_ENTRIES) {
            return Err((String::new(), format!("a list has more than {MAX_ENTRIES} entries")));
        }
        for route in &self.route {
            if !is_route_name(&route.name) {
                return Err((
                    route.name.clone(),
                    "the name of a route is of lower-case letters, digits and hyphens, at most 32".into(),
                ));
            }
            if Vendor::of_name(&route.speaks).is_none() {
                return Err((route.speaks.clone(), "there is no such vendor".into()));
            }
        }
        self.varies.iter().try_for_each(check_varies)?;
        for side in &self.side_call {
            if let Err(error) = side.path.parse::<PathPattern>() {
                return Err((side.path.clone(), error.to_string()));
            }
            if side.begins.is_empty() {
                return Err((side.why.clone(), "`begins` is empty, which every text would fit".to_owned()));
            }
        }
        self.dummy.iter().try_for_each(|dummy| self.check_dummy(dummy))?;
        self.set.iter().try_for_each(|set| self.check_set(set))
    }

    fn check_dummy(&self, dummy: &DummyRow) -> Result<(), (String, String)> {
        let wrong = |needle: &str, problem: &str| Err((needle.to_owned(), problem.to_owned()));
        let is_json =
            |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object());
        match (&dummy.variable, &dummy.value, &dummy.folder, &dummy.file, &dummy.content) {
            (Some(_), Some(_), None, None, None) if dummy.claims.is_none() => Ok(()),
            (None, None, Some(folder), Some(file), Some(content)) => {
                let known = |name: &str| match name {
                    "token" => Some(String::new()),
                    "jwt" => dummy.claims.as_ref().map(|_| String::new()),
                    _ => None,
                };
                if !self.folders.contains_key(folder) {
                    return wrong(folder, "there is no such folder in the row");
                }
                if !is_file_name(file) {
                    return wrong(
                        file,
                        "file: a name of letters, digits, dots and hyphens, without a folder",
                    );
                }
                if dummy.claims.as_deref().is_some_and(|claims| !is_json(claims)) {
                    return wrong("claims", "claims: it must be a JSON object");
                }
                match template::expand(content, known) {
                    Some(_) => Ok(()),
                    None => {
                        wrong("content", "content: the placeholders are ${token}, and ${jwt} with claims")
                    }
                }
            }
            _ => wrong(
                "[[dummy]]",
                "a dummy is a variable with a value, or a folder with a file and its content",
            ),
        }
    }

    fn check_set(&self, set: &SetRow) -> Result<(), (String, String)> {
        let wrong = |problem: &str| Err((set.why.clone(), problem.to_owned()));
        let places =
            [set.variable.is_some(), set.arguments.is_some(), set.option.is_some(), set.leave.is_some()];
        if places.iter().filter(|is_there| **is_there).count() != 1 {
            return wrong("one of variable, arguments, option and leave must be there");
        }
        match (&set.value, &set.json, &set.file) {
            (Some(_), None, None) if set.variable.is_some() => {}
            (None, Some(_), None) if set.variable.is_some() => {}
            (None, Some(_), Some(_)) if set.variable.is_some() || set.option.is_some() => {}
            (None, None, None) if set.arguments.is_some() || set.leave.is_some() => {}
            _ => {
                return wrong(
                    "give a variable a value or json, an option a file with json, arguments neither",
                );
            }
        }
        if set.file.as_ref().is_some_and(|name| !is_file_name(name)) {
            return wrong("file: a name of letters, digits, dots and hyphens, without a folder");
        }
        let texts = [&set.value, &set.json].into_iter().flatten().chain(set.arguments.iter().flatten());
        for text in texts {
            if let Err(problem) = template::check(text, |route| self.has_route(route)) {
                return Err((text.clone(), problem));
            }
        }
        if let Some(json) = &set.json
            && !serde_json::from_str::<serde_json::Value>(json).is_ok_and(|value| value.is_object())
        {
            return wrong("json: it must be a JSON object");
        }
        Ok(())
    }

    /// Returns true if `${base:NAME}` may name this route.
    fn has_route(&self, name: &str) -> bool {
        Vendor::of_name(name).is_some() || self.route.iter().any(|route| route.name == name)
    }
}

impl SetRow {
    /// Returns the name of the variable or the option that is set.
    pub fn place(&self) -> &str {
        let argument = || self.arguments.as_ref().and_then(|arguments| arguments.first());
        let named = self.variable.as_ref().or(self.option.as_ref()).or(self.leave.as_ref());
        named.or_else(argument).map_or("", String::as_str)
    }
}

/// Checks the place of a value that differs.
fn check_varies(row: &VariesRow) -> Result<(), (String, String)> {
    if let Some(path) = &row.path
        && let Err(error) = path.parse::<PathPattern>()
    {
        return Err((path.clone(), error.to_string()));
    }
    let wrong = |problem: &str| Err((row.why.clone(), problem.to_owned()));
    match (row.kind, &row.path, &row.after) {
        (VariesKind::Number, None, Some(_)) | (VariesKind::Id | VariesKind::Free, Some(_), _) => {}
        (VariesKind::Number, ..) => {
            return wrong("a number needs `after` and no `path`: it is looked for in results of tools");
        }
        (VariesKind::Id | VariesKind::Free, None, _) => return wrong("an id or a free value needs a `path`"),
    }
    match &row.after {
        Some(text) if text.is_empty() || text.len() > MAX_LABEL_BYTES => {
            wrong("`after` is a text of 1 to 128 bytes")
        }
        _ => Ok(()),
    }
}

/// Returns true for a name that a route may have: a plain name of at most 32 characters that means nothing else.
pub(crate) fn is_route_name(name: &str) -> bool {
    is_plain_name(name) && name.len() <= 32 && !["report", "date"].contains(&name)
}

/// Returns true for a name of lower-case letters, digits and hyphens.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.len() <= 64 && !name.starts_with('-') && name.chars().all(is_plain)
}

fn is_file_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain)
}

fn line_number(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// Returns the line on which a text stands first.
fn line_of(text: &str, needle: &str) -> Option<usize> {
    (!needle.is_empty()).then(|| text.find(needle))?.map(|at| line_number(text, at))
}
