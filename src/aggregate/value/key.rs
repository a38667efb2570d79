//! Keys of rows, for lookup.

use std::hash::{Hash, Hasher};

use super::Value;

/// The values of a key. Equal keys have equal hashes, which a floating-point number alone does not guarantee.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Key<'a>(pub(crate) &'a [Value]);

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for value in self.0 {
            match value {
                Value::Bool(value) => value.hash(state),
                Value::Integer(value) | Value::Timestamp(value) => value.hash(state),
                // 0.0 equals -0.0.
                Value::Real(value) => (value + 0.0).to_bits().hash(state),
                Value::Text(text) | Value::Date(text) | Value::DateTime(text) | Value::Time(text) => text.hash(state),
                Value::Bytes(bytes) => bytes.hash(state),
                Value::Uuid(bytes) => bytes.hash(state),
                // Equal values may be spelled differently; these kinds cannot be keys.
                Value::Null(_) | Value::Decimal(_) | Value::Json(_) | Value::Invalid(..) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn positive_and_negative_zero_are_one_key() {
        let (zero, negative) = ([Value::Real(0.0)], [Value::Real(-0.0)]);
        assert_eq!(HashSet::from([Key(&zero), Key(&negative)]).len(), 1);
    }
}
