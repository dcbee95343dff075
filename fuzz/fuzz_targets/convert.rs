//! Any bytes through conversion: what is imported comes back as its canonical bytes, what is
//! written verifies, and nothing panics.
//!
//! The first byte chooses the format of the rest; RER artifacts here have no valid signature.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reenact_formats::key::PublicKey;
use reenact_formats::rer::seal::Signer;
use reenact_formats::{FORMATS, FormatId, Profile, recognise_import};
use reenact_json::{Digest, Jcs, Limits, Value, canonical};
use reenact_run::convert::{
    ConversionInput, ImportContext, ImportSource, SourceInfo, convert, import, restore,
};
use reenact_run::open;
use reenact_run::text_rule::TextRule;
use reenact_verify::{Keys, Options, verify};

/// Signer with an invalid signature. Its public key is the base point, because keys of small order
/// are refused.
struct Nobody;

impl Signer for Nobody {
    fn public_key(&self) -> PublicKey {
        let mut base = [0x66; 32];
        base[0] = 0x58;
        PublicKey::from_raw(&base).expect("the base point is a point")
    }

    fn sign(&self, _: &[u8]) -> [u8; 64] {
        [0; 64]
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    texts(bytes);
    let origins: Vec<FormatId> =
        FORMATS.iter().filter(|row| row.dialect != FormatId::Rer).map(|row| row.id).collect();
    let origin = origins[usize::from(choice) % origins.len()];
    there_and_back(origin, bytes);
    every_way(bytes);
});

fn sealing<T>(work: impl FnOnce(&mut ImportContext<'_>) -> T) -> T {
    let mut salts = || Some([7; 16]);
    work(&mut ImportContext {
        run_id: "fuzz",
        version: "0",
        now: "2026-01-01T00:00:00.0Z",
        salts: &mut salts,
        signer: &Nobody,
    })
}

/// Checks the `$text` rule on any value.
fn texts(bytes: &[u8]) {
    let Ok(value) = Value::parse(bytes, &Limits::default()) else { return };
    for profile in [Profile::Rpk, Profile::ReplayJsonl, Profile::ModelIo] {
        let mut rule = TextRule::new(profile);
        // Decoding what was never encoded gives an error or a text, and must not panic.
        let _ = rule.decode(value, &mut Vec::new());
        let Ok(expected) = canonical::to_vec(value, profile) else { continue };
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        rule.encode(value, &mut encoded).expect("what has a canonical form can be encoded");
        let limits = Limits { max_depth: Limits::MAX_DEPTH, ..Limits::default() };
        let carried = Value::parse(&encoded, &limits).expect("what is encoded is JSON");
        let carried = canonical::to_vec(carried, Jcs).expect("what is encoded has an RFC 8785 form");
        let carried = Value::parse(&carried, &limits).expect("a canonical form is JSON");
        rule.decode(carried, &mut decoded).expect("what was encoded can be decoded");
        assert_eq!(String::from_utf8_lossy(&decoded), String::from_utf8_lossy(&expected));
    }
}

fn there_and_back(origin: FormatId, bytes: &[u8]) {
    let Ok(artifact) = sealing(|sealing| import(&ImportSource::of(origin, bytes), sealing)) else { return };
    let restored = restore(&artifact, &Limits::default()).expect("what was imported comes back");
    let restored = restored.expect("what was imported says so");
    assert_eq!(restored.format, origin);
    // A second import and restore changes nothing, but for paths in `.rpk`, which have no fixed
    // point.
    if origin != FormatId::Rpk {
        let again = sealing(|sealing| import(&ImportSource::of(origin, &restored.main_file), sealing));
        let again = again.expect("what came back can be imported");
        let twice = restore(&again, &Limits::default()).expect("it comes back").expect("and says so");
        assert_eq!(twice.main_file, restored.main_file);
    }
}

/// Converts a record of any format to every format.
fn every_way(bytes: &[u8]) {
    let opened = open(bytes.to_vec(), &Keys::default(), &Options::default());
    let verifies = opened.report.pass();
    let foreign = recognise_import(bytes, &Limits::default());
    let input = match (foreign, &opened.run) {
        (Some(origin), _) => ConversionInput::Foreign(origin, bytes),
        (None, Ok(run)) => ConversionInput::Run(run),
        (None, Err(_)) => return,
    };
    for target in FormatId::targets() {
        let found = SourceInfo {
            digest: Digest::of(bytes),
            original_bytes: None,
            verified: None,
            keys: &Keys::default(),
        };
        let Ok(converted) = sealing(|sealing| convert(input, found, target, sealing)) else { continue };
        // Text that looks like a secret is refused when a bundle is verified, not when it is
        // written.
        let [file] = converted.files.as_slice() else { continue };
        if verifies && ![FormatId::Rer, FormatId::ReplayBundle].contains(&target) {
            let report = verify(&file.bytes, &Keys::default(), &Options::default());
            assert!(report.pass(), "{}: {:?}", target.name(), report.reasons);
        }
    }
}
