//! Hints: what a difference between two requests looks like, and what to do about it.
//!
//! A hint is a guess from the lines that differ. It changes nothing in what is served. Each kind is a row of `HINTS`.

/// Guess at the cause of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissHint {
    /// Name in reports, such as `git-state`.
    pub name: &'static str,
    /// Guess, and advice for people.
    pub advice: &'static str,
}

/// Leaf that differs, with the lines that are not the same on both sides.
pub(crate) struct ChangedLeaf<'a> {
    location: &'a str,
    /// Lines of the recorded text that are not in the incoming one.
    recorded: Vec<&'a str>,
    /// Lines of the incoming text that are not in the recorded one.
    requested: Vec<&'a str>,
    /// True if one of the texts has several lines.
    is_long: bool,
}

/// Row of the table: a hint, and the differences that it fits.
struct HintRow {
    hint: MissHint,
    fits: fn(&ChangedLeaf<'_>) -> bool,
}

/// All hints, in the order in which they are shown.
const HINTS: [HintRow; 5] = [
    HintRow {
        hint: MissHint {
            name: "date",
            advice: "this looks like a date or a time: leave it out of the prompt, or give the agent a fixed one",
        },
        fits: is_moment,
    },
    HintRow {
        hint: MissHint {
            name: "git-state",
            advice: "this looks like the state of a git repository: replay in a checkout of the recorded commit without changes (reenact show names it)",
        },
        fits: is_git_state,
    },
    HintRow {
        hint: MissHint {
            name: "folder-listing",
            advice: "this looks like a listing of files, and a run leaves files behind: replay in a folder with the files that the recording began with",
        },
        fits: is_listing,
    },
    HintRow {
        hint: MissHint {
            name: "key-shape",
            advice: "this looks like a key, or a choice that agents make by the shape of a key: replay with a key of the kind that was recorded",
        },
        fits: is_key_shape,
    },
    HintRow {
        hint: MissHint {
            name: "login",
            advice: "this looks like another kind of login: replay with the kind that was recorded (an API key, or an account)",
        },
        fits: is_login,
    },
];

/// Adds the hints that fit a difference, each once.
pub(crate) fn add_hints(changed: &ChangedLeaf<'_>, hints: &mut Vec<MissHint>) {
    for row in HINTS.iter().filter(|row| (row.fits)(changed)) {
        if !hints.contains(&row.hint) {
            hints.push(row.hint);
        }
    }
}

/// Largest number of lines that are looked at on one side.
const MAX_LINES: usize = 400;

impl<'a> ChangedLeaf<'a> {
    /// Finds the lines of two texts that differ: all between the same beginning and the same end.
    pub(crate) fn between(location: &'a str, recorded: Option<&'a str>, requested: Option<&'a str>) -> Self {
        let lines = |text: Option<&'a str>| text.map_or(Vec::new(), |text| text.lines().collect());
        let (recorded, requested): (Vec<&str>, Vec<&str>) = (lines(recorded), lines(requested));
        let is_long = recorded.len().max(requested.len()) > 1;
        let front = recorded.iter().zip(&requested).take_while(|(a, b)| a == b).count();
        let rest = |lines: &[&'a str]| lines.get(front..).unwrap_or_default().to_vec();
        let (recorded, requested) = (rest(&recorded), rest(&requested));
        let back = recorded.iter().rev().zip(requested.iter().rev()).take_while(|(a, b)| a == b).count();
        let kept = |mut lines: Vec<&'a str>| {
            lines.truncate(lines.len().saturating_sub(back).min(MAX_LINES));
            lines.retain(|line| !line.trim().is_empty());
            lines
        };
        Self { location, recorded: kept(recorded), requested: kept(requested), is_long }
    }

    /// Returns all lines that differ, of both sides.
    fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.recorded.iter().chain(&self.requested).copied()
    }

    /// Returns true if the words that contain one of the marks are others on the two sides.
    fn differs_in_words(&self, marks: &[&str]) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-:[].".contains(c);
        let marked = |lines: &[&'a str]| -> Vec<&'a str> {
            let words = lines.iter().flat_map(|line| line.split(|c| !is_part(c)));
            words.filter(|word| marks.iter().any(|mark| word.contains(mark))).collect()
        };
        marked(&self.recorded) != marked(&self.requested)
    }

    /// Returns true if there is a line, and all lines are of a kind.
    fn all(&self, is_kind: fn(&str) -> bool) -> bool {
        self.lines().next().is_some() && self.lines().all(is_kind)
    }
}

/// Names of months and weekdays, by their first three letters.
const DAY_WORDS: [&str; 19] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon", "tue", "wed",
    "thu", "fri", "sat", "sun",
];

/// Returns true if the lines differ in dates and times alone.
fn is_moment(changed: &ChangedLeaf<'_>) -> bool {
    let (recorded, requested) = (&changed.recorded, &changed.requested);
    let pairs = || recorded.iter().zip(requested);
    !recorded.is_empty()
        && recorded.len() == requested.len()
        && pairs().all(|(a, b)| {
            let (a, b) = (without_moment(a), without_moment(b));
            a == b && ["0-0-0", "0:0", "0/0/0", "@ 0", "0 @"].iter().any(|form| a.contains(form))
        })
}

/// Returns a line with `0` for each number, and `@` for each name of a month or a weekday.
fn without_moment(line: &str) -> String {
    let mut text = String::new();
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let kind = |c: char| (c.is_ascii_digit(), is_part(c));
        let end = rest.find(|c| kind(c) != kind(first)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let is_day = word.get(..3).is_some_and(|beginning| {
            word.len() <= 9 && DAY_WORDS.iter().any(|day| day.eq_ignore_ascii_case(beginning))
        });
        text.push_str(match word {
            _ if first.is_ascii_digit() => "0",
            _ if is_day => "@",
            word => word,
        });
        rest = behind;
    }
    text
}

/// Words of git about a repository, as `git status` and prompts that hold it begin their lines.
const GIT_WORDS: [&str; 14] = [
    "on branch ",
    "your branch is ",
    "changes not staged",
    "changes to be committed",
    "untracked files",
    "nothing to commit",
    "nothing added to commit",
    "no changes added",
    "modified: ",
    "new file: ",
    "deleted: ",
    "renamed: ",
    "current branch: ",
    "(clean)",
];

/// Returns true for lines of `git status` and `git log`.
fn is_git_state(changed: &ChangedLeaf<'_>) -> bool {
    changed.is_long && changed.all(is_git_line)
}

fn is_git_line(line: &str) -> bool {
    let plain = line.trim().to_ascii_lowercase();
    if GIT_WORDS.iter().any(|word| plain.starts_with(word)) {
        return true;
    }
    let is_commit = |word: &str| {
        (7..=40).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
            && word.bytes().any(|byte| byte.is_ascii_digit())
    };
    let first = plain.split(' ').next().unwrap_or_default();
    // `XY path`: two letters of a state, one of them perhaps a space.
    let is_state = line.get(..3).is_some_and(|state| {
        state.ends_with(' ')
            && state.trim() != ""
            && state.bytes().take(2).all(|byte| b" MADRCUT?!".contains(&byte))
    });
    is_state || is_commit(first) || (first == "commit" && plain.split(' ').nth(1).is_some_and(is_commit))
}

/// Returns true for lines of `ls`, `find` and `tree`.
fn is_listing(changed: &ChangedLeaf<'_>) -> bool {
    changed.is_long && changed.all(is_file_line)
}

fn is_file_line(line: &str) -> bool {
    let name = line.trim_start_matches(|c: char| " \t│├└─|-*+`".contains(c)).trim_end();
    // The beginning of a line of `ls -l`: a type and nine permissions.
    let is_long_form = line.trim_start().get(..10).is_some_and(|mode| {
        mode.starts_with(['-', 'd', 'l', 'c', 'b', 'p', 's'])
            && mode.chars().skip(1).all(|c| "rwxsStT-".contains(c))
    });
    let is_total = line.strip_prefix("total ").is_some_and(|rest| rest.parse::<u64>().is_ok());
    let has_ending = name.rsplit_once('.').is_some_and(|(_, end)| {
        (1..=8).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let is_path = !name.is_empty() && !name.contains([' ', ':']) && (name.contains('/') || has_ending);
    is_long_form || is_total || is_path
}

/// Beginnings of keys, and of the marks that stand for them in a record.
const KEY_BEGINNINGS: [&str; 7] = ["[masked:", "sk-", "AIza", "gsk_", "xai-", "ghp_", "reenact-dummy-"];

/// Returns true if the two sides have other keys, or the model is another one.
fn is_key_shape(changed: &ChangedLeaf<'_>) -> bool {
    let is_other_model =
        changed.location == "$.model" && !changed.recorded.is_empty() && !changed.requested.is_empty();
    is_other_model || changed.differs_in_words(&KEY_BEGINNINGS)
}

/// Words by which requests of an account differ from those of a key.
const LOGIN_WORDS: [&str; 3] = ["oauth", "chatgpt-account", "chatgpt_account"];

/// Returns true if one side tells of another account, or the route is another one.
fn is_login(changed: &ChangedLeaf<'_>) -> bool {
    changed.location == "provider" || changed.differs_in_words(&LOGIN_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(location: &str, recorded: &str, requested: &str) -> Vec<&'static str> {
        let mut hints = Vec::new();
        for _ in 0..2 {
            add_hints(&ChangedLeaf::between(location, Some(recorded), Some(requested)), &mut hints);
        }
        hints.iter().map(|hint| hint.name).collect()
    }

    #[test]
    fn a_date() {
        for (recorded, requested) in [
            ("Today's date is 2026-11-17.", "Today's date is 2026-11-20."),
            ("Today is Tuesday, November 17, 2026", "Today is Friday, December 4, 2026"),
            ("it is 10:31:07 now", "it is 9:02:00 now"),
            ("same\n17 Nov 2026\nsame", "same\n3 Dec 2026\nsame"),
        ] {
            assert_eq!(names("$.x", recorded, requested), ["date"], "{recorded}");
        }
        for (recorded, requested) in [
            ("book 3 seats", "book 4 seats"),
            ("fly on 2026-05-12 to Lisbon", "fly on 2026-05-13 to Porto"),
            ("at 10:31", "at 10:31\nat 10:32"),
        ] {
            assert_eq!(names("$.x", recorded, requested), [""; 0], "{recorded}");
        }
    }

    #[test]
    fn git_state() {
        for (recorded, requested) in [
            ("Status:\n(clean)\n\nRecent commits:", "Status:\n?? notes.md\n M src/lib.rs\n\nRecent commits:"),
            ("a\n1f2e3d4 First", "a\n9a8b7c6 Second\n1f2e3d4 First"),
            (
                "On branch main\nnothing to commit",
                "On branch main\nChanges not staged for commit:\n\tmodified:   x",
            ),
        ] {
            assert_eq!(names("$.x", recorded, requested), ["git-state"], "{recorded}");
        }
        assert_eq!(names("$.x", "a\nfacade of words", "a\nother"), [""; 0]);
    }

    #[test]
    fn a_folder_listing() {
        for (recorded, requested) in [
            ("a.txt\nb.txt", "a.txt\nb.txt\nout.txt"),
            ("├── src/\n└── Cargo.toml", "├── src/\n├── target/\n└── Cargo.toml"),
            ("total 4\n-rw-r--r-- 1 u g 5 x", "total 8\n-rw-r--r-- 1 u g 5 x\n-rw-r--r-- 1 u g 5 a file"),
        ] {
            assert_eq!(names("$.x", recorded, requested), ["folder-listing"], "{recorded}");
        }
        assert_eq!(names("$.x", "one line.txt", "other.txt"), [""; 0]);
        assert_eq!(names("$.x", "a\nsome words.", "a\nother words here."), [""; 0]);
    }

    #[test]
    fn the_shape_of_a_key() {
        assert_eq!(names("$.model", "claude-haiku-4-5", "claude-opus-4-8"), ["key-shape"]);
        assert_eq!(names("$.x", "use [masked:environment:1]", "use nothing"), ["key-shape"]);
        assert_eq!(names("$.y.model", "a", "b"), [""; 0]);
    }

    #[test]
    fn a_login() {
        assert_eq!(names("header anthropic-beta", "a,oauth-2025-04-20", "a"), ["login"]);
        assert_eq!(names("header anthropic-beta", "a,oauth-2025-04-20", "b,oauth-2025-04-20"), [""; 0]);
        assert_eq!(names("provider", "chatgpt", "openai"), ["login"]);
        // The line names an account, and differs in a session.
        let user = |session: &str| format!(r#"{{"account_uuid":"","session_id":"{session}"}}"#);
        assert_eq!(names("$.metadata.user_id", &user("1f2e"), &user("9a8b")), [""; 0]);
    }

    #[test]
    fn a_leaf_that_only_one_side_has() {
        let mut hints = Vec::new();
        add_hints(&ChangedLeaf::between("$.x", None, Some("2026-11-17")), &mut hints);
        add_hints(&ChangedLeaf::between("$.model", None, Some("gpt-5")), &mut hints);
        assert_eq!(hints, []);
    }

    #[test]
    fn each_row_is_named_once() {
        let names: Vec<&str> = HINTS.iter().map(|row| row.hint.name).collect();
        assert_eq!(names, ["date", "git-state", "folder-listing", "key-shape", "login"]);
    }
}
