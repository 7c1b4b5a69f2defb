#!/usr/bin/env python3
"""scripts/count_tests on reports as ctest and GoogleTest write them.     usage: count_tests_test.py"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASS = '<testcase name="A" status="run" result="completed" classname="S"/>'
FAIL = '<testcase name="B" status="run" result="completed" classname="S"><failure message="1 is not 2"/></testcase>'
SKIP = '<testcase name="C" status="run" result="skipped" classname="S"><skipped message="f.cpp:3&#x0A;no peers"/></testcase>'
NOT_RUN = '<testcase name="D" status="notrun" result="suppressed" classname="S"/>'

# ctest's entries with their status, GoogleTest's reports, last line, exit status, what the output must name.
CASES = [
    ([("base", "run")], {"base": [PASS, PASS]}, "2 passed, 0 failed, 0 skipped", 0, ""),
    ([("base", "run"), ("layers", "run")], {"base": [PASS]}, "2 passed, 0 failed, 0 skipped", 0, ""),
    ([("base", "run")], {"base": [PASS, SKIP, NOT_RUN]}, "1 passed, 0 failed, 1 skipped", 0, "base: S.C: no peers"),
    ([("base", "fail")], {"base": [PASS, FAIL]}, "1 passed, 1 failed, 0 skipped", 1, "failed: base: S.B"),
    # A program that crashed wrote no report; one that failed on its way out reported success before.
    ([("base", "fail"), ("rl", "run")], {"rl": [PASS]}, "1 passed, 1 failed, 0 skipped", 1, "failed: base"),
    ([("base", "fail")], {"base": [PASS]}, "1 passed, 1 failed, 0 skipped", 1, "failed: base"),
    ([("base", "notrun")], {}, "0 passed, 0 failed, 1 skipped", 1, ""),
    ([], {}, "0 passed, 0 failed, 0 skipped", 1, ""),
    # Two entries of one program, as labels split it.
    ([("base", "run")], {"base": [PASS], "base_test_1": [PASS]}, "2 passed, 0 failed, 0 skipped", 0, ""),
]


def run(entries, reports):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        cases = "".join(f'<testcase name="{name}" status="{status}"/>' for name, status in entries)
        (folder / "reports.xml").write_text(f"<testsuite>{cases}</testsuite>")
        for name, tests in reports.items():
            file = folder / f"{name if '_test' in name else name + '_test'}.xml"
            file.write_text(f"<testsuites><testsuite>{''.join(tests)}</testsuite></testsuites>")
        command = [sys.executable, ROOT / "scripts" / "count_tests", folder / "reports.xml", folder]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout


class CountTests(unittest.TestCase):
    def test_cases(self):
        for entries, reports, last, status, named in CASES:
            with self.subTest(entries=entries, reports=reports):
                returned, output = run(entries, reports)
                self.assertEqual(output.splitlines()[-1], last)
                self.assertEqual(returned, status)
                self.assertIn(named, output)


if __name__ == "__main__":
    unittest.main()
