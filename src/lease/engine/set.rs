//! Several leases: all of them or none.

use super::changes::Draft;
use super::{LastGeneration, Rows, take};
use crate::lease::operations::{Attempt, AttemptAll, LockRequest};

/// The leases of others that conflict with exclusive requests, by the indexes of the requests.
pub(super) fn held_by_others(rows: &Rows, requests: &[LockRequest], now: i64) -> Vec<(usize, Attempt)> {
    let exclusive = requests.iter().enumerate().filter(|(_, request)| request.is_alone());
    exclusive.filter_map(|(at, request)| Some((at, take::held_by_other(rows, request, now)?))).collect()
}

/// Acquires all of them. Otherwise returns all that others hold; or, if others hold none, all that were refused for another reason. The
/// refusals are computed on the original rows, because nothing of the set is granted.
pub(super) fn take_all(draft: &mut Draft, requests: &[LockRequest], now: i64) -> Result<AttemptAll, LastGeneration> {
    let mut refused = held_by_others(&draft.rows, requests, now);
    if !refused.is_empty() {
        return Ok(AttemptAll::Refused(refused));
    }
    let before = draft.rows.clone();
    let mut granted = Vec::with_capacity(requests.len());
    for (at, request) in requests.iter().enumerate() {
        match take::take(draft, request, now)? {
            Attempt::Granted(holder) => granted.push(holder),
            _ => refused.push((at, take::take(&mut Draft::new(&before), request, now)?)),
        }
    }
    Ok(if refused.is_empty() { AttemptAll::Granted(granted) } else { AttemptAll::Refused(refused) })
}
