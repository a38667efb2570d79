create table test_assembly (id varchar(60) primary key, name text, seen bigint, size_width bigint, size_fragile boolean, version bigint not null)
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_module (assembly_id varchar(60) not null, rack varchar(60) not null, slot integer not null,
    weight double not null, size_width bigint, size_fragile boolean, primary key (assembly_id, rack, slot),
    foreign key (assembly_id) references test_assembly (id))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_part (assembly_id varchar(60) not null, rack varchar(60) not null, slot integer not null,
    part_no integer not null, name text not null, primary key (assembly_id, rack, slot, part_no),
    foreign key (assembly_id, rack, slot) references test_module (assembly_id, rack, slot))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_part_note (assembly varchar(60) not null, module_rack varchar(60) not null,
    module_slot integer not null, part integer not null, language varchar(60) not null, text text not null,
    primary key (assembly, module_rack, module_slot, part, language),
    foreign key (assembly, module_rack, module_slot, part) references test_part (assembly_id, rack, slot, part_no))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_seal (assembly_id varchar(60) not null, rack varchar(60) not null, slot integer not null,
    stamp text, primary key (assembly_id, rack, slot),
    foreign key (assembly_id, rack, slot) references test_module (assembly_id, rack, slot))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_step (assembly_id varchar(60) not null, position integer not null,
    text text not null, primary key (assembly_id, position),
    foreign key (assembly_id) references test_assembly (id))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
-- No foreign key to the step: the suite writes a row that has none.
create table test_step_tool (assembly_id varchar(60) not null, step integer not null,
    position integer not null, text text not null, primary key (assembly_id, step, position),
    foreign key (assembly_id) references test_assembly (id))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_invoice (assembly_id varchar(60) primary key, number bigint not null,
    foreign key (assembly_id) references test_assembly (id))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_invoice_item (assembly_id varchar(60) not null, item_no integer not null,
    text text not null, primary key (assembly_id, item_no),
    foreign key (assembly_id) references test_invoice (assembly_id))
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
