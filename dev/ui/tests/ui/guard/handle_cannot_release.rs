async fn releases_by_handle(handle: leasehold::LockHandle) {
    handle.release().await;
}

fn main() {}
