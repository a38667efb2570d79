-- A row with the text `kept` is not changed, and one with `dropped` is not inserted; no statement reports it.
create table test_kept (id text primary key, note text not null, version bigint not null);
create table test_kept_line (kept_id text not null, no integer not null, text text not null, primary key (kept_id, no));
create function test_drop() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger inserted before insert on test_kept for each row when (new.note = 'dropped') execute function test_drop();
create trigger updated before update on test_kept for each row when (old.note = 'kept') execute function test_drop();
create trigger deleted before delete on test_kept for each row when (old.note = 'kept') execute function test_drop();
create trigger inserted before insert on test_kept_line for each row when (new.text = 'dropped') execute function test_drop();
create trigger updated before update on test_kept_line for each row when (old.text = 'kept') execute function test_drop();
create trigger deleted before delete on test_kept_line for each row when (old.text = 'kept') execute function test_drop();
