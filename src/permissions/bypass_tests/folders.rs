//! Folders: a change of a folder changes what is in it, and a linked folder counts where the link
//! leads.

use super::*;

#[test]
fn a_folder_that_holds_a_protected_place_is_asked_about_before_it_is_changed() {
    let env = BypassTestEnv::new(PermissionMode::Yolo);
    let root = env.workspace.root().to_owned();
    for folder in ["nest/r/.git", "tpl/.vscode", "gw/wrapper", "src/deep/plain", "bare/refs"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("bare/HEAD"), "").unwrap();
    env.all(
        Ask,
        &[
            "mv nest moved",
            "rm -rf nest",
            "mv tpl src",
            "chmod -R 777 tpl",
            "mv gw gradle",
            "mv bare d",
        ],
    );
    env.all(Allow, &["mv src other", "rm -rf src", "chmod -R 755 src", "mv gw other"]);
}

#[test]
fn a_large_folder_is_not_covered_by_a_rule_but_allowed_in_yolo() {
    let rule = BypassTestEnv::new(PermissionMode::Ask).allow("Bash(rm *)");
    let yolo = BypassTestEnv::new(PermissionMode::Yolo);
    for env in [&rule, &yolo] {
        let folder = env.workspace.root().join("node_modules");
        std::fs::create_dir(&folder).unwrap();
        for at in 0..2_100 {
            std::fs::write(folder.join(at.to_string()), "").unwrap();
        }
    }
    rule.all(Ask, &["rm -rf node_modules"]);
    rule.all(Allow, &["rm -rf src"]);
    yolo.all(Allow, &["rm -rf node_modules", "rm -rf node_modules && npm install"]);
}

#[test]
fn a_program_goes_where_a_link_really_leads() {
    let env = BypassTestEnv::new(PermissionMode::Ask).allow("Bash(env *)").allow("Bash(make *)");
    let root = env.workspace.root();
    let elsewhere = env.workspace.home().unwrap().join("elsewhere/deep");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, root.join("link")).unwrap();
    env.all(Ask, &["env -C link/.. make", "env -C link make", "make -C link/.. x"]);
    env.all(Allow, &["env -C src make"]);
}

#[test]
fn after_cd_back_questions_and_denials_stay() {
    let env = BypassTestEnv::new(PermissionMode::Ask).allow("Bash").deny("Read(//etc/hosts)");
    for back in ["cd -", "popd", "cd \"$OLDPWD\"", "cd -P -", "cd $(pwd)"] {
        let then = |rest: &str| env.outcome(&format!("cd src && {back} && {rest}"));
        assert_eq!(then("cat /etc/hosts"), Deny, "{back}");
        assert_eq!(then("cd \"$HOME\" && cat /etc/hosts"), Deny, "{back}");
        assert_eq!(
            BypassTestEnv::new(PermissionMode::Ask).outcome(&format!("{back} && cd ~ && ls")),
            Ask,
            "{back}"
        );
    }
}

#[test]
fn s64_a_link_to_a_folder_of_the_project_is_one_of_its_own() {
    let env = BypassTestEnv::new(PermissionMode::Ask);
    let (root, home) = (env.workspace.root().to_owned(), env.workspace.home().unwrap().to_owned());
    std::fs::create_dir(root.join("bin")).unwrap();
    std::fs::write(root.join("bin/ls"), "").unwrap();
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.join("bin/ls"), mode).unwrap();
    std::os::unix::fs::symlink(root.join("bin"), home.join("b")).unwrap();
    let path = format!("{}/b:/usr/bin:/bin", home.display());
    let workspace = env.workspace.clone().with_search_path(path.as_ref());
    BypassTestEnv { workspace, ..env }.all(Ask, &["ls"]);
}
