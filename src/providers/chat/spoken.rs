//! Tool calls that a model wrote into its text, because its server has no parser for their form.
//!
//! Scanned is what is said, not what is thought, and only where Markdown has plain prose: what
//! stands in code or in quotes is an example ([`prose`]). Text streams on at once; held back are what
//! may be the beginning of a call and the call itself. A call counts when it is whole, all its names
//! are declared and its arguments are certain; everything else is shown as the text that it is. The
//! calls come at the end of the answer, and only if the server reported none of its own.
//!
//! The forms are the rows of [`FAMILIES`]; [`read`], [`tags`] and [`marks`] read what is within.

mod marks;
mod prose;
mod read;
mod tags;

use std::sync::Arc;

use prose::Prose;
pub(super) use read::Found;
use read::{Body, Outcome, Tools};

use crate::domain::ToolSpec;

/// Finds calls in text that streams in.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    tools: Tools,
    state: State,
    prose: Prose,
    /// What is not decided yet.
    held: String,
    found: Vec<Found>,
    /// The text of the calls found.
    taken: String,
}

#[derive(Debug, Default, Clone)]
enum State {
    /// In text.
    #[default]
    Text,
    /// In what looks like a call; `held` begins with it.
    Call(Candidate),
    /// Behind a call.
    After,
    /// The server reports calls on its own: text is text.
    Off,
}

#[derive(Debug, Clone)]
struct Candidate {
    end: End,
    read: read::Read,
    /// Where in `held` the part begins that is read.
    body: usize,
    search: Search,
}

/// How far the end of a call has been looked for.
#[derive(Debug, Clone, Default)]
struct Search {
    /// Bytes of the body.
    upto: usize,
    depth: usize,
    quote: Option<char>,
    escaped: bool,
}

/// A form in which calls are written.
struct Family {
    opener: &'static str,
    place: Where,
    body: Begin,
    end: End,
    read: read::Read,
}

/// Where a form may begin.
#[derive(PartialEq, Eq)]
enum Where {
    Anywhere,
    LineStart,
}

/// Where the part begins that is read.
enum Begin {
    BehindOpener,
    WithOpener,
}

/// What ends a call.
#[derive(Debug, Clone, Copy)]
enum End {
    /// This text.
    Closer(&'static str),
    /// The bracket that closes the first one.
    Bracket,
    /// The same, where single quotes quote, too.
    PythonBracket,
}

/// Whether more may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Open,
    Over,
}

/// Bytes before the first bracket of a form that has one: a name and marks.
const HEADER: usize = 256;

const fn family(opener: &'static str, end: End, read: read::Read) -> Family {
    Family { opener, place: Where::Anywhere, body: Begin::BehindOpener, end, read }
}

const fn whole(opener: &'static str, end: End, read: read::Read) -> Family {
    Family { body: Begin::WithOpener, ..family(opener, end, read) }
}

/// No opener is the beginning of another.
const FAMILIES: &[Family] = &[
    // Hermes, Qwen, GLM; Qwen3-Coder, also where the first tag got lost.
    family("<tool_call>", End::Closer("</tool_call>"), tags::any),
    whole("<function=", End::Closer("</function>"), tags::functions),
    family("<seed:tool_call>", End::Closer("</seed:tool_call>"), tags::any),
    family("<longcat_tool_call>", End::Closer("</longcat_tool_call>"), tags::any),
    // MiniMax M2 and M3; DeepSeek V3.2 and V4.
    family("<minimax:tool_call>", End::Closer("</minimax:tool_call>"), tags::any),
    family("]<]minimax[>[<tool_call>", End::Closer("]<]minimax[>[</tool_call>"), tags::minimax),
    family("<｜DSML｜function_calls>", End::Closer("</｜DSML｜function_calls>"), tags::any),
    family("<｜DSML｜tool_calls>", End::Closer("</｜DSML｜tool_calls>"), tags::any),
    // Llama 3, Granite, Phi-4-mini, Mistral.
    family("<|python_tag|>", End::Bracket, read::json),
    family("<|tool_call|>", End::Bracket, read::json),
    Family { place: Where::LineStart, ..whole("functools[", End::Bracket, read::functools) },
    family("[TOOL_CALLS]", End::Bracket, marks::mistral),
    // LFM2; OLMo 3, and what has Anthropic's tags.
    family("<|tool_call_start|>", End::Closer("<|tool_call_end|>"), read::python),
    family("<function_calls>", End::Closer("</function_calls>"), tags::any),
    // Kimi K2 and K3.
    family(
        "<|tool_calls_section_begin|>",
        End::Closer("<|tool_calls_section_end|>"),
        marks::kimi_k2,
    ),
    family("<|tool_call_begin|>", End::Closer("<|tool_call_end|>"), marks::kimi_k2),
    family("<|open|>tools<|sep|>", End::Closer("<|close|>tools"), marks::kimi_k3),
    whole("<|open|>call ", End::Closer("<|close|>call"), marks::kimi_k3),
    // DeepSeek V3 and V3.1.
    family("<｜tool▁calls▁begin｜>", End::Closer("<｜tool▁calls▁end｜>"), marks::deepseek),
    family("<｜tool▁call▁begin｜>", End::Closer("<｜tool▁call▁end｜>"), marks::deepseek),
    // Gemma 4, FunctionGemma.
    family("<|tool_call>", End::Closer("<tool_call|>"), marks::gemma),
    family("<start_function_call>", End::Closer("<end_function_call>"), marks::gemma),
    // gpt-oss.
    family("<|channel|>commentary to=", End::Bracket, marks::harmony),
    family("<|start|>assistant<|channel|>commentary to=", End::Bracket, marks::harmony),
    family("<|start|>assistant to=", End::Bracket, marks::harmony),
];

/// Marks that may follow a call and say nothing.
const TRAILERS: &[&str] = &[
    "<|call|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|sep|>",
    "<|close|>tools",
    "<|close|>message",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "</tool_call>",
    "</s>",
];

/// What stands at a place in text.
enum Opening {
    None,
    /// Too little has come to tell.
    Maybe,
    Call(Candidate),
}

/// What came of a step.
enum Step {
    /// So many bytes of the held text are dealt with.
    Past(usize),
    /// More has to come first.
    Wait(usize),
}

impl Spoken {
    /// Looks for calls of these tools.
    pub(super) fn new(tools: Arc<[ToolSpec]>) -> Self {
        let state = if tools.is_empty() { State::Off } else { State::Text };
        Self { tools: Tools::new(tools), state, ..Self::default() }
    }

    /// Takes the next text in; `say` gets what is only text.
    pub(super) fn push(&mut self, text: &str, say: &mut dyn FnMut(&str)) {
        if matches!(self.state, State::Off) {
            return say(text);
        }
        if self.held.is_empty() {
            self.go_on(text, Stream::Open, say);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.push_str(text);
            self.go_on(&held, Stream::Open, say);
        }
    }

    /// The server has reported a call: there is nothing to recover.
    pub(super) fn leave_calls(&mut self, say: &mut dyn FnMut(&str)) {
        let text = std::mem::take(&mut self.taken) + &std::mem::take(&mut self.held);
        self.found.clear();
        self.state = State::Off;
        if !text.is_empty() {
            say(&text);
        }
    }

    /// The answer is over: its calls. What was held back and is none is said.
    pub(super) fn finish(&mut self, say: &mut dyn FnMut(&str)) -> Vec<Found> {
        let held = std::mem::take(&mut self.held);
        self.go_on(&held, Stream::Over, say);
        std::mem::take(&mut self.found)
    }

    /// The text and the calls in what was `written`, as far as the server says that there is a call
    /// which it could not read; nothing where slug cannot either.
    pub(super) fn rescue(&self, written: &str) -> Option<(String, Vec<Found>)> {
        let body = Body { text: written, is_closed: true };
        if let Outcome::Calls(calls) = read::json(body, &self.tools) {
            return Some((String::new(), calls));
        }
        let mut scanner = Self { tools: self.tools.clone(), ..Self::default() };
        let mut said = String::new();
        let mut say = |text: &str| said.push_str(text);
        scanner.push(written, &mut say);
        let calls = scanner.finish(&mut say);
        (!calls.is_empty()).then_some((said, calls))
    }

    fn go_on(&mut self, held: &str, stream: Stream, say: &mut dyn FnMut(&str)) {
        let mut at = 0;
        while at < held.len() {
            let rest = &held[at..];
            let step = match self.state.clone() {
                State::Text => self.text(rest, stream, say),
                State::Call(candidate) => self.call(rest, candidate, stream, say),
                State::After => self.after(rest, stream),
                State::Off => {
                    say(rest);
                    Step::Past(rest.len())
                }
            };
            match step {
                Step::Past(bytes) => at += bytes,
                Step::Wait(bytes) => {
                    at += bytes;
                    break;
                }
            }
        }
        held[at..].clone_into(&mut self.held);
    }

    fn text(&mut self, rest: &str, stream: Stream, say: &mut dyn FnMut(&str)) -> Step {
        let mut at = 0;
        loop {
            at += self.prose.skip(&rest[at..]);
            let Some(letter) = rest[at..].chars().next() else { break };
            if begins_one(letter) && self.prose.is_plain() {
                match self.opening(&rest[at..]) {
                    Opening::Call(candidate) => {
                        say_some(&rest[..at], say);
                        self.state = State::Call(candidate);
                        return Step::Past(at);
                    }
                    Opening::Maybe if stream == Stream::Open => {
                        say_some(&rest[..at], say);
                        return Step::Wait(at);
                    }
                    Opening::Maybe | Opening::None => {}
                }
            }
            self.prose.pass(letter);
            at += letter.len_utf8();
        }
        say_some(rest, say);
        Step::Past(rest.len())
    }

    fn call(
        &mut self,
        rest: &str,
        mut candidate: Candidate,
        stream: Stream,
        say: &mut dyn FnMut(&str),
    ) -> Step {
        let body = &rest[candidate.body..];
        loop {
            let (read, end) = match candidate.next_end(body) {
                Some((upto, end)) => {
                    let body = Body { text: &body[..upto], is_closed: true };
                    ((candidate.read)(body, &self.tools), candidate.body + end)
                }
                None if candidate.has_no_bracket() => (Outcome::Broken, 0),
                None if stream == Stream::Open => {
                    self.state = State::Call(candidate);
                    return Step::Wait(0);
                }
                None => {
                    match (candidate.read)(Body { text: body, is_closed: false }, &self.tools) {
                        Outcome::Cut => (Outcome::Broken, 0),
                        read @ (Outcome::Calls(_) | Outcome::Broken) => (read, rest.len()),
                    }
                }
            };
            match read {
                Outcome::Calls(calls) => {
                    self.found.extend(calls);
                    self.taken.push_str(&rest[..end]);
                    self.state = State::After;
                    self.prose = Prose::default();
                    return Step::Past(end);
                }
                Outcome::Broken => return self.give_up(rest, say),
                Outcome::Cut => {}
            }
        }
    }

    /// It was no call: the first letter of it is text, and what follows is looked at anew.
    fn give_up(&mut self, rest: &str, say: &mut dyn FnMut(&str)) -> Step {
        self.state = State::Text;
        let Some(first) = rest.chars().next() else { return Step::Past(0) };
        self.prose.pass(first);
        say(&rest[..first.len_utf8()]);
        Step::Past(first.len_utf8())
    }

    /// Behind a call the next one may follow, with white space and separators between, which are
    /// text only if text comes.
    fn after(&mut self, rest: &str, stream: Stream) -> Step {
        let next =
            rest.trim_start_matches(|it: char| it.is_whitespace() || matches!(it, ';' | ','));
        let between = rest.len() - next.len();
        if next.is_empty() {
            return match stream {
                Stream::Open => Step::Wait(0),
                Stream::Over => Step::Past(rest.len()),
            };
        }
        if let Some(trailer) = TRAILERS.iter().find(|trailer| next.starts_with(**trailer)) {
            let end = between + trailer.len();
            self.taken.push_str(&rest[..end]);
            return Step::Past(end);
        }
        let maybe_trailer = TRAILERS.iter().any(|trailer| trailer.starts_with(next));
        match self.opening(next) {
            Opening::Call(candidate) => {
                self.taken.push_str(&rest[..between]);
                self.state = State::Call(candidate);
                Step::Past(between)
            }
            Opening::Maybe if stream == Stream::Open => Step::Wait(0),
            Opening::None if stream == Stream::Open && maybe_trailer => Step::Wait(0),
            Opening::Maybe | Opening::None => {
                self.state = State::Text;
                Step::Past(0)
            }
        }
    }

    fn opening(&self, rest: &str) -> Opening {
        let at_line_start = self.prose.is_at_line_start();
        let mut opening = Opening::None;
        for family in FAMILIES {
            if family.place == Where::LineStart && !at_line_start {
                continue;
            }
            if rest.starts_with(family.opener) {
                let body = match family.body {
                    Begin::BehindOpener => family.opener.len(),
                    Begin::WithOpener => 0,
                };
                return Opening::Call(Candidate::new(family.end, family.read, body));
            }
            if family.opener.starts_with(rest) {
                opening = Opening::Maybe;
            }
        }
        match (opening, at_line_start) {
            (Opening::None, true) => self.bare(rest),
            (opening, _) => opening,
        }
    }

    /// Calls without any mark: an object that begins with a name, a list of Python calls.
    fn bare(&self, rest: &str) -> Opening {
        if let Some(within) = rest.strip_prefix('{') {
            let within = within.trim_start();
            return match ["\"name\"", "\"type\"", "\"function\""] {
                keys if keys.iter().any(|key| within.starts_with(key)) => {
                    Opening::Call(Candidate::new(End::Bracket, read::bare_json, 0))
                }
                keys if keys.iter().any(|key| key.starts_with(within)) => Opening::Maybe,
                _ => Opening::None,
            };
        }
        let Some(within) = rest.strip_prefix('[') else { return Opening::None };
        let mut opening = Opening::None;
        for name in self.tools.names() {
            match within.strip_prefix(name) {
                Some(behind) if behind.starts_with('(') => {
                    return Opening::Call(Candidate::new(End::PythonBracket, read::python, 0));
                }
                Some("") => opening = Opening::Maybe,
                None if name.starts_with(within) => opening = Opening::Maybe,
                Some(_) | None => {}
            }
        }
        opening
    }
}

impl Candidate {
    fn new(end: End, read: read::Read, body: usize) -> Self {
        Self { end, read, body, search: Search::default() }
    }

    /// The next place where the call may end: where its body does, and where all of it does.
    fn next_end(&mut self, body: &str) -> Option<(usize, usize)> {
        match self.end {
            End::Closer(closer) => {
                let from = self.search.upto;
                let Some(at) = body[from..].find(closer) else {
                    // The closer's first bytes may have come already.
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
            End::Bracket => self.next_bracket(body, &['"']),
            End::PythonBracket => self.next_bracket(body, &['"', '\'']),
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

    /// Whether what should have come by now has not.
    fn has_no_bracket(&self) -> bool {
        let Search { upto, depth, .. } = self.search;
        match self.end {
            End::Closer(_) => false,
            End::Bracket | End::PythonBracket => depth == 0 && upto > HEADER,
        }
    }
}

/// Whether an opener may begin with this letter.
fn begins_one(letter: char) -> bool {
    matches!(letter, '<' | '[' | '{' | ']' | 'f')
}

fn say_some(text: &str, say: &mut dyn FnMut(&str)) {
    if !text.is_empty() {
        say(text);
    }
}

#[cfg(test)]
mod tests;
