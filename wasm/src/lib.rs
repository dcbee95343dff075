//! The verifier for browsers: bytes in, the report as one line of JSON out.
//!
//! The module imports nothing, so it can depend on nothing that the host does. The host and the
//! module share only memory, so a call goes like this (`verify.mjs` does it for you):
//!
//! 1. `input(n)`, and optionally `key(n)`, `format(n)`, `target(n)`, return the address of n bytes, which the host fills;
//!    0 means that n is more than we accept, or that there is no memory.
//! 2. `verify(form)` verifies, drops all that was filled in, and returns the length of the report. `form` says what the key
//!    is: 0 none, 1 a key file of any form, 2 raw bytes (RER §1.1).
//! 3. `report()` returns the address of the report, valid until the next call.
//!
//! Start reading at [`verify`].

mod request;

use std::sync::{Mutex, MutexGuard, PoisonError};

use request::{KeyForm, WasmRequest};

/// Buffers that the host fills, and the report that it reads.
///
/// Exports have no `self`, and handing out an owned pointer and taking it back would need unsafe
/// code: hence a global, behind a lock that is never contended and never held while a record is
/// verified.
static BUFFERS: Mutex<HostBuffers> =
    Mutex::new(HostBuffers { request: WasmRequest::EMPTY, report: String::new() });

struct HostBuffers {
    request: WasmRequest,
    report: String,
}

fn buffers() -> MutexGuard<'static, HostBuffers> {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Largest record, in bytes: verification needs memory beside it, and a module has at most 4 GB.
const MAX_INPUT_BYTES: usize = 1 << 30;
/// Largest key file, in bytes; a JWKS of thousands of keys is smaller.
const MAX_KEY_BYTES: usize = 1 << 24;
/// Longest name of a format or of a target, in bytes.
const MAX_NAME_BYTES: usize = 1 << 16;

/// Fills the buffer with `bytes` zeroes and returns its address; 0 if that is too much.
fn allocate(buffer: &mut Vec<u8>, bytes: usize, max_bytes: usize) -> usize {
    buffer.clear();
    if bytes > max_bytes || buffer.try_reserve_exact(bytes).is_err() {
        return 0;
    }
    buffer.resize(bytes, 0);
    // The host, which the compiler does not see, will write there.
    buffer.as_mut_ptr().expose_provenance()
}

// The exports. The word `unsafe` in their attribute is all the unsafe code there is: since edition
// 2024 it marks that a symbol of this name must not exist twice, which the linker would refuse
// anyway.

/// Allocates the buffer of the record to verify.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> usize {
    allocate(&mut buffers().request.input, bytes, MAX_INPUT_BYTES)
}

/// Allocates the buffer of the key.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn key(bytes: usize) -> usize {
    allocate(&mut buffers().request.key, bytes, MAX_KEY_BYTES)
}

/// Allocates the buffer of the format's name, such as `rer`; without one the content decides.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn format(bytes: usize) -> usize {
    allocate(&mut buffers().request.format, bytes, MAX_NAME_BYTES)
}

/// Allocates the buffer of the record's name in the report.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn target(bytes: usize) -> usize {
    allocate(&mut buffers().request.target, bytes, MAX_NAME_BYTES)
}

/// Verifies the record, and returns the length of the report in bytes.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn verify(key_form: u32) -> usize {
    // Taken, not borrowed: nothing of one record remains for the next.
    let request = std::mem::replace(&mut buffers().request, WasmRequest::EMPTY);
    let report = request.report(KeyForm::of_number(key_form));
    let length = report.len();
    buffers().report = report;
    length
}

/// Returns the address of the report.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn report() -> usize {
    buffers().report.as_ptr().expose_provenance()
}
