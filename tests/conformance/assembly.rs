//! An aggregate with every kind of collection, at several depths. Its tables: `tests/tables/*/0003_children.sql`.

use std::collections::BTreeMap;

use tenure::{Aggregate, Entity, ValueObject};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_assembly", revisions = 3)]
pub struct Assembly {
    #[aggregate(id)]
    pub id: String,
    pub name: Option<String>,
    #[aggregate(unversioned)]
    pub seen: Option<i64>,
    pub size: Option<Size>,
    #[aggregate(children, table = "test_module", owner = "assembly_id")]
    pub modules: Vec<Module>,
    #[aggregate(children, table = "test_step", owner = "assembly_id", key = "position")]
    pub steps: Vec<Step>,
    #[aggregate(children, table = "test_invoice", owner = "assembly_id")]
    pub invoice: Option<Invoice>,
}

#[derive(ValueObject, Debug, Clone, Copy, PartialEq)]
pub struct Size {
    pub width: i64,
    pub fragile: bool,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Module {
    #[aggregate(key)]
    pub rack: String,
    #[aggregate(key)]
    pub slot: u32,
    pub weight: f64,
    pub size: Option<Size>,
    #[aggregate(children, table = "test_part")]
    pub parts: Vec<Part>,
    #[aggregate(children, table = "test_seal")]
    pub seal: Option<Seal>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Part {
    #[aggregate(key)]
    pub part_no: u32,
    pub name: String,
    #[aggregate(
        children,
        table = "test_part_note",
        owner = "assembly, module_rack, module_slot, part",
        key = "language"
    )]
    pub notes: BTreeMap<String, Note>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Seal {
    pub stamp: Option<String>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Note {
    pub text: String,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Step {
    pub text: String,
    #[aggregate(children, table = "test_step_tool", owner = "assembly_id, step", key = "position")]
    pub tools: Vec<Note>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Invoice {
    pub number: i64,
    #[aggregate(children, table = "test_invoice_item", key = "item_no")]
    pub items: BTreeMap<u32, Note>,
}

pub fn note(text: &str) -> Note {
    Note { text: text.into() }
}

impl Module {
    pub fn new(rack: &str, slot: u32) -> Module {
        Module { rack: rack.into(), slot, weight: 0.5, size: None, parts: vec![], seal: None }
    }

    pub fn with(mut self, part_no: u32, name: &str) -> Module {
        let notes = BTreeMap::from([("en".into(), note(name)), ("ko".into(), note("부품"))]);
        self.parts.push(Part { part_no, name: name.into(), notes });
        self
    }
}

impl Assembly {
    /// Two modules with parts, three steps with tools, an invoice.
    pub fn new(id: &str) -> Assembly {
        let step =
            |text: &str, tools: &[&str]| Step { text: text.into(), tools: tools.iter().map(|t| note(t)).collect() };
        let mut sealed = Module::new("tea", 1).with(7, "handle").with(8, "lid");
        sealed.seal = Some(Seal { stamp: None });
        Assembly {
            id: id.into(),
            name: None,
            seen: None,
            size: Some(Size { width: -3, fragile: true }),
            modules: vec![sealed, Module::new("tea ", 1).with(7, "foot")],
            steps: vec![step("saw", &["saw", "gloves"]), step("glue", &[]), step("paint", &["brush"])],
            invoice: Some(Invoice { number: 1, items: BTreeMap::from([(1, note("cups")), (30, note("postage"))]) }),
        }
    }
}
