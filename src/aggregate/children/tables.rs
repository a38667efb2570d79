//! Turns declarations of collections into the tables of a mapping.

use super::Children;
use crate::aggregate::Entity;
use crate::aggregate::mapping::{Column, Mapping, MappingError, Table};

/// The declaration of a collection in `#[aggregate(children, …)]`.
#[derive(Debug, Clone, Copy)]
pub struct ChildTable<'a> {
    /// The field's name, for messages.
    pub path: &'a str,
    /// The table.
    pub name: &'a str,
    /// The columns that refer to the parent: one per column of the root's id, then, for a nested child, one per column of
    /// the parent's key; or, for a nested child, those of the key of its parent's entity alone. Empty: the same as in the parent's
    /// table, which a nested child may use.
    pub owner: &'a [&'a str],
    /// The columns of the key that the collection provides, see [`Children::KEY`].
    pub key: &'a [&'a str],
}

/// The child tables of a mapping under construction.
#[derive(Debug)]
pub struct Tables<'a> {
    root: &'a Table,
    children: &'a mut Vec<Table>,
    /// The table whose nested collections are added now; `None` for the root's.
    parent: Option<usize>,
}

impl Tables<'_> {
    pub(super) fn add<C: Children>(&mut self, declared: ChildTable<'_>) -> Result<(), MappingError> {
        let refused = |what: String| Err(MappingError::new(declared.name, "", what));
        if let Some(mistake) = C::MISTAKE {
            return refused(mistake.into());
        }
        let given = declared.key.len();
        if given != C::KEY {
            return refused(format!("`key` takes {} columns, those of the collection's key; it names {given}", C::KEY));
        }
        let parent = self.parent.map(|parent| &self.children[parent]);
        let inherited = parent.map_or(&[][..], |parent| &parent.columns[..parent.key]);
        let above = parent.map_or(&[][..], |parent| &parent.owner);
        // The parent's key without that of its own parent.
        let upper = self.parent.map_or(0, |parent| match self.children[parent].parent {
            Some(upper) => self.children[upper].key,
            None => 0,
        });
        let alone = parent.is_some_and(|parent| parent.parent.is_some() && parent.owner.is_empty());
        let named = if alone { &inherited[upper..] } else { inherited };
        let above: Vec<_> = above.iter().chain(named.iter().map(|column| &column.name)).map(String::as_str).collect();
        let names = match declared.owner {
            [] if parent.is_some() => &above[..],
            names => names,
        };
        let width = self.root.key;
        let only_parent = parent.is_some() && !names.is_empty() && names.len() == inherited.len() - upper;
        if !only_parent && names.len() != width + inherited.len() {
            let of_key =
                parent.map(|parent| format!(", then those of the key of `{}`", parent.name)).unwrap_or_default();
            return refused(format!(
                "`owner` takes {} columns, those of the id of `{}`{of_key}{}; it names {}",
                width + inherited.len(),
                self.root.name,
                parent.map_or("", |_| "; or only those of the parent's own key"),
                names.len()
            ));
        }
        let (owner, keys) = if only_parent { (&[][..], names) } else { names.split_at(width) };
        let above = inherited.len() - keys.len();
        let named = |(column, name): (&Column, &&str)| Column { name: (*name).into(), ..column.clone() };
        let mut columns = inherited[..above].to_vec();
        columns.extend(inherited[above..].iter().zip(keys).map(named));
        let (owner, first) = (owner.iter().map(|&name| name.to_owned()).collect(), columns.len());
        C::key_columns(&mut columns);
        columns[first..].iter_mut().zip(declared.key).for_each(|(column, name)| column.name = (*name).into());
        C::Entity::columns(&mut columns);
        let key = first + C::KEY + C::Entity::KEY;
        let (name, path) = (declared.name.to_owned(), declared.path.to_owned());
        self.children.push(Table { name, path, owner, parent: self.parent, columns, key });
        let parent = Some(self.children.len() - 1);
        C::Entity::tables(&mut Tables { root: self.root, children: self.children, parent })
    }
}

impl Mapping {
    /// Adds the tables of the collections of an aggregate, in the order in which
    /// [`Rows::write`](crate::aggregate::mapping::Rows::write) and [`Rows::read`](crate::aggregate::mapping::Rows::read)
    /// use them, and [`validate`](Self::validate)s the whole.
    ///
    /// # Errors
    /// [`MappingError`] naming the table and the column.
    pub fn with_children(
        mut self,
        add: impl FnOnce(&mut Tables<'_>) -> Result<(), MappingError>,
    ) -> Result<Self, MappingError> {
        add(&mut Tables { root: &self.root, children: &mut self.children, parent: None })?;
        self.validate()?;
        Ok(self)
    }
}
