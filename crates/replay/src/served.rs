//! Exchanges that were served so far in a replay.

/// Marks of the exchanges that were served.
#[derive(Debug, Default)]
pub(crate) struct ServedExchanges {
    /// By index into [`RecordedExchanges::entries`](crate::recorded_exchanges::RecordedExchanges::entries).
    is_served: Vec<bool>,
    /// Number of members at the beginning of each group that are served.
    served_heads: Vec<usize>,
    /// Number of times that an answer was served which had been served before.
    pub(crate) repeated: usize,
}

impl ServedExchanges {
    /// Makes the marks of a replay that begins.
    pub(crate) fn none(exchanges: usize, groups: usize) -> Self {
        Self { is_served: vec![false; exchanges], served_heads: vec![0; groups], repeated: 0 }
    }

    /// Returns true if an exchange was served.
    pub(crate) fn is_served(&self, at: usize) -> bool {
        self.is_served.get(at).copied().unwrap_or_default()
    }

    /// Marks an exchange as served, and returns false if it was before.
    pub(crate) fn mark(&mut self, at: usize) -> bool {
        self.is_served.get_mut(at).is_some_and(|is_served| !core::mem::replace(is_served, true))
    }

    /// Takes the first of a group's members that was not served, and marks it.
    pub(crate) fn take_next(&mut self, group: usize, members: &[usize]) -> Option<usize> {
        let head = self.served_heads.get(group).copied()?;
        let left = members.get(head..)?;
        let found = left.iter().position(|at| !self.is_served(*at));
        self.served_heads[group] = head + found.map_or(left.len(), |found| found + 1);
        let at = *left.get(found?)?;
        self.mark(at);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_once_in_order() {
        let mut served = ServedExchanges::none(6, 2);
        let members = [0, 2, 3, 5];
        assert!(served.mark(2));
        assert!(!served.mark(2));
        let taken: Vec<_> = (0..5).map(|_| served.take_next(1, &members)).collect();
        assert_eq!(taken, [Some(0), Some(3), Some(5), None, None]);
        assert!(!served.is_served(1) && served.is_served(5) && !served.is_served(9));
        assert_eq!(served.take_next(7, &members), None);
    }
}
