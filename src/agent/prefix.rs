//! Finds out why a server's prompt cache missed, although the prompt begins like the previous one.
//!
//! Of each request only hashes of its parts are kept, no text. When a response reports next to
//! nothing from a cache that has worked in this session, the parts are compared in the order in
//! which a server reads them. The first part that differs is the reason.

use std::fmt;
use std::time::{Duration, Instant};

use crate::domain::{ModelName, TokenUsage};

use super::thinking_signatures::RequestHashes;

/// The shortest prompt whose miss is reported, in tokens. Not all servers cache shorter prompts:
/// Anthropic's minimum is 512 to 4096 tokens, by model (its API docs, "Prompt caching").
const MIN_REPORTED_TOKENS: u64 = 2048;

/// How long servers usually keep an unused prompt in the cache. It is the default of Anthropic's
/// `ttl` (its API docs, "Prompt caching").
const CACHE_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// Follows what responses report about the server's prompt cache.
#[derive(Debug, Default)]
pub(super) struct PromptCacheMonitor {
    /// The request whose response has not ended yet.
    sent: Option<HashedRequest>,
    /// The last answered request, with its usage.
    answered: Option<(HashedRequest, TokenUsage)>,
    works: PromptCacheSupport,
}

/// Whether the current provider has ever reported tokens from its cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum PromptCacheSupport {
    #[default]
    Unknown,
    Yes,
}

/// A request that was sent: its model, its hashes and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HashedRequest {
    name: ModelName,
    parts: RequestHashes,
    at: Instant,
}

/// A prompt that the cache should have had. Its `Display` is the sentence that the user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PromptCacheMiss {
    changed: PrefixChange,
    /// The time since the previous request.
    after: Duration,
}

/// The first part that differs from the previous request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrefixChange {
    Model,
    Tools,
    System,
    /// Which message, counted from 1, and how many the previous request had.
    Message(usize, usize),
    Nothing,
}

impl PromptCacheMonitor {
    /// Notes a request that is sent to this model.
    pub(super) fn sent(&mut self, name: ModelName, parts: RequestHashes) {
        self.sent = Some(HashedRequest { name, parts, at: Instant::now() });
    }

    /// Notes the usage of the response to the last request. Returns a miss if it shows one.
    pub(super) fn answered(&mut self, usage: TokenUsage) -> Option<PromptCacheMiss> {
        let sent = self.sent.take()?;
        let before = self.answered.replace((sent.clone(), usage));
        if let Some((before, _)) = &before
            && before.name.provider != sent.name.provider
        {
            self.works = PromptCacheSupport::Unknown;
        }
        let works = self.works;
        if usage.cache_read + usage.cache_write > 0 {
            self.works = PromptCacheSupport::Yes;
        }
        let (before, took) = before?;
        let is_miss = works == PromptCacheSupport::Yes
            && before.name.provider == sent.name.provider
            && took.input >= MIN_REPORTED_TOKENS
            && usage.cache_read < took.input / 10;
        let after = sent.at.saturating_duration_since(before.at);
        is_miss.then(|| PromptCacheMiss { changed: changed(&before, &sent), after })
    }
}

/// The first part that differs. Messages that were only added at the end are no difference.
fn changed(before: &HashedRequest, now: &HashedRequest) -> PrefixChange {
    if before.name != now.name {
        return PrefixChange::Model;
    }
    let (before, now) = (&before.parts, &now.parts);
    if before.tools != now.tools {
        return PrefixChange::Tools;
    }
    if before.system != now.system {
        return PrefixChange::System;
    }
    let same = before.messages.iter().zip(&now.messages).take_while(|(a, b)| a == b).count();
    if same < before.messages.len() {
        PrefixChange::Message(same + 1, before.messages.len())
    } else {
        PrefixChange::Nothing
    }
}

impl fmt::Display for PromptCacheMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server's cache did not have the last prompt: ")?;
        match self.changed {
            PrefixChange::Model => f.write_str("the model changed"),
            PrefixChange::Tools => f.write_str("the tools changed"),
            PrefixChange::System => {
                f.write_str("the instructions changed, as when SLUG.md was edited")
            }
            PrefixChange::Message(which, of) => {
                write!(f, "message {which} of {of} changed, as when older parts are left out")
            }
            PrefixChange::Nothing if self.after > CACHE_LIFETIME => write!(
                f,
                "nothing changed, but the server had {} minutes to forget it",
                self.after.as_secs() / 60
            ),
            PrefixChange::Nothing => f.write_str("nothing changed, the server dropped it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ContentHash;

    /// A request of provider `p`, by the texts of its parts.
    fn request(model: &str, system: &str, messages: &[&str]) -> (ModelName, RequestHashes) {
        let hash = |text: &str| ContentHash::of(text.as_bytes());
        let parts = RequestHashes {
            tools: hash("tools"),
            system: hash(system),
            messages: messages.iter().map(|text| hash(text)).collect(),
            whole: hash("whole"),
        };
        (ModelName::new("p", model), parts)
    }

    fn send(monitor: &mut PromptCacheMonitor, (name, parts): (ModelName, RequestHashes)) {
        monitor.sent(name, parts);
    }

    fn usage(cache_read: u64) -> TokenUsage {
        TokenUsage { input: 10_000, output: 1, cache_read, cache_write: 0 }
    }

    /// The miss that the third of three requests reports, when the second was a cache hit.
    fn third(last: (ModelName, RequestHashes), cache_read: u64) -> Option<PromptCacheMiss> {
        let mut monitor = PromptCacheMonitor::default();
        for (messages, cached) in [(&["a"][..], 0), (&["a", "b"], 9_000)] {
            send(&mut monitor, request("m", "s", messages));
            assert_eq!(monitor.answered(usage(cached)), None);
        }
        send(&mut monitor, last);
        monitor.answered(usage(cache_read))
    }

    #[test]
    fn the_first_part_that_differs_is_the_reason() {
        let table = [
            (request("n", "t", &["x"]), PrefixChange::Model),
            (request("m", "t", &["x"]), PrefixChange::System),
            (request("m", "s", &["a", "x", "c"]), PrefixChange::Message(2, 2)),
            (request("m", "s", &["a"]), PrefixChange::Message(2, 2)),
            (request("m", "s", &["a", "b", "c"]), PrefixChange::Nothing),
        ];
        let mut before = PromptCacheMonitor::default();
        send(&mut before, request("m", "s", &["a", "b"]));
        let before = before.sent.unwrap();
        for (request, expected) in table {
            let mut now = PromptCacheMonitor::default();
            send(&mut now, request);
            assert_eq!(changed(&before, &now.sent.unwrap()), expected);
        }
        let (name, mut parts) = request("m", "s", &["a", "b"]);
        parts.tools = ContentHash::of(b"other tools");
        let mut now = PromptCacheMonitor::default();
        now.sent(name, parts);
        assert_eq!(changed(&before, &now.sent.unwrap()), PrefixChange::Tools);
    }

    #[test]
    fn a_miss_is_told_only_where_the_cache_has_worked() {
        let same = request("m", "s", &["a", "b", "c"]);
        let miss = third(same.clone(), 10).unwrap();
        assert_eq!(miss.changed, PrefixChange::Nothing);
        assert!(miss.to_string().ends_with("the server dropped it"), "{miss}");
        assert_eq!(third(same.clone(), 9_500), None);
        let elsewhere = (ModelName::new("q", "m"), same.1);
        assert_eq!(third(elsewhere, 10), None);
    }

    #[test]
    fn a_server_without_a_cache_misses_nothing() {
        let mut monitor = PromptCacheMonitor::default();
        for _ in 0..3 {
            send(&mut monitor, request("m", "s", &["a"]));
            assert_eq!(monitor.answered(usage(0)), None);
        }
    }

    #[test]
    fn a_miss_after_a_long_pause_names_the_pause() {
        let miss =
            PromptCacheMiss { changed: PrefixChange::Nothing, after: Duration::from_secs(12 * 60) };
        assert!(miss.to_string().contains("12 minutes to forget"), "{miss}");
    }
}
