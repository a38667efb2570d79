//! Random rows, including edits by hand, and random operations on them.

use std::time::Duration;

use super::random::Random;
use crate::lease::engine::{How, LeaseRow, Operation, Past, Place, Rows};
use crate::lease::operations::{LockHash, LockRequest, Proof};
use crate::lease::{LockKey, LockPolicy, Owner, ShowOwner};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Two keys of one type, and people who use them.
#[derive(Debug)]
pub(super) struct Case {
    pub keys: [LockKey; 2],
    pub owners: Vec<Owner>,
    /// Lock ids in rows and in the history, and unused ones.
    pub locks: Vec<LockHash>,
    /// The contents of the database, as the engine's rows.
    pub rows: Rows,
}

impl Case {
    /// The rows of a case. Nothing in it is in another one.
    pub(super) fn random(random: &mut Random, kind: &str, number: usize, now: i64, floor: Option<i64>) -> Self {
        let keys = ["k", "o"].map(|name| LockKey::new(kind, format!("{name}{number}")));
        // Names that a case-insensitive or padding collation treats as equal.
        let ids = ["kim", "Kim", "lee", "kim "].map(|name| match name.strip_suffix(' ') {
            Some(name) => format!("{name}{kind}-{number} "),
            None => format!("{name}{kind}-{number}"),
        });
        let owners = ids.map(|id| {
            let owner = Owner::new(id.clone(), id.to_uppercase());
            if random.percent(30) { owner.in_role("Warehouse") } else { owner }
        });
        let locks = (0..10).map(|_| random.hash()).collect();
        let mut case = Case { keys, owners: owners.to_vec(), locks, rows: Rows::default() };
        case.rows.floors.extend(floor.map(|floor| (kind.to_owned(), floor)));
        let mut free = case.locks.clone();
        case.leases(random, 0, &mut free, now);
        if random.percent(50) {
            case.leases(random, 1, &mut free, now);
        }
        if random.percent(30) {
            let past = case.past(random, free.pop().expect("ten are enough"), now);
            case.rows.past.insert(past.lock.clone(), past);
        }
        case
    }

    /// Rows of a key: of its exclusive lease, and of others beside it.
    fn leases(&mut self, random: &mut Random, key: usize, free: &mut Vec<LockHash>, now: i64) {
        let place = Place::exclusive(&self.keys[key]);
        let slots = random.one_of(&[0, 0, 0, 1, 2, 3]);
        if slots == 0 && random.percent(15) {
            return;
        }
        let lock = free.pop().expect("ten are enough");
        let first = i64::try_from(random.below(9)).expect("a small number") + 1;
        let mut exclusive = self.lease(random, place, lock, first, now);
        if slots > 0 {
            // Recorded like this in practice: the row follows the generations of the slots.
            exclusive.ended = random.percent(80);
            exclusive.generation += 3;
        }
        self.put(random, exclusive, now);
        for at in 0..slots {
            let lock = free.pop().expect("ten are enough");
            let place = Place { key: self.keys[key].clone(), slot: lock.to_vec() };
            let slot = self.lease(random, place, lock, first + at, now);
            self.put(random, slot, now);
        }
    }

    /// A lease that ended is in the history, too.
    fn put(&mut self, random: &mut Random, row: LeaseRow, now: i64) {
        if row.ended && !row.owner.id.is_empty() {
            let lock = row.lock.clone();
            let past = Past {
                key: row.place.key.clone(),
                generation: row.generation,
                owner: row.owner.clone(),
                ..self.past(random, [0; 32], now)
            };
            self.rows.past.insert(lock.clone(), Past { lock, ..past });
        }
        self.rows.leases.insert(row.place.clone(), row);
    }

    fn lease(&self, random: &mut Random, place: Place, lock: LockHash, generation: i64, now: i64) -> LeaseRow {
        let since = now - random.one_of(&[0, 0, 1, SECOND, MINUTE, HOUR]);
        let ttl = random.one_of(&[3 * SECOND, 300 * SECOND, 300 * SECOND, HOUR]);
        let mut row = LeaseRow {
            place,
            generation,
            lock: lock.to_vec(),
            owner: random.one_of(&self.owners),
            shown: random.one_of(&[ShowOwner::ByName, ShowOwner::ByRole, ShowOwner::Anonymous]),
            since,
            last_active: random.one_of(&[since, since, since + 1, now]),
            active_at: random.one_of(&[since, since, now, now - 7 * SECOND]),
            expires_at: now + random.one_of(&[ttl, ttl, ttl, ttl, 1, 2 * SECOND, 0, -1, -SECOND]),
            ttl,
            idle_limit: random.one_of(&[None, None, Some(ttl), Some(2 * ttl), Some(HOUR)]),
            hard_until: now + random.one_of(&[12 * HOUR, 12 * HOUR, 12 * HOUR, MINUTE, SECOND, 0, -HOUR]),
            ended: random.percent(20),
            unclaimed: random.one_of(&[0, 0, 1, 1, 2]),
        };
        if random.percent(12) {
            edit(random, &mut row, now);
        }
        row
    }

    fn past(&self, random: &mut Random, lock: LockHash, now: i64) -> Past {
        let how = random.one_of(&[How::Released, How::Expired, How::Broken, How::TakenOver]);
        let by = matches!(how, How::Broken | How::TakenOver) && random.percent(90);
        Past {
            lock: lock.to_vec(),
            key: self.keys[0].clone(),
            generation: 1,
            owner: random.one_of(&self.owners),
            shown: random.one_of(&[ShowOwner::ByName, ShowOwner::ByRole, ShowOwner::Anonymous]),
            since: now - HOUR,
            ended_at: now - random.one_of(&[0, 1, MINUTE]),
            how,
            by: by.then(|| random.one_of(&self.owners)),
            reason: (by && random.percent(90)).then(|| "a reason".to_owned()),
            idle: how == How::Expired && random.percent(30),
            limited: how == How::Expired && random.percent(30),
        }
    }

    /// A lock id: mostly of a row, sometimes one that ended or is new.
    fn lock(&self, random: &mut Random) -> LockHash {
        let rows: Vec<LockHash> =
            self.rows.leases.values().filter_map(|row| row.lock.clone().try_into().ok()).collect();
        match random.percent(80) && !rows.is_empty() {
            true => random.one_of(&rows),
            false => random.one_of(&self.locks),
        }
    }

    /// A lock id and its presenter: mostly its owner.
    fn proof(&self, random: &mut Random) -> Proof {
        let lock = self.lock(random);
        let owner = self.rows.leases.values().find(|row| row.lock == lock).map(|row| row.owner.id.clone());
        let owner = match random.below(10) {
            0 | 1 => None,
            2 | 3 => Some(random.one_of(&self.owners).id),
            _ => owner,
        };
        Proof { lock, owner }
    }

    fn take(&self, random: &mut Random, key: usize) -> LockRequest {
        let seconds = Duration::from_secs;
        let idle = LockPolicy::exclusive().idle_limit(seconds(600)).expect("a valid policy");
        let short = LockPolicy::exclusive().ttl(seconds(3)).expect("a valid policy").showing(ShowOwner::Anonymous);
        let tight = LockPolicy::exclusive().absolute_limit(seconds(300)).expect("a valid policy");
        let exclusive = LockPolicy::exclusive();
        let policy =
            random.one_of(&[exclusive, exclusive, idle, short, tight, LockPolicy::advisory(), LockPolicy::advisory()]);
        let Proof { lock, owner } = self.proof(random);
        let lock = if random.percent(50) { random.one_of(&self.locks) } else { lock };
        let owner = self.owners.iter().find(|known| owner.as_ref() == Some(&known.id) && random.percent(70));
        let owner = owner.cloned().unwrap_or_else(|| random.one_of(&self.owners));
        LockRequest { key: self.keys[key].clone(), lock, owner, policy }
    }

    fn generation(&self, random: &mut Random, key: &LockKey) -> i64 {
        let known: Vec<i64> =
            self.rows.leases.values().filter(|row| row.place.key == *key).map(|row| row.generation).collect();
        if random.percent(85) && !known.is_empty() { random.one_of(&known) } else { 2 }
    }

    /// An operation on this case.
    pub(super) fn operation(&self, random: &mut Random) -> Operation {
        let key = random.one_of(&self.keys);
        let by = random.one_of(&self.owners);
        let idle = Duration::from_millis(random.one_of(&[0, 0, 1, 8_000, 700_000, u64::MAX]));
        let time = Duration::from_millis(random.one_of(&[0, 1, 1_000, 60_000, 400_000, u64::MAX]));
        let generation = self.generation(random, &key);
        let which = random.below(2);
        match random.below(31) {
            0..8 => Operation::Take(self.take(random, which)),
            8..10 => Operation::Check(self.proof(random)),
            10..14 => Operation::Keep(self.proof(random), idle),
            14..17 => Operation::Extend(self.proof(random), time),
            17..19 => Operation::ExpireWithin(self.proof(random), time),
            19..21 => Operation::Release(self.proof(random)),
            21 => Operation::ReleaseHeld(self.proof(random)),
            22 => Operation::UndoGrant { lock: self.lock(random), generation },
            23 => Operation::Break { key, generation, by, reason: REASON.into() },
            24..26 => {
                let request = LockRequest { key, ..self.take(random, which) };
                Operation::TakeOver {
                    request: LockRequest { policy: LockPolicy::exclusive(), ..request },
                    generation,
                    reason: REASON.into(),
                }
            }
            26 => Operation::ReleaseAll { owner: by.id },
            27..29 => Operation::Resume { proof: self.proof(random), key },
            29 => Operation::KeyState(key),
            _ => Operation::Holders(key),
        }
    }
}

/// An edit as if by hand.
fn edit(random: &mut Random, row: &mut LeaseRow, now: i64) {
    const DISTANT: i64 = 200_000_000_000_000;
    match random.below(12) {
        0 => row.ttl = i64::MAX,
        1 => (row.ttl, row.hard_until) = (i64::MAX, i64::MAX),
        2 => (row.ttl, row.hard_until, row.expires_at) = (i64::MAX, i64::MAX, i64::MAX),
        3 => row.ttl = -1,
        4 => row.ttl = i64::MIN,
        5 => row.hard_until = random.one_of(&[i64::MIN, -1, 0]),
        6 => row.expires_at = random.one_of(&[i64::MIN, -1, DISTANT]),
        7 => row.active_at = random.one_of(&[now + HOUR, -1, 0, i64::MIN]),
        8 => (row.since, row.last_active) = random.one_of(&[(now + 1, now + 1), (i64::MIN, i64::MIN), (-1, 0)]),
        9 => row.idle_limit = random.one_of(&[Some(DISTANT), Some(0), Some(-1), Some(1)]),
        10 => (row.since, row.last_active, row.active_at) = (now, now, now),
        _ => row.last_active = i64::MAX,
    }
}

pub(super) const REASON: &str = "a reason";
