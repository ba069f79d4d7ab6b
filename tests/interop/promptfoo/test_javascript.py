"""JavaScript in assertions is computed as an engine computes it, and never run."""

import time

import pytest

from evalmark.core.errors import ConfigError
from evalmark.interop.promptfoo.javascript.evaluation import read_program
from evalmark.interop.promptfoo.javascript.syntax import value_of_last_line
from evalmark.interop.promptfoo.javascript.tokens import UnsupportedJavascriptError
from evalmark.interop.promptfoo.javascript.values import LimitError, ThrownError, number_text, to_python
from evalmark.interop.promptfoo.scorers import PromptfooAssertion, function_body, javascript_program


def value(code, output="", **variables):
    return to_python(read_program(f"return {code}", ("output", "context"))(output, {"vars": variables}))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # operators and conversions
        ("1 + 2 * 3 - 4 / 2 % 3", 5),
        ("2 ** 3 ** 2", 512),
        ("'3' * '4'", 12),
        ("1 + '2'", "12"),
        ("[] + []", ""),
        ("[1, [2, 3]] + {}", "1,2,3[object Object]"),
        ("true + 1", 2),
        ("null + 1", 1),
        ("'b' > 'a' && '10' < '9' && 10 > '9'", True),
        ("null == undefined && null !== undefined", True),
        ("1 == '1' && 1 !== '1' && '' == 0 && true == 1", True),
        ("NaN === NaN", False),
        ("typeof undefined + typeof null + typeof 1 + typeof 'a' + typeof [] + typeof (x => x)", "undefinedobjectnumberstringobjectfunction"),
        ("!'' && !0 && !null && !NaN && !![] && !!'0'", True),
        ("0 || 'a'", "a"),
        ("0 ?? 'a'", 0),
        ("1 / 0 + ' ' + -1 / 0 + ' ' + 0 / 0", "Infinity -Infinity NaN"),
        ("-7 % 3", -1),
        ("true ? false ? 1 : 2 : 3", 2),
        ("'a' in {a: 1} && !('b' in {a: 1})", True),
        ("(1, 2)", 2),
        # texts
        ("output.length", 12),
        ("'🙂'.length", 2),
        ("output.slice(-6, -1)", "World"),
        ("output.substring(5, 0)", "Hello"),
        ("output.substr(-6, 5)", "World"),
        ("output.split(' ')", ["Hello", "World!"]),
        ("'a1b22c'.split(/\\d+/)", ["a", "b", "c"]),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("'a,b,c'.split(',', 2)", ["a", "b"]),
        ("'aXbX'.replace('X', '-') + 'aXbX'.replaceAll('X', '-')", "a-bXa-b-"),
        ("'2026-11'.replace(/(\\d+)-(\\d+)/, '$2/$1')", "11/2026"),
        ("'abc'.replace(/[a-b]/g, sign => sign.toUpperCase())", "ABc"),
        ("'a b'.match(/(\\w) (\\w)/)", ["a b", "a", "b"]),
        ("'a b'.match(/\\w/g)", ["a", "b"]),
        ("'a b'.match(/x/g)", None),
        ("[...'a1b2'.matchAll(/([a-z])(\\d)/g)].map(found => found[2])", ["1", "2"]),
        ("/^h.*!$/i.test(output)", True),
        ("/^b$/m.test('a\\nb\\nc')", True),
        ("/a.b/s.test('a\\nb')", True),
        ("/\\bÉ/i.test('é')", False),
        ("'\\u00a0 a '.trim() + '|' + ' a '.trimStart() + '|' + ' a '.trimEnd()", "a|a | a"),
        ("'5'.padStart(3, '0') + '5'.padEnd(3)", "0055  "),
        ("`${output.length} signs, ${[1, 2].map(n => `<${n}>`).join('')}`", "12 signs, <1><2>"),
        ("'\\x41\\u0042\\u{43}\\n'.trim()", "ABC"),
        ("output.indexOf('o') + output.lastIndexOf('o') + output.search(/W/)", 17),
        ("output[0] + output.at(-1) + output.charAt(1) + output.charCodeAt(0)", "H!e72"),
        # lists and objects
        ("[3, 1, 10].sort()", [1, 10, 3]),
        ("[3, 1, 10].sort((a, b) => b - a)", [10, 3, 1]),
        ("[1, 2, 3].filter(n => n % 2).map((n, at) => n * at)", [0, 3]),
        ("[1, 2, 3].reduce((sum, n) => sum + n, 0)", 6),
        ("[[1, [2]], 3].flat()", [1, [2], 3]),
        ("[1, 2].some(n => n > 1) && [1, 2].every(n => n > 0) && ![].some(n => n)", True),
        ("[5, 6].find(n => n > 5) + [5, 6].findIndex(n => n > 9)", 5),
        ("[NaN].includes(NaN) && [NaN].indexOf(NaN) === -1", True),
        ("Object.keys({b: 1, 2: 1, a: 1, 1: 1})", ["1", "2", "b", "a"]),
        ("Object.entries({a: 1}).map(([key, n]) => key + n)", ["a1"]),
        ("({...{a: 1, b: 2}, b: 3})", {"a": 1, "b": 3}),
        ("new Set([1, 1, 2]).size + new Set('aab').size", 4),
        ("[...new Set([2, 2, 1])]", [2, 1]),
        ("Array.from({length: 3}, (_, at) => at)", [0, 1, 2]),
        ("Math.max(...[1, 5, 3]) + Math.min(2, '1') + Math.round(2.5) + Math.round(-2.5)", 7),
        ("({a: {b: null}}).a?.b?.c?.d ?? 'none'", "none"),
        ("undefined?.x.y.z", None),
        # JSON and numbers
        ("JSON.parse('{\"a\": [1, 2.5, null, true]}').a", [1, 2.5, None, True]),
        ("JSON.stringify({b: [1, 'x', null, undefined], c: undefined, a: {}})", '{"b":[1,"x",null,null],"a":{}}'),
        ("JSON.stringify({a: 1}, null, 2)", '{\n  "a": 1\n}'),
        ("parseInt('12px') + parseInt('0x1f') + parseFloat('1.5e1x')", 58),
        ("Number('') + Number(' 12 ') + Number(true) + Number([5])", 18),
        ("isNaN(Number('x')) && Number.isInteger(5) && !Number.isInteger(5.5)", True),
        ("(1.005).toFixed(2) + (2.5).toFixed(0) + (-1.5).toFixed(0)", "1.003-2"),
        ("String(1e21) + String(1e-7) + String(0.1 + 0.2) + String(100) + String(-0)", "1e+211e-70.300000000000000041000"),
        # functions
        ("(() => { let n = 0; for (let i = 0; i < 5; i++) { if (i === 3) break; n += i; } return n; })()", 3),
        ("(() => { for (const [key, n] of Object.entries({a: 1})) { return key + n; } })()", "a1"),
        ("(() => { try { JSON.parse('x'); } catch (error) { return error.name; } finally { } })()", "SyntaxError"),
        ("(() => { try { null.x; } catch { return 'caught'; } })()", "caught"),
        ("(() => { const {a, b: {c = 5} = {}, ...rest} = {a: 1, d: 2}; return [a, c, rest.d]; })()", [1, 5, 2]),
        ("(() => { function twice(n) { return n * 2; } return twice(4); })()", 8),
        ("(() => { switch ('b') { case 'a': return 1; case 'b': return 2; default: return 3; } })()", 2),
        ("(() => { let n = 0; while (true) { n++; if (n > 4) { return n; } } })()", 5),
        ("(function (a, b = 2) { return a + b; })(1)", 3),
        ("(() => { const x = {}; x.a = 1; x['b'] ??= 2; x.a += 5; return x; })()", {"a": 6, "b": 2}),
    ],
)  # fmt: skip
def test_code_has_the_value_that_an_engine_gives_it(code, expected):
    assert value(code, "Hello World!") == expected


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("output.length > 1;", "return output.length > 1"),
        ("const s = JSON.parse(output).s; s > 0.5", "const s = JSON.parse(output).s; return  s > 0.5"),
        ("const s = output; s === 'a;b'", "const s = output; return  s === 'a;b'"),
        ("let x = 1\nreturn x > 0\n", "let x = 1\nreturn x > 0"),
    ],
)
def test_a_single_line_is_an_expression_and_several_are_a_body(code, body):
    assert function_body(code) == body


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("require('fs')", "'require'"),
        ("fetch('http://x')", "'fetch'"),
        ("process.env.HOME", "'process'"),
        ("eval('1')", "'eval'"),
        ("new Function('return 1')()", "'Function'"),
        ("output.constructor.constructor('x')()", "'constructor'"),
        ("globalThis", "'globalThis'"),
        ("context.provider.id", "context.provider"),
        ("((c) => c.provider)(context)", "as a whole"),
        ("new Date() > 1", "'Date'"),
        ("await x", "a name is expected"),
        ("import('fs')", "a name is expected"),
        ("class A {}", "a name is expected"),
        ("output.localeCompare('x')", "'localeCompare'"),
        ("'unclosed", "cannot be read"),
        ("(1 + 2", "expected"),
        ("/(?<name/.test(output)", "pattern"),
        ("x" * 30_000, "longer than"),
        ("(" * 5_000, "nested"),
        ("[" * 5_000, "nested"),
        ("(a = " * 70 + "1" + ")" * 70, "nested|takes too long"),
        ("`${" * 500, "nested"),
    ],
    ids=lambda text: text[:40],
)
def test_what_is_outside_of_the_subset_is_refused_before_anything_is_computed(code, what):
    with pytest.raises(UnsupportedJavascriptError, match=what):
        javascript_program(code)


@pytest.mark.parametrize(
    "code",
    [
        "(() => { while (true) {} })()",
        "(() => { for (;;) {} })()",
        "(() => { function f() { return f(); } return f(); })()",
        "'x'.repeat(1e12)",
        "(() => { let s = 'x'; for (let i = 0; i < 100; i++) s += s; return s; })()",
        "(() => { let a = [1]; for (let i = 0; i < 100; i++) a = a.concat(a); return a; })()",
        "Array.from({length: 1e9})",
        "/^(a|aa)+$/.test('a'.repeat(50) + '!')",
        "'x'.padStart(1e12)",
        "(() => { const a = []; a.push(a); return JSON.stringify(a); })()",
        "(() => { const a = []; a.push(a); return String(a); })()",
    ],
)
def test_code_that_would_run_for_ever_or_fill_the_memory_is_stopped(code):
    begin = time.monotonic()
    with pytest.raises(LimitError):
        value(code)
    assert time.monotonic() - begin < 60


def test_an_error_that_is_thrown_has_its_message():
    with pytest.raises(ThrownError, match="no city"):
        value("(() => { throw new Error('no city'); })()")
    with pytest.raises(ThrownError, match="of undefined is read: x"):
        value("context.vars.gone.x")


@pytest.mark.parametrize(
    ("code", "completed"),
    [
        ("const v = output.toLowerCase();\n['a'].some(s => v.includes(s))\n", "const v = output.toLowerCase();\nreturn ['a'].some(s => v.includes(s))\n"),
        ("// comment\noutput.length > 5\n", "// comment\nreturn output.length > 5\n"),
        ("if (output) {\n  return true;\n}\nfalse\n", None),
        ("output.length > 5", None),
    ],
)  # fmt: skip
def test_code_that_returns_nothing_is_completed(code, completed):
    assert value_of_last_line(code) == completed


@pytest.mark.parametrize(
    ("number", "text"), [(0.1, "0.1"), (1e300, "1e+300"), (123456789012345680000.0, "123456789012345680000"), (1.5e-9, "1.5e-9"), (-2.0, "-2")]
)  # fmt: skip
def test_numbers_are_written_as_javascript_writes_them(number, text):
    assert number_text(number) == text


def test_a_suite_with_code_outside_of_the_subset_names_it():
    with pytest.raises(ConfigError, match="cannot be computed: it uses 'fetch'"):
        PromptfooAssertion(assertion={"type": "javascript", "value": "fetch(output)"})
