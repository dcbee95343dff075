//! Any bytes through conversion: whatever is imported comes back as its canonical bytes, whatever is written verifies, and nothing
//! panics. The first byte chooses what the rest is taken for; an RER artifact is one that nobody signed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reenact_formats::key::PublicKey;
use reenact_formats::rer::seal::Signer;
use reenact_formats::{FORMATS, FormatId, Profile, recognise_import};
use reenact_json::{Digest, Jcs, Limits, Value, canonical};
use reenact_run::convert::{Found, Input, Sealing, Source, convert, import, restore};
use reenact_run::open;
use reenact_run::text_rule::TextRule;
use reenact_verify::{Keys, Options, safe};

/// Signs nothing that anybody would believe: of small order is no key, so this is the base point.
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

fn sealing<T>(work: impl FnOnce(&mut Sealing<'_>) -> T) -> T {
    let mut salts = || Some([7; 16]);
    work(&mut Sealing {
        run_id: "fuzz",
        version: "0",
        now: "2026-01-01T00:00:00.0Z",
        salts: &mut salts,
        signer: &Nobody,
    })
}

/// The `$text` rule, on any value.
fn texts(bytes: &[u8]) {
    let Ok(value) = Value::parse(bytes, &Limits::default()) else { return };
    for profile in [Profile::Rpk, Profile::ReplayJsonl, Profile::ModelIo] {
        let mut rule = TextRule::new(profile);
        // Whoever decodes what was never encoded gets an error or a text, and that is all.
        let _ = rule.decode(value, &mut Vec::new());
        let Ok(expected) = canonical::to_vec(value, profile) else { continue };
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        rule.encode(value, &mut encoded).expect("what has a canonical form can be encoded");
        let limits = Limits { depth: Limits::DEEPEST, ..Limits::default() };
        let carried = Value::parse(&encoded, &limits).expect("what is encoded is JSON");
        let carried = canonical::to_vec(carried, Jcs).expect("what is encoded has an RFC 8785 form");
        let carried = Value::parse(&carried, &limits).expect("a canonical form is JSON");
        rule.decode(carried, &mut decoded).expect("what was encoded can be decoded");
        assert_eq!(String::from_utf8_lossy(&decoded), String::from_utf8_lossy(&expected));
    }
}

fn there_and_back(origin: FormatId, bytes: &[u8]) {
    let Ok(artifact) = sealing(|sealing| import(&Source::of(origin, bytes), sealing)) else { return };
    let restored = restore(&artifact, &Limits::default()).expect("what was imported comes back");
    let restored = restored.expect("what was imported says so");
    assert_eq!(restored.origin, origin);
    // What came back is at rest from then on, but for paths of one format that never are.
    if origin != FormatId::Rpk {
        let again = sealing(|sealing| import(&Source::of(origin, &restored.main), sealing));
        let again = again.expect("what came back can be imported");
        let twice = restore(&again, &Limits::default()).expect("it comes back").expect("and says so");
        assert_eq!(twice.main, restored.main);
    }
}

/// Whatever these bytes are, each way from there.
fn every_way(bytes: &[u8]) {
    let opened = open(bytes.to_vec(), &Keys::default(), &Options::default());
    let verifies = opened.report.pass();
    let foreign = recognise_import(bytes, &Limits::default());
    let input = match (foreign, &opened.run) {
        (Some(origin), _) => Input::Other(origin, bytes),
        (None, Ok(run)) => Input::Run(run),
        (None, Err(_)) => return,
    };
    for target in FormatId::targets() {
        let found = Found { digest: Digest::of(bytes), kept: None, verified: None, keys: &Keys::default() };
        let Ok(converted) = sealing(|sealing| convert(input, found, target, sealing)) else { continue };
        // Text that looks like a secret is refused when a bundle is judged, not when it is made.
        let [file] = converted.files.as_slice() else { continue };
        if verifies && ![FormatId::Rer, FormatId::ReplayBundle].contains(&target) {
            let report = safe(&file.bytes, &Keys::default(), &Options::default());
            assert!(report.pass(), "{}: {:?}", target.name(), report.reasons);
        }
    }
}
