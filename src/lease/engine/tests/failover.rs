//! The pause of grants after a failover.

use super::*;

#[test]
fn nothing_is_granted_for_the_longest_time_to_live() {
    let (none, hour) = (Declared::default(), Duration::from_secs(3600));
    let longest_ttl = Some(Duration::from_secs(3));
    let before = |declared: Declared, stored| declared.no_grants_before(7, 1_000, stored);
    assert_eq!(before(none, Duration::ZERO), 301_000, "the time to live of the default policy");
    assert_eq!(before(none, hour), 3_601_000);
    assert_eq!(before(Declared { longest_ttl, ..none }, hour), 4_000);
    assert_eq!(before(Declared { lossless: true, longest_ttl }, hour), 7, "an earlier pause goes on");
    assert_eq!(none.no_grants_before(400_000, 1_000, Duration::ZERO), 400_000, "an earlier pause is not cut short");
}
