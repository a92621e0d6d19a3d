//! Configuration: what was written (`raw`) and what holds, with the origin of each value
//! (`resolution`).
//!
//! Later layers override earlier ones: defaults, the user's file, the project's file, the
//! environment, flags. A project's file is read only when the project is trusted, and even then it
//! gives slug no privileges: no mode, no endpoint, no key, no provider, no proxy, no header.
//! Everything but [`load`] and [`save`] is pure: file texts and the environment are passed in.

mod choices;
mod connection;
mod endpoint;
mod error;
mod findings;
mod formatters;
mod inputrc;
mod inputs;
mod layer;
mod local;
mod origin;
mod raw;
mod resolution;
mod save;
mod server;
pub mod services;
mod setting_change;
mod setting_options;
mod settings;
mod show;
mod ui;

pub use choices::{ExitTranscript, KeyPreset, ModeChoice, ModelChoice, ThemeChoice};
pub use connection::{
    ConfigHeaderValue, ConfigKeyCommand, ConfigKeySource, ConfigProxy, OriginBoundConfig,
    ServerTransportConfig,
};
pub use endpoint::{ConfigEndpoint, ConfigEndpointError, EndpointSecurity, ServerOrigin};
pub use error::ConfigError;
pub use formatters::FormatterConfig;
pub use inputrc::inputrc_files;
pub use inputs::{
    ConfigEnvironment, ConfigFiles, ConfigFlags, ConfigText, ConfigTexts, ServiceVariables,
    UserConfigFile,
};
pub use local::LocalModelConfig;
pub use origin::{ConfigOrigin, ConfigValue};
pub use raw::CONTEXT_NAMES;
pub use resolution::{ProviderName, ResolvedConfig, load, resolve};
pub use save::{ConfigChange, NamedServerChange, save};
pub use server::{ModelServerConfig, WithheldKey};
pub use setting_change::{SettingChange, SettingInput, SettingOutcome, change_setting};
pub use setting_options::SettingOption;
pub use settings::{
    SETTINGS, SettingDescriptor, SettingKind, SettingTiming, SettingValue, setting, setting_values,
};
pub use show::{write_json, write_text};
pub use ui::{NotificationMethod, StatusItem, StatusItems};
