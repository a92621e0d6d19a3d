//! Whether the files of the connection exist and other users cannot read the private ones, and
//! which proxy is used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::DoctorFinding;
use crate::config::{ConfigValue, EndpointSecurity, ModelServerConfig, ServerTransportConfig};

const SUBJECT: &str = "connection";

pub(super) fn check(server: &ModelServerConfig, user_home: Option<&Path>) -> Vec<DoctorFinding> {
    let ServerTransportConfig { origin_bound: own, ca_file, proxy } = &server.connection;
    let mut findings = Vec::new();
    if let Some(proxy) = proxy {
        let (value, origin) = (&proxy.value, &proxy.origin);
        findings.push(match server.endpoint.value.security() {
            EndpointSecurity::Loopback => DoctorFinding::ok(
                SUBJECT,
                format!("The server is on this machine, so no proxy is used ({origin})."),
            ),
            EndpointSecurity::Encrypted | EndpointSecurity::PlainRemote => {
                DoctorFinding::ok(SUBJECT, format!("The proxy is {value} ({origin})."))
            }
        });
    }
    let secret = own.client_key.as_ref().or(own.client_certificate.as_ref());
    let files = [ca_file, &own.client_certificate, &own.client_key].into_iter().flatten();
    for file in files {
        let is_secret = secret.is_some_and(|secret| secret.value == file.value);
        findings.push(look(
            file,
            if is_secret { FileSecrecy::Secret } else { FileSecrecy::Public },
            user_home,
        ));
    }
    if !own.headers.is_empty() {
        let names: Vec<&str> = own.headers.keys().map(String::as_str).collect();
        let origin = server.endpoint.value.origin();
        let text = format!("Headers that are sent only to {origin}: {}.", names.join(", "));
        findings.push(DoctorFinding::ok(SUBJECT, text));
    }
    findings
}

/// Whether a file holds a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSecrecy {
    Secret,
    Public,
}

fn look(
    file: &ConfigValue<PathBuf>,
    secrecy: FileSecrecy,
    user_home: Option<&Path>,
) -> DoctorFinding {
    let path = match (file.value.strip_prefix("~"), user_home) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_) | Err(_), _) => file.value.clone(),
    };
    let (shown, origin) = (path.display(), &file.origin);
    match fs::metadata(&path) {
        Err(error) => DoctorFinding::fail(
            SUBJECT,
            format!("{shown} ({origin}) cannot be read: {error}."),
            "Create the file, or change that line.",
        ),
        Ok(data) if secrecy == FileSecrecy::Secret && data.permissions().mode() & 0o077 != 0 => {
            DoctorFinding::warn(
                SUBJECT,
                format!("{shown} ({origin}) contains a private key, and other users can read it."),
                format!("chmod 600 {shown}"),
            )
        }
        Ok(_) => DoctorFinding::ok(SUBJECT, format!("{shown} exists ({origin}).")),
    }
}
