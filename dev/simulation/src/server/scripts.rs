//! Runs scripts in the Lua version of Redis.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mlua::{Error, Function, Lua, MultiValue, Value, Variadic};

use super::channels::Channels;
use super::commands;
use super::keyspace::Keyspace;
use super::refused::Refused;
use super::reply::Reply;
use crate::mistakes::Mistake;

/// The loaded scripts, by their hash.
pub(super) struct Scripts {
    lua: Lua,
    loaded: BTreeMap<String, Function>,
    /// The hashes by the text, because clients load the same scripts on each connection.
    hashes: BTreeMap<String, String>,
    mistake: Option<Mistake>,
}

impl Scripts {
    pub(super) fn new(
        data: &Rc<RefCell<Keyspace>>,
        channels: &Rc<RefCell<Channels>>,
        mistake: Option<Mistake>,
    ) -> mlua::Result<Self> {
        let lua = Lua::new();
        let redis = lua.create_table()?;
        for (name, raises) in [("call", true), ("pcall", false)] {
            let (data, channels) = (Rc::clone(data), Rc::clone(channels));
            let call = lua.create_function(move |lua, words: Variadic<Value>| {
                let words: Result<Vec<_>, _> = words.iter().map(word).collect();
                let words = words?;
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                match commands::call(&mut data.borrow_mut(), &mut channels.borrow_mut(), &words) {
                    Ok(reply) => to_lua(lua, reply),
                    Err(Refused(why)) if raises => Err(Error::RuntimeError(why)),
                    Err(Refused(why)) => to_lua(lua, Reply::Error(why)),
                }
            })?;
            redis.set(name, call)?;
        }
        lua.globals().set("redis", redis)?;
        Ok(Self {
            lua,
            loaded: BTreeMap::new(),
            hashes: BTreeMap::new(),
            mistake,
        })
    }

    pub(super) fn load(&mut self, text: &str) -> Reply {
        let known = self.hashes.entry(text.to_owned());
        let hash = known.or_insert_with(|| redis::Script::new(text).get_hash().to_owned());
        let hash = hash.clone();
        if !self.loaded.contains_key(&hash) {
            let text = self
                .mistake
                .map_or_else(|| text.to_owned(), |it| it.make_in(text));
            match self.lua.load(text).into_function() {
                Ok(script) => self.loaded.insert(hash.clone(), script),
                Err(why) => return Reply::Error(format!("ERR Error compiling script: {why}")),
            };
        }
        Reply::Text(hash)
    }

    pub(super) fn forget(&mut self) {
        self.loaded.clear();
    }

    pub(super) fn run(&self, hash: &str, keys: &[&str], arguments: &[&str]) -> Reply {
        let Some(script) = self.loaded.get(&hash.to_ascii_lowercase()) else {
            let told = "NOSCRIPT No matching script. Please use EVAL.";
            return Reply::Error(told.to_owned());
        };
        let answer = self.call(script, keys, arguments);
        answer.unwrap_or_else(|error| Reply::Error(told(&error)))
    }

    fn call(&self, script: &Function, keys: &[&str], arguments: &[&str]) -> mlua::Result<Reply> {
        let globals = self.lua.globals();
        globals.set("KEYS", self.lua.create_sequence_from(keys.iter().copied())?)?;
        let arguments = arguments.iter().copied();
        globals.set("ARGV", self.lua.create_sequence_from(arguments)?)?;
        let answers: MultiValue = script.call(())?;
        of_lua(answers.into_iter().next().unwrap_or(Value::Nil))
    }
}

/// Returns the error of a script.
fn told(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } => told(cause),
        Error::RuntimeError(why) if is_refusal(why) => why.clone(),
        other => format!("ERR {}", other.to_string().replace(['\r', '\n'], " ")),
    }
}

fn is_refusal(why: &str) -> bool {
    let code = why.split(' ').next().unwrap_or_default();
    !code.is_empty() && code.chars().all(|it| it.is_ascii_uppercase())
}

/// Converts an argument of a command. Redis accepts strings and numbers, and formats integers without a fraction.
fn word(value: &Value) -> mlua::Result<String> {
    match value {
        Value::String(text) => Ok(text.to_str()?.to_owned()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(Error::RuntimeError(
            "ERR Lua redis lib command arguments must be strings or integers".to_owned(),
        )),
    }
}

fn to_lua(lua: &Lua, reply: Reply) -> mlua::Result<Value> {
    let field = |name: &str, text: String| {
        let table = lua.create_table()?;
        table.set(name, text)?;
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Status(text) => field("ok", text),
        Reply::Error(text) => field("err", text),
        Reply::Int(number) => Ok(Value::Number(number as f64)),
        Reply::Text(text) => Ok(Value::String(lua.create_string(text)?)),
        Reply::Nil => Ok(Value::Boolean(false)),
        Reply::List(items) | Reply::Push(items) => {
            let items: mlua::Result<Vec<_>> = items.into_iter().map(|it| to_lua(lua, it)).collect();
            Ok(Value::Table(lua.create_sequence_from(items?)?))
        }
        Reply::Map(_) => Err(Error::RuntimeError("ERR scripts read no maps".to_owned())),
    }
}

fn of_lua(value: Value) -> mlua::Result<Reply> {
    Ok(match value {
        Value::Boolean(true) => Reply::Int(1),
        Value::Integer(number) => Reply::Int(number),
        // Redis truncates the fraction, too.
        Value::Number(number) => Reply::Int(number as i64),
        Value::String(text) => Reply::Text(text.to_str()?.to_owned()),
        Value::Table(table) => {
            if let Some(why) = table.get::<Option<String>>("err")? {
                return Ok(Reply::Error(why));
            }
            if let Some(told) = table.get::<Option<String>>("ok")? {
                return Ok(Reply::Status(told));
            }
            let items = table.sequence_values::<Value>();
            let items: mlua::Result<Vec<_>> = items.map(|it| of_lua(it?)).collect();
            Reply::List(items?)
        }
        _ => Reply::Nil,
    })
}
