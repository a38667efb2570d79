//! Random edits of an assembly. Each one changes something, or nothing if there is nothing to change.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::conformance::assembly::{Assembly, Invoice, Module, Note, Part, Seal, Size, Step};

/// Keys that a careless collation would treat as equal, or sort differently.
const RACKS: [&str; 5] = ["tea", "Tea", "tea ", "커피", "it's"];
const LANGUAGES: [&str; 3] = ["de", "DE", "한국어"];

#[derive(Debug, Clone)]
pub enum Edit {
    Name(Option<String>),
    Seen(Option<i64>),
    Size(Option<Size>),
    PutModule { rack: usize, slot: u32, weight: f64 },
    TakeModule(Index),
    RenumberModule { at: Index, slot: u32 },
    ModuleSize(Index, Option<Size>),
    Seal(Index, Option<Option<String>>),
    PutPart { module: Index, part_no: u32, name: String },
    MovePart { from: Index, part: Index, to: Index },
    PutNote { module: Index, part: Index, language: usize, text: String },
    TakeNote { module: Index, part: Index, language: usize },
    InsertStep { at: Index, text: String },
    TakeStep(Index),
    SwapSteps(Index, Index),
    InsertTool { step: Index, at: Index, text: String },
    TakeTool { step: Index, at: Index },
    Invoice(Option<i64>),
    PutItem(u32, String),
    TakeItem(u32),
}

/// Texts of any script, line breaks included. PostgreSQL has no zero character.
fn text() -> impl Strategy<Value = String> {
    "[^\\x00]{0,8}"
}

fn size() -> impl Strategy<Value = Option<Size>> {
    proptest::option::of((any::<i64>(), any::<bool>()).prop_map(|(width, fragile)| Size { width, fragile }))
}

pub fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        proptest::option::of(text()).prop_map(Edit::Name),
        proptest::option::of(any::<i64>()).prop_map(Edit::Seen),
        size().prop_map(Edit::Size),
        (0..RACKS.len(), 0_u32..3, -1e6..1e6).prop_map(|(rack, slot, weight)| Edit::PutModule { rack, slot, weight }),
        at().prop_map(Edit::TakeModule),
        (at(), 0_u32..3).prop_map(|(at, slot)| Edit::RenumberModule { at, slot }),
        (at(), size()).prop_map(|(at, size)| Edit::ModuleSize(at, size)),
        (at(), proptest::option::of(proptest::option::of(text()))).prop_map(|(at, seal)| Edit::Seal(at, seal)),
        (at(), 6_u32..10, text()).prop_map(|(module, part_no, name)| Edit::PutPart { module, part_no, name }),
        (at(), at(), at()).prop_map(|(from, part, to)| Edit::MovePart { from, part, to }),
        (at(), at(), 0..LANGUAGES.len(), text()).prop_map(|(module, part, language, text)| Edit::PutNote {
            module,
            part,
            language,
            text
        }),
        (at(), at(), 0..LANGUAGES.len()).prop_map(|(module, part, language)| Edit::TakeNote { module, part, language }),
        (at(), text()).prop_map(|(at, text)| Edit::InsertStep { at, text }),
        at().prop_map(Edit::TakeStep),
        (at(), at()).prop_map(|(a, b)| Edit::SwapSteps(a, b)),
        (at(), at(), text()).prop_map(|(step, at, text)| Edit::InsertTool { step, at, text }),
        (at(), at()).prop_map(|(step, at)| Edit::TakeTool { step, at }),
        proptest::option::of(any::<i64>()).prop_map(Edit::Invoice),
        (0_u32..4, text()).prop_map(|(item, text)| Edit::PutItem(item, text)),
        (0_u32..4).prop_map(Edit::TakeItem),
    ]
}

/// One of them, if there is any.
fn pick<'a, T>(list: &'a mut [T], at: &Index) -> Option<&'a mut T> {
    if list.is_empty() { None } else { Some(at.get_mut(list)) }
}

fn take<T>(list: &mut Vec<T>, at: &Index) -> Option<T> {
    if list.is_empty() { None } else { Some(list.remove(at.index(list.len()))) }
}

fn part<'a>(assembly: &'a mut Assembly, module: &Index, part: &Index) -> Option<&'a mut Part> {
    pick(&mut pick(&mut assembly.modules, module)?.parts, part)
}

/// Replaces the one with the same number, and keeps the order of the database.
fn put(parts: &mut Vec<Part>, part: Part) {
    parts.retain(|other| other.part_no != part.part_no);
    parts.push(part);
    parts.sort_by_key(|part| part.part_no);
}

fn put_module(modules: &mut Vec<Module>, module: Module) {
    modules.retain(|other| (&other.rack, other.slot) != (&module.rack, module.slot));
    modules.push(module);
    modules.sort_by(|a, b| (&a.rack, a.slot).cmp(&(&b.rack, b.slot)));
}

impl Edit {
    /// `None`: there was nothing to change.
    pub fn apply(&self, assembly: &mut Assembly) -> Option<()> {
        match self {
            Edit::Name(name) => assembly.name = name.clone(),
            Edit::Seen(seen) => assembly.seen = *seen,
            Edit::Size(size) => assembly.size = *size,
            Edit::PutModule { rack, slot, weight } => {
                let module = Module { weight: *weight, ..Module::new(RACKS[*rack], *slot) };
                put_module(&mut assembly.modules, module.with(1, "screw"));
            }
            Edit::TakeModule(at) => drop(take(&mut assembly.modules, at)?),
            Edit::RenumberModule { at, slot } => {
                let module = Module { slot: *slot, ..take(&mut assembly.modules, at)? };
                put_module(&mut assembly.modules, module);
            }
            Edit::ModuleSize(at, size) => pick(&mut assembly.modules, at)?.size = *size,
            Edit::Seal(at, seal) => {
                pick(&mut assembly.modules, at)?.seal = seal.clone().map(|stamp| Seal { stamp });
            }
            Edit::PutPart { module, part_no, name } => {
                let part = Part { part_no: *part_no, name: name.clone(), notes: [].into() };
                put(&mut pick(&mut assembly.modules, module)?.parts, part);
            }
            Edit::MovePart { from, part, to } => {
                let part = take(&mut pick(&mut assembly.modules, from)?.parts, part)?;
                put(&mut pick(&mut assembly.modules, to)?.parts, part);
            }
            Edit::PutNote { module, part: at, language, text } => {
                let notes = &mut part(assembly, module, at)?.notes;
                notes.insert(LANGUAGES[*language].into(), Note { text: text.clone() });
            }
            Edit::TakeNote { module, part: at, language } => {
                part(assembly, module, at)?.notes.remove(LANGUAGES[*language]);
            }
            Edit::InsertStep { at, text } => {
                let step = Step { text: text.clone(), tools: vec![Note { text: text.clone() }] };
                assembly.steps.insert(at.index(assembly.steps.len() + 1), step);
            }
            Edit::TakeStep(at) => drop(take(&mut assembly.steps, at)?),
            Edit::SwapSteps(a, b) => {
                let steps = assembly.steps.len();
                if steps > 0 {
                    assembly.steps.swap(a.index(steps), b.index(steps));
                }
            }
            Edit::InsertTool { step, at, text } => {
                let tools = &mut pick(&mut assembly.steps, step)?.tools;
                tools.insert(at.index(tools.len() + 1), Note { text: text.clone() });
            }
            Edit::TakeTool { step, at } => drop(take(&mut pick(&mut assembly.steps, step)?.tools, at)?),
            Edit::Invoice(None) => assembly.invoice = None,
            Edit::Invoice(Some(number)) => match &mut assembly.invoice {
                Some(invoice) => invoice.number = *number,
                none => *none = Some(Invoice { number: *number, items: [].into() }),
            },
            Edit::PutItem(item, text) => {
                assembly.invoice.as_mut()?.items.insert(*item, Note { text: text.clone() });
            }
            Edit::TakeItem(item) => drop(assembly.invoice.as_mut()?.items.remove(item)),
        }
        Some(())
    }
}
