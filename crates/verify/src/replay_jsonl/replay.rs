//! A replay that only a check can make.

use reenact_formats::replay_jsonl::{EventView, Figures};
use reenact_json::Limits;

use super::Beside;
use super::judge::Judge;
use crate::{Options, Report, Verified};

/// A replay's events over its bytes.
#[derive(Debug)]
pub struct Replay<'a> {
    bytes: &'a [u8],
    limits: Limits,
    figures: Figures,
}

impl<'a> Replay<'a> {
    /// The events, in order, read from the very bytes that were verified.
    pub fn events(&self) -> impl Iterator<Item = EventView<'a>> + use<'a> {
        let limits = self.limits;
        let lines = self.bytes.split(|byte| *byte == b'\n');
        // Every line was read before; those that are blank are none.
        lines.filter_map(move |line| EventView::read(line, &limits).ok())
    }

    /// What the session amounts to.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }
}

/// Judges bytes that should be a replay; gives the replay only if every check holds. Without a receipt that includes only what
/// the replay says of itself.
pub fn strict<'a>(
    bytes: &'a [u8],
    beside: &Beside<'_>,
    options: &Options,
) -> Result<Verified<Replay<'a>>, Box<Report>> {
    match Judge::new(beside, options).run(bytes) {
        Ok((report, figures)) => {
            Verified::if_passed(Replay { bytes, limits: options.limits, figures }, report)
        }
        Err(error) => Err(Box::new(super::unread(&error))),
    }
}
