//! Reads the head of a Markdown file between two lines of `---`, leniently: it is YAML that others have
//! written, and an unquoted colon or an unknown form must not cost the whole file.
//!
//! Known forms: `key: text`, quoted or not, over several lines behind `|` or `>`; lists in brackets, with
//! commas or with a dash on each line; and one level of `key: value` below a key. Everything else is
//! skipped.

/// What stands behind a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeadValue {
    Text(String),
    List(Vec<String>),
    Table(Vec<(String, String)>),
}

/// The keys of a head with their values, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FrontMatter(Vec<(String, HeadValue)>);

impl FrontMatter {
    /// The value of the first of these keys that has one.
    pub fn get(&self, keys: &[&str]) -> Option<&HeadValue> {
        keys.iter().find_map(|key| {
            let mut all = self.0.iter();
            all.find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
        })
    }

    /// The text of the first of these keys that has one that is not blank.
    pub fn text(&self, keys: &[&str]) -> Option<&str> {
        match self.get(keys)? {
            HeadValue::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            HeadValue::List(_) | HeadValue::Table(_) => None,
        }
    }

    /// Whether one of these keys is set to a yes.
    pub fn flag(&self, keys: &[&str]) -> bool {
        self.text(keys).is_some_and(|text| matches!(text, "true" | "yes" | "on" | "True"))
    }
}

/// Parts a file into its head and its text; `None` where it has no head.
pub(super) fn split(file: &str) -> Option<(FrontMatter, &str)> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let rest = file.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((read(&rest[..at]), rest[at + line.len()..].trim()));
        }
        at += line.len();
    }
    None
}

fn read(head: &str) -> FrontMatter {
    let mut found = Vec::new();
    let mut lines = head.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((key, value)) = pair(line).filter(|_| !line.starts_with([' ', '\t', '#', '-']))
        else {
            continue;
        };
        let mut below = Vec::new();
        while let Some(next) = lines.next_if(|next| {
            next.trim().is_empty() || next.starts_with([' ', '\t']) || next.starts_with("- ")
        }) {
            below.push(next.trim());
        }
        found.push((key.to_owned(), value_of(value, &below)));
    }
    FrontMatter(found)
}

fn value_of(value: &str, below: &[&str]) -> HeadValue {
    let lines = || below.iter().copied().filter(|line| !line.is_empty());
    match value {
        "" if lines().next().is_some_and(|first| first.starts_with("- ") || first == "-") => {
            HeadValue::List(lines().filter_map(|line| line.strip_prefix('-')).map(plain).collect())
        }
        "" if lines().next().is_some() => {
            let pairs = lines().filter_map(pair);
            HeadValue::Table(pairs.map(|(key, value)| (plain(key), plain(value))).collect())
        }
        block if block.starts_with('|') => HeadValue::Text(below.join("\n").trim().to_owned()),
        block if block.starts_with('>') => HeadValue::Text(lines().collect::<Vec<_>>().join(" ")),
        list if list.starts_with('[') => {
            let all = std::iter::once(list).chain(lines()).collect::<Vec<_>>().join(" ");
            let inner = all.trim_start_matches('[').trim_end().trim_end_matches(']');
            HeadValue::List(items(inner))
        }
        text => HeadValue::Text(plain(
            &std::iter::once(text).chain(lines()).collect::<Vec<_>>().join(" "),
        )),
    }
}

/// The parts of a list with commas; commas in parentheses part nothing.
pub(super) fn items(text: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0_u32);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all.iter().map(|item| plain(item)).filter(|item| !item.is_empty()).collect()
}

fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim())).filter(|(key, _)| !key.is_empty())
}

/// A text without its quotes.
fn plain(text: &str) -> String {
    let text = text.trim();
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
    match (quoted('"'), quoted('\'')) {
        (Some(inner), _) => inner.replace("\\n", "\n").replace("\\\"", "\""),
        (None, Some(inner)) => inner.replace("''", "'"),
        (None, None) => text.to_owned(),
    }
}
