//! Tests which key a request locks, and which requests are refused.

use axum::Router;
use axum::body::Body;
use axum::routing::{MethodRouter, post};
use http::{HeaderValue, Request, Response};
use leasehold::{LockManager, MAX_KEY_BYTES};
use leasehold_tower::key::{self, KeyExtractor};
use leasehold_tower::{LockLayer, Locked};
use tower::ServiceExt;

use crate::tools::{document, problem, text};

/// Returns a handler that responds with the key of its lock.
fn telling() -> MethodRouter {
    post(async |lock: Option<Locked>| {
        lock.map_or("none".to_owned(), |Locked(lock)| lock.key().to_owned())
    })
}

async fn send(app: &Router, path: &str) -> Response<Body> {
    let request = Request::post(path).body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

fn locking<K: KeyExtractor>(key: K) -> LockLayer<K> {
    LockLayer::new(LockManager::in_process(), key)
}

#[tokio::test]
async fn path_parameters_are_decoded_wherever_the_layer_is_added() {
    let order = || locking(key::path("order:{id}").raw("id"));
    let route = "/orders/{id}/ship";
    let apps = [
        Router::new().route(route, telling().layer(order())),
        Router::new().route(route, telling()).route_layer(order()),
        Router::new().route(route, telling()).layer(order()),
        Router::new().nest(
            "/orders/{id}",
            Router::new().route("/ship", telling()).route_layer(order()),
        ),
        Router::new()
            .route(route, telling())
            .layer(locking(key::path("order:{id}").raw("id").on(route))),
    ];
    for app in apps {
        assert_eq!(text(send(&app, "/orders/7/ship").await).await, "order:7");
        assert_eq!(text(send(&app, "/orders/%37/ship").await).await, "order:7");
        assert_eq!(
            text(send(&app, "/orders/a%2Fb%20%C3%BC/ship").await).await,
            "order:a/b ü"
        );
        assert_eq!(
            problem(send(&app, "/orders/%FF/ship").await).await,
            (400, "invalid-key".to_owned())
        );
    }
}

#[tokio::test]
async fn encoded_and_plain_paths_use_the_same_lock() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), key::path("order:{id}").raw("id"));
    let app = Router::new()
        .route("/orders/{id}", telling())
        .route_layer(layer);
    let _held = locks.lock("order:7").acquire().await.unwrap();
    for path in ["/orders/7", "/orders/%37"] {
        assert_eq!(
            problem(send(&app, path).await).await,
            (409, "contended".to_owned())
        );
    }
}

#[tokio::test]
async fn typed_parameter_uses_one_lock_for_all_spellings() {
    let route = "/tenants/{tenant}/orders/{id}";
    let order = || {
        key::path("{tenant}:order:{id}")
            .raw("tenant")
            .typed::<u64>("id")
    };
    let apps = [
        Router::new().route(route, telling().layer(locking(order()))),
        Router::new()
            .route(route, telling())
            .layer(locking(order().on(route))),
    ];
    for app in apps {
        for id in ["7", "07", "+7", "%37", "%2B007"] {
            let path = format!("/tenants/07/orders/{id}");
            assert_eq!(text(send(&app, &path).await).await, "07:order:7", "{id}");
        }
        for id in ["seven", "-7", "7a", "18446744073709551616"] {
            let path = format!("/tenants/07/orders/{id}");
            let (status, told) = document(send(&app, &path).await).await;
            let kind = "https://docs.rs/leasehold-tower#invalid-key";
            assert_eq!((status, &told["type"]), (400, &kind.into()), "{id}");
            let detail = told["detail"].as_str().unwrap();
            assert!(detail.contains("`id`") && !detail.contains(id), "{detail}");
        }
    }
}

#[tokio::test]
async fn undeclared_parameter_is_a_server_error() {
    let route = "/tenants/{tenant}/orders/{id}";
    let app = Router::new().route(route, telling()).layer(locking(
        key::path("tenant:{tenant}:{id}")
            .typed::<u64>("id")
            .on(route),
    ));
    let (status, said) = whole(send(&app, "/tenants/ann/orders/5").await).await;
    assert_eq!(status, 500);
    assert!(said.contains("`tenant` is not declared"), "{said}");
}

#[tokio::test]
async fn different_pairs_of_parameters_use_different_locks() {
    let route = "/tenants/{tenant}/orders/{id}";
    let order = || key::path("tenant:{tenant}:{id}").raw("tenant").raw("id");
    let apps = [
        Router::new().route(route, telling().layer(locking(order()))),
        Router::new()
            .route(route, telling())
            .layer(locking(order().on(route))),
    ];
    for app in apps {
        for (path, key) in [
            ("/tenants/ann/orders/5", "tenant:ann:5"),
            ("/tenants/ann:5/orders/5", "tenant:ann%3A5:5"),
            ("/tenants/ann/orders/5%3A5", "tenant:ann:5%3A5"),
            ("/tenants/ann%253A5/orders/5", "tenant:ann%253A5:5"),
        ] {
            assert_eq!(text(send(&app, path).await).await, key, "{path}");
        }
    }
}

#[test]
#[should_panic(expected = "has no parameter `order`")]
fn type_for_an_unknown_parameter_panics_at_startup() {
    let _key = key::path("order:{id}").raw("id").typed::<u64>("order");
}

#[tokio::test]
async fn route_without_the_parameter_is_a_server_error_that_names_it() {
    let order = || locking(key::path("order:{order_id}").raw("order_id"));
    let apps = [
        Router::new()
            .route("/orders/{id}", telling())
            .route_layer(order()),
        // A fallback does not have path parameters.
        Router::new()
            .layer(order())
            .fallback(telling())
            .layer(order()),
    ];
    for app in apps {
        let (status, told) = document(send(&app, "/orders/7").await).await;
        assert_eq!(
            (status, &told["type"]),
            (500, &"https://docs.rs/leasehold-tower#misconfigured".into())
        );
        assert!(
            told["detail"].as_str().unwrap().contains("`order_id`"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn layer_around_the_router_needs_an_explicit_route() {
    let app = Router::new().route("/orders/{id}", telling());
    let whole = tower::Layer::layer(&locking(key::path("order:{id}").raw("id")), app.clone());
    let request = || Request::post("/orders/7").body(Body::empty()).unwrap();
    assert_eq!(
        problem(whole.oneshot(request()).await.unwrap()).await,
        (500, "misconfigured".to_owned())
    );
    let on = key::path("order:{id}").raw("id").on("/orders/{id}");
    let whole = tower::Layer::layer(&locking(on), app);
    assert_eq!(
        text(whole.oneshot(request()).await.unwrap()).await,
        "order:7"
    );
}

#[tokio::test]
async fn nested_layer_matches_the_path_without_the_prefix_of_the_nest() {
    let on = |route| locking(key::path("order:{id}").raw("id").on(route));
    let (route, whole) = ("/orders/{id}", "/api/orders/{id}");
    let nested = |layer| {
        let orders = Router::new().route(route, telling()).route_layer(layer);
        Router::new().nest("/api", orders)
    };
    let orders = Router::new().route(route, telling());
    let around = Router::new().nest("/api", orders).route_layer(on(whole));
    for (app, key) in [
        (nested(on(route)), "order:7"),
        (nested(on(whole)), "none"),
        (around, "order:7"),
    ] {
        assert_eq!(text(send(&app, "/api/orders/7").await).await, key);
    }
}

#[tokio::test]
async fn layer_of_the_whole_router_refuses_unknown_routes() {
    let order = || locking(key::path("order:{id}").raw("id"));
    let app = || Router::new().route("/orders/{id}", telling());
    for (app, status) in [
        (app().route_layer(order()), 404),
        (app().layer(order()), 500),
    ] {
        assert_eq!(send(&app, "/nowhere").await.status(), status);
        assert_eq!(text(send(&app, "/orders/7").await).await, "order:7");
    }
}

#[tokio::test]
async fn path_that_does_not_match_the_route_passes_without_a_lock() {
    let layer = locking(key::path("file:{rest}").raw("rest").on("/files/{*rest}"));
    let app = Router::new().fallback(telling()).layer(layer);
    assert_eq!(text(send(&app, "/files/a/b%20c").await).await, "file:a/b c");
    assert_eq!(text(send(&app, "/other/a").await).await, "none");
}

#[tokio::test]
async fn matched_path_key_is_the_same_for_all_requests_of_a_route() {
    let app = Router::new()
        .route("/orders/{id}/items/{item}", telling())
        .layer(locking(key::matched_path()));
    for path in ["/orders/1/items/2", "/orders/3/items/4"] {
        assert_eq!(
            text(send(&app, path).await).await,
            "/orders/:id/items/:item"
        );
    }
    assert_eq!(
        problem(send(&app, "/nowhere").await).await,
        (500, "misconfigured".to_owned())
    );
}

fn with_header(values: &[&[u8]]) -> Request<Body> {
    let mut request = Request::post("/").body(Body::empty()).unwrap();
    for value in values {
        let value = HeaderValue::from_bytes(value).unwrap();
        request.headers_mut().append("idempotency-key", value);
    }
    request
}

#[tokio::test]
async fn missing_repeated_or_non_text_key_header_is_refused() {
    let app = Router::new()
        .route("/", telling())
        .layer(locking(key::header("idempotency-key")));
    let good = app.clone().oneshot(with_header(&[b"k-1"])).await.unwrap();
    assert_eq!(text(good).await, "idempotency-key:k-1");
    // HTTP/1 strips these spaces, HTTP/2 does not.
    let padded = app.clone().oneshot(with_header(&[b"\t k-1 "])).await;
    assert_eq!(text(padded.unwrap()).await, "idempotency-key:k-1");
    let bad: [(&[&[u8]], &str); 5] = [
        (&[], "missing-key"),
        (&[b""], "missing-key"),
        (&[b"  "], "missing-key"),
        (&[b"a", b"b"], "invalid-key"),
        (&[b"\xff"], "invalid-key"),
    ];
    for (values, kind) in bad {
        let answer = app.clone().oneshot(with_header(values)).await.unwrap();
        let (status, told) = document(answer).await;
        assert_eq!(status, 400);
        assert!(told["type"].as_str().unwrap().ends_with(kind), "{told}");
        assert!(
            told["detail"]
                .as_str()
                .unwrap()
                .contains("`idempotency-key`"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn key_with_a_principal_differs_for_each_principal() {
    let whose = |request: &http::request::Parts| {
        let user = request.headers.get("user")?;
        Some(user.to_str().ok()?.to_owned())
    };
    let layer = locking(key::header("idempotency-key").with_principal(whose));
    let app = Router::new().route("/", telling()).layer(layer);
    for (user, sent, key) in [
        ("alice", "k", "idempotency-key:k:alice"),
        // This is not the key that `key::path("order:{id}")` makes from 42.
        ("order", "42", "idempotency-key:42:order"),
        ("42", "order", "idempotency-key:order:42"),
    ] {
        let mut request = with_header(&[sent.as_bytes()]);
        let user = HeaderValue::from_static(user);
        request.headers_mut().insert("user", user);
        let answer = app.clone().oneshot(request).await.unwrap();
        assert_eq!(text(answer).await, key);
    }
    let nobody = app.oneshot(with_header(&[b"k"])).await.unwrap();
    assert_eq!(problem(nobody).await, (500, "misconfigured".to_owned()));
}

/// Returns the status, the headers and the body of a response as text.
async fn whole(response: Response<Body>) -> (u16, String) {
    let (status, headers) = (
        response.status().as_u16(),
        format!("{:?}", response.headers()),
    );
    (status, headers + &text(response).await)
}

#[tokio::test]
async fn invalid_key_is_refused_and_not_echoed() {
    let secret = "s3cret";
    let long = format!("{secret}{}", "x".repeat(10_000));
    let by_header = Router::new()
        .route("/", telling())
        .layer(locking(key::header("idempotency-key")));
    let by_path = Router::new()
        .route("/orders/{id}", telling())
        .layer(locking(key::path("order:{id}").raw("id")).max_key_bytes(2 * MAX_KEY_BYTES));
    let mut answers = vec![
        by_header
            .clone()
            .oneshot(with_header(&[long.as_bytes()]))
            .await
            .unwrap(),
        by_header
            .oneshot(with_header(&[b"s3cret:lh1:x"]))
            .await
            .unwrap(),
    ];
    let more = format!("/orders/{secret}{}", "y".repeat(MAX_KEY_BYTES));
    for path in [
        format!("/orders/{long}"),
        more,
        format!("/orders/{secret}%7D"),
        format!("/orders/{secret}%00"),
    ] {
        answers.push(send(&by_path, &path).await);
    }
    for answer in answers {
        let (status, said) = whole(answer).await;
        assert_eq!(status, 400, "{said}");
        assert!(said.contains("leasehold-tower#invalid-key"), "{said}");
        assert!(!said.contains(secret), "{said}");
    }
}

#[tokio::test]
async fn control_character_is_reported_with_its_position_in_the_parameter() {
    let app = Router::new()
        .route("/orders/{id}", telling())
        .layer(locking(key::path("order:{id}").raw("id")));
    let (status, told) = document(send(&app, "/orders/ab%0Ac").await).await;
    assert_eq!(status, 400);
    let detail = told["detail"].as_str().unwrap();
    assert!(detail.starts_with("byte 2 of `id` "), "{detail}");
    let app = Router::new()
        .route("/", telling())
        .layer(locking(key::header("idempotency-key")));
    let tab = app.oneshot(with_header(&[b"a\tb"])).await.unwrap();
    let (status, told) = document(tab).await;
    assert_eq!(status, 400);
    assert!(told.to_string().contains("visible ASCII"), "{told}");
}

#[tokio::test]
async fn key_above_max_key_bytes_is_refused() {
    let long = |bytes| "k".repeat(bytes);
    let default = key::DEFAULT_MAX_KEY_BYTES;
    for (most, layer) in [
        (default, locking(key::header("idempotency-key"))),
        (
            24,
            locking(key::header("idempotency-key")).max_key_bytes(24),
        ),
    ] {
        let app = Router::new().route("/", telling()).layer(layer);
        // The limit includes the name of the header.
        let most = most - "idempotency-key:".len();
        for (bytes, expected) in [(most, 200), (most + 1, 400)] {
            let request = with_header(&[long(bytes).as_bytes()]);
            let answer = app.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), expected, "{bytes} of {most}");
        }
    }
}

#[tokio::test]
async fn no_refusal_echoes_the_key() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), key::path("order:{id}").raw("id"));
    let app = Router::new()
        .route("/orders/{id}", telling())
        .layer(layer.clone());
    let nested = Router::new()
        .route("/orders/{id}", telling())
        .layer(layer.clone())
        .layer(layer);
    let (status, said) = whole(send(&nested, "/orders/s3cret").await).await;
    assert_eq!(status, 500);
    assert!(!said.contains("s3cret"), "{said}");
    let held = locks.lock("order:s3cret").acquire().await.unwrap();
    let (status, said) = whole(send(&app, "/orders/s3cret").await).await;
    assert_eq!(status, 409);
    assert!(!said.contains("s3cret"), "{said}");
    held.release().await.unwrap();
    locks.shutdown().await.unwrap();
    let (status, said) = whole(send(&app, "/orders/s3cret").await).await;
    assert_eq!(status, 503);
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn invalid_template_route_or_header_name_panics_at_startup() {
    for mistake in [
        || drop(key::path("order:{id")),
        || drop(key::path("orders")),
        || drop(key::path("order:{id}").raw("id").on("/orders/{id")),
        || drop(key::header("Idempotency Key")),
    ] {
        assert!(std::panic::catch_unwind(mistake).is_err());
    }
}
#[tokio::test]
async fn locked_extractor_without_a_lock_is_a_server_error() {
    let app = Router::new().route(
        "/",
        post(async |Locked(lock): Locked| lock.key().to_owned()),
    );
    assert_eq!(
        problem(send(&app, "/").await).await,
        (500, "misconfigured".to_owned())
    );
}
