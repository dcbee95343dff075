//! A plan with the address of a gateway in it: the command, its variables and the overlay files.
//!
//! Files are written into a folder of the run, closed to other users, and removed with it: they hold the gateway's token.
//! Start reading at [`LaunchPlan::launch`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command::ArgumentsPlace;
use crate::options;
use crate::plan::{JsonPlace, LaunchPlan, ObserverNote, PlannedSetting, SettingKind};
use crate::template;

/// Overlay file of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayFile {
    /// Path.
    pub path: PathBuf,
    /// Content. Holds the gateway's token, and what it was merged with.
    pub content: String,
    /// True for a program.
    pub is_program: bool,
}

/// Link to a file or a folder of the user, beside overlay files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayLink {
    /// Path of the link.
    pub path: PathBuf,
    /// Path of the user's own.
    pub target: PathBuf,
}

/// Command, variables and files of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// The command, with the arguments that were inserted.
    pub command: Vec<OsString>,
    /// Arguments that were inserted or replaced.
    pub arguments: Vec<String>,
    /// Variables beside those of the vendors; `None` for one that stays as the user has it.
    pub variables: Vec<(String, Option<OsString>)>,
    /// Files to write before the start.
    pub files: Vec<OverlayFile>,
    /// Links to make before the start.
    pub links: Vec<OverlayLink>,
    /// Variables to remove: logins of another kind than the recorded one.
    pub removed_variables: Vec<String>,
    /// Dummies in files that stand for credentials.
    pub secrets: Vec<String>,
}

/// Reason for which a plan has no launch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A placeholder without a value.
    #[error("{text}: there is no route for it")]
    NoRoute {
        /// Text with the placeholder.
        text: String,
    },
}

/// Launch under construction: arguments, variables and files, as far as they are put together.
struct Assembly<'a> {
    folder: &'a Path,
    /// Arguments to insert before the user's own.
    inserted: Vec<String>,
    /// Arguments of the user that are replaced: position among the agent's arguments, and text.
    replaced: Vec<(usize, String)>,
    /// JSON by its place, in the order of the first.
    json: Vec<(JsonPlace, Option<String>, Value)>,
    variables: Vec<(String, Option<OsString>)>,
    files: Vec<OverlayFile>,
}

impl LaunchPlan {
    /// Puts the address of a gateway into the plan. `base` returns the address of a route; `folder` is a folder of the run in
    /// which overlay files may be written. Nothing is written here.
    ///
    /// # Errors
    ///
    /// If a route of the plan has no address.
    pub fn launch(
        &self,
        command: &[OsString],
        base: &dyn Fn(&str) -> Option<String>,
        folder: &Path,
    ) -> Result<Launch, LaunchError> {
        let mut launch = self.assembled(command, self.assembly(base, folder)?);
        for dummy in &self.dummies {
            let (name, value) = dummy.variable(folder);
            launch.variables.push((name, Some(value.into())));
            if let Some((file, links)) = dummy.files(folder) {
                launch.files.push(file);
                launch.links.extend(links);
            }
            launch.secrets.extend_from_slice(dummy.secrets());
        }
        launch.secrets.extend(self.covered_secrets.iter().filter(|secret| !secret.is_empty()).cloned());
        launch.removed_variables.clone_from(&self.other_logins);
        Ok(launch)
    }

    /// Returns true if arguments of the user name another address, so that they are replaced in their place.
    pub(crate) fn replaces_arguments(&self) -> bool {
        let base = |route: &str| Some(route.to_owned());
        self.assembly(&base, Path::new("")).is_ok_and(|assembly| !assembly.replaced.is_empty())
    }

    /// Puts arguments, variables and files together.
    fn assembly<'a>(
        &self,
        base: &dyn Fn(&str) -> Option<String>,
        folder: &'a Path,
    ) -> Result<Assembly<'a>, LaunchError> {
        let mut assembly = Assembly {
            folder,
            inserted: Vec::new(),
            replaced: Vec::new(),
            json: Vec::new(),
            variables: Vec::new(),
            files: Vec::new(),
        };
        for setting in &self.settings {
            self.add(setting, base, &mut assembly)?;
        }
        for (place, file, json) in std::mem::take(&mut assembly.json) {
            self.add_json(place, file, &json, &mut assembly);
        }
        Ok(assembly)
    }

    /// Returns what is set and why, for the record: without the gateway's address, and without what the user has set. Arguments that
    /// cannot be given to the agent are not among them.
    pub fn observer(&self) -> Vec<ObserverNote> {
        let has_place = !matches!(self.recognised.place, ArgumentsPlace::Nowhere(_));
        let given = self.settings.iter().filter(|setting| has_place || !setting.needs_place());
        let notes = given.map(|setting| {
            let text = |text: &String| {
                self.expanded(text, setting, &|route| Some(format!("GATEWAY/{route}")))
                    .unwrap_or_else(|_| text.clone())
            };
            let set = match &setting.row {
                SettingKind::Variable { name, value } => format!("{name}={}", text(value)),
                SettingKind::Leave(name) => format!("{name} as you have it"),
                SettingKind::Arguments(arguments) => arguments.iter().map(text).collect::<Vec<_>>().join(" "),
                SettingKind::Json { place: JsonPlace::Option(name), json, .. } => {
                    format!("{name} {}", text(json))
                }
                SettingKind::Json { place: JsonPlace::Variable(name), json, .. } => {
                    format!("{name}={}", text(json))
                }
            };
            ObserverNote { set, why: setting.why.clone() }
        });
        notes.collect()
    }

    /// Replaces the placeholders of a text.
    fn expanded(
        &self,
        text: &str,
        setting: &PlannedSetting,
        base: &dyn Fn(&str) -> Option<String>,
    ) -> Result<String, LaunchError> {
        let value = |name: &str| match name.split_once(':')? {
            ("base", route) => base(route),
            ("provider", "base") => {
                let provider = self.provider.as_ref()?;
                Some(format!("{}{}", base(&provider.route)?, provider.path))
            }
            ("provider", "key") => Some(self.provider.as_ref()?.key.clone()),
            ("overridden", "name") => Some(setting.overridden?.0.name().to_owned()),
            ("overridden", "base") => {
                let (variable, vendor) = setting.overridden?;
                Some(variable.value(&base(vendor.name())?))
            }
            _ => None,
        };
        template::expand(text, value).ok_or_else(|| LaunchError::NoRoute { text: text.to_owned() })
    }

    fn add(
        &self,
        setting: &PlannedSetting,
        base: &dyn Fn(&str) -> Option<String>,
        assembly: &mut Assembly<'_>,
    ) -> Result<(), LaunchError> {
        match &setting.row {
            SettingKind::Variable { name, value } => {
                let value = self.expanded(value, setting, base)?;
                assembly.variables.push((name.clone(), Some(value.into())));
            }
            SettingKind::Leave(name) => assembly.variables.push((name.clone(), None)),
            SettingKind::Arguments(arguments) => {
                let arguments: Result<Vec<String>, LaunchError> =
                    arguments.iter().map(|argument| self.expanded(argument, setting, base)).collect();
                self.add_arguments(arguments?, assembly);
            }
            SettingKind::Json { place, file, json, merged_into } => {
                let json = self.expanded(json, setting, base)?;
                let Ok(json) = serde_json::from_str::<Value>(&json) else {
                    return Err(LaunchError::NoRoute { text: json });
                };
                let known = assembly.json.iter().position(|(known, ..)| known == place);
                match known.and_then(|at| assembly.json.get_mut(at)) {
                    Some((_, _, known)) => merge(known, json),
                    None => {
                        let mut whole =
                            merged_into.clone().unwrap_or_else(|| Value::Object(Default::default()));
                        merge(&mut whole, json);
                        assembly.json.push((place.clone(), file.clone(), whole));
                    }
                }
            }
        }
        Ok(())
    }

    /// Inserts an option with its value, or replaces the user's own value `KEY=…` of the same option.
    fn add_arguments(&self, arguments: Vec<String>, assembly: &mut Assembly<'_>) {
        if let [option, value] = arguments.as_slice()
            && let Some((key, _)) = value.split_once('=')
        {
            let long =
                self.override_options.iter().map(String::as_str).chain([option.as_str()]).collect::<Vec<_>>();
            let own = options::values(&self.recognised.arguments, &long);
            let same = own
                .iter()
                .filter(|own| own.value.split_once('=').is_some_and(|(name, _)| name.trim() == key));
            let same: Vec<_> = same.map(|own| (own.at, format!("{}{value}", own.before))).collect();
            if !same.is_empty() {
                assembly.replaced.extend(same);
                return;
            }
        }
        assembly.inserted.extend(arguments);
    }

    fn add_json(&self, place: JsonPlace, file: Option<String>, json: &Value, assembly: &mut Assembly<'_>) {
        let text = json.to_string();
        let value = match file {
            None => OsString::from(text),
            Some(name) => {
                let path = assembly.folder.join(name);
                assembly.files.push(OverlayFile { path: path.clone(), content: text, is_program: false });
                path.into_os_string()
            }
        };
        match place {
            JsonPlace::Variable(name) => assembly.variables.push((name, Some(value))),
            JsonPlace::Option(name) => {
                let value = value.to_string_lossy().into_owned();
                match options::values(&self.recognised.arguments, &[&name]).pop() {
                    Some(own) => assembly.replaced.push((own.at, format!("{}{value}", own.before))),
                    None => assembly.inserted.extend([name, value]),
                }
            }
        }
    }

    /// Puts the arguments into the command, or into a program that stands first in `PATH`.
    fn assembled(&self, command: &[OsString], assembly: Assembly<'_>) -> Launch {
        let Assembly { folder, inserted, replaced, mut variables, mut files, .. } = assembly;
        let mut whole = command.to_vec();
        let mut arguments = Vec::new();
        match &self.recognised.place {
            ArgumentsPlace::At(at) => {
                for (own, text) in replaced {
                    if let Some(argument) = whole.get_mut(at + own) {
                        *argument = OsString::from(&text);
                        arguments.push(text);
                    }
                }
                let at = (*at).min(whole.len());
                whole.splice(at..at, inserted.iter().map(OsString::from));
                arguments.extend(inserted);
            }
            ArgumentsPlace::Shim(name) if !inserted.is_empty() => {
                let programs = folder.join("bin");
                if let Some(program) = self.program(name) {
                    let content = shim(&program, &inserted);
                    files.push(OverlayFile { path: programs.join(name), content, is_program: true });
                    variables.push(("PATH".to_owned(), Some(self.path_with(&programs))));
                    arguments = inserted;
                }
            }
            ArgumentsPlace::Shim(_) | ArgumentsPlace::Nowhere(_) => {
                files.retain(|file| {
                    variables.iter().any(|(_, value)| value.as_deref() == Some(file.path.as_os_str()))
                });
            }
        }
        Launch { command: whole, arguments, variables, files, ..Launch::default() }
    }
}

/// Merges `over` into `value`: objects member by member, everything else is replaced.
fn merge(value: &mut Value, over: Value) {
    match (value, over) {
        (Value::Object(members), Value::Object(over)) => {
            for (name, over) in over {
                match members.get_mut(&name) {
                    Some(member) => merge(member, over),
                    None => drop(members.insert(name, over)),
                }
            }
        }
        (value, over) => *value = over,
    }
}

/// Returns a program that starts another one with arguments before its own.
fn shim(program: &Path, arguments: &[String]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let arguments: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
    format!("#!/bin/sh\nexec {} {} \"$@\"\n", quoted(&program.to_string_lossy()), arguments.join(" "))
}
