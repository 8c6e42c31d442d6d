//! Counts the nodes' grants, and determines the fencing token from them.

use std::time::Duration;

use super::majority_count::majority;
use leasehold_core::backend::BackendError;

/// The vote of one node in a round.
#[derive(Debug)]
pub(super) enum Vote {
    /// The node grants the lock, under its own token.
    Granted(u64),
    /// Another holder has the lock on this node.
    Busy {
        /// The id is in raw bytes, because the ids of other programs may be any bytes.
        holder: Vec<u8>,
        /// `None` if the key does not have a TTL.
        left: Option<Duration>,
    },
    /// The vote does not count.
    Failed(BackendError),
}

/// The votes of a round.
///
/// The majority is more than half of *all* nodes. The token is the largest in the first majority of grants, because the
/// client can raise smaller tokens to the largest token. Later grants do not change the token.
#[derive(Debug)]
pub(super) struct VoteCount {
    votes: Vec<Option<Vote>>,
    needed: usize,
    token: Option<u64>,
}

/// The state of an election.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QuorumState {
    Open,
    /// A majority grants, and agrees on the token.
    Agreed(u64),
    /// A majority grants, but the client must raise the tokens of `nodes` to `token` before a majority agrees.
    Below {
        token: u64,
        nodes: Vec<usize>,
    },
    Lost,
}

impl VoteCount {
    pub(super) fn among(nodes: usize) -> Self {
        Self {
            votes: (0..nodes).map(|_| None).collect(),
            needed: majority(nodes),
            token: None,
        }
    }

    pub(super) fn count(&mut self, place: usize, vote: Vote) {
        self.votes[place] = Some(vote);
        if self.token.is_none() && self.granted().count() >= self.needed {
            self.token = self.granted().map(|(_, token)| token).max();
        }
    }

    /// Records that the node now has the required token.
    pub(super) fn raised(&mut self, place: usize) {
        if let Some(token) = self.token {
            self.votes[place] = Some(Vote::Granted(token));
        }
    }

    pub(super) fn standing(&self) -> QuorumState {
        let Some(wanted) = self.token else {
            let open = self.votes.iter().filter(|vote| vote.is_none()).count();
            return match self.granted().count() + open >= self.needed {
                true => QuorumState::Open,
                false => QuorumState::Lost,
            };
        };
        if self.granted().filter(|it| it.1 == wanted).count() >= self.needed {
            return QuorumState::Agreed(wanted);
        }
        let below = self.granted().filter(|it| it.1 < wanted);
        QuorumState::Below {
            token: wanted,
            nodes: below.map(|(place, _)| place).collect(),
        }
    }

    /// Returns a token that is larger than all tokens in the votes.
    pub(super) fn beyond(&self) -> u64 {
        let largest = self.granted().map(|(_, token)| token).max();
        largest.map_or(0, |token| token.saturating_add(1))
    }

    /// Returns how long another holder may keep its majority, or `None` if no other holder has a majority.
    pub(super) fn held_for(&self) -> Option<Duration> {
        let busy = self.votes.iter().flatten().filter_map(|vote| match vote {
            Vote::Busy { holder, left } => Some((holder.as_slice(), *left)),
            Vote::Granted(_) | Vote::Failed(_) => None,
        });
        let busy: Vec<_> = busy.collect();
        let is_elected = |holder: &[u8]| {
            let nodes = busy.iter().filter(|(other, _)| *other == holder).count();
            // Nodes without a reply may have granted the lock to that holder, too.
            let open = self.votes.iter().filter(|vote| vote.is_none()).count();
            nodes + open >= self.needed
        };
        let (holder, _) = busy.iter().find(|(holder, _)| is_elected(holder))?;
        let left = busy.iter().filter(|(other, _)| other == holder);
        left.map(|(_, left)| left.unwrap_or(Duration::MAX)).max()
    }

    pub(super) fn answered(&self) -> usize {
        let answers = self.votes.iter().flatten();
        answers
            .filter(|vote| !matches!(vote, Vote::Failed(_)))
            .count()
    }

    /// Returns whether too many nodes have failed for a majority.
    pub(super) fn is_failing(&self) -> bool {
        let failed = self.votes.iter().flatten();
        let failed = failed
            .filter(|vote| matches!(vote, Vote::Failed(_)))
            .count();
        self.votes.len() - failed < self.needed
    }

    pub(super) fn into_failures(self) -> Vec<(usize, BackendError)> {
        let votes = self.votes.into_iter().enumerate();
        votes
            .filter_map(|(place, vote)| match vote {
                Some(Vote::Failed(error)) => Some((place, error)),
                _ => None,
            })
            .collect()
    }

    fn granted(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let votes = self.votes.iter().enumerate();
        votes.filter_map(|(place, vote)| match vote {
            Some(Vote::Granted(token)) => Some((place, *token)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(holder: &str) -> Vote {
        Vote::Busy {
            holder: holder.into(),
            left: Some(Duration::from_secs(1)),
        }
    }

    fn failed() -> Vote {
        Vote::Failed(BackendError::not_applied("down"))
    }

    fn after(votes: impl IntoIterator<Item = Vote>) -> VoteCount {
        let mut election = VoteCount::among(5);
        for (place, vote) in votes.into_iter().enumerate() {
            election.count(place, vote);
        }
        election
    }

    #[test]
    fn three_equal_votes_of_five_agree_on_a_token() {
        let mut election = after([Vote::Granted(7), Vote::Granted(7)]);
        assert_eq!(election.standing(), QuorumState::Open);
        election.count(4, Vote::Granted(7));
        assert_eq!(election.standing(), QuorumState::Agreed(7));
        // A late vote changes nothing.
        election.count(3, Vote::Granted(9));
        assert_eq!(election.standing(), QuorumState::Agreed(7));
    }

    #[test]
    fn nodes_with_smaller_tokens_are_raised_to_the_largest_one() {
        let mut election = after([Vote::Granted(5), Vote::Granted(7), Vote::Granted(6)]);
        let nodes = vec![0, 2];
        assert_eq!(election.standing(), QuorumState::Below { token: 7, nodes });
        election.raised(2);
        assert_eq!(
            election.standing(),
            QuorumState::Below {
                token: 7,
                nodes: vec![0]
            }
        );
        election.raised(0);
        assert_eq!(election.standing(), QuorumState::Agreed(7));
        assert_eq!(election.beyond(), 8);
    }

    #[test]
    fn a_round_is_lost_once_a_majority_cannot_grant() {
        let election = after([Vote::Granted(5), busy("a"), busy("b"), failed()]);
        assert_eq!(election.standing(), QuorumState::Lost);
        assert_eq!(election.held_for(), None);
        assert!(!election.is_failing());
        assert_eq!(election.answered(), 3);
    }

    #[test]
    fn the_wait_time_is_the_lease_of_a_holder_with_a_majority() {
        let election = after([busy("a"), busy("a"), busy("b"), busy("a")]);
        assert_eq!(election.held_for(), Some(Duration::from_secs(1)));
        // The fifth node may have granted the lock to that holder, too.
        let election = after([busy("a"), busy("b"), busy("a"), failed()]);
        assert_eq!(election.held_for(), Some(Duration::from_secs(1)));
        let election = after([busy("a"), busy("b"), busy("c"), failed()]);
        assert_eq!(election.held_for(), None);
        let longer = Vote::Busy {
            holder: "b".into(),
            left: Some(Duration::from_secs(9)),
        };
        let election = after([busy("a"), busy("a"), longer, busy("a")]);
        assert_eq!(election.held_for(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn three_failures_of_five_nodes_leave_no_quorum() {
        let election = after([failed(), Vote::Granted(1), failed(), failed()]);
        assert_eq!(election.standing(), QuorumState::Lost);
        assert!(election.is_failing());
        assert!(!after([failed(), Vote::Granted(1), failed()]).is_failing());
        let places: Vec<_> = election
            .into_failures()
            .into_iter()
            .map(|it| it.0)
            .collect();
        assert_eq!(places, [0, 2, 3]);
    }
}
