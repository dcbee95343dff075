//! Support for the tests of this crate: runs to open and to convert.
#![allow(clippy::unwrap_used, dead_code, reason = "each test file uses a part of this one")]

use reenact_formats::rer::seal::Signer as _;
use reenact_run::convert::ImportContext;
use reenact_run::{OpenedRecord, Run, open};
use reenact_testkit::fixture::{RunBuilder, TestKey};
use reenact_verify::{Keys, Options};

/// Opening of a run that a [`RunBuilder`] built.
pub(crate) trait OpenRun {
    /// Seals the run and opens it; every check must hold, whatever its payloads say.
    fn run(self) -> Run;
}

impl OpenRun for RunBuilder {
    #[track_caller]
    fn run(self) -> Run {
        let key = TestKey::of(1);
        let OpenedRecord { run, report } = open(self.seal(&key), &key.keys(), &Options::default());
        assert!(report.pass(), "{:?}", report.reasons);
        run.unwrap()
    }
}

/// Key ring that trusts a [`TestKey`].
pub(crate) trait KeyRing {
    /// Returns a key ring with the public half.
    fn keys(&self) -> Keys;
}

impl KeyRing for TestKey {
    fn keys(&self) -> Keys {
        Keys::from_raw(self.public_key().as_bytes())
    }
}

/// Calls `seal` with a fixed run id and time, salts that count up, and `key`.
pub(crate) fn with_import_context<T>(key: &TestKey, seal: impl FnOnce(&mut ImportContext<'_>) -> T) -> T {
    let mut count = 0_u128;
    let mut salts = || {
        count += 1;
        Some(count.to_le_bytes())
    };
    seal(&mut ImportContext {
        run_id: "0197f22e-79b0-7cc3-98c4-dc0c0c07398f",
        version: "0.1.0",
        now: "2026-11-16T05:00:00.5Z",
        salts: &mut salts,
        signer: key,
    })
}
