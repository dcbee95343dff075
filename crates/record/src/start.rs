//! How a run begins: under which envelope, with which command, in which surroundings; and what the first line of its journal
//! says, so that the file alone is enough to seal the run.

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::rer::envelope::permission::{Enforcement, Envelope};
use reenact_formats::rer::payload::{Environment, RedactionPack, RunStarted, Source};
use reenact_formats::rer::seal::{Signer, sign_envelope};
use reenact_json::canonical::{self, Part};
use reenact_json::{Digest, Jcs, Limits, Value};

use crate::error::RecordError;
use crate::journal::VERSION;
use crate::mask::{Masked, Masks};
use crate::payload::{Payload, quote};
use crate::redaction::Redaction;
use crate::run_id::RunId;

/// What is known of a run when it begins. It holds secrets, and shows itself to nobody.
#[derive(Clone)]
pub struct RunStart<'a> {
    /// Its id, which nothing else has.
    pub run_id: RunId,
    /// The command that runs, and its arguments. Secrets in them are masked.
    pub command: &'a [OsString],
    /// The command's environment. It is not recorded: values of variables whose names end in KEY, TOKEN, SECRET or PASSWORD, and
    /// of those that [`Redaction::known_env`] names, are masked wherever they appear.
    pub environment: &'a [(OsString, OsString)],
    /// Where each route leads: its name and its base URL.
    pub upstreams: &'a [(&'a str, &'a str)],
    /// The envelope, without a signature, as JSON; `None` if the run is only observed.
    pub envelope: Option<&'a [u8]>,
    /// Where the artifact is to be; `None` for its place in the folder of runs.
    pub out: Option<Out>,
    /// What the project adds to the masks, and what it has withheld.
    pub redaction: Redaction,
}

impl RunStart<'_> {
    /// A run of which nothing is known but its id.
    pub fn new(run_id: RunId) -> Self {
        Self {
            run_id,
            command: &[],
            environment: &[],
            upstreams: &[],
            envelope: None,
            out: None,
            redaction: Redaction::default(),
        }
    }
}

/// An artifact's place outside the folder of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out {
    /// The file.
    pub path: PathBuf,
    /// Whether it takes the place of a file of that name.
    pub replace: bool,
}

/// An envelope that is ready to be sealed.
pub(crate) struct Sealable {
    pub(crate) text: Vec<u8>,
    pub(crate) hash: Digest,
    pub(crate) enforcement: &'static str,
    pub(crate) permissions: Envelope,
}

/// The envelope of a run: the one that was given, or one that restricts nothing and says so.
pub(crate) fn envelope(
    start: &RunStart<'_>,
    masks: &Masks,
    signer: &dyn Signer,
) -> Result<Sealable, RecordError> {
    let text = match start.envelope {
        Some(given) => {
            // It was perhaps authorised as it is: it cannot be masked, only refused.
            if let Some(finding) = masks.pack().scan(given).into_iter().next() {
                return Err(RecordError::SecretInEnvelope { rule: finding.rule });
            }
            routed(given, start.upstreams, masks)?
        }
        None => observed(start.upstreams, masks)?,
    };
    sealable(text, signer)
}

/// An envelope without a signature, judged by whether it can be sealed.
pub(crate) fn sealable(text: Vec<u8>, signer: &dyn Signer) -> Result<Sealable, RecordError> {
    let (signed, hash) = sign_envelope(&text, signer)?;
    let document =
        Value::parse(&signed, &Limits::default()).map_err(|error| RecordError::Seal(error.into()))?;
    let permissions = Envelope::read(document).map_err(RecordError::Envelope)?;
    let enforcement = match permissions.enforcement {
        Enforcement::Enforced => "enforce",
        Enforcement::Observed => "observe",
        Enforcement::Imported => "imported",
    };
    Ok(Sealable { text, hash, enforcement, permissions })
}

/// An envelope that was given, which also says where requests go. One that was authorised stays as it is: it says what was signed.
fn routed(given: &[u8], upstreams: &[(&str, &str)], masks: &Masks) -> Result<Vec<u8>, RecordError> {
    let sealed = |error: reenact_json::SyntaxError| RecordError::Seal(error.into());
    let envelope = Value::parse(given, &Limits::default()).map_err(sealed)?;
    let metadata = envelope.member("metadata");
    let has = |name: &str| metadata.and_then(|metadata| metadata.member(name)).is_some();
    if upstreams.is_empty() || has("authorization") || has("reenact") {
        return Ok(given.to_vec());
    }
    let mut reenact = br#""reenact":{"enforcement":"enforce","upstreams":"#.to_vec();
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

/// The envelope of a run that is only watched (§5.1). It has no expiry: nothing is permitted that could end.
fn observed(upstreams: &[(&str, &str)], masks: &Masks) -> Result<Vec<u8>, RecordError> {
    let mut text = Vec::new();
    text.extend_from_slice(b"{\"envelope_version\":");
    quote(VERSION.envelope(), &mut text);
    text.extend_from_slice(br#","limits":{},"metadata":{"reenact":{"enforcement":"observe","upstreams":"#);
    write_upstreams(upstreams, masks, &mut text)?;
    text.extend_from_slice(br#"}},"permissions":{"allowed_models":["*"],"allowed_tools":["*"]}}"#);
    Ok(text)
}

/// Whether a URL holds nothing that is anybody's secret: no user, no password, no query, no fragment.
fn is_plain_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#', '\\']))
}

/// How the first line of a journal names its form.
const JOURNAL: &str = "reenact-journal/1";

/// What the first line of a journal says: all that the seal needs beside the events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) run_id: RunId,
    /// Of the key that the run began under.
    pub(crate) key_id: String,
    /// Without its signature, in canonical form.
    pub(crate) envelope: Vec<u8>,
    /// `None` for the artifact's place in the folder of runs, and for one that cannot be written down.
    pub(crate) out: Option<Out>,
    /// What is masked and withheld beyond what always is.
    pub(crate) redaction: Redaction,
}

impl Head {
    /// No head is longer. An envelope of that size would leave no room for events.
    pub(crate) const LONGEST: u64 = 8 << 20;

    pub(crate) fn new(
        start: &RunStart<'_>,
        envelope: &Sealable,
        masks: &Masks,
        signer: &dyn Signer,
    ) -> Result<Self, RecordError> {
        let sealed = |error: reenact_json::SyntaxError| RecordError::Seal(error.into());
        let value = Value::parse(&envelope.text, &Limits::default()).map_err(sealed)?;
        let envelope = canonical::to_vec(value, Jcs).map_err(|error| RecordError::Seal(error.into()))?;
        let key_id = signer.public_key().id().to_string();
        let out = start.out.as_ref().and_then(|out| named(out, masks));
        let redaction = Redaction { known_env: Vec::new(), ..start.redaction.clone() };
        Ok(Self { run_id: start.run_id, key_id, envelope, out, redaction })
    }

    /// The line, with its line feed.
    pub(crate) fn line(&self) -> Result<Vec<u8>, RecordError> {
        let mut out = Vec::new();
        match self.out.as_ref().and_then(|out| Some((out.path.to_str()?, out.replace))) {
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
            ("envelope", Part::Canonical(&self.envelope)),
            ("journal", Part::Text(JOURNAL)),
            ("key_id", Part::Text(&self.key_id)),
            ("out", Part::Canonical(&out)),
            ("run_id", Part::Text(&run_id)),
            ("runtime_version", Part::Text(env!("CARGO_PKG_VERSION"))),
        ];
        if let Some(redaction) = redaction {
            members.insert(4, ("redaction", Part::Value(redaction)));
        }
        let mut line = Vec::new();
        canonical::write_object(&members, &mut line).map_err(|error| RecordError::Seal(error.into()))?;
        line.push(b'\n');
        match line.len() as u64 {
            ..=Self::LONGEST => Ok(line),
            _ => Err(RecordError::EnvelopeTooLong { bytes: self.envelope.len() }),
        }
    }

    /// Reads the id of the key alone.
    pub(crate) fn read_key_id(line: &[u8]) -> Option<String> {
        let head = Value::parse(line.trim_ascii_end(), &Limits::default()).ok()?;
        Some(head.member("key_id")?.string()?.into_owned())
    }

    /// Reads the line, without its line feed; `None` if it is not one that we write.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let head = Value::parse(line, &Limits::default()).ok()?;
        let text = |name| head.member(name)?.string();
        let is_ours = head.is_canonical()
            && head.text().len() == line.len()
            && head.members().count() == 6 + usize::from(head.member("redaction").is_some())
            && text("journal")? == JOURNAL
            && text("runtime_version").is_some();
        let out = match head.member("out")? {
            out if out.is_null() => None,
            out => {
                let path = PathBuf::from(out.member("path")?.string()?.as_ref());
                // Relative to what, nobody knows any more.
                Some(Out { path, replace: out.member("replace")?.boolean()? })
                    .filter(|out| out.path.is_absolute())
            }
        };
        let run_id = text("run_id")?.parse().ok()?;
        let envelope = head.member("envelope")?.text().to_vec();
        let redaction = match head.member("redaction") {
            Some(redaction) => Redaction::read(redaction)?,
            None => Redaction::default(),
        };
        is_ours.then_some(Self { run_id, key_id: text("key_id")?.into_owned(), envelope, out, redaction })
    }
}

/// An artifact's place such that it can be found again from any folder; `None` if it cannot be spelled, or not without what
/// must be masked.
fn named(out: &Out, masks: &Masks) -> Option<Out> {
    let path = std::path::absolute(&out.path).ok()?;
    let text = path.to_str()?;
    let is_plain = masks.text(text).as_str() == text;
    is_plain.then_some(Out { path, replace: out.replace })
}

/// What the first event says.
pub(crate) struct Started {
    pub(crate) command: Vec<Masked>,
    pub(crate) enforcement: &'static str,
    pub(crate) envelope_hash: Digest,
    pub(crate) pack: Masked,
    pub(crate) pack_digest: Digest,
}

impl Started {
    pub(crate) fn new(command: &[OsString], envelope: &Sealable, masks: &Masks) -> Self {
        Self {
            command: masks.command(command),
            enforcement: envelope.enforcement,
            envelope_hash: envelope.hash,
            pack: masks.text(masks.pack().name()),
            pack_digest: Digest::of(masks.pack().text().as_bytes()),
        }
    }

    pub(crate) fn write(&self, payload: &mut Payload<'_>) {
        let environment = Environment {
            arch: std::env::consts::ARCH,
            os: std::env::consts::OS,
            reenact: env!("CARGO_PKG_VERSION"),
            runtimes: Vec::new(),
        };
        let started = RunStarted {
            command: Some(self.command.iter().collect()).filter(|command: &Vec<_>| !command.is_empty()),
            enforcement: self.enforcement,
            envelope_hash: self.envelope_hash,
            environment,
            import: None,
            redaction: RedactionPack { digest: self.pack_digest, pack: &self.pack },
            runtime_version: env!("CARGO_PKG_VERSION"),
            source: Source::Observed,
        };
        started.write(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_secrets::{Alphabet, CustomRule, Pack};
    use std::path::Path;

    fn head(out: Option<Out>) -> Head {
        let run_id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap();
        let rule = CustomRule::new("acme", "acme_", Alphabet::Hex, 8).unwrap();
        let redaction = Redaction { rules: vec![rule], ..Redaction::default() };
        Head { run_id, key_id: "k".into(), envelope: b"{\"a\":[1]}".to_vec(), out, redaction }
    }

    #[test]
    fn what_is_written_is_read() {
        let path = std::env::temp_dir().join("a \"b\"\n中.rer.json");
        for out in [None, Some(Out { path: path.clone(), replace: true }), Some(Out { path, replace: false })]
        {
            let line = head(out.clone()).line().unwrap();
            let (feed, line) = line.split_last().unwrap();
            assert_eq!((*feed, line.contains(feed)), (b'\n', false));
            assert_eq!(Head::read(line), Some(head(out)));
        }
    }

    #[test]
    fn other_lines_are_no_heads() {
        let good = r#"{"envelope":{},"journal":"reenact-journal/1","key_id":"k","out":null,"run_id":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f","runtime_version":"0"}"#;
        assert!(Head::read(good.as_bytes()).is_some());
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
            assert_eq!(Head::read(good.replacen(part, other, 1).as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_head_has_an_end() {
        let envelope = format!("{{\"a\":\"{}\"}}", "x".repeat(8 << 20)).into_bytes();
        let bytes = envelope.len();
        assert_eq!(Head { envelope, ..head(None) }.line(), Err(RecordError::EnvelopeTooLong { bytes }));
    }

    #[test]
    fn only_a_path_that_can_be_spelled_without_masks_is_named() {
        let masks = Masks::new(Pack::standard());
        masks.know("environment", b"planted-secret");
        let named = |path: &Path| named(&Out { path: path.to_owned(), replace: true }, &masks);
        let here = std::env::current_dir().unwrap().join("run.rer.json");
        assert_eq!(named(Path::new("run.rer.json")), Some(Out { path: here.clone(), replace: true }));
        assert_eq!(named(&here), Some(Out { path: here.clone(), replace: true }));
        assert_eq!(named(Path::new("planted-secret/run.rer.json")), None);
        #[cfg(unix)]
        {
            let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"/\xff");
            assert_eq!(named(Path::new(odd)), None);
        }
    }
}
