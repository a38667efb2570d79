//! Rate limits of one person or one address: password guesses, hashes, locks.
//!
//! All of them are in the memory of this process, and their size does not depend on requests.

mod hashing;
mod limiter;
mod open_forms;
mod presence;
mod viewers;

use std::net::IpAddr;
use std::time::Duration;

pub(crate) use hashing::{Hashing, TooBusy};
pub(crate) use limiter::{Limiter, Rate};
pub(crate) use open_forms::OpenForms;
pub(crate) use presence::Presence;
pub use viewers::Person;
pub(crate) use viewers::Viewers;

/// Guesses at one account from one network: stricter than [`ACCOUNT`], so that one network cannot exhaust the limit of all.
const PAIR: Rate = Rate { at_once: 8, then_each: Duration::from_secs(120) };
/// Guesses from one network, at any accounts.
const NETWORK: Rate = Rate { at_once: 40, then_each: Duration::from_secs(5) };
/// Guesses at one account, from any network.
const ACCOUNT: Rate = Rate { at_once: 40, then_each: Duration::from_secs(60) };
/// Guesses at one account in a browser in which its member has signed in before.
const KNOWN: Rate = Rate { at_once: 8, then_each: Duration::from_secs(120) };

/// Locks of one member: more than a person can use, and then one every other second.
const LOCKS: Rate = Rate { at_once: 60, then_each: Duration::from_secs(2) };
/// The limit per day, because each lock is a row of history that is kept for a year.
const LOCKS_A_DAY: Rate = Rate { at_once: 1_000, then_each: Duration::from_secs(86) };

/// The limits of this process.
#[derive(Debug)]
pub(crate) struct Gate {
    pair: Limiter,
    network: Limiter,
    account: Limiter,
    known: Limiter,
    locks: Limiter,
    locks_a_day: Limiter,
    /// Checks and computes password hashes.
    pub(crate) hashing: Hashing,
    /// The last use of each session.
    pub(crate) presence: Presence,
    /// The leases of each session.
    pub(crate) open_forms: OpenForms,
    /// Who looks at which order.
    pub(crate) viewers: Viewers,
}

/// A sign-in attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guess<'a> {
    /// The typed name.
    pub(crate) account: &'a str,
    /// The client's address.
    pub(crate) address: Option<IpAddr>,
    /// The browser, if this member has signed in there before.
    pub(crate) known: Option<&'a str>,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate {
            pair: Limiter::new(PAIR),
            network: Limiter::new(NETWORK),
            account: Limiter::new(ACCOUNT),
            known: Limiter::new(KNOWN),
            locks: Limiter::new(LOCKS),
            locks_a_day: Limiter::new(LOCKS_A_DAY),
            hashing: Hashing::new(),
            presence: Presence::default(),
            open_forms: OpenForms::default(),
            viewers: Viewers::default(),
        }
    }

    /// Admits a guess, or returns how long it has to wait. A refused guess is not counted.
    ///
    /// In a browser where the member has signed in before, only guesses from there count, so others cannot lock them out.
    pub(crate) fn admit(&self, guess: &Guess<'_>, now: Duration) -> Result<(), Duration> {
        let Guess { account, address, known } = *guess;
        if let Some(browser) = known {
            return self.known.take(&(account, browser), now);
        }
        let network = network(address);
        self.network.take(&network, now)?;
        self.pair.take(&(account, network), now).inspect_err(|_| self.network.give_back(&network))?;
        self.account.take(&account, now).inspect_err(|_| {
            self.network.give_back(&network);
            self.pair.give_back(&(account, network));
        })
    }

    /// The guess was right, or was not checked: it does not count.
    pub(crate) fn forgive(&self, guess: &Guess<'_>) {
        let Guess { account, address, known } = *guess;
        if let Some(browser) = known {
            return self.known.give_back(&(account, browser));
        }
        let network = network(address);
        self.network.give_back(&network);
        self.pair.give_back(&(account, network));
        self.account.give_back(&account);
    }

    /// Admits a lock of a member, or returns how long they have to wait.
    pub(crate) fn admit_lock(&self, member: &str, now: Duration) -> Result<(), Duration> {
        self.locks.take(&member, now)?;
        self.locks_a_day.take(&member, now).inspect_err(|_| self.locks.give_back(&member))
    }

    /// No lock was acquired: it does not count.
    pub(crate) fn forgive_lock(&self, member: &str) {
        self.locks.give_back(&member);
        self.locks_a_day.give_back(&member);
    }
}

/// The network of one subscriber: an IPv4 address, or 64 bits of IPv6.
fn network(address: Option<IpAddr>) -> Option<IpAddr> {
    match address?.to_canonical() {
        IpAddr::V4(address) => Some(address.into()),
        IpAddr::V6(address) => Some(std::net::Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn guess<'a>(account: &'a str, address: &str, known: Option<&'a str>) -> Guess<'a> {
        Guess { account, address: address.parse().ok(), known }
    }

    fn tried(gate: &Gate, guess: &Guess<'_>, times: usize) -> usize {
        (0..times).filter(|_| gate.admit(guess, NOW).is_ok()).count()
    }

    #[test]
    fn guesses_of_an_address_are_limited_per_account_and_total() {
        let gate = Gate::new();
        assert_eq!(tried(&gate, &guess("minji", "203.0.113.7", None), 150), 8);
        assert_eq!(tried(&gate, &guess("lee", "203.0.113.7", None), 150), 8);
        let names: Vec<_> = (0..60).map(|no| format!("member-{no}")).collect();
        let others = names.iter().filter(|name| tried(&gate, &guess(name, "203.0.113.7", None), 1) == 1).count();
        assert_eq!(others, 40 - 16);
        assert_eq!(gate.admit(&guess("minji", "203.0.113.7", None), NOW), Err(Duration::from_secs(5)));
    }

    #[test]
    fn guesses_at_an_account_are_limited_over_all_addresses() {
        let gate = Gate::new();
        let addresses: Vec<_> = (0..100).map(|no| format!("203.0.113.{no}")).collect();
        let through: usize = addresses.iter().map(|address| tried(&gate, &guess("minji", address, None), 4)).sum();
        assert_eq!(through, 40);
    }

    #[test]
    fn known_browser_of_a_member_is_not_locked_out() {
        let gate = Gate::new();
        for no in 0..100 {
            tried(&gate, &guess("minji", &format!("203.0.113.{no}"), None), 8);
        }
        let (here, own) = (guess("minji", "203.0.113.1", None), guess("minji", "203.0.113.1", Some("her browser")));
        assert!(gate.admit(&here, NOW).is_err() && gate.admit(&own, NOW).is_ok());
        assert_eq!(tried(&gate, &own, 150), 7);
    }

    #[test]
    fn one_address_cannot_lock_a_member_out_elsewhere() {
        let gate = Gate::new();
        let mut now = NOW;
        for _ in 0..20_000 {
            let _ = gate.admit(&guess("minji", "203.0.113.7", None), now);
            now += Duration::from_secs(7);
        }
        assert_eq!(gate.admit(&guess("minji", "198.51.100.1", None), now), Ok(()));
    }

    #[test]
    fn guesses_that_were_right_do_not_count() {
        let gate = Gate::new();
        let minji = guess("minji", "203.0.113.7", None);
        for _ in 0..1_000 {
            assert_eq!(gate.admit(&minji, NOW), Ok(()));
            gate.forgive(&minji);
        }
    }

    #[test]
    fn all_addresses_of_an_ipv6_subscriber_are_one() {
        let of = |address: &str| network(address.parse().ok());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:203.0.113.7"), of("203.0.113.7"));
    }

    #[test]
    fn a_member_takes_a_thousand_locks_a_day_and_hardly_more() {
        let gate = Gate::new();
        let (mut now, mut taken) = (NOW, 0);
        while now < NOW + Duration::from_secs(2 * 86_400) {
            taken += usize::from(gate.admit_lock("minji", now).is_ok());
            now += Duration::from_millis(500);
        }
        assert!((2_900..=3_100).contains(&taken), "{taken}");
        assert!(gate.admit_lock("lee", now).is_ok());
    }
}
