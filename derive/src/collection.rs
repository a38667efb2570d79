//! Child collections of an aggregate: a `Vec` of entities in a table of its own.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Ident, LitStr, Type};

use crate::attributes::{Errors, Options, check_identifier};
use crate::fields::{argument_of, as_trait, name_of};

/// How a collection is declared, for messages.
pub(crate) const EXAMPLE: &str = "`#[aggregate(children, table = \"…\", owner = \"…\")]`";

/// A `Vec` of entities in a table of its own.
pub(crate) struct Collection<'a> {
    field: &'a Ident,
    path: String,
    entity: &'a Type,
    /// Its table, and where it is named.
    pub(crate) table: LitStr,
    owner: LitStr,
    owner_columns: Vec<String>,
}

impl<'a> Collection<'a> {
    /// Reads a field that is marked `children`; `None` when too little is known to go on.
    pub(crate) fn read(field: &'a syn::Field, mut options: Options, errors: &mut Errors) -> Option<Self> {
        let ident = name_of(field);
        let entity = argument_of(&field.ty, "Vec");
        if entity.is_none() {
            errors.add(&field.ty, "`children` needs a `Vec<T>` where `T` derives `Entity`");
        }
        for (name, example) in [("table", "order_line"), ("owner", "order_no")] {
            if !options.has(name) {
                errors.add(ident, format!("`children` needs `{name}` as well, as in `{name} = \"{example}\"`"));
            }
        }
        let table = options.identifier("table", errors);
        let owner = options.text("owner", errors);
        options.finish("a field with `children`", "there are `table` and `owner`", errors);
        let (entity, table, owner) = (entity?, table?, owner?);
        let owner_columns: Vec<_> = owner.value().split(',').map(|column| column.trim().to_owned()).collect();
        owner_columns.iter().for_each(|column| check_identifier(&owner, column, errors));
        Some(Collection { field: ident, path: ident.unraw().to_string(), entity, table, owner, owner_columns })
    }

    fn entity(&self) -> TokenStream {
        as_trait(self.entity, &quote!(::tenure::Entity))
    }

    /// The expression for its `Table`.
    pub(crate) fn table(&self) -> TokenStream {
        let (entity, Collection { path, table, owner_columns, .. }) = (self.entity(), self);
        quote!(#entity::table(#table, ::std::vec![#(::std::borrow::ToOwned::to_owned(#owner_columns)),*], #path))
    }

    /// The item that refuses a wrong number of owner columns: the compiler knows how many columns the id has.
    pub(crate) fn owner_check(&self, root: &Ident) -> TokenStream {
        let given = self.owner_columns.len();
        let span = self.owner.span().resolved_at(Span::call_site());
        quote_spanned! {span=>
            const _: () = ::core::assert!(
                <<#root as ::tenure::Aggregate>::Id as ::tenure::ValueObject>::WIDTH == #given,
                "`owner` needs one column per column of the id, separated by commas",
            );
        }
    }

    /// The expression for its rows.
    pub(crate) fn write(&self) -> TokenStream {
        let (entity, field) = (self.entity(), self.field);
        quote! {{
            let mut __children = ::std::vec::Vec::new();
            for __child in &self.#field {
                let mut __row = ::std::vec::Vec::new();
                #entity::write(__child, &mut __row);
                __children.push(__row);
            }
            __children
        }}
    }

    /// The part of the struct expression that reads it.
    ///
    /// State that was stored before the collection was declared has no rows for it: an error, not an empty collection,
    /// because saving an empty one would delete what is there.
    pub(crate) fn value(&self, at: usize) -> TokenStream {
        let (entity, field) = (self.entity(), self.field);
        quote! {
            #field: {
                let __table = &__mapping.children[#at];
                let ::core::option::Option::Some(__rows) = __rows.children.get(#at) else {
                    return ::core::result::Result::Err(::tenure::mapping::MappingError::new(
                        &__table.name,
                        "",
                        "the stored state says nothing about this table",
                    ));
                };
                let mut __children = ::std::vec::Vec::with_capacity(__rows.len());
                for __row in __rows {
                    let mut __row = ::tenure::value::RowReader::new(&__table.name, &__table.columns, __row);
                    __children.push(#entity::read(&mut __row)?);
                }
                __children
            }
        }
    }
}
