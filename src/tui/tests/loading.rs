//! How far a model is loaded whose server slug runs.

use crate::agent::AgentEvent;
use crate::providers::ModelLoading;
use crate::tui::test_screen::{TURN, screen};

fn loading(percent: Option<u8>) -> AgentEvent {
    AgentEvent::ModelLoading(Some(ModelLoading { percent }))
}

#[test]
fn a_model_that_loads_is_in_the_first_line_and_in_that_of_the_turn() {
    for size in [(80, 24), (120, 40)] {
        screen(size.0, size.1)
            .event(loading(None))
            .shows("loading")
            .event(loading(Some(42)))
            .shows("loading 42%")
            .event(AgentEvent::TurnStarted { turn: TURN })
            .shows("Loading 42%")
            .hides("Waiting for the model")
            .event(AgentEvent::ModelLoading(None))
            .shows("Waiting for the model")
            .hides("oading");
    }
}
