//! Two judges of the same document: the structural check in code, and the published schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Registry, Validator};
use reenact_formats::rer::{
    RerArtifactReader, RerEventItem, RerStructureFault, artifact::RerReadError, structure,
};
use reenact_json::Limits;
use serde_json::Value;

/// Returns a folder of the repository.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Returns every published schema by its file name.
pub(crate) fn files() -> BTreeMap<String, Value> {
    let names = std::fs::read_dir(folder("schemas")).unwrap().map(|entry| entry.unwrap().file_name());
    names
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.ends_with(".schema.json"))
        .map(|name| {
            let bytes = std::fs::read(folder("schemas").join(&name)).unwrap();
            (name, serde_json::from_slice(&bytes).unwrap())
        })
        .collect()
}

/// The published schemas, compiled.
pub(crate) struct Schemas(BTreeMap<String, Validator>);

impl Schemas {
    /// Compiles the files as they are. They refer to each other by their relative names alone.
    pub(crate) fn load() -> Self {
        let files = files();
        let registry = files
            .iter()
            .fold(Registry::new(), |registry, (name, schema)| registry.add(name, schema).unwrap())
            .prepare()
            .unwrap();
        let compile =
            |schema| jsonschema::options().offline().with_registry(&registry).build(schema).unwrap();
        Self(files.iter().map(|(name, schema)| (name.clone(), compile(schema))).collect())
    }

    /// Returns the schema in that file.
    pub(crate) fn of(&self, file: &str) -> &Validator {
        &self.0[file]
    }

    /// Returns the schema for an artifact's version.
    pub(crate) fn of_artifact(&self, document: &Value) -> Option<&Validator> {
        match document.get("artifact_version")?.as_str()? {
            "rer-artifact/0.1" => Some(self.of("rer-artifact-0.1.schema.json")),
            "rer-artifact/0.2" => Some(self.of("rer-artifact-0.2.schema.json")),
            _ => None,
        }
    }

    /// Returns true if the document is an artifact by the schema for its version. Without a version there is no
    /// artifact.
    pub(crate) fn accept(&self, document: &Value) -> bool {
        self.of_artifact(document).is_some_and(|schema| schema.is_valid(document))
    }
}

/// Returns JSON pointers to all errors of a schema, also to a member that is missing or unexpected.
pub(crate) fn errors(schema: &Validator, document: &Value) -> BTreeSet<String> {
    let mut pointers = BTreeSet::new();
    for error in schema.iter_errors(document) {
        let at = error.instance_path().as_str();
        let member = |name: &str| format!("{at}/{name}");
        match error.kind() {
            ValidationErrorKind::Required { property } => pointers.extend(property.as_str().map(member)),
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                pointers.extend(unexpected.iter().map(|name| member(name)));
            }
            _ => pointers.extend([at.to_owned()]),
        }
    }
    pointers
}

/// Returns all faults of the structural check in a text that is valid JSON.
pub(crate) fn faults(text: &[u8]) -> Result<Vec<RerStructureFault>, RerReadError> {
    let mut reader = RerArtifactReader::open(text, &Limits::default())?;
    let (mut items, mut faults) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next_event()? {
        structure::check_event(items.len(), &item, &mut |fault| faults.push(fault));
        items.push(item);
    }
    let head = reader.into_head();
    structure::check_head(&head, &mut |fault| faults.push(fault));
    for (index, item) in items.iter().enumerate() {
        if let (RerEventItem::Event(event), Some(version)) = (item, head.version()) {
            faults.extend(structure::event_version_fault(index, event, version));
        }
    }
    Ok(faults)
}

/// Returns a fault's path as a JSON pointer.
pub(crate) fn pointer(fault: &RerStructureFault) -> String {
    fault.path.to_string().trim_start_matches('$').replace(['.', '['], "/").replace(']', "")
}

/// Returns true if `inner` points at `outer` or at something in it.
pub(crate) fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
