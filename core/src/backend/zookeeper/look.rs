//! What operators ask.

use zookeeper_client::Error;

use super::line::Line;
use super::name::{Place, container};
use super::session::Session;
use super::shares;
use crate::backend::{Inspection, Mode};
use crate::{FencingToken, Key};

/// The line as the leader knows it, in which a writer that has become a reader counts as one.
async fn line(session: &Session, container: &str) -> Result<Line, Error> {
    let mut line = session.latest_line(container).await?;
    if let Some(writer) = line.writer_in_front() {
        let data = session.data(&path(container, writer)).await?;
        if data.is_some_and(|(data, _, _)| data == shares::DOWNGRADED) {
            line.front_is_downgraded();
        }
    }
    Ok(line)
}

fn path(container: &str, place: &Place) -> String {
    format!("{container}/{}", place.name)
}

pub(super) async fn inspect(session: &Session, key: &Key) -> Result<Inspection, Error> {
    let container = container(key);
    let line = line(session, &container).await?;
    let mut seen = Inspection::default();
    let mut places = 0;
    for place in line.holders() {
        places += 1;
        seen.holders += place.mode.size();
        let Some((data, created, _)) = session.data(&path(&container, place)).await? else {
            continue;
        };
        let token = shares::read(&data).unwrap_or(created);
        seen.token = seen.token.max(FencingToken::try_from(token).ok());
        seen.expires_in = Some(session.timeout());
        if place.mode == Mode::Exclusive && data != shares::DOWNGRADED {
            let owner = place.owner.map(|owner| owner.to_string());
            seen.owner = owner.or_else(|| Some(place.name.clone()));
        }
    }
    seen.waiting = line.len() - places;
    Ok(seen)
}

/// Deletes the nodes of all who hold: true if there were any.
pub(super) async fn force(session: &Session, key: &Key) -> Result<bool, Error> {
    let container = container(key);
    let line = line(session, &container).await?;
    let mut held = false;
    for place in line.holders() {
        held |= session.delete(&path(&container, place)).await?;
    }
    Ok(held)
}
