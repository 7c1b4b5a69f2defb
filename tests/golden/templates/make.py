"""Golden renderings by the environment that Hugging Face Transformers compiles chat templates in.

Run with a Python that has transformers 5.24 and jinja2 3.1.6 (scripts/setup_peers installs one):

    python tests/golden/templates/make.py [SMOLLM2_FOLDER]

Writes snippets.jsonl (template, variables, and text or error) and, given the folder of SmolLM2-135M-Instruct,
smollm2.jsonl (the template, then chats with their text) beside this file.
"""

import json
import pathlib
import sys

import transformers.utils.chat_template_utils as chat_template_utils

HERE = pathlib.Path(__file__).parent

VARIABLES = {
    "n": 3,
    "x": 2.5,
    "s": "Hello, World",
    "u": "naïve 日本 ß ǆ 🎉",
    "empty": "",
    "no": None,
    "yes": True,
    "list": [3, 1, 2],
    "words": ["b", "A", "c", "a"],
    "d": {"b": 1, "a": [1, {"k": None}], "items": 5, "C": "x"},
    "people": [
        {"name": "Ann", "age": 30, "city": {"zip": "2"}, "tags": ["x", "y"]},
        {"name": "bob", "age": 25, "city": {"zip": "1"}, "tags": []},
        {"name": "Cy", "age": 30, "city": {"zip": "3"}},
    ],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "  Hi <b>\n"},
        {"role": "assistant", "content": "Hello & bye", "tool_calls": [{"name": "f", "arguments": {"q": "é\"\\"}}]},
    ],
}

SNIPPETS = r"""
plain text
{{ s }}
{{ n }} {{ x }} {{ yes }} {{ no }} {{ empty }}|{{ missing }}|
{{ list }} {{ d }} {{ people[0] }} {{ (1,) }} {{ (1, 'a') }} {{ () }} {{ [] }} {{ {} }}
{{ ["it's", 'say "x"', 'both \' and "', 'tab\t nl\n cr\r bs\\ nul\x00 \x7f \xa0 \u200b é 🎉'] }}
{{ 1.0 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1e300 }} {{ 1.5e-7 }} {{ 0.1 + 0.2 }} {{ 100000.0 }} {{ -0.0 }}
{{ 1_000 }} {{ 0x1f }} {{ 0b101 }} {{ 0o17 }} {{ 1_0.5 }} {{ 1e3 }} {{ 2E-2 }}
{{ 'a' 'b' "c" }}
{{ '\x41\u00e9\U0001F389\101\q\'' }}
{{ true }} {{ True }} {{ false }} {{ False }} {{ none }} {{ None }}
{{ [true, none, 1.5] }}

{# comment #}a{# b #}c
  a {% if yes %} b {% endif %} c
x {%- if yes -%} y {%- endif -%} z
x {{- n }} {{- n -}} y
{% raw %}{{ not }} {% evaluated %}{% endraw %}
{% raw %} a {% endraw -%}   b
{%raw%}x{%endraw%}
a{{ '{{' }}b{{ '%}' }}c
{{ '}}' }}{{ {'a': {'b': 1}}['a']['b'] }}
{ a } { % } {a{b}
{{+ n }}
{% set a = 1 %}{{ a }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}
{% set a, b = list %}{{ a }}
{% set (a, b) = [1, 2] %}{{ a + b }}
{% set a = 1, 2 %}{{ a }}
{% set a %}x{{ n }}y{% endset %}[{{ a }}]
{% set a | upper %}x{{ n }}y{% endset %}[{{ a }}]
{% set a | replace('x', 'z') | upper %}x{% endset %}[{{ a }}]
{% set ns = namespace(a=1, b='x') %}{% set ns.a = ns.a + 1 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns['b'] }}
{% set ns = namespace() %}{% for i in list %}{% set ns.t = i %}{% endfor %}{{ ns.t }}
{% set ns = namespace(_a=1) %}
{% set ns = namespace() %}{% set ns._a = 1 %}
{% set d.a = 1 %}
{% set a.b = 1 %}
{% set t = 0 %}{% for i in list %}{% set t = t + i %}{{ t }} {% endfor %}{{ t }}
{% if n == 3 %}a{% elif n == 4 %}b{% else %}c{% endif %}
{% if n == 4 %}a{% elif n == 3 %}b{% else %}c{% endif %}
{% if no %}a{% elif empty %}b{% else %}c{% endif %}
{% if no, %}a{% endif %}
{% if missing %}a{% endif %}b
{% if x %}{% set y = 1 %}{% endif %}{{ y }}
{% for i in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
{% for i in list %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}
{% for i in list %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}
{% for i in list %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i > 1) }} {% endfor %}
{% for i in [] %}x{% else %}none{% endfor %}
{% for i in list %}x{% else %}none{% endfor %}
{% for i in list if i > 1 %}{{ i }}{{ loop.length }}{% endfor %}
{% for i in list if i > 9 %}{{ i }}{% else %}none{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for k in d %}{{ k }}{% endfor %}
{% for c in 'añ🎉' %}{{ c }}.{% endfor %}
{% for a, b in [(1, 2), [3, 4]] %}{{ a }}-{{ b }} {% endfor %}
{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for i in missing %}x{% endfor %}y
{% for i in no %}x{% endfor %}
{% for i in n %}x{% endfor %}
{% for i in 1, 2 %}{{ i }}{% endfor %}
{% for i in range(3) %}{{ i }}{% endfor %} {% for i in range(1, 10, 4) %}{{ i }}{% endfor %} {{ range(5, 0, -2)|list }}
{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in list %}{% for j in list %}{{ loop.index }}{% break %}{% endfor %}{{ loop.index }}{% endfor %}
{% for a in list %}{% for b in [] %}{% else %}{% if a == 1 %}{% break %}{% endif %}{% endfor %}{{ a }}{% endfor %}
{% for i in list %}{% set outer = loop %}{% for j in 'ab' %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}
{% for i in [[1, [2]], 3] recursive %}{% if i is number %}{{ i }}{{ loop.depth }}{% else %}({{ loop(i) }}){% endif %}{% endfor %}
{% for i in list %}{{ i }}{% endfor %}{{ i }}
{% set i = 9 %}{% for i in list %}{{ i }}{% endfor %}{{ i }}
{% set i = 9 %}{% for j in list %}{{ i }}{% set i = j %}{% endfor %}{{ i }}
{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=4, a=5) }} {{ m(1, c=7) }}
{% macro m(a) %}[{{ a }}]{{ a is defined }}{% endmacro %}{{ m() }}
{% macro m() %}x{% endmacro %}{{ m(1) }}
{% macro m() %}x{% endmacro %}{{ m(a=1) }}
{% macro m(a) %}x{% endmacro %}{{ m(1, a=2) }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, a=3) }}
{% macro m(x) %}{{ x }}{% if x > 0 %}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(3) }}
{% macro m(x) -%} {{ x }} {%- endmacro %}{{ m(1) ~ m(2) }}|{{ m.name }}
{% macro m() %}{{ later }}{% endmacro %}{% set later = 5 %}{{ m() }}
{% macro m() %}{% set inner = 5 %}{% endmacro %}{{ m() }}{{ inner }}
{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}body {{ n }}{% endcall %}
{% macro m(xs) %}{% for x in xs %}<{{ caller(x) }}>{% endfor %}{% endmacro %}{% call(i) m(list) %}{{ i * 2 }}{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}
{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}
{% filter upper %}abc {{ s }}{% endfilter %}
{% filter replace('a', 'b') | upper %}abc{% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a }}
{% with n = 5, m = n %}{{ n }}{{ m }}{% endwith %}
{% print n, s %}
{% generation %}{{ s }}{% endgeneration %}|
{% for m in messages %}{% generation %}{{ m.content }}{% set z = 1 %}{% endgeneration %}{{ z }}{% endfor %}
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }}
{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 / 3 }} {{ 4 / 2 }} {{ 1.5 + 1 }} {{ true + 1 }} {{ 3 * 1.0 }}
{{ -n }} {{ +n }} {{ -x }} {{ --n }} {{ -n|abs }} {{ -2 ** 2 }}
{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ [1] + [2] }} {{ [0] * 3 }} {{ (1,) + (2,) }} {{ 'a' * -1 }}
{{ 'a' ~ 1 ~ none ~ missing ~ [1] }}
{{ 1 ~ 2 + 3 }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ [1] + (2,) }}
{{ none + 1 }}
{{ missing + 1 }}
{{ 1 // 0 }}
{{ 1 / 0 }}
{{ 1.0 % 0 }}
{{ 1 < 2 }} {{ 1 <= 1 }} {{ 2 > 3 }} {{ 2 >= 3 }} {{ 1 == 1.0 }} {{ 1 != 2 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1 == 1 }}
{{ 'a' < 1 }}
{{ none < 1 }}
{{ missing < 1 }}
{{ missing == none }} {{ missing == missing2 }} {{ missing != 1 }} {{ none == false }} {{ [] == () }} {{ {'a': 1} == {'a': 1.0} }}
{{ 'ell' in s }} {{ 'x' not in s }} {{ 1 in list }} {{ 'a' in d }} {{ 5 in d }} {{ 'x' in missing }} {{ 1 in (1, 2) }}
{{ 1 in 'abc' }}
{{ 1 in n }}
{{ 1 in none }}
{{ not yes }} {{ not no }} {{ not missing }} {{ yes and 'x' }} {{ no or 'y' }} {{ no and z.z }} {{ yes or z.z }} {{ 0 or none }}
{{ not 1 == 2 }} {{ not n in list }}
{{ 'a' if yes else 'b' }} {{ 'a' if no else 'b' }} [{{ 'a' if no }}] {{ 'a' if no else 'b' if no else 'c' }}
{{ ('a' if no).x }}
{{ (1 if no) is defined }}
{{ list[0] }} {{ list[-1] }} [{{ list[9] }}] {{ s[1] }} {{ s[-1] }} {{ u[6] }} {{ d['a'] }} [{{ d['zz'] }}] {{ d.a[1].k }}
{{ list.0 }} {{ d.a.0 }} {{ list[true] }} [{{ list['x'] }}] [{{ list[1.5] }}] [{{ n[0] }}] [{{ no.x }}] [{{ no['x'] }}]
{{ missing.x }}
{{ missing['x'] }}
{{ d.zz.x }}
{{ list[9].x }}
{{ list[1:] }} {{ list[:-1] }} {{ list[::2] }} {{ list[::-1] }} {{ list[5:] }} {{ list[-2:] }} {{ list[2:0:-1] }} {{ list[:] }}
{{ s[1:4] }} {{ s[::-1] }} {{ s[-5:] }} {{ u[2:9] }} {{ u[::-1] }} {{ s[::3] }} {{ (1, 2, 3)[1:] }}
{{ list[::0] }}
{{ list['a':] }}
{{ no[1:] }}
{{ n[1:] }}
{{ list[none:2] }}
{{ d['items'] }} {{ d.get('a') }} {{ d.get('zz') }} {{ d.get('zz', 7) }} {{ d.keys()|list }} {{ d.values()|list }} {{ d.copy() }}
{{ d.items()|list }} {{ d|items|list }} {{ missing|items|list }}
{{ no|items|list }}
{{ {'a': 1, 'a': 2, 'b': 3} }} {{ {1: 'x', none: 2}[1] }} {{ {1: 2}[1.0] }} {{ {'a': 1,} }} {{ [1, 2,] }}
{{ {[1]: 2} }}
{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ dict([('a', 1)]) }} {{ dict(**{'q': 1}) }}
{{ d.update({'q': 1}) }}
{{ d.pop('a') }}
{{ list.append(4) }}
{{ list.append is defined }} {{ d.update is defined }} {{ list.count is defined }}
{{ list.index(1) }} {{ list.count(3) }} {{ (1, 2).index(2) }} {{ list.copy() }}
{{ list.index(99) }}
{{ s() }}
{{ missing() }}
{{ d.nope() }}
{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ "they're bill's".title() }} {{ 'hELLO wORLD'.capitalize() }} {{ s.swapcase() }} {{ u.upper() }} {{ u.title() }} {{ 'ΣΑΣ'.lower() }} {{ 'ßx'.capitalize() }}
[{{ '  x '.strip() }}] [{{ '  x '.lstrip() }}] [{{ '  x '.rstrip() }}] [{{ 'xxaxx'.strip('x') }}] [{{ 'abcba'.lstrip('ab') }}] [{{ 'añña'.rstrip('añ') }}] [{{ '\u3000\xa0x\u2003'.strip() }}]
{{ 'a,b,,c'.split(',') }} {{ ' a  b c '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ ' a  b c '.split(none, 1) }} {{ 'a b'.split(maxsplit=1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a<x>b'.split('<x>')[-1] }}
{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'a b c'.rsplit() }}
{{ 'a'.split('') }}
{{ 'a\nb\r\nc\x0bd\n'.splitlines() }} {{ 'a\nb\n'.splitlines(true) }} {{ ''.splitlines() }}
{{ 'aXbXc'.replace('X', '-') }} {{ 'aXbXc'.replace('X', '-', 1) }} {{ 'abc'.replace('', '-') }} {{ 'é'.replace('', '.') }} {{ 'ab'.replace('', '-', 2) }}
{{ s.startswith('Hell') }} {{ s.endswith('ld') }} {{ s.startswith(('x', 'H')) }} {{ s.startswith('W', 7) }} {{ s.endswith('lo', 0, 5) }} {{ 'abc'.startswith('') }}
{{ s.startswith(1) }}
{{ s.find('o') }} {{ s.find('o', 5) }} {{ s.rfind('o') }} {{ s.find('zz') }} {{ s.index('W') }} {{ s.count('l') }} {{ u.find('日') }} {{ 'aaa'.count('aa') }} {{ 'aaa'.count('') }} {{ s.find('l', -3) }}
{{ s.index('zz') }}
{{ ','.join(['a', 'b']) }} {{ ''.join([]) }} {{ '-'.join('abc') }}
{{ ','.join([1]) }}
{{ 'abc'.isalpha() }} {{ 'ab1'.isalnum() }} {{ '12'.isdigit() }} {{ '½'.isnumeric() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }} {{ ' \t'.isspace() }} {{ 'AB'.isupper() }} {{ 'a1'.islower() }} {{ 'Ab Cd'.istitle() }} {{ ''.isalpha() }} {{ '日本'.isalpha() }}
[{{ 'ab'.center(7) }}] [{{ 'abc'.center(6, '*') }}] [{{ 'ab'.ljust(4, '.') }}] [{{ 'ab'.rjust(4) }}] [{{ '-42'.zfill(6) }}] [{{ '日'.ljust(3) }}|]
{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'a'.partition('-') }} {{ 'a'.rpartition('-') }}
{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.py'.removesuffix('.py') }} {{ 'x'.removeprefix('y') }}
[{{ 'a\tb'.expandtabs(4) }}] {{ 'ABC'.casefold() }}
{{ '{} {}'.format(1, 'a') }} {{ '{1} {0}'.format(1, 2) }} {{ '{a}'.format(a=3) }} {{ '{{}} {}'.format(1) }} {{ '{0[k]} {0.k}'.format({'k': 5}) }} {{ '{!r}'.format('a') }}
[{{ '{:5}|{:<5}|{:>5}|{:^5}'.format('a', 'b', 'c', 'd') }}] [{{ '{:05d} {:+d} {:x} {:#x} {:b} {:,}'.format(42, 42, 255, 255, 5, 1234567) }}] [{{ '{:.2f} {:8.3f} {:e} {:g} {:.0%}'.format(3.14159, 2.5, 12345.678, 0.0001, 0.25) }}]
[{{ '{:*^9}'.format('é') }}] [{{ '{:{w}}'.format('x', w=4) }}] [{{ '{:5}'.format(true) }}] [{{ '{:>4}'.format(1.5) }}] [{{ '{:.2}'.format('abc') }}] [{{ '{:-^7}'.format(3) }}]
{{ '{} {}'.format(1) }}
{{ '{:d}'.format('a') }}
{{ '{'.format(1) }}
{{ '%s and %d' % ('a', 3) }} {{ '%05.1f|%-4s|%+d|%x|%%' % (3.14159, 'a', 5, 255) }} {{ '%(k)s' % {'k': 1} }} {{ '%s' % [1] }} {{ '%r' % 'a' }} {{ '%5s|%-5d|' % ('é', 3) }}
{{ '%s %s' % 'a' }}
{{ '%d' % 'a' }}
{{ 'a' % 1 }}
{{ '%s-%s'|format('a', 1) }} {{ '%(x)s'|format(x=2) }}
[{{ '  x '|trim }}] [{{ 'xxaxx'|trim('x') }}] [{{ no|trim }}] [{{ missing|trim }}] [{{ 5|trim }}]
{{ s|upper }} {{ s|lower }} {{ 'foo-bar baz(qux'|title }} {{ 'hELLO'|capitalize }} {{ 5|upper }} {{ no|lower }} {{ u|upper }}
{{ s|length }} {{ u|length }} {{ list|length }} {{ d|length }} {{ missing|length }} {{ list|count }}
{{ n|length }}
{{ none|length }}
{{ list|first }} {{ list|last }} [{{ []|first }}] [{{ []|last }}] {{ s|first }} {{ u|last }} {{ d|first }} [{{ missing|first }}]
{{ list|join }} {{ list|join(', ') }} {{ people|join('/', attribute='name') }} {{ s|join('.') }} {{ [1, none, 'a']|join('-') }} {{ missing|join }} {{ words|join(d=':') }}
{{ missing|default('x') }} {{ empty|default('x') }}| {{ empty|default('x', true) }} {{ no|d('x') }} {{ no|d('x', boolean=true) }} {{ d.zz|default(5) }} {{ missing|default }}
{{ 'abc'|list }} {{ d|list }} {{ (1, 2)|list }} {{ missing|list }}
{{ list|map('string')|list }} {{ people|map(attribute='name')|list }} {{ people|map(attribute='city.zip')|join }} {{ people|map(attribute='zz', default='-')|list }} {{ words|map('upper')|join }} {{ ['a,b']|map('replace', ',', ';')|first }} {{ none|map('upper')|list }}
{{ list|map|list }}
{{ list|map('nope')|list }}
{{ [1, 0, 2, none]|select|list }} {{ list|select('odd')|list }} {{ list|select('gt', 1)|list }} {{ list|select('in', [1, 3])|list }} {{ [1, 0, '']|reject|list }} {{ list|reject('equalto', 1)|list }}
{{ people|selectattr('tags')|map(attribute='name')|list }} {{ people|selectattr('age', 'equalto', 30)|map(attribute='name')|list }} {{ people|rejectattr('age', 'lt', 30)|map(attribute='name')|list }} {{ people|selectattr('tags', 'defined')|list|length }} {{ messages|selectattr('role', '==', 'user')|list|length }} {{ people|rejectattr('tags')|list|length }}
{{ list|select('nope')|list }}
{{ 'aXb'|replace('X', '-') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ 123|replace(2, 5) }}
{{ 5|string + 'x' }} {{ none|string }} {{ [1]|string }} [{{ missing|string }}]
{{ '42'|int }} {{ '4.7'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ 3.9|int }} {{ -3.9|int }} {{ '0x1f'|int(base=16) }} {{ '1f'|int(0, 16) }} {{ ' 12 '|int }} {{ none|int }} {{ true|int }} {{ '1_000'|int }} {{ '1e2'|int }} {{ '-5'|int }}
{{ missing|int }}
{{ '4.5'|float }} {{ 'x'|float }} {{ 'x'|float(1.5) }} {{ 3|float }} {{ '1e3'|float }} {{ 'inf'|float }} {{ '-.5'|float }} {{ none|float(2.0) }}
{{ d|dictsort }} {{ d|dictsort(true) }} {{ {'a': 2, 'b': 1}|dictsort(by='value') }} {{ {'a': 2, 'b': 1}|dictsort(reverse=true) }} {{ {'a': 2, 'b': 1}|dictsort(false, 'value') }}
{{ [1, 2, 1, 3, 2]|unique|list }} {{ ['a', 'A', 'b']|unique|list }} {{ ['a', 'A']|unique(true)|list }} {{ people|unique(attribute='age')|map(attribute='name')|list }}
{{ list|sort }} {{ list|sort(reverse=true) }} {{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ people|sort(attribute='age')|map(attribute='name')|list }} {{ people|sort(attribute='age,name')|map(attribute='name')|list }} {{ people|sort(attribute='city.zip')|map(attribute='name')|list }} {{ people|sort(true, attribute='age')|map(attribute='name')|list }} {{ 'bca'|sort }} {{ d|sort }}
{{ [1, 'a']|sort }}
{{ 'a\nb\n\nc'|indent }} {{ 'a\nb'|indent(2) }} {{ 'a\nb'|indent(2, true) }} {{ 'a\n\nb'|indent(width=1, blank=true) }} {{ 'a\nb'|indent('> ') }} {{ 'a\n'|indent }}|
{{ 2.567|round(2) }} {{ 2.5|round }} {{ 3.5|round }} {{ 2.1|round(method='ceil') }} {{ 2.9|round(0, 'floor') }} {{ 42|round }} {{ 1234|round(-2) }} {{ 0.285|round(2) }} {{ 2.675|round(2) }} {{ 1.25|round(1) }} {{ 1250.0|round(-2) }}
{{ 1|round(method='x') }}
{{ -5|abs }} {{ (-5)|abs }} {{ (-2.5)|abs }} {{ list|min }} {{ list|max }} {{ words|min }} {{ words|max }} {{ people|max(attribute='age') }} {{ ['a', 'B']|max(case_sensitive=true) }} [{{ []|min }}] {{ 'hello'|max }}
{{ list|sum }} {{ people|sum(attribute='age') }} {{ [[1], [2]]|sum(start=[]) }} {{ []|sum }} {{ [1.5, 2]|sum }}
{{ words|sum }}
{{ list|reverse|list }} {{ s|reverse }} {{ u|reverse }} {{ d|reverse|list }}
{{ '<a> & "b" \'c\''|escape }} {{ '<'|e }} {{ '<'|escape|escape }} {{ '<'|e|forceescape }} {{ '<b>'|safe }} {{ ('<b>'|safe) + '<' }} {{ '<' + ('<b>'|safe) }} {{ ('<'|e) ~ '<' }} {{ 5|e }} {{ ('<'|safe)|upper|e }}
{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, 0)|list }} {{ [1, 2, 3, 4, 5]|slice(2)|list }} {{ [1, 2, 3]|slice(2, 'x')|list }}
{{ people|groupby('age')|length }} {% for age, group in people|groupby('age') %}{{ age }}:{{ group|map(attribute='name')|join(',') }};{% endfor %}
[{{ 'ab'|center(6) }}] {{ 'hello big world'|wordcount }} {{ 'hello big world'|truncate(9, leeway=0) }} {{ 'hello big world'|truncate(9, true, leeway=0) }} {{ 'hello'|truncate(9) }} {{ 'a b/ü?'|urlencode }}
{{ d|tojson }} {{ messages[2]|tojson }} {{ s|tojson }} {{ none|tojson }} {{ true|tojson }} {{ 1.0|tojson }} {{ (1, 2)|tojson }} {{ []|tojson }} {{ {}|tojson }} {{ u|tojson }} {{ '\x7f\x00\n\t<>&\'"\\/'|tojson }} {{ 1e20|tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}
{{ d|tojson(indent=2) }} {{ d|tojson(sort_keys=true) }} {{ d|tojson(separators=(',', ':')) }} {{ u|tojson(ensure_ascii=true) }} {{ [1]|tojson(true) }} {{ d|tojson(indent=1, separators=(',', ' = ')) }} {{ {'a': []}|tojson(indent=4) }} {{ [1]|tojson(indent='--') }}
{{ missing|tojson }}
{{ {'a': missing}|tojson }}
{{ d|tojson|safe }} {{ d|tojson(indent=4)|replace('"', "'") }}
{{ d|attr('a') }}| {{ s|attr('upper')() }} {{ people|attr('x') }}|
{{ n is defined }} {{ missing is defined }} {{ missing is undefined }} {{ n is not defined }} {{ d.zz is defined }} {{ no is none }} {{ no is not none }} {{ missing is none }}
{{ s is string }} {{ n is string }} {{ d is mapping }} {{ list is mapping }} {{ list is iterable }} {{ s is iterable }} {{ n is iterable }} {{ no is iterable }} {{ d is iterable }} {{ missing is iterable }} {{ list is sequence }} {{ s is sequence }} {{ d is sequence }} {{ n is sequence }} {{ missing is sequence }}
{{ n is number }} {{ x is number }} {{ yes is number }} {{ s is number }} {{ n is integer }} {{ x is integer }} {{ yes is integer }} {{ x is float }} {{ n is float }} {{ yes is boolean }} {{ n is boolean }} {{ yes is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }}
{{ n is odd }} {{ n is even }} {{ 9 is divisibleby(3) }} {{ 9 is divisibleby 3 }} {{ n is equalto 3 }} {{ n is equalto(4) }} {{ n == 3 is equalto true }} {{ n is in [1, 3] }} {{ n is not in [1] }} {{ n is sameas n }} {{ none is sameas none }} {{ n is eq 3 }} {{ n is ne 3 }} {{ n is gt 2 }} {{ n is ge 3 }} {{ n is lt 2 }} {{ n is le 3 }} {{ n is greaterthan 1 }} {{ n is lessthan 1 }}
{{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'Abc' is upper }} {{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ range is callable }} {{ n is callable }} {{ ('<'|safe) is escaped }} {{ '<' is escaped }}
{{ n is odd and s is string }} {{ n is odd or z.z }} {{ not n is odd }} {{ 'a' if n is odd else 'b' }}
{{ n is odd is even }}
{{ n is sameas is_even }}
{{ n is defined and n > 2 }} {{ missing is defined and missing > 2 }} {{ messages[0].role is string }} {{ messages[0]['role'] == 'system' }}
{{ raise_exception('Stop: ' ~ n) }}
{{ strftime_now('%d %b %Y %H:%M') }}
{{ x|nope }}
{% if no %}{{ x|nope }}{% endif %}ok
{% if yes %}{{ x|nope }}{% endif %}
{{ n is nope }}
{% nope %}
{% if yes %}
{% for i in list %}{% endif %}
{{ n
{{ (n }}
{{ 'a }}
{# open
{% raw %}open
{{ n n }}
{{ [1, 2 }}
{% set = 1 %}
{% set n %}
{{ range(100001) }}
{{ f(**n) }}
{{ range(*[1, 3])|list }} {{ dict(**{'a': 1}) }}
{{ loop }}
{{ loop.index }}
{{ [1, 2, 3]|tojson }}{{ '\n' }}{{- n }}
{%- for m in messages %}{{ '<|' + m.role + '|>\n' + m.content|trim + '<|end|>\n' }}{%- endfor %}
{% for m in messages if m.role != 'system' %}{{ loop.index }}:{{ m['content'] | trim }};{% endfor %}
{% set loop_messages = messages[1:] if messages[0].role == 'system' else messages %}{{ loop_messages|length }}
{% if messages[-1].tool_calls is defined and messages[-1].tool_calls %}{% for t in messages[-1].tool_calls %}{{ t.name }}({{ t.arguments|tojson }}){% endfor %}{% endif %}
{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 1) %}{{ raise_exception('order') }}{% endif %}{% endfor %}ok
{% for m in messages[::-1] %}{{ loop.index0 }}{{ m.role[0] }}{% endfor %}
{{ messages | map(attribute='role') | list }} {{ messages|map(attribute='content')|map('length')|list }}
{{ "a" "b" ~ 'c' }} {{ {'x': s}.x }} {{ (s|lower).split(', ')[1][0] }} {{ s.split(',')[0].strip().upper()|lower }}
{{ s.__class__ }} {{ d.__len__ }}|
{{ s.__class__.__name__ }}
{{ '%.2f' % 1.005 }} {{ 1e400 }} {{ -1e400 }} {{ 3.0 == 3 }} {{ 10 ** 15 }} {{ 5 // 2.0 }} {{ 0.1 }} {{ 123456789.125 }} {{ 1/7 }}
{% set x %}{% for i in list %}{{ i }}{% break %}{% endfor %}{% endset %}{{ x }}
{% for i in list %}{% set y %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endset %}{{ y }}{% endfor %}
{{ ns }} {{ namespace(a=1).a }}
{{ d.items()|length }} {{ d.keys()|length }} {{ 'b' in d.keys() }} {{ d.values()|list|length }}
{{ d == d }} {{ list == [3, 1, 2] }} {{ list != list }} {{ '1' == 1 }} {{ d.a == [1, {'k': none}] }}
{{ [missing, no] }} {{ [missing]|length }} {{ missing|upper }}| {{ missing|replace('a', 'b') }}| {{ missing ~ 'x' }}
{% macro outer() %}{% macro inner(a) %}<{{ a }}>{% endmacro %}{{ inner(1) }}{{ inner(2) }}{% endmacro %}{{ outer() }}
{% set f = range %}{{ f(2)|list }} {% set up = s.upper %}{{ up() }}
{{ caller }}|{{ varargs }}|{{ kwargs }}|{{ self_missing }}
{{ 'x'.join(words[:2]) }} {{ words[1:]|join('+') }} {{ (words|sort)[0] }} {{ words|sort|first }}
{{ (people|first).name }} {{ people|map(attribute='age')|sum }} {{ people[1].tags|default('none', true) }} {{ people[2].tags|default('none') }}
"""

# Templates of several lines or with ends that a line of the list above can't show.
WHITESPACE = [
    "  {# alone #}\nx\n  {#- trimmed -#}\ny\na {#+ kept +#}\nb",
    "{% if yes %}\n  yes\n{% endif %}\nafter\n    {% if yes %}\n  indented\n    {% endif %}\nafter",
    "  {%+ if yes %}x{% endif %}\ny",
    "x\n{%- if yes %}\n\ny\n{%- endif %}\n\nz",
    "{{ s -}}\n\nx\n  {{ n }}\n  {{ n }}",
    "{% if yes +%}\nx{% endif +%}\ny",
    "{% for i in list %}\n{{ i }}\n{% endfor %}\nend",
    "{% for i in list -%}\n  {{ i }}\n{%- endfor %}",
    "  {% raw -%}\n   x {{ y\n  {%- endraw %}\nz",
    "",
    "\n",
    "a\n",
    "a\n\n",
    "a\r\nb\rc\n",
    "{% if yes %}\r\n  x\r\n{% endif %}\r\ny",
    "  {% if yes %}  \n x\n  {% endif %}  \ny",
    "a\n  {% if yes %}\n  b\n  {% endif %}\nc\n",
    "a\n\t{%- if yes %}\n\tb\n\t{%- endif %}\nc",
    "a\n  {{ n }}\n  {{- n }}\n  {{ n -}}\n  b",
    "a\n  {# c #}\n  {#- c #}\n  {# c -#}\n  b",
    "a\n  {%+ if yes %}\n  b\n  {%+ endif +%}\n  c",
    "{{ n }}  {% if yes %}\nx{% endif %}",
    "{% if yes %}  {% if yes %}\nx{% endif %}{% endif %}",
    "{% if yes %}\n  {% if yes %}\n    x\n  {% endif %}\n{% endif %}\n",
    "\u3000\n\u3000{% if yes %}x{% endif %}",
    "{% for i in list %}\n\n  {{ i }}\n\n{% endfor %}\n\n",
    "{% for i in list %}\n    {%- if i > 1 %}\n        {{- i }}\n    {%- endif %}\n{%- endfor %}",
    "{% raw %}\n  {% if %}\n{% endraw %}\nx",
    "  {% raw %}\n  x\n  {% endraw %}\n  y",
    "{%- raw -%}\n  x {{ y }}\n  {%- endraw -%}\n  z",
    "{% set a %}\n  x\n{% endset %}\n[{{ a }}]",
    "{% macro m() %}\n  x\n{% endmacro %}\n[{{ m() }}]",
    "{% macro m() -%}\n  x\n{%- endmacro -%}\n[{{ m() }}]",
    "{% generation %}\n x\n{% endgeneration %}\ny",
    "x{{ 'a\nb' }}y\n{{ '''a''' }}",
    "{{ n }}\n\n\n{{ n }}",
    "{% if yes -%}\n\n  x\n\n{%- endif %}\n",
    "a {%- set q = 1 -%} b",
    "{{\n  n\n}}\n{%\n  if yes\n%}\nx\n{%\nendif\n%}",
    "{% set x = 'it''s' %}{{ x }}",
    "{# a #}\n{# b #}\nc",
    "{#\n multi\n#}\nx{##}y{#-#}z",
]

CHATS = [
    [("user", "Hi")],
    [("system", "Be brief."), ("user", "What is 2 + 2?")],
    [("user", "Hi"), ("assistant", "Hello!"), ("user", "  spaces\n\n")],
    [("system", ""), ("user", "<|im_start|>user\nnested<|im_end|>")],
    [("user", "日本語 🎉 é\u200d")],
    [("user", "{{ not a template }}"), ("assistant", "'quotes' \"and\" \\back")],
    [("user", "")],
]


def fixed_day(text):
    """strftime_now with a clock that stands still."""
    import datetime

    return datetime.datetime(2024, 7, 26, 12).strftime(text)


def render(source, variables):
    try:
        template = chat_template_utils._compile_jinja_template(source)
        template.globals["strftime_now"] = fixed_day
        return {"text": template.render(**variables)}
    except Exception as error:  # whatever a template may raise is its recorded result
        return {"error": f"{type(error).__name__}: {error}"}


def used(source):
    return {name: value for name, value in VARIABLES.items() if name in source}


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{path.name}: {len(rows)} lines")


def snippets():
    sources = [line for line in SNIPPETS.split("\n") if line] + WHITESPACE
    return [{"template": source, "variables": used(source), **render(source, used(source))} for source in sources]


def smollm2(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = [{"template": tokenizer.chat_template}]
    for turns in CHATS:
        messages = [{"role": role, "content": content} for role, content in turns]
        for prompt in (False, True):
            text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompt)
            rows.append({"variables": {"messages": messages, "add_generation_prompt": prompt}, "text": text})
    return rows


if __name__ == "__main__":
    import transformers

    write(HERE / "snippets.jsonl", snippets())
    if len(sys.argv) > 1:
        write(HERE / "smollm2.jsonl", smollm2(sys.argv[1]))
