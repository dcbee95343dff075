//! Names that announce a secret: `api_key`, `clientSecret`, `DB_PASSWORD`.

use crate::class::{Class, DOTTED};
use core::ops::Range;

/// What a name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Password,
    Secret,
    Token,
    Key,
    AwsSecretKey,
    Authorization,
}

/// The words that such a name ends with, and that are looked for.
pub(crate) const WORDS: [&str; 8] =
    ["password", "passwd", "passphrase", "pwd", "secret", "token", "key", "authorization"];
/// What stands before `key` when it is a secret one. Caches, tables and keyboards have keys, too.
pub(crate) const KEYS: [&str; 58] = [
    "api",
    "access",
    "secret",
    "private",
    "encryption",
    "decryption",
    "signing",
    "auth",
    "account",
    "master",
    "service",
    "subscription",
    "client",
    "app",
    "application",
    "shared",
    "sas",
    "admin",
    "deploy",
    "webhook",
    "license",
    "storage",
    "function",
    "functions",
    "security",
    "consumer",
    "integration",
    "hmac",
    "jwt",
    "session",
    "bot",
    "server",
    "developer",
    "openai",
    "anthropic",
    "claude",
    "gemini",
    "google",
    "azure",
    "aws",
    "mistral",
    "cohere",
    "groq",
    "deepseek",
    "together",
    "fireworks",
    "perplexity",
    "replicate",
    "voyage",
    "jina",
    "tavily",
    "serper",
    "serpapi",
    "exa",
    "pinecone",
    "stripe",
    "datadog",
    "wandb",
];
/// What stands before `token` when it is a piece of text or a place in a list.
pub(crate) const TOKENS_OF_TEXT: [&str; 33] = [
    "next",
    "page",
    "continuation",
    "continue",
    "sync",
    "cursor",
    "stop",
    "bos",
    "eos",
    "pad",
    "unk",
    "mask",
    "sep",
    "cls",
    "special",
    "first",
    "last",
    "prev",
    "previous",
    "max",
    "min",
    "end",
    "start",
    "begin",
    "current",
    "lookahead",
    "image",
    "text",
    "input",
    "output",
    "per",
    "unknown",
    "invalid",
];
/// What may follow the word.
pub(crate) const TAILS: [&str; 13] = [
    "",
    "value",
    "prod",
    "production",
    "dev",
    "test",
    "staging",
    "live",
    "raw",
    "b64",
    "base64",
    "hex",
    "string",
];

/// No name is longer.
const LONGEST: usize = 80;
static NAME: &Class = &DOTTED;

/// A name in a text, and what it announces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) span: Range<usize>,
    /// None for a `key` or a `token` that may be of any kind.
    pub(crate) kind: Option<Kind>,
}

/// The name around a word that was found; none if the word is not what the name is about.
pub(crate) fn around(bytes: &[u8], word: Range<usize>) -> Option<Name> {
    let ahead = NAME.run(bytes, word.end, LONGEST);
    let behind = NAME.run_back(bytes, word.start, LONGEST);
    if ahead + behind >= LONGEST {
        return None;
    }
    // A name may end a sentence.
    let tail = bytes.get(word.end..word.end + ahead)?;
    let tail = tail.strip_suffix(b".").unwrap_or(tail);
    let start = unescaped(bytes, word.start - behind).min(word.start);
    let span = start..word.end + tail.len();
    let head = fused(bytes.get(start..word.end)?);
    let tail = fused(tail);
    let is_number = !tail.is_empty() && tail.len() <= 2 && tail.iter().all(u8::is_ascii_digit);
    if !is_number && !TAILS.iter().any(|known| known.as_bytes() == tail) {
        return None;
    }
    Some(Name { span, kind: kind(&head) })
}

/// What a name, in small letters and without separators, announces.
fn kind(name: &[u8]) -> Option<Kind> {
    let before = |word: &str| name.strip_suffix(word.as_bytes());
    let ends = |rest: &[u8], words: &[&str]| words.iter().any(|word| rest.ends_with(word.as_bytes()));
    if ["password", "passwd", "passphrase", "pwd"].iter().any(|word| before(word).is_some()) {
        Some(Kind::Password)
    } else if before("secretaccesskey").is_some() || before("awssecretkey").is_some() {
        Some(Kind::AwsSecretKey)
    } else if before("secret").is_some() {
        Some(Kind::Secret)
    } else if before("authorization").is_some() {
        Some(Kind::Authorization)
    } else if let Some(rest) = before("token") {
        (!ends(rest, &TOKENS_OF_TEXT)).then_some(Kind::Token)
    } else {
        ends(before("key")?, &KEYS).then_some(Kind::Key)
    }
}

/// Whether a parameter of a URL is secret by its name alone.
pub(crate) fn is_secret_parameter(name: &[u8]) -> bool {
    let name = fused(name);
    PARAMETERS.iter().any(|known| known.as_bytes() == name)
        || matches!(kind(&name), Some(kind) if kind != Kind::Authorization)
}

/// Parameters whose values are secret, beside those that are named like one.
pub(crate) const PARAMETERS: [&str; 9] =
    ["key", "sig", "signature", "auth", "jwt", "pass", "xamzsignature", "xamzcredential", "xgoogsignature"];

/// In small letters, without separators.
fn fused(name: &[u8]) -> Vec<u8> {
    name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
}

/// Where a name really begins whose first letters belong to an escape: `\napi_key`, `%22api_key`,
/// `\u0022api_key`.
fn unescaped(bytes: &[u8], start: usize) -> usize {
    let is_hex = |from: usize, to: usize| {
        bytes.get(from..to).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    match (before, bytes.get(start)) {
        (Some(b'\\'), Some(b'u')) if is_hex(start + 1, start + 5) => start + 5,
        (Some(b'\\'), Some(b'n' | b'r' | b't' | b'b' | b'f')) => start + 1,
        (Some(b'%'), Some(_)) if is_hex(start, start + 2) => start + 2,
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str, word: &str) -> Option<Option<Kind>> {
        let at = text.rfind(word).unwrap();
        around(text.as_bytes(), at..at + word.len()).map(|name| name.kind)
    }

    #[test]
    fn names_that_announce() {
        for (text, word, kind) in [
            ("DB_PASSWORD", "PASSWORD", Kind::Password),
            ("clientSecret", "Secret", Kind::Secret),
            ("access_token", "token", Kind::Token),
            ("x-api-key", "key", Kind::Key),
            ("ANTHROPIC_API_KEY", "KEY", Kind::Key),
            ("openaiKey", "Key", Kind::Key),
            ("aws_secret_access_key", "key", Kind::AwsSecretKey),
            ("Authorization", "Authorization", Kind::Authorization),
            ("\\napi_key", "key", Kind::Key),
            ("%22api_key", "key", Kind::Key),
            ("API_KEY_2", "KEY", Kind::Key),
            ("API_KEY_PROD", "KEY", Kind::Key),
        ] {
            assert_eq!(kind_of(text, word), Some(Some(kind)), "{text}");
        }
    }

    #[test]
    fn names_that_do_not() {
        for (text, word) in [
            ("max_tokens", "token"),
            ("keyboard", "key"),
            ("secretary", "secret"),
            ("token_count", "token"),
            ("key_id", "key"),
        ] {
            assert_eq!(kind_of(text, word), None, "{text}");
        }
        for (text, word) in [
            ("key", "key"),
            ("primary_key", "key"),
            ("next_page_token", "token"),
            ("monkey", "key"),
            ("prompt_cache_key", "key"),
        ] {
            assert_eq!(kind_of(text, word), Some(None), "{text}");
        }
    }
}
