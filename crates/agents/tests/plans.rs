//! Plans: what is set for an agent, given its settings and logins on this machine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read stops")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use reenact_agents::command::recognise;
use reenact_agents::{
    AgentRow, AgentTable, Launch, LaunchPlan, LocalEnvironment, LoginKind, OverlayLink, RecordedLogin,
};
use reenact_testkit::fixture::TestDir;
use reenact_wire::Vendor;
use serde_json::{Value, json};

/// Machine with a home folder and a working folder.
struct Machine {
    folder: TestDir,
    variables: Vec<(OsString, OsString)>,
    upstreams: Vec<(String, String)>,
}

impl Machine {
    fn new() -> Self {
        let folder = TestDir::new();
        fs::create_dir_all(folder.path().join("home")).unwrap();
        fs::create_dir_all(folder.path().join("work/.git")).unwrap();
        let home = folder.path().join("home").into_os_string();
        let path = folder.path().join("bin").into_os_string();
        let variables = vec![("HOME".into(), home), ("PATH".into(), path)];
        Self { folder, variables, upstreams: Vec::new() }
    }

    fn file(self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn program(self, name: &str) -> Self {
        let machine = self.file(&format!("bin/{name}"), "#!/bin/sh\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = machine.folder.path().join("bin").join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    fn upstream(mut self, name: &str, url: &str) -> Self {
        self.upstreams.push((name.into(), url.into()));
        self
    }

    fn plan(&self, command: &[&str]) -> LaunchPlan {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let table = AgentTable::built_in().unwrap();
        let (row, seen) = table.recognise(&command).unwrap_or_else(|| panic!("{command:?}"));
        let local = LocalEnvironment::new(self.variables.clone(), self.folder.path().join("work"));
        LaunchPlan::new(row, seen, &local, &self.upstreams).unwrap()
    }

    /// Plans and launches the replay of a run that was recorded with this login.
    fn replay(&self, command: &[&str], kind: LoginKind, models: &[&str]) -> Launch {
        let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let table = AgentTable::built_in().unwrap();
        let (row, seen) = table.recognise(&words).unwrap();
        let local = LocalEnvironment::new(self.variables.clone(), self.folder.path().join("work"));
        let recorded =
            RecordedLogin { kind, models: models.iter().map(|model| (*model).to_owned()).collect() };
        let plan = LaunchPlan::for_replay(row, seen, &local, &self.upstreams, &recorded).unwrap();
        assert_eq!(plan.login, kind);
        let command: Vec<OsString> = words.iter().map(OsString::from).collect();
        plan.launch(&command, &|route| Some(format!("http://gw/{route}")), Path::new("/run")).unwrap()
    }

    /// Plans and launches; a route's address is `http://gw/NAME`.
    fn launch(&self, command: &[&str]) -> Launched {
        let plan = self.plan(command);
        let words: Vec<OsString> = command.iter().map(OsString::from).collect();
        let base = |route: &str| Some(format!("http://gw/{route}"));
        let launch = plan.launch(&words, &base, Path::new("/run/overlay")).unwrap();
        Launched { plan, launch }
    }
}

struct Launched {
    plan: LaunchPlan,
    launch: Launch,
}

impl Launched {
    fn command(&self) -> Vec<&str> {
        self.launch.command.iter().map(|word| word.to_str().unwrap()).collect()
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.launch.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_ref().map_or("as it was", |value| value.to_str().unwrap()))
    }

    fn routes(&self) -> Vec<(&str, &str)> {
        self.plan.routes.iter().map(|route| (route.name.as_str(), route.upstream.as_str())).collect()
    }

    fn file(&self, name: &str) -> Value {
        let file = self.launch.files.iter().find(|file| file.path.ends_with(name)).unwrap();
        serde_json::from_str(&file.content).unwrap()
    }
}

const CHATGPT: &str = r#"{"auth_mode": "chatgpt", "OPENAI_API_KEY": null, "tokens": {"access_token": "t"}}"#;

#[test]
fn codex_with_a_key_goes_to_the_route_of_its_vendor() {
    let machine = Machine::new().file("home/.codex/auth.json", r#"{"OPENAI_API_KEY": "sk-x"}"#);
    let seen = machine.launch(&["codex", "exec", "hi"]);
    assert_eq!(seen.plan.login, LoginKind::ApiKey);
    assert_eq!(seen.command(), ["codex", "-c", "openai_base_url=\"http://gw/openai\"", "exec", "hi"]);
    assert_eq!(seen.routes(), []);
    assert!(seen.plan.unrecorded.is_empty());
}

#[test]
fn codex_with_an_account_goes_to_its_own_server() {
    let machine = Machine::new().file("home/.codex/auth.json", CHATGPT);
    let seen = machine.launch(&["npx", "-y", "@openai/codex", "e", "hi"]);
    assert_eq!(seen.plan.login, LoginKind::Oauth);
    assert_eq!(
        seen.command(),
        ["npx", "-y", "@openai/codex", "-c", "openai_base_url=\"http://gw/chatgpt\"", "e", "hi"]
    );
    assert_eq!(seen.routes(), [("chatgpt", "https://chatgpt.com/backend-api/codex")]);
    // A key for `exec` counts before the account.
    let machine = machine.variable("CODEX_API_KEY", "sk-x");
    assert_eq!(machine.plan(&["codex", "exec", "hi"]).login, LoginKind::ApiKey);
    assert_eq!(machine.plan(&["codex"]).login, LoginKind::Oauth);
    // What the user says of the vendor counts for it, too.
    let machine = machine.upstream("openai", "http://localhost:1/v1");
    let seen = machine.launch(&["codex"]);
    assert_eq!(seen.command(), ["codex", "-c", "openai_base_url=\"http://gw/openai\""]);
    assert_eq!(seen.routes(), []);
}

#[test]
fn codex_keeps_a_provider_of_the_user() {
    let config =
        "model_provider = \"acme\"\n[model_providers.acme]\nbase_url = \"https://acme.example/v1\"\n";
    let machine = Machine::new().file("srv/config.toml", config);
    let home = machine.folder.path().join("srv");
    let machine = machine.variable("CODEX_HOME", home.to_str().unwrap());
    let seen = machine.launch(&["codex", "exec", "hi"]);
    assert_eq!(seen.command()[..3], ["codex", "-c", "model_providers.acme.base_url=\"http://gw/acme\""]);
    assert_eq!(seen.routes(), [("acme", "https://acme.example/v1")]);
    // Another one by an option, and an address by an option, which is replaced in its place.
    let command = [
        "codex",
        "-c",
        "model_provider=\"b\"",
        "exec",
        "--config=model_providers.b.base_url=http://b/v1",
        "hi",
    ];
    let seen = machine.launch(&command);
    assert_eq!(
        seen.command(),
        [
            "codex",
            "-c",
            "model_provider=\"b\"",
            "exec",
            "--config=model_providers.b.base_url=\"http://gw/b\"",
            "hi"
        ]
    );
    assert_eq!(seen.routes(), [("b", "http://b/v1")]);
}

#[test]
fn codex_reads_profiles_and_addresses_of_the_settings() {
    let machine = Machine::new()
        .file("home/.codex/config.toml", "openai_base_url = \"http://localhost:1/v1\"\n")
        .file("home/.codex/work.config.toml", "openai_base_url = \"http://localhost:2/v1\"\n")
        // The variable is not read by Codex.
        .variable("OPENAI_BASE_URL", "http://localhost:3/v1");
    assert_eq!(machine.launch(&["codex"]).routes(), [("codex", "http://localhost:1/v1")]);
    let seen = machine.launch(&["codex", "-p", "work"]);
    assert_eq!(seen.routes(), [("codex", "http://localhost:2/v1")]);
    assert_eq!(seen.command(), ["codex", "-c", "openai_base_url=\"http://gw/codex\"", "-p", "work"]);
    assert_eq!(machine.launch(&["codex", "-p", "../x"]).routes(), [("codex", "http://localhost:1/v1")]);
}

#[test]
fn codex_with_a_local_server_or_bedrock() {
    let machine = Machine::new();
    let seen = machine.launch(&["codex", "--oss", "--local-provider", "ollama"]);
    assert_eq!(seen.command(), ["codex", "--oss", "--local-provider", "ollama"]);
    // The route of the vendor of that name belongs to the variables of its clients.
    assert_eq!(seen.variable("CODEX_OSS_BASE_URL"), Some("http://gw/codex/v1"));
    assert_eq!(seen.routes(), [("codex", "http://localhost:11434")]);
    let machine = machine.file("home/.codex/config.toml", "model_provider = \"amazon-bedrock\"\n");
    let seen = machine.launch(&["codex"]);
    assert_eq!(seen.command(), ["codex"]);
    assert_eq!(seen.plan.unrecorded, ["calls to Amazon Bedrock, which signs the address"]);
}

#[test]
fn codex_in_a_shells_text_is_started_by_a_program_of_its_name() {
    let machine = Machine::new().program("codex");
    let seen = machine.launch(&["sh", "-c", "codex exec \"it's\""]);
    assert_eq!(seen.command(), ["sh", "-c", "codex exec \"it's\""]);
    let [shim] = seen.launch.files.as_slice() else { panic!("{:?}", seen.launch.files) };
    assert!(shim.is_program && shim.path == Path::new("/run/overlay/bin/codex"));
    let program = machine.folder.path().join("bin/codex");
    assert_eq!(
        shim.content,
        format!(
            "#!/bin/sh\nexec '{}' '-c' 'openai_base_url=\"http://gw/openai\"' \"$@\"\n",
            program.display()
        )
    );
    assert!(seen.variable("PATH").unwrap().starts_with("/run/overlay/bin:"));
    // By a path, nothing can be inserted, and that is said.
    let seen = machine.launch(&["sh", "-c", "/opt/codex exec"]);
    assert!(seen.launch.files.is_empty());
    assert!(
        seen.plan.unrecorded[0].starts_with("model calls of this command ("),
        "{:?}",
        seen.plan.unrecorded
    );
}

#[test]
fn an_agent_in_a_shells_text_that_cannot_be_led_is_said_not_to_be_recorded() {
    let machine = Machine::new().program("codex").program("claude");
    for command in
        [["sh", "-c", "codex -c 'openai_base_url=\"http://u/v1\"' exec hi"], ["bash", "-lc", "codex exec hi"]]
    {
        let seen = machine.launch(&command);
        assert_eq!(seen.command(), command);
        assert!(seen.launch.files.is_empty() && seen.launch.arguments.is_empty(), "{command:?}");
        let [said] = seen.plan.unrecorded.as_slice() else { panic!("{:?}", seen.plan.unrecorded) };
        assert!(said.starts_with("model calls of this command ("), "{said}");
        // The record does not say of an argument that it was given.
        assert_eq!(seen.plan.observer(), [], "{command:?}");
    }
    let seen = machine.plan(&["bash", "-lc", "claude -p hi"]);
    let set: Vec<String> = seen.observer().into_iter().map(|note| note.set).collect();
    assert_eq!(set, ["_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL=1", "ENABLE_TOOL_SEARCH=true"]);
    // Nothing can stand before a program that is not there.
    let absent = Machine::new().plan(&["sh", "-c", "codex exec hi"]);
    assert!(absent.unrecorded[0].contains("not in PATH"), "{:?}", absent.unrecorded);
    assert_eq!(absent.observer(), []);
    // Other arguments of the same option are no hindrance.
    let seen = machine.launch(&["sh", "-c", "codex -c 'model=\"x\"' exec hi"]);
    assert!(seen.launch.files.len() == 1 && seen.plan.unrecorded.is_empty());
    // Claude Code is led by its variable, wherever it stands, as long as no settings beat that.
    let machine = machine.file("work/x.json", "{}");
    let command = ["sh", "-c", "claude --settings x.json -p hi"];
    assert_eq!(machine.plan(&command).unrecorded, [""; 0]);
    let machine = machine.file("work/x.json", r#"{"env": {"ANTHROPIC_BASE_URL": "https://proxy.example"}}"#);
    assert_eq!(machine.plan(&command).unrecorded.len(), 1);
}

#[test]
fn claude_gets_an_overlay_with_the_address_alone() {
    let machine =
        Machine::new().file("home/.claude/.credentials.json", r#"{"claudeAiOauth": {"accessToken": "t"}}"#);
    let seen = machine.launch(&["claude", "-p", "hi"]);
    assert_eq!(seen.plan.login, LoginKind::Oauth);
    assert_eq!(seen.command(), ["claude", "--settings", "/run/overlay/settings.json", "-p", "hi"]);
    assert_eq!(seen.file("settings.json"), json!({"env": {"ANTHROPIC_BASE_URL": "http://gw/anthropic"}}));
    assert_eq!(seen.variable("_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"), Some("1"));
    assert_eq!(seen.variable("ENABLE_TOOL_SEARCH"), Some("true"));
    let notes = seen.plan.observer();
    assert_eq!(notes[0].set, r#"--settings {"env": {"ANTHROPIC_BASE_URL": "GATEWAY/anthropic"}}"#);
}

#[test]
fn claude_at_another_address_stays_as_it_is_there() {
    let machine = Machine::new()
        .file(
            "home/.claude/settings.json",
            r#"{"env": {"ANTHROPIC_BASE_URL": "https://proxy.example"}} // mine"#,
        )
        .variable("ANTHROPIC_BASE_URL", "https://other.example");
    let seen = machine.launch(&["claude"]);
    assert_eq!(seen.plan.variable("ANTHROPIC_BASE_URL"), Some("https://proxy.example"));
    assert_eq!(seen.variable("_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"), None);
    assert_eq!(seen.variable("ENABLE_TOOL_SEARCH"), None);
    // A project's settings beat the user's, an option beats both.
    let machine = machine
        .file("work/.claude/settings.json", r#"{"env": {"ANTHROPIC_BASE_URL": "https://project.example"}}"#);
    assert_eq!(machine.plan(&["claude"]).variable("ANTHROPIC_BASE_URL"), Some("https://project.example"));
    let option = r#"{"model": "opus", "env": {"ANTHROPIC_BASE_URL": "https://option.example", "A": "1"}}"#;
    let seen = machine.launch(&["claude", "--settings", option, "-p", "hi"]);
    assert_eq!(seen.plan.variable("ANTHROPIC_BASE_URL"), Some("https://option.example"));
    assert_eq!(seen.command(), ["claude", "--settings", "/run/overlay/settings.json", "-p", "hi"]);
    let merged = json!({"model": "opus", "env": {"ANTHROPIC_BASE_URL": "http://gw/anthropic", "A": "1"}});
    assert_eq!(seen.file("settings.json"), merged);
    let machine = machine.upstream("anthropic", "https://api.anthropic.com");
    let seen = machine.launch(&["claude"]);
    assert_eq!(seen.variable("ENABLE_TOOL_SEARCH"), Some("true"));
    assert_eq!(
        machine.variable("ENABLE_TOOL_SEARCH", "auto").launch(&["claude"]).variable("ENABLE_TOOL_SEARCH"),
        None
    );
}

#[test]
fn claude_on_bedrock_is_said_to_be_unrecorded() {
    let machine = Machine::new().variable("CLAUDE_CODE_USE_BEDROCK", "1");
    assert_eq!(machine.plan(&["claude"]).unrecorded, ["calls to Amazon Bedrock (CLAUDE_CODE_USE_BEDROCK)"]);
}

#[test]
fn gemini_with_an_account_has_a_route_of_its_own() {
    let settings = r#"{"security": {"auth": {"selectedType": "oauth-personal"}}}"#;
    let machine = Machine::new().file("home/.gemini/settings.json", settings);
    let seen = machine.launch(&["gemini"]);
    assert_eq!(seen.plan.login, LoginKind::Oauth);
    assert_eq!(seen.variable("CODE_ASSIST_ENDPOINT"), Some("http://gw/code-assist"));
    assert_eq!(seen.routes(), [("code-assist", "https://cloudcode-pa.googleapis.com")]);
    assert!(seen.launch.files.is_empty());
}

#[test]
fn gemini_with_a_key_keeps_its_kind_of_login() {
    // Defaults that the user could change are not read, and the agent must start all the same.
    let machine = Machine::new().variable("GEMINI_API_KEY", "AIza-x");
    let seen = machine.launch(&["gemini", "-p", "hi"]);
    assert_eq!((seen.plan.login, seen.command()), (LoginKind::ApiKey, vec!["gemini", "-p", "hi"]));
    assert_eq!(seen.variable("GOOGLE_GEMINI_BASE_URL"), Some("as it was"));
    assert_eq!(seen.variable("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), None);
    assert!(seen.plan.unrecorded[0].contains("selectedType"), "{:?}", seen.plan.unrecorded);
    // A kind that was chosen stays, and nothing needs to be set.
    let settings = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#;
    let machine = machine.file("home/.gemini/settings.json", settings);
    let seen = machine.launch(&["gemini", "-p", "hi"]);
    assert!(seen.launch.variables.is_empty() && seen.plan.unrecorded.is_empty());
}

/// Folders of root that no other may write in are there on any machine.
#[cfg(target_os = "linux")]
#[test]
fn gemini_of_root_gets_the_kind_of_login_as_a_default() {
    let machine = Machine::new().variable("GEMINI_API_KEY", "AIza-x");
    let table = AgentTable::built_in().unwrap();
    let (row, seen) = table.recognise(&["gemini".into()]).unwrap();
    let local = LocalEnvironment::new(machine.variables.clone(), machine.folder.path().to_owned());
    let plan = LaunchPlan::new(row, seen, &local.with_overlay_below("/proc/1/none".into()), &[]).unwrap();
    let base = |_: &str| Some("http://gw".to_owned());
    let launch = plan.launch(&["gemini".into()], &base, Path::new("/run/overlay")).unwrap();
    let [file] = launch.files.as_slice() else { panic!("{:?}", launch.files) };
    assert_eq!(file.path, Path::new("/run/overlay/defaults.json"));
    assert_eq!(file.content, r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#);
    let path = file.path.clone().into_os_string();
    assert_eq!(launch.variables, [("GEMINI_CLI_SYSTEM_DEFAULTS_PATH".to_owned(), Some(path))]);
}

/// The administrator's defaults stand in the test's folder here.
#[cfg(target_os = "linux")]
#[test]
fn gemini_of_root_keeps_the_defaults_of_an_administrator() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents/gemini.toml");
    let launch = |defaults: &str| {
        let machine =
            Machine::new().variable("GEMINI_API_KEY", "AIza-x").file("etc/system-defaults.json", defaults);
        let folder = machine.folder.path().join("etc").into_os_string().into_string().unwrap();
        let text = fs::read_to_string(&file).unwrap().replace("/etc/gemini-cli", &folder);
        let row = AgentRow::parse(&text, &file).unwrap();
        let seen = recognise(&row.recognise, &["gemini".into()]).unwrap();
        let local = LocalEnvironment::new(machine.variables.clone(), machine.folder.path().to_owned());
        let local = local.with_overlay_below("/proc/1/none".into());
        let plan = LaunchPlan::new(&row, seen, &local, &[]).unwrap();
        let base = |_: &str| Some("http://gw".to_owned());
        let launch = plan.launch(&["gemini".into()], &base, Path::new("/run/overlay")).unwrap();
        Launched { plan, launch }
    };
    let seen = launch(r#"{"ui": {"theme": "Dark"}}"#);
    assert!(seen.launch.files.is_empty());
    assert_eq!(seen.variable("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), None);
    assert_eq!(seen.variable("GOOGLE_GEMINI_BASE_URL"), Some("as it was"));
    assert_eq!(seen.plan.unrecorded.len(), 1, "{:?}", seen.plan.unrecorded);
    // A kind that the administrator chose stays, and nothing needs to be set.
    let seen = launch(r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#);
    assert!(seen.launch.variables.is_empty() && seen.plan.unrecorded.is_empty());
    // Without defaults there is nothing to replace.
    assert_eq!(launch("{}").launch.files.len(), 1);
}

#[test]
fn settings_of_qwen_name_the_upstream() {
    let settings =
        r#"{"security": {"auth": {"baseUrl": "https://q.example/v1"}}, "modelProviders": {"openai": [{}]}}"#;
    let machine = Machine::new().file("home/.qwen/settings.json", settings);
    let seen = machine.launch(&["qwen", "-p", "hi"]);
    assert_eq!(seen.plan.variable("OPENAI_BASE_URL"), Some("https://q.example/v1"));
    assert_eq!(seen.plan.unrecorded.len(), 1);
    let machine = machine.variable("OPENAI_BASE_URL", "https://env.example/v1");
    assert_eq!(machine.plan(&["qwen"]).variable("OPENAI_BASE_URL"), Some("https://env.example/v1"));
}

/// Its provider of Google takes three variables, and a key that opencode keeps itself.
#[test]
fn opencode_with_a_key_of_google_is_logged_in() {
    for name in ["GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"] {
        let plan = Machine::new().variable(name, "AIza").plan(&["opencode"]);
        assert_eq!(plan.login, LoginKind::ApiKey, "{name}");
    }
    let kept = r#"{"google": {"type": "api", "key": "AIza"}}"#;
    let machine = Machine::new().file("home/.local/share/opencode/auth.json", kept);
    assert_eq!(machine.plan(&["opencode"]).login, LoginKind::ApiKey);
    assert_eq!(Machine::new().plan(&["opencode"]).login, LoginKind::None);
}

#[test]
fn opencode_gets_addresses_where_its_settings_have_one() {
    let machine = Machine::new();
    assert_eq!(machine.launch(&["opencode", "run", "hi"]).variable("OPENCODE_CONFIG_CONTENT"), None);
    let config = r#"{"provider": {"anthropic": {"options": {"baseURL": "https://a.example/v1"}}}}"#;
    let machine = machine
        .file("work/opencode.json", config)
        .variable("GEMINI_API_KEY", "x")
        .variable("OPENCODE_CONFIG_CONTENT", r#"{"model": "anthropic/x"}"#);
    let seen = machine.launch(&["opencode", "run", "hi"]);
    assert_eq!(seen.plan.variable("ANTHROPIC_BASE_URL"), Some("https://a.example/v1"));
    let content: Value = serde_json::from_str(seen.variable("OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
    assert_eq!(
        content,
        json!({"model": "anthropic/x", "provider": {
            "anthropic": {"options": {"baseURL": "http://gw/anthropic"}},
            "google": {"options": {"baseURL": "http://gw/gemini/v1beta"}},
        }})
    );
}

#[test]
fn opencode_keeps_the_users_own_address_of_google() {
    for name in ["work/opencode.json", "work/opencode.jsonc", "home/.config/opencode/opencode.jsonc"] {
        let config = "{\"provider\": {\"google\": {\"options\": {\"baseURL\": \"https://g.example/v1beta\"}}}} // ours";
        let machine = Machine::new().file(name, config).variable("GEMINI_API_KEY", "x");
        let seen = machine.launch(&["opencode", "run", "hi"]);
        assert_eq!(seen.plan.variable("GOOGLE_GEMINI_BASE_URL"), Some("https://g.example/v1beta"), "{name}");
        // The version stands in the address already.
        let content: Value = serde_json::from_str(seen.variable("OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
        assert_eq!(content["provider"]["google"]["options"]["baseURL"], "http://gw/gemini", "{name}");
    }
    for name in ["openai", "anthropic"] {
        let config =
            json!({"provider": {name: {"options": {"baseURL": "https://c.example/v1"}}}}).to_string();
        let machine = Machine::new().file("work/opencode.jsonc", &config);
        let seen = machine.launch(&["opencode", "run", "hi"]);
        let variable = format!("{}_BASE_URL", name.to_uppercase());
        assert_eq!(seen.plan.variable(&variable), Some("https://c.example/v1"));
        let content: Value = serde_json::from_str(seen.variable("OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
        assert_eq!(content["provider"][name]["options"]["baseURL"], format!("http://gw/{name}"));
    }
}

#[test]
fn aider_is_told_where_a_file_would_beat_the_variable() {
    let machine = Machine::new().variable("OPENAI_API_KEY", "x");
    assert_eq!(machine.launch(&["aider", "--yes"]).command(), ["aider", "--yes"]);
    let machine = machine.file("work/.env", "OPENAI_API_BASE=https://proxy.example/v1\n");
    let seen = machine.launch(&["aider", "--yes"]);
    assert_eq!(seen.plan.variable("OPENAI_API_BASE"), Some("https://proxy.example/v1"));
    assert_eq!(seen.command(), ["aider", "--set-env", "OPENAI_API_BASE=http://gw/openai", "--yes"]);
    let machine = machine.file("work/.aider.conf.yml", "openai-api-base: https://x/v1\n");
    assert_eq!(machine.plan(&["aider"]).unrecorded.len(), 1);
}

#[test]
fn addresses_that_aider_is_given_beside_the_variables_are_named() {
    let machine = Machine::new().variable("OPENAI_API_KEY", "x");
    for command in
        [&["aider", "--openai-api-base", "https://x/v1"][..], &["aider", "--openai-api-base=https://x/v1"]]
    {
        let unrecorded = machine.plan(command).unrecorded;
        assert_eq!(
            unrecorded,
            ["calls to the address of --openai-api-base: give it as OPENAI_API_BASE instead"]
        );
    }
    assert!(machine.plan(&["aider", "--yes", "--", "--openai-api-base=x"]).unrecorded.is_empty());
    let machine = machine.variable("AIDER_OPENAI_API_BASE", "https://x/v1");
    let unrecorded = machine.plan(&["aider"]).unrecorded;
    assert_eq!(
        unrecorded,
        ["calls to the address of AIDER_OPENAI_API_BASE: give it as OPENAI_API_BASE instead"]
    );
}

#[test]
fn settings_that_are_no_json_are_refused() {
    let machine = Machine::new().variable("OPENCODE_CONFIG_CONTENT", "{").variable("GEMINI_API_KEY", "x");
    let table = AgentTable::built_in().unwrap();
    let (row, seen) = table.recognise(&["opencode".into()]).unwrap();
    let local = LocalEnvironment::new(machine.variables.clone(), machine.folder.path().to_owned());
    let error = LaunchPlan::new(row, seen, &local, &[]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "OPENCODE_CONFIG_CONTENT: what you give there is no JSON object, so that an address cannot be added to it"
    );
}

#[test]
fn the_version_is_read_from_the_package() {
    let machine = Machine::new()
        .file("lib/@openai/codex/package.json", r#"{"name": "@openai/codex", "version": "0.166.0"}"#)
        .file("lib/@openai/codex/bin/codex.js", "");
    let script = machine.folder.path().join("lib/@openai/codex/bin/codex.js");
    assert_eq!(machine.plan(&["node", script.to_str().unwrap(), "exec"]).version.as_deref(), Some("0.166.0"));
    assert_eq!(machine.plan(&["codex"]).version, None);
}

fn variable<'l>(launch: &'l Launch, name: &str) -> Option<&'l str> {
    let found = launch.variables.iter().find(|(known, _)| known == name)?;
    found.1.as_ref().and_then(|value| value.to_str())
}

/// An account is replayed where nobody has one, and where the user has a key.
#[test]
fn a_replay_of_claude_has_the_recorded_kind_of_login() {
    let machine = Machine::new().variable("ANTHROPIC_API_KEY", "sk-ant-api03-x");
    let launch = machine.replay(&["claude", "-p", "hi"], LoginKind::Oauth, &["claude-sonnet-5"]);
    assert_eq!(variable(&launch, "CLAUDE_CODE_OAUTH_TOKEN"), Some("sk-ant-oat01-"));
    assert_eq!(variable(&launch, "CLAUDE_CODE_SUBSCRIPTION_TYPE"), None);
    assert_eq!(launch.removed_variables, ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]);
    let launch = machine.replay(&["claude", "-p", "hi"], LoginKind::Oauth, &["claude-opus-5"]);
    assert_eq!(variable(&launch, "CLAUDE_CODE_SUBSCRIPTION_TYPE"), Some("max"));
    let launch = machine.replay(&["claude", "-p", "hi"], LoginKind::ApiKey, &["claude-opus-5"]);
    assert_eq!(variable(&launch, "CLAUDE_CODE_OAUTH_TOKEN"), None);
    assert_eq!(launch.removed_variables, ["CLAUDE_CODE_OAUTH_TOKEN"]);
    let launch = machine.replay(&["claude", "-p", "hi"], LoginKind::None, &[]);
    assert_eq!(launch.removed_variables, [""; 0]);
}

/// Settings beat the environment, so that a key in them is covered by stronger settings.
#[test]
fn a_key_in_the_settings_of_claude_is_covered_in_a_replay() {
    let settings = r#"{"env": {"ANTHROPIC_API_KEY": "sk-ant-api03-real"}, "model": "opus"}"#;
    let machine = Machine::new().file("home/.claude/settings.json", settings);
    let covered = |kind| {
        let launch = machine.replay(&["claude", "-p", "hi"], kind, &[]);
        let [file] = launch.files.as_slice() else { panic!("{:?}", launch.files) };
        assert!(!file.content.contains("real"), "{}", file.content);
        let settings: Value = serde_json::from_str(&file.content).unwrap();
        assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], "http://gw/anthropic");
        (settings["env"]["ANTHROPIC_API_KEY"].as_str().map(str::to_owned), launch.secrets)
    };
    assert_eq!(covered(LoginKind::Oauth), (Some(String::new()), vec![]));
    let dummy = Vendor::ANTHROPIC.dummy_key("ANTHROPIC_API_KEY", "");
    assert_eq!(covered(LoginKind::ApiKey), (Some(dummy.clone()), vec![dummy]));
    // A recording leaves the user's own login as it is.
    let seen = machine.launch(&["claude", "-p", "hi"]);
    assert_eq!(seen.file("settings.json"), json!({"env": {"ANTHROPIC_BASE_URL": "http://gw/anthropic"}}));
}

#[test]
fn a_replay_of_gemini_has_its_account_by_variables() {
    let machine = Machine::new().variable("GEMINI_API_KEY", "AIzax");
    let launch = machine.replay(&["gemini", "-p", "hi"], LoginKind::Oauth, &[]);
    assert_eq!(variable(&launch, "GOOGLE_GENAI_USE_GCA"), Some("true"));
    assert_eq!(variable(&launch, "GOOGLE_CLOUD_ACCESS_TOKEN"), Some("ya29.reenact-dummy"));
    assert_eq!(variable(&launch, "CODE_ASSIST_ENDPOINT"), Some("http://gw/code-assist"));
    assert_eq!(launch.removed_variables, ["GEMINI_API_KEY", "GOOGLE_API_KEY"]);
}

#[test]
fn a_replay_of_codex_has_a_login_file_in_the_overlay() {
    let machine = Machine::new().file("home/.codex/config.toml", "").file("home/.codex/skills/a.md", "");
    let launch = machine.replay(&["codex", "exec", "hi"], LoginKind::Oauth, &[]);
    // The address is that of the recorded kind of login, too.
    assert_eq!(launch.arguments, ["-c", "openai_base_url=\"http://gw/chatgpt\""]);
    assert_eq!(variable(&launch, "CODEX_HOME"), Some("/run/login"));
    assert_eq!(launch.removed_variables, ["CODEX_API_KEY"]);
    let [file] = launch.files.as_slice() else { panic!("{:?}", launch.files) };
    assert_eq!(file.path, Path::new("/run/login/auth.json"));
    let auth: Value = serde_json::from_str(&file.content).unwrap();
    assert_eq!(
        (&auth["auth_mode"], &auth["last_refresh"]),
        (&json!("chatgpt"), &json!("2099-01-01T00:00:00Z"))
    );
    let [token, jwt] = launch.secrets.as_slice() else { panic!("{:?}", launch.secrets) };
    assert_eq!(auth["tokens"]["refresh_token"], json!(token));
    assert_eq!((&auth["tokens"]["id_token"], &auth["tokens"]["access_token"]), (&json!(jwt), &json!(jwt)));
    assert!(
        jwt.starts_with("eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJlbWFpbCI6ICJub2JvZHlAZXhhbXBsZS5jb20i"),
        "{jwt}"
    );
    // All else is the user's own.
    let own = machine.folder.path().join("home/.codex");
    let mut links = launch.links.clone();
    links.sort_by(|a, b| a.path.cmp(&b.path));
    let link = |name: &str| OverlayLink { path: Path::new("/run/login").join(name), target: own.join(name) };
    assert_eq!(links, [link("config.toml"), link("skills")]);
    // With an account here, the folder stays: agents name its path in their requests.
    let machine = machine.file("home/.codex/auth.json", r#"{"auth_mode": "chatgpt"}"#);
    let launch = machine.replay(&["codex", "exec", "hi"], LoginKind::Oauth, &[]);
    assert_eq!((variable(&launch, "CODEX_HOME"), launch.files.len()), (None, 0));
    // A key is a variable.
    let launch = machine.replay(&["codex", "exec", "hi"], LoginKind::ApiKey, &[]);
    assert_eq!(variable(&launch, "CODEX_API_KEY"), Some("sk-proj-"));
    assert_eq!((launch.removed_variables, launch.files), (vec!["CODEX_ACCESS_TOKEN".to_owned()], Vec::new()));
    assert_eq!(launch.arguments, ["-c", "openai_base_url=\"http://gw/openai\""]);
}
