//! What the name of a member says of its value.

use std::borrow::Cow;

use reenact_json::token::Characters;

/// How a value is treated because of the name it stands under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// As it is. So are the elements of every list, and a value under no name.
    Plain,
    /// A string is a path.
    Path,
    /// A string is a point in time.
    Time,
    /// A list is a set.
    Unordered,
}

/// What a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class {
    /// Of the value.
    pub(super) rule: Rule,
    /// Whether the member differs from run to run, and so is no part of a step's hash.
    pub(super) volatile: bool,
}

const PLAIN: Class = Class { rule: Rule::Plain, volatile: false };

/// The class of a name, given as it stands between its quotes.
#[inline]
pub(super) fn class(name: &[u8], is_plain: bool) -> Class {
    if is_plain { class_of(name) } else { class_of(lowered(name).as_bytes()) }
}

/// Names are compared in lower case, by the whole of Unicode: the Kelvin sign is a `k`.
#[cold]
fn lowered(name: &[u8]) -> Cow<'static, str> {
    Cow::Owned(Characters::new(name).collect::<String>().to_lowercase())
}

/// The first letters of the names of each length that say something, a bit each: most names say nothing, and this tells it at once.
const TELLING: [u32; 32] = telling(&[
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

const fn telling(names: &[&str]) -> [u32; 32] {
    let mut letters = [0; 32];
    let mut at = 0;
    while at < names.len() {
        let name = names[at].as_bytes();
        letters[name.len()] |= 1 << (name[0] & 31);
        at += 1;
    }
    letters
}

/// What a name in lower or upper case says.
#[inline(always)]
fn class_of(name: &[u8]) -> Class {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return PLAIN };
    let could_be_known = TELLING[name.len() & 31] >> (first & 31) & 1 == 1;
    let could_end_like_a_path = matches!(last | 0x20, b'h' | b'r');
    if could_be_known || could_end_like_a_path { telling_class(name) } else { PLAIN }
}

fn telling_class(name: &[u8]) -> Class {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    let any = |known: &[&str]| known.iter().any(|known| is(known));
    let rule = |rule| Class { rule, volatile: false };
    let volatile = Class { rule: Rule::Plain, volatile: true };
    let exact = match name.len() {
        3 if is("pid") => volatile,
        3 if any(&["cwd", "dir"]) => rule(Rule::Path),
        4 if is("tags") => rule(Rule::Unordered),
        4 if any(&["path", "file"]) => rule(Rule::Path),
        6 if is("labels") => rule(Rule::Unordered),
        7 if is("span_id") => volatile,
        8 if is("trace_id") => volatile,
        8 if is("filepath") => rule(Rule::Path),
        8 if is("ended_at") => rule(Rule::Time),
        9 if is("thread_id") => volatile,
        9 if any(&["file_path", "directory"]) => rule(Rule::Path),
        9 if is("timestamp") => rule(Rule::Time),
        10 if any(&["latency_ms", "request_id"]) => volatile,
        10 if any(&["created_at", "updated_at", "started_at"]) => rule(Rule::Time),
        11 if any(&["duration_ms", "captured_ns"]) => volatile,
        11 if is("captured_at") => Class { rule: Rule::Time, volatile: true },
        12 if is("wall_time_ms") => volatile,
        12 if is("capabilities") => rule(Rule::Unordered),
        17 if is("working_directory") => rule(Rule::Path),
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
    if is_path { rule(Rule::Path) } else { PLAIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> (Rule, bool) {
        let plain = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let Class { rule, volatile } = class(name.as_bytes(), plain);
        (rule, volatile)
    }

    #[test]
    fn every_known_name_in_any_case() {
        let known: [(&[&str], (Rule, bool)); 5] = [
            (&["tags", "labels", "capabilities"], (Rule::Unordered, false)),
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
                (Rule::Plain, true),
            ),
            (&["captured_at"], (Rule::Time, true)),
            (&["timestamp", "created_at", "updated_at", "started_at", "ended_at"], (Rule::Time, false)),
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
                (Rule::Path, false),
            ),
        ];
        for (names, expected) in known {
            for name in names {
                assert_eq!(of(name), expected, "{name}");
                assert_eq!(of(&name.to_uppercase()), expected, "{name}");
            }
        }
        assert_eq!(of("wor\u{212A}ing_directory"), (Rule::Path, false));
        assert_eq!(of("\\u0070id"), (Rule::Plain, true));
        assert_eq!(of("filePath"), (Rule::Path, false));
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
            assert_eq!(of(name), (Rule::Plain, false), "{name}");
        }
    }
}
