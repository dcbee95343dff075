//! Agents in commands: which one is seen, how, and where its arguments go.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read stops")]

use reenact_agents::{AgentTable, ArgumentsPlace};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Place of the arguments, in short.
#[derive(Debug, PartialEq)]
enum Place {
    At(usize),
    Shim(&'static str),
    Nowhere,
}
use Place::{At, Nowhere, Shim};

#[test]
fn agents_are_seen_through_wrappers() {
    let table = AgentTable::built_in().unwrap();
    let cases: &[(&[&str], &str, Place)] = &[
        (&["claude", "-p", "hi"], "claude", At(1)),
        (&["/opt/bin/claude"], "claude", At(1)),
        (&["C:\\tools\\codex.exe", "exec"], "codex", At(1)),
        (&["codex.cmd", "e"], "codex", At(1)),
        (&["env", "-u", "X", "A=b", "codex", "exec"], "codex", At(5)),
        (&["nice", "-n", "5", "timeout", "-k", "1", "10", "gemini"], "gemini", At(8)),
        (&["npx", "-y", "@openai/codex", "exec"], "codex", At(3)),
        (&["npx", "@openai/codex@0.166.0", "exec"], "codex", At(2)),
        (&["npx", "-p", "@openai/codex", "codex", "exec"], "codex", At(4)),
        (&["npx", "--package=@openai/codex", "--", "codex", "exec"], "codex", At(4)),
        (&["bunx", "@anthropic-ai/claude-code"], "claude", At(2)),
        (&["bun", "x", "opencode-ai", "run"], "opencode", At(3)),
        (&["pnpm", "dlx", "@qwen-code/qwen-code"], "qwen", At(3)),
        (&["npm", "exec", "--", "@openai/codex", "exec"], "codex", At(4)),
        (&["npm", "exec", "@openai/codex", "--", "exec"], "codex", At(4)),
        (&["npm", "exec", "@openai/codex", "exec"], "codex", Nowhere),
        (&["uvx", "--from", "aider-chat", "aider"], "aider", At(4)),
        (&["uvx", "aider-chat@0.86.2"], "aider", At(2)),
        (&["uv", "tool", "run", "aider-chat==0.86"], "aider", At(4)),
        (&["uv", "run", "--with", "x", "aider"], "aider", At(5)),
        (&["pipx", "run", "aider-chat[help]"], "aider", At(3)),
        (&["python3", "-m", "aider", "--yes"], "aider", At(3)),
        (&["python", "-X", "utf8", "-m", "aider"], "aider", At(5)),
        (&["python", "/venv/bin/aider"], "aider", At(2)),
        (&["node", "node_modules/@openai/codex/bin/codex.js", "exec"], "codex", At(2)),
        (&["node", "--no-warnings", "/x/@google/gemini-cli/bundle/gemini.js"], "gemini", At(3)),
        (&["node", "node_modules/.bin/qwen"], "qwen", At(2)),
        (&["deno", "run", "-A", "npm:@openai/codex", "exec"], "codex", At(4)),
        (&["sh", "-c", "codex exec 'do it'"], "codex", Shim("codex")),
        (&["bash", "-xc", "cd x && FOO=1 codex e hi | tee log"], "codex", Shim("codex")),
        // A login shell sets `PATH` anew.
        (&["bash", "-lc", "cd x && FOO=1 codex e hi | tee log"], "codex", Nowhere),
        (&["zsh", "-l", "-c", "codex e hi"], "codex", Nowhere),
        (&["bash", "--login", "-c", "codex e hi"], "codex", Nowhere),
        (&["bash", "-e", "-c", "nohup codex exec hi"], "codex", Shim("codex")),
        (&["sh", "-c", "/opt/codex exec"], "codex", Nowhere),
        (&["sh", "-c", "npx @openai/codex exec"], "codex", Nowhere),
    ];
    for (command, agent, place) in cases {
        let Some((row, seen)) = table.recognise(&words(command)) else { panic!("{command:?}: not seen") };
        let found = match &seen.place {
            ArgumentsPlace::At(at) => At(*at),
            ArgumentsPlace::Shim(name) if name == "codex" => Shim("codex"),
            ArgumentsPlace::Shim(name) => panic!("{command:?}: {name}"),
            ArgumentsPlace::Nowhere(_) => Nowhere,
        };
        assert_eq!((row.name.as_str(), found), (*agent, place_of(place)), "{command:?}");
    }
}

fn place_of(place: &Place) -> Place {
    match place {
        At(at) => At(*at),
        Shim(name) => Shim(name),
        Nowhere => Nowhere,
    }
}

#[test]
fn other_commands_are_none() {
    let table = AgentTable::built_in().unwrap();
    for command in [
        &["python", "agent.py"][..],
        &["echo", "codex"],
        &["sh", "-c", "echo codex"],
        &["sh", "codex"],
        &["cat", "claude"],
        &["python", "x.py", "-m", "aider"],
        &["node", "mycodex/bin/codexx.js"],
        &["node", "codex"],
        &["npx", "codex-helper"],
        &["env"],
        &["env", "A=b"],
        &["timeout"],
        &["npx"],
        &["sh", "-c"],
        &[],
    ] {
        assert!(table.recognise(&words(command)).is_none(), "{command:?}");
    }
}

#[test]
fn variables_of_the_command_count() {
    let table = AgentTable::built_in().unwrap();
    let (_, seen) = table.recognise(&words(&["env", "A=1", "sh", "-c", "B=2 codex exec hi"])).unwrap();
    let pairs = [("A", "1"), ("B", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(seen.variables, pairs);
    assert_eq!(seen.arguments, ["exec", "hi"]);
}

#[test]
fn wrappers_of_wrappers_end() {
    let table = AgentTable::built_in().unwrap();
    let mut command = vec!["env"; 1000];
    command.push("codex");
    assert!(table.recognise(&words(&command)).is_none());
}
