//! How a run begins: under which envelope, with which command, in which surroundings.

use std::ffi::OsString;
use std::path::PathBuf;

use reenact_formats::rer::envelope::permission::{Enforcement, Envelope};
use reenact_formats::rer::seal::{Signer, sign_envelope};
use reenact_json::{Digest, Limits, Value};

use crate::error::RecordError;
use crate::journal::VERSION;
use crate::mask::{Masked, Masks};
use crate::payload::{Payload, quote};
use crate::run_id::RunId;

/// What is known of a run when it begins. It holds secrets, and shows itself to nobody.
#[derive(Clone)]
pub struct RunStart<'a> {
    /// Its id, which nothing else has.
    pub run_id: RunId,
    /// The command that runs, and its arguments. Secrets in them are masked.
    pub command: &'a [OsString],
    /// The command's environment. It is not recorded: values of variables whose names end in KEY, TOKEN, SECRET or PASSWORD
    /// are masked wherever they appear.
    pub environment: &'a [(OsString, OsString)],
    /// Where each route leads: its name and its base URL.
    pub upstreams: &'a [(&'a str, &'a str)],
    /// The envelope, without a signature, as JSON; `None` if the run is only observed.
    pub envelope: Option<&'a [u8]>,
    /// Where the artifact is to be; `None` for its place in the folder of runs.
    pub out: Option<Out>,
}

impl RunStart<'_> {
    /// A run of which nothing is known but its id.
    pub fn new(run_id: RunId) -> Self {
        Self { run_id, command: &[], environment: &[], upstreams: &[], envelope: None, out: None }
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
            if let Some(finding) = masks.pack().scan(given).first() {
                return Err(RecordError::SecretInEnvelope { rule: finding.rule });
            }
            given.to_vec()
        }
        None => observed(start.upstreams, masks)?,
    };
    let (signed, hash) = sign_envelope(&text, signer)?;
    let document =
        Value::parse(&signed, &Limits::default()).map_err(|error| RecordError::Seal(error.into()))?;
    let enforcement = match Envelope::read(document).map_err(RecordError::Envelope)?.enforcement {
        Enforcement::Enforced => "enforce",
        Enforcement::Observed => "observe",
        Enforcement::Imported => "imported",
    };
    Ok(Sealable { text, hash, enforcement })
}

/// The envelope of a run that is only watched (§5.1). It has no expiry: nothing is permitted that could end.
fn observed(upstreams: &[(&str, &str)], masks: &Masks) -> Result<Vec<u8>, RecordError> {
    let mut text = Vec::new();
    text.extend_from_slice(b"{\"envelope_version\":");
    quote(VERSION.envelope(), &mut text);
    text.extend_from_slice(br#","limits":{},"metadata":{"reenact":{"enforcement":"observe","upstreams":{"#);
    for (at, (name, url)) in upstreams.iter().enumerate() {
        if !is_plain_url(url) {
            return Err(RecordError::Upstream { name: (*name).to_owned() });
        }
        if at > 0 {
            text.push(b',');
        }
        quote(masks.text(name).as_str(), &mut text);
        text.push(b':');
        quote(masks.path(url).as_str(), &mut text);
    }
    text.extend_from_slice(br#"}}},"permissions":{"allowed_models":["*"],"allowed_tools":["*"]}}"#);
    Ok(text)
}

/// Whether a URL holds nothing that is anybody's secret: no user, no password, no query, no fragment.
fn is_plain_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#', '\\']))
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
    pub(crate) fn write(&self, payload: &mut Payload<'_>) {
        if !self.command.is_empty() {
            payload.texts("command", &self.command);
        }
        payload.constant("enforcement", self.enforcement);
        payload.digest("envelope_hash", &self.envelope_hash);
        payload.object("environment", |environment| {
            environment.constant("arch", std::env::consts::ARCH);
            environment.constant("os", std::env::consts::OS);
            environment.constant("reenact", env!("CARGO_PKG_VERSION"));
            environment.object("runtimes", |_| {});
        });
        payload.object("redaction", |redaction| {
            redaction.digest("digest", &self.pack_digest);
            redaction.text("pack", &self.pack);
        });
        payload.constant("runtime_version", env!("CARGO_PKG_VERSION"));
        payload.salt();
        payload.constant("source", "observed");
    }
}
