//! Match key of a masked request, by which a replay finds the recorded answer.

use reenact_record::{MaskedRequest, renumbered};
use reenact_wire::MatchKeyParts;

/// Returns the match key of a masked request: 64 hexadecimal digits.
pub(crate) fn match_key(request: &MaskedRequest<'_>) -> String {
    let parts = MatchKeyParts {
        provider: request.provider(),
        method: request.method(),
        path: request.path(),
        headers: request.headers(),
        body: request.body(),
    };
    reenact_wire::match_key(&parts, renumbered)
}
