//! Model IO sessions, version 1.0.0: the hashes of the prompts and the responses of one recorded run.
//!
//! | module | clause | what it holds |
//! |---|---|---|
//! | [`session`] | §3.1, §3.2 | a streaming reader: the members of the document, one interaction at a time |
//! | [`interaction`] | §3.3 | the members of one interaction, and the digest of its response |
//! | [`canonical`] | §4 | the canonical form |
//! | [`core_hash`] | §4 | the part that `model_io_hash` covers, and the hash |
//! | [`writer`] | §3 to §5 | the writer of sessions, in canonical form and within the limits |
//! | [`pack`] | §7 | `run.json` of a pack, which names the session |
//!
//! Start reading at [`session`].

pub mod canonical;
pub mod core_hash;
pub mod interaction;
pub mod pack;
pub mod session;
pub mod writer;

use reenact_json::{Digest, Value};

pub use self::core_hash::CoreFault;
pub use interaction::InteractionView;
pub use session::{ModelIoHead, ModelIoReader};
pub use writer::{ModelIoWriteFault, ModelIoWriter};

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, MANIFEST_FILE, RecognitionRule, Support};

/// Row of Model IO. A session is recognised by its version, or by any two of the other members. With a manifest, a
/// folder is a bundle, whatever else it holds.
pub static FORMAT: Format = Format {
    id: FormatId::ModelIo,
    name: "model-io",
    report_name: "model-io",
    support: Support::Full,
    dialect: FormatId::ModelIo,
    profile: Profile::ModelIo,
    recognition: RecognitionRule::WeightedMembers {
        names: &[("adapter_id", 1), ("model_id", 1), ("interactions", 1), ("model_io_schema_version", 2)],
        prefixes: &[],
        threshold: 2,
    },
    folder: Some(FolderLayout {
        required_files: &[pack::SESSION_FILE, pack::RUN_FILE],
        event_files: &[pack::SESSION_FILE, pack::RUN_FILE],
        companions: &[],
        forbidden_files: &[MANIFEST_FILE],
        documents: &[(pack::RUN_FILE, 256 << 20), (pack::SESSION_FILE, 1 << 30)],
        manifest_member_names: &[],
        owns_folder: true,
    }),
    main_file: pack::SESSION_FILE,
    endings: &[],
};

/// Version that is written, and whose rules are known (§6.3).
pub const VERSION: &str = "1.0.0";

/// Largest number of interactions in a session (MI4, MI11).
pub const MAX_INTERACTIONS: usize = 10_000;

/// Largest number of UTF-8 bytes in one response (MI11).
pub const MAX_RESPONSE_BYTES: u64 = 1_000_000;

/// Largest number of UTF-8 bytes in all responses together (MI11).
pub const MAX_TOTAL_RESPONSE_BYTES: u64 = 100_000_000;

/// Text before the hexadecimal digits of a hash.
const PREFIX: &str = "sha256:";

/// Returns a hash as this format spells it: `sha256:` and 64 lower-case hexadecimal digits.
pub fn content_hash(digest: &Digest) -> String {
    format!("{PREFIX}{digest}")
}

/// Returns the digest that a value spells as `sha256:` and 64 lower-case hexadecimal digits (MI6); `None` for
/// anything else.
pub fn read_content_hash(value: Option<Value<'_>>) -> Option<Digest> {
    // An escape takes six bytes for one character, so a longer literal spells something else and need not be decoded.
    const MAX_LITERAL_BYTES: usize = 2 + 6 * (PREFIX.len() + 64);
    let value = value.filter(|value| value.text().len() <= MAX_LITERAL_BYTES)?;
    value.with_string_bytes(|text| {
        let digits = text.strip_prefix(PREFIX.as_bytes())?;
        Digest::from_hex(::core::str::from_utf8(digits).ok()?)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use reenact_json::Limits;

    #[test]
    fn hashes_are_spelled_in_one_way() {
        let digest = Digest::of(b"hello");
        let spelled = content_hash(&digest);
        let read =
            |text: &str| read_content_hash(Some(Value::parse(text.as_bytes(), &Limits::default()).unwrap()));
        assert_eq!(read(&format!("\"{spelled}\"")), Some(digest));
        let escaped: String =
            spelled.chars().map(|character| format!("\\u{:04x}", u32::from(character))).collect();
        assert_eq!(read(&format!("\"{escaped}\"")), Some(digest), "an escape is only another spelling");
        for other in [
            spelled.to_uppercase(),
            spelled.replace("sha256:", ""),
            format!("{spelled}\\n"),
            format!(" {spelled}"),
            spelled[..70].to_owned(),
        ] {
            assert_eq!(read(&format!("\"{other}\"")), None, "{other}");
        }
        assert_eq!(read("7"), None);
        assert_eq!(read_content_hash(None), None);
    }
}
