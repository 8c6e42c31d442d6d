//! Tests how the README's commands are found.

use leasehold_testkit::suite::{NoCommands, commands};

#[test]
fn cargo_run_commands_in_sh_blocks_are_found() {
    let text = "\
# Leasehold

```sh
cargo add leasehold
cargo run -p leasehold-examples --bin quickstart
  cargo run --bin indented
cargo xtask test
```

```rust
cargo run --bin not_a_shell
```

````text
```sh
cargo run --bin quoted
```
````

cargo run --bin outside

   ```sh
# cargo run --bin commented
cargo run --bin long \\
    --features redis
```
";
    assert_eq!(
        commands(text),
        Ok(vec![
            "cargo run -p leasehold-examples --bin quickstart".to_owned(),
            "cargo run --bin indented".to_owned(),
            "cargo run --bin long --features redis".to_owned(),
        ])
    );
}

#[test]
fn readme_without_commands_is_an_error() {
    for text in [
        "",
        "```sh\ncargo xtask test\n```",
        "```toml\ncargo run\n```",
    ] {
        assert_eq!(commands(text), Err(NoCommands), "{text:?}");
    }
}
