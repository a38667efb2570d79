//! The aggregates that a bulk change selects: conditions on the fields of the root. No I/O here.

use std::ops::Not;

use crate::aggregate::mapping::{Mapping, MappingError, Table};
use crate::aggregate::value::{Kind, Value, ValueObject};

/// A condition on the fields of an aggregate's root, by field path as in `shipping.zip`.
///
/// A null field fulfils no comparison, as in SQL; test for it with [`is_none`](Self::is_none).
///
/// ```
/// use tenure::aggregate::Condition;
/// let late = Condition::equal("state", "Preparing".to_owned()).and(Condition::less("priority", 3_i64));
/// let rest = !late;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(Node);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Compare { path: String, comparison: Comparison, values: Vec<Value> },
    None { path: String },
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
}

/// The comparison of a field with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less,
    AtMost,
}

impl Condition {
    /// Every aggregate of the type.
    pub fn always() -> Self {
        Condition(Node::All(Vec::new()))
    }

    /// The field has this value. A value of several columns is compared in all of them.
    pub fn equal(path: impl Into<String>, value: impl ValueObject) -> Self {
        Self::compare(path, Comparison::Equal, value)
    }

    /// The field, of one column, is less than this value, as the database orders it.
    pub fn less(path: impl Into<String>, value: impl ValueObject) -> Self {
        Self::compare(path, Comparison::Less, value)
    }

    /// The field, of one column, is at most this value, as the database orders it.
    pub fn at_most(path: impl Into<String>, value: impl ValueObject) -> Self {
        Self::compare(path, Comparison::AtMost, value)
    }

    /// The field is `None`.
    pub fn is_none(path: impl Into<String>) -> Self {
        Condition(Node::None { path: path.into() })
    }

    /// Both conditions.
    #[must_use]
    pub fn and(self, other: Condition) -> Self {
        Condition(Node::All(vec![self.0, other.0]))
    }

    /// At least one of the conditions.
    #[must_use]
    pub fn or(self, other: Condition) -> Self {
        Condition(Node::Any(vec![self.0, other.0]))
    }

    fn compare(path: impl Into<String>, comparison: Comparison, value: impl ValueObject) -> Self {
        Condition(Node::Compare { path: path.into(), comparison, values: written(&value) })
    }

    /// The condition on columns.
    pub(crate) fn resolve(&self, mapping: &Mapping) -> Result<Test, MappingError> {
        self.0.resolve(&mapping.root)
    }
}

impl Not for Condition {
    type Output = Condition;

    fn not(self) -> Condition {
        Condition(Node::Not(Box::new(self.0)))
    }
}

/// A condition on the columns of the root, by index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    Compare { column: usize, comparison: Comparison, value: Value },
    Null { column: usize },
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
}

impl Test {
    /// Whether it compares a column of this kind.
    #[cfg(feature = "sqlite")]
    pub(crate) fn compares(&self, kind: Kind) -> bool {
        match self {
            Test::Compare { value, .. } => value.kind() == kind,
            Test::Null { .. } => false,
            Test::All(tests) | Test::Any(tests) => tests.iter().any(|test| test.compares(kind)),
            Test::Not(test) => test.compares(kind),
        }
    }
}

impl Node {
    fn resolve(&self, root: &Table) -> Result<Test, MappingError> {
        Ok(match self {
            Node::Compare { path, comparison, values } => {
                let columns = columns_of(root, path, values)?;
                if *comparison != Comparison::Equal && columns.len() > 1 {
                    let what = format!("`{path}` has several columns, which have no order; compare one of its fields");
                    return Err(MappingError::new(&root.name, path, what));
                }
                if values.iter().any(|value| value.kind() == Kind::Json) {
                    let what = format!(
                        "`{path}` is JSON, which cannot be compared; store the value to compare in a field of its own"
                    );
                    return Err(MappingError::new(&root.name, path, what));
                }
                let compare = |(column, value): (usize, &Value)| Test::Compare {
                    column,
                    comparison: *comparison,
                    value: value.clone(),
                };
                Test::All(columns.into_iter().zip(values).map(compare).collect())
            }
            Node::None { path } => {
                Test::All(columns_at(root, path)?.into_iter().map(|column| Test::Null { column }).collect())
            }
            Node::All(nodes) => Test::All(nodes.iter().map(|node| node.resolve(root)).collect::<Result<_, _>>()?),
            Node::Any(nodes) => Test::Any(nodes.iter().map(|node| node.resolve(root)).collect::<Result<_, _>>()?),
            Node::Not(node) => Test::Not(Box::new(node.resolve(root)?)),
        })
    }
}

/// The values of a field.
pub(crate) fn written(value: &impl ValueObject) -> Vec<Value> {
    let mut values = Vec::new();
    value.write(&mut values);
    values
}

/// The columns of a field of the root that take these values.
pub(crate) fn columns_of(root: &Table, path: &str, values: &[Value]) -> Result<Vec<usize>, MappingError> {
    let columns = columns_at(root, path)?;
    let fits = columns.len() == values.len()
        && columns.iter().zip(values).all(|(&column, value)| root.columns[column].kind == value.kind());
    if !fits {
        let what = format!("the value given for `{path}` is not of the field's type");
        return Err(MappingError::new(&root.name, path, what));
    }
    for (column, value) in columns.iter().map(|&column| &root.columns[column]).zip(values) {
        value.check(column.kind).map_err(|what| MappingError::new(&root.name, &column.name, what))?;
    }
    Ok(columns)
}

/// The columns of a field of the root.
fn columns_at(root: &Table, path: &str) -> Result<Vec<usize>, MappingError> {
    let inside = |column: &str| column.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let columns: Vec<usize> =
        root.columns.iter().enumerate().filter(|(_, column)| inside(&column.path)).map(|(at, _)| at).collect();
    match columns.is_empty() {
        false => Ok(columns),
        true => {
            let known = root.columns.iter().map(|column| column.path.as_str()).collect::<Vec<_>>().join(", ");
            Err(MappingError::new(&root.name, path, format!("the root has no field `{path}`; it has {known}")))
        }
    }
}

#[cfg(test)]
mod tests;
