//! `#[derive(ValueObject)]`: a newtype, a struct of several columns, or an enum as text.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DataEnum, DeriveInput, Fields, FieldsNamed, FieldsUnnamed, Ident, LitStr, Member, Type};

use crate::attributes::{Errors, Options};
use crate::fields::{Field, Skipped, refuse_generics, width};

const LISTS: &str = "keep it as a collection of the aggregate, or as one text or `Vec<u8>`";
const SHAPES: &str = "`ValueObject` can be derived for a newtype, a struct with named fields, and an enum without data";

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    refuse_generics(input, "ValueObject")?;
    let mut errors = Errors::default();
    let mut options = Options::read(&input.attrs, &mut errors);
    let shape = Shape::read(&mut options, &mut errors);
    options.finish(
        "a `ValueObject`",
        "there are `sql_type`, `try_from` for a newtype, and `integer` for an enum; `column` belongs to its fields, `rename` to \
         its variants",
        &mut errors,
    );
    shape.refuse_misplaced(input, &mut errors);
    let body = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => newtype(input, fields, &shape, &mut errors),
            Fields::Named(fields) if !fields.named.is_empty() => embedded(fields, &mut errors),
            Fields::Unnamed(_) | Fields::Named(_) | Fields::Unit => refused(input, &mut errors),
        },
        Data::Enum(data) if !data.variants.is_empty() => unit_variants(input, data, &shape, &mut errors),
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

/// The options of the type itself.
struct Shape {
    /// The type that values are cast to on PostgreSQL.
    sql_type: Option<LitStr>,
    /// The type that is checked when a newtype is read.
    try_from: Option<LitStr>,
    /// The enum is stored as its numbers.
    integer: Option<Ident>,
}

impl Shape {
    fn read(options: &mut Options, errors: &mut Errors) -> Self {
        Shape {
            sql_type: options.qualified("sql_type", errors),
            try_from: options.text("try_from", errors),
            integer: options.flag("integer", errors),
        }
    }

    fn refuse_misplaced(&self, input: &DeriveInput, errors: &mut Errors) {
        let is_enum = matches!(input.data, Data::Enum(_));
        let is_newtype = matches!(&input.data, Data::Struct(data) if matches!(&data.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1));
        match &self.integer {
            Some(place) if !is_enum => {
                errors.add(place, "`integer` is for an enum; a newtype of `i64` is a number already")
            }
            Some(place) if self.sql_type.is_some() => {
                errors.add(place, "a number needs no cast; write `integer` or `sql_type`");
            }
            _ => {}
        }
        if let Some(place) = self.try_from.as_ref().filter(|_| !is_newtype) {
            errors.add(place, "`try_from` is for a newtype, `struct Email(String)`");
        }
        if let Some(place) = self.sql_type.as_ref().filter(|_| !is_enum && !is_newtype) {
            errors.add(place, "`sql_type` is for a value of one column: an enum or a newtype");
        }
    }

    /// The statements that add the columns, with the type that their values are cast to.
    fn cast(&self, columns: &TokenStream) -> TokenStream {
        let Some(sql_type) = &self.sql_type else { return columns.clone() };
        quote! {
            let __first = __columns.len();
            #columns
            for __cast in &mut __columns[__first..] {
                __cast.sql_type = ::core::option::Option::Some(::std::borrow::ToOwned::to_owned(#sql_type));
            }
        }
    }
}

fn refused(input: &DeriveInput, errors: &mut Errors) -> TokenStream {
    errors.add(&input.ident, SHAPES);
    TokenStream::new()
}

/// A newtype uses the name of the column unchanged: `order_no`, not `order_no_0`.
fn newtype(input: &DeriveInput, fields: &FieldsUnnamed, shape: &Shape, errors: &mut Errors) -> TokenStream {
    let inner = &fields.unnamed[0];
    Options::read(&inner.attrs, errors).finish(
        "the field of a newtype",
        "it takes its column from where the newtype is used",
        errors,
    );
    let (member, column, path) = (Member::from(0), String::new(), String::new());
    let field = Field { member, ty: &inner.ty, column, path, unversioned: false };
    let value = field.value_object();
    let columns = shape.cast(&quote!(#value::columns(__column, __path, __columns);));
    let Some(checked) = &shape.try_from else { return implementation(&[field], &[], &columns) };
    let checked: Type = match checked.parse() {
        Ok(checked) => checked,
        Err(error) => {
            errors.combine(error);
            return TokenStream::new();
        }
    };
    let (width, write, ty, name) =
        (field.width(), field.write(&quote!(__row)), field.ty, input.ident.unraw().to_string());
    functions(
        &width,
        &columns,
        &write,
        &quote!(#value::write_null(__row);),
        // An error is reported for the next column, which is this one only until the value is read.
        &quote! {
            let __here = ::core::clone::Clone::clone(&*__row);
            let __stored: #checked = <#ty as ::tenure::ValueObject>::read(__row)?;
            <Self as ::core::convert::TryFrom<#checked>>::try_from(__stored).map_err(|__error| {
                __here.error(::std::format!("the stored value is no {}: {}", #name, __error))
            })
        },
    )
}

fn embedded(fields: &FieldsNamed, errors: &mut Errors) -> TokenStream {
    let (mut read, mut skipped) = (Vec::new(), Vec::new());
    for field in &fields.named {
        let mut options = Options::read(&field.attrs, errors);
        if options.flag("skip", errors).is_some() {
            skipped.push(Skipped::read(field, options, errors));
            continue;
        }
        read.push(Field::read(field, &mut options, LISTS, errors));
        options.finish("a field of a `ValueObject`", "there are `column` and `skip`", errors);
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
    implementation(&read, &skipped, &columns)
}

fn implementation(fields: &[Field<'_>], skipped: &[Skipped<'_>], columns: &TokenStream) -> TokenStream {
    let width = width(fields);
    let writes = fields.iter().map(|field| field.write(&quote!(__row)));
    let nulls = fields.iter().map(Field::value_object);
    let values = fields.iter().map(|field| field.value(&quote!(__row)));
    functions(
        &width,
        columns,
        &quote!(#(#writes)*),
        &quote!(#(#nulls::write_null(__row);)*),
        &quote!(::core::result::Result::Ok(Self { #(#values,)* #(#skipped,)* })),
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

fn unit_variants(input: &DeriveInput, data: &DataEnum, shape: &Shape, errors: &mut Errors) -> TokenStream {
    if shape.integer.is_some() {
        return numbers(input, data, errors);
    }
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
        &shape.cast(&quote!(#string::columns(__column, __path, __columns);)),
        &quote! {
            let __text = match self { #(Self::#variants => #texts),* };
            __row.push(::tenure::aggregate::value::Value::Text(::std::borrow::ToOwned::to_owned(__text)));
        },
        &quote!(#string::write_null(__row);),
        // An error is reported for the next column, which is this one only until the text is read.
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

/// An enum that is stored as the numbers of its variants. Each must state its number, because implicit numbers
/// change when a variant is inserted.
fn numbers(input: &DeriveInput, data: &DataEnum, errors: &mut Errors) -> TokenStream {
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            errors.add(
                variant,
                "a variant with data does not fit into a column of numbers; use `tenure::aggregate::value::Json`",
            );
        } else if variant.discriminant.is_none() {
            let example = format!(
                "which number is stored? Write `{} = 1`: numbers that nobody wrote change with the order",
                variant.ident
            );
            errors.add(&variant.ident, example);
        }
        Options::read(&variant.attrs, errors).finish(
            "a variant of an enum with `integer`",
            "its number is what is stored",
            errors,
        );
    }
    let ident = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let name = ident.unraw().to_string();
    let known = variants.iter().map(|variant| variant.unraw().to_string()).collect::<Vec<_>>().join(", ");
    let integer = quote!(<::core::primitive::i64 as ::tenure::ValueObject>);
    functions(
        &quote!(1),
        &quote!(#integer::columns(__column, __path, __columns);),
        &quote! {
            let __number = match self { #(Self::#variants => #ident::#variants as ::core::primitive::i64),* };
            __row.push(::tenure::aggregate::value::Value::Integer(__number));
        },
        &quote!(#integer::write_null(__row);),
        &quote! {
            let __here = ::core::clone::Clone::clone(&*__row);
            let __number = #integer::read(__row)?;
            #(if __number == #ident::#variants as ::core::primitive::i64 {
                return ::core::result::Result::Ok(Self::#variants);
            })*
            ::core::result::Result::Err(
                __here.error(::std::format!("{} is the number of no {}; known are {}", __number, #name, #known)),
            )
        },
    )
}
