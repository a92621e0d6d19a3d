//! Tells the front end how far a model is loaded whose server slug runs.

use tokio_util::task::AbortOnDropHandle;

use super::AgentEvent;
use super::agent_loop::Agent;

impl Agent {
    /// Passes on what the providers say while they load, until what it returns is dropped. It waits for no
    /// turn, since a model loads before the first one, too.
    pub(super) fn follow_loading(&self) -> Vec<AbortOnDropHandle<()>> {
        let all = self.setup.providers.all().into_iter();
        let followed = all.filter_map(|it| it.provider.loading()).map(|mut loading| {
            let events = self.events.clone();
            AbortOnDropHandle::new(tokio::spawn(async move {
                let mut told = None;
                loop {
                    let now = *loading.borrow_and_update();
                    if now != told {
                        events.send(AgentEvent::ModelLoading(now));
                        told = now;
                    }
                    if loading.changed().await.is_err() {
                        break;
                    }
                }
            }))
        });
        followed.collect()
    }
}
