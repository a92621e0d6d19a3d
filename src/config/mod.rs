//! Configuration: what was written (`raw`) and what holds, with where each value came from
//! (`resolved`).
//!
//! Later layers override earlier ones: defaults, the person's file, the project's file, the
//! environment, flags. A project's file is read only when the project is trusted, and gives slug
//! no powers even then: no mode, no endpoint, no key, no provider. Everything but [`load`] and
//! [`save`] is pure: file texts and the environment are passed in.

mod endpoint;
mod error;
mod file;
mod inputs;
mod layer;
mod looks;
mod raw;
mod resolved;
mod save;
pub mod services;
mod show;
mod sourced;

pub use endpoint::{Endpoint, EndpointError, Reach, ServerOrigin};
pub use error::ConfigError;
pub(crate) use file::read_text;
pub use inputs::{ConfigText, Environment, Files, Flags, ServiceVariables, Texts, UserFile};
pub use layer::{KeyPreset, Leave, ModeChoice, ModelChoice, ThemeChoice};
pub use looks::{Notify, StatusItem, StatusItems};
pub use raw::CONTEXT_NAMES;
pub use resolved::{Config, ProviderName, WithheldKey, load, resolve};
pub use save::{Change, save};
pub use show::{write_json, write_text};
pub use sourced::{Origin, Sourced};
