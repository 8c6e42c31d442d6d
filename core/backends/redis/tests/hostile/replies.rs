//! The replies of a hostile server.

use fastrand::Rng;

/// The maximum length of a reply, in bytes.
const LONGEST: usize = 64 * 1024;

const OK: &[u8] = b"+OK\r\n";
const HELLO: &[u8] = b"%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n";
const INFO: &[u8] = b"$20\r\nredis_version:7.0.15\r\n";
const OLD_INFO: &[u8] = b"$55\r\nredis_version:5.0.14\r\nrun_id:abc\r\nuptime_in_seconds:1\r\n\r\n";
const TIME: &[u8] = b"*2\r\n$10\r\n1800000000\r\n$1\r\n0\r\n";

pub(crate) enum Answer {
    Bytes(Vec<u8>),
    Nothing,
    HangUp,
}

/// Generates replies that are correct, almost correct or random, depending on the mood.
pub(crate) struct Answers {
    random: Rng,
    mood: Mood,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// Correct replies to the commands of a new connection, and no replies after them.
    Silent,
    /// Correct replies of a server with an unsupported version that started one second ago.
    Old,
    /// Correct replies to the commands of a new connection.
    Right,
    /// Correct replies to the commands of a new connection, and then well-formed replies with random contents.
    Plausible,
    /// Correct replies to the commands of a new connection, and then random values or none.
    Arbitrary,
    /// Random values from the beginning.
    Rude,
}

impl Answers {
    pub(crate) fn of(seed: u64) -> Self {
        let mut answers = Self {
            random: Rng::with_seed(seed),
            mood: Mood::Plausible,
        };
        answers.connected();
        answers
    }

    /// Replies only to the commands of a new connection.
    pub(crate) fn silent() -> Self {
        Self {
            random: Rng::with_seed(0),
            mood: Mood::Silent,
        }
    }

    /// The server has an unsupported version, and started recently.
    pub(crate) fn old() -> Self {
        Self {
            random: Rng::with_seed(0),
            mood: Mood::Old,
        }
    }

    /// Replies correctly to the commands of a new connection.
    pub(crate) fn right() -> Self {
        Self {
            random: Rng::with_seed(0),
            mood: Mood::Right,
        }
    }

    /// Resets the state for a new client.
    pub(crate) fn connected(&mut self) {
        if !matches!(self.mood, Mood::Silent | Mood::Old | Mood::Right) {
            self.mood = match self.random.u32(0..8) {
                0..4 => Mood::Plausible,
                4..7 => Mood::Arbitrary,
                _ => Mood::Rude,
            };
        }
    }

    pub(crate) fn to(&mut self, command: &str) -> Answer {
        let greeting = match command {
            "HELLO" => Some(HELLO),
            "CLIENT" => Some(OK),
            _ if self.mood == Mood::Silent => return Answer::Nothing,
            "SCRIPT" | "SUBSCRIBE" => Some(OK),
            "INFO" if self.mood == Mood::Old => Some(OLD_INFO),
            "INFO" => Some(INFO),
            "PUBLISH" => Some(&b":1\r\n"[..]),
            "TIME" if self.mood == Mood::Right => Some(TIME),
            _ => None,
        };
        match (self.mood, greeting) {
            (Mood::Rude, _) | (Mood::Arbitrary, None) => self.anything(),
            (_, Some(right)) => Answer::Bytes(right.to_vec()),
            (Mood::Plausible, None) if command == "TIME" && self.random.bool() => {
                Answer::Bytes(TIME.to_vec())
            }
            (Mood::Plausible, None) => Answer::Bytes(self.plausible()),
            _ => self.anything(),
        }
    }

    fn anything(&mut self) -> Answer {
        match self.random.u32(0..20) {
            0 => Answer::Nothing,
            1 => Answer::HangUp,
            2 => Answer::Bytes(self.noise()),
            3 => Answer::Bytes(self.lie()),
            _ => {
                let mut bytes = Vec::new();
                self.value(&mut bytes, 0);
                bytes.truncate(LONGEST);
                if self.random.u32(0..10) == 0 {
                    bytes.truncate(self.random.usize(0..bytes.len().max(1)));
                }
                Answer::Bytes(bytes)
            }
        }
    }

    /// Returns a reply in the format of the scripts.
    fn plausible(&mut self) -> Vec<u8> {
        let verdicts = [
            "granted",
            "busy",
            "late",
            "mixed",
            "spent",
            "exhausted",
            "left",
            "",
        ];
        let string = |words: &str| format!("${}\r\n{words}\r\n", words.len()).into_bytes();
        let fields = match self.random.u32(0..8) {
            0..5 => {
                let mut fields = vec!["granted".to_owned(), self.number(), self.number()];
                // If the second field is a token, the third is the time.
                fields.truncate(self.random.usize(2..4));
                if self.random.bool() {
                    fields = vec![
                        "busy".to_owned(),
                        self.number(),
                        self.number(),
                        "1".to_owned(),
                    ];
                }
                // Scripts for one lock return a string, other scripts return a list.
                if self.random.u32(0..8) > 0 {
                    return string(&fields.join(" "));
                }
                fields
            }
            5 => (0..self.random.usize(0..7))
                .map(|_| self.number())
                .collect(),
            6 => return format!(":{}\r\n", self.random.i64(-1..3)).into_bytes(),
            _ => return string(verdicts[self.random.usize(0..verdicts.len())]),
        };
        let mut bytes = format!("*{}\r\n", fields.len()).into_bytes();
        for field in &fields {
            bytes.extend(string(field));
        }
        bytes
    }

    fn number(&mut self) -> String {
        match self.random.u32(0..12) {
            0..6 => "1800000000000000".to_owned(),
            6 => self.random.u64(..).to_string(),
            7 => self.random.i64(..).to_string(),
            8 => "18446744073709551615".to_owned(),
            9 => "9".repeat(self.random.usize(1..60)),
            10 => [
                "-1",
                "-2",
                "0",
                "1e300",
                "nan",
                "inf",
                "",
                " 1",
                "9007199254740992",
            ][self.random.usize(0..9)]
            .to_owned(),
            _ => self.random.u64(0..3_000).to_string(),
        }
    }

    /// Appends a random value of the protocol.
    fn value(&mut self, to: &mut Vec<u8>, depth: u32) {
        let length = match self.random.u32(0..30) {
            0 => self.random.usize(0..3000),
            _ => self.random.usize(0..5),
        };
        let kind = self.random.u32(0..if depth < 6 { 15 } else { 9 });
        match kind {
            0 => to.extend(b"_\r\n"),
            1 => to.extend(format!(":{}\r\n", self.random.i64(..)).bytes()),
            2 => to.extend(format!("+{}\r\n", self.word()).bytes()),
            3 => to.extend(format!("-{}\r\n", self.refusal()).bytes()),
            4 => to.extend(format!(",{}\r\n", f64::from_bits(self.random.u64(..))).bytes()),
            5 => to.extend(if self.random.bool() {
                b"#t\r\n"
            } else {
                b"#f\r\n"
            }),
            6 => to.extend(format!("({}\r\n", self.number()).bytes()),
            7 => to.extend(format!("=7\r\ntxt:{:03}\r\n", self.random.u32(0..1000)).bytes()),
            8 => {
                to.extend(format!("${length}\r\n").bytes());
                to.extend((0..length).map(|_| self.random.u8(..)));
                to.extend(b"\r\n");
            }
            _ => {
                let (mark, each) = [("*", 1), ("~", 1), (">", 1), ("%", 2), ("|", 2), ("*", 1)]
                    [self.random.usize(0..6)];
                let count = length.min(6);
                to.extend(format!("{mark}{count}\r\n").bytes());
                if mark == ">" && count > 0 {
                    let kinds = ["message", "invalidate", "subscribe", "nobody"];
                    to.extend(format!("+{}\r\n", kinds[self.random.usize(0..4)]).bytes());
                    (1..count).for_each(|_| self.value(to, depth + 1));
                    return;
                }
                (0..count * each).for_each(|_| self.value(to, depth + 1));
                if mark == "|" {
                    self.value(to, depth + 1);
                }
            }
        }
    }

    fn word(&mut self) -> &'static str {
        let words = ["OK", "QUEUED", "PONG", "", "granted", "\u{fffd}", "master"];
        words[self.random.usize(0..words.len())]
    }

    fn refusal(&mut self) -> &'static str {
        let refusals = [
            "ERR no",
            "NOSCRIPT No matching script. Please use EVAL.",
            "NOAUTH Authentication required.",
            "MOVED 1 127.0.0.1:1",
            "ASK 99999 :",
            "MOVED",
            "READONLY no",
            "LOADING",
            "OOM",
            "",
            "WRONGTYPE",
            "CLUSTERDOWN x",
        ];
        refusals[self.random.usize(0..refusals.len())]
    }

    fn noise(&mut self) -> Vec<u8> {
        let length = self.random.usize(0..LONGEST);
        (0..length).map(|_| self.random.u8(..)).collect()
    }

    /// Returns a value whose length does not match its contents.
    fn lie(&mut self) -> Vec<u8> {
        let lies = [
            "$-7\r\n",
            "*-9\r\n",
            "$99999999\r\nx",
            "$536870913\r\n",
            "*1000000\r\n",
            "%500000\r\n",
            "$1\r\nabc\r\n",
            "*2\r\n:1\r\n",
            "$x\r\n",
            ":\r\n",
            ":1.5\r\n",
            "(\r\n",
            "#x\r\n",
            "=1\r\nx\r\n",
            ">0\r\n",
            ">1\r\n:1\r\n",
        ];
        match self.random.usize(0..lies.len() + 1) {
            place if place < lies.len() => lies[place].into(),
            _ => "*1\r\n".repeat(self.random.usize(1..10_000)).into(),
        }
    }
}
