//! `#[derive(Entity)]`: a child, its key first, and its collections.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::attributes::{Errors, Options};
use crate::collection::{Collection, NESTED};
use crate::fields::{Field, Skipped, argument_of, named, width};

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let (mut fields, mut others, mut children) = (Vec::new(), Vec::new(), Vec::new());
    let mut skipped = Vec::new();
    for field in named(input, "Entity")? {
        let mut options = Options::read(&field.attrs, &mut errors);
        if options.flag("skip", &mut errors).is_some() {
            skipped.push(Skipped::read(field, options, &mut errors));
            continue;
        }
        if options.flag("children", &mut errors).is_some() {
            children.extend(Collection::read(field, options, &[("table", "order_line_part")], &mut errors));
            continue;
        }
        let is_key = options.flag("key", &mut errors).is_some();
        if is_key && argument_of(&field.ty, "Option").is_some() {
            errors.add(
                &field.ty,
                "a key is never null: two keys that are null are not the same key; remove the `Option`",
            );
        }
        let column = Field::read(field, &mut options, &format!("write {NESTED} above it"), &mut errors);
        let known = format!("there are `key`, `column`, `skip` and, for a collection, {NESTED}");
        options.finish("a field of an `Entity`", &known, &mut errors);
        match is_key {
            true => fields.push(column),
            false => others.push(column),
        }
    }
    Collection::refuse_shared_tables(&children, None, &mut errors);
    Options::read(&input.attrs, &mut errors).finish(
        "an `Entity`",
        "its table is named by the collection in its parent",
        &mut errors,
    );
    errors.finish()?;
    let key = width(&fields);
    fields.append(&mut others);
    Ok(implementation(input, &key, &fields, &children, &skipped))
}

fn implementation(
    input: &DeriveInput,
    key: &TokenStream,
    fields: &[Field<'_>],
    children: &[Collection<'_>],
    skipped: &[Skipped<'_>],
) -> TokenStream {
    let ident = &input.ident;
    let columns = fields.iter().map(Field::columns);
    let writes = fields.iter().map(|field| field.write(&quote!(__row)));
    let values = fields.iter().map(|field| field.value(&quote!(__row)));
    let child_values = children.iter().map(Collection::value);
    let nested = nested(children);
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::tenure::Entity for #ident {
            const KEY: ::core::primitive::usize = #key;

            fn columns(__columns: &mut ::std::vec::Vec<::tenure::aggregate::mapping::Column>) {
                #(#columns)*
            }

            fn write(&self, __row: &mut ::std::vec::Vec<::tenure::aggregate::value::Value>) {
                #(#writes)*
            }

            fn read(
                __row: &mut ::tenure::aggregate::value::RowReader<'_>,
                __children: &mut ::tenure::aggregate::children::ChildReader<'_, '_>,
            ) -> ::core::result::Result<Self, ::tenure::aggregate::mapping::MappingError> {
                ::core::result::Result::Ok(Self { #(#values,)* #(#child_values,)* #(#skipped,)* })
            }

            #nested
        }
    }
}

/// The functions that only a child with collections of its own needs.
fn nested(children: &[Collection<'_>]) -> TokenStream {
    if children.is_empty() {
        return TokenStream::new();
    }
    let tables = children.iter().map(Collection::tables);
    let checks = children.iter().map(Collection::key_check);
    let adds = children.iter().map(Collection::add);
    let writes = children.iter().map(Collection::write);
    let nested = children.iter().map(Collection::nested);
    quote! {
        const NESTED: &'static [::tenure::aggregate::children::Nested] = &[#(#nested),*];

        const TABLES: ::core::primitive::usize = #(#tables)+*;

        fn tables(
            __tables: &mut ::tenure::aggregate::children::Tables<'_>,
        ) -> ::core::result::Result<(), ::tenure::aggregate::mapping::MappingError> {
            #(#checks)*
            #(#adds)*
            ::core::result::Result::Ok(())
        }

        fn write_children(&self, __children: &mut ::tenure::aggregate::children::ChildWriter<'_>) {
            #(#writes)*
        }
    }
}
