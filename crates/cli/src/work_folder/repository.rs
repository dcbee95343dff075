//! The repository that a folder is in: its commit, read by hand, and whether the folder is clean, by git.
//!
//! A repository may come from anyone, and its configuration can name programs that git runs: `core.fsmonitor`, hooks, filters, the
//! files that it includes. Git is asked only where the repository's own configuration holds nothing but what is known to be
//! harmless, and with the known switches off besides. Start reading at [`repository`].

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Longest file of a repository that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// State of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// Commit that is checked out, in hexadecimal; `None` before the first one.
    pub(crate) commit: Option<String>,
    /// True if nothing differs from the commit, ignored files aside; `None` if git was not to be asked, or gave no answer.
    pub(crate) is_clean: Option<bool>,
}

/// Returns the repository that a folder is in, if it is in one.
pub(crate) fn repository(folder: &Path) -> Option<Repository> {
    let (work_tree, git) = folder.ancestors().find_map(|above| Some((above, git_folder(above)?)))?;
    // A work tree that was added has references and configuration in the folder of the first one.
    let common = text(&git.join("commondir")).map(|path| git.join(path.trim_end()));
    let common = common.unwrap_or_else(|| git.clone());
    let is_clean = is_harmless(&git, &common).then(|| is_clean(work_tree)).flatten();
    Some(Repository { commit: commit(&git, &common), is_clean })
}

/// Returns the folder of a repository whose work tree has its root here.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    let git = match git.symlink_metadata().ok()? {
        found if found.is_dir() => git,
        found if found.is_file() => root.join(text(&git)?.strip_prefix("gitdir: ")?.trim_end()),
        _ => return None,
    };
    git.join("HEAD").is_file().then_some(git)
}

/// Reads the commit that `HEAD` names.
fn commit(git: &Path, common: &Path) -> Option<String> {
    let mut head = text(&git.join("HEAD"))?;
    // A reference may name another; git follows five.
    for _ in 0..5 {
        let Some(name) = head.strip_prefix("ref: ").map(str::trim_end) else {
            return object_id(head.trim_end());
        };
        if !is_plain_reference(name) {
            return None;
        }
        match text(&git.join(name)).or_else(|| text(&common.join(name))) {
            Some(next) => head = next,
            None => return packed_reference(&text(&common.join("packed-refs"))?, name),
        }
    }
    None
}

/// Returns true for the name of a reference that leads nowhere else as a path.
fn is_plain_reference(name: &str) -> bool {
    let is_plain =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0', ':']);
    name.starts_with("refs/") && name.split('/').all(is_plain)
}

fn packed_reference(packed: &str, name: &str) -> Option<String> {
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, known)| *known == name).and_then(|(id, _)| object_id(id))
}

/// Returns an id of SHA-1 or SHA-256.
fn object_id(text: &str) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}

/// Reads a regular file, if it is one and not too long.
fn text(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_BYTES)
}

/// Returns true if the repository's own configuration cannot make git run anything when it is asked for the status.
fn is_harmless(git: &Path, common: &Path) -> bool {
    let is_harmless = |path: &Path| match path.symlink_metadata() {
        Ok(_) => text(path).is_some_and(|config| is_harmless_config(&config)),
        Err(_) => true,
    };
    is_harmless(&common.join("config")) && is_harmless(&git.join("config.worktree"))
}

/// Sections of which no member makes `git status` run a program or read another file.
const HARMLESS_SECTIONS: [&str; 10] =
    ["advice", "branch", "color", "fetch", "gc", "init", "pull", "push", "remote", "user"];

/// Members of `core` that are only about how files are kept.
const HARMLESS_CORE: [&str; 11] = [
    "autocrlf",
    "bare",
    "eol",
    "filemode",
    "ignorecase",
    "logallrefupdates",
    "precomposeunicode",
    "protecthfs",
    "protectntfs",
    "repositoryformatversion",
    "symlinks",
];

/// Returns true if a configuration holds nothing but sections and members that are known to be harmless.
fn is_harmless_config(config: &str) -> bool {
    let mut section = String::new();
    config.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).all(
        |line| {
            // A value that goes on in the next line could hide what that line is.
            if line.ends_with('\\') {
                return false;
            }
            let Some(header) = line.strip_prefix('[') else {
                let name = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
                return section != "core" || HARMLESS_CORE.contains(&name.as_str());
            };
            // A member, or another header, may follow on the same line; nobody writes that, so it is not read.
            let Some(header) = header.strip_suffix(']').filter(|header| !header.contains(['[', ']'])) else {
                return false;
            };
            section = header.split([' ', '"', '.']).next().unwrap_or_default().to_ascii_lowercase();
            section == "core" || HARMLESS_SECTIONS.contains(&section.as_str())
        },
    )
}

/// Asks git whether nothing differs from the commit. `None` if git is not there, or fails.
fn is_clean(work_tree: &Path) -> Option<bool> {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        git.env_remove(name);
    }
    for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false"] {
        git.args(["-c", setting]);
    }
    let mut status = git
        .args(["--no-optional-locks", "status", "--porcelain", "--no-renames", "--ignore-submodules=all"])
        .env("GIT_TERMINAL_PROMPT", "0")
        .current_dir(work_tree)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // The first byte is answer enough.
    let said = status.stdout.take()?.read(&mut [0]).ok();
    if said == Some(1) {
        let _ = status.kill();
        let _ = status.wait();
        return Some(false);
    }
    status.wait().ok().filter(|status| status.success()).and(said).map(|_| true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use reenact_testkit::fixture::TestDir;

    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    fn bare_repository(head: &str) -> TestDir {
        let dir = TestDir::new();
        fs::create_dir_all(dir.join(".git/refs/heads")).unwrap();
        fs::create_dir_all(dir.join("sub/folder")).unwrap();
        fs::write(dir.join(".git/HEAD"), head).unwrap();
        dir
    }

    fn commit_of(dir: &TestDir) -> Option<String> {
        let git = dir.join(".git");
        commit(&git, &git)
    }

    #[test]
    fn the_commit_is_found_where_git_keeps_it() {
        assert_eq!(commit_of(&bare_repository(&format!("{ID}\n"))).as_deref(), Some(ID));
        let dir = bare_repository("ref: refs/heads/main\n");
        assert_eq!(commit_of(&dir), None);
        fs::write(dir.join(".git/packed-refs"), format!("# pack-refs\n{ID} refs/heads/main\n^{ID}\n"))
            .unwrap();
        assert_eq!(commit_of(&dir).as_deref(), Some(ID));
        let newer = ID.replace('0', "f");
        fs::write(dir.join(".git/refs/heads/main"), format!("{newer}\n")).unwrap();
        assert_eq!(commit_of(&dir), Some(newer));
    }

    #[test]
    fn references_that_lead_elsewhere_are_not_followed() {
        for head in [
            "ref: ../../secret\n",
            "ref: refs/../../secret",
            "ref: refs//x",
            "ref: /etc/passwd",
            "nothing",
            "",
        ] {
            let dir = bare_repository(head);
            fs::write(dir.join("secret"), ID).unwrap();
            assert_eq!(commit_of(&dir), None, "{head}");
        }
    }

    #[test]
    fn configurations_that_name_programs_are_not_harmless() {
        let harmless = "[core]\n\tbare = false\n\tfilemode=true\n[remote \"origin\"]\n\turl = x\n[branch \"main\"]\n# [filter]\n";
        assert!(is_harmless_config(harmless));
        for other in [
            "[core]\nfsmonitor = touch x\n",
            "[core] fsmonitor = touch x\n",
            "[core]\nhooksPath = x\n",
            "[core]\n\tFSMONITOR=x",
            "[core]\nworktree = /\n",
            "[filter \"a\"]\nclean = touch x\n",
            "[FILTER.a]\nclean = touch x\n",
            "[include]\npath = x\n",
            "[includeIf \"gitdir:/\"]\npath = x\n",
            "[user]\nname = a\\\n[filter \"a\"]\nclean = x\n",
            "[remote \"a\"] [filter \"b\"]\n",
            "[extensions]\nworktreeConfig = true\n",
        ] {
            assert!(!is_harmless_config(other), "{other}");
        }
    }

    /// A repository that would run programs is described without running them.
    #[test]
    #[cfg(unix)]
    fn a_hostile_repository_runs_nothing() {
        let dir = TestDir::new();
        let git = |arguments: &[&str]| {
            let name = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            let status =
                Command::new("git").args(name).args(arguments).current_dir(dir.path()).output().unwrap();
            assert!(status.status.success(), "{status:?}");
        };
        git(&["init", "-q"]);
        fs::write(dir.join("file"), "1").unwrap();
        git(&["add", "file"]);
        git(&["commit", "-q", "-m", "one"]);
        let found = repository(dir.path()).unwrap();
        assert_eq!((found.commit.map(|id| id.len()), found.is_clean), (Some(40), Some(true)));
        fs::write(dir.join("other"), "1").unwrap();
        assert_eq!(repository(&dir.path().join(".")).unwrap().is_clean, Some(false));
        let trap = format!("touch {}", dir.join("trapped").display());
        git(&["config", "core.fsmonitor", &trap]);
        git(&["config", "filter.trap.clean", &trap]);
        fs::write(dir.join(".gitattributes"), "* filter=trap\n").unwrap();
        fs::write(dir.join("file"), "22").unwrap();
        let found = repository(dir.path()).unwrap();
        assert_eq!((found.commit.is_some(), found.is_clean), (true, None));
        assert!(!dir.join("trapped").exists());
    }

    #[test]
    fn no_repository_is_none() {
        // `.git` is neither a repository nor a way to one.
        for content in ["", "gitdir: nowhere", "x"] {
            let dir = TestDir::new();
            fs::write(dir.join(".git"), content).unwrap();
            assert_eq!(git_folder(dir.path()), None, "{content}");
        }
    }
}
