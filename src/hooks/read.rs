//! Reads the hooks of a settings file, in both forms that are in use.
//!
//! Nothing is left out silently: what cannot be read gives a warning with its line. A hook that
//! cannot be read but may belong to a guard event stays in the list as one that cannot be run, and
//! so blocks.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::jsonc::{self, JsonPathStep, JsoncDocument};
use crate::domain::nearest;

use super::event::HookEvent;
use super::filter::HookFilter;
use super::hook::{Hook, HookAction, HookForm, HookId, HookOrigin};

/// The timeout of a command that sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest timeout, in seconds, that a command may set.
const MAX_TIMEOUT_SECONDS: f64 = 600.0;

/// Something in a file that does not take effect, or not as it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookWarning {
    pub origin: HookOrigin,
    /// What is wrong and what to write instead.
    pub text: String,
}

impl fmt::Display for HookWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.text)
    }
}

/// Reads the hooks in the text of a file, in order, and what is wrong with it.
pub fn read(text: &str, file: &Path) -> (Vec<Hook>, Vec<HookWarning>) {
    let mut reader =
        HookSettingsReader { file, document: None, hooks: Vec::new(), warnings: Vec::new() };
    let document = match jsonc::parse(text) {
        Ok(document) => document,
        Err(mistake) => {
            let why = format!("{}; its hooks cannot run", mistake.text);
            reader.broken(UnreadableHook::whole(text, file), Some(mistake.line), why);
            return (reader.hooks, reader.warnings);
        }
    };
    let (value, near) = (document.value.clone(), near_key(&document.value));
    reader.document = Some(document);
    if let Some(near) = near {
        let why = format!("there is no key `{}`: write `hooks`", near.escape_debug());
        reader.broken(UnreadableHook::naming(text), reader.line(&[key(&near)]), why);
    }
    for (event, name) in top_level_events(&value) {
        let why = format!("`{}` is outside `hooks`: move it inside", name.escape_debug());
        reader.broken(UnreadableHook::of(event), reader.line(&[key(&name)]), why);
    }
    match value.get("hooks") {
        Some(hooks) => reader.all(hooks),
        None if value.is_object() => {}
        None => {
            let why = "this is not an object: write `{\"hooks\":{}}`".to_owned();
            reader.broken(UnreadableHook::whole(text, file), Some(1), why);
        }
    }
    (reader.hooks, reader.warnings)
}

/// A key at the top of the file that was meant as `hooks`.
fn near_key(value: &Value) -> Option<String> {
    let mut keys = value.as_object().into_iter().flat_map(Map::keys);
    let is_near = |key: &&String| {
        *key != "hooks" && nearest(&key.to_lowercase(), ["hooks", "permissions"]) == Some("hooks")
    };
    keys.find(is_near).cloned()
}

/// Event names at the top of the file, where keys of another program may stand, too. A guard's name
/// counts always, also when it is misspelled; any other event's name counts only with hooks below
/// it.
fn top_level_events(value: &Value) -> Vec<(HookEvent, String)> {
    let keys = value.as_object().into_iter().flatten();
    let event = |(name, below): (&String, &Value)| {
        let guards = GUARDS.map(HookEvent::name);
        let meant = HookEvent::parse(name.trim());
        let meant = meant.or_else(|| nearest(name, guards).and_then(HookEvent::parse))?;
        let counts = GUARDS.contains(&meant) || below.is_array() || below.is_object();
        counts.then(|| (meant, name.clone()))
    };
    keys.filter_map(event).collect()
}

/// The hooks of a file that exists and cannot be read: it may hold any guard.
pub(super) fn unreadable(file: &Path, error: &str) -> (Vec<Hook>, Vec<HookWarning>) {
    let mut reader =
        HookSettingsReader { file, document: None, hooks: Vec::new(), warnings: Vec::new() };
    let why = format!("this {error}. Its hooks cannot run");
    reader.broken(UnreadableHook::any(), None, why);
    (reader.hooks, reader.warnings)
}

const GUARDS: [HookEvent; 2] = [HookEvent::PreToolUse, HookEvent::UserPromptSubmit];

/// The events and tools that something unreadable may have been for.
struct UnreadableHook {
    events: Vec<HookEvent>,
    filter: HookFilter,
}

impl UnreadableHook {
    fn of(event: HookEvent) -> Self {
        Self { events: vec![event], filter: HookFilter::all() }
    }

    /// Stands for the hooks of a file that cannot be parsed. With an unreadable settings file every
    /// call is asked about anyway, so only the guards that the text names count; with `hooks.json`,
    /// all guards count.
    fn whole(text: &str, file: &Path) -> Self {
        match file.file_name().is_some_and(|name| name == "hooks.json") {
            true => Self::any(),
            false => Self::naming(text),
        }
    }

    /// Stands for hooks that may be for any guard.
    fn any() -> Self {
        Self { events: GUARDS.to_vec(), filter: HookFilter::all() }
    }

    /// Stands for hooks on the guards that a text names.
    fn naming(text: &str) -> Self {
        let letters = text.replace(['_', '-'], "").to_lowercase();
        let is_named = |event: &HookEvent| letters.contains(&event.name().to_lowercase());
        Self { events: GUARDS.into_iter().filter(is_named).collect(), filter: HookFilter::all() }
    }
}

struct HookSettingsReader<'a> {
    file: &'a Path,
    document: Option<JsoncDocument>,
    hooks: Vec<Hook>,
    warnings: Vec<HookWarning>,
}

impl HookSettingsReader<'_> {
    fn all(&mut self, hooks: &Value) {
        let path = [key("hooks")];
        match hooks {
            Value::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    self.short(entry, &extend(&path, [JsonPathStep::Index(index)]));
                }
            }
            Value::Object(events) => self.by_event(events, &path),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let why = "`hooks` is neither a list nor an object: write `[]`".to_owned();
                self.broken(UnreadableHook::any(), self.line(&path), why);
            }
        }
    }

    fn short(&mut self, entry: &Value, path: &[JsonPathStep]) {
        let line = self.line(path);
        let (event, name) = match entry.get("event").and_then(Value::as_str) {
            Some(name) => (HookEvent::parse(name), name),
            None => {
                let why = "a hook without `event`: write `{\"event\":…,\"action\":…}`".to_owned();
                let broken = match entry {
                    Value::Object(_) => UnreadableHook::naming(&entry.to_string()),
                    _ => UnreadableHook::any(),
                };
                return self.broken(broken, line, why);
            }
        };
        let Some(event) = event else { return self.no_event(name, entry, line) };
        let filter = match filter(entry, "tool_filter", HookForm::Short) {
            Ok(filter) => filter,
            Err(why) => return self.broken(UnreadableHook::of(event), line, why),
        };
        match action(entry.get("action").unwrap_or(&Value::Null)) {
            Ok(action) => {
                let text = extend(path, [key("action"), key(text_key(&action))]);
                self.push(event, filter, HookForm::Short, action, self.line(&text));
            }
            Err(why) => self.broken(UnreadableHook { events: vec![event], filter }, line, why),
        }
    }

    fn by_event(&mut self, events: &Map<String, Value>, path: &[JsonPathStep]) {
        for (name, groups) in events {
            let path = extend(path, [key(name)]);
            let Some(event) = HookEvent::parse(name) else {
                self.no_event(name, groups, self.line(&path));
                continue;
            };
            let Some(groups) = groups.as_array() else {
                let why = format!("`{name}` is not a list of `{{\"matcher\":…,\"hooks\":[…]}}`");
                self.broken(UnreadableHook::of(event), self.line(&path), why);
                continue;
            };
            for (index, group) in groups.iter().enumerate() {
                self.group(event, group, &extend(&path, [JsonPathStep::Index(index)]));
            }
        }
    }

    fn group(&mut self, event: HookEvent, group: &Value, path: &[JsonPathStep]) {
        let filter = match filter(group, "matcher", HookForm::Matcher) {
            Ok(filter) => filter,
            Err(why) => return self.broken(UnreadableHook::of(event), self.line(path), why),
        };
        let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
            let why = "an entry without `hooks`, which is a list".to_owned();
            return self.broken(
                UnreadableHook { events: vec![event], filter },
                self.line(path),
                why,
            );
        };
        for (index, hook) in hooks.iter().enumerate() {
            let path = extend(path, [key("hooks"), JsonPathStep::Index(index)]);
            match action(hook) {
                Ok(action) => {
                    let line = self.line(&extend(&path, [key(text_key(&action))]));
                    self.push(event, filter.clone(), HookForm::Matcher, action, line);
                }
                Err(why) => {
                    let broken = UnreadableHook { events: vec![event], filter: filter.clone() };
                    self.broken(broken, self.line(&path), why);
                }
            }
        }
    }

    fn push(
        &mut self,
        event: HookEvent,
        filter: HookFilter,
        form: HookForm,
        action: HookAction,
        line: Option<usize>,
    ) {
        let origin = self.origin(line);
        let id = HookId::of(event, &filter, form, &action, &origin);
        self.hooks.push(Hook { id, event, filter, form, action, origin });
    }

    /// Reports a name that is no event. A name close to a guard's was meant as that guard; `hooks`
    /// inside `hooks` may hold guards, too.
    fn no_event(&mut self, name: &str, below: &Value, line: Option<usize>) {
        let names = HookEvent::ALL.map(HookEvent::name);
        match nearest(name, names) {
            Some(meant) => {
                let why = format!("there is no event `{name}`: write `{meant}`");
                self.broken(UnreadableHook::naming(meant), line, why);
            }
            None => {
                let why =
                    format!("there is no event `{name}`; the events are {}", names.join(", "));
                let is_nested = name.trim().eq_ignore_ascii_case("hooks");
                let text = if is_nested { below.to_string() } else { String::new() };
                self.broken(UnreadableHook::naming(&text), line, why);
            }
        }
    }

    /// Adds a warning, and an unreadable hook for each of the events.
    fn broken(&mut self, broken: UnreadableHook, line: Option<usize>, why: String) {
        for event in broken.events {
            let action = HookAction::Unreadable(why.clone());
            self.push(event, broken.filter.clone(), HookForm::Matcher, action, line);
        }
        self.warnings.push(HookWarning { origin: self.origin(line), text: why + "." });
    }

    fn origin(&self, line: Option<usize>) -> HookOrigin {
        HookOrigin { file: PathBuf::from(self.file), line }
    }

    /// The line of the value at a path, where the document is known.
    fn line(&self, path: &[JsonPathStep]) -> Option<usize> {
        self.document.as_ref()?.line(path)
    }
}

fn filter(entry: &Value, name: &str, form: HookForm) -> Result<HookFilter, String> {
    match entry.get(name) {
        None | Some(Value::Null) => Ok(HookFilter::all()),
        Some(Value::String(text)) => HookFilter::parse(text, form),
        Some(_) => Err(format!("`{name}` must be text, as in `\"Bash|Edit\"`")),
    }
}

fn action(value: &Value) -> Result<HookAction, String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::trim);
    match text("type") {
        Some("command") => match text("command") {
            Some(line) if !line.is_empty() => {
                Ok(HookAction::Command { line: line.to_owned(), limit: limit(value)? })
            }
            Some(_) | None => Err("a command hook without `command`".into()),
        },
        Some("prompt") => match text("content") {
            Some(content) if !content.is_empty() => Ok(HookAction::Prompt(content.to_owned())),
            Some(_) | None if value.get("prompt").is_some() => {
                Err("slug does not ask a model about a hook: write `content`, a text for the \
                    model"
                    .into())
            }
            Some(_) | None => Err("a prompt hook without `content`".into()),
        },
        Some(other) => Err(format!(
            "a hook of type `{other}`: the types are `command` and \
            `prompt`"
        )),
        None => Err("a hook without `type` (`command` or `prompt`)".into()),
    }
}

fn limit(value: &Value) -> Result<Duration, String> {
    match value.get("timeout") {
        None | Some(Value::Null) => Ok(DEFAULT_TIMEOUT),
        Some(given) => match given.as_f64() {
            Some(seconds) if seconds > 0.0 && seconds <= MAX_TIMEOUT_SECONDS => {
                Ok(Duration::from_secs_f64(seconds))
            }
            Some(_) | None => {
                Err(format!("`timeout` must be a number of seconds up to {MAX_TIMEOUT_SECONDS}"))
            }
        },
    }
}

/// The key under which an action's text stands.
fn text_key(action: &HookAction) -> &'static str {
    match action {
        HookAction::Command { .. } => "command",
        HookAction::Prompt(_) | HookAction::Unreadable(_) => "content",
    }
}

fn key(name: &str) -> JsonPathStep {
    JsonPathStep::Key(name.to_owned())
}

fn extend<const N: usize>(path: &[JsonPathStep], more: [JsonPathStep; N]) -> Vec<JsonPathStep> {
    path.iter().cloned().chain(more).collect()
}
