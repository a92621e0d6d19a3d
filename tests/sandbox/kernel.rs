//! What the kernel refuses to commands in a sandbox: setuid bits, sockets, shared memory, the
//! terminal, other processes, namespaces and settings.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use super::*;

#[tokio::test]
async fn no_file_gets_the_setuid_or_setgid_bit() {
    for fixture in fixtures() {
        let bits = |name: &str| fs::metadata(fixture.dir.join(name)).unwrap().permissions().mode();
        fixture
            .run("cp /bin/true src/it && chmod 755 src/it && mkdir src/d")
            .await
            .assert_works("a copy");
        for command in [
            "chmod u+s src/it",
            "chmod g+s src/it",
            "chmod 4755 src/it",
            "chmod 6755 src/d",
            "install -m 4755 /bin/true src/installed",
            "mkdir -m 2755 src/shared",
        ] {
            fixture.run(command).await.assert_blocked(command);
        }
        fixture
            .run("chmod 1777 src/d && chmod 700 src/it && umask 077 && : > src/new")
            .await
            .assert_works("");
        let made = fs::read_dir(fixture.dir.join("src")).unwrap().map(|it| it.unwrap().path());
        for path in made {
            let mode = bits(path.strip_prefix(&fixture.dir).unwrap().to_str().unwrap());
            assert_eq!(mode & 0o6000, 0, "{} {:?}", path.display(), fixture.backend);
        }
        let opens = "use Fcntl; sysopen(F, 'src/opened', O_CREAT|O_WRONLY, 04755) or exit 3;";
        if let Some(ran) = perl(&fixture, opens).await {
            ran.assert_blocked("open with a mode");
        }
    }
}

/// Runs a Perl script that does what no shell can; `None` where there is no Perl.
async fn perl(fixture: &SandboxFixture, script: &str) -> Option<SandboxRun> {
    let has = fixture.run("perl -e 1").await.works();
    if !has {
        skip("there is no perl in the sandbox");
        return None;
    }
    fs::write(fixture.dir.join("src/try.pl"), script).unwrap();
    Some(fixture.run("perl src/try.pl").await)
}

#[tokio::test]
async fn s90_other_families_are_refused_by_the_kernel() {
    let families =
        [("AF_VSOCK", 40, 1), ("AF_NETLINK", 16, 3), ("AF_PACKET", 17, 3), ("AF_UNIX", 1, 1)];
    for fixture in fixtures() {
        for (name, family, kind) in families {
            let script =
                format!("socket(my $s, {family}, {kind}, 0) or die \"$!\\n\"; print 'made';");
            let Some(ran) = perl(&fixture, &script).await else { return };
            assert!(ran.printed.contains("not permitted"), "{name}: {}", ran.printed);
        }
        // io_uring_setup has this number on every processor.
        let script = "$! = 0; syscall(425, 1, my $p = \"\\0\" x 120); die \"$!\\n\" if $!;";
        let Some(ran) = perl(&fixture, script).await else { return };
        assert!(ran.printed.contains("not permitted"), "{}", ran.printed);
    }
}

#[tokio::test]
async fn memory_that_other_programs_share_is_out_of_reach() {
    for fixture in fixtures() {
        // A private segment, which is removed again.
        let script = "my $id = shmget(0, 4096, 0600); defined $id or die \"$!\\n\"; \
                      shmctl($id, 0, 0); print 'made';";
        let Some(ran) = perl(&fixture, script).await else { return };
        // In bubblewrap the command has an IPC namespace of its own.
        let expected = if fixture.is_bubblewrap() { "made" } else { "not permitted" };
        assert!(ran.printed.contains(expected), "{:?}: {}", fixture.backend, ran.printed);
    }
}

#[tokio::test]
async fn s91_no_socket_outside_is_reached_and_no_descriptor_inherited() {
    for fixture in fixtures() {
        let beside = fixture.outside.join("sock");
        let _beside = UnixListener::bind(&beside).unwrap();
        // The path of a socket can have about a hundred bytes.
        let inside = UnixListener::bind(fixture.dir.join("src/s"));
        for path in [&beside, &fixture.dir.join("src/s")] {
            let script = format!(
                "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die \"$!\\n\"; \
                 connect($s, pack_sockaddr_un('{}')) or die \"$!\\n\";",
                path.display()
            );
            let Some(ran) = perl(&fixture, &script).await else { return };
            ran.assert_blocked("a socket outside");
        }
        drop(inside);
        let ran = fixture.run("ls /proc/self/fd | tr '\\n' ' '").await;
        // The fourth is the listing's own.
        assert_eq!(ran.printed.trim(), "0 1 2 3", "{:?}", fixture.backend);
        for place in ["/run/docker.sock", "/var/run/docker.sock", "/run/user"] {
            fixture.run(&format!("cat {place} || ls {place}/*")).await.assert_blocked(place);
        }
    }
}

#[tokio::test]
async fn s75_there_is_no_terminal_to_type_into() {
    for fixture in fixtures() {
        fixture.run("exec 3<>/dev/tty").await.assert_blocked("the terminal");
        let script = "my $c = 'x'; open(my $t, '<', '/dev/null'); \
                      ioctl($t, 0x5412, $c) or die \"$!\\n\";";
        let Some(ran) = perl(&fixture, script).await else { return };
        assert!(ran.printed.contains("not permitted"), "{}", ran.printed);
    }
}

#[tokio::test]
async fn other_processes_and_new_namespaces_are_out_of_reach() {
    let me = std::process::id();
    for fixture in fixtures() {
        for command in [
            format!("cat /proc/{me}/environ"),
            format!("cat /proc/{me}/cwd/Cargo.toml"),
            "unshare -Ur true".to_owned(),
            "mount -t tmpfs none src".to_owned(),
            "umount /proc".to_owned(),
            "chroot /".to_owned(),
        ] {
            fixture.run(&command).await.assert_blocked(&command);
        }
        if fixture.is_bubblewrap() {
            fixture.run(&format!("kill -0 {me}")).await.assert_blocked("a signal");
        }
    }
}

/// Without any capability, the user root may change some settings, and each process some of its
/// own.
#[tokio::test]
async fn settings_of_the_kernel_cannot_be_changed() {
    for fixture in fixtures() {
        for file in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/comm"] {
            // Only opened: nothing is written to it.
            fixture.run(&format!("exec 3>> {file}")).await.assert_blocked(file);
        }
        fixture
            .run("cat /proc/sys/kernel/core_pattern /proc/self/stat")
            .await
            .assert_works("reading");
    }
}

/// The libraries that a program loads can lie where commands write.
#[tokio::test]
async fn loader_variables_reach_the_script_alone() {
    for mut fixture in fixtures() {
        // With LD_DEBUG the loader reports the programs that it was asked to start.
        let path = std::env::var_os("PATH").unwrap();
        let variables = [("PATH", path), ("LD_DEBUG", "files".into())];
        fixture.host = host(variables.map(|(name, value)| (name.into(), value)));
        let ran = fixture.run("echo \"[$LD_DEBUG]\"").await;
        assert!(ran.printed.contains("[files]"), "{}", ran.printed);
        let starts = ran.printed.lines().filter(|line| line.contains("transferring control: "));
        let others: Vec<&str> = starts.filter(|line| !line.ends_with("bash")).collect();
        assert!(others.is_empty(), "{:?}: {others:?}", fixture.backend);
    }
}
