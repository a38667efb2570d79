//! Visibility of people to each other. No I/O here.

use crate::lease::policy::ShowOwner;
use crate::lease::{Holder, LeaseLossReason, NoLock, Owner};

impl Owner {
    /// Whether the identity is redacted: then the id is empty, and the name is a role or "somebody".
    pub fn is_hidden(&self) -> bool {
        self.id.is_empty()
    }

    /// As others see them.
    pub(crate) fn shown(self, how: ShowOwner) -> Self {
        match (how, self.role) {
            (ShowOwner::ByName, role) => Owner { role, ..self },
            (ShowOwner::ByRole, Some(role)) => Owner { id: String::new(), name: role.clone(), role: Some(role) },
            (ShowOwner::ByRole | ShowOwner::Anonymous, _) => {
                Owner { id: String::new(), name: "somebody".into(), role: None }
            }
        }
    }
}

impl Holder {
    /// As the owner with this id sees them; `None` is an unknown viewer.
    pub(crate) fn seen_by(self, viewer: Option<&str>) -> Self {
        match viewer == Some(&*self.owner.id) {
            true => self,
            false => Holder { owner: self.owner.shown(self.shown), ..self },
        }
    }
}

impl NoLock {
    /// As [`Holder::seen_by`]. (The names in the reason were redacted when it was read.) A presented lock id of another owner reveals
    /// nothing about its lease.
    pub(crate) fn seen_by(self, viewer: Option<&str>) -> Self {
        if self.why == LeaseLossReason::NotYours {
            return NoLock { key: None, why: LeaseLossReason::NotYours, held_now: None };
        }
        NoLock { held_now: self.held_now.map(|holder| holder.seen_by(viewer)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_id_nor_name_of_a_hidden_owner_remains() {
        let kim = Owner::new("kim", "Kim Minji").in_role("Warehouse");
        assert_eq!(kim.clone().shown(ShowOwner::ByName), kim);
        let role = kim.clone().shown(ShowOwner::ByRole);
        assert_eq!((role.is_hidden(), &*role.name), (true, "Warehouse"));
        for nobody in [kim.shown(ShowOwner::Anonymous), Owner::new("lee", "Lee").shown(ShowOwner::ByRole)] {
            assert_eq!((nobody.is_hidden(), &*nobody.name, nobody.role), (true, "somebody", None));
        }
    }
}
