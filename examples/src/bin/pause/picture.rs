//! Draws the timeline.

use std::time::Duration;

use leasehold_charts::{Timeline, Tone, Verdict};

use crate::client::LEASE;
use crate::event::Event;
use crate::story::Story;

pub(crate) fn draw(story: &Story) -> String {
    let (title, subtitle) = match story.fenced {
        true => (
            "A late write, refused",
            "the database has seen a newer token",
        ),
        false => (
            "A late write, not fenced",
            "the database cannot know that it is late",
        ),
    };
    let at = |client, what: fn(&Event) -> bool| story.when(client, what).unwrap_or_default();
    let holds: fn(&Event) -> bool = |it| matches!(it, Event::Holds(_));
    let wakes = at(0, |it| *it == Event::Wakes);
    let end = at(0, |it| *it == Event::AlreadyLost);
    let mut line = Timeline::new(title, format!("{subtitle}; the lease is {LEASE:?}"))
        .lane("client 1")
        .span(
            at(0, holds),
            at(1, holds),
            "holds the lock and is stopped",
            Tone::Accent,
        )
        .span(at(1, holds), wakes, "is still stopped", Tone::Quiet)
        .mark(
            at(0, holds),
            "acquires the lock and reads 100",
            Verdict::Plain,
        );
    line = moments(line, story, 0, end);
    line = line
        .lane("client 2")
        .span(
            at(1, |it| *it == Event::Asks),
            at(1, holds),
            "waits for the lease to end",
            Tone::Soft,
        )
        .span(
            at(1, holds),
            at(1, |it| *it == Event::Released),
            "",
            Tone::Accent,
        );
    moments(line, story, 1, end).svg()
}

/// Adds the writes of a client to the timeline.
fn moments(mut line: Timeline, story: &Story, client: usize, end: Duration) -> Timeline {
    for (at, event) in &story.events[client] {
        let at = (*at).min(end);
        line = match event {
            Event::Wrote(_) if client == 0 => {
                line.mark(at, format!("{event}, too late"), Verdict::Bad)
            }
            Event::Wrote(_) => line.mark(at, event.to_string(), Verdict::Good),
            Event::Refused { .. } => line.mark(at, "its write is refused", Verdict::Good),
            _ => line,
        };
    }
    line
}
