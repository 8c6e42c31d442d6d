//! `market`: the books of nine cells balance, and the results are written to files.

use std::fs;

use leasehold_testkit::servers::RedisServer;
use serde_json::Value;

use crate::scenes::programs::{assert_says, said};

const MARKET: &str = env!("CARGO_BIN_EXE_market");

#[tokio::test]
async fn books_of_nine_market_cells_balance_and_no_redis_key_is_left() {
    let server = RedisServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (json, charts) = (folder.path().join("m.json"), folder.path().join("charts"));
    let kept = [json.to_str().unwrap(), charts.to_str().unwrap()];
    let url = server.url();
    let arguments = [
        "--url",
        &url,
        "--seconds",
        "0.4",
        "--json",
        kept[0],
        "--charts",
        kept[1],
    ];
    let text = said(MARKET, &arguments);
    assert_eq!(text.matches("books balance").count(), 9, "{text}");
    assert_says(&text, "5 sellers, 5 buyers: a lock per item bought");

    let market: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let cells = market["cells"].as_array().unwrap();
    let loads: Vec<_> = cells
        .iter()
        .map(|it| (number(it, "sellers"), number(it, "buyers")))
        .collect();
    assert_eq!(
        loads,
        [
            (1, 1),
            (1, 1),
            (1, 1),
            (5, 1),
            (5, 1),
            (5, 1),
            (5, 5),
            (5, 5),
            (5, 5)
        ]
    );
    for cell in cells {
        assert!(number(cell, "listed") >= number(cell, "bought"), "{cell}");
        let retries = number(cell, "retries");
        if cell["method"] == "WATCH" {
            assert!(retries > 0, "{cell}");
        } else {
            assert!(retries == 0 && number(cell, "bought") > 0, "{cell}");
            assert!(cell["mean_wait_ms"].as_f64().unwrap() > 0.0, "{cell}");
        }
    }

    for chart in ["bought.svg", "retries.svg", "wait.svg"] {
        let svg = fs::read_to_string(charts.join(chart)).unwrap();
        assert!(
            svg.starts_with("<svg") && svg.contains("5 sellers, 5 buyers"),
            "{svg}"
        );
    }
    let mut redis = server.client().await.unwrap();
    let left = redis.command(["DBSIZE"]).await.unwrap();
    assert_eq!(left.int(), Some(0), "the market sweeps up");
}

fn number(cell: &Value, what: &str) -> i64 {
    cell[what].as_i64().unwrap()
}
