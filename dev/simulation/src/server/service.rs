//! The server's handling of connections and commands.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use tokio::sync::mpsc::UnboundedSender;

use super::channels::{Channels, Connection, Message};
use super::commands;
use super::keyspace::Keyspace;
use super::refused::Refused;
use super::reply::Reply;
use super::scripts::Scripts;
use crate::mistakes::Mistake;

/// A Redis server without a network.
pub struct SimulatedRedis {
    data: Rc<RefCell<Keyspace>>,
    channels: Rc<RefCell<Channels>>,
    scripts: Scripts,
    outlets: BTreeMap<Connection, UnboundedSender<Vec<u8>>>,
    connections: Connection,
    served: Vec<Served>,
}

/// A script that the server has executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The time, by the server's clock.
    pub micros: u64,
    /// The keys of the call.
    pub keys: Vec<String>,
    /// The arguments of the call.
    pub arguments: Vec<String>,
    /// The reply to the call.
    pub reply: Reply,
}

impl SimulatedRedis {
    /// Creates a server without data.
    ///
    /// # Errors
    ///
    /// Returns the error of Lua, if it cannot be started.
    pub fn new() -> mlua::Result<Self> {
        Self::mistaken(None)
    }

    /// Creates a server whose scripts have a mistake.
    pub(crate) fn mistaken(mistake: Option<Mistake>) -> mlua::Result<Self> {
        let (data, channels) = (Rc::default(), Rc::default());
        Ok(Self {
            scripts: Scripts::new(&data, &channels, mistake)?,
            data,
            channels,
            outlets: BTreeMap::new(),
            connections: 0,
            served: Vec::new(),
        })
    }

    /// Returns a copy of the data.
    #[must_use]
    pub fn data(&self) -> Keyspace {
        self.data.borrow().clone()
    }

    /// Returns the executed scripts, in order.
    #[must_use]
    pub fn served(&self) -> &[Served] {
        &self.served
    }

    /// Sets the clock, in microseconds since 1970.
    pub fn set_clock(&self, micros: u64) {
        self.data.borrow_mut().set_clock(micros);
    }

    /// Removes all scripts, as after `SCRIPT FLUSH`.
    pub fn forget_scripts(&mut self) {
        self.scripts.forget();
    }

    /// Removes all data and scripts, like the restart of a server without persistence.
    pub fn forget(&mut self) {
        self.forget_scripts();
        self.data.borrow_mut().clear();
    }

    /// Adds a connection. Data for the connection is sent to `outlet`.
    pub(super) fn connect(&mut self, outlet: UnboundedSender<Vec<u8>>) -> Connection {
        self.connections += 1;
        self.outlets.insert(self.connections, outlet);
        self.connections
    }

    pub(super) fn disconnect(&mut self, connection: Connection) {
        self.outlets.remove(&connection);
        self.channels.borrow_mut().leave(connection);
    }

    /// Executes a command of a connection. Sends the reply first, and then the published messages.
    pub(super) fn serve(&mut self, connection: Connection, words: &[String]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let reply = self.execute(connection, &words);
        self.send(connection, &reply);
        for message in self.take_published() {
            let told = ["message", &message.channel, &message.payload];
            let push = Reply::Push(told.into_iter().map(Reply::text).collect());
            self.send(message.to, &push);
        }
    }

    /// Returns the published messages that are not sent to their subscribers yet.
    #[must_use]
    pub fn take_published(&self) -> Vec<Message> {
        self.channels.borrow_mut().take_published()
    }

    fn send(&self, connection: Connection, reply: &Reply) {
        let mut bytes = Vec::new();
        reply.write(&mut bytes);
        if let Some(outlet) = self.outlets.get(&connection) {
            // A closing connection reads nothing more.
            let _closing = outlet.send(bytes);
        }
    }

    /// Executes a command of a connection that uses RESP3.
    pub fn execute(&mut self, connection: u64, words: &[&str]) -> Reply {
        let Some((name, rest)) = words.split_first() else {
            return Reply::Error("ERR unknown command ''".to_owned());
        };
        match (name.to_ascii_uppercase().as_str(), rest) {
            ("PING", []) => Reply::Status("PONG".to_owned()),
            ("HELLO", ["3", ..]) => hello(connection),
            ("CLIENT", ["SETINFO", ..]) => Reply::ok(),
            ("INFO", _) => Reply::text(INFO),
            ("SUBSCRIBE", [channel]) => {
                self.channels.borrow_mut().subscribe(connection, channel);
                let told = [
                    Reply::text("subscribe"),
                    Reply::text(*channel),
                    Reply::Int(1),
                ];
                Reply::Push(told.into())
            }
            ("SCRIPT", ["LOAD", text]) => self.scripts.load(text),
            ("SCRIPT", ["FLUSH", ..]) => {
                self.forget_scripts();
                Reply::ok()
            }
            ("EVALSHA", [hash, count, rest @ ..]) => self.run(hash, count, rest),
            ("TIME", []) | ("PUBLISH", [_, _]) => {
                let (mut data, mut channels) = (self.data.borrow_mut(), self.channels.borrow_mut());
                let answer = commands::call(&mut data, &mut channels, words);
                answer.unwrap_or_else(|Refused(why)| Reply::Error(why))
            }
            _ => Reply::Error(format!(
                "ERR the simulated server has no such command: {name}"
            )),
        }
    }

    fn run(&mut self, hash: &str, count: &str, rest: &[&str]) -> Reply {
        let split = count
            .parse()
            .ok()
            .and_then(|count| rest.split_at_checked(count));
        let Some((keys, arguments)) = split else {
            let told = "ERR Number of keys can't be greater than number of args";
            return Reply::Error(told.to_owned());
        };
        let reply = self.scripts.run(hash, keys, arguments);
        let owned = |words: &[&str]| words.iter().map(|&it| it.to_owned()).collect();
        self.served.push(Served {
            micros: self.data.borrow().clock(),
            keys: owned(keys),
            arguments: owned(arguments),
            reply: reply.clone(),
        });
        reply
    }
}

const INFO: &str =
    "# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n";

fn hello(connection: Connection) -> Reply {
    let id = i64::try_from(connection).unwrap_or(i64::MAX);
    let fields = [
        ("server", Reply::text("redis")),
        ("version", Reply::text("7.0.15")),
        ("proto", Reply::Int(3)),
        ("id", Reply::Int(id)),
        ("mode", Reply::text("standalone")),
        ("role", Reply::text("master")),
        ("modules", Reply::List(Vec::new())),
    ];
    Reply::Map(
        fields
            .map(|(name, value)| (Reply::text(name), value))
            .into(),
    )
}

impl fmt::Debug for SimulatedRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedRedis")
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}
