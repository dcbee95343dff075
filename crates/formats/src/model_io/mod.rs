//! Model IO sessions: the prompts' hashes and the responses of one recorded run, version 1.0.0.
//!
//! | module | clause | what it holds |
//! |---|---|---|
//! | [`session`] | §3.1, §3.2 | a streaming view: the members of the document, one interaction at a time |
//! | [`interaction`] | §3.3 | the members of one interaction, and the digest of its response |
//! | [`canonical`] | §4 | the canonical form |
//! | [`core`] | §4 | what `model_io_hash` covers, and the hash |
//! | [`writer`] | §3 to §5 | writing a session, in canonical form and within the limits |
//! | [`pack`] | §7 | `run.json` of a pack: where it names the session, and writing that |

pub mod canonical;
pub mod core;
pub mod interaction;
pub mod pack;
pub mod session;
pub mod writer;

use reenact_json::{Digest, Value};

pub use self::core::CoreFault;
pub use interaction::InteractionView;
pub use session::{Head, SessionReader};
pub use writer::{SessionWriter, WriteFault};

use crate::Profile;
use crate::format::{FolderLayout, Format, FormatId, MANIFEST_FILE, Signs, Support};

/// The row of Model IO: a session is known by its version, or by any two of the other members. With a manifest, a folder is a
/// bundle, whatever else it holds.
pub static FORMAT: Format = Format {
    id: FormatId::ModelIo,
    name: "model-io",
    report_name: "model-io",
    support: Support::Full,
    dialect: FormatId::ModelIo,
    profile: Profile::ModelIo,
    signs: Signs::Members {
        names: &[("adapter_id", 1), ("model_id", 1), ("interactions", 1), ("model_io_schema_version", 2)],
        prefixes: &[],
        enough: 2,
    },
    folder: Some(FolderLayout {
        needs: &[pack::SESSION, pack::RUN],
        reads: &[pack::SESSION, pack::RUN],
        companions: &[],
        without: &[MANIFEST_FILE],
        documents: &[(pack::RUN, 256 << 20), (pack::SESSION, 1 << 30)],
        manifest_names: &[],
        is_whole: true,
    }),
    main_file: pack::SESSION,
    endings: &[],
};

/// The version that is written, and whose rules are known (§6.3).
pub const VERSION: &str = "1.0.0";

/// The most interactions of a session (MI4, MI11).
pub const MOST_INTERACTIONS: usize = 10_000;

/// The most bytes of UTF-8 of one response (MI11).
pub const LARGEST_RESPONSE: u64 = 1_000_000;

/// The most bytes of UTF-8 of all responses together (MI11).
pub const LARGEST_TOTAL: u64 = 100_000_000;

/// What stands before the digits of a hash.
const PREFIX: &str = "sha256:";

/// A hash as this format spells it.
pub fn content_hash(digest: &Digest) -> String {
    format!("{PREFIX}{digest}")
}

/// The digest that a value spells as `sha256:` and 64 lower-case hexadecimal digits (MI6); `None` of anything else.
pub fn read_content_hash(value: Option<Value<'_>>) -> Option<Digest> {
    // An escape takes six bytes for one character: whatever is longer spells something else, and need not be decoded.
    const LONGEST: usize = 2 + 6 * (PREFIX.len() + 64);
    let value = value.filter(|value| value.text().len() <= LONGEST)?;
    value.read_string(|text| {
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
