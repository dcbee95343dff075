//! `reenact.toml`: what a project asks for. It can only tighten: permissions, further masks, what is withheld.
//!
//! Nothing in it switches anything off. What it does not know it refuses, with the line and what is allowed there: a rule that is
//! misspelled would protect nobody.

mod find;
mod read;

use std::fmt;
use std::path::{Path, PathBuf};

use reenact_json::Shown;
use reenact_record::Redaction;

use crate::envelope;
use crate::output::Ending;

/// The file's name.
pub(crate) const NAME: &str = "reenact.toml";

/// What a project asks for.
#[derive(Default)]
pub(crate) struct Settings {
    /// Where it says so; `None` if there is no such file.
    pub(crate) file: Option<PathBuf>,
    /// `[envelope]`.
    pub(crate) envelope: Option<envelope::Ready>,
    /// `[redaction]` and `[withhold]`.
    pub(crate) redaction: Redaction,
}

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    file: PathBuf,
    /// From 1; `None` if it is about the whole file, or said in the problem.
    line: Option<usize>,
    /// Such as `redaction.rules[0].prefix`. Untrusted text.
    field: String,
    /// What is wrong, and what is allowed. Safe to print.
    problem: String,
}

impl fmt::Display for Refusal {
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

impl From<Refusal> for Ending {
    fn from(refusal: Refusal) -> Self {
        Self::impossible(refusal.to_string())
    }
}

/// The settings that hold in a folder: those of the file in it, or in the nearest folder around it, up to the one that is the
/// project's (it has a `.git`). Outside of any project only the folder itself is looked into: a file further up may be anybody's.
pub(crate) fn load(start: &Path) -> Result<Settings, Refusal> {
    let Some(file) = find::nearest(start) else { return Ok(Settings::default()) };
    let whole = |problem: String| Refusal { file: file.clone(), line: None, field: String::new(), problem };
    let text = find::text(&file).map_err(whole)?;
    let redaction = read::redaction(&text).map_err(|fault| Refusal {
        file: file.clone(),
        line: Some(fault.line),
        field: fault.field,
        problem: fault.problem,
    })?;
    let envelope = if redaction.has_envelope {
        // It names the line and the field itself.
        Some(envelope::of(text.as_bytes()).map_err(whole)?)
    } else {
        None
    };
    Ok(Settings { file: Some(file), envelope, redaction: redaction.redaction })
}

/// The settings of the folder that the command runs in.
pub(crate) fn here() -> Result<Settings, Refusal> {
    std::env::current_dir().map_or_else(|_| Ok(Settings::default()), |folder| load(&folder))
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
            self.0.write(Path::new(folder).join(NAME), text)
        }

        fn found(&self, folder: &str) -> Option<PathBuf> {
            load(&self.0.join(folder)).unwrap().file
        }
    }

    #[test]
    fn the_nearest_file_of_the_project_holds() {
        let place = Project::new();
        let outer = place.write("", "");
        // Without a project, only the folder itself counts.
        assert_eq!((place.found(""), place.found("a/b")), (Some(outer.clone()), None));
        fs::create_dir(place.0.join(".git")).unwrap();
        assert_eq!(place.found("a/b"), Some(outer.clone()));
        let inner = place.write("a", "");
        assert_eq!((place.found("a/b"), place.found("")), (Some(inner), Some(outer)));
        // A project inside a project is one of its own; some have a file of that name.
        fs::write(place.0.join("a/b/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(place.found("a/b"), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let place = Project::new();
        let said = |text: &str| {
            let path = place.write("", text);
            let refusal = load(place.0.path()).err().unwrap().to_string();
            refusal.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
        };
        assert_eq!(
            said("\n[redact]\n"),
            "line 2: redact: there is no such section; allowed are envelope, redaction, withhold"
        );
        assert_eq!(
            said("[redaction]\nenabled = false\n"),
            "line 2: redaction.enabled: there is no such field; allowed are known_env, rules"
        );
        assert_eq!(
            said("\n[envelope]\n"),
            "line 2: envelope.permissions: is missing: [envelope.permissions] says which models and tools may be called"
        );
        assert!(said("a = ").starts_with("line 1: "));
        fs::write(place.0.join(NAME), b"\xff").unwrap();
        assert!(load(place.0.path()).err().unwrap().to_string().ends_with(": it is not UTF-8"));
        fs::write(place.0.join(NAME), vec![b'#'; 2 << 20]).unwrap();
        assert!(
            load(place.0.path()).err().unwrap().to_string().ends_with(": it is too large: at most 1 MiB")
        );
        fs::remove_file(place.0.join(NAME)).unwrap();
        fs::create_dir(place.0.join(NAME)).unwrap();
        assert!(load(place.0.path()).err().unwrap().to_string().ends_with(": it is not a file"));
    }
}
