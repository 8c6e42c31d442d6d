//! Tests the page of the flash sale in a real browser: clicks buttons, and checks the page.
//!
//! `LEASEHOLD_SCREENSHOTS=folder` writes screenshots to that folder.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use fantoccini::{Client, ClientBuilder, Locator};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::{ChromeDriver, RedisServer};
use tokio::time::{Instant, sleep};

const SOON: Duration = Duration::from_secs(30);

/// The page in a browser, with its server.
struct Shop {
    page: Client,
    _driver: ChromeDriver,
    _sale: ChildProcess,
}

impl Shop {
    async fn open(arguments: &[&str]) -> Self {
        let sale = ChildProcess::of(env!("CARGO_BIN_EXE_flash_sale"))
            .args(["--serve", "--port", "0", "--seconds", "2"])
            .args(arguments)
            .start();
        let mut sale = sale.unwrap();
        let driver = ChromeDriver::start().await.unwrap();
        let page = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new())
            .capabilities(driver.capabilities())
            .connect(&driver.url())
            .await
            .unwrap();
        let at = sale.line_where(SOON, |it| it.contains("http://")).await;
        let at = at.unwrap();
        let url = at.split_whitespace().find(|it| it.starts_with("http://"));
        page.set_window_size(1200, 800).await.unwrap();
        let url = format!("{}/?think=4000", url.unwrap());
        page.goto(&url).await.unwrap();
        let shop = Self {
            page,
            _driver: driver,
            _sale: sale,
        };
        shop.shows("stock", |stock| stock == "10").await;
        shop
    }

    async fn text(&self, id: &str) -> String {
        let element = self.page.find(Locator::Id(id)).await.unwrap();
        element.text().await.unwrap()
    }

    /// Waits until the text of an element is as wanted, and returns it.
    async fn shows(&self, id: &str, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + SOON;
        loop {
            let text = self.text(id).await;
            if wanted(&text) {
                return text;
            }
            if Instant::now() > end {
                panic!(
                    "`{id}` says `{text}`; all of it: {}",
                    self.all_of_it().await
                );
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the text of the page, including text that has faded out.
    async fn all_of_it(&self) -> String {
        let said = "return [...document.body.children].filter(it => it.tagName !== 'SCRIPT').map(it => it.textContent).join(' ').replace(/\\s+/g, ' ')";
        let said = self.page.execute(said, Vec::new()).await.unwrap();
        said.as_str()
            .unwrap_or_default()
            .chars()
            .take(3_000)
            .collect()
    }

    async fn click(&self, id: &str) {
        let element = self.page.find(Locator::Id(id)).await.unwrap();
        element.click().await.unwrap();
    }

    async fn choose(&self, value: &str) {
        let label = format!("label:has([value={value}])");
        let element = self.page.find(Locator::Css(&label)).await.unwrap();
        element.click().await.unwrap();
    }

    async fn picture(&self, name: &str, width: u32, height: u32) {
        let Ok(folder) = std::env::var("LEASEHOLD_SCREENSHOTS") else {
            return;
        };
        let frame = self
            .page
            .execute("return window.outerHeight - window.innerHeight", Vec::new())
            .await;
        let frame = u32::try_from(frame.unwrap().as_u64().unwrap()).unwrap();
        self.page
            .set_window_size(width, height + frame)
            .await
            .unwrap();
        let picture = self.page.screenshot().await.unwrap();
        std::fs::write(format!("{folder}/{name}.png"), picture).unwrap();
        self.page.set_window_size(1200, 800).await.unwrap();
    }

    async fn close(self) {
        self.page.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_shows_stock_holder_queue_and_refused_writes_after_clicks() {
    let shop = Shop::open(&[]).await;
    shop.shows("holder", |it| it == "free").await;

    // Two buyers on two instances: one holds the lock, the other waits, and then holds it with a larger token.
    shop.click("buy-A").await;
    shop.shows("holder", |it| it == "A").await;
    let first = shop.shows("token", |it| it.starts_with('…')).await;
    shop.click("buy-B").await;
    shop.shows("waiting", |it| it == "1").await;
    shop.shows("holder", |it| it == "B").await;
    let second = shop.shows("token", |it| it != first).await;
    assert!(second.starts_with('…'), "{second}");
    shop.shows("stock", |it| it == "8").await;
    shop.shows("sold", |it| it == "2").await;
    shop.shows("holder", |it| it == "free").await;
    // A line of the tape fades in, and the browser does not return invisible text.
    let both = |tape: &str| tape.contains(&first) && tape.contains(&second);
    shop.shows("tape", both).await;

    // A second click of the same buyer is refused by the lock of the route, on any instance.
    shop.choose("same").await;
    shop.click("buy-A").await;
    shop.shows("holder", |it| it == "A").await;
    shop.click("buy-B").await;
    shop.shows("said", |it| it.starts_with("B: 409")).await;
    shop.shows("stock", |it| it == "7").await;

    // A holder stalls for longer than its lease: another one sells in the meantime, and the late write is refused.
    assert_eq!(shop.text("refused").await, "0");
    shop.click("stall-A").await;
    // The purchase is still running, although its lease has expired.
    shop.shows("instance-A", |it| it.contains("under token"))
        .await;
    shop.click("buy-B").await;
    shop.shows("holder", |it| it == "B").await;
    shop.shows("instance-A", |it| it.contains("Its lease is over"))
        .await;
    shop.picture("stalled", 1200, 800).await;
    shop.shows("refused", |it| it == "1").await;
    shop.shows("stock", |it| it == "6").await;
    shop.shows("tape", |it| it.contains("refused")).await;

    // Run all clients until the item is sold out.
    shop.click("restock").await;
    shop.shows("stock", |it| it == "10").await;
    shop.click("clients").await;
    shop.shows("waiting", |it| {
        it.parse().is_ok_and(|waiting: u32| waiting > 2)
    })
    .await;
    shop.picture("clients", 1200, 800).await;
    shop.picture("clients-phone", 390, 844).await;
    shop.shows("verdict", |it| it == "exactly what there was")
        .await;
    assert_eq!(
        (shop.text("stock").await, shop.text("sold").await),
        ("0".to_owned(), "10".to_owned())
    );
    shop.shows("clients", |it| it == "Let 20 clients in").await;
    shop.picture("sold-out", 1200, 800).await;

    // Repeat the sale without a lock.
    shop.click("restock").await;
    shop.shows("stock", |it| it == "10").await;
    shop.choose("unlocked").await;
    shop.click("clients").await;
    shop.shows("stock", |it| it.starts_with('−')).await;
    shop.shows("verdict", |it| it.starts_with("oversold by "))
        .await;
    shop.shows("clients", |it| it == "Let 20 clients in").await;
    shop.picture("oversold", 1200, 800).await;
    shop.picture("oversold-phone", 390, 844).await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_instance_loses_its_lock_to_the_other_instance() {
    let redis = RedisServer::start().await.unwrap();
    let shop = Shop::open(&["--url", &redis.url()]).await;
    shop.shows("instance-A", |it| it.contains("process ")).await;
    shop.click("buy-A").await;
    shop.shows("holder", |it| it == "A").await;
    shop.click("kill-A").await;
    shop.shows("instance-A", |it| it.contains("Is down")).await;
    shop.click("buy-B").await;
    shop.shows("holder", |it| it == "B").await;
    shop.shows("stock", |it| it == "9").await;
    shop.picture("killed", 1200, 800).await;
    shop.shows("kill-A", |it| it == "Start").await;
    shop.click("kill-A").await;
    shop.shows("kill-A", |it| it == "Kill").await;
    shop.click("buy-A").await;
    shop.shows("holder", |it| it == "A").await;
    shop.shows("stock", |it| it == "8").await;
    shop.close().await;
}
