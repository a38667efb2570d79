//! A part of the rows, so that a run of hours can be made in several.

use std::str::FromStr;

/// Every `of`-th row, beginning with number `at`: `2/4` has the rows 2, 6, 10 and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    at: usize,
    of: usize,
}

impl Shard {
    /// Its part of these.
    pub(super) fn of<T>(self, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        all.skip(self.at - 1).step_by(self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(at, of)| Some((at.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((at, of)) if (1..=of).contains(&at) => Ok(Shard { at, of }),
            _ => Err("a shard is K/N, with K from 1 to N".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_together_are_all_rows_once() {
        let part = |text: &str| text.parse::<Shard>().expect("a shard").of(1..=7).collect::<Vec<_>>();
        assert_eq!([part("1/3"), part("2/3"), part("3/3")], [vec![1, 4, 7], vec![2, 5], vec![3, 6]]);
        assert_eq!(part("1/1"), (1..=7).collect::<Vec<_>>());
    }

    #[test]
    fn only_an_existing_part_is_a_shard() {
        for text in ["", "1", "0/3", "4/3", "1/0", "a/3", "1/3/3", "-1/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
