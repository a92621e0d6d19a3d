//! Configuration: what was written (`raw`) and what holds, with where each value came from
//! (`resolved`).
//!
//! Later layers override earlier ones: defaults, the person's file, the project's file, the
//! environment, flags. A project's file is read only when the project is trusted, and gives slug
//! no powers even then: no mode, no endpoint, no key, no provider, no proxy, no header. Everything but [`load`] and
//! [`save`] is pure: file texts and the environment are passed in.

mod choices;
mod connection;
mod endpoint;
mod error;
mod findings;
mod inputs;
mod layer;
mod looks;
mod raw;
mod resolved;
mod save;
mod server;
pub mod services;
mod show;
mod sourced;

pub use choices::{KeyPreset, Leave, ModeChoice, ModelChoice, ThemeChoice};
pub use connection::{Connection, HeaderText, KeyCommand, KeySource, Own, Proxy};
pub use endpoint::{Endpoint, EndpointError, Reach, ServerOrigin};
pub use error::ConfigError;
pub use inputs::{ConfigText, Environment, Files, Flags, ServiceVariables, Texts, UserFile};
pub use looks::{Notify, StatusItem, StatusItems};
pub use raw::CONTEXT_NAMES;
pub use resolved::{Config, ProviderName, load, resolve};
pub use save::{Change, save};
pub use server::{Server, WithheldKey};
pub use show::{write_json, write_text};
pub use sourced::{Origin, Sourced};
