use task::Settings;

fn read(file: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
    Settings::read(file, |name| {
        variables.iter().find(|it| it.0 == name).map(|it| it.1.to_owned())
    })
}

#[test]
fn hidden() {
    let settings = read("port = 1\nverbose = true", &[("APP_PORT", "2"), ("APP_HOST", "")]).unwrap();
    assert_eq!(settings, Settings { host: "localhost".into(), port: 2, verbose: true });
    assert!(!read("verbose = true", &[("APP_VERBOSE", "0")]).unwrap().verbose);
    assert!(read("", &[("APP_VERBOSE", "true")]).unwrap().verbose);
    assert_eq!(read("", &[("APP_PORT", "x")]), Err("APP_PORT: \"x\" is not a port".into()));
    assert_eq!(read("", &[("APP_VERBOSE", "x")]), Err("APP_VERBOSE: \"x\" is neither true nor false".into()));
    assert_eq!(read("port = 0", &[]), Err("port: \"0\" is not a port".into()));
    assert!(read("", &[("APP_PORT", "0")]).is_err());
    assert!(read("verbose = 1", &[]).is_err());
}
