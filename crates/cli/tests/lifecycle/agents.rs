//! Known agents: programs of our own under an agent's name, which print what was set for them and call their model there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reenact_testkit::{Script, Vendor};
use serde_json::Value;

use super::project::{CommandOutput, REENACT, TestProject};

/// A program that reads its address as Codex does, from `-c openai_base_url="…"`.
const CODEX: &str = r#"#!/bin/sh
printf '%s\n' "$@" >args
for argument in "$@"; do case $argument in openai_base_url=*) url=${argument#*=} ;; esac; done
OPENAI_BASE_URL=$(echo "$url" | tr -d '"') exec reenact demo-agent
"#;

/// A program that reads its address as Claude Code does: the settings beat the environment.
const CLAUDE: &str = r#"#!/bin/sh
printf '%s\n' "$@" >args
env | grep -E 'FIRST_PARTY|TOOL_SEARCH' >variables
while [ $# -gt 0 ]; do [ "$1" = --settings ] && file=$2; shift; done
cp "$file" settings-seen.json
ls -ld "$file" | cut -c1-10 >mode
ANTHROPIC_BASE_URL=$(sed 's/.*"ANTHROPIC_BASE_URL":"\([^"]*\)".*/\1/' "$file") exec reenact demo-agent --vendor=anthropic
"#;

/// Project with programs of agents' names in `PATH`, and a vendor that no variable leads to.
struct AgentProject {
    project: TestProject,
    bin: PathBuf,
}

impl AgentProject {
    fn new() -> Self {
        let project = TestProject::new(Script::travel());
        let bin = project.folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        for (name, text) in [("codex", CODEX), ("claude", CLAUDE)] {
            fs::write(bin.join(name), text).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { project, bin }
    }

    fn write_home(&self, name: &str, text: &str) {
        let path = self.project.folder.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.project.command(arguments);
        let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
        let path = std::env::join_paths([self.bin.clone()].into_iter().chain(std::env::split_paths(&path)));
        for name in ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"] {
            command.env_remove(name);
        }
        command.env("PATH", path.unwrap()).env("ANTHROPIC_API_KEY", "x");
        command
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        let output = self.command(arguments).output().unwrap();
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput { code: output.status.code(), stdout: utf8(output.stdout), stderr: utf8(output.stderr) }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project.folder.path().join(name)).unwrap()
    }

    fn dry_run(&self, arguments: &[&str]) -> Value {
        let kept = || {
            let there = self.project.folder.state().exists();
            if there { self.project.recorded_files() } else { Vec::new() }
        };
        let before = kept();
        let output = self.run(&[&["record", "--dry-run", "--json"], arguments].concat());
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_eq!(kept(), before, "a dry run wrote something");
        serde_json::from_str(&output.stdout).unwrap()
    }

    /// Expects a run in which all calls of the agent were recorded, and no overlay was left.
    fn expect_recorded(&self, output: &CommandOutput) {
        output.expect(0, "...\n", "reenact: recorded 4 model calls and 3 tool calls, [..]\n...\n");
        let left = self.project.recorded_files();
        assert!(left.iter().all(|file| !file.to_string_lossy().contains("overlay")), "{left:?}");
    }
}

#[test]
fn codex_is_recorded_by_an_argument() {
    let agents = AgentProject::new();
    let url = agents.project.vendor.base_url(Vendor::OPENAI);
    agents.write_home(".codex/config.toml", &format!("openai_base_url = \"{url}\"\n"));
    let output = agents.run(&["record", "codex", "exec", "do it"]);
    agents.expect_recorded(&output);
    let arguments = agents.read("args");
    let lines: Vec<&str> = arguments.lines().collect();
    assert_eq!((lines[0], &lines[2..]), ("-c", &["exec", "do it"][..]));
    assert!(lines[1].starts_with("openai_base_url=\"http://127.0.0.1:"), "{}", lines[1]);
    assert!(lines[1].contains("/codex"), "{}", lines[1]);
    // The record tells what was set, without the address, which has the gateway's token.
    let shown: Value = serde_json::from_str(&agents.run(&["show", "last", "--json"]).stdout).unwrap();
    assert_eq!(shown["agent"], serde_json::json!({"name": "codex", "version": null, "login": "none"}));
    assert_eq!(shown["observer"][0]["set"], "-c openai_base_url=\"GATEWAY/codex\"");
    assert!(shown["observer"][1]["set"].as_str().unwrap().contains("OPENAI_BASE_URL, "), "{shown}");
    agents.run(&["show", "last"]).expect(0, "...\nagent   codex, login none\nset     -c [..]\n...\n", "");
    // It is replayed as it was recorded, although its settings say otherwise by now.
    agents.write_home(".codex/config.toml", "openai_base_url = \"http://127.0.0.1:1/v1\"\n");
    let replayed = agents.run(&["replay", "last", "--", "codex", "exec", "do it"]);
    replayed.expect(0, &output.stdout, "reenact: reproduced: 4 exchanges, [..]\n...\n");
    // An agent that is not led to the gateway asks for nothing of it.
    assert_ne!(agents.run(&["replay", "last", "--", "true"]).code, Some(0));
}

#[test]
fn codex_is_recorded_in_a_shells_text() {
    let agents = AgentProject::new();
    let url = agents.project.vendor.base_url(Vendor::OPENAI);
    let upstream = format!("openai={url}");
    let output =
        agents.run(&["record", "--upstream", &upstream, "--", "sh", "-c", "true && codex exec 'do it'"]);
    agents.expect_recorded(&output);
    // The same by --agent, where nothing in the command tells.
    fs::write(agents.project.folder.path().join("run.sh"), "codex exec 'do it'\n").unwrap();
    let output = agents.run(&["record", "--agent", "codex", "--upstream", &upstream, "sh", "run.sh"]);
    agents.expect_recorded(&output);
    // Without it, Codex is not led to the gateway.
    let seen = agents.dry_run(&["sh", "run.sh"]);
    assert!(seen["agent"].is_null() && seen["arguments"] == serde_json::json!([]));
}

#[test]
fn claude_is_recorded_although_its_settings_beat_the_environment() {
    let agents = AgentProject::new();
    let url = agents.project.vendor.base_url(Vendor::ANTHROPIC);
    let settings = format!("{{\"env\": {{\"ANTHROPIC_BASE_URL\": \"{url}\"}}}}");
    agents.write_home(".claude/settings.json", &settings);
    let output = agents.run(&["record", "claude", "-p", "hi"]);
    agents.expect_recorded(&output);
    assert!(
        agents.read("settings-seen.json").starts_with("{\"env\":{\"ANTHROPIC_BASE_URL\":\"http://127.0.0.1:")
    );
    assert_eq!(agents.read("mode"), "-rw-------\n");
    // The vendor is not Anthropic, so nothing that needs Anthropic is switched on.
    assert_eq!(agents.read("variables"), "");
    let replayed = agents.run(&["replay", "last", "--", "claude", "-p", "hi"]);
    replayed.expect(0, &output.stdout, "reenact: reproduced: 4 exchanges, [..]\n...\n");
    let left: Vec<_> = fs::read_dir(agents.project.folder.state())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("overlay")), "{left:?}");
    // The user's files are as they were.
    let kept = agents.project.folder.home().join(".claude/settings.json");
    assert_eq!(fs::read_to_string(kept).unwrap(), settings);
}

/// A killed process removes nothing: the next command that looks after runs does.
#[test]
fn overlay_files_of_killed_recorders_and_replays_are_removed() {
    let agents = AgentProject::new();
    let folder = agents.project.folder.path();
    let url = agents.project.vendor.base_url(Vendor::ANTHROPIC);
    agents
        .run(&["record", "--upstream", &format!("anthropic={url}"), "claude", "-p", "hi"])
        .expect(0, "...\n", "...\n");
    // From now on the agent names its settings, and waits.
    let waiting = "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --settings ] && file=$2; shift; done\n\
                   echo \"$file\" >started\nread -r line <go\n";
    fs::write(agents.bin.join("claude"), waiting).unwrap();
    for fifo in ["started", "go"] {
        assert!(Command::new("mkfifo").arg(folder.join(fifo)).status().unwrap().success());
    }
    let sweeps: [(&[&str], &[&str]); 2] = [
        (&["record", "claude"], &["runs", "recover"]),
        (&["replay", "last~1", "--sandbox", "off", "--", "claude"], &["runs", "recover"]),
    ];
    for (arguments, sweep) in sweeps {
        // Open for both, the agent does not wait for its end to be opened, and ends when this end is closed.
        let go = fs::File::options().read(true).write(true).open(folder.join("go")).unwrap();
        let mut running =
            agents.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let settings = fs::read_to_string(folder.join("started")).unwrap();
        let settings = Path::new(settings.trim());
        assert!(settings.is_file(), "{}", settings.display());
        // As long as the process lives, its files stay.
        agents.run(sweep);
        assert!(settings.is_file(), "{arguments:?}");
        running.kill().unwrap();
        running.wait().unwrap();
        drop(go);
        assert!(settings.is_file(), "{arguments:?}");
        agents.run(sweep);
        assert!(!settings.parent().unwrap().exists(), "{arguments:?}");
    }
}

#[test]
fn calls_that_cannot_be_recorded_are_named_before_the_agent_starts() {
    let agents = AgentProject::new();
    let url = agents.project.vendor.base_url(Vendor::ANTHROPIC);
    let settings =
        format!("{{\"env\": {{\"ANTHROPIC_BASE_URL\": \"{url}\", \"CLAUDE_CODE_USE_BEDROCK\": 1}}}}");
    agents.write_home(".claude/settings.json", &settings);
    agents.run(&["record", "claude"]).expect(
        0,
        "...\n",
        "reenact: not recorded: calls to Amazon Bedrock (CLAUDE_CODE_USE_BEDROCK)\nreenact: recorded 4 model calls [..]\n...\n",
    );
}

/// What is known of such an agent stands at the end, too, where the user looks.
#[test]
fn an_agent_that_sends_nothing_is_told_what_to_do() {
    let agents = AgentProject::new();
    fs::write(agents.bin.join("codex"), "#!/bin/sh\n").unwrap();
    agents.run(&["record", "codex", "exec", "hi"]).expect(
        0,
        "",
        "reenact: nothing was recorded: codex sent no request here, although it was told to; what it was told: reenact record --dry-run codex exec hi\n...\n",
    );
    agents.write_home(".codex/config.toml", "model_provider = \"amazon-bedrock\"\n");
    let calls = "not recorded: calls to Amazon Bedrock, which signs the address";
    agents.run(&["record", "codex", "exec", "hi"]).expect(
        0,
        "",
        &format!(
            "reenact: {calls}\nreenact: nothing was recorded: codex sent no request here; {calls}\n...\n"
        ),
    );
}

#[test]
fn a_dry_run_tells_what_would_be_set() {
    let agents = AgentProject::new();
    agents.write_home(".claude/.credentials.json", "{\"claudeAiOauth\": {\"accessToken\": \"t\"}}");
    let seen = agents.dry_run(&["claude", "-p", "hi"]);
    assert_eq!(seen["agent"]["name"], "claude");
    assert_eq!(seen["agent"]["recognised"], "claude");
    assert_eq!(seen["agent"]["login"], "api_key");
    assert_eq!(
        seen["command"],
        serde_json::json!(["claude", "--settings", "RUN/overlay/settings.json", "-p", "hi"])
    );
    assert_eq!(
        seen["files"][0]["content"],
        "{\"env\":{\"ANTHROPIC_BASE_URL\":\"http://127.0.0.1:PORT/TOKEN/anthropic\"}}"
    );
    assert_eq!(seen["variables"]["_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"], "1");
    assert_eq!(seen["variables"]["OPENAI_BASE_URL"], "http://127.0.0.1:PORT/TOKEN/openai/v1");
    assert_eq!(seen["upstreams"]["anthropic"], "https://api.anthropic.com");
    assert!(seen["observer"].as_array().unwrap().len() >= 4);
    let none = agents.dry_run(&["--agent", "none", "claude"]);
    assert!(none["agent"].is_null() && none["files"] == serde_json::json!([]));
    agents.run(&["record", "--dry-run", "codex"]).expect(
        0,
        "agent       Codex (by: codex)\n\
         login       none was found\n\
         sets        -c openai_base_url=\"GATEWAY/openai\"\n            sends model calls to the gateway; [..]\n\
         command     codex -c [..]\n\
         upstream    openai → https://api.openai.com/v1  by OPENAI_BASE_URL, OPENAI_API_BASE, OPENAI_HOST\n\
         ...\n\
         also        NO_PROXY for loopback, REENACT_REPORT_URL\n\nnothing was started, nothing was written\n",
        "",
    );
}

#[test]
fn a_variable_of_an_unknown_agent() {
    let agents = AgentProject::new();
    let upstream = format!("openai={}", agents.project.vendor.base_url(Vendor::OPENAI));
    let script = "test -n \"$ACME_URL\" && OPENAI_BASE_URL=$ACME_URL/v1 exec reenact demo-agent";
    let base = upstream.trim_end_matches("/v1");
    let output =
        agents.run(&["record", "--base-url-var", "ACME_URL", "--upstream", base, "sh", "-c", script]);
    agents.expect_recorded(&output);
    let seen = agents.dry_run(&["--base-url-var", "ACME_URL=anthropic/v1", "./acme"]);
    assert_eq!(seen["variables"]["ACME_URL"], "http://127.0.0.1:PORT/TOKEN/anthropic/v1");
    agents.run(&["record", "--base-url-var", "ACME_URL=nowhere", "./acme"]).expect(
        125,
        "",
        "reenact: --base-url-var ACME_URL: there is no route nowhere; there is: openai, [..]\n",
    );
}

#[test]
fn rows_of_the_user_are_read_and_broken_ones_named() {
    let agents = AgentProject::new();
    let row = "name = \"acme\"\ntitle = \"Acme\"\n[recognise]\nprograms = [\"acme\"]\n\
               [[set]]\nvariable = \"ACME_URL\"\nvalue = \"${base:anthropic}/v1\"\nwhy = \"the address\"\n";
    agents.write_home("reenact/agents/acme.toml", row);
    let seen = agents.dry_run(&["acme", "run"]);
    assert_eq!(seen["agent"]["title"], "Acme");
    assert_eq!(seen["variables"]["ACME_URL"], "http://127.0.0.1:PORT/TOKEN/anthropic/v1");
    agents.write_home("reenact/agents/acme.toml", &row.replace("programs", "program"));
    agents.run(&["record", "acme"]).expect(
        125,
        "",
        "reenact: [..]/reenact/agents/acme.toml: line 4: unknown field `program`, expected [..]\n",
    );
    agents.run(&["record", "--dry-run", "acme"]).expect(125, "", "reenact: [..]acme.toml: line 4: [..]\n");
}

#[test]
fn an_agent_that_is_not_known_is_refused() {
    let agents = AgentProject::new();
    agents.run(&["record", "--agent", "acme", "--", REENACT, "demo-agent"]).expect(
        125,
        "",
        "reenact: --agent acme: there is no such agent; there is: claude, codex, gemini, qwen, opencode, aider, none\n",
    );
}

#[test]
fn known_agents_are_listed_with_what_is_installed() {
    let agents = AgentProject::new();
    agents.write_home(".codex/auth.json", "{\"auth_mode\": \"chatgpt\"}");
    fs::write(agents.bin.join("package.json"), "{\"name\": \"@openai/codex\", \"version\": \"0.166.0\"}")
        .unwrap();
    let output = agents.run(&["doctor", "agents", "--json"]);
    let listed: Value = serde_json::from_str(&output.stdout).unwrap();
    let codex = &listed["agents"][1];
    assert_eq!(
        (&codex["name"], &codex["version"], &codex["login"]),
        (&"codex".into(), &"0.166.0".into(), &"oauth".into())
    );
    assert!(codex["path"].as_str().unwrap().ends_with("/bin/codex"), "{codex}");
    assert_eq!(codex["set"][0]["set"], "-c openai_base_url=\"GATEWAY/chatgpt\"");
    assert!(listed["agents"][2]["path"].is_null());
    agents.run(&["doctor", "agents"]).expect(
        0,
        "Claude Code (claude)  at [..]/bin/claude; login: a key\n  sets  --settings [..]\n...\n\
         Codex (codex)  0.166.0 at [..]/bin/codex; login: an account\n...\n\
         Gemini CLI (gemini)  not found in PATH; login: none was found\n...\n",
        "",
    );
    // Several settings may have one consequence, which is told once.
    for agent in listed["agents"].as_array().unwrap() {
        let told: Vec<&str> =
            agent["unrecorded"].as_array().unwrap().iter().map(|calls| calls.as_str().unwrap()).collect();
        let once: std::collections::BTreeSet<&str> = told.iter().copied().collect();
        assert_eq!(once.len(), told.len(), "{agent}");
    }
    assert!(!agents.project.folder.state().exists(), "doctor agents wrote something");
}

/// An agent that was recorded with an account is replayed with one, where nobody is logged in and where a key is set; no credential of
/// the user's own is given to it, and dummies are in no file of ours.
#[test]
fn the_recorded_kind_of_login_comes_back_as_dummies() {
    let agents = AgentProject::new();
    let folder = agents.project.folder.path();
    let claude = format!(
        "{}\n",
        CLAUDE.replace("#!/bin/sh\n", "#!/bin/sh\nenv | grep -E 'API_KEY|OAUTH' | sort >login\n")
    );
    fs::write(agents.bin.join("claude"), claude).unwrap();
    let url = agents.project.vendor.base_url(Vendor::ANTHROPIC);
    let token = "sk-ant-oat01-a-real-token-of-an-account-0123456789";
    let mut record =
        agents.command(&["record", "-q", "--upstream", &format!("anthropic={url}"), "claude", "-p", "hi"]);
    record.env_remove("ANTHROPIC_API_KEY").env_remove("OPENAI_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", token);
    let recorded = record.output().unwrap();
    assert_eq!(recorded.status.code(), Some(0), "{}", String::from_utf8_lossy(&recorded.stderr));
    let shown: Value = serde_json::from_str(&agents.run(&["show", "last", "--json"]).stdout).unwrap();
    assert_eq!(shown["agent"]["login"], "oauth");
    for (key, own_token) in [(None, None), (Some("sk-ant-api03-real"), Some(token))] {
        let mut replay = agents.command(&["replay", "last"]);
        replay.env_remove("ANTHROPIC_API_KEY").envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
        replay.envs(own_token.map(|token| ("CLAUDE_CODE_OAUTH_TOKEN", token)));
        let replayed = replay.output().unwrap();
        let stderr = String::from_utf8(replayed.stderr).unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{stderr}");
        let login = agents.read("login");
        let claude = login.lines().find(|line| line.starts_with("CLAUDE_CODE_OAUTH_TOKEN=")).unwrap();
        assert!(claude.starts_with("CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-reenact-dummy-"), "{claude}");
        assert!(!login.contains("ANTHROPIC_API_KEY") && !login.contains("real"), "{login}");
    }
    for file in agents.project.recorded_files() {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("reenact-dummy") && !text.contains(token), "{}", file.display());
    }
    assert!(folder.join("settings-seen.json").is_file());
}

/// A login file lies in the overlay, beside links to the user's own settings, and only where there is no login of that kind.
#[test]
fn a_dummy_login_file_lies_in_the_overlay() {
    let agents = AgentProject::new();
    let url = agents.project.vendor.base_url(Vendor::OPENAI);
    let script = CODEX.replace(
        "#!/bin/sh\n",
        "#!/bin/sh\necho \"home $CODEX_HOME\" >login\ncat \"${CODEX_HOME:-$HOME/.codex}/auth.json\" \"${CODEX_HOME:-$HOME/.codex}/config.toml\" >>login 2>&1\n",
    );
    fs::write(agents.bin.join("codex"), script).unwrap();
    agents.write_home(".codex/config.toml", "# mine\n");
    let own = r#"{"auth_mode":"chatgpt","tokens":{"access_token":"a-real-access-token"}}"#;
    agents.write_home(".codex/auth.json", own);
    let upstream = format!("chatgpt={}", url.trim_end_matches("/v1").to_owned() + "/v1");
    let recorded = agents.run(&["record", "-q", "--upstream", &upstream, "codex", "exec", "do it"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let shown: Value = serde_json::from_str(&agents.run(&["show", "last", "--json"]).stdout).unwrap();
    assert_eq!(shown["agent"]["login"], "oauth");
    // The folder stays where the user has a login of the kind.
    assert_eq!(agents.run(&["replay", "last"]).code, Some(0));
    assert_eq!(agents.read("login"), format!("home \n{own}# mine\n"));
    fs::remove_file(agents.project.folder.home().join(".codex/auth.json")).unwrap();
    let replayed = agents.run(&["replay", "last"]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    let login = agents.read("login");
    let lines: Vec<&str> = login.lines().collect();
    assert!(lines[0].ends_with("/login") && lines[0].contains("/state/overlay-"), "{login}");
    assert!(lines[1].starts_with("{\"auth_mode\": \"chatgpt\"") && lines[1].ends_with("}# mine"), "{login}");
    // Nothing is left of it, and nothing was written into the user's own folder.
    let left = agents.project.recorded_files();
    assert!(left.iter().all(|file| !file.to_string_lossy().contains("overlay")), "{left:?}");
    let home = agents.project.folder.home().join(".codex");
    let names: Vec<_> = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["config.toml"]);
}
