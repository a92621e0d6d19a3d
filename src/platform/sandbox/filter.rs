//! The seccomp program: the system calls that nothing inside a sandbox may make.
//!
//! All calls are allowed except those that change the machine, look into other processes, make
//! namespaces (in which all of this could be undone), type into a terminal, or open a socket that
//! the sandbox's view of the network or the files does not hold back. Calls that give a file the
//! setuid or setgid bit are refused as well: the bits outlive the sandbox, and whoever runs such a
//! file gets the rights of slug's user. A call in the numbering of another processor ends the
//! process, since the filter would take it for another call.
//!
//! The program is written out instruction by instruction. It is a list of comparisons, and tests
//! can run it without a kernel.

use libc::c_long;
use seccompiler::sock_filter;

/// Which sockets may be made. Unix sockets never: behind their paths and names are programs
/// outside, such as Docker, the ssh agent and the desktop. Connected pairs of Unix sockets are
/// allowed, but no pairs for datagrams: each end of such a pair can send to any path and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketPolicy {
    /// Internet sockets: the network that can be seen holds only what is inside or allowed.
    Loopback,
    /// No sockets: the network that can be seen is the machine's.
    None,
}

/// Which System V and POSIX IPC objects (shared memory, queues, semaphores) a command can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IpcScope {
    /// Only those of its own sandbox.
    Inside,
    /// Those of the whole machine, so the calls are refused.
    Machine,
}

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

/// Offsets in the kernel's `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
/// The offset of an argument's lower half, the only half that the kernel looks at in these calls.
const fn argument(at: u32) -> u32 {
    16 + 8 * at
}

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const ERROR: u32 = 0x0005_0000;

#[cfg(target_arch = "x86_64")]
const OWN_ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const OWN_ARCHITECTURE: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const OWN_ARCHITECTURE: Option<u32> = None;

/// Numbers from here on are the 32-bit kind of x86-64 calls (x32).
#[cfg(target_arch = "x86_64")]
const FOREIGN_NUMBERS: Option<u32> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const FOREIGN_NUMBERS: Option<u32> = None;

const REFUSED: [c_long; 45] = [
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Keys that the kernel keeps for the user.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by number instead of by name.
    libc::SYS_open_by_handle_at,
    // Ways into the kernel that seccomp or Landlock does not check.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
];

/// Calls for System V and POSIX IPC objects, which other programs of the same user may share.
/// Neither Landlock nor a path protects these objects, and their numbers can be guessed.
const SYSV_IPC_CALLS: [c_long; 13] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// `fchmodat2`, which libc does not define everywhere; it has the same number on all processors.
const FCHMODAT2: c_long = 452;

/// Calls that take the mode of a file, with the index of that argument. `mkdir` is not among them:
/// there the kernel itself drops the two bits.
const MODES: &[(c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];

/// Calls that take a mode when their flags make a file, with the index of the flags. The mode is
/// the next argument; without such flags it is whatever was in the register.
const OPENS: &[(c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// The flags that make a file. `O_TMPFILE` is two bits, one of which is `O_DIRECTORY`.
const MAKES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;

const IDENTITY_BITS: u32 = libc::S_ISUID | libc::S_ISGID;

/// The flags of `clone` that make namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// The part of a socket's type that is not a flag.
const KIND: u32 = 0xf;

/// The requests `TIOCSTI`, `TIOCLINUX` and `TIOCCONS`, which type into a terminal or take it over.
const TERMINAL_INPUT_REQUESTS: [u32; 3] = [0x5412, 0x541c, 0x541d];

/// Builds the program; `None` for a processor whose calls are not known here.
pub(super) fn filter(sockets: SocketPolicy, shared: IpcScope) -> Option<Vec<sock_filter>> {
    let mut program =
        vec![load(ARCHITECTURE), unless(JUMP_EQUAL, OWN_ARCHITECTURE?), give(KILL), load(NUMBER)];
    if let Some(first) = FOREIGN_NUMBERS {
        program.extend([when(JUMP_GREATER_OR_EQUAL, first), give(KILL)]);
    }
    let of_others: &[c_long] = match shared {
        IpcScope::Inside => &[],
        IpcScope::Machine => &SYSV_IPC_CALLS,
    };
    for call in REFUSED.iter().chain(of_others) {
        program.extend([when(JUMP_EQUAL, number(*call)), refuse(libc::EPERM)]);
    }
    // The arguments of these calls lie in memory, where a filter cannot read them. With ENOSYS
    // programs use `clone` and `openat` instead.
    for call in [libc::SYS_clone3, libc::SYS_openat2] {
        program.extend([when(JUMP_EQUAL, number(call)), refuse(libc::ENOSYS)]);
    }

    let mut only = |call: c_long, checks: Vec<sock_filter>, otherwise: sock_filter| {
        let over = u8::try_from(checks.len() + 1).unwrap_or(u8::MAX);
        program.push(sock_filter { code: JUMP_EQUAL, jt: 0, jf: over, k: number(call) });
        program.extend(checks);
        program.push(otherwise);
    };
    let clone = vec![load(argument(0)), when(JUMP_ANY_BIT, NAMESPACES), refuse(libc::EPERM)];
    only(libc::SYS_clone, clone, give(ALLOW));
    let no_identity = || [when(JUMP_ANY_BIT, IDENTITY_BITS), refuse(libc::EPERM)];
    for (call, mode) in MODES {
        let checks = [load(argument(*mode))].into_iter().chain(no_identity());
        only(*call, checks.collect(), give(ALLOW));
    }
    for (call, flags) in OPENS {
        let makes = [load(argument(*flags)), unless(JUMP_ANY_BIT, MAKES), give(ALLOW)];
        let checks = makes.into_iter().chain([load(argument(flags + 1))]).chain(no_identity());
        only(*call, checks.collect(), give(ALLOW));
    }
    let mut ioctl = vec![load(argument(1))];
    ioctl.extend(
        TERMINAL_INPUT_REQUESTS.iter().flat_map(|it| [when(JUMP_EQUAL, *it), refuse(libc::EPERM)]),
    );
    only(libc::SYS_ioctl, ioctl, give(ALLOW));
    let families: &[i32] = match sockets {
        SocketPolicy::Loopback => &[libc::AF_INET, libc::AF_INET6],
        SocketPolicy::None => &[],
    };
    let mut socket = vec![load(argument(0))];
    socket.extend(families.iter().flat_map(|it| [when(JUMP_EQUAL, *it as u32), give(ALLOW)]));
    only(libc::SYS_socket, socket, refuse(libc::EPERM));
    let mut pair = vec![
        load(argument(0)),
        unless(JUMP_EQUAL, libc::AF_UNIX as u32),
        refuse(libc::EPERM),
        load(argument(1)),
        sock_filter { code: AND, jt: 0, jf: 0, k: KIND },
    ];
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    pair.extend(connected.iter().flat_map(|it| [when(JUMP_EQUAL, *it as u32), give(ALLOW)]));
    only(libc::SYS_socketpair, pair, refuse(libc::EPERM));
    if shared == IpcScope::Machine {
        // A process could be ended by setting its limits low enough.
        let limits = vec![load(argument(0)), when(JUMP_EQUAL, 0), give(ALLOW)];
        only(libc::SYS_prlimit64, limits, refuse(libc::EPERM));
    }
    program.push(give(ALLOW));
    Some(program)
}

/// The program in the form that bubblewrap reads.
pub(super) fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let one = |it: &sock_filter| {
        let [a, b] = it.code.to_ne_bytes();
        let [c, d, e, f] = it.k.to_ne_bytes();
        [a, b, it.jt, it.jf, c, d, e, f]
    };
    program.iter().flat_map(one).collect()
}

fn number(call: c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

/// Runs the next instruction if the comparison holds.
fn when(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 1, k }
}

/// Runs the next instruction if the comparison does not hold.
fn unless(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 1, jf: 0, k }
}

fn give(k: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k }
}

fn refuse(error: i32) -> sock_filter {
    give(ERROR | error as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with a call.
    fn run(program: &[sock_filter], architecture: u32, number: u32, arguments: &[u64]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let it = &program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { it.jt } else { it.jf });
            match it.code {
                LOAD => {
                    value = match it.k {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        k => {
                            let at = (0..6).position(|at| k == argument(at));
                            let at = at.unwrap_or_else(|| panic!("loads {k}"));
                            arguments.get(at).copied().unwrap_or_default() as u32
                        }
                    }
                }
                AND => value &= it.k,
                JUMP_EQUAL => at += jump(value == it.k),
                JUMP_GREATER_OR_EQUAL => at += jump(value >= it.k),
                JUMP_ANY_BIT => at += jump(value & it.k != 0),
                RETURN => return it.k,
                code => panic!("unknown instruction {code}"),
            }
        }
    }

    fn outcome<const N: usize>(sockets: SocketPolicy, call: c_long, arguments: [u64; N]) -> u32 {
        let program = filter(sockets, IpcScope::Machine).unwrap();
        run(&program, OWN_ARCHITECTURE.unwrap(), number(call), &arguments)
    }

    const EPERM: u32 = ERROR | 1;

    #[test]
    fn listed_calls_are_refused_and_others_allowed() {
        for call in REFUSED {
            assert_eq!(outcome(SocketPolicy::Loopback, call, [0; 2]), EPERM, "{call}");
        }
        for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve] {
            assert_eq!(outcome(SocketPolicy::None, call, [0; 2]), ALLOW, "{call}");
        }
        assert_eq!(outcome(SocketPolicy::None, libc::SYS_clone3, [0; 2]), ERROR | 38);
    }

    #[test]
    fn shared_ipc_is_refused_where_it_is_the_machines() {
        let inside = filter(SocketPolicy::None, IpcScope::Inside).unwrap();
        for call in SYSV_IPC_CALLS {
            assert_eq!(outcome(SocketPolicy::None, call, [0; 2]), EPERM, "{call}");
            let own = OWN_ARCHITECTURE.unwrap();
            assert_eq!(run(&inside, own, number(call), &[]), ALLOW, "{call}");
        }
    }

    #[test]
    fn s90_sockets_are_filtered_by_family() {
        let (inet, inet6, unix, netlink, packet, vsock) = (2, 10, 1, 16, 17, 40);
        for (sockets, family, allowed) in [
            (SocketPolicy::Loopback, inet, true),
            (SocketPolicy::Loopback, inet6, true),
            (SocketPolicy::Loopback, unix, false),
            (SocketPolicy::Loopback, netlink, false),
            (SocketPolicy::Loopback, packet, false),
            (SocketPolicy::Loopback, vsock, false),
            (SocketPolicy::None, inet, false),
            (SocketPolicy::None, inet6, false),
            (SocketPolicy::None, unix, false),
            // The kernel takes the lower half alone, whatever the upper half holds.
            (SocketPolicy::Loopback, unix | 1 << 40, false),
            (SocketPolicy::Loopback, inet | 1 << 40, true),
        ] {
            let wanted = if allowed { ALLOW } else { EPERM };
            assert_eq!(
                outcome(sockets, libc::SYS_socket, [family, 0]),
                wanted,
                "{sockets:?} {family}"
            );
        }
    }

    #[test]
    fn s91_socket_pairs_reach_only_each_other() {
        let (unix, tipc) = (libc::AF_UNIX as u64, libc::AF_TIPC as u64);
        let (stream, datagram, raw, packets) = (1, 2, 3, 5);
        let close_on_exec = libc::SOCK_CLOEXEC as u64;
        for (family, kind, allowed) in [
            (unix, stream, true),
            (unix, stream | close_on_exec, true),
            (unix, packets, true),
            (unix, datagram, false),
            (unix, datagram | close_on_exec, false),
            // The kernel makes it a pair for datagrams.
            (unix, raw, false),
            (tipc, stream, false),
        ] {
            let wanted = if allowed { ALLOW } else { EPERM };
            let outcome = outcome(SocketPolicy::Loopback, libc::SYS_socketpair, [family, kind]);
            assert_eq!(outcome, wanted, "{family} {kind}");
        }
    }

    #[test]
    fn the_limits_of_other_processes_cannot_be_set() {
        let own = OWN_ARCHITECTURE.unwrap();
        let limits = number(libc::SYS_prlimit64);
        for (shared, process, wanted) in [
            (IpcScope::Machine, 0, ALLOW),
            (IpcScope::Machine, 4711, EPERM),
            // There a command sees its own processes alone.
            (IpcScope::Inside, 4711, ALLOW),
        ] {
            let program = filter(SocketPolicy::None, shared).unwrap();
            assert_eq!(run(&program, own, limits, &[process]), wanted, "{shared:?} {process}");
        }
    }

    #[test]
    fn no_file_gets_the_setuid_or_setgid_bit() {
        let place = |at: u32, mode: u64| {
            let mut arguments = [0xdead_6000_u64; 6];
            arguments[at as usize] = mode;
            arguments
        };
        for (call, at) in MODES {
            for (mode, wanted) in [
                (0o644, ALLOW),
                (0o1777, ALLOW),
                (0o4755, EPERM),
                (0o2755, EPERM),
                (0o6000, EPERM),
                // The kernel looks at the lower half.
                (0o4755 | 1 << 32, EPERM),
                (1 << 43, ALLOW),
            ] {
                let outcome = outcome(SocketPolicy::None, *call, place(*at, mode));
                assert_eq!(outcome, wanted, "{call} {mode:o}");
            }
        }
        let (create, temporary) = (libc::O_CREAT as u64, libc::O_TMPFILE as u64);
        let (write, folder) = (libc::O_WRONLY as u64, libc::O_DIRECTORY as u64);
        for (call, at) in OPENS {
            for (flags, mode, wanted) in [
                (write | create, 0o644, ALLOW),
                (write | create, 0o4755, EPERM),
                (create | folder, 0o2755, EPERM),
                (write | temporary, 0o4755, EPERM),
                // No file is made, so the mode has no effect.
                (write, 0o4755, ALLOW),
                (folder, 0o7777, ALLOW),
            ] {
                let mut arguments = place(*at, flags);
                arguments[*at as usize + 1] = mode;
                let outcome = outcome(SocketPolicy::None, *call, arguments);
                assert_eq!(outcome, wanted, "{call} {flags:o} {mode:o}");
            }
        }
        assert_eq!(outcome(SocketPolicy::None, libc::SYS_openat2, [0; 2]), ERROR | 38);
    }

    #[test]
    fn s75_nothing_types_into_a_terminal() {
        let ioctl = |request| outcome(SocketPolicy::Loopback, libc::SYS_ioctl, [0, request]);
        assert_eq!([ioctl(0x5412), ioctl(0x5412 | 1 << 32), ioctl(0x541c)], [EPERM; 3]);
        assert_eq!(ioctl(0x5401), ALLOW);
    }

    #[test]
    fn threads_are_made_and_namespaces_are_not() {
        let clone =
            |flags: i32| outcome(SocketPolicy::None, libc::SYS_clone, [flags as u32 as u64, 0]);
        assert_eq!(clone(libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_FS), ALLOW);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET] {
            assert_eq!(clone(flag | libc::CLONE_VM), EPERM);
        }
    }

    #[test]
    fn calls_under_other_numbers_end_the_process() {
        let program = filter(SocketPolicy::Loopback, IpcScope::Inside).unwrap();
        let i386 = 0x4000_0003;
        assert_eq!(run(&program, i386, 1, &[]), KILL);
        if let Some(first) = FOREIGN_NUMBERS {
            let own = OWN_ARCHITECTURE.unwrap();
            assert_eq!(run(&program, own, first + 41, &[1]), KILL);
        }
    }

    #[test]
    fn each_instruction_is_eight_bytes() {
        let program = filter(SocketPolicy::None, IpcScope::Machine).unwrap();
        let bytes = bytes(&program);
        assert_eq!(bytes.len(), program.len() * 8);
        assert_eq!(bytes[..8], [0x20, 0, 0, 0, 4, 0, 0, 0]);
    }
}
