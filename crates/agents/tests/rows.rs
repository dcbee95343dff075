//! Rows: those that are built in are whole, those of the user replace and extend them, and broken ones are refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read stops")]

use std::fs;
use std::path::Path;

use reenact_agents::{AgentRow, AgentTable};
use reenact_testkit::fixture::TestDir;

#[test]
fn built_in_rows_are_whole() {
    let table = AgentTable::built_in().unwrap();
    let names: Vec<&str> = table.rows().iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["claude", "codex", "gemini", "qwen", "opencode", "aider"]);
    for row in table.rows() {
        let name = &row.name;
        assert!(!row.recognise.programs.is_empty() && !row.recognise.packages.is_empty(), "{name}");
        assert!(row.checked.is_some() && !row.login.is_empty(), "{name}");
        assert!(row.set.iter().all(|set| !set.why.is_empty()), "{name}");
        assert!(row.varies.iter().all(|value| !value.why.is_empty()), "{name}");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("agents/{name}.toml"));
        assert!(file.is_file(), "{}", file.display());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents");
    assert_eq!(
        fs::read_dir(folder).unwrap().count(),
        table.rows().len(),
        "a file without a line in the table"
    );
}

#[test]
fn rows_of_the_user_replace_and_extend() {
    let folder = TestDir::new();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("codex.toml", "name = \"codex\"\ntitle = \"My Codex\"\n[recognise]\nprograms = [\"mycodex\"]\n");
    write("acme.toml", "name = \"acme\"\ntitle = \"Acme\"\n[recognise]\nprograms = [\"acme\"]\n");
    write("notes.txt", "not a row");
    let table = AgentTable::with_folder(folder.path()).unwrap();
    assert_eq!(table.rows().len(), 7);
    assert_eq!(table.of_name("codex").unwrap().title, "My Codex");
    assert_eq!(table.recognise(&["acme".into()]).unwrap().0.name, "acme");
    assert!(table.recognise(&["codex".into()]).is_none());
    assert_eq!(AgentTable::with_folder(&folder.path().join("none")).unwrap().rows().len(), 6);
}

#[test]
fn broken_rows_are_named_by_file_and_line() {
    let refused = |text: &str| AgentRow::parse(text, Path::new("a.toml")).unwrap_err().to_string();
    let head = "name = \"a\"\ntitle = \"A\"\n";
    for (body, expected) in [
        ("colour = 1\n", "a.toml: line 3: unknown field `colour`"),
        ("[[set]]\nvariabel = \"X\"\n", "a.toml: line 4: unknown field `variabel`"),
        (
            "[[dummy]]\nkind = \"oauth\"\nvariable = \"X\"\n",
            "a.toml: line 3: a dummy is a variable with a value, or a folder with a file and its content",
        ),
        (
            "[[dummy]]\nkind = \"oauth\"\nfolder = \"config\"\nfile = \"a\"\ncontent = \"\"\n",
            "a.toml: line 5: there is no such folder in the row",
        ),
        (
            "[[dummy]]\nkind = \"oauth\"\nfolder = \"c\"\nfile = \"../a\"\ncontent = \"\"\n[folders]\nc = { variable = \"C\", default = \"~\" }\n",
            "a.toml: line 6: file: a name of letters, digits, dots and hyphens, without a folder",
        ),
        (
            "[[dummy]]\nkind = \"oauth\"\nfolder = \"c\"\nfile = \"a\"\ncontent = \"${jwt}\"\n[folders]\nc = { variable = \"C\", default = \"~\" }\n",
            "a.toml: line 7: content: the placeholders are ${token}, and ${jwt} with claims",
        ),
        ("[[set]]\nvariable = \"X\"\nwhy = \"w\"\n", "a.toml: line 5: give a variable a value or json"),
        (
            "[[set]]\nvariable = \"X\"\nvalue = \"${base:nowhere}\"\nwhy = \"w\"\n",
            "a.toml: line 5: there is no placeholder ${base:nowhere}",
        ),
        (
            "[[set]]\nvariable = \"X\"\noption = \"-x\"\nvalue = \"1\"\nwhy = \"w\"\n",
            "a.toml: line 7: one of variable, arguments, option and leave",
        ),
        (
            "[[set]]\noption = \"-x\"\nfile = \"../x\"\njson = \"{}\"\nwhy = \"w\"\n",
            "a.toml: line 7: file: a name of letters",
        ),
        (
            "[[set]]\noption = \"-x\"\nfile = \"x\"\njson = \"[]\"\nwhy = \"w\"\n",
            "a.toml: line 7: json: it must be a JSON object",
        ),
        (
            "[[route]]\nname = \"r\"\nspeaks = \"klingon\"\nupstream = \"http://x\"\n",
            "a.toml: line 5: there is no such vendor",
        ),
        ("[[login]]\nkind = \"magic\"\n", "a.toml: line 4: unknown variant `magic`"),
        (
            "[[varies]]\npath = \"metadata\"\nkind = \"free\"\nwhy = \"w\"\n",
            "a.toml: line 4: `metadata` is no path: it does not begin with `$`",
        ),
        (
            "[[varies]]\npath = \"$.a\"\nkind = \"number\"\nwhy = \"w\"\n",
            "a.toml: line 6: a number needs `after` and no `path`",
        ),
        ("[[varies]]\nkind = \"id\"\nwhy = \"w\"\n", "a.toml: line 5: an id or a free value needs a `path`"),
        (
            "[[varies]]\nafter = \"\"\nkind = \"number\"\nwhy = \"w\"\n",
            "a.toml: line 6: `after` is a text of 1 to 128 bytes",
        ),
        ("[[side_call]]\npath = \"$.a\"\nbegins = \"\"\nwhy = \"w\"\n", "a.toml: line 6: `begins` is empty"),
    ] {
        let said = refused(&format!("{head}{body}"));
        assert!(said.starts_with(expected), "{body}: {said}");
    }
    assert!(
        refused("name = \"../a\"\ntitle = \"A\"\n").starts_with("a.toml: line 1: a name is of lower-case")
    );
    assert!(refused("name =").starts_with("a.toml: line 1: "));
    assert_eq!(refused(&"#".repeat(70_000)), "a.toml: it is longer than 64 KiB");
}

#[test]
fn a_row_must_have_the_name_of_its_file() {
    let folder = TestDir::new();
    let file = folder.path().join("other.toml");
    fs::write(&file, "name = \"acme\"\ntitle = \"Acme\"\n").unwrap();
    let error = AgentTable::with_folder(folder.path()).unwrap_err();
    assert_eq!(
        (error.file, error.problem.as_str()),
        (file, "a row must be in a file of its name: acme.toml")
    );
}

#[test]
fn the_documentation_names_all_that_is_set() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let document = fs::read_to_string(document).unwrap();
    for row in AgentTable::built_in().unwrap().rows() {
        let line = document.lines().find(|line| line.starts_with(&format!("| {} |", row.title)));
        let line = line.unwrap_or_else(|| panic!("{}: no line in docs/agents.md", row.title));
        let set = row.set.iter().flat_map(|set| [set.variable.as_deref(), set.option.as_deref()]);
        for name in set.flatten().chain(row.recognise.programs.iter().map(String::as_str)) {
            assert!(line.contains(&format!("`{name}")), "{}: {name}", row.title);
        }
    }
}
