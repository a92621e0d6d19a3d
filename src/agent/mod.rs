//! The agent: takes [`Command`]s, tells [`Event`]s, and knows nothing of any screen.
//!
//! `turn` decides what happens next and is pure; `drive` is its async half; `gate` is the one way
//! to a tool; `driver` takes the commands between turns.

mod asks;
mod batch;
mod budget;
mod command;
mod decide;
mod drive;
mod driver;
mod event;
mod events;
mod facts;
mod gate;
mod hooks;
mod journal;
mod keeper;
mod keyless;
mod known;
mod lifecycle;
mod mentions;
mod models;
mod normalise;
mod open;
mod outside;
mod part;
mod pictures;
mod powers;
mod prefix;
mod repeats;
mod request;
mod response;
mod rewind;
mod rules;
mod seals;
mod services;
mod sessions;
mod setup;
mod shell;
mod single;
mod spending;
mod stop;
mod turn;
mod witness;
mod words;

pub use command::{Command, ForkAt, SteerId};
pub use driver::{AgentHandle, Start, spawn};
pub use event::Event;
pub use gate::Person;
pub use models::ANY_MODEL;
pub use normalise::normalise;
pub use outside::Outside;
pub use rewind::{RewindPlan, RewindTo};
pub use rules::{RuleNews, RuleOrder, accesses_of};
pub use services::{Service, Services};
pub use setup::{Setup, Standing};
pub use single::run_call;
pub use stop::Stop;
