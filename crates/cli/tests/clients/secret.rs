//! Secrets that an agent has, and the search for them on the disk.

use std::fs;
use std::path::Path;

pub(crate) use crate::support::credentials::credentials;

/// Variables with the secrets that the scenario `secrets` puts into its requests.
pub(crate) fn planted() -> Vec<(&'static str, String)> {
    vec![
        // Recognised by its shape, anywhere.
        ("PLANTED_IN_BODY", ["ghp_", "a8Kd03LmQx57TzRwNc29VbYh64JsGu1EpF0i"].concat()),
        // Recognised by the name of its parameter.
        ("PLANTED_IN_QUERY", "qv-Rk4Tz81mWx73".to_owned()),
    ]
}

/// Returns a text as it is recorded. The first value that a rule finds in a run has the number 1.
pub(crate) fn as_recorded(text: &str) -> String {
    let [(_, body), _] = &planted()[..] else { panic!("two are planted") };
    let (_, password) = &credentials()[2];
    text.replace(body, "[masked:github-token:1]").replace(password, "[masked:environment:2]")
}

/// Returns the files below a folder that contain a secret.
pub(crate) fn leaks(folder: &Path) -> Vec<String> {
    let secrets: Vec<(&str, String)> = [credentials(), planted()].concat();
    let mut found = Vec::new();
    visit(folder, &mut |path, bytes| {
        // The secrets are ASCII, so that a lossy conversion cannot hide them.
        let text = String::from_utf8_lossy(bytes);
        for (name, secret) in &secrets {
            if text.contains(secret) {
                found.push(format!("{name} in {}", path.display()));
            }
        }
    });
    found
}

/// Calls `show` with every file. During a run a file may vanish between being listed and being read.
fn visit(folder: &Path, show: &mut dyn FnMut(&Path, &[u8])) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            visit(&path, show);
        } else if let Ok(bytes) = fs::read(&path) {
            show(&path, &bytes);
        }
    }
}

#[test]
fn what_lies_open_is_found() {
    let folder = crate::support::folder::Folder::empty();
    assert_eq!(leaks(&folder.path()), Vec::<String>::new());
    let file = folder.path().join("deep/er.json");
    folder.write("deep/er.json", format!("[\"{}\"]", planted()[0].1));
    assert_eq!(leaks(&folder.path()), [format!("PLANTED_IN_BODY in {}", file.display())]);
}
