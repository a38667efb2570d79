//! Fields that are stored in columns, and the code that writes and reads them.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, GenericArgument, Ident, Member, PathArguments, Type};

use crate::attributes::{Errors, Options, check_identifier};

/// A field whose type is a `ValueObject`.
pub(crate) struct Field<'a> {
    /// Its name in the struct.
    pub(crate) member: Member,
    /// Its type, as written.
    pub(crate) ty: &'a Type,
    /// Its column, or the prefix of its columns.
    pub(crate) column: String,
    /// Its path in messages.
    pub(crate) path: String,
    /// Whether its columns do not count for the version.
    pub(crate) unversioned: bool,
}

impl<'a> Field<'a> {
    /// Takes `column` from the options. `for_lists` is the advice if the type is a collection.
    pub(crate) fn read(field: &'a syn::Field, options: &mut Options, for_lists: &str, errors: &mut Errors) -> Self {
        let ident = name_of(field);
        let path = ident.unraw().to_string();
        // "" requests no prefix: a composite id then has the columns of its own fields.
        let column = match options.text("column", errors) {
            Some(text) => {
                let column = text.value();
                if !column.is_empty() {
                    check_identifier(&text, &column, errors);
                }
                column
            }
            None => {
                check_identifier(ident, &path, errors);
                path.clone()
            }
        };
        // Only tenure can implement `ValueObject` for a `Vec`, so the compiler's advice would not help.
        let is_map = argument_of(&field.ty, "BTreeMap").is_some();
        if is_map || argument_of(&field.ty, "Vec").is_some_and(|item| !is_byte(item)) {
            errors.add(&field.ty, format!("a collection does not fit into columns; {for_lists}"));
        }
        Field { member: Member::Named(ident.clone()), ty: &field.ty, column, path, unversioned: false }
    }

    /// Its type as a `ValueObject`, with the span of the type, so that a missing impl is reported there.
    pub(crate) fn value_object(&self) -> TokenStream {
        as_trait(self.ty, &quote!(::tenure::ValueObject))
    }

    /// Number of its columns.
    pub(crate) fn width(&self) -> TokenStream {
        let value = self.value_object();
        quote!(#value::WIDTH)
    }

    /// The statement that adds its columns to `__columns` under its own name.
    pub(crate) fn columns(&self) -> TokenStream {
        let (value, Field { column, path, .. }) = (self.value_object(), self);
        let columns = quote!(#value::columns(#column, #path, __columns););
        match self.unversioned {
            false => columns,
            true => quote! {
                let __from = __columns.len();
                #columns
                __columns[__from..].iter_mut().for_each(|__column| __column.unversioned = true);
            },
        }
    }

    /// The statement that adds its values to a `&mut Row`.
    pub(crate) fn write(&self, row: &TokenStream) -> TokenStream {
        let (value, member) = (self.value_object(), &self.member);
        quote!(#value::write(&self.#member, #row);)
    }

    /// The part of the struct expression that reads it from a `&mut RowReader`.
    pub(crate) fn value(&self, row: &TokenStream) -> TokenStream {
        let (value, member) = (self.value_object(), &self.member);
        quote!(#member: #value::read(#row)?)
    }
}

/// A field that is not stored: it has its default when the value is loaded.
pub(crate) struct Skipped<'a>(&'a Ident);

impl<'a> Skipped<'a> {
    /// Refuses the other options: a field that is not stored has no column and no table.
    pub(crate) fn read(field: &'a syn::Field, options: Options, errors: &mut Errors) -> Self {
        options.finish("a field with `skip`", "it is not stored, and takes no other option", errors);
        Skipped(name_of(field))
    }
}

/// The part of the struct expression.
impl ToTokens for Skipped<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let ident = self.0;
        tokens.extend(quote!(#ident: ::core::default::Default::default()));
    }
}

/// `<Type as Trait>`, reported at the type, but with the hygiene and the lint exemptions of generated code.
pub(crate) fn as_trait(ty: &Type, of: &TokenStream) -> TokenStream {
    let span = ty.span().resolved_at(Span::call_site());
    quote_spanned!(span=> <#ty as #of>)
}

/// Number of columns of these fields together.
pub(crate) fn width(fields: &[Field<'_>]) -> TokenStream {
    let widths = fields.iter().map(Field::width);
    if fields.is_empty() { quote!(0) } else { quote!(#(#widths)+*) }
}

/// The fields of a struct with named fields; anything else is refused.
pub(crate) fn named<'a>(input: &'a DeriveInput, derive: &str) -> syn::Result<impl Iterator<Item = &'a syn::Field>> {
    refuse_generics(input, derive)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter()),
            Fields::Unnamed(_) | Fields::Unit => Err(syn::Error::new_spanned(
                &input.ident,
                format!("`{derive}` needs a struct with named fields: columns are named for them"),
            )),
        },
        Data::Enum(_) | Data::Union(_) => {
            Err(syn::Error::new_spanned(&input.ident, format!("`{derive}` can be derived for structs only")))
        }
    }
}

/// Parameters would need bounds, and a mapping per argument; neither has been requested yet.
pub(crate) fn refuse_generics(input: &DeriveInput, derive: &str) -> syn::Result<()> {
    match (input.generics.params.is_empty(), &input.generics.where_clause) {
        (true, None) => Ok(()),
        (false, _) => Err(generics_error(&input.generics, derive)),
        (true, Some(clause)) => Err(generics_error(clause, derive)),
    }
}

fn generics_error(place: impl ToTokens, derive: &str) -> syn::Error {
    let message = format!(
        "`{derive}` cannot be derived for a type with parameters; write the types out, or implement it by hand"
    );
    syn::Error::new_spanned(place, message)
}

/// The name of a named field. (`syn` keeps one type for named and unnamed fields.)
pub(crate) fn name_of(field: &syn::Field) -> &Ident {
    field.ident.as_ref().expect("the fields come from a struct with named fields")
}

/// The `T` of a `Vec<T>`, however the path to `Vec` is written.
pub(crate) fn argument_of<'a>(ty: &'a Type, container: &str) -> Option<&'a Type> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == container)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn is_byte(ty: &Type) -> bool {
    matches!(ungrouped(ty), Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "u8"))
}

/// A type may arrive in an invisible group when the struct itself comes from a `macro_rules!`.
fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        other => other,
    }
}
