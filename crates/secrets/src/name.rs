//! Names that announce a secret: `api_key`, `clientSecret`, `DB_PASSWORD`.

use crate::byte_class::{ByteClass, DOTTED};
use core::ops::Range;

/// Kind of secret that a name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretKind {
    Password,
    Secret,
    Token,
    Key,
    AwsSecretKey,
    Authorization,
    /// Value of an option such as `--auth`: a token, or `user:password`.
    Credential,
}

/// Endings of such names; the automaton looks for these words.
pub(crate) const NAME_ENDINGS: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "pass",
    "secret",
    "token",
    "_pat",
    "-pat",
    "key",
    "key_base",
    "credential",
    "credentials",
    "authorization",
    "--auth",
    "--bearer",
    "--jwt",
    "--sas",
];
/// Options of commands with a credential of any kind, without their dashes.
pub(crate) const CREDENTIAL_OPTIONS: [&str; 7] =
    ["auth", "bearer", "credential", "credentials", "jwt", "pat", "sas"];
/// Words that end in `pass` and speak of no password.
pub(crate) const HARMLESS_PASSES: [&str; 8] =
    ["bypass", "compass", "surpass", "trespass", "overpass", "underpass", "askpass", "testpass"];
/// Words before `key` that make the key a secret one. Caches, tables and keyboards have keys, too.
pub(crate) const KEY_QUALIFIERS: [&str; 58] = [
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
/// Words before `token` when the token is a piece of text or a position in a list.
pub(crate) const HARMLESS_TOKEN_QUALIFIERS: [&str; 33] = [
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
/// Suffixes that may follow the word, such as `prod` in `API_KEY_PROD`.
pub(crate) const NAME_SUFFIXES: [&str; 13] = [
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

/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 80;
/// Bytes that a name consists of.
static NAME_BYTES: &ByteClass = &DOTTED;

/// Name in a text, with the kind of secret that it announces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SecretName {
    /// Byte span of the whole name.
    pub(crate) span: Range<usize>,
    /// Kind of secret; `None` for a `key` or a `token` without a qualifier, which may be of any
    /// kind.
    pub(crate) kind: Option<SecretKind>,
}

/// Returns the name around the word at `word`. `None` if the word is not what the name is about, as
/// in `token_count`.
pub(crate) fn name_around(bytes: &[u8], word: Range<usize>) -> Option<SecretName> {
    let ahead = NAME_BYTES.run_length(bytes, word.end, MAX_NAME_BYTES);
    let behind = NAME_BYTES.run_length_before(bytes, word.start, MAX_NAME_BYTES);
    if ahead + behind >= MAX_NAME_BYTES {
        return None;
    }
    // A name may end a sentence: its dot does not belong to it.
    let tail = bytes.get(word.end..word.end + ahead)?;
    let tail = tail.strip_suffix(b".").unwrap_or(tail);
    let start = skip_leading_escape(bytes, word.start - behind).min(word.start);
    let span = start..word.end + tail.len();
    let head = normalized(bytes.get(start..word.end)?);
    let tail = normalized(tail);
    let is_number = !tail.is_empty() && tail.len() <= 2 && tail.iter().all(u8::is_ascii_digit);
    if !is_number && !NAME_SUFFIXES.iter().any(|known| known.as_bytes() == tail) {
        return None;
    }
    let is_option = bytes.get(span.clone())?.starts_with(b"--");
    let is_credential = is_option && CREDENTIAL_OPTIONS.iter().any(|name| name.as_bytes() == head);
    let kind = if is_credential { Some(SecretKind::Credential) } else { kind_of_name(&head) };
    Some(SecretName { span, kind })
}

/// Returns the kind of secret that a [`normalized`] name announces.
fn kind_of_name(name: &[u8]) -> Option<SecretKind> {
    let before = |word: &str| name.strip_suffix(word.as_bytes());
    let ends = |rest: &[u8], words: &[&str]| words.iter().any(|word| rest.ends_with(word.as_bytes()));
    if ["password", "passwd", "passphrase", "pwd"].iter().any(|word| before(word).is_some()) {
        Some(SecretKind::Password)
    } else if before("pass").is_some() {
        (!ends(name, &HARMLESS_PASSES)).then_some(SecretKind::Password)
    } else if before("pat").is_some() {
        Some(SecretKind::Token)
    } else if before("credential").is_some() || before("credentials").is_some() {
        // In a signed link it names the key and no secret.
        (!ends(name, &["amzcredential", "googcredential"])).then_some(SecretKind::Secret)
    } else if before("secretkeybase").is_some() {
        Some(SecretKind::Key)
    } else if before("secretaccesskey").is_some() || before("awssecretkey").is_some() {
        Some(SecretKind::AwsSecretKey)
    } else if before("secret").is_some() {
        Some(SecretKind::Secret)
    } else if before("authorization").is_some() {
        Some(SecretKind::Authorization)
    } else if let Some(rest) = before("token") {
        (!ends(rest, &HARMLESS_TOKEN_QUALIFIERS)).then_some(SecretKind::Token)
    } else {
        ends(before("key")?, &KEY_QUALIFIERS).then_some(SecretKind::Key)
    }
}

/// Returns true if a parameter of a URL is secret by its name alone.
pub(crate) fn is_secret_parameter(name: &[u8]) -> bool {
    let name = normalized(name);
    SECRET_PARAMETERS.iter().any(|known| known.as_bytes() == name)
        || matches!(kind_of_name(&name), Some(kind) if kind != SecretKind::Authorization)
}

/// Parameters with secret values, beside those that are named like a secret.
pub(crate) const SECRET_PARAMETERS: [&str; 11] = [
    "key",
    "sig",
    "signature",
    "auth",
    "jwt",
    "code",
    "session",
    "pass",
    "xamzsignature",
    "xamzcredential",
    "xgoogsignature",
];
/// Parameters of [`SECRET_PARAMETERS`] whose value may also be a word: `?code=python`.
pub(crate) const WORD_PARAMETERS: [&str; 2] = ["code", "session"];

/// Returns true if the value of a parameter may be a word, which must not be masked wherever it appears.
pub(crate) fn may_be_word(name: &[u8]) -> bool {
    let name = normalized(name);
    WORD_PARAMETERS.iter().any(|known| known.as_bytes() == name)
}

/// Returns a name in small letters, without separators.
fn normalized(name: &[u8]) -> Vec<u8> {
    name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
}

/// Returns the offset at which a name begins whose first letters belong to an escape: `\napi_key`,
/// `%22api_key`, `\u0022api_key`.
fn skip_leading_escape(bytes: &[u8], start: usize) -> usize {
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

    fn kind_of(text: &str, word: &str) -> Option<Option<SecretKind>> {
        let at = text.rfind(word).unwrap();
        name_around(text.as_bytes(), at..at + word.len()).map(|name| name.kind)
    }

    #[test]
    fn names_that_announce() {
        for (text, word, kind) in [
            ("DB_PASSWORD", "PASSWORD", SecretKind::Password),
            ("clientSecret", "Secret", SecretKind::Secret),
            ("access_token", "token", SecretKind::Token),
            ("x-api-key", "key", SecretKind::Key),
            ("ANTHROPIC_API_KEY", "KEY", SecretKind::Key),
            ("openaiKey", "Key", SecretKind::Key),
            ("aws_secret_access_key", "key", SecretKind::AwsSecretKey),
            ("Authorization", "Authorization", SecretKind::Authorization),
            ("\\napi_key", "key", SecretKind::Key),
            ("%22api_key", "key", SecretKind::Key),
            ("API_KEY_2", "KEY", SecretKind::Key),
            ("API_KEY_PROD", "KEY", SecretKind::Key),
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
