//! Plausibility of values: could this be a secret?
//!
//! A name such as `token` says little: parsers have tokens, and documentation has `<your token>`.
//! So the value must look as if a machine made it or, for a password, like no word that a person
//! would write.

use crate::byte_class::{ALNUM, HEX};
use crate::entropy::alphanumeric_runs;

/// Returns true if a value has at least two of digits, capitals and small letters.
pub(crate) fn is_mixed(value: &[u8]) -> bool {
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let has_capital = value.iter().any(u8::is_ascii_uppercase);
    let has_small = value.iter().any(u8::is_ascii_lowercase);
    (has_digit && (has_capital || has_small)) || (has_capital && has_small)
}

/// Returns true if a value has a mixed run of at least 16 letters and digits.
pub(crate) fn has_long_mixed_run(value: &[u8]) -> bool {
    alphanumeric_runs(value).any(|stretch| stretch.len() >= 16 && is_mixed(stretch))
}

/// Returns true if a value stands for another one: a template, a reference to the environment, an
/// instruction to the reader.
pub(crate) fn is_placeholder_value(value: &[u8]) -> bool {
    if value.iter().any(|byte| matches!(byte, b'<' | b'>' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'`')) {
        return true;
    }
    if value.starts_with(b"$") || value.starts_with(b"%") || value.windows(3).any(|window| window == b"...") {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    PLACEHOLDER_PREFIXES.iter().any(|word| lower.starts_with(word.as_bytes()))
        || PLACEHOLDER_WORDS
            .iter()
            .any(|word| lower.windows(word.len()).any(|window| window == word.as_bytes()))
}

/// Beginnings of values that are no secrets, in small letters. Part of the published text of a
/// pack.
pub(crate) const PLACEHOLDER_PREFIXES: &[&str] = &[
    "your",
    "my-",
    "my_",
    "xxxx",
    "***",
    "the-",
    "the_",
    "insert",
    "enter",
    "some-",
    "some_",
    "process.env",
    "os.environ",
    "env.",
];
/// Words that occur in no secret, in small letters. Part of the published text of a pack.
pub(crate) const PLACEHOLDER_WORDS: &[&str] = &["placeholder", "changeme", "redacted", "xxxxxx", "******"];

/// Returns true if a value is one of the ids that model vendors and agents exchange.
///
/// They look like keys and are none, and an answer without them could not be replayed.
pub(crate) fn is_protocol_id(value: &[u8]) -> bool {
    PROTOCOL_ID_PREFIXES.iter().any(|prefix| value.starts_with(prefix.as_bytes()))
}

/// Beginnings of protocol ids. Part of the published text of a pack.
pub(crate) const PROTOCOL_ID_PREFIXES: &[&str] = &[
    "toolu_",
    "srvtoolu_",
    "mcptoolu_",
    "call_",
    "msg_",
    "msgbatch_",
    "chatcmpl-",
    "cmpl-",
    "resp_",
    "req_",
    "run_",
    "fp_",
    "rs_",
    "fc_",
    "ws_",
    "ci_",
    "cu_",
    "mcp_",
    "asst_",
    "thread_",
    "step_",
    "file-",
    "file_",
    "file-service",
    "batch_",
    "vs_",
    "ft-",
    "ftjob-",
    "modelcont",
    "gen-",
    "org-",
    "proj_",
    "user-",
    "item_",
    "event_",
    "conv_",
    "container_",
    "cntr_",
    "skill_",
    "sess_",
    "trace_",
    "span_",
    "embd-",
    "eval_",
    "evalrun_",
    "upload_",
    "snap_",
    "tool-",
    "tool_",
    "ctc_",
    "ig_",
    "lsh_",
    "apc_",
];

/// Returns true if a value is a digest in hexadecimal (MD5 to SHA-512) or a UUID: both name things,
/// and open nothing.
pub(crate) fn is_digest_or_uuid(value: &[u8]) -> bool {
    let is_hex = |part: &[u8]| part.iter().all(|byte| HEX.contains(byte.to_ascii_lowercase()));
    match value.len() {
        32 | 40 | 56 | 64 | 96 | 128 => is_hex(value),
        36 => {
            let parts: Vec<&[u8]> = value.split(|byte| *byte == b'-').collect();
            parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(|part| is_hex(part))
        }
        _ => false,
    }
}

/// Returns true if a value is made of words and numbers as names in programs are: `db-password-2`,
/// `getToken2`, `model.v2`.
pub(crate) fn is_identifier(value: &[u8]) -> bool {
    let is_name = |byte: &u8| ALNUM.contains(*byte) || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':');
    value.iter().all(is_name)
        && alphanumeric_runs(value).all(|stretch| {
            let letters = stretch.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let digits = stretch.len() - letters;
            (letters == 0 || digits <= 4) && stretch.iter().skip(letters).all(u8::is_ascii_digit)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins() {
        for value in [
            "your-api-key",
            "<token>",
            "${TOKEN}",
            "$TOKEN",
            "{{ secrets.TOKEN }}",
            "${{ secrets.TOKEN }}",
            "%TOKEN%",
            "sk-...",
            "xxxxxxxx",
            "ABCxxxxxxxxxx12",
            "[masked:token:1]",
            "getToken()",
            "process.env.TOKEN_2",
            "ChangeMe-2024",
        ] {
            assert!(is_placeholder_value(value.as_bytes()), "{value}");
        }
        for value in ["hunter2024!", "x9Kd83LsQ0", "sk-1234"] {
            assert!(!is_placeholder_value(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn identifiers() {
        for value in ["db-password-2", "getToken2", "hunter2024", "projects/123456/secrets/x", "a.b_c:d"] {
            assert!(is_identifier(value.as_bytes()), "{value}");
        }
        for value in ["a1b2c3", "s3cret", "hunter2!", "x12345"] {
            assert!(!is_identifier(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn what_names_things() {
        assert!(is_protocol_id(b"toolu_01A09q90qw90lq917835lq9"));
        assert!(is_protocol_id(b"chatcmpl-AbC123"));
        assert!(!is_protocol_id(b"acme_live_01A09q90qw90lq917"));
        assert!(is_digest_or_uuid(b"d41d8cd98f00b204e9800998ecf8427e"));
        assert!(is_digest_or_uuid(b"F3B0C0DE-0000-4000-8000-00000000000a"));
        assert!(!is_digest_or_uuid(b"f3b0c0de-0000-4000-80000-0000000000a"));
        assert!(!is_digest_or_uuid(b"d41d8cd98f00b204e9800998ecf8427g"));
    }

    #[test]
    fn mixed_and_solid() {
        assert!(
            is_mixed(b"a1")
                && is_mixed(b"aB")
                && !is_mixed(b"ab-cd")
                && !is_mixed(b"12-34")
                && !is_mixed(b"AB_CD")
        );
        assert!(has_long_mixed_run(b"x-0123456789abcdef"));
        assert!(!has_long_mixed_run(b"loading-spinner-container-2"));
    }
}
