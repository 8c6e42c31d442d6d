//! Tests how Redis streams are split into messages and parsed.

use leasehold_testkit::resp::{Command, Frames, NotResp, Value};

const MESSAGES: [&[u8]; 14] = [
    b"+OK\r\n",
    b"-ERR no\r\n",
    b":7\r\n",
    b"$5\r\na\r\nbc\r\n",
    b"$-1\r\n",
    b"*-1\r\n",
    b"*0\r\n",
    b"*2\r\n$3\r\nGET\r\n*1\r\n:1\r\n",
    b"%1\r\n+a\r\n*2\r\n#t\r\n,1.5\r\n",
    b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
    b"|1\r\n+ttl\r\n:3\r\n$1\r\nv\r\n",
    b"~2\r\n_\r\n(12345678901234567890\r\n",
    b"=7\r\ntxt:abc\r\n",
    b"PING me\r\n",
];

fn all(frames: &mut Frames) -> Result<Vec<Vec<u8>>, NotResp> {
    let mut found = Vec::new();
    while let Some(frame) = frames.next_frame()? {
        found.push(frame);
    }
    Ok(found)
}

#[test]
fn messages_are_split_correctly_for_any_chunk_size() -> Result<(), NotResp> {
    let stream = MESSAGES.concat();
    for size in [1, 2, 3, 7, 64, stream.len()] {
        let mut frames = Frames::default();
        let mut found = Vec::new();
        for bytes in stream.chunks(size) {
            frames.push(bytes);
            found.extend(all(&mut frames)?);
        }
        assert_eq!(found, MESSAGES, "{size} bytes at a time");
        assert!(frames.take_rest().is_empty());
    }
    Ok(())
}

#[test]
fn bytes_of_another_protocol_are_returned() {
    let mut frames = Frames::default();
    let hello = b"\x16\x03\x01\x02\x00";
    frames.push(b"+OK\r\n");
    frames.push(hello);
    assert_eq!(frames.next_frame(), Ok(Some(b"+OK\r\n".to_vec())));
    assert_eq!(frames.next_frame(), Err(NotResp('\u{16}')));
    assert_eq!(frames.take_rest(), hello);
}

#[test]
fn resp_values_are_parsed() {
    let text = |text: &str| Value::Text(text.as_bytes().to_vec());
    let expected = [
        text("OK"),
        Value::Error("ERR no".to_owned()),
        Value::Int(7),
        text("a\r\nbc"),
        Value::Nil,
        Value::Nil,
        Value::Array(vec![]),
        Value::Array(vec![text("GET"), Value::Array(vec![Value::Int(1)])]),
        Value::Map(vec![(
            text("a"),
            Value::Array(vec![Value::Bool(true), Value::Double(1.5)]),
        )]),
        Value::Push(vec![text("message"), text("c"), text("m")]),
        text("v"),
        Value::Array(vec![Value::Nil, text("12345678901234567890")]),
        text("abc"),
    ];
    for (frame, value) in MESSAGES.iter().zip(expected) {
        assert_eq!(Value::read(frame), Some(value));
    }
    assert_eq!(Value::read(b"*2\r\n+a\r\n"), None);
    assert_eq!(text("12").int(), Some(12));
    assert!(text("OK").is_ok());
}

#[test]
fn commands_are_encoded_and_parsed() {
    let command = Command::new(["SET", "key", "two words"]);
    let bytes = command.encode();
    assert_eq!(
        bytes,
        b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$9\r\ntwo words\r\n"
    );
    assert_eq!(Command::read(&bytes), command);
    assert!(command.is("set") && command.mentions("key") && !command.mentions("k"));
    assert_eq!(format!("{command:?}"), "SET key two words");
    assert_eq!(Command::read(b"PING  me\r\n"), Command::new(["PING", "me"]));
    assert!(Command::read(b"+OK\r\n").words().is_empty());
}
