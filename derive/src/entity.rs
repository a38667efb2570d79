//! `#[derive(Entity)]`: a child, its key first.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::attributes::{Errors, Options};
use crate::fields::{Field, argument_of, named, width};

const NESTED: &str =
    "collections inside an `Entity` are not supported yet; make it a collection of the aggregate itself";

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let (mut fields, mut others) = (Vec::new(), Vec::new());
    for field in named(input, "Entity")? {
        let mut options = Options::read(&field.attrs, &mut errors);
        if let Some(place) = options.flag("children", &mut errors) {
            errors.add(place, NESTED);
            continue;
        }
        let is_key = options.flag("key", &mut errors).is_some();
        if is_key && argument_of(&field.ty, "Option").is_some() {
            errors.add(
                &field.ty,
                "a key is never null: two keys that are null are not the same key; remove the `Option`",
            );
        }
        let column = Field::read(field, &mut options, NESTED, &mut errors);
        options.finish("a field of an `Entity`", "there are `key` and `column`", &mut errors);
        match is_key {
            true => fields.push(column),
            false => others.push(column),
        }
    }
    if fields.is_empty() {
        let message = "which fields tell one child from another? Write `#[aggregate(key)]` above them";
        errors.add(&input.ident, message);
    }
    Options::read(&input.attrs, &mut errors).finish(
        "an `Entity`",
        "its table is named by the collection in the aggregate",
        &mut errors,
    );
    errors.finish()?;
    let key = width(&fields);
    fields.append(&mut others);
    Ok(implementation(input, &key, &fields))
}

fn implementation(input: &DeriveInput, key: &TokenStream, fields: &[Field<'_>]) -> TokenStream {
    let ident = &input.ident;
    let columns = fields.iter().map(Field::columns);
    let writes = fields.iter().map(|field| field.write(&quote!(__row)));
    let values = fields.iter().map(|field| field.value(&quote!(__row)));
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::tenure::Entity for #ident {
            fn table(
                __name: &::core::primitive::str,
                __owner: ::std::vec::Vec<::std::string::String>,
                __path: &::core::primitive::str,
            ) -> ::tenure::mapping::Table {
                let mut __columns = ::std::vec::Vec::new();
                #(#columns)*
                ::tenure::mapping::Table {
                    name: ::std::borrow::ToOwned::to_owned(__name),
                    path: ::std::borrow::ToOwned::to_owned(__path),
                    owner: __owner,
                    parent: ::core::option::Option::None,
                    columns: __columns,
                    key: #key,
                }
            }

            fn write(&self, __row: &mut ::std::vec::Vec<::tenure::value::Value>) {
                #(#writes)*
            }

            fn read(
                __row: &mut ::tenure::value::RowReader<'_>,
            ) -> ::core::result::Result<Self, ::tenure::mapping::MappingError> {
                ::core::result::Result::Ok(Self { #(#values),* })
            }
        }
    }
}
