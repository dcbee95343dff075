//! The trust store: public keys with their owners, what each is trusted for, and their standing.
//!
//! ```json
//! {
//!   "version": 2,
//!   "keys": [
//!     {"key_id": "…", "x": "…", "label": "ci", "standing": "trusted", "roles": ["runtime"]},
//!     {"key_id": "…", "x": "…", "standing": "superseded", "by": "…", "roles": ["platform", "approver"]},
//!     {"key_id": "…", "x": "…", "standing": "compromised", "since": "2026-05-01T00:00:00Z", "roles": ["runtime"]}
//!   ]
//! }
//! ```
//!
//! | member | rule |
//! |---|---|
//! | `key_id` | the SHA-256 of the key in base64url (RER §6.5); must be that of `x`; each key once |
//! | `x` | the 32 bytes of the public key in base64url, as in a JWK |
//! | `label` | optional: what you call its owner; 1 to 100 characters, all visible |
//! | `standing` | `trusted`, `superseded`, `compromised` |
//! | `by` | with `superseded` only: the id of the key that took its place |
//! | `since` | with `compromised` only, optional: when, in RFC 3339 |
//! | `roles` | what the key is trusted for, each once: `runtime`, `platform`, `approver`; at least one |
//!
//! A store of version 1 has no `roles`: each of its keys is trusted as a runtime's, which is what it was added for.
//!
//! Anything else is refused rather than guessed at: a misspelt member would be trust by mistake. `since` is
//! for people. It decides nothing, since the holder of a stolen key can write any date.
//!
//! Start reading at [`TrustStore`].

use std::collections::BTreeMap;

use base64ct::{Base64UrlUnpadded, Encoding};
use reenact_json::print::{self, PrintObjectWriter};
use reenact_json::{Limits, SyntaxError, Value, ValueKind, shown};

use crate::key::{KeyId, PublicKey};
use crate::rer::time;

/// Purpose for which the signatures of a key are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRole {
    /// Seals runs.
    Runtime,
    /// Authorises envelopes.
    Platform,
    /// Approves actions.
    Approver,
}

impl KeyRole {
    /// Every role, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Runtime, Self::Platform, Self::Approver];

    /// Returns the word in the store's text, and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::Platform => "platform",
            Self::Approver => "approver",
        }
    }

    /// Returns the role that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == word)
    }
}

/// Set of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyRoles([bool; 3]);

impl KeyRoles {
    /// No role.
    pub const NONE: Self = Self([false; 3]);
    /// Every role.
    pub const ALL: Self = Self([true; 3]);

    /// Returns true if the role is in the set.
    pub fn contains(self, role: KeyRole) -> bool {
        self.0[role as usize]
    }

    /// Returns the roles that are in either set.
    pub fn union(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] || other.0[at]))
    }

    /// Returns the roles of the set, in the order of [`KeyRole::ALL`].
    pub fn iter(self) -> impl Iterator<Item = KeyRole> {
        KeyRole::ALL.into_iter().filter(move |role| self.contains(*role))
    }
}

impl From<KeyRole> for KeyRoles {
    fn from(role: KeyRole) -> Self {
        [role].into_iter().collect()
    }
}

impl FromIterator<KeyRole> for KeyRoles {
    fn from_iter<I: IntoIterator<Item = KeyRole>>(roles: I) -> Self {
        let mut set = Self::NONE;
        roles.into_iter().for_each(|role| set.0[role as usize] = true);
        set
    }
}

impl core::fmt::Display for KeyRoles {
    /// Writes the words, separated by commas.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let words: Vec<&str> = self.iter().map(KeyRole::name).collect();
        f.write_str(&words.join(", "))
    }
}

/// Standing of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The owner is known and believed.
    Trusted,
    /// The owner signs with another key now. Signatures of this one still count.
    Superseded {
        /// Key that took its place.
        by: KeyId,
    },
    /// Someone else may have the key: no signature under it can be believed.
    Compromised {
        /// Time of the compromise, as far as anyone knows (RFC 3339).
        since: Option<String>,
    },
}

impl Standing {
    /// Returns the word in the store's text.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Superseded { .. } => "superseded",
            Self::Compromised { .. } => "compromised",
        }
    }
}

/// Entry of the store: one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustEntry {
    /// Public key.
    pub key: PublicKey,
    /// Name of its owner.
    pub label: Option<KeyLabel>,
    /// Standing of the key.
    pub standing: Standing,
    /// Purposes for which it is trusted.
    pub roles: KeyRoles,
}

/// Name that someone gives to the owner of a key: 1 to 100 visible characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyLabel(String);

impl KeyLabel {
    /// Takes a text that can be printed anywhere; `None` for any other.
    pub fn new(text: &str) -> Option<Self> {
        let fits = (1..=100).contains(&text.chars().count());
        let is_plain = !text.chars().any(shown::is_unsafe) && text.trim() == text;
        (fits && is_plain).then(|| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reason why a text is not a trust store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// Not JSON.
    #[error("is not JSON: {0}")]
    Json(#[from] SyntaxError),
    /// JSON, but no object.
    #[error("is not a trust store: it must be an object with `version` and `keys`")]
    NotAnObject,
    /// `version` is neither 1 nor 2: another version of reenact wrote the file, and its meaning is unknown here.
    #[error("`version` must be 1 or 2: a newer reenact may have written this")]
    Version,
    /// `keys` is absent or not an array.
    #[error("`keys` must be a list")]
    Keys,
    /// A member beside `version` and `keys`.
    #[error("has a member that does not belong there, beside `version` and `keys`")]
    UnknownMember,
    /// Fault of one key.
    #[error("keys[{at}]: {fault}")]
    Entry {
        /// Index of the key, 0-based.
        at: usize,
        /// Fault of its entry.
        fault: TrustEntryFault,
    },
}

/// Fault of a key in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustEntryFault {
    /// The entry is not an object.
    #[error("must be an object")]
    NotAnObject,
    /// A member that does not belong there.
    #[error("has a member that does not belong there")]
    UnknownMember,
    /// `x` is not a key.
    #[error("`x` must be an Ed25519 public key in base64url without padding")]
    PublicPart,
    /// `key_id` is that of another key.
    #[error("`key_id` must be the id of the key in `x`")]
    KeyId,
    /// A key of small order.
    #[error("the key is of small order: a signature under it proves nothing")]
    Weak,
    /// `label` is empty, too long, or not printable.
    #[error("`label` must have 1 to 100 visible characters")]
    Label,
    /// `standing` is none of the three words.
    #[error("`standing` must be trusted, superseded or compromised")]
    Standing,
    /// `by` is not the id of another key, or does not belong there.
    #[error("`by` must be the id of another key, and stand with `superseded` only")]
    By,
    /// `since` is not a time, or does not belong there.
    #[error("`since` must be a time like 2026-05-01T00:00:00Z, and stand with `compromised` only")]
    Since,
    /// `roles` is not a list of one to three different roles, or stands in a store of version 1.
    #[error(
        "`roles` must be a list of runtime, platform and approver, each at most once, and stand in version 2 only"
    )]
    Roles,
    /// The same key a second time.
    #[error("the same key stands twice")]
    Duplicate,
}

/// Reason why the store was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustRefusal {
    /// A key of small order.
    #[error("the key is of small order: a signature under it proves nothing")]
    Weak,
    /// The key is compromised, and stays so until it is removed from the store.
    #[error("the key is marked as compromised")]
    Compromised,
    /// A key cannot supersede itself.
    #[error("a key cannot supersede itself")]
    SupersedesItself,
    /// Not a time of RFC 3339.
    #[error("is not a time like 2026-05-01T00:00:00Z")]
    Time,
}

/// Effect of [`TrustStore::trust`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustChange {
    /// The key is new.
    Added,
    /// The key has another label now.
    Relabelled,
    /// The key is trusted for more than before.
    Extended,
    /// The key was there, trusted or superseded; nothing changed.
    Unchanged,
}

/// The store, as data. The caller decides where it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustStore {
    entries: BTreeMap<KeyId, TrustEntry>,
}

impl TrustStore {
    /// Parses the text of a store.
    ///
    /// # Errors
    ///
    /// [`TrustError`] at the first fault; nothing of a faulty store is used.
    pub fn parse(text: &[u8]) -> Result<Self, TrustError> {
        let document = Value::parse(text, &Limits::default())?;
        if document.kind() != ValueKind::Object {
            return Err(TrustError::NotAnObject);
        }
        // The version comes first: a store of another version is not ours to judge.
        let version = document.member("version").and_then(|version| version.unsigned_integer());
        let version = version.filter(|version| (1..=2).contains(version)).ok_or(TrustError::Version)?;
        if has_unknown_members(document, &["version", "keys"]) {
            return Err(TrustError::UnknownMember);
        }
        let keys =
            document.member("keys").filter(|keys| keys.kind() == ValueKind::Array).ok_or(TrustError::Keys)?;
        let mut store = Self::default();
        for (at, element) in keys.elements().enumerate() {
            let failed = |fault| TrustError::Entry { at, fault };
            let entry = read_entry(element, version).map_err(failed)?;
            if store.entries.insert(entry.key.id(), entry).is_some() {
                return Err(failed(TrustEntryFault::Duplicate));
            }
        }
        Ok(store)
    }

    /// Returns the text of the store, one key a line, by key id.
    pub fn to_json(&self) -> String {
        let mut lines: Vec<(String, String)> = self
            .entries
            .iter()
            .map(|(id, entry)| {
                let id = id.to_string();
                let line = write_entry(&id, entry);
                (id, line)
            })
            .collect();
        lines.sort();
        let lines: Vec<String> = lines.into_iter().map(|(_, line)| format!("\n    {line}")).collect();
        let end = if lines.is_empty() { "" } else { "\n  " };
        format!("{{\n  \"version\": 2,\n  \"keys\": [{}{end}]\n}}\n", lines.join(","))
    }

    /// Returns all keys.
    pub fn entries(&self) -> impl Iterator<Item = &TrustEntry> {
        self.entries.values()
    }

    /// Returns the key of that id.
    pub fn find(&self, id: &KeyId) -> Option<&TrustEntry> {
        self.entries.get(id)
    }

    /// Trusts a key from now on, in these roles. No role is taken away; without any, a new key is trusted as a
    /// runtime's. A superseded key stays superseded: its owner may publish old keys beside new ones.
    ///
    /// # Errors
    ///
    /// [`TrustRefusal`] if the key is weak or compromised.
    pub fn trust(
        &mut self,
        key: PublicKey,
        label: Option<KeyLabel>,
        roles: KeyRoles,
    ) -> Result<TrustChange, TrustRefusal> {
        if key.is_weak() {
            return Err(TrustRefusal::Weak);
        }
        let Some(entry) = self.entries.get_mut(&key.id()) else {
            let roles = if roles == KeyRoles::NONE { KeyRole::Runtime.into() } else { roles };
            self.entries.insert(key.id(), TrustEntry { key, label, standing: Standing::Trusted, roles });
            return Ok(TrustChange::Added);
        };
        if matches!(entry.standing, Standing::Compromised { .. }) {
            return Err(TrustRefusal::Compromised);
        }
        let (had, is_relabelled) = (entry.roles, label.is_some() && label != entry.label);
        entry.roles = had.union(roles);
        entry.label = label.or(entry.label.take());
        Ok(match (entry.roles == had, is_relabelled) {
            (false, _) => TrustChange::Extended,
            (true, true) => TrustChange::Relabelled,
            (true, false) => TrustChange::Unchanged,
        })
    }

    /// Marks a key as superseded by another. The key need not be in the store.
    ///
    /// # Errors
    ///
    /// [`TrustRefusal`] if the key is weak, compromised, or the same.
    pub fn supersede(&mut self, key: PublicKey, by: KeyId) -> Result<(), TrustRefusal> {
        if key.id() == by {
            return Err(TrustRefusal::SupersedesItself);
        }
        let entry = self.entry(key)?;
        if matches!(entry.standing, Standing::Compromised { .. }) {
            return Err(TrustRefusal::Compromised);
        }
        entry.standing = Standing::Superseded { by };
        Ok(())
    }

    /// Marks a key as compromised, whatever its standing was. The key need not be in the store.
    ///
    /// # Errors
    ///
    /// [`TrustRefusal`] if the key is weak, or `since` is not a time of RFC 3339.
    pub fn compromise(&mut self, key: PublicKey, since: Option<&str>) -> Result<(), TrustRefusal> {
        if since.is_some_and(|since| !time::is_rfc3339(since.as_bytes())) {
            return Err(TrustRefusal::Time);
        }
        let entry = self.entry(key)?;
        let known = match &entry.standing {
            Standing::Compromised { since } => since.clone(),
            _ => None,
        };
        entry.standing = Standing::Compromised { since: since.map(str::to_owned).or(known) };
        Ok(())
    }

    /// Removes a key, whatever its standing is; returns its entry.
    pub fn forget(&mut self, id: &KeyId) -> Option<TrustEntry> {
        self.entries.remove(id)
    }

    fn entry(&mut self, key: PublicKey) -> Result<&mut TrustEntry, TrustRefusal> {
        if key.is_weak() {
            return Err(TrustRefusal::Weak);
        }
        let roles = KeyRole::Runtime.into();
        let unmarked = TrustEntry { key, label: None, standing: Standing::Trusted, roles };
        Ok(self.entries.entry(key.id()).or_insert(unmarked))
    }
}

/// Returns true if an object has members beside these.
fn has_unknown_members(object: Value<'_>, names: &[&str]) -> bool {
    object.members().any(|(name, _)| !names.iter().any(|known| name.is_string(known)))
}

fn read_entry(entry: Value<'_>, version: u64) -> Result<TrustEntry, TrustEntryFault> {
    if entry.kind() != ValueKind::Object {
        return Err(TrustEntryFault::NotAnObject);
    }
    if has_unknown_members(entry, &["key_id", "x", "label", "standing", "by", "since", "roles"]) {
        return Err(TrustEntryFault::UnknownMember);
    }
    // A member that is not a string is as wrong as one that spells nonsense.
    let text = |name: &str| entry.member(name).map(|value| value.string().unwrap_or_default());
    let mut raw = [0; 32];
    let decoded =
        text("x").and_then(|x| Base64UrlUnpadded::decode(x.as_bytes(), &mut raw).ok().map(<[u8]>::len));
    let key = decoded.filter(|length| *length == 32).and_then(|_| PublicKey::from_raw(&raw).ok());
    let key = key.ok_or(TrustEntryFault::PublicPart)?;
    if text("key_id").and_then(|id| KeyId::parse(&id)) != Some(key.id()) {
        return Err(TrustEntryFault::KeyId);
    }
    if key.is_weak() {
        return Err(TrustEntryFault::Weak);
    }
    let label = match text("label") {
        None => None,
        Some(label) => Some(KeyLabel::new(&label).ok_or(TrustEntryFault::Label)?),
    };
    let (by, since) = (text("by"), text("since"));
    let standing = text("standing").unwrap_or_default();
    if by.is_some() && standing != "superseded" {
        return Err(TrustEntryFault::By);
    }
    if since.is_some() && standing != "compromised" {
        return Err(TrustEntryFault::Since);
    }
    let standing = match &*standing {
        "trusted" => Standing::Trusted,
        "superseded" => {
            let by = by.and_then(|by| KeyId::parse(&by)).filter(|by| *by != key.id());
            Standing::Superseded { by: by.ok_or(TrustEntryFault::By)? }
        }
        "compromised" => {
            if since.as_ref().is_some_and(|since| !time::is_rfc3339(since.as_bytes())) {
                return Err(TrustEntryFault::Since);
            }
            Standing::Compromised { since: since.map(Into::into) }
        }
        _ => return Err(TrustEntryFault::Standing),
    };
    let roles = read_roles(entry.member("roles"), version).ok_or(TrustEntryFault::Roles)?;
    Ok(TrustEntry { key, label, standing, roles })
}

/// Reads the roles of an entry; `None` if they are not right for the version of the store.
fn read_roles(roles: Option<Value<'_>>, version: u64) -> Option<KeyRoles> {
    let Some(list) = roles else { return (version == 1).then_some(KeyRole::Runtime.into()) };
    if version == 1 || list.kind() != ValueKind::Array {
        return None;
    }
    let words = list.elements().map(|word| KeyRole::parse(&word.string()?));
    let words: Vec<KeyRole> = words.collect::<Option<_>>()?;
    let set: KeyRoles = words.iter().copied().collect();
    (!words.is_empty() && set.iter().count() == words.len()).then_some(set)
}

fn write_entry(id: &str, entry: &TrustEntry) -> String {
    let mut line = String::new();
    let mut object = PrintObjectWriter::open(&mut line);
    object.string("key_id", id);
    object.string("x", entry.key.to_base64url().as_str());
    if let Some(label) = &entry.label {
        print::write_string(label.as_str(), object.name("label"));
    }
    object.string("standing", entry.standing.name());
    match &entry.standing {
        Standing::Superseded { by } => object.string("by", by.to_string().as_str()),
        Standing::Compromised { since: Some(since) } => object.string("since", since.as_str()),
        _ => {}
    }
    let roles: Vec<KeyRole> = entry.roles.iter().collect();
    print::write_list(&roles, object.name("roles"), |role, out| print::write_string(role.name(), out));
    object.close();
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    /// Public key of the vectors.
    const ALPHA: &str = "ISsSXTbI1o8oK6RYDfRaioVrJGS76mk_9QO9lW6nQHI";
    /// RFC 8037 appendix A.1.
    const OTHER: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn key(x: &str) -> PublicKey {
        PublicKey::from_raw(&Base64UrlUnpadded::decode_vec(x).unwrap()).unwrap()
    }

    fn label(text: &str) -> Option<KeyLabel> {
        Some(KeyLabel::new(text).unwrap())
    }

    fn standing(store: &TrustStore, key: PublicKey) -> Standing {
        store.find(&key.id()).unwrap().standing.clone()
    }

    fn parse(text: &str) -> Result<TrustStore, TrustError> {
        TrustStore::parse(text.as_bytes())
    }

    #[test]
    fn the_text_of_a_store() {
        let (alpha, other) = (key(ALPHA), key(OTHER));
        let mut store = TrustStore::default();
        assert_eq!(store.to_json(), "{\n  \"version\": 2,\n  \"keys\": []\n}\n");
        let roles = [KeyRole::Approver, KeyRole::Platform].into_iter().collect();
        store.trust(alpha, label("ci \"x\""), roles).unwrap();
        store.supersede(other, alpha.id()).unwrap();
        let lines = [
            format!(
                r#"{{"key_id":"{}","x":"{ALPHA}","label":"ci \"x\"","standing":"trusted","roles":["platform","approver"]}}"#,
                alpha.id()
            ),
            format!(
                r#"{{"key_id":"{}","x":"{OTHER}","standing":"superseded","by":"{}","roles":["runtime"]}}"#,
                other.id(),
                alpha.id()
            ),
        ];
        assert_eq!(
            store.to_json(),
            format!("{{\n  \"version\": 2,\n  \"keys\": [\n    {},\n    {}\n  ]\n}}\n", lines[0], lines[1])
        );
        assert_eq!(parse(&store.to_json()), Ok(store));
    }

    #[test]
    fn trusting() {
        let alpha = key(ALPHA);
        let mut store = TrustStore::default();
        assert_eq!(store.trust(alpha, None, KeyRoles::NONE), Ok(TrustChange::Added));
        assert_eq!(store.trust(alpha, None, KeyRoles::NONE), Ok(TrustChange::Unchanged));
        assert_eq!(store.trust(alpha, label("a"), KeyRoles::NONE), Ok(TrustChange::Relabelled));
        assert_eq!(store.trust(alpha, None, KeyRoles::NONE), Ok(TrustChange::Unchanged));
        assert_eq!(store.find(&alpha.id()).unwrap().label, label("a"));
        let mut identity = [0; 32];
        identity[0] = 1;
        let weak = PublicKey::from_raw(&identity).unwrap();
        assert_eq!(store.trust(weak, None, KeyRoles::NONE), Err(TrustRefusal::Weak));
        assert_eq!(store.compromise(weak, None), Err(TrustRefusal::Weak));
        assert_eq!(store.entries().count(), 1);
    }

    #[test]
    fn roles_are_added_and_never_taken_away() {
        let alpha = key(ALPHA);
        let mut store = TrustStore::default();
        let roles = |store: &TrustStore| store.find(&alpha.id()).unwrap().roles.to_string();
        store.trust(alpha, None, KeyRoles::NONE).unwrap();
        assert_eq!(roles(&store), "runtime");
        assert_eq!(store.trust(alpha, None, KeyRole::Approver.into()), Ok(TrustChange::Extended));
        assert_eq!(store.trust(alpha, None, KeyRole::Runtime.into()), Ok(TrustChange::Unchanged));
        assert_eq!(roles(&store), "runtime, approver");
        // A key that is first trusted as a platform's seals no run.
        store.forget(&alpha.id());
        store.trust(alpha, None, KeyRole::Platform.into()).unwrap();
        assert_eq!(roles(&store), "platform");
    }

    /// A store of version 1 says nothing about roles: its keys are those of runtimes, and authorise nothing.
    #[test]
    fn a_store_of_version_1_holds_runtimes() {
        let id = key(ALPHA).id();
        let entry = |roles: &str| format!(r#"{{"key_id":"{id}","x":"{ALPHA}","standing":"trusted"{roles}}}"#);
        let store = |version: u8, roles: &str| {
            parse(&format!(r#"{{"version":{version},"keys":[{}]}}"#, entry(roles)))
        };
        assert_eq!(store(1, "").unwrap().find(&id).unwrap().roles, KeyRole::Runtime.into());
        assert_eq!(
            store(2, r#","roles":["approver"]"#).unwrap().find(&id).unwrap().roles,
            KeyRole::Approver.into()
        );
        let refused = Err(TrustError::Entry { at: 0, fault: TrustEntryFault::Roles });
        for roles in [
            "",
            r#","roles":[]"#,
            r#","roles":"platform""#,
            r#","roles":["owner"]"#,
            r#","roles":[1]"#,
            r#","roles":["runtime","runtime"]"#,
        ] {
            assert_eq!(store(2, roles), refused, "{roles}");
        }
        assert_eq!(store(1, r#","roles":["platform"]"#), refused);
    }

    #[test]
    fn a_superseded_key_is_not_trusted_again_by_accident() {
        let (alpha, other) = (key(ALPHA), key(OTHER));
        let mut store = TrustStore::default();
        assert_eq!(store.supersede(alpha, alpha.id()), Err(TrustRefusal::SupersedesItself));
        store.supersede(alpha, other.id()).unwrap();
        assert_eq!(store.trust(alpha, None, KeyRoles::NONE), Ok(TrustChange::Unchanged));
        assert_eq!(standing(&store, alpha), Standing::Superseded { by: other.id() });
    }

    #[test]
    fn compromised_it_stays() {
        let (alpha, other) = (key(ALPHA), key(OTHER));
        let mut store = TrustStore::default();
        store.trust(alpha, label("a"), KeyRoles::NONE).unwrap();
        assert_eq!(store.compromise(alpha, Some("yesterday")), Err(TrustRefusal::Time));
        let since = Some("2026-05-01T00:00:00Z".to_owned());
        store.compromise(alpha, since.as_deref()).unwrap();
        store.compromise(alpha, None).unwrap();
        assert_eq!(standing(&store, alpha), Standing::Compromised { since });
        assert_eq!(store.trust(alpha, None, KeyRoles::NONE), Err(TrustRefusal::Compromised));
        assert_eq!(store.supersede(alpha, other.id()), Err(TrustRefusal::Compromised));
        assert_eq!(store.forget(&alpha.id()).unwrap().label, label("a"));
        assert_eq!(store.forget(&alpha.id()), None);
        assert_eq!(store, TrustStore::default());
    }

    #[test]
    fn labels() {
        for good in ["a", "ci @ example.org", "日本", &"x".repeat(100)] {
            assert_eq!(KeyLabel::new(good).unwrap().as_str(), good);
        }
        for bad in ["", " a", "a ", "a\nb", "\u{1b}[2J", "\u{202e}gpj", &"x".repeat(101)] {
            assert_eq!(KeyLabel::new(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn refused_texts() {
        assert!(matches!(parse(""), Err(TrustError::Json(_))));
        assert!(matches!(parse(r#"{"version":1,"version":1,"keys":[]}"#), Err(TrustError::Json(_))));
        assert_eq!(parse("[]"), Err(TrustError::NotAnObject));
        for version in
            ["{}", r#"{"version":0,"keys":[]}"#, r#"{"version":3,"keys":[]}"#, r#"{"version":"1","keys":[]}"#]
        {
            assert_eq!(parse(version), Err(TrustError::Version), "{version}");
        }
        assert_eq!(parse(r#"{"version":1}"#), Err(TrustError::Keys));
        assert_eq!(parse(r#"{"version":1,"keys":{}}"#), Err(TrustError::Keys));
        assert_eq!(parse(r#"{"version":1,"keys":[],"more":1}"#), Err(TrustError::UnknownMember));
    }

    #[test]
    fn refused_keys() {
        let (alpha, other) = (key(ALPHA).id(), key(OTHER).id());
        let fault = |keys: &str| match parse(&format!(r#"{{"version":1,"keys":[{keys}]}}"#)) {
            Err(TrustError::Entry { at, fault }) => Some((at, fault)),
            Err(error) => panic!("{keys}: {error}"),
            Ok(_) => None,
        };
        let with = |rest: &str| fault(&format!(r#"{{"key_id":"{alpha}","x":"{ALPHA}",{rest}}}"#));
        assert_eq!(with(r#""standing":"trusted""#), None);
        assert_eq!(with(&format!(r#""standing":"superseded","by":"{other}""#)), None);
        assert_eq!(with(r#""standing":"compromised""#), None);
        assert_eq!(fault("7"), Some((0, TrustEntryFault::NotAnObject)));
        assert_eq!(fault(r#"{"standing":"trusted"}"#), Some((0, TrustEntryFault::PublicPart)));
        assert_eq!(fault(r#"{"x":"AA"}"#), Some((0, TrustEntryFault::PublicPart)));
        assert_eq!(fault(&format!(r#"{{"x":"{ALPHA}="}}"#)), Some((0, TrustEntryFault::PublicPart)));
        assert_eq!(fault(&format!(r#"{{"x":"{ALPHA}"}}"#)), Some((0, TrustEntryFault::KeyId)));
        assert_eq!(
            fault(&format!(r#"{{"x":"{ALPHA}","key_id":"{other}","standing":"trusted"}}"#)),
            Some((0, TrustEntryFault::KeyId))
        );
        for (rest, expected) in [
            (r#""standing":"trusted","labl":"a""#.to_owned(), TrustEntryFault::UnknownMember),
            (r#""standing":"trusted","label":"""#.to_owned(), TrustEntryFault::Label),
            (r#""standing":"trusted","label":null"#.to_owned(), TrustEntryFault::Label),
            (r#""label":"a""#.to_owned(), TrustEntryFault::Standing),
            (r#""standing":"Trusted""#.to_owned(), TrustEntryFault::Standing),
            (r#""standing":true"#.to_owned(), TrustEntryFault::Standing),
            (r#""standing":"superseded""#.to_owned(), TrustEntryFault::By),
            (r#""standing":"superseded","by":"me""#.to_owned(), TrustEntryFault::By),
            (format!(r#""standing":"superseded","by":"{alpha}""#), TrustEntryFault::By),
            (format!(r#""standing":"trusted","by":"{other}""#), TrustEntryFault::By),
            (r#""standing":"compromised","since":"today""#.to_owned(), TrustEntryFault::Since),
            (r#""standing":"trusted","since":"2026-05-01T00:00:00Z""#.to_owned(), TrustEntryFault::Since),
        ] {
            assert_eq!(with(&rest), Some((0, expected)), "{rest}");
        }
        let good = format!(r#"{{"key_id":"{alpha}","x":"{ALPHA}","standing":"trusted"}}"#);
        assert_eq!(fault(&format!("{good},{good}")), Some((1, TrustEntryFault::Duplicate)));
        let identity = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let id = key(identity).id();
        assert_eq!(
            fault(&format!(r#"{{"key_id":"{id}","x":"{identity}","standing":"trusted"}}"#)),
            Some((0, TrustEntryFault::Weak))
        );
    }

    /// About half of all 32-byte values are points; hardly any is weak.
    fn keys() -> impl Strategy<Value = PublicKey> {
        any::<[u8; 32]>()
            .prop_filter_map("a key", |raw| PublicKey::from_raw(&raw).ok().filter(|key| !key.is_weak()))
    }

    fn stores() -> impl Strategy<Value = TrustStore> {
        let step = (keys(), keys(), 0..3, option::of("\\PC{1,20}"), any::<bool>(), any::<[bool; 3]>());
        vec(step, 0..12).prop_map(|steps| {
            let mut store = TrustStore::default();
            for (key, by, what, label, dated, roles) in steps {
                let roles = KeyRoles(roles);
                let label = label.and_then(|label| KeyLabel::new(&label));
                let since = dated.then_some("2026-05-01T00:00:00.5+02:00");
                let _ = store.trust(key, label, roles);
                let _ = match what {
                    0 => Ok(()),
                    1 => store.supersede(key, by.id()),
                    _ => store.compromise(key, since),
                };
            }
            store
        })
    }

    proptest! {
        #[test]
        fn a_store_comes_back(store in stores()) {
            let text = store.to_json();
            prop_assert_eq!(parse(&text), Ok(store.clone()));
            prop_assert_eq!(parse(&text).unwrap().to_json(), text);
        }

        #[test]
        fn a_changed_byte_is_refused_or_seen(store in stores(), at in any::<usize>(), byte in any::<u8>()) {
            let mut text = store.to_json().into_bytes();
            let at = at % text.len();
            text[at] = byte;
            // Never a panic; and no key under an id that is not its own.
            if let Ok(read) = TrustStore::parse(&text) {
                prop_assert!(read.entries.iter().all(|(id, entry)| entry.key.id() == *id));
            }
        }
    }
}
