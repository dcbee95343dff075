//! Classes of member names: some names decide how their value is normalized.

use std::borrow::Cow;

use reenact_json::token::UnescapedChars;

/// Treatment of a value because of the name it stands under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RpkValueRule {
    /// No special treatment. Elements of lists, and a value under no name, are treated so, too.
    Plain,
    /// A string is a path.
    Path,
    /// A string is a point in time.
    Time,
    /// A list is a set.
    Unordered,
}

/// Class of a member name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RpkNameClass {
    /// Treatment of the value.
    pub(super) rule: RpkValueRule,
    /// True if the member differs from run to run, and so is no part of a step's hash.
    pub(super) volatile: bool,
}

const PLAIN: RpkNameClass = RpkNameClass { rule: RpkValueRule::Plain, volatile: false };

/// Returns the class of a name, given as it stands between its quotes. `is_plain` says that it is printable ASCII
/// without escapes.
#[inline]
pub(super) fn class(name: &[u8], is_plain: bool) -> RpkNameClass {
    if is_plain { class_of(name) } else { class_of(lowercase_name(name).as_bytes()) }
}

/// Returns a name in lower case, by the whole of Unicode: the Kelvin sign is a `k`.
#[cold]
fn lowercase_name(name: &[u8]) -> Cow<'static, str> {
    Cow::Owned(UnescapedChars::new(name).collect::<String>().to_lowercase())
}

/// First letters of the known names of each length, a bit for each letter. Most names are unknown, and this table
/// tells so at once.
const KNOWN_FIRST_LETTERS: [u32; 32] = first_letters_by_length(&[
    "pid",
    "cwd",
    "dir",
    "tags",
    "path",
    "file",
    "labels",
    "span_id",
    "trace_id",
    "filepath",
    "ended_at",
    "thread_id",
    "file_path",
    "directory",
    "timestamp",
    "latency_ms",
    "request_id",
    "created_at",
    "updated_at",
    "started_at",
    "duration_ms",
    "captured_ns",
    "captured_at",
    "wall_time_ms",
    "capabilities",
    "working_directory",
]);

const fn first_letters_by_length(names: &[&str]) -> [u32; 32] {
    let mut letters = [0; 32];
    let mut at = 0;
    while at < names.len() {
        let name = names[at].as_bytes();
        letters[name.len()] |= 1 << (name[0] & 31);
        at += 1;
    }
    letters
}

/// Returns the class of a name in any case of letters; unknown names mostly leave here.
#[inline(always)]
fn class_of(name: &[u8]) -> RpkNameClass {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return PLAIN };
    let could_be_known = KNOWN_FIRST_LETTERS[name.len() & 31] >> (first & 31) & 1 == 1;
    let could_end_like_a_path = matches!(last | 0x20, b'h' | b'r');
    if could_be_known || could_end_like_a_path { class_of_known_name(name) } else { PLAIN }
}

fn class_of_known_name(name: &[u8]) -> RpkNameClass {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    let any = |known: &[&str]| known.iter().any(|known| is(known));
    let rule = |rule| RpkNameClass { rule, volatile: false };
    let volatile = RpkNameClass { rule: RpkValueRule::Plain, volatile: true };
    let exact = match name.len() {
        3 if is("pid") => volatile,
        3 if any(&["cwd", "dir"]) => rule(RpkValueRule::Path),
        4 if is("tags") => rule(RpkValueRule::Unordered),
        4 if any(&["path", "file"]) => rule(RpkValueRule::Path),
        6 if is("labels") => rule(RpkValueRule::Unordered),
        7 if is("span_id") => volatile,
        8 if is("trace_id") => volatile,
        8 if is("filepath") => rule(RpkValueRule::Path),
        8 if is("ended_at") => rule(RpkValueRule::Time),
        9 if is("thread_id") => volatile,
        9 if any(&["file_path", "directory"]) => rule(RpkValueRule::Path),
        9 if is("timestamp") => rule(RpkValueRule::Time),
        10 if any(&["latency_ms", "request_id"]) => volatile,
        10 if any(&["created_at", "updated_at", "started_at"]) => rule(RpkValueRule::Time),
        11 if any(&["duration_ms", "captured_ns"]) => volatile,
        11 if is("captured_at") => RpkNameClass { rule: RpkValueRule::Time, volatile: true },
        12 if is("wall_time_ms") => volatile,
        12 if is("capabilities") => rule(RpkValueRule::Unordered),
        17 if is("working_directory") => rule(RpkValueRule::Path),
        _ => PLAIN,
    };
    if exact != PLAIN {
        return exact;
    }
    let ends = |suffix: &str| {
        name.len().checked_sub(suffix.len()).is_some_and(|from| {
            name.get(from..).is_some_and(|end| end.eq_ignore_ascii_case(suffix.as_bytes()))
        })
    };
    let is_path = match name.last() {
        Some(b'h' | b'H') => ends("_path"),
        Some(b'r' | b'R') => ends("_dir"),
        _ => false,
    };
    if is_path { rule(RpkValueRule::Path) } else { PLAIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> (RpkValueRule, bool) {
        let plain = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let RpkNameClass { rule, volatile } = class(name.as_bytes(), plain);
        (rule, volatile)
    }

    #[test]
    fn every_known_name_in_any_case() {
        let known: [(&[&str], (RpkValueRule, bool)); 5] = [
            (&["tags", "labels", "capabilities"], (RpkValueRule::Unordered, false)),
            (
                &[
                    "duration_ms",
                    "latency_ms",
                    "wall_time_ms",
                    "request_id",
                    "trace_id",
                    "span_id",
                    "captured_ns",
                    "thread_id",
                    "pid",
                ],
                (RpkValueRule::Plain, true),
            ),
            (&["captured_at"], (RpkValueRule::Time, true)),
            (
                &["timestamp", "created_at", "updated_at", "started_at", "ended_at"],
                (RpkValueRule::Time, false),
            ),
            (
                &[
                    "path",
                    "file",
                    "filepath",
                    "file_path",
                    "cwd",
                    "dir",
                    "directory",
                    "working_directory",
                    "_path",
                    "_dir",
                    "out_path",
                    "x_dir",
                    "é_dir",
                ],
                (RpkValueRule::Path, false),
            ),
        ];
        for (names, expected) in known {
            for name in names {
                assert_eq!(of(name), expected, "{name}");
                assert_eq!(of(&name.to_uppercase()), expected, "{name}");
            }
        }
        assert_eq!(of("wor\u{212A}ing_directory"), (RpkValueRule::Path, false));
        assert_eq!(of("\\u0070id"), (RpkValueRule::Plain, true));
        assert_eq!(of("filePath"), (RpkValueRule::Path, false));
    }

    #[test]
    fn names_that_only_look_like_it() {
        for name in [
            "",
            "tag",
            "elapsed_ms",
            "correlation_id",
            "session_id",
            "run_id",
            "traceId",
            "trace-id",
            "log_file",
            "filename",
            "paths",
            "home_directory",
            "workdir",
            "uri",
            "x-path",
            "finished_at",
            "time",
            "createdAt",
            "_d\u{130}r",
            "pid ",
        ] {
            assert_eq!(of(name), (RpkValueRule::Plain, false), "{name}");
        }
    }
}
