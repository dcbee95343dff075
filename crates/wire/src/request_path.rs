//! Paths of requests: the templates of the table, and the strict reading of a path under an envelope.
//!
//! A recorder that only observes recognises an interface by the end of its path, because proxies add prefixes of their own
//! ([`Endpoint::of`]). Under an envelope a path is exactly the upstream's base path, at most one prefix of the vendor, and the path of
//! an interface: whatever else a server may make of it is not known. Start reading at [`judge_path`].
//!
//! Clients of one vendor disagree on whether the version, such as `/v1`, is part of the base address; [`resolved_path`] has it once.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::protocol::{Endpoint, PROTOCOLS};
use crate::vendor::Vendor;

/// Path that is known, by the kind of answer that it may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownPath {
    /// Path of an interface whose requests call a model.
    Model(Endpoint),
    /// Path that calls no model and changes nothing, such as a list of models.
    ReadOnly,
}

/// Reason why a path is refused under an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathFault {
    /// Path or query with a sign that servers and proxies read in different ways.
    Odd,
    /// Path that does not begin with the upstream's base path.
    OutsideBase,
    /// Path of no interface.
    Unknown,
    /// Query with a member that is not known. The text is its form, such as `$?fields`.
    Query(String),
}

/// Longest name of a query member that is printed.
const MAX_QUERY_NAME: usize = 64;

/// Judges the path of a request, with its query, below the upstream's base path (empty, or with a leading slash and no trailing one).
/// `allowed` are the forms that the envelope allows though they are not known.
///
/// ```
/// use std::collections::BTreeSet;
/// use reenact_wire::request_path::{KnownPath, PathFault, judge_path};
/// use reenact_wire::{Endpoint, Vendor};
///
/// let judge = |path| judge_path(Vendor::OPENAI, "/v1", "POST", path, &BTreeSet::new());
/// assert_eq!(judge("/v1/chat/completions"), Ok(KnownPath::Model(Endpoint::CHAT_COMPLETIONS)));
/// assert_eq!(judge("/v1/chat/completions%3f/embeddings"), Err(PathFault::Odd));
/// assert_eq!(judge("/admin/keys"), Err(PathFault::OutsideBase));
/// ```
///
/// # Errors
/// See [`PathFault`].
pub fn judge_path(
    vendor: Vendor,
    base: &str,
    method: &str,
    path: &str,
    allowed: &BTreeSet<String>,
) -> Result<KnownPath, PathFault> {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    if !is_plain(path) || query.is_some_and(|query| query.contains([';', '#'])) {
        return Err(PathFault::Odd);
    }
    let below = path.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let rest = below.ok_or(PathFault::OutsideBase)?;
    let known = find(vendor, method, rest).ok_or(PathFault::Unknown)?;
    check_query(vendor, query.unwrap_or_default(), allowed)?;
    Ok(known)
}

/// Returns a path, with its query, in which the vendor's version stands once below the upstream's base path: it is added if it is
/// missing, and a repetition is taken out. Only paths of known interfaces are changed.
///
/// ```
/// use reenact_wire::Vendor;
/// use reenact_wire::request_path::resolved_path;
///
/// assert_eq!(resolved_path(Vendor::ANTHROPIC, "", "/messages"), "/v1/messages");
/// assert_eq!(resolved_path(Vendor::ANTHROPIC, "", "/v1/messages"), "/v1/messages");
/// assert_eq!(resolved_path(Vendor::ANTHROPIC, "/v1", "/v1/v1/messages"), "/v1/messages");
/// ```
pub fn resolved_path<'p>(vendor: Vendor, base: &str, path: &'p str) -> Cow<'p, str> {
    let version = vendor.0.version;
    let root = match base.strip_suffix(version) {
        Some(root) => root,
        None if vendor.base_path().is_empty() => base,
        // A base address that lacks the version on purpose: the server has none.
        None => return path.into(),
    };
    let Some(below) = path.strip_prefix(root).filter(|_| !version.is_empty()) else { return path.into() };
    let (mut rest, mut versions) = (below, 0);
    while let Some(behind) = rest.strip_prefix(version).filter(|behind| behind.starts_with('/')) {
        (rest, versions) = (behind, versions + 1);
    }
    if versions == 1 || !begins_like_an_interface(vendor, rest) {
        return path.into();
    }
    format!("{root}{version}{rest}").into()
}

/// Returns true if the first segment of a path is that of an interface which the vendor speaks.
fn begins_like_an_interface(vendor: Vendor, path: &str) -> bool {
    let first = |path: &str| path.split(['/', '?']).next().map(str::to_owned);
    let spoken =
        PROTOCOLS.into_iter().filter(|endpoint| endpoint.vendor().is_none_or(|of| vendor.speaks(of)));
    let mut templates = spoken.flat_map(|endpoint| endpoint.paths().1);
    let wanted = path.strip_prefix('/').and_then(first);
    wanted.is_some_and(|wanted| templates.any(|template| first(template).as_ref() == Some(&wanted)))
}

/// Returns true if every server reads a path as it stands: no percent signs, semicolons, empty segments, dots that lead up, backslashes
/// or control characters.
fn is_plain(path: &str) -> bool {
    let is_odd = |byte: u8| matches!(byte, b'%' | b';' | b'\\' | b'#') || !byte.is_ascii_graphic();
    !path.bytes().any(is_odd) && !path.contains("//") && !path.contains("..") && !path.contains("/./")
}

/// Finds the path behind the base path in the table.
fn find(vendor: Vendor, method: &str, rest: &str) -> Option<KnownPath> {
    let is = |template: &str| {
        let mut prefixes = [""].iter().chain(vendor.0.path_prefixes);
        prefixes.any(|prefix| strip_template(rest, prefix).is_some_and(|own| fits(own, template)))
    };
    for endpoint in
        PROTOCOLS.into_iter().filter(|endpoint| endpoint.vendor().is_none_or(|of| vendor.speaks(of)))
    {
        let (due, templates) = endpoint.paths();
        if !templates.iter().any(|template| is(template)) {
            continue;
        }
        match endpoint.calls_a_model() {
            true if method == due => return Some(KnownPath::Model(endpoint)),
            false if method == due || matches!(method, "HEAD" | "OPTIONS") => {
                return Some(KnownPath::ReadOnly);
            }
            _ => {}
        }
    }
    // Clients open their connection with a request for the root.
    if method == "HEAD" && matches!(rest, "" | "/") {
        return Some(KnownPath::ReadOnly);
    }
    None
}

/// Checks that each member of a query is known, and comes once.
fn check_query(vendor: Vendor, query: &str, allowed: &BTreeSet<String>) -> Result<(), PathFault> {
    let mut seen = BTreeSet::new();
    for pair in query.split('&').filter(|_| !query.is_empty()) {
        let name = pair.split('=').next().unwrap_or_default();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$');
        if name.is_empty() || name.len() > MAX_QUERY_NAME || !name.bytes().all(is_word) || !seen.insert(name)
        {
            return Err(PathFault::Odd);
        }
        let form = format!("$?{name}");
        if !vendor.0.query_names.contains(&name) && !allowed.contains(&form) {
            return Err(PathFault::Query(form));
        }
    }
    Ok(())
}

/// Returns true if a path, with its leading slash, is that of a template.
fn fits(path: &str, template: &str) -> bool {
    path.strip_prefix('/').is_some_and(|path| {
        path.split('/').count() == template.split('/').count() && ends_with_template(path, template)
    })
}

/// Returns true if the last segments of a path are those of a template. A segment `*` of a template stands for any that is not empty
/// and has no colon, `*:x` for any that ends in `:x`.
pub(crate) fn ends_with_template(path: &str, template: &str) -> bool {
    let mut segments = path.rsplit('/');
    template.rsplit('/').all(|wanted| segments.next().is_some_and(|segment| fits_segment(segment, wanted)))
}

fn fits_segment(segment: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some("") => !segment.is_empty() && !segment.contains(':'),
        Some(verb) => segment.strip_suffix(verb).is_some_and(|model| !model.is_empty()),
        None => segment == wanted,
    }
}

/// Returns the rest of a path behind the segments of a prefix, with its leading slash.
fn strip_template<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let mut rest = path;
    for wanted in prefix.split('/').skip(1) {
        let own = rest.strip_prefix('/')?;
        let (segment, behind) = own.split_at(own.find('/')?);
        if !fits_segment(segment, wanted) {
            return None;
        }
        rest = behind;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(vendor: Vendor, base: &str, method: &str, path: &str) -> Result<KnownPath, PathFault> {
        judge_path(vendor, base, method, path, &BTreeSet::new())
    }

    #[test]
    fn paths_of_the_table_below_their_base() {
        let chat = KnownPath::Model(Endpoint::CHAT_COMPLETIONS);
        let content = KnownPath::Model(Endpoint::GENERATE_CONTENT);
        for (vendor, base, path, known) in [
            (Vendor::OPENAI, "/v1", "/v1/chat/completions", chat),
            (Vendor::OPENAI, "", "/chat/completions", chat),
            (Vendor::OPENAI, "", "/v1/chat/completions?", chat),
            (Vendor::OPENAI, "/api/v1", "/api/v1/responses", KnownPath::Model(Endpoint::RESPONSES)),
            (Vendor::OPENAI, "", "/openai/deployments/gpt-4o/chat/completions?api-version=2025-01-01", chat),
            (Vendor::OPENAI, "/openai", "/openai/deployments/gpt-4o/chat/completions", chat),
            (Vendor::OPENAI, "/v1", "/v1/embeddings", KnownPath::Model(Endpoint::EMBEDDINGS)),
            (Vendor::ANTHROPIC, "", "/v1/messages?beta=true", KnownPath::Model(Endpoint::MESSAGES)),
            (
                Vendor::ANTHROPIC,
                "",
                "/v1/messages/count_tokens?beta=true",
                KnownPath::Model(Endpoint::MESSAGE_TOKENS),
            ),
            (Vendor::GEMINI, "", "/v1beta/models/g:generateContent?alt=sse&key=x%2Fy", content),
            (Vendor::GEMINI, "/v1beta", "/v1beta/tunedModels/g:streamGenerateContent", content),
            (Vendor::GEMINI, "", "/v1beta/models/g:countTokens", KnownPath::Model(Endpoint::CONTENT_TOKENS)),
        ] {
            assert_eq!(judge(vendor, base, "POST", path), Ok(known), "{path}");
        }
        for (method, path) in [
            ("GET", "/v1/models"),
            ("GET", "/v1/models/gpt-5?limit=1"),
            ("HEAD", "/v1"),
            ("HEAD", "/v1/models"),
        ] {
            assert_eq!(judge(Vendor::OPENAI, "/v1", method, path), Ok(KnownPath::ReadOnly), "{path}");
        }
    }

    #[test]
    fn paths_that_lead_elsewhere() {
        for path in [
            "/v1/chat/completions%3f/embeddings",
            "/v1/chat/completions/..;/embeddings",
            "/v1/../admin/keys",
            "/v1/./chat/completions",
            "/v1//chat/completions",
            "/v1/chat/completions;x",
            "/v1/chat\\completions",
            "/v1/chat/completions\u{b}",
            "/v1/%65mbeddings",
            "/../../x",
        ] {
            assert_eq!(judge(Vendor::OPENAI, "/v1", "POST", path), Err(PathFault::Odd), "{path}");
        }
        for path in [
            "/chat/completions",
            "/v10/chat/completions",
            "/admin/keys",
            "/",
            "/openai/deployments/g/chat/completions",
        ] {
            assert_eq!(judge(Vendor::OPENAI, "/v1", "POST", path), Err(PathFault::OutsideBase), "{path}");
        }
        for (vendor, method, path) in [
            (Vendor::OPENAI, "POST", "/other-tenant/chat/completions"),
            (Vendor::OPENAI, "POST", "/chat/completions/"),
            (Vendor::OPENAI, "POST", "/x/embeddings"),
            (Vendor::OPENAI, "POST", "/xembeddings"),
            (Vendor::OPENAI, "POST", "/chat/completions/embeddings"),
            (Vendor::OPENAI, "POST", "/chat/completions/chat/completions"),
            (Vendor::OPENAI, "POST", "/openai/deployments/a/b/chat/completions"),
            (Vendor::OPENAI, "GET", "/chat/completions/c1"),
            (Vendor::OPENAI, "GET", "/responses/resp_1"),
            (Vendor::OPENAI, "GET", "/files/f/content"),
            (Vendor::OPENAI, "DELETE", "/models/gpt-5"),
            (Vendor::OPENAI, "POST", "/v1beta/models/g:countTokens"),
            (Vendor::ANTHROPIC, "POST", "/v1/messages/batches"),
            (Vendor::ANTHROPIC, "POST", "/v1/x/messages"),
            (Vendor::GEMINI, "POST", "/v1beta/projects/p/models/g:generateContent"),
            (Vendor::GEMINI, "POST", "/v1beta/models/:generateContent"),
            (Vendor::GEMINI, "POST", "/v1beta/models/g:batchGenerateContent"),
            (Vendor::GEMINI, "GET", "/v1beta/models/g:generateContent"),
        ] {
            assert_eq!(judge(vendor, "", method, path), Err(PathFault::Unknown), "{path}");
        }
    }

    #[test]
    fn a_version_stands_once() {
        for (vendor, base, path, resolved) in [
            (
                Vendor::ANTHROPIC,
                "",
                "/messages/count_tokens?beta=true",
                "/v1/messages/count_tokens?beta=true",
            ),
            (Vendor::ANTHROPIC, "", "/models?limit=1", "/v1/models?limit=1"),
            (Vendor::ANTHROPIC, "", "/messages/batches", "/v1/messages/batches"),
            (Vendor::ANTHROPIC, "", "/v1/v1/messages", "/v1/messages"),
            (Vendor::ANTHROPIC, "/v1", "/v1/messages", "/v1/messages"),
            (Vendor::ANTHROPIC, "/v1", "/v1/v1/messages", "/v1/messages"),
            (Vendor::ANTHROPIC, "/api", "/api/messages", "/api/v1/messages"),
            (Vendor::OPENAI, "/v1", "/chat/completions", "/v1/chat/completions"),
            (Vendor::OPENAI, "/v1", "/v1/v1/v1/models", "/v1/models"),
            (Vendor::OPENAI, "/x/v1", "/x/responses", "/x/v1/responses"),
            (Vendor::GEMINI, "", "/models/g:generateContent", "/v1beta/models/g:generateContent"),
            (Vendor::GEMINI, "", "/v1beta/v1beta/models", "/v1beta/models"),
            (Vendor::GROQ, "/openai/v1", "/chat/completions", "/openai/v1/chat/completions"),
            (Vendor::OPENROUTER, "/api/v1", "/api/v1/api/v1/messages", "/api/v1/messages"),
        ] {
            assert_eq!(resolved_path(vendor, base, path), resolved, "{base} {path}");
        }
        for (vendor, base, path) in [
            (Vendor::ANTHROPIC, "", "/"),
            (Vendor::ANTHROPIC, "", "/v1"),
            (Vendor::ANTHROPIC, "", "/api/event_logging/batch"),
            (Vendor::ANTHROPIC, "", "/messagesx"),
            (Vendor::ANTHROPIC, "", "//messages"),
            (Vendor::ANTHROPIC, "", "/%6dessages"),
            // A server without a version, as its address says, and paths outside of the base path.
            (Vendor::OPENAI, "", "/chat/completions"),
            (Vendor::OPENAI, "/proxy", "/proxy/chat/completions"),
            (Vendor::OPENAI, "/x/v1", "/chat/completions"),
            (Vendor::GEMINI, "", "/v1/models/g:generateContent"),
            (Vendor::AZURE, "", "/openai/deployments/d/chat/completions"),
            (Vendor::OLLAMA, "", "/api/chat"),
        ] {
            assert_eq!(resolved_path(vendor, base, path), path, "{base} {path}");
        }
    }

    #[test]
    fn queries() {
        let path = |query: &str| format!("/v1beta/models/g:generateContent?{query}");
        for query in ["alt=sse;fields=x", "alt=sse&alt=json", "&", "=x", "%66ields=x", "a#b=1"] {
            assert_eq!(judge(Vendor::GEMINI, "", "POST", &path(query)), Err(PathFault::Odd), "{query}");
        }
        let fields = path("alt=sse&fields=candidates");
        assert_eq!(judge(Vendor::GEMINI, "", "POST", &fields), Err(PathFault::Query("$?fields".to_owned())));
        let allowed = BTreeSet::from(["$?fields".to_owned()]);
        assert!(judge_path(Vendor::GEMINI, "", "POST", &fields, &allowed).is_ok());
    }
}
