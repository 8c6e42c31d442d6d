use redis::Script;

use super::Contestant;
use super::bare::{Bare, Held};
use crate::BoxError;

/// The simplest lock with a token: a key, and a record that outlives the key and stores the last token.
///
/// The record is that of the library, so that both store the same amount of data. It does not have a queue,
/// notifications or renewal.
#[derive(Debug, Clone)]
pub(crate) struct Drawing {
    bare: Bare,
    take: Script,
}

const TAKE: &str = "
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 0
end
local last = string.match(redis.call('GET', KEYS[2]) or '0', '^%d+')
local token = string.format('%.0f', last + 1)
redis.call('SET', KEYS[2], token .. ' ' .. ARGV[1], 'PX', ARGV[3])
return token";

impl Drawing {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        Ok(Self {
            bare: Bare::enter(url).await?,
            take: Script::new(TAKE),
        })
    }
}

impl Contestant for Drawing {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        let held = Held::of(format!("lock:{key}"));
        let mut take = self.take.prepare_invoke();
        let take = take
            .key(&held.key)
            .key(format!("{{{}}}:lh1:fence", held.key));
        let take = take.arg(&held.owner).arg(30_000).arg(172_800_000);
        let token: u64 = take.invoke_async(&mut self.bare.connection.clone()).await?;
        match token {
            0 => Err("the key is not free, and this way does not wait".into()),
            _ => Ok(held),
        }
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        self.bare.release(held).await
    }
}
