//! `reenact.toml`: the settings of a project. Those of a recording only tighten: an envelope, further mask rules, payloads to
//! withhold. Those of a replay say what does not count there.
//!
//! ```toml
//! [redaction]
//! known_env = ["DATABASE_URL"]
//! [[redaction.rules]]
//! name = "acme-key"
//! prefix = "acme_"
//! alphabet = "base64url"
//! min_length = 16
//! [withhold]
//! tools = ["pay_*"]
//! [replay]
//! ignore = ["$.seed"]
//! ```
//!
//! No setting of a recording switches anything off. Unknown sections and fields are refused, with the line and the allowed
//! names, because a misspelled rule would protect nothing. Start reading at [`load`].

mod find;
mod sections;

use std::fmt;
use std::path::{Path, PathBuf};

use reenact_json::Shown;
use reenact_record::Redaction;

pub(crate) use self::sections::ReplaySettings;
use crate::envelope;
use crate::output::CommandError;

/// Name of the settings file.
pub(crate) const FILE_NAME: &str = "reenact.toml";

/// Settings of a project; the default is a project without a settings file.
#[derive(Default)]
pub(crate) struct ProjectSettings {
    /// Path of the settings file; `None` if the project has none.
    pub(crate) file: Option<PathBuf>,
    /// Envelope of the section `[envelope]`.
    pub(crate) envelope: Option<envelope::UnsignedEnvelope>,
    /// Rules of the sections `[redaction]` and `[withhold]`.
    pub(crate) redaction: Redaction,
    /// Rules of the section `[replay]`.
    pub(crate) replay: ReplaySettings,
}

/// Reason for which a settings file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsError {
    /// Path of the refused file. Untrusted text.
    file: PathBuf,
    /// Line number, from 1; `None` if the problem concerns the whole file or names the line itself.
    line: Option<usize>,
    /// Path of the field, such as `redaction.rules[0].prefix`; may be empty. Untrusted text.
    field: String,
    /// Problem, and the allowed values. Safe to print.
    problem: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Shown::whole(&self.file.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", Shown::new(&self.field))?;
        }
        f.write_str(&self.problem)
    }
}

impl From<SettingsError> for CommandError {
    fn from(refusal: SettingsError) -> Self {
        Self::impossible(refusal.to_string())
    }
}

/// Loads the settings that hold in the folder `start`.
///
/// They come from the file in `start`, or in the nearest folder around it, up to the root of the project (the
/// folder with a `.git`). Outside of any project only `start` itself is searched: a file further up may
/// belong to somebody else.
///
/// # Errors
///
/// If the file cannot be read, is larger than 1 MiB, or says anything that is not known.
pub(crate) fn load(start: &Path) -> Result<ProjectSettings, SettingsError> {
    let Some(file) = find::nearest_file(start) else { return Ok(ProjectSettings::default()) };
    let whole =
        |problem: String| SettingsError { file: file.clone(), line: None, field: String::new(), problem };
    let text = find::read_text(&file).map_err(whole)?;
    let sections = sections::parse_sections(&text).map_err(|fault| SettingsError {
        file: file.clone(),
        line: Some(fault.line),
        field: fault.field,
        problem: fault.problem,
    })?;
    let envelope = if sections.has_envelope {
        // The message names the line and the field itself.
        Some(envelope::parse(text.as_bytes()).map_err(whole)?)
    } else {
        None
    };
    Ok(ProjectSettings { file: Some(file), envelope, redaction: sections.redaction, replay: sections.replay })
}

/// Loads the settings of the current folder. Without a current folder there are none.
pub(crate) fn load_current() -> Result<ProjectSettings, SettingsError> {
    std::env::current_dir().map_or_else(|_| Ok(ProjectSettings::default()), |folder| load(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_testkit::fixture::TestDir;
    use std::fs;

    /// A project with the folders `a/b`.
    struct Project(TestDir);

    impl Project {
        fn new() -> Self {
            let dir = TestDir::new();
            fs::create_dir_all(dir.join("a/b")).unwrap();
            Self(dir)
        }

        fn write(&self, folder: &str, text: &str) -> PathBuf {
            self.0.write(Path::new(folder).join(FILE_NAME), text)
        }

        fn settings_file(&self, folder: &str) -> Option<PathBuf> {
            load(&self.0.join(folder)).unwrap().file
        }
    }

    #[test]
    fn the_nearest_file_of_the_project_holds() {
        let project = Project::new();
        let outer = project.write("", "");
        // Without a project, only the folder itself counts.
        assert_eq!((project.settings_file(""), project.settings_file("a/b")), (Some(outer.clone()), None));
        fs::create_dir(project.0.join(".git")).unwrap();
        assert_eq!(project.settings_file("a/b"), Some(outer.clone()));
        let inner = project.write("a", "");
        assert_eq!((project.settings_file("a/b"), project.settings_file("")), (Some(inner), Some(outer)));
        // A project inside a project is one of its own; some have a file of that name.
        fs::write(project.0.join("a/b/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(project.settings_file("a/b"), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let project = Project::new();
        let error_text = |text: &str| {
            let path = project.write("", text);
            let refusal = load(project.0.path()).err().unwrap().to_string();
            refusal.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
        };
        assert_eq!(
            error_text("\n[redact]\n"),
            "line 2: redact: there is no such section; allowed are envelope, redaction, replay, withhold"
        );
        assert_eq!(
            error_text("[redaction]\nenabled = false\n"),
            "line 2: redaction.enabled: there is no such field; allowed are known_env, rules"
        );
        assert_eq!(
            error_text("\n[envelope]\n"),
            "line 2: envelope.permissions: is missing: [envelope.permissions] says which models and tools may be called"
        );
        assert!(error_text("a = ").starts_with("line 1: "));
        fs::write(project.0.join(FILE_NAME), b"\xff").unwrap();
        assert!(load(project.0.path()).err().unwrap().to_string().ends_with(": it is not UTF-8"));
        fs::write(project.0.join(FILE_NAME), vec![b'#'; 2 << 20]).unwrap();
        assert!(
            load(project.0.path()).err().unwrap().to_string().ends_with(": it is too large: at most 1 MiB")
        );
        fs::remove_file(project.0.join(FILE_NAME)).unwrap();
        fs::create_dir(project.0.join(FILE_NAME)).unwrap();
        assert!(load(project.0.path()).err().unwrap().to_string().ends_with(": it is not a file"));
    }
}
