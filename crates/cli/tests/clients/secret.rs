//! Secrets that an agent has, and the search for them on the disk.

use std::fs;
use std::path::Path;

/// Variables that an agent needs to live.
pub(crate) fn credentials() -> Vec<(&'static str, String)> {
    vec![
        ("OPENAI_API_KEY", ["sk-proj-", "Zt4vQm91LkXw07RbUyHc52NdGsPf83Ea"].concat()),
        ("ANTHROPIC_API_KEY", ["sk-ant-api03-", "Wq7TzK2mBv95HxLc40RnYgUd81JsPe36"].concat()),
        ("DATABASE_PASSWORD", "correct-horse-battery-41".to_owned()),
        ("GEMINI_API_KEY", ["AIza", "SyB7TzK2mBv95HxLc40RnYgUd81JsPe36Qw"].concat()),
    ]
}

/// What the scenario `secrets` says in its requests.
pub(crate) fn planted() -> Vec<(&'static str, String)> {
    vec![
        // By its shape, wherever it is.
        ("PLANTED_IN_BODY", ["ghp_", "a8Kd03LmQx57TzRwNc29VbYh64JsGu1EpF0i"].concat()),
        // By the name of its parameter.
        ("PLANTED_IN_QUERY", "qv-Rk4Tz81mWx73".to_owned()),
    ]
}

/// A text as it is recorded. The first value that a rule finds in a run has the number 1.
pub(crate) fn as_recorded(text: &str) -> String {
    let [(_, body), _] = &planted()[..] else { panic!("two are planted") };
    let (_, password) = &credentials()[2];
    text.replace(body, "[masked:github-token:1]").replace(password, "[masked:environment:2]")
}

/// The files below a folder in which a secret can be read.
pub(crate) fn leaks(folder: &Path) -> Vec<String> {
    let secrets: Vec<(&str, String)> = [credentials(), planted()].concat();
    let mut found = Vec::new();
    visit(folder, &mut |path, bytes| {
        // What is no UTF-8 cannot hide what is.
        let text = String::from_utf8_lossy(bytes);
        for (name, secret) in &secrets {
            if text.contains(secret) {
                found.push(format!("{name} in {}", path.display()));
            }
        }
    });
    found
}

/// Shows every file. While a run goes on, one may vanish between being listed and being read.
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
