-- A store of schema version 1, with data. Never edited once released.

pragma application_id = 1702260075;

create table run (
    number integer primary key autoincrement, id text not null unique, plan any not null, suite any not null,
    status text not null, pass integer not null, holder text, header text not null
) strict;

create table result (
    number integer primary key, run integer not null references run(number) on delete cascade,
    pass integer not null, source integer not null, dataset any not null, position integer not null,
    repeat integer not null, target any not null, case_id any not null, fingerprint text not null,
    verdict text not null, seconds real, place any not null, scores text not null, output text not null,
    content text not null, checksum integer not null
) strict;

create unique index result_once on result(run, dataset, case_id, target, repeat, fingerprint);

create index result_order on result(run, source, dataset, position, repeat, target);

create index result_verdict on result(run, verdict);

create table vector (key blob primary key, numbers blob not null) strict;

insert into run values (1, '20261121-143205-aaaa', 'p', 's.yaml', 'interrupted', 1, null,
'{"id":"20261121-143205-aaaa","name":"squares","created":"2026-11-21T14:32:05Z","status":"interrupted","datasets":[{"name":"squares.jsonl"}],"repeat":1,"suite":"s.yaml","plan":"p"}');

insert into result values (1, 1, 1, 0, 'squares.jsonl', 0, 0, 'app:square', 'case-01',
'55d415e5af4dc15420451746a97896d5', 'pass', 0.5, 'squares.jsonl:2',
'[{"name":"equals","raw":true,"value":1.0,"passed":true}]',
'{"value":1,"seconds":0.5,"contexts":["line"],"metadata":{"repeat":0}}',
'{"input":"What is 1 times 1?","expected":1,"examples":[{"value":-1,"liked":false}],"contexts":["A table of squares, line 1."],"tags":["squares"],"metadata":{"number":1}}',
3522305808);

insert into vector values
(x'9c3982750b170d5f94fe88d181100cc61b36afa3a9def0abc44a00f26d19cde0', x'0000803f00000040');

pragma user_version = 1;
