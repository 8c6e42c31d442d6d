//! A path template whose parameter is not declared is no key.

use leasehold::LockManager;
use leasehold_tower::{LockLayer, key};

fn main() {
    let _layer = LockLayer::new(LockManager::in_process(), key::path("order:{id}"));
}
