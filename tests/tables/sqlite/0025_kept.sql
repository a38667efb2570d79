-- A row with the text `kept` is not changed, and one with `dropped` is not inserted; no statement reports it.
create table test_kept (id text primary key, note text not null, version integer not null);
create table test_kept_line (kept_id text not null, no integer not null, text text not null, primary key (kept_id, no));
create trigger test_kept_insert before insert on test_kept when new.note = 'dropped' begin select raise(ignore); end;
create trigger test_kept_update before update on test_kept when old.note = 'kept' begin select raise(ignore); end;
create trigger test_kept_delete before delete on test_kept when old.note = 'kept' begin select raise(ignore); end;
create trigger test_kept_line_insert before insert on test_kept_line when new.text = 'dropped' begin select raise(ignore); end;
create trigger test_kept_line_update before update on test_kept_line when old.text = 'kept' begin select raise(ignore); end;
create trigger test_kept_line_delete before delete on test_kept_line when old.text = 'kept' begin select raise(ignore); end;
