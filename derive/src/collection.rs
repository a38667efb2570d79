//! Child collections of an aggregate or of another child. The library maps them to rows.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, LitStr, Type};

use crate::attributes::{Errors, Options, check_identifier};
use crate::fields::{as_trait, name_of};

/// The declaration of a collection, for messages.
pub(crate) const EXAMPLE: &str = "`#[aggregate(children, table = \"…\", owner = \"…\")]`";

/// The declaration of a nested collection: its owner columns have the names of the child's, unless declared otherwise.
pub(crate) const NESTED: &str = "`#[aggregate(children, table = \"…\")]`";

/// A field that is a collection of entities with its own table.
pub(crate) struct Collection<'a> {
    field: &'a Ident,
    path: String,
    ty: &'a Type,
    table: LitStr,
    owner: Option<LitStr>,
    key: Option<LitStr>,
}

impl<'a> Collection<'a> {
    /// Parses a field that is marked `children`; `None` if too little is known to continue.
    pub(crate) fn read(
        field: &'a syn::Field,
        mut options: Options,
        required: &[(&str, &str)],
        errors: &mut Errors,
    ) -> Option<Self> {
        let ident = name_of(field);
        for (name, example) in required {
            if !options.has(name) {
                errors.add(ident, format!("`children` needs `{name}` as well, as in `{name} = \"{example}\"`"));
            }
        }
        let table = options.qualified("table", errors);
        let [owner, key] = ["owner", "key"].map(|name| {
            let names = options.text(name, errors)?;
            columns(&names).iter().for_each(|column| check_identifier(&names, column, errors));
            Some(names)
        });
        options.finish("a field with `children`", "there are `table`, `owner` and `key`", errors);
        Some(Collection { field: ident, path: ident.unraw().to_string(), ty: &field.ty, table: table?, owner, key })
    }

    /// Two collections in one table would delete each other's rows.
    pub(crate) fn refuse_shared_tables(collections: &[Self], root: Option<&str>, errors: &mut Errors) {
        for (at, collection) in collections.iter().enumerate() {
            let earlier = collections[..at].iter().map(|earlier| earlier.table.value());
            let mut taken = earlier.chain(root.map(str::to_owned));
            if taken.any(|taken| taken.eq_ignore_ascii_case(&collection.table.value())) {
                errors.add(&collection.table, "this table is taken; each collection needs a table of its own");
            }
        }
    }

    fn children(&self) -> TokenStream {
        as_trait(self.ty, &quote!(::tenure::aggregate::Children))
    }

    /// Number of its tables.
    pub(crate) fn tables(&self) -> TokenStream {
        let children = self.children();
        quote!(#children::TABLES)
    }

    /// The statement that adds its tables to `__tables`.
    pub(crate) fn add(&self) -> TokenStream {
        let (children, Collection { path, table, .. }) = (self.children(), self);
        let [owner, key] = [&self.owner, &self.key].map(|names| names.as_ref().map(columns).unwrap_or_default());
        quote! {
            let __declared = ::tenure::aggregate::children::ChildTable {
                path: #path,
                name: #table,
                owner: &[#(#owner),*],
                key: &[#(#key),*],
            };
            #children::add_tables(__tables, __declared)?;
        }
    }

    /// Its description as a constant, for the check of the aggregate that it will be in.
    pub(crate) fn nested(&self) -> TokenStream {
        let (children, key) = (self.children(), self.own_key());
        let named = self.owner.as_ref().map_or(0, |owner| columns(owner).len());
        quote! {
            ::tenure::aggregate::children::Nested {
                named: #named,
                key: #key,
                nested: #children::NESTED,
            }
        }
    }

    /// Number of columns of the key of its children within their parent.
    fn own_key(&self) -> TokenStream {
        let children = self.children();
        quote!(#children::OWN_KEY)
    }

    /// The item that refuses nested collections whose owner has a wrong number of columns: only here the id is known.
    pub(crate) fn nested_check(&self, root: &Ident) -> TokenStream {
        let (children, key) = (self.children(), self.own_key());
        let span = self.ty.span().resolved_at(Span::call_site());
        let check =
            quote_spanned!(span=> ::tenure::aggregate::children::check_nested(__ID, __KEY, __KEY, false, __NESTED));
        quote! {
            const _: () = {
                const __ID: ::core::primitive::usize = <<#root as ::tenure::Aggregate>::Id as ::tenure::ValueObject>::WIDTH;
                const __KEY: ::core::primitive::usize = #key;
                const __NESTED: &[::tenure::aggregate::children::Nested] = #children::NESTED;
                #check
            };
        }
    }

    /// The item that refuses an unnecessary key, and a wrong number of key columns: the compiler knows how many
    /// the collection provides.
    pub(crate) fn key_check(&self) -> TokenStream {
        let (children, given) = (self.children(), self.key.as_ref().map_or(0, |key| columns(key).len()));
        let span = self.key.as_ref().map_or_else(|| self.ty.span(), LitStr::span).resolved_at(Span::call_site());
        let check = quote_spanned!(span=> ::tenure::aggregate::children::check(__MISTAKE, __WIDTH, #given));
        quote! {
            const _: () = {
                const __MISTAKE: ::core::option::Option<&'static ::core::primitive::str> = #children::MISTAKE;
                const __WIDTH: ::core::primitive::usize = #children::KEY;
                #check
            };
        }
    }

    /// The item that refuses a wrong number of owner columns: the compiler knows how many columns the root's id has.
    pub(crate) fn owner_check(&self, root: &Ident) -> TokenStream {
        let Some(owner) = &self.owner else { return TokenStream::new() };
        let (given, span) = (columns(owner).len(), owner.span().resolved_at(Span::call_site()));
        quote_spanned! {span=>
            const _: () = ::core::assert!(
                <<#root as ::tenure::Aggregate>::Id as ::tenure::ValueObject>::WIDTH == #given,
                "`owner` needs one column per column of the id, separated by commas",
            );
        }
    }

    /// The statement that writes it to `__children`.
    pub(crate) fn write(&self) -> TokenStream {
        let (children, field) = (self.children(), self.field);
        quote!(#children::write_rows(&self.#field, __children);)
    }

    /// The part of the struct expression that reads it from `__children`.
    pub(crate) fn value(&self) -> TokenStream {
        let (children, field) = (self.children(), self.field);
        quote!(#field: #children::read_rows(__children)?)
    }
}

/// `"a, b"`: the columns `a` and `b`.
fn columns(names: &LitStr) -> Vec<String> {
    names.value().split(',').map(|column| column.trim().to_owned()).collect()
}
