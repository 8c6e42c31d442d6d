#![deny(warnings)]

fn forgets_to_acquire(locks: &leasehold::LockManager) {
    locks.lock("order:42");
}

fn forgets_to_await(locks: &leasehold::LockManager) {
    locks.lock("order:42").acquire();
}

fn main() {}
