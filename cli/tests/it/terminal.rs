//! Programs in a terminal.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::processes::Process;
use leasehold_testkit::servers::RedisServer;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::{PATIENCE, until};
use crate::unread_errors::full_pipe;

/// The size of the terminal.
const SIZE: Winsize = Winsize {
    ws_row: 3,
    ws_col: 80,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// A terminal, with the program as the leader of its session.
struct Terminal {
    keyboard: File,
    lines: mpsc::Receiver<String>,
    process: Process,
}

impl Terminal {
    /// Runs a script under a lock.
    fn run(server: &RedisServer, options: &[&str], script: &str) -> Self {
        let run = ["run", "--key", "k"];
        Self::of(
            server,
            &[&run, options, &["--", "sh", "-c", script]].concat(),
        )
    }

    fn of(server: &RedisServer, arguments: &[&str]) -> Self {
        Self::with_errors_to(None, server, arguments)
    }

    /// Starts the program with another standard error than the terminal.
    fn with_errors_to(errors: Option<Stdio>, server: &RedisServer, arguments: &[&str]) -> Self {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&control).unwrap();
        unlockpt(&control).unwrap();
        tcsetwinsize(&control, SIZE).unwrap();
        let name = ptsname(&control, Vec::new()).unwrap();
        let open = || {
            let file = File::options()
                .read(true)
                .write(true)
                .open(name.to_str().unwrap());
            Stdio::from(OwnedFd::from(file.unwrap()))
        };
        let mut command = Command::new("setsid");
        command
            .args([
                "--ctty",
                "--wait",
                // As in `leasehold()`.
                "env",
                "--default-signal=HUP,INT,QUIT",
                env!("CARGO_BIN_EXE_leasehold"),
            ])
            .args(arguments)
            .env("LEASEHOLD_URL", server.url())
            .stdin(open())
            .stdout(open())
            .stderr(errors.unwrap_or_else(open));
        let process = Process::start(command).unwrap();
        let control = File::from(control);
        let (sender, lines) = mpsc::channel();
        let screen = BufReader::new(control.try_clone().unwrap());
        // The read fails when the last process closes the terminal.
        thread::spawn(move || {
            for line in screen.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            keyboard: control,
            lines,
            process,
        }
    }

    fn until_line(&self, part: &str) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            if line.contains(part) {
                return;
            }
        }
    }

    async fn code(&mut self) -> Option<i32> {
        let process = std::sync::Mutex::new(&mut self.process);
        let ended = || process.lock().unwrap().ended().unwrap().is_some();
        until("the program ends", ended).await;
        self.process.ended().unwrap().unwrap().code()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_the_foreground_reads_from_the_terminal_and_gets_ctrl_c() {
    let server = RedisServer::start().await.unwrap();
    let script = "trap 'exit 6' INT; read line; echo got $line; while :; do sleep 0.01; done";
    let mut terminal = Terminal::run(&server, &["--foreground"], script);
    terminal.keyboard.write_all(b"typed\n").unwrap();
    terminal.until_line("got typed");
    terminal.keyboard.write_all(b"\x03").unwrap();
    assert_eq!(terminal.code().await, Some(6));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_the_background_that_reads_from_the_terminal_is_reported() {
    let server = RedisServer::start().await.unwrap();
    let mut terminal = Terminal::run(&server, &["--ttl", "1s"], "read line; exit 5");
    terminal.until_line("run it with --foreground");
    // Ctrl-C reaches the holder, which forwards it. The stopped command gets it after SIGCONT.
    terminal.keyboard.write_all(b"\x03").unwrap();
    let code = terminal.code().await;
    assert_eq!(code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_nobody_reads_does_not_delay_the_renewal() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let (_unread, errors) = full_pipe();
    let run = ["run", "--key", "k", "--ttl", "1s", "--"];
    let arguments = [&run[..], &["sh", "-c", "read line; exit 5"]].concat();
    let mut terminal = Terminal::with_errors_to(Some(errors), &server, &arguments);
    let (mut renewals, mut left) = (0, None);
    while renewals < 6 {
        let now_left = locks.inspect("k").await.unwrap().expires_in;
        assert!(left.is_none() || now_left.is_some(), "the lease has ended");
        renewals += u32::from(left.is_some() && now_left > left);
        left = now_left;
        assert_eq!(terminal.process.ended().unwrap(), None);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    terminal.keyboard.write_all(b"\x03").unwrap();
    assert_eq!(terminal.code().await, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_replaces_its_table_and_fits_into_the_terminal() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let _held = locks.lock_all(["a", "b", "c"]).acquire().await.unwrap();
    let mut terminal = Terminal::of(&server, &["watch", "--interval", "100ms"]);
    terminal.until_line("a   ");
    terminal.until_line("… 2 more\u{1b}[H\u{1b}[2JKEY");
    terminal.keyboard.write_all(b"\x03").unwrap();
    terminal.code().await;
}
