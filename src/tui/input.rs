//! The terminal's input events, without the terminal's replies to slug's own queries.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use crossterm::event::Event;
use futures_util::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::platform::terminal_background::{FilteredEvent, ReplyFilter};

/// A stream of input events from which replies to queries are filtered; the background that a reply
/// reports comes out as an event of its own.
#[derive(Debug)]
pub struct TerminalEventStream<S> {
    events: S,
    filter: ReplyFilter,
    ready: VecDeque<FilteredEvent>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> TerminalEventStream<S> {
    /// The events of a terminal that has not been queried yet.
    pub fn new(events: S) -> Self {
        Self { events, filter: ReplyFilter::default(), ready: VecDeque::new(), timer: None }
    }

    /// Calls `ask`, which sends the query for the background, if the filter wants one now.
    ///
    /// # Errors
    ///
    /// The error of `ask`; the query then does not count as sent.
    pub fn ask(&mut self, ask: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.filter.wants_to_ask() {
            ask()?;
            self.filter.query_sent(Instant::now().into_std());
        }
        Ok(())
    }

    fn apply_filter(&mut self, take: impl FnOnce(&mut ReplyFilter, &mut Vec<FilteredEvent>)) {
        let mut out = Vec::new();
        take(&mut self.filter, &mut out);
        self.ready.extend(out);
        self.timer = None;
    }
}

impl<S: Stream<Item = io::Result<Event>> + Unpin> Stream for TerminalEventStream<S> {
    type Item = io::Result<FilteredEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(ready) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(ready)));
            }
            match Pin::new(&mut this.events).poll_next(context) {
                Poll::Ready(Some(Ok(event))) => {
                    let now = Instant::now().into_std();
                    this.apply_filter(|filter, out| filter.take(event, now, out));
                    continue;
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) if this.filter.deadline().is_none() => return Poll::Ready(None),
                Poll::Ready(None) => {
                    this.apply_filter(|filter, out| filter.time_is_up(out));
                    continue;
                }
                Poll::Pending => {}
            }
            let Some(deadline) = this.filter.deadline() else { return Poll::Pending };
            let timer = this
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(Instant::from_std(deadline))));
            match timer.as_mut().poll(context) {
                Poll::Ready(()) => this.apply_filter(|filter, out| filter.time_is_up(out)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use futures_util::{StreamExt, stream};

    use super::*;

    #[tokio::test]
    async fn held_back_input_comes_when_nothing_follows() {
        let escape = Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        let keys = stream::iter([Ok(escape.clone())]).chain(stream::pending());
        let mut inputs = TerminalEventStream::new(keys);
        inputs.ask(|| Ok(())).unwrap();
        assert_eq!(inputs.next().await.unwrap().unwrap(), FilteredEvent::Event(escape));
    }

    #[tokio::test]
    async fn the_background_is_queried_once() {
        let mut inputs = TerminalEventStream::new(stream::pending::<io::Result<Event>>());
        let mut asked = 0;
        for _ in 0..3 {
            inputs
                .ask(|| {
                    asked += 1;
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(asked, 1);
    }
}
