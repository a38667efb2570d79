create table test_assembly (id text primary key, name text, seen integer, size_width integer, size_fragile integer, version integer not null);
create table test_module (assembly_id text not null references test_assembly (id), rack text not null, slot integer not null,
    weight real not null, size_width integer, size_fragile integer, primary key (assembly_id, rack, slot));
create table test_part (assembly_id text not null, rack text not null, slot integer not null,
    part_no integer not null, name text not null, primary key (assembly_id, rack, slot, part_no),
    foreign key (assembly_id, rack, slot) references test_module (assembly_id, rack, slot));
create table test_part_note (assembly text not null, module_rack text not null,
    module_slot integer not null, part integer not null, language text not null, text text not null,
    primary key (assembly, module_rack, module_slot, part, language),
    foreign key (assembly, module_rack, module_slot, part) references test_part (assembly_id, rack, slot, part_no));
create table test_seal (assembly_id text not null, rack text not null, slot integer not null,
    stamp text, primary key (assembly_id, rack, slot),
    foreign key (assembly_id, rack, slot) references test_module (assembly_id, rack, slot));
create table test_step (assembly_id text not null references test_assembly (id), position integer not null,
    text text not null, primary key (assembly_id, position));
-- No foreign key to the step: the suite writes a row that has none.
create table test_step_tool (assembly_id text not null references test_assembly (id), step integer not null,
    position integer not null, text text not null, primary key (assembly_id, step, position));
create table test_invoice (assembly_id text primary key references test_assembly (id), number integer not null);
create table test_invoice_item (assembly_id text not null, item_no integer not null,
    text text not null, primary key (assembly_id, item_no),
    foreign key (assembly_id) references test_invoice (assembly_id));
