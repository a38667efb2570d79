//! The list of calls that `tests/conformance/dropped.rs` drops, compared with the source: a new public call that waits has to be added.

#[path = "../conformance/calls.rs"]
mod calls;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::visit::{Visit, visit_item_impl, visit_item_mod};
use syn::{ImplItem, ItemEnum, ItemImpl, ItemMod, ItemStruct, ReturnType, Type, Visibility};

/// The public calls of a file that wait.
#[derive(Default)]
struct Waiting {
    /// The public types.
    types: BTreeSet<String>,
    /// A type, and the name of its method; no name for a type that is a future or a stream itself.
    calls: BTreeSet<(String, Option<String>)>,
}

impl<'a> Visit<'a> for Waiting {
    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        if matches!(item.vis, Visibility::Public(_)) {
            self.types.insert(item.ident.to_string());
        }
    }

    fn visit_item_enum(&mut self, item: &'a ItemEnum) {
        if matches!(item.vis, Visibility::Public(_)) {
            self.types.insert(item.ident.to_string());
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if item.ident != "tests" {
            visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let Type::Path(of) = &*item.self_ty else { return };
        let of = of.path.segments.last().unwrap().ident.to_string();
        match &item.trait_ {
            Some((name, _)) => {
                let name = name.segments.last().unwrap().ident.to_string();
                if ["Future", "IntoFuture", "Stream"].contains(&&*name) {
                    self.calls.insert((of, None));
                }
            }
            None => {
                for method in &item.items {
                    let ImplItem::Fn(method) = method else { continue };
                    let waits = method.sig.asyncness.is_some() || returns_a_future(&method.sig.output);
                    if waits && matches!(method.vis, Visibility::Public(_)) {
                        self.calls.insert((of.clone(), Some(method.sig.ident.to_string())));
                    }
                }
            }
        }
        visit_item_impl(self, item);
    }
}

fn returns_a_future(output: &ReturnType) -> bool {
    struct Names(bool);
    impl<'a> Visit<'a> for Names {
        fn visit_path_segment(&mut self, segment: &'a syn::PathSegment) {
            self.0 |= ["Future", "IntoFuture", "Stream", "BoxFuture"].iter().any(|name| segment.ident == name);
            syn::visit::visit_path_segment(self, segment);
        }
    }
    let mut names = Names(false);
    names.visit_return_type(output);
    names.0
}

/// All calls of the library, as `Type::method`, or `Type` for a future.
fn of_the_source() -> BTreeSet<String> {
    let mut waiting = Waiting::default();
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(path) = left.pop() {
        // Its interface is private.
        if path.ends_with("src/db") || path.ends_with("src/store") {
            continue;
        }
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let file = syn::parse_file(&fs::read_to_string(&path).unwrap());
            waiting.visit_file(&file.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }
    let Waiting { types, calls } = waiting;
    let public = calls.into_iter().filter(|(of, _)| types.contains(of));
    public.map(|(of, method)| method.map_or(of.clone(), |method| format!("{of}::{method}"))).collect()
}

#[test]
fn every_public_call_that_waits_is_dropped_by_a_test() {
    let source = of_the_source();
    assert!(source.contains("Hold") && source.contains("LockManager::try_lock"), "{source:?}");
    let dropped = calls::CALLS.iter().map(|(_, path)| *path);
    let listed: BTreeSet<String> =
        dropped.chain(calls::NOT_DROPPED.iter().map(|(path, _)| *path)).map(str::to_owned).collect();
    let missing: Vec<_> = source.difference(&listed).collect();
    assert!(missing.is_empty(), "add to tests/conformance/calls.rs, and drop in dropped.rs: {missing:?}");
    let gone: Vec<_> = listed.difference(&source).collect();
    assert!(gone.is_empty(), "not in the source any more: {gone:?}");
}
