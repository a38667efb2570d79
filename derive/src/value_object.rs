//! `#[derive(ValueObject)]`: a newtype, a struct of several columns, or an enum as text.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DataEnum, DeriveInput, Fields, FieldsNamed, FieldsUnnamed, Member};

use crate::attributes::{Errors, Options};
use crate::fields::{Field, refuse_generics, width};

const LISTS: &str = "keep it as a collection of the aggregate, or as one text or `Vec<u8>`";
const SHAPES: &str = "`ValueObject` can be derived for a newtype, a struct with named fields, and an enum without data";

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    refuse_generics(input, "ValueObject")?;
    let mut errors = Errors::default();
    Options::read(&input.attrs, &mut errors).finish(
        "a `ValueObject`",
        "`column` belongs to its fields, `rename` to its variants",
        &mut errors,
    );
    let body = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => newtype(fields, &mut errors),
            Fields::Named(fields) if !fields.named.is_empty() => embedded(fields, &mut errors),
            Fields::Unnamed(_) | Fields::Named(_) | Fields::Unit => refused(input, &mut errors),
        },
        Data::Enum(data) if !data.variants.is_empty() => unit_variants(input, data, &mut errors),
        Data::Enum(_) | Data::Union(_) => refused(input, &mut errors),
    };
    errors.finish()?;
    let ident = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::tenure::ValueObject for #ident {
            #body
        }
    })
}

fn refused(input: &DeriveInput, errors: &mut Errors) -> TokenStream {
    errors.add(&input.ident, SHAPES);
    TokenStream::new()
}

/// A newtype uses the name of the column unchanged: `order_no`, not `order_no_0`.
fn newtype(fields: &FieldsUnnamed, errors: &mut Errors) -> TokenStream {
    let inner = &fields.unnamed[0];
    Options::read(&inner.attrs, errors).finish(
        "the field of a newtype",
        "it takes its column from where the newtype is used",
        errors,
    );
    let field = Field { member: Member::from(0), ty: &inner.ty, column: String::new(), path: String::new() };
    let value = field.value_object();
    implementation(&[field], &quote!(#value::columns(__column, __path, __columns);))
}

fn embedded(fields: &FieldsNamed, errors: &mut Errors) -> TokenStream {
    let mut read = Vec::new();
    for field in &fields.named {
        let mut options = Options::read(&field.attrs, errors);
        read.push(Field::read(field, &mut options, LISTS, errors));
        options.finish("a field of a `ValueObject`", "there is `column`", errors);
    }
    let columns = read.iter().map(|field| {
        let (value, Field { column, path, .. }) = (field.value_object(), field);
        let column = match column.as_str() {
            "" => quote!(__column),
            column => quote!(&__inside(__column, '_', #column)),
        };
        quote!(#value::columns(#column, &__inside(__path, '.', #path), __columns);)
    });
    let columns = quote! {
        let __inside = |__outer: &::core::primitive::str, __between: ::core::primitive::char, __name: &::core::primitive::str| {
            match __outer {
                "" => ::std::borrow::ToOwned::to_owned(__name),
                _ => ::std::format!("{}{}{}", __outer, __between, __name),
            }
        };
        #(#columns)*
    };
    implementation(&read, &columns)
}

fn implementation(fields: &[Field<'_>], columns: &TokenStream) -> TokenStream {
    let width = width(fields);
    let writes = fields.iter().map(|field| field.write(&quote!(__row)));
    let nulls = fields.iter().map(Field::value_object);
    let values = fields.iter().map(|field| field.value(&quote!(__row)));
    functions(
        &width,
        columns,
        &quote!(#(#writes)*),
        &quote!(#(#nulls::write_null(__row);)*),
        &quote!(::core::result::Result::Ok(Self { #(#values),* })),
    )
}

/// The frame of the trait, filled with the bodies of its functions.
fn functions(
    width: &TokenStream,
    columns: &TokenStream,
    write: &TokenStream,
    write_null: &TokenStream,
    read: &TokenStream,
) -> TokenStream {
    quote! {
        const WIDTH: ::core::primitive::usize = #width;

        fn columns(
            __column: &::core::primitive::str,
            __path: &::core::primitive::str,
            __columns: &mut ::std::vec::Vec<::tenure::aggregate::mapping::Column>,
        ) {
            #columns
        }

        fn write(&self, __row: &mut ::std::vec::Vec<::tenure::aggregate::value::Value>) {
            #write
        }

        fn write_null(__row: &mut ::std::vec::Vec<::tenure::aggregate::value::Value>) {
            #write_null
        }

        fn read(
            __row: &mut ::tenure::aggregate::value::RowReader<'_>,
        ) -> ::core::result::Result<Self, ::tenure::aggregate::mapping::MappingError> {
            #read
        }
    }
}

fn unit_variants(input: &DeriveInput, data: &DataEnum, errors: &mut Errors) -> TokenStream {
    let mut texts = Vec::<String>::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            errors.add(variant, "a variant with data does not fit into a column of text; derive serde's `Serialize` and `Deserialize` for \
                              the enum instead, and make the field a `tenure::aggregate::value::Json` of it");
        }
        let mut options = Options::read(&variant.attrs, errors);
        let text =
            options.text("rename", errors).map_or_else(|| variant.ident.unraw().to_string(), |text| text.value());
        options.finish("a variant", "there is `rename`", errors);
        if texts.contains(&text) {
            errors.add(&variant.ident, format!("another variant is stored as `{text}` already; rename one of them"));
        }
        texts.push(text);
    }
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let (name, known) = (input.ident.unraw().to_string(), texts.join(", "));
    let string = quote!(<::std::string::String as ::tenure::ValueObject>);
    functions(
        &quote!(1),
        &quote!(#string::columns(__column, __path, __columns);),
        &quote! {
            let __text = match self { #(Self::#variants => #texts),* };
            __row.push(::tenure::aggregate::value::Value::Text(::std::borrow::ToOwned::to_owned(__text)));
        },
        &quote!(#string::write_null(__row);),
        // An error names the next column, which is this one only until the text is taken.
        &quote! {
            let __here = ::core::clone::Clone::clone(&*__row);
            let __text = #string::read(__row)?;
            match __text.as_str() {
                #(#texts => ::core::result::Result::Ok(Self::#variants),)*
                _ => ::core::result::Result::Err(
                    __here.error(::std::format!("`{}` is no {}; known are {}", __text, #name, #known)),
                ),
            }
        },
    )
}
