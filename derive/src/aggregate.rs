//! `#[derive(Aggregate)]`: its attributes, and the generated trait implementation.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DeriveInput, Ident, LitStr};

use crate::attributes::{Errors, Options};
use crate::collection::{Collection, EXAMPLE};
use crate::fields::{Field, Skipped, named};

/// The attributes of an aggregate.
struct Root<'a> {
    ident: &'a Ident,
    name: String,
    table: String,
    version: String,
    revisions: u32,
    /// Whether the database generates the id.
    generated: bool,
    /// The audit columns, if there are any: author, the author's name, time, command.
    audit: Option<[Option<String>; 4]>,
    /// The id first, then the others in declaration order: the order of the columns.
    fields: Vec<Field<'a>>,
    children: Vec<Collection<'a>>,
    skipped: Vec<Skipped<'a>>,
}

pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = named(input, "Aggregate")?;
    let mut errors = Errors::default();
    let mut root = Root::read(input, &mut errors);
    root.read_fields(fields, &mut errors);
    errors.finish()?;
    Ok(root.implementation())
}

impl<'a> Root<'a> {
    fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let mut options = Options::read(&input.attrs, errors);
        if !options.has("table") {
            errors.add(&input.ident, "which table? Write `#[aggregate(table = \"…\")]` above the struct");
        }
        let text = |name: Option<LitStr>, default: &str| name.map_or_else(|| default.to_owned(), |name| name.value());
        let root = Root {
            ident: &input.ident,
            name: text(options.text("name", errors), &input.ident.unraw().to_string()),
            table: text(options.qualified("table", errors), ""),
            version: text(options.identifier("version", errors), "version"),
            revisions: options.number("revisions", errors).unwrap_or(0),
            generated: false,
            audit: audit(&mut options, errors),
            fields: Vec::new(),
            children: Vec::new(),
            skipped: Vec::new(),
        };
        options.finish("an `Aggregate`", "there are `table`, `name`, `version`, `revisions`, `audit`, and `audit_by`, `audit_by_name`, `audit_at`, `audit_command`", errors);
        root
    }

    fn read_fields(&mut self, fields: impl Iterator<Item = &'a syn::Field>, errors: &mut Errors) {
        let mut id = None;
        for field in fields {
            let mut options = Options::read(&field.attrs, errors);
            if options.flag("children", errors).is_some() {
                let required = [("table", "order_line"), ("owner", "order_no")];
                self.children.extend(Collection::read(field, options, &required, errors));
                continue;
            }
            if options.flag("skip", errors).is_some() {
                self.skipped.push(Skipped::read(field, options, errors));
                continue;
            }
            let place = options.flag("id", errors);
            let generated = options.flag("generated", errors);
            if let (Some(generated), None) = (&generated, &place) {
                errors.add(generated, "only the id is generated: write `#[aggregate(id, generated)]` above it");
            }
            self.generated |= generated.is_some();
            let unversioned = options.flag("unversioned", errors);
            if let (Some(unversioned), Some(_)) = (&unversioned, &place) {
                errors.add(unversioned, "the id never changes, so it cannot be unversioned; remove one of them");
            }
            let column = Field::read(field, &mut options, &format!("write {EXAMPLE} above it"), errors);
            let column = Field { unversioned: unversioned.is_some(), ..column };
            self.refuse_version(&column, errors);
            let known = match options.has("table") || options.has("owner") {
                true => format!("for a collection write {EXAMPLE}"),
                false => format!(
                    "there are `id`, `generated`, `column`, `unversioned`, `skip` and, for a collection, {EXAMPLE}"
                ),
            };
            options.finish("a field of an `Aggregate`", &known, errors);
            match place {
                None => self.fields.push(column),
                Some(_) if id.is_none() => id = Some(column),
                Some(second) => errors.add(
                    second,
                    "an aggregate has one id; for a composite one derive `ValueObject` for a struct of its parts",
                ),
            }
        }
        match id {
            Some(id) => self.fields.insert(0, id),
            None => errors.add(self.ident, "which field is the identity? Write `#[aggregate(id)]` above it"),
        }
        Collection::refuse_shared_tables(&self.children, Some(&self.table), errors);
    }

    /// Users of mappers where the version is a field will try that first.
    fn refuse_version(&self, field: &Field<'_>, errors: &mut Errors) {
        if field.column.eq_ignore_ascii_case(&self.version) {
            let message = "this column belongs to the version, which `Loaded` carries; remove the field, or name another \
                           column: `column = \"…\"` here or `version = \"…\"` above the struct";
            errors.add(&field.member, message);
        }
    }

    fn implementation(&self) -> TokenStream {
        let (ident, id) = (self.ident, &self.fields[0]);
        let (id_type, id_member) = (id.ty, &id.member);
        let mapping = self.mapping();
        let writes = self.fields.iter().map(|field| field.write(&quote!(&mut __row)));
        let child_writes = self.children.iter().map(Collection::write);
        let values = self.fields.iter().map(|field| field.value(&quote!(__row)));
        let child_values = self.children.iter().map(Collection::value);
        let skipped = &self.skipped;
        quote! {
            #[automatically_derived]
            #[allow(deprecated)]
            impl ::tenure::Aggregate for #ident {
                type Id = #id_type;

                fn id(&self) -> &Self::Id {
                    &self.#id_member
                }

                #mapping

                fn to_rows(&self) -> ::tenure::aggregate::mapping::Rows {
                    let mut __row = ::std::vec::Vec::new();
                    #(#writes)*
                    ::tenure::aggregate::mapping::Rows::write(__row, |__children| { #(#child_writes)* })
                }

                fn from_rows(
                    __rows: &::tenure::aggregate::mapping::Rows,
                ) -> ::core::result::Result<Self, ::tenure::aggregate::mapping::MappingError> {
                    __rows.read(<Self as ::tenure::Aggregate>::mapping(), |__row, __children| {
                        ::core::result::Result::Ok(Self { #(#values,)* #(#child_values,)* #(#skipped,)* })
                    })
                }
            }
        }
    }

    /// Not a `LazyLock`: from the second call on it would report "previously been poisoned", while a `OnceLock` repeats the error; and its
    /// initializer could not use `Self`, as in a typed id `Id<Self>`.
    fn mapping(&self) -> TokenStream {
        let Root { ident, name, table, version, revisions, generated, .. } = self;
        let audit = match &self.audit {
            Some(columns) => {
                let [by, by_name, at, command] = columns.each_ref().map(|name| match name {
                    Some(name) => quote!(::core::option::Option::Some(::std::borrow::ToOwned::to_owned(#name))),
                    None => quote!(::core::option::Option::None),
                });
                quote! {
                    ::core::option::Option::Some(::tenure::aggregate::mapping::Audit {
                        by: #by,
                        by_name: #by_name,
                        at: #at,
                        command: #command,
                    })
                }
            }
            None => quote!(::core::option::Option::None),
        };
        let columns = self.fields.iter().map(Field::columns);
        let width = self.fields[0].width();
        let adds = self.children.iter().map(Collection::add);
        let key_checks = self.children.iter().map(Collection::key_check);
        let owner_checks = self.children.iter().map(|collection| collection.owner_check(ident));
        let nested_checks = self.children.iter().map(|collection| collection.nested_check(ident));
        let invalid = format!("the mapping of `{ident}` is not valid: {{}}");
        quote! {
            fn mapping() -> &'static ::tenure::aggregate::mapping::Mapping {
                #(#key_checks)*
                #(#owner_checks)*
                #(#nested_checks)*
                static MAPPING: ::std::sync::OnceLock<::tenure::aggregate::mapping::Mapping> = ::std::sync::OnceLock::new();
                ::std::sync::OnceLock::get_or_init(&MAPPING, || {
                    let mut __columns = ::std::vec::Vec::new();
                    {
                        let __columns = &mut __columns;
                        #(#columns)*
                    }
                    let __mapping = ::tenure::aggregate::mapping::Mapping {
                        name: ::std::borrow::ToOwned::to_owned(#name),
                        root: ::tenure::aggregate::mapping::Table {
                            name: ::std::borrow::ToOwned::to_owned(#table),
                            path: ::std::string::String::new(),
                            owner: ::std::vec::Vec::new(),
                            parent: ::core::option::Option::None,
                            columns: __columns,
                            key: #width,
                        },
                        version: ::std::borrow::ToOwned::to_owned(#version),
                        children: ::std::vec::Vec::new(),
                        revisions: #revisions,
                        generated: #generated,
                        audit: #audit,
                    };
                    let __mapping = __mapping.with_children(|__tables| {
                        #(#adds)*
                        ::core::result::Result::Ok(())
                    });
                    __mapping.unwrap_or_else(|__error| ::core::panic!(#invalid, __error))
                })
            }
        }
    }
}

/// Takes `audit`, `audit = "changed"`, or the columns one by one.
fn audit(options: &mut Options, errors: &mut Errors) -> Option<[Option<String>; 4]> {
    const PARTS: [&str; 4] = ["audit_by", "audit_by_name", "audit_at", "audit_command"];
    let all = options.has("audit");
    let prefix = options.flag_or_identifier("audit", "changed", errors);
    let columns = PARTS.map(|part| {
        let name = options.identifier(part, errors)?;
        if all {
            errors.add(
                &name,
                format!("`audit` names all four columns; write it, or `{part}` and the others that there are"),
            );
        }
        Some(name.value())
    });
    let prefixed = |prefix: String| ["by", "by_name", "at", "command"].map(|part| Some(format!("{prefix}_{part}")));
    prefix.map(prefixed).or_else(|| columns.iter().any(Option::is_some).then_some(columns))
}
