//! The start of a run: its parameters, its envelope, the first line of its journal and its first event.
//!
//! The first line, `JournalHead`, holds all that a seal needs beside the events, so that the journal file alone is
//! enough to seal a run whose recorder was killed. Start reading at [`RunStart`].

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::rer::envelope::permission::Envelope;
use reenact_formats::rer::payload::CaptureMode;
use reenact_formats::rer::seal::{Signer, sign_envelope};
use reenact_json::canonical::{self, ObjectPart};
use reenact_json::{Digest, Jcs, Limits, Value};

use crate::error::RecordError;
use crate::journal::VERSION;
use crate::mask::Masks;
use crate::payload::quote;
use crate::policy_engine::PolicyMode;
use crate::redaction::Redaction;
use crate::run_id::RunId;
use crate::surroundings::{AgentSetting, RecordedAgent, RecordedParent, RepositoryState, RunPlaces};

/// Parameters of a run. They hold secrets, so there is no `Debug`.
#[derive(Clone)]
pub struct RunStart<'a> {
    /// Id of the run; no other run may have it.
    pub run_id: RunId,
    /// Command that runs, and its arguments. Secrets in them are masked.
    pub command: &'a [OsString],
    /// Environment of the command. It is not recorded: the values of variables whose names end in KEY, TOKEN, SECRET or
    /// PASSWORD, and of those in [`Redaction::known_env`], are masked wherever they appear.
    pub environment: &'a [(OsString, OsString)],
    /// Routes: each name, such as `openai`, with its base URL. Recorded in the envelope.
    pub upstreams: &'a [(&'a str, &'a str)],
    /// Envelope as JSON, without a signature; `None` to record without restrictions.
    pub envelope: Option<&'a [u8]>,
    /// Treatment of actions that the envelope denies.
    pub policy_mode: PolicyMode,
    /// Place of the artifact; `None` for the default, beside the journal.
    pub target: Option<ArtifactTarget>,
    /// Masks that the project adds, and payloads that it withholds.
    pub redaction: Redaction,
    /// Folders that the command finds.
    pub places: RunPlaces<'a>,
    /// Agent that the command is known to be.
    pub agent: Option<RecordedAgent<'a>>,
    /// Settings that were given to the agent so that its calls are captured.
    pub settings: &'a [AgentSetting<'a>],
    /// Way in which the calls are captured.
    pub capture: CaptureMode,
    /// Repository that the working folder is in.
    pub repository: Option<RepositoryState<'a>>,
    /// Run that this one goes on from.
    pub parent: Option<RecordedParent<'a>>,
}

impl RunStart<'_> {
    /// Returns the parameters of a run with this id, no command, no routes, no envelope, and the default masks.
    pub fn new(run_id: RunId) -> Self {
        Self {
            run_id,
            command: &[],
            environment: &[],
            upstreams: &[],
            envelope: None,
            policy_mode: PolicyMode::Enforce,
            target: None,
            redaction: Redaction::default(),
            places: RunPlaces::default(),
            agent: None,
            settings: &[],
            capture: CaptureMode::Cooperative,
            repository: None,
            parent: None,
        }
    }
}

/// File for a sealed artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactTarget {
    /// Path of the file.
    pub path: PathBuf,
    /// True if an existing file of that name is replaced; otherwise it is an error.
    pub replace: bool,
}

/// Envelope that is known to be sealable: canonical, of the published shape, without a signature yet.
pub(crate) struct SealableEnvelope {
    pub(crate) text: Vec<u8>,
    pub(crate) hash: Digest,
    pub(crate) permissions: Envelope,
}

/// Returns the envelope of a run: the given one, or one that restricts nothing and says so.
pub(crate) fn run_envelope(
    start: &RunStart<'_>,
    masks: &Masks,
    signer: &dyn Signer,
) -> Result<SealableEnvelope, RecordError> {
    let text = match start.envelope {
        Some(given) => {
            // Masking would invalidate an authorisation that was signed over these bytes, so a secret is an error here.
            if let Some(finding) = masks.pack().scan(given).into_iter().next() {
                return Err(RecordError::SecretInEnvelope { rule: finding.rule });
            }
            with_upstreams(given, start.upstreams, start.policy_mode, masks)?
        }
        None => observing_envelope(start.upstreams, masks)?,
    };
    sealable_envelope(text, signer)
}

/// Checks that an unsigned envelope can be signed and sealed, and reads its permissions.
pub(crate) fn sealable_envelope(text: Vec<u8>, signer: &dyn Signer) -> Result<SealableEnvelope, RecordError> {
    let (signed, hash) = sign_envelope(&text, signer)?;
    let document =
        Value::parse(&signed, &Limits::default()).map_err(|error| RecordError::Seal(error.into()))?;
    let permissions = Envelope::read(document).map_err(RecordError::Envelope)?;
    Ok(SealableEnvelope { text, hash, permissions })
}

/// Adds the routes to a given envelope. One with an authorisation stays as it is, byte for byte: it states what was
/// signed.
fn with_upstreams(
    given: &[u8],
    upstreams: &[(&str, &str)],
    mode: PolicyMode,
    masks: &Masks,
) -> Result<Vec<u8>, RecordError> {
    let sealed = |error: reenact_json::SyntaxError| RecordError::Seal(error.into());
    let envelope = Value::parse(given, &Limits::default()).map_err(sealed)?;
    let metadata = envelope.member("metadata");
    let has = |name: &str| metadata.and_then(|metadata| metadata.member(name)).is_some();
    if upstreams.is_empty() || has("authorization") || has("reenact") {
        return Ok(given.to_vec());
    }
    let mut reenact = br#""reenact":{"enforcement":"#.to_vec();
    quote(mode.name(), &mut reenact);
    reenact.extend_from_slice(br#","upstreams":"#);
    write_upstreams(upstreams, masks, &mut reenact)?;
    reenact.push(b'}');
    let object = |value: Option<Value<'_>>, without: &str, last: &[u8]| {
        let mut text = b"{".to_vec();
        for (name, value) in value.into_iter().flat_map(|value| value.members()) {
            if !name.is_string(without) {
                text.extend_from_slice(&[name.text(), b":", value.text(), b","].concat());
            }
        }
        [&text, last, b"}"].concat()
    };
    let metadata = [b"\"metadata\":", object(metadata, "", &reenact).as_slice()].concat();
    Ok(object(Some(envelope), "metadata", &metadata))
}

fn write_upstreams(upstreams: &[(&str, &str)], masks: &Masks, text: &mut Vec<u8>) -> Result<(), RecordError> {
    text.push(b'{');
    for (at, (name, url)) in upstreams.iter().enumerate() {
        if !is_plain_url(url) {
            return Err(RecordError::Upstream { name: (*name).to_owned() });
        }
        if at > 0 {
            text.push(b',');
        }
        quote(masks.text(name).as_str(), text);
        text.push(b':');
        quote(masks.path(url).as_str(), text);
    }
    text.push(b'}');
    Ok(())
}

/// Returns the envelope of a run without restrictions (§5.1). It has no expiry, since it permits nothing that could
/// end.
fn observing_envelope(upstreams: &[(&str, &str)], masks: &Masks) -> Result<Vec<u8>, RecordError> {
    let mut text = Vec::new();
    text.extend_from_slice(b"{\"envelope_version\":");
    quote(VERSION.envelope(), &mut text);
    text.extend_from_slice(br#","limits":{},"metadata":{"reenact":{"enforcement":"observe","upstreams":"#);
    write_upstreams(upstreams, masks, &mut text)?;
    text.extend_from_slice(br#"}},"permissions":{"allowed_models":["*"],"allowed_tools":["*"]}}"#);
    Ok(text)
}

/// Returns true if a URL has no part that may hold a secret: no user, no password, no query, no fragment.
fn is_plain_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#', '\\']))
}

/// Version of the journal format, in the first line of a journal.
const JOURNAL_VERSION: &str = "reenact-journal/1";

/// First line of a journal: everything that the seal needs beside the events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JournalHead {
    pub(crate) run_id: RunId,
    /// Id of the key that the run began under.
    pub(crate) key_id: String,
    /// Envelope without its signature, in canonical form.
    pub(crate) envelope: Vec<u8>,
    /// Place of the artifact; `None` for the default, and for a path that cannot be written into the journal.
    pub(crate) target: Option<ArtifactTarget>,
    /// Treatment of actions that the envelope denies.
    pub(crate) policy_mode: PolicyMode,
    /// Masks and withheld payloads beyond the standard ones, without [`Redaction::known_env`].
    pub(crate) redaction: Redaction,
}

impl JournalHead {
    /// Longest head in bytes. A longer envelope would leave no room for events.
    pub(crate) const MAX_BYTES: u64 = 8 << 20;

    pub(crate) fn new(
        start: &RunStart<'_>,
        envelope: &SealableEnvelope,
        masks: &Masks,
        signer: &dyn Signer,
    ) -> Result<Self, RecordError> {
        let sealed = |error: reenact_json::SyntaxError| RecordError::Seal(error.into());
        let value = Value::parse(&envelope.text, &Limits::default()).map_err(sealed)?;
        let envelope = canonical::to_vec(value, Jcs).map_err(|error| RecordError::Seal(error.into()))?;
        let key_id = signer.public_key().id().to_string();
        let out = start.target.as_ref().and_then(|out| recordable_target(out, masks));
        let redaction = Redaction { known_env: Vec::new(), ..start.redaction.clone() };
        let policy_mode = start.policy_mode;
        Ok(Self { run_id: start.run_id, key_id, envelope, target: out, policy_mode, redaction })
    }

    /// Returns the line with its line feed, as canonical JSON.
    ///
    /// # Errors
    /// [`RecordError::EnvelopeTooLong`] if the line is longer than [`JournalHead::MAX_BYTES`].
    pub(crate) fn to_line(&self) -> Result<Vec<u8>, RecordError> {
        let mut out = Vec::new();
        match self.target.as_ref().and_then(|out| Some((out.path.to_str()?, out.replace))) {
            Some((path, replace)) => {
                out.extend_from_slice(b"{\"path\":");
                quote(path, &mut out);
                out.extend_from_slice(if replace { b",\"replace\":true}" } else { b",\"replace\":false}" });
            }
            None => out.extend_from_slice(b"null"),
        }
        let run_id = self.run_id.to_string();
        let sealed = |error: reenact_json::SyntaxError| RecordError::Seal(error.into());
        let redaction = self.redaction.to_json();
        let redaction = redaction.as_deref().map(|text| Value::parse(text, &Limits::default()));
        let redaction = redaction.transpose().map_err(sealed)?;
        let mut members = vec![
            ("envelope", ObjectPart::Canonical(&self.envelope)),
            ("journal", ObjectPart::String(JOURNAL_VERSION)),
            ("key_id", ObjectPart::String(&self.key_id)),
            ("out", ObjectPart::Canonical(&out)),
            ("run_id", ObjectPart::String(&run_id)),
            ("runtime_version", ObjectPart::String(env!("CARGO_PKG_VERSION"))),
        ];
        if let Some(redaction) = redaction {
            members.insert(4, ("redaction", ObjectPart::Value(redaction)));
        }
        if self.policy_mode != PolicyMode::default() {
            members.insert(4, ("policy_mode", ObjectPart::String(self.policy_mode.name())));
        }
        let mut line = Vec::new();
        canonical::write_object(&members, &mut line).map_err(|error| RecordError::Seal(error.into()))?;
        line.push(b'\n');
        match line.len() as u64 {
            ..=Self::MAX_BYTES => Ok(line),
            _ => Err(RecordError::EnvelopeTooLong { bytes: self.envelope.len() }),
        }
    }

    /// Reads only the key's id, also from a line that is otherwise wrong.
    pub(crate) fn read_key_id(line: &[u8]) -> Option<String> {
        let head = Value::parse(line.trim_ascii_end(), &Limits::default()).ok()?;
        Some(head.member("key_id")?.string()?.into_owned())
    }

    /// Parses the line, without its line feed; `None` if it is not exactly as [`JournalHead::to_line`] writes it.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let head = Value::parse(line, &Limits::default()).ok()?;
        let text = |name| head.member(name)?.string();
        let is_ours = head.is_canonical()
            && head.text().len() == line.len()
            && head.members().count()
                == 6 + usize::from(head.member("redaction").is_some())
                    + usize::from(head.member("policy_mode").is_some())
            && text("journal")? == JOURNAL_VERSION
            && text("runtime_version").is_some();
        let out = match head.member("out")? {
            out if out.is_null() => None,
            out => {
                let path = PathBuf::from(out.member("path")?.string()?.as_ref());
                // The folder that a relative path began at is unknown after a restart.
                Some(ArtifactTarget { path, replace: out.member("replace")?.boolean()? })
                    .filter(|out| out.path.is_absolute())
            }
        };
        let run_id = text("run_id")?.parse().ok()?;
        let envelope = head.member("envelope")?.text().to_vec();
        let redaction = match head.member("redaction") {
            Some(redaction) => Redaction::from_json(redaction)?,
            None => Redaction::default(),
        };
        let policy_mode = match head.member("policy_mode") {
            Some(mode) => PolicyMode::of_name(&mode.string()?)?,
            None => PolicyMode::default(),
        };
        is_ours.then_some(Self {
            run_id,
            key_id: text("key_id")?.into_owned(),
            envelope,
            target: out,
            policy_mode,
            redaction,
        })
    }
}

/// Returns the artifact's place with an absolute path, to be found from any folder; `None` if the path is not UTF-8, or
/// holds a secret that must be masked.
fn recordable_target(out: &ArtifactTarget, masks: &Masks) -> Option<ArtifactTarget> {
    let path = std::path::absolute(&out.path).ok()?;
    let text = path.to_str()?;
    let is_plain = masks.text(text).as_str() == text;
    is_plain.then_some(ArtifactTarget { path, replace: out.replace })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_secrets::{Alphabet, CustomRule, RulePack};
    use std::path::Path;

    fn head(out: Option<ArtifactTarget>) -> JournalHead {
        let run_id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap();
        let rule = CustomRule::new("acme", "acme_", Alphabet::Hex, 8).unwrap();
        let redaction = Redaction { rules: vec![rule], ..Redaction::default() };
        let policy_mode = PolicyMode::Enforce;
        JournalHead {
            run_id,
            policy_mode,
            key_id: "k".into(),
            envelope: b"{\"a\":[1]}".to_vec(),
            target: out,
            redaction,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let path = std::env::temp_dir().join("a \"b\"\n中.rer.json");
        for out in [
            None,
            Some(ArtifactTarget { path: path.clone(), replace: true }),
            Some(ArtifactTarget { path, replace: false }),
        ] {
            let line = head(out.clone()).to_line().unwrap();
            let (feed, line) = line.split_last().unwrap();
            assert_eq!((*feed, line.contains(feed)), (b'\n', false));
            assert_eq!(JournalHead::read(line), Some(head(out)));
        }
    }

    #[test]
    fn other_lines_are_no_heads() {
        let good = r#"{"envelope":{},"journal":"reenact-journal/1","key_id":"k","out":null,"run_id":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f","runtime_version":"0"}"#;
        assert!(JournalHead::read(good.as_bytes()).is_some());
        for (part, other) in [
            ("{}", "{ }"),
            ("journal/1", "journal/2"),
            ("\"0\"", "0"),
            ("\"0\"", "\"0\",\"z\":1"),
            ("\"run_id\"", "\"redaction\":{},\"run_id\""),
            ("\"k\"", "null"),
            ("017f", "../f"),
            ("null", "{}"),
            ("null", r#"{"path":"/a","replace":0}"#),
            ("{\"env", " {\"env"),
            ("\"0\"}", "\"0\"} "),
            (good, ""),
        ] {
            assert_eq!(JournalHead::read(good.replacen(part, other, 1).as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_head_has_an_end() {
        let envelope = format!("{{\"a\":\"{}\"}}", "x".repeat(8 << 20)).into_bytes();
        let bytes = envelope.len();
        assert_eq!(
            JournalHead { envelope, ..head(None) }.to_line(),
            Err(RecordError::EnvelopeTooLong { bytes })
        );
    }

    #[test]
    fn only_a_path_that_can_be_spelled_without_masks_is_named() {
        let masks = Masks::new(RulePack::standard());
        masks.add_secret("environment", b"planted-secret");
        let named =
            |path: &Path| recordable_target(&ArtifactTarget { path: path.to_owned(), replace: true }, &masks);
        let here = std::env::current_dir().unwrap().join("run.rer.json");
        assert_eq!(
            named(Path::new("run.rer.json")),
            Some(ArtifactTarget { path: here.clone(), replace: true })
        );
        assert_eq!(named(&here), Some(ArtifactTarget { path: here.clone(), replace: true }));
        assert_eq!(named(Path::new("planted-secret/run.rer.json")), None);
        #[cfg(unix)]
        {
            let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"/\xff");
            assert_eq!(named(Path::new(odd)), None);
        }
    }
}
