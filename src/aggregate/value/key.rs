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
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn positive_and_negative_zero_are_one_key() {
        let (zero, negative) = ([Value::Real(0.0)], [Value::Real(-0.0)]);
        assert_eq!(HashSet::from([Key(&zero), Key(&negative)]).len(), 1);
    }

    #[test]
    fn different_keys_have_different_hashes() {
        let hash = |value: Value| BuildHasherDefault::<DefaultHasher>::default().hash_one(Key(&[value]));
        let pairs = [
            [Value::Bool(true), Value::Bool(false)],
            [Value::Integer(1), Value::Integer(2)],
            [Value::Timestamp(1), Value::Timestamp(2)],
            [Value::Real(0.5), Value::Real(1.5)],
            [Value::Text("a".into()), Value::Text("b".into())],
            [Value::Date("2026-11-20".into()), Value::Date("2026-11-21".into())],
            [Value::Bytes(vec![1]), Value::Bytes(vec![2])],
            [Value::Uuid([1; 16]), Value::Uuid([2; 16])],
        ];
        for [one, other] in pairs {
            assert_ne!(hash(one.clone()), hash(other), "{one:?}");
        }
    }
}
