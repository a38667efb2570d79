//! Parses `#[aggregate(...)]`, and collects its mistakes.

use std::fmt::Display;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, LitStr, Meta, Token};

/// The mistakes found so far: three mistakes are reported together, not one per compilation.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a mistake at this place.
    pub(crate) fn add(&mut self, place: impl ToTokens, message: impl Display) {
        self.combine(syn::Error::new_spanned(place, message));
    }

    /// Adds the mistakes of another step.
    pub(crate) fn combine(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// All mistakes, if there are any.
    pub(crate) fn finish(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// The options in the `#[aggregate(...)]` of one struct, field or variant. Options are removed by name; the
/// remaining ones are unknown.
pub(crate) struct Options(Vec<(Ident, Option<Lit>)>);

impl Options {
    /// Parses all `#[aggregate(...)]` among the attributes; others are ignored.
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut options = Options(Vec::new());
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("aggregate")) {
            match attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) {
                Ok(metas) => metas.into_iter().for_each(|meta| options.add(meta, errors)),
                Err(error) => errors.combine(error),
            }
        }
        options
    }

    fn add(&mut self, meta: Meta, errors: &mut Errors) {
        let Some(name) = meta.path().get_ident().cloned() else {
            return errors.add(meta.path(), "expected the name of an option, such as `column`");
        };
        let value = match &meta {
            Meta::Path(_) => None,
            Meta::NameValue(pair) => match literal(&pair.value) {
                Some(value) => Some(value.clone()),
                None => return errors.add(&pair.value, format!("`{name}` takes a literal, such as `{name} = \"x\"`")),
            },
            Meta::List(_) => return errors.add(&meta, format!("`{name}` takes no list; write `{name} = \"x\"`")),
        };
        if self.has(&name.to_string()) {
            return errors.add(&name, format!("`{name}` is given twice; keep one of them"));
        }
        self.0.push((name, value));
    }

    /// Whether this option is given, in any form.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(found, _)| found == name)
    }

    fn take(&mut self, name: &str) -> Option<(Ident, Option<Lit>)> {
        let at = self.0.iter().position(|(found, _)| found == name)?;
        Some(self.0.remove(at))
    }

    /// Takes a flag: `id`. Returns its position, if it is given.
    pub(crate) fn flag(&mut self, name: &str, errors: &mut Errors) -> Option<Ident> {
        let (place, value) = self.take(name)?;
        if value.is_some() {
            errors.add(&value, format!("`{name}` takes no value; write `#[aggregate({name})]`"));
        }
        Some(place)
    }

    /// Takes a text option: `rename = "sent"`.
    pub(crate) fn text(&mut self, name: &str, errors: &mut Errors) -> Option<LitStr> {
        match self.take(name)? {
            (_, Some(Lit::Str(text))) => Some(text),
            (place, value) => {
                let message = format!("`{name}` takes a text; write `{name} = \"x\"`");
                match value {
                    Some(value) => errors.add(value, message),
                    None => errors.add(place, message),
                }
                None
            }
        }
    }

    /// Takes an option that is a flag or a part of SQL names: `audit`, `audit = "last"`.
    pub(crate) fn flag_or_identifier(&mut self, name: &str, default: &str, errors: &mut Errors) -> Option<String> {
        match self.0.iter().any(|(found, value)| found == name && value.is_none()) {
            true => self.flag(name, errors).map(|_| default.to_owned()),
            false => self.identifier(name, errors).map(|text| text.value()),
        }
    }

    /// Takes an option that becomes part of SQL: `table = "orders"`.
    pub(crate) fn identifier(&mut self, name: &str, errors: &mut Errors) -> Option<LitStr> {
        let text = self.text(name, errors)?;
        check_identifier(&text, &text.value(), errors);
        Some(text)
    }

    /// Takes the name of a table or a type, which may have that of its schema before it: `table = "sales.orders"`.
    pub(crate) fn qualified(&mut self, name: &str, errors: &mut Errors) -> Option<LitStr> {
        let text = self.text(name, errors)?;
        match text.value().split_once('.') {
            Some((schema, name)) => [schema, name].into_iter().for_each(|part| check_identifier(&text, part, errors)),
            None => check_identifier(&text, &text.value(), errors),
        }
        Some(text)
    }

    /// Takes a number option: `revisions = 50`.
    pub(crate) fn number(&mut self, name: &str, errors: &mut Errors) -> Option<u32> {
        let (place, value) = self.take(name)?;
        if let Some(Lit::Int(number)) = &value
            && let Ok(number) = number.base10_parse()
        {
            return Some(number);
        }
        let message = format!("`{name}` takes a whole number; write `{name} = 50`");
        match value {
            Some(value) => errors.add(value, message),
            None => errors.add(place, message),
        }
        None
    }

    /// Refuses the remaining options. `place` describes their location in messages: "a field of an `Aggregate`".
    pub(crate) fn finish(self, place: &str, known: &str, errors: &mut Errors) {
        for (name, _) in self.0 {
            let known = match name == "unversioned" {
                true => "it is for a column of the root that is not in its id",
                false => known,
            };
            errors.add(&name, format!("{place} has no option `{name}`; {known}"));
        }
    }
}

/// A literal may arrive in an invisible group when the struct itself comes from a `macro_rules!`.
fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(literal) => Some(&literal.lit),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

/// Refuses a name that is not a valid SQL identifier. The same rule as `Mapping::validate`, but with a source location.
pub(crate) fn check_identifier(place: impl ToTokens, name: &str, errors: &mut Errors) {
    let rule = "letters, digits and underscores, at most 63, the first not a digit";
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if name.is_empty() {
        errors.add(place, format!("a name is missing here: {rule}"));
    } else if !starts_well || name.len() > 63 || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        errors.add(place, format!("`{name}` is no name for SQL: {rule}"));
    }
}
