//! The key by which a replay finds a recorded request.

use reenact_record::{MaskedRequest, renumbered};
use reenact_wire::KeyParts;

/// Returns the key of a masked request, in hexadecimal.
pub(crate) fn match_key(request: &MaskedRequest<'_>) -> String {
    let parts = KeyParts {
        provider: request.provider(),
        method: request.method(),
        path: request.path(),
        headers: request.headers(),
        body: request.body(),
    };
    reenact_wire::match_key(&parts, renumbered)
}
