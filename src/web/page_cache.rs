//! Pages that were read a moment ago, so that the next part of a page costs no request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::tools::{PageFormat, PageText};

/// How long a page is kept.
const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
/// The most bytes of text that are kept.
const MAX_BYTES: usize = 50 << 20;

type PageKey = (String, PageFormat);

/// Texts of pages by address and format, for a while.
#[derive(Default)]
pub(super) struct PageCache(Mutex<HashMap<PageKey, (Instant, Arc<PageText>)>>);

impl PageCache {
    /// The page, if it was read within the last 15 minutes.
    pub(super) fn get(&self, key: &PageKey, now: Instant) -> Option<Arc<PageText>> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, page) = pages.get(key)?;
        (now.duration_since(*read) < KEPT_FOR).then(|| page.clone())
    }

    /// Keeps a page, and drops old ones until all fit.
    pub(super) fn put(&self, key: PageKey, page: Arc<PageText>, now: Instant) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|_, (read, _)| now.duration_since(*read) < KEPT_FOR);
        pages.insert(key, (now, page));
        let size = |pages: &HashMap<PageKey, (Instant, Arc<PageText>)>| {
            pages.values().map(|(_, page)| page.text.len()).sum::<usize>()
        };
        while size(&pages) > MAX_BYTES {
            let oldest = pages.iter().min_by_key(|(_, (read, _))| *read);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { break };
            pages.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::WebAddress;

    fn page(bytes: usize) -> Arc<PageText> {
        let address = WebAddress::parse("https://example.org").unwrap();
        Arc::new(PageText { address, title: None, text: "a".repeat(bytes), note: None })
    }

    #[test]
    fn a_page_is_kept_for_a_while_and_all_of_them_are_bounded() {
        let (cache, start) = (PageCache::default(), Instant::now());
        let key = |name: &str| (name.to_owned(), PageFormat::Text);
        let after = |minutes: u64| start + Duration::from_secs(minutes * 60);
        cache.put(key("a"), page(1), start);
        assert!(cache.get(&key("a"), after(14)).is_some());
        assert!(cache.get(&("a".to_owned(), PageFormat::Markdown), after(14)).is_none());
        assert!(cache.get(&key("a"), after(15)).is_none());
        cache.put(key("b"), page(30 << 20), after(1));
        cache.put(key("c"), page(30 << 20), after(2));
        assert!(cache.get(&key("b"), after(3)).is_none());
        assert!(cache.get(&key("c"), after(3)).is_some());
    }
}
