//! The names of the contestants in the requirements.

pub(super) const OURS: &str = "leasehold";
pub(super) const SCRIPTS: &str = "same scripts by hand";
pub(super) const BARE: &str = "SET NX PX by hand";
pub(super) const ONE_ROUND_TRIP: &str = "1 round trip by hand";
pub(super) const ON_ZOOKEEPER: &str = "leasehold, ZooKeeper";
pub(super) const RECIPE: &str = "ZooKeeper recipe by hand";
