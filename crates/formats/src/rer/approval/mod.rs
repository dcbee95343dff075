//! Approvals: tokens that an approver signs, so that one action of one run may happen once.
//!
//! ```json
//! {"action":"tool.call","approval_id":"0198…","decision":"granted","expires_at":"2026-05-13T12:10:00Z","input_hash":"9c…",
//!  "issued_at":"2026-05-13T12:00:00Z","key_id":"…","run_id":"0198…","signature":"…","signer_type":"human",
//!  "token_version":"reenact-approval/1","tool":"pay_invoice"}
//! ```
//!
//! The draft leaves tokens to a later version (§8.2), so this one is ours. There is one text for each token: RFC
//! 8785, and nothing around it. The signature covers that text without the member `signature`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`token`] | the token: strict parser, writer, signature |
//! | [`verify`] | verification of a token against a question |
//!
//! Start reading at [`token`].

pub mod token;
pub mod verify;

use reenact_json::{Digest, Jcs, Limits, Value, canonical};

pub use token::{
    ApprovalDecision, ApprovalToken, ApprovalTokenDraft, MAX_TOKEN_BYTES, SignFault, TokenFault, VERSION,
    sign,
};
pub use verify::{ApprovalQuestion, ApprovalVerdict, Approver, TokenRefusal, verify_token};

/// Returns the hash that a token is bound to instead of the input itself: SHA-256 of the canonical form (RFC 8785) if
/// the input is JSON, else of its bytes.
pub fn input_hash(input: &[u8]) -> Digest {
    let value = Value::parse(input, &Limits::default()).ok();
    let canonical = value.and_then(|value| canonical::to_vec(value, Jcs).ok());
    Digest::of(canonical.as_deref().unwrap_or(input))
}
