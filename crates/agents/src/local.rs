//! Variables and files of this machine, as an agent finds them. Files are read within bounds and never written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::row::FolderRow;
use crate::template;

/// Longest settings file that is read, in bytes.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;
/// Most folders that are looked through upwards.
const MAX_FOLDERS_ABOVE: usize = 64;

/// Variables, home folder and working folder of a command.
#[derive(Clone)]
pub struct LocalEnvironment {
    variables: BTreeMap<String, String>,
    /// Working folder.
    folder: PathBuf,
    /// Folder below which overlay files will be written, if it is known.
    overlay: Option<PathBuf>,
}

impl LocalEnvironment {
    /// Returns the environment of a command that would be started with these variables in this folder. Variables that are no
    /// Unicode are left out.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>, folder: PathBuf) -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self { variables: variables.into_iter().filter_map(text).collect(), folder, overlay: None }
    }

    /// Names the folder below which overlay files will be written.
    #[must_use]
    pub fn with_overlay_below(mut self, folder: PathBuf) -> Self {
        self.overlay = Some(folder);
        self
    }

    /// Returns true if only root can change overlay files: all folders around them are root's, and no other may write there.
    pub(crate) fn overlay_is_roots(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let Some(overlay) = &self.overlay else { return false };
            // Folders that are not there yet are made by this process, closed to others, in the nearest one that is there.
            let is_roots = |found: fs::Metadata| found.uid() == 0 && found.mode() & 0o022 == 0;
            let mut there =
                overlay.ancestors().filter_map(|folder| fs::symlink_metadata(folder).ok()).peekable();
            there.peek().is_some() && there.all(is_roots)
        }
        #[cfg(not(unix))]
        false
    }

    /// Returns a variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Sets a variable, as `env A=b` in front of a command does.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Returns the home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").or_else(|| self.variable("USERPROFILE")).map(PathBuf::from)
    }

    /// Returns the working folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folders of `PATH`.
    pub fn search_path(&self) -> Vec<PathBuf> {
        self.variable("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
    }

    /// Returns the path of a program: the path itself if the name has a folder, else the first of that name in `PATH`.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = self.folder.join(name);
            return path.is_file().then_some(path);
        }
        self.search_path()
            .into_iter()
            .map(|folder| self.folder.join(folder).join(name))
            .find(|path| is_program(path))
    }

    /// Returns the file that a path of a row names; `None` if a placeholder has no value. `folders` are those of the row, and
    /// `option` gives the value of an option in the command.
    pub(crate) fn path(
        &self,
        path: &str,
        folders: &BTreeMap<String, FolderRow>,
        option: &dyn Fn(&str) -> Option<String>,
    ) -> Option<PathBuf> {
        let value = |name: &str| -> Option<String> {
            let found = match name.split_once(':') {
                None if name == "cwd" => self.folder.clone(),
                None if name == "root" => self.root()?,
                None => self.row_folder(folders.get(name)?)?,
                Some(("variable", name)) => PathBuf::from(self.variable(name)?),
                Some(("option", name)) => PathBuf::from(option(name)?),
                Some(("above", name)) => self.above(name)?,
                Some(_) => return None,
            };
            found.to_str().map(str::to_owned)
        };
        let path = self.below_home(&template::expand(path, value)?)?;
        Some(self.folder.join(path))
    }

    fn row_folder(&self, folder: &FolderRow) -> Option<PathBuf> {
        let found = match self.variable(&folder.variable) {
            Some(value) => PathBuf::from(value),
            None => self.below_home(&folder.default)?,
        };
        Some(folder.below.as_ref().map_or(found.clone(), |below| found.join(below)))
    }

    /// Returns a path with the home folder in place of a leading `~`.
    fn below_home(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix('~') {
            Some("") => self.home(),
            Some(rest) if rest.starts_with('/') => Some(self.home()?.join(rest.trim_start_matches('/'))),
            _ => Some(PathBuf::from(path)),
        }
    }

    /// Returns the root of the repository around the working folder.
    fn root(&self) -> Option<PathBuf> {
        self.folder
            .ancestors()
            .take(MAX_FOLDERS_ABOVE)
            .find(|folder| folder.join(".git").exists())
            .map(Path::to_owned)
    }

    /// Returns the nearest file of a name, from the working folder upwards.
    fn above(&self, name: &str) -> Option<PathBuf> {
        let mut folders = self.folder.ancestors().take(MAX_FOLDERS_ABOVE);
        folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
    }
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

/// Reads a settings file; `None` if there is none, or it is no text, or longer than [`MAX_SETTINGS_BYTES`].
pub(crate) fn read_settings(file: &Path) -> Option<String> {
    let found = fs::metadata(file).ok()?;
    if !found.is_file() || found.len() > MAX_SETTINGS_BYTES {
        return None;
    }
    let mut text = String::new();
    fs::File::open(file).ok()?.take(MAX_SETTINGS_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Reads JSON with comments and commas at the end of lists, as agents' settings may be.
pub(crate) fn parse_json(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&without_comments(text)).ok())
}

/// Returns JSON without comments and without commas before a closing bracket. Strings stay as they are.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            ']' | '}' => {
                let end = kept.trim_end().len();
                if kept[..end].ends_with(',') {
                    kept.truncate(end - 1);
                }
                1
            }
            other => other.len_utf8(),
        };
        let (taken, after) = rest.split_at(length);
        kept.push_str(taken);
        rest = after;
    }
    kept
}

/// Returns the length in bytes of the string literal at the start of a text, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_comments_are_read() {
        let text = "{ // a comment\n \"url\": \"http://a//b\", /* c */ \"list\": [1, 2,],\n}";
        let value = parse_json(text).unwrap();
        assert_eq!(value["url"], "http://a//b");
        assert_eq!(value["list"], serde_json::json!([1, 2]));
        assert_eq!(parse_json("{\"a\": \"\\\"// not\"}").unwrap()["a"], "\"// not");
        assert!(parse_json("{\"a\": ").is_none());
        assert!(parse_json("{\"a\": \"").is_none());
    }

    #[test]
    fn folders_follow_their_variables() {
        let variables = [("HOME", "/home/u"), ("CODEX_HOME", "/srv/codex")];
        let local = LocalEnvironment::new(variables.map(|(n, v)| (n.into(), v.into())), "/work".into());
        let folder =
            |variable: &str| FolderRow { variable: variable.into(), default: "~/.codex".into(), below: None };
        let folders = BTreeMap::from([("a".into(), folder("CODEX_HOME")), ("b".into(), folder("OTHER"))]);
        let path = |text: &str| local.path(text, &folders, &|name| (name == "--env").then(|| "x.env".into()));
        assert_eq!(path("${a}/auth.json").unwrap(), Path::new("/srv/codex/auth.json"));
        assert_eq!(path("${b}/auth.json").unwrap(), Path::new("/home/u/.codex/auth.json"));
        assert_eq!(path("~/.env").unwrap(), Path::new("/home/u/.env"));
        assert_eq!(path("${option:--env}").unwrap(), Path::new("/work/x.env"));
        assert_eq!(path("${option:--other}"), None);
        assert_eq!(path("${cwd}/.env").unwrap(), Path::new("/work/.env"));
    }
}
