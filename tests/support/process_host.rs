//! What starts commands in tests: a host as slug builds it, with the binary under test as supervisor.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use slug_code::platform::environment::{ChildEnvironment, EnvironmentRules};
use slug_code::platform::process::{HostPrograms, ProcessHost};

use super::test_env::SLUG;

/// A host whose commands get these variables, as `rules` let them through.
pub fn process_host(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    rules: &EnvironmentRules,
) -> ProcessHost {
    let path = std::env::var_os("PATH").unwrap();
    let programs = HostPrograms {
        slug: PathBuf::from(SLUG),
        ..HostPrograms::find(&path, Path::new("/nowhere")).unwrap()
    };
    ProcessHost::new(programs, ChildEnvironment::from_variables(variables, rules)).unwrap()
}
