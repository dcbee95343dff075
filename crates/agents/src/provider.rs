//! The provider that an agent's TOML settings choose, with its address.
//!
//! Settings are read in layers, as the agent does: files, the file of a profile, then single members set by options. Only the
//! address is looked at. Start reading at [`choose`].

use toml::{Table, Value};

use crate::local::read_settings;
use crate::options;
use crate::plan::AgentContext;
use crate::row::{LocalProviderRow, LoginKind, ProviderKind, ProviderRow, is_route_name};

/// Provider that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenProvider {
    pub(crate) kind: ProviderKind,
    /// Name for the route if it needs one of its own.
    pub(crate) route: String,
    /// Member that sets the address.
    pub(crate) key: String,
    /// Address that it has now; `None` for the vendor's own.
    pub(crate) upstream: Option<String>,
    /// Path behind the address of the route; empty, or with a leading slash.
    pub(crate) path: String,
}

/// Returns the provider that the settings choose.
pub(crate) fn choose(row: &ProviderRow, context: &AgentContext<'_>, login: LoginKind) -> ChosenProvider {
    let settings = settings(row, context);
    if let Some(chosen) = row.local.as_ref().and_then(|local| local_provider(local, &settings, context)) {
        return chosen;
    }
    let id = settings.text(&[&row.selector]).unwrap_or_else(|| row.built_in.clone());
    if row.fixed.contains(&id) {
        return ChosenProvider {
            kind: ProviderKind::Fixed,
            route: id,
            key: String::new(),
            upstream: None,
            path: String::new(),
        };
    }
    let (key, address) = if id == row.built_in {
        (row.built_in_key.clone(), settings.text(&[&row.built_in_key]))
    } else {
        (format!("{}.{id}.{}", row.table, row.address), settings.text(&[&row.table, &id, &row.address]))
    };
    let is_own_name = id != row.built_in && is_route_name(&id);
    let (route, upstream) = match address {
        Some(address) => (if is_own_name { id } else { row.route.clone() }, Some(address)),
        None if login == LoginKind::Oauth => (row.oauth.route.clone(), Some(row.oauth.upstream.clone())),
        None => (row.route.clone(), None),
    };
    ChosenProvider { kind: ProviderKind::Configured, route, key, upstream, path: String::new() }
}

fn local_provider(
    local: &LocalProviderRow,
    settings: &LayeredSettings,
    context: &AgentContext<'_>,
) -> Option<ChosenProvider> {
    if !options::has_word(context.arguments, &local.option) {
        return None;
    }
    let names: Vec<&str> = local.name_options.iter().map(String::as_str).collect();
    let name =
        options::last_value(context.arguments, &names).or_else(|| settings.text(&[&local.name_key]))?;
    let port = context.variable(&local.port_variable).and_then(|port| port.parse().ok());
    let port: u16 = port.or_else(|| local.ports.get(&name).copied())?;
    let address = context.variable(&local.variable).map(str::to_owned);
    let upstream = address.unwrap_or_else(|| format!("http://localhost:{port}/v1"));
    // The server's other interfaces, by which its models are listed, are beside this path.
    let upstream = upstream.trim_end_matches('/');
    let (root, path) = upstream.strip_suffix("/v1").map_or((upstream, ""), |root| (root, "/v1"));
    Some(ChosenProvider {
        kind: ProviderKind::Local,
        route: name,
        key: local.variable.clone(),
        upstream: Some(root.to_owned()),
        path: path.to_owned(),
    })
}

/// Settings in layers, the strongest last.
struct LayeredSettings(Vec<Table>);

impl LayeredSettings {
    /// Returns the text at a path in the strongest layer that has it.
    fn text(&self, path: &[&str]) -> Option<String> {
        self.0.iter().rev().find_map(|layer| {
            let (last, tables) = path.split_last()?;
            let table = tables.iter().try_fold(layer, |table, name| table.get(*name)?.as_table())?;
            table.get(*last)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
        })
    }
}

/// Reads the settings that hold for a command.
fn settings(row: &ProviderRow, context: &AgentContext<'_>) -> LayeredSettings {
    let names = |names: &[String]| names.iter().map(String::as_str).map(str::to_owned).collect::<Vec<_>>();
    let (profile_names, override_names) = (names(&row.profile_options), names(&row.override_options));
    let profile_names: Vec<&str> = profile_names.iter().map(String::as_str).collect();
    let override_names: Vec<&str> = override_names.iter().map(String::as_str).collect();
    let mut layers: Vec<Table> =
        row.files.iter().filter_map(|file| read_table(&context.path(file)?)).collect();
    let profile = options::last_value(context.arguments, &profile_names);
    let layered = LayeredSettings(layers.clone());
    if let Some(profile) = profile.or_else(|| layered.text(&["profile"])) {
        // Profiles of older versions are tables of the same files.
        let tables =
            layers.iter().filter_map(|layer| layer.get("profiles")?.as_table()?.get(&profile)?.as_table());
        let older: Vec<Table> = tables.cloned().collect();
        layers.extend(older);
        if is_file_part(&profile) {
            let file = row.profile_file.replace("${profile}", &profile);
            layers.extend(context.path(&file).and_then(|path| read_table(&path)));
        }
    }
    let set = options::values(context.arguments, &override_names);
    layers.extend(
        set.iter()
            .filter_map(|set| set.value.split_once('='))
            .map(|(key, value)| single(key.trim(), value.trim())),
    );
    LayeredSettings(layers)
}

fn read_table(path: &std::path::Path) -> Option<Table> {
    read_settings(path)?.parse().ok()
}

/// Returns true for a name that is one part of a path.
fn is_file_part(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain)
}

/// Returns the table that a dotted key sets to a value. A value that is no TOML is the text itself.
fn single(key: &str, value: &str) -> Table {
    let parsed = format!("x = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("x"));
    let text = || Value::String(value.trim_matches(['"', '\'']).to_owned());
    let mut names = key.split('.').rev();
    let mut table = Table::new();
    table.insert(names.next().unwrap_or_default().to_owned(), parsed.unwrap_or_else(text));
    names.take(16).fold(table, |inner, name| Table::from_iter([(name.to_owned(), Value::Table(inner))]))
}
