//! The authorization of an envelope, judged before the agent starts.
//!
//! An envelope without one is fine: its audit calls the run self-authorised. One that is wrong, for another runtime, over, or by a
//! key that the trust store does not hold for a platform's is refused, because the sealed run would be worthless. A platform's key
//! that is not known here can still be known to whoever verifies. Start reading at [`check`].

use std::path::Path;

use reenact_formats::key::KeyId;
use reenact_formats::rer::envelope::authorization::{Authorization, AuthorizationFault};
use reenact_formats::rer::seal::Signer as _;
use reenact_json::{Limits, Shown, Value};
use reenact_verify::Keys;
use reenact_verify::rer::authorization::{Unauthorised, authoriser};

use super::signing::RecordingKey;
use crate::config::UserConfig;
use crate::envelope::UnsignedEnvelope;
use crate::output::CommandError;

/// Adds all keys that the user has or trusts, if an envelope has an authorization to judge or requires approvals.
///
/// # Errors
///
/// If the trust store cannot be read.
pub(super) fn add_keys(envelope: Option<&UnsignedEnvelope>, keys: &mut Keys) -> Result<(), CommandError> {
    match envelope {
        Some(envelope)
            if read(envelope, Authorization::read) != Ok(None)
                || !envelope.envelope.required_approvals.is_empty() =>
        {
            UserConfig::require()?.add_keys_to(keys)
        }
        _ => Ok(()),
    }
}

/// Checks that the authorization of an envelope, if there is one, is good for a run that begins now.
///
/// # Errors
///
/// What is wrong, and the command that mends it.
pub(super) fn check(
    envelope: &UnsignedEnvelope,
    file: &Path,
    signing: &RecordingKey,
    now: Option<i128>,
) -> Result<(), CommandError> {
    let runtime = signing.key.public_key().id();
    let name = file.to_string_lossy();
    let refused = |why: &str, next: &str| {
        Err(CommandError::impossible(format!("{}: {why}\n{next}", Shown::whole(&name))))
    };
    let again = format!("sign it again, with the platform's key: {}", sign_command(&name, &runtime));
    match read(envelope, |value| authoriser(value, Some(runtime), &signing.known)) {
        Ok(_) => {}
        Err(Unauthorised::Nobody | Unauthorised::KeyNotAtHand { .. } | Unauthorised::Itself) => {}
        Err(fault @ Unauthorised::Form(AuthorizationFault::Legacy { .. })) => {
            return refused(&fault.to_string(), &again);
        }
        Err(fault @ Unauthorised::OtherRuntime { .. }) => {
            let why = format!("{fault}, and this run is signed by \"{}\" ({runtime})", signing.name);
            return refused(&why, &format!("record with the key that it names (--key), or {again}"));
        }
        Err(fault @ Unauthorised::NotAPlatform { .. }) => {
            let next = "if it may authorise runs, say so: reenact keys trust --as platform FILE";
            return refused(&fault.to_string(), next);
        }
        Err(fault) => return refused(&fault.to_string(), &again),
    }
    let end = envelope.envelope.authorised_until;
    if end.zip(now).is_some_and(|(end, now)| now > end) {
        return refused("its authorization has ended: nothing may happen under it any more", &again);
    }
    Ok(())
}

/// Returns what a function finds in the JSON of an envelope, which was parsed once already.
fn read<T, E>(envelope: &UnsignedEnvelope, find: impl Fn(Value<'_>) -> Result<T, E>) -> Result<T, E>
where
    E: From<AuthorizationFault>,
{
    Value::parse(&envelope.json, &Limits::default())
        .map_err(|_| E::from(AuthorizationFault::NotAnObject))
        .and_then(find)
}

/// Returns the command that authorises an envelope for a runtime.
fn sign_command(file: &str, runtime: &KeyId) -> String {
    let file = super::shell_quoted(file);
    format!("reenact policy sign {file} --key NAME --runtime={runtime} --out NEW.json")
}
