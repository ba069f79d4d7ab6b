-- A store of schema version 12, with data. Never edited once released.

pragma application_id = 1702260075;

create table run (
    number integer primary key autoincrement, id text not null unique, plan any not null, suite any not null,
    status text not null, pass integer not null, holder text, header text not null,
    created text not null default ''
) strict;

create index run_created on run(created, number);

create table result (
    number integer primary key, run integer not null references run(number) on delete cascade,
    pass integer not null, source integer not null, dataset any not null, position integer not null,
    repeat integer not null, target any not null, case_id any not null, fingerprint text not null,
    verdict text not null, seconds real, place any not null, scores text not null, output text not null,
    content text not null, checksum integer not null, mode text not null default 'single'
) strict;

create unique index result_once on result(run, dataset, case_id, target, repeat, mode, fingerprint);

create table vector (key blob primary key, numbers blob not null) strict;

create table call (
    number integer primary key, key any not null unique, ok integer not null, run integer, model any not null,
    created any not null, input_tokens integer, output_tokens integer, cost real, identity any not null,
    repeat integer not null, use integer not null, error any, request text not null, reply text,
    checksum integer not null
) strict;

create table sent (
    run integer primary key, pass integer not null, known integer not null, under_way text not null,
    lost text not null
) strict;

create table spent (
    run integer not null, model any not null, calls integer not null, failed integer not null,
    repeated integer not null, attempts integer not null, input_tokens integer not null,
    output_tokens integer not null, unknown_usage integer not null, cost real, unknown_cost integer not null,
    is_service integer not null default 0, primary key (run, model)
) strict, without rowid;

insert into run values (1, '20261121-143205-aaaa', 'p', 's.yaml', 'interrupted', 1, null,
'{"id":"20261121-143205-aaaa","name":"squares","created":"2026-11-21T14:32:05Z","status":"interrupted","datasets":[{"name":"squares.jsonl"}],"metrics":[{"name":"fact","judge":"openai/x","base":"fact"}],"repeat":1,"suite":"s.yaml","plan":"p","spending":[{"model":"openai/x","calls":1,"failed":1,"input_tokens":9,"output_tokens":1,"cost":0.25}]}',
'2026-11-21T14:32:05.000000+00:00');

insert into result values (1, 1, 1, 0, 'squares.jsonl', 0, 0, 'app:square', 'case-01',
'55d415e5af4dc15420451746a97896d5', 'pass', 0.5, 'squares.jsonl:2',
'[{"name":"equals","raw":true,"value":1.0,"passed":true}]',
'{"value":1,"seconds":0.5,"contexts":["line"],"metadata":{"repeat":0}}',
'{"input":"What is 1 times 1?","expected":1,"examples":[{"value":-1,"liked":false}],"contexts":["A table of squares, line 1."],"tags":["squares"],"metadata":{"number":1}}',
3522305808, 'single');

insert into result values (2, 1, 1, 0, 'squares.jsonl', 0, 0, 'app:square', 'case-01',
'55d415e5af4dc15420451746a97896d5', 'pass', 0.5, 'squares.jsonl:2',
'[{"name":"equals","raw":true,"value":1.0,"passed":true}]',
'{"value":1,"seconds":0.5,"contexts":["line"],"metadata":{"repeat":0}}',
'{"input":"What is 1 times 1?","expected":1,"examples":[{"value":-1,"liked":false}],"contexts":["A table of squares, line 1."],"tags":["squares"],"metadata":{"number":1}}',
49066312, 'conversation');

insert into call values (1, '40de4d525df298a67029cd5600cc7650-0-0', 1, 1, 'openai/x',
'2026-11-21T14:32:06.000+00:00', 9, 1, 0.25, 'openai x', 0, 0, null,
'{"messages":[{"content":"What is 1 times 1?","role":"user"}],"settings":{"temperature":0},"logprobs":0}',
'{"text":"1","usage":{"input_tokens":9,"output_tokens":1},"cost":0.25}', 1639293372);

insert into call values (2, 'k2', 0, 1, 'openai/x', '2026-11-21T14:32:07.000+00:00', null, null, null, 'openai x',
0, 0, 'answered 500',
'{"messages":[{"content":"What is 1 times 1?","role":"user"}],"settings":{"temperature":0},"logprobs":0}',
null, 2845654863);

insert into sent values (1, 1, 0, '["k3"]', '{}');

insert into spent values (1, 'openai/x', 1, 1, 0, 0, 9, 1, 0, 0.25, 0, 0);

insert into vector values
(x'9c3982750b170d5f94fe88d181100cc61b36afa3a9def0abc44a00f26d19cde0', x'0000803f00000040');

create table tool_call (
    number integer primary key, key text not null unique, run integer, tool any not null, version any not null,
    created any not null, altered integer not null, arguments text not null, input text not null,
    result text not null, checksum integer not null
) strict;

insert into tool_call values (1, 'tool-907acdc9784f0f0c850b090c3ea7c6c6', 1, 'search', '1',
'2026-11-21T14:32:06.500+00:00', 0, '{"query":"squares"}', '"What is 1 times 1?"', '["1 x 1 = 1"]', 1924302356);

create table session (
    number integer primary key autoincrement, id text not null unique, project any not null,
    dropped integer not null, header text not null
) strict;

create index session_project on session(project, number);

create table span (
    number integer primary key autoincrement, id text not null unique, session text not null, project any not null,
    parent text not null, template any not null, content text not null, checksum integer not null
) strict;

create index span_session on span(session, number);

create index span_project on span(project, number) where parent = '';

create index span_template on span(template, number) where template != '';

create table label (
    number integer primary key autoincrement, about any not null, fingerprint text not null, content text not null,
    checksum integer not null
) strict;

create index label_about on label(about, number);

create index label_fingerprint on label(fingerprint, number);

insert into session values (1, '5555555555555555', 'demo', 0,
'{"id":"5555555555555555","project":"demo","started":"2026-11-22T00:00:00.000000+00:00"}');

insert into span values (1, 'aaaaaaaaaaaaaaaa', '5555555555555555', 'demo', '', '',
'{"id":"aaaaaaaaaaaaaaaa","session":"5555555555555555","project":"demo","name":"chain","started":"2026-11-22T00:00:01.000000+00:00","input":{"question":"Oslo?"},"output":"yes"}',
1421113145);

insert into label values (1, 'span:aaaaaaaaaaaaaaaa', 'c',
'{"about":"span:aaaaaaaaaaaaaaaa","liked":true,"by":"ann","created":"2026-11-22T02:00:00.000000+00:00","content":"c"}',
1270232790);

create index result_order on result(run, source, dataset, position, repeat, target, mode, verdict) where pass > 0;

create index result_verdict on result(run, verdict, source, dataset, position, repeat) where pass > 0;

create index result_seconds on result(run, seconds) where pass > 0;

create table scored (
    run integer not null, metric any not null, value real not null, result integer not null,
    primary key (run, metric, value, result)
) strict, without rowid;

insert into scored values (1, 'equals', 1.0, 1), (1, 'equals', 1.0, 2);

create table label_sample (
    number integer primary key autoincrement, run text not null, content text not null, checksum integer not null
) strict;

create index label_sample_run on label_sample(run, number);

create table reply_log (id text primary key, processed integer) strict;

create table run_total (
    run integer not null primary key, pass integer not null, version integer not null, content text not null
) strict;

create table run_summary (
    run integer not null primary key, pass integer not null, version integer not null, content text not null
) strict;

create table run_stop (run integer not null primary key, pass integer not null, by text) strict;

insert into run_stop values (1, 1, null);

insert into run_summary values (1, 1, 1, '{"status":"complete"}');

insert into run_total values (1, 1, 1, '{"verdict":"pass","trials":2}');

pragma user_version = 12;
