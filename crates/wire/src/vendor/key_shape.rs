//! Shapes of vendors' keys, and keys of that shape which no server knows.
//!
//! Agents look at keys: Claude Code chooses the model of its titles by the prefix, others refuse what has another length. A replayed
//! agent is therefore given a dummy of its vendor's own shape. Start reading at [`KeyShape::dummy`].

use reenact_json::Digest;

/// Shape of a key: a prefix, characters of an alphabet, and an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyShape {
    /// Text at the beginning, by which clients know the key; may be empty.
    pub(crate) prefix: &'static str,
    /// Number of characters of the alphabet behind the prefix.
    pub(crate) length: usize,
    /// Characters behind the prefix.
    pub(crate) alphabet: KeyAlphabet,
    /// Text at the end; may be empty.
    pub(crate) end: &'static str,
}

/// Characters of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAlphabet {
    /// Digits and a to f.
    Hex,
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, hyphens and underscores.
    UrlSafe,
}

impl KeyAlphabet {
    /// Returns the beginning of a dummy, by which people know it; empty if the alphabet has no room for words.
    fn words(self) -> &'static str {
        match self {
            Self::Hex => "",
            Self::Alphanumeric => "ReenactDummy",
            Self::UrlSafe => "reenact-dummy-",
        }
    }
}

impl KeyShape {
    /// Returns a key of this shape that no server knows: the same for the same name, another for another name.
    pub(crate) fn dummy(&self, name: &str) -> String {
        let mut filler = self.alphabet.words().to_owned();
        let mut digest = Digest::of(name.as_bytes());
        while filler.len() < self.length {
            filler.push_str(&digest.to_string());
            digest = Digest::of(digest.as_bytes());
        }
        filler.truncate(self.length);
        format!("{}{filler}{}", self.prefix, self.end)
    }
}

#[cfg(test)]
mod tests {
    use crate::{VENDORS, Vendor};

    #[test]
    fn dummies_have_the_shape_of_their_vendor() {
        let dummy = |vendor: Vendor| vendor.dummy_key("A", "");
        assert_eq!(
            dummy(Vendor::ANTHROPIC),
            "sk-ant-api03-reenact-dummy-559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd1cd6ef71e6e0ff4AA"
        );
        for (vendor, beginning, length) in [
            (Vendor::ANTHROPIC, "sk-ant-api03-reenact-dummy-", 108),
            (Vendor::OPENAI, "sk-proj-reenact-dummy-", 164),
            (Vendor::GEMINI, "AIzareenact-dummy-", 39),
            (Vendor::OPENROUTER, "sk-or-v1-559aead0", 73),
            (Vendor::GROQ, "gsk_ReenactDummy", 56),
            (Vendor::XAI, "xai-ReenactDummy", 84),
            (Vendor::MISTRAL, "ReenactDummy", 32),
            (Vendor::DEEPSEEK, "sk-559aead0", 35),
            (Vendor::AZURE, "559aead0", 32),
        ] {
            let key = dummy(vendor);
            assert!(key.starts_with(beginning), "{key}");
            assert_eq!(key.len(), length, "{key}");
        }
    }

    #[test]
    fn each_name_has_a_dummy_of_its_own() {
        for vendor in VENDORS {
            assert_ne!(vendor.dummy_key("A", ""), vendor.dummy_key("B", ""), "{vendor:?}");
            assert!(vendor.dummy_key("A", "").len() >= 16, "{vendor:?}");
        }
    }

    #[test]
    fn the_kind_of_key_that_one_has_is_kept() {
        for (vendor, key, beginning) in [
            (Vendor::OPENAI, "sk-svcacct-0123", "sk-svcacct-reenact-dummy-"),
            (Vendor::OPENAI, "sk-0123456789", "sk-ReenactDummy"),
            (Vendor::ANTHROPIC, "sk-ant-oat01-0123", "sk-ant-oat01-reenact-dummy-"),
            (Vendor::ANTHROPIC, "of-no-shape", "sk-ant-api03-"),
        ] {
            assert!(vendor.dummy_key("A", key).starts_with(beginning), "{key}");
        }
        assert_eq!(Vendor::of_key("sk-ant-oat01-0123"), Some(Vendor::ANTHROPIC));
        assert_eq!(Vendor::of_key("sk-or-v1-0123"), Some(Vendor::OPENROUTER));
        assert_eq!(Vendor::of_key("sk-0123"), Some(Vendor::OPENAI));
        assert_eq!(Vendor::of_key("hunter22"), None);
    }
}
