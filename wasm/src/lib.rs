//! The judge for browsers: bytes in, the report as one line of JSON out.
//!
//! The module imports nothing: what it cannot ask for, it cannot depend on. The host and the module share only memory,
//! so a call goes thus (`verify.mjs` does it for you):
//!
//! 1. `input(n)`, and if wanted `key(n)`, `format(n)`, `target(n)`, give the address of n bytes, which the host fills;
//!    0 means that this is more than we take, or that there is no memory.
//! 2. `verify(form)` judges, forgets all that was filled in, and gives the length of the report. `form` says what the key
//!    is: 0 none, 1 a key file of any form, 2 raw bytes (RER §1.1).
//! 3. `report()` gives its address, good until the next call.

mod request;

use std::sync::{Mutex, MutexGuard, PoisonError};

use request::{KeyForm, Request};

/// What the host filled in, and what it may read. Exports have no `self`, and to hand out an owned pointer and take it
/// back would need unsafe code: hence a global, behind a lock that is never contended and never held while judging.
static SHARED: Mutex<Shared> = Mutex::new(Shared { request: Request::EMPTY, report: String::new() });

struct Shared {
    request: Request,
    report: String,
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The largest record: judging needs memory beside it, and a module has at most 4 GB.
const LARGEST_INPUT: usize = 1 << 30;
/// The largest key file; a JWKS of thousands of keys is smaller.
const LARGEST_KEY: usize = 1 << 24;
/// The longest name of a format or of a target.
const LONGEST_NAME: usize = 1 << 16;

/// The address of `bytes` zeroes in the buffer, or 0.
fn room(buffer: &mut Vec<u8>, bytes: usize, most: usize) -> usize {
    buffer.clear();
    if bytes > most || buffer.try_reserve_exact(bytes).is_err() {
        return 0;
    }
    buffer.resize(bytes, 0);
    // The host, whom the compiler does not see, will write there.
    buffer.as_mut_ptr().expose_provenance()
}

// The exports. The word `unsafe` in their attribute is all the unsafe code there is: since edition 2024 it marks that a
// symbol of this name must not exist twice, which the linker would refuse anyway.

/// Room for the record to judge.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> usize {
    room(&mut shared().request.input, bytes, LARGEST_INPUT)
}

/// Room for the key.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn key(bytes: usize) -> usize {
    room(&mut shared().request.key, bytes, LARGEST_KEY)
}

/// Room for the name of the format to judge by, such as `rer`; without one the content decides.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn format(bytes: usize) -> usize {
    room(&mut shared().request.format, bytes, LONGEST_NAME)
}

/// Room for what the report shall call the record.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn target(bytes: usize) -> usize {
    room(&mut shared().request.target, bytes, LONGEST_NAME)
}

/// Judges, and gives the length of the report.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn verify(key_form: u32) -> usize {
    // Taken, not borrowed: nothing of one record is there for the next.
    let request = std::mem::replace(&mut shared().request, Request::EMPTY);
    let report = request.report(KeyForm::of_number(key_form));
    let length = report.len();
    shared().report = report;
    length
}

/// The address of the report.
#[allow(unsafe_code, reason = "an export")]
#[unsafe(no_mangle)]
pub extern "C" fn report() -> usize {
    shared().report.as_ptr().expose_provenance()
}
