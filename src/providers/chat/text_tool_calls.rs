//! Recovers tool calls that a model wrote into its text, because its server has no parser for their
//! form.
//!
//! Only the response's text is scanned, not its thinking, and only plain Markdown prose: code and
//! quotes hold examples ([`prose`]). Text streams on at once; only a possible beginning of a call
//! and the call itself are held back. A call counts if it is complete, all its names are declared
//! and its arguments are unambiguous; everything else is shown as text. The exception is a response
//! that is one JSON object and nothing else: if it has the shape of a call, it counts whatever tool
//! it names, so that the model is told which tools there are. An object in the shape of a call that
//! only lacks brackets at the end of the response counts, too: as the call where one brace is missing
//! that has only one place, otherwise as a call that fails and says why. The calls are reported at the
//! end of the response, and only if the server reported none itself.
//!
//! The forms are the rows of [`FAMILIES`]; [`read`], [`tags`] and [`special_tokens`] parse the
//! calls.

mod formats;
mod prose;
mod read;
mod special_tokens;
mod tags;

use std::sync::Arc;

use formats::{CallBodyStart, FAMILIES, OpenerPlacement, TRAILERS};
use prose::ProseTracker;
pub(super) use read::TextToolCall;
use read::{CallParseOutcome, CallText, DeclaredTools};

use crate::domain::ToolSpec;

/// Finds calls in text that streams in.
#[derive(Debug, Default)]
pub(super) struct TextToolCallParser {
    tools: DeclaredTools,
    state: TextCallState,
    prose: ProseTracker,
    /// Text that is not decided yet.
    held: String,
    /// Whether anything but white space was said, so that no call can be all of the response.
    has_said: bool,
    found: Vec<TextToolCall>,
    /// The text of the calls that were found.
    call_text: String,
}

#[derive(Debug, Default, Clone)]
enum TextCallState {
    /// Nothing that looks like a call has begun.
    #[default]
    Text,
    /// Inside what looks like a call, with which `held` begins.
    Call(CallCandidate),
    /// Behind the call of an undeclared tool, which counts if it is the whole response. `held` begins
    /// with it, up to `end`.
    Undeclared { call: TextToolCall, end: usize },
    /// Behind a call, where another one may follow.
    After,
    /// The server reports calls itself: all text is text.
    Off,
}

#[derive(Debug, Clone)]
struct CallCandidate {
    end: CallTerminator,
    read: read::CallReader,
    /// The offset in `held` of the part that a reader parses.
    body: usize,
    search: CallEndSearch,
}

/// How far the search for the end of a call has come.
#[derive(Debug, Clone, Default)]
struct CallEndSearch {
    /// Bytes of the body that have been searched.
    upto: usize,
    depth: usize,
    quote: Option<char>,
    escaped: bool,
}

/// What ends a call.
#[derive(Debug, Clone, Copy)]
enum CallTerminator {
    /// A fixed text.
    Closer(&'static str),
    /// The bracket that closes the first one.
    Bracket,
    /// The same, but single quotes delimit strings too.
    PythonBracket,
}

/// Whether more text may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextStreamStatus {
    Open,
    Over,
}

/// The most bytes of name and marks before the first bracket, for forms that have one.
const HEADER: usize = 256;

/// What a place in the text begins.
enum OpenerMatch {
    None,
    /// Too little text has come to decide.
    Maybe,
    Call(CallCandidate),
}

/// The result of one scanning step.
enum TextScanStep {
    /// This many bytes of the held text are done.
    Past(usize),
    /// More text has to come first.
    Wait(usize),
}

impl TextToolCallParser {
    /// A parser that accepts calls of these tools only.
    pub(super) fn new(tools: Arc<[ToolSpec]>) -> Self {
        let state = if tools.is_empty() { TextCallState::Off } else { TextCallState::Text };
        Self { tools: DeclaredTools::new(tools), state, ..Self::default() }
    }

    /// Adds the next text; `say` receives what is certainly text.
    pub(super) fn push(&mut self, text: &str, say: &mut dyn FnMut(&str)) {
        if matches!(self.state, TextCallState::Off) {
            return say(text);
        }
        if self.held.is_empty() {
            self.go_on(text, TextStreamStatus::Open, say);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.push_str(text);
            self.go_on(&held, TextStreamStatus::Open, say);
        }
    }

    /// The server has reported a call itself: stops looking, and releases the held text.
    pub(super) fn leave_calls(&mut self, say: &mut dyn FnMut(&str)) {
        let text = std::mem::take(&mut self.call_text) + &std::mem::take(&mut self.held);
        self.found.clear();
        self.state = TextCallState::Off;
        if !text.is_empty() {
            say(&text);
        }
    }

    /// Ends the response and returns its calls. Held text that is no call goes to `say`.
    pub(super) fn finish(&mut self, say: &mut dyn FnMut(&str)) -> Vec<TextToolCall> {
        let held = std::mem::take(&mut self.held);
        self.go_on(&held, TextStreamStatus::Over, say);
        std::mem::take(&mut self.found)
    }

    /// The text and the calls in `written`, which the server reported as a call that it could not
    /// parse. `None` if slug cannot parse it either.
    pub(super) fn rescue(&self, written: &str) -> Option<(String, Vec<TextToolCall>)> {
        let body = CallText { text: written, is_closed: true };
        if let CallParseOutcome::Calls(calls) = read::json(body, &self.tools) {
            return Some((String::new(), calls));
        }
        // The call of an undeclared tool is one to try again: the server knows the tools, too.
        let has_said = true;
        let mut scanner = Self { tools: self.tools.clone(), has_said, ..Self::default() };
        let mut plain_text = String::new();
        let mut say = |text: &str| plain_text.push_str(text);
        scanner.push(written, &mut say);
        let calls = scanner.finish(&mut say);
        (!calls.is_empty()).then_some((plain_text, calls))
    }

    fn go_on(&mut self, held: &str, stream: TextStreamStatus, say: &mut dyn FnMut(&str)) {
        let mut at = 0;
        while at < held.len() {
            let rest = &held[at..];
            let step = match self.state.clone() {
                TextCallState::Text => self.text(rest, stream, say),
                TextCallState::Call(candidate) => self.call(rest, candidate, stream, say),
                TextCallState::Undeclared { call, end } => {
                    self.undeclared(rest, (call, end), stream, say)
                }
                TextCallState::After => self.after(rest, stream),
                TextCallState::Off => {
                    say(rest);
                    TextScanStep::Past(rest.len())
                }
            };
            match step {
                TextScanStep::Past(bytes) => at += bytes,
                TextScanStep::Wait(bytes) => {
                    at += bytes;
                    break;
                }
            }
        }
        held[at..].clone_into(&mut self.held);
    }

    fn text(
        &mut self,
        rest: &str,
        stream: TextStreamStatus,
        say: &mut dyn FnMut(&str),
    ) -> TextScanStep {
        let mut at = 0;
        loop {
            at += self.prose.skip(&rest[at..]);
            let Some(letter) = rest[at..].chars().next() else { break };
            if begins_one(letter) && self.prose.is_plain() {
                match self.opening(&rest[at..]) {
                    OpenerMatch::Call(candidate) => {
                        self.say_some(&rest[..at], say);
                        self.state = TextCallState::Call(candidate);
                        return TextScanStep::Past(at);
                    }
                    OpenerMatch::Maybe if stream == TextStreamStatus::Open => {
                        self.say_some(&rest[..at], say);
                        return TextScanStep::Wait(at);
                    }
                    OpenerMatch::Maybe | OpenerMatch::None => {}
                }
            }
            self.prose.pass(letter);
            at += letter.len_utf8();
        }
        self.say_some(rest, say);
        TextScanStep::Past(rest.len())
    }

    fn call(
        &mut self,
        rest: &str,
        mut candidate: CallCandidate,
        stream: TextStreamStatus,
        say: &mut dyn FnMut(&str),
    ) -> TextScanStep {
        let body = &rest[candidate.body..];
        loop {
            let (read, end) = match candidate.next_end(body) {
                Some((upto, end)) => {
                    let body = CallText { text: &body[..upto], is_closed: true };
                    ((candidate.read)(body, &self.tools), candidate.body + end)
                }
                None if candidate.has_no_bracket() => (CallParseOutcome::Broken, 0),
                None if stream == TextStreamStatus::Open => {
                    self.state = TextCallState::Call(candidate);
                    return TextScanStep::Wait(0);
                }
                None => {
                    match (candidate.read)(CallText { text: body, is_closed: false }, &self.tools) {
                        CallParseOutcome::Cut => (CallParseOutcome::Broken, 0),
                        read @ (CallParseOutcome::Calls(_) | CallParseOutcome::Broken) => {
                            (read, rest.len())
                        }
                    }
                }
            };
            match read {
                CallParseOutcome::Calls(calls) => {
                    self.found.extend(calls);
                    self.call_text.push_str(&rest[..end]);
                    self.state = TextCallState::After;
                    self.prose = ProseTracker::default();
                    return TextScanStep::Past(end);
                }
                CallParseOutcome::Broken => {
                    let is_alone = !self.has_said && self.found.is_empty();
                    let is_cut = end == 0 && stream == TextStreamStatus::Over;
                    let unclosed = (is_cut && rest.starts_with('{'))
                        .then(|| read::unclosed(rest, &self.tools, is_alone));
                    if let Some(call) = unclosed.flatten() {
                        self.found.push(call);
                        self.call_text.push_str(rest);
                        self.state = TextCallState::After;
                        return TextScanStep::Past(rest.len());
                    }
                    let call = (is_alone && rest.starts_with('{'))
                        .then(|| read::undeclared(&rest[..end], &self.tools))
                        .flatten();
                    let Some(call) = call else { return self.give_up(rest, say) };
                    self.state = TextCallState::Undeclared { call, end };
                    return TextScanStep::Past(0);
                }
                CallParseOutcome::Cut => {}
            }
        }
    }

    /// An undeclared call that is all of the response counts, and is text if anything follows.
    fn undeclared(
        &mut self,
        rest: &str,
        (call, end): (TextToolCall, usize),
        stream: TextStreamStatus,
        say: &mut dyn FnMut(&str),
    ) -> TextScanStep {
        if !rest[end..].trim().is_empty() {
            return self.give_up(rest, say);
        }
        match stream {
            TextStreamStatus::Open => TextScanStep::Wait(0),
            TextStreamStatus::Over => {
                self.found.push(call);
                self.state = TextCallState::After;
                TextScanStep::Past(rest.len())
            }
        }
    }

    /// The candidate was no call: its first character is text, and scanning goes on behind it.
    fn give_up(&mut self, rest: &str, say: &mut dyn FnMut(&str)) -> TextScanStep {
        self.state = TextCallState::Text;
        let Some(first) = rest.chars().next() else { return TextScanStep::Past(0) };
        self.prose.pass(first);
        self.say_some(&rest[..first.len_utf8()], say);
        TextScanStep::Past(first.len_utf8())
    }

    /// Behind a call another one may follow, after white space and separators. These count as text
    /// only if text follows.
    fn after(&mut self, rest: &str, stream: TextStreamStatus) -> TextScanStep {
        let next =
            rest.trim_start_matches(|it: char| it.is_whitespace() || matches!(it, ';' | ','));
        let between = rest.len() - next.len();
        if next.is_empty() {
            return match stream {
                TextStreamStatus::Open => TextScanStep::Wait(0),
                TextStreamStatus::Over => TextScanStep::Past(rest.len()),
            };
        }
        if let Some(trailer) = TRAILERS.iter().find(|trailer| next.starts_with(**trailer)) {
            let end = between + trailer.len();
            self.call_text.push_str(&rest[..end]);
            return TextScanStep::Past(end);
        }
        let maybe_trailer = TRAILERS.iter().any(|trailer| trailer.starts_with(next));
        match self.opening(next) {
            OpenerMatch::Call(candidate) => {
                self.call_text.push_str(&rest[..between]);
                self.state = TextCallState::Call(candidate);
                TextScanStep::Past(between)
            }
            OpenerMatch::Maybe if stream == TextStreamStatus::Open => TextScanStep::Wait(0),
            OpenerMatch::None if stream == TextStreamStatus::Open && maybe_trailer => {
                TextScanStep::Wait(0)
            }
            OpenerMatch::Maybe | OpenerMatch::None => {
                self.state = TextCallState::Text;
                TextScanStep::Past(0)
            }
        }
    }

    fn say_some(&mut self, text: &str, say: &mut dyn FnMut(&str)) {
        self.has_said |= !text.trim().is_empty();
        if !text.is_empty() {
            say(text);
        }
    }

    fn opening(&self, rest: &str) -> OpenerMatch {
        let at_line_start = self.prose.is_at_line_start();
        let mut opening = OpenerMatch::None;
        for family in FAMILIES {
            if family.place == OpenerPlacement::LineStart && !at_line_start {
                continue;
            }
            if rest.starts_with(family.opener) {
                let body = match family.body {
                    CallBodyStart::BehindOpener => family.opener.len(),
                    CallBodyStart::WithOpener => 0,
                };
                return OpenerMatch::Call(CallCandidate::new(family.end, family.read, body));
            }
            if family.opener.starts_with(rest) {
                opening = OpenerMatch::Maybe;
            }
        }
        match (opening, at_line_start) {
            (OpenerMatch::None, true) => self.bare(rest),
            (opening, _) => opening,
        }
    }

    /// Calls without any mark: an object that begins with a name, or a list of Python calls.
    fn bare(&self, rest: &str) -> OpenerMatch {
        if let Some(within) = rest.strip_prefix('{') {
            let within = within.trim_start();
            return match ["\"name\"", "\"type\"", "\"function\""] {
                keys if keys.iter().any(|key| within.starts_with(key)) => OpenerMatch::Call(
                    CallCandidate::new(CallTerminator::Bracket, read::bare_json, 0),
                ),
                keys if keys.iter().any(|key| key.starts_with(within)) => OpenerMatch::Maybe,
                _ => OpenerMatch::None,
            };
        }
        let Some(within) = rest.strip_prefix('[') else { return OpenerMatch::None };
        let mut opening = OpenerMatch::None;
        for name in self.tools.names() {
            match within.strip_prefix(name) {
                Some(behind) if behind.starts_with('(') => {
                    return OpenerMatch::Call(CallCandidate::new(
                        CallTerminator::PythonBracket,
                        read::python,
                        0,
                    ));
                }
                Some("") => opening = OpenerMatch::Maybe,
                None if name.starts_with(within) => opening = OpenerMatch::Maybe,
                Some(_) | None => {}
            }
        }
        opening
    }
}

impl CallCandidate {
    fn new(end: CallTerminator, read: read::CallReader, body: usize) -> Self {
        Self { end, read, body, search: CallEndSearch::default() }
    }

    /// The next possible end of the call: where its body ends, and where all of it ends.
    fn next_end(&mut self, body: &str) -> Option<(usize, usize)> {
        match self.end {
            CallTerminator::Closer(closer) => {
                let from = self.search.upto;
                let Some(at) = body[from..].find(closer) else {
                    // The first bytes of the closer may have come already.
                    let mut upto = body.len().saturating_sub(closer.len()).max(from);
                    while !body.is_char_boundary(upto) {
                        upto -= 1;
                    }
                    self.search.upto = upto;
                    return None;
                };
                self.search.upto = from + at + closer.len();
                Some((from + at, self.search.upto))
            }
            CallTerminator::Bracket => self.next_bracket(body, &['"']),
            CallTerminator::PythonBracket => self.next_bracket(body, &['"', '\'']),
        }
    }

    fn next_bracket(&mut self, body: &str, quotes: &[char]) -> Option<(usize, usize)> {
        let search = &mut self.search;
        for (at, letter) in body[search.upto..].char_indices() {
            let end = search.upto + at + letter.len_utf8();
            if std::mem::take(&mut search.escaped) {
                continue;
            }
            match (search.quote, letter) {
                (Some(_), '\\') => search.escaped = true,
                (Some(quote), _) if quote == letter => search.quote = None,
                (Some(_), _) => {}
                (None, _) if search.depth > 0 && quotes.contains(&letter) => {
                    search.quote = Some(letter);
                }
                (None, '{' | '[' | '(') => search.depth += 1,
                (None, '}' | ']' | ')') if search.depth > 0 => {
                    search.depth -= 1;
                    if search.depth == 0 {
                        search.upto = end;
                        return Some((end, end));
                    }
                }
                (None, _) if search.depth == 0 && end > HEADER => {
                    search.upto = end;
                    return None;
                }
                (None, _) => {}
            }
        }
        search.upto = body.len();
        None
    }

    /// Whether the bracket is overdue, so that this cannot be a call.
    fn has_no_bracket(&self) -> bool {
        let CallEndSearch { upto, depth, .. } = self.search;
        match self.end {
            CallTerminator::Closer(_) => false,
            CallTerminator::Bracket | CallTerminator::PythonBracket => depth == 0 && upto > HEADER,
        }
    }
}

/// Whether an opener may begin with this character.
fn begins_one(letter: char) -> bool {
    matches!(letter, '<' | '[' | '{' | ']' | 'f')
}

#[cfg(test)]
mod tests;
