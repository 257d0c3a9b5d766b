# SPDX-License-Identifier: BSD-2-Clause
"""suite.py DIR DEVICE LIMIT AFTER [NAME...]: rdma-core's tests of DIR on a device.

A line when a test starts and one with what came of it, so that whoever reads them
knows which one was running when the process died. A test that takes LIMIT seconds
ends the process. AFTER is a test's name, or empty: those after it are run, and of
those only NAMEs, which may be modules.
"""
import faulthandler
import os
import sys
import time
import unittest


class Told(unittest.TestResult):
    """One line per test: verdict, name, milliseconds, and the reason."""

    limit = 60

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()
        self.verdict = ('pass', '')
        print('start', test.id(), sep='\t', flush=True)
        faulthandler.dump_traceback_later(self.limit, exit=True)

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()
        took = int((time.monotonic() - self.begun) * 1000)
        print(self.verdict[0], test.id(), took, self.verdict[1], sep='\t', flush=True)

    def failed(self, err):
        self.verdict = ('fail', f'{err[0].__name__}: {err[1]}'.split('\n')[0].replace('\t', ' '))

    def addError(self, test, err):
        self.failed(err)

    def addFailure(self, test, err):
        self.failed(err)

    def addSkip(self, test, reason):
        self.verdict = ('skip', reason)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.failed(err)


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def main():
    where, device, limit, after, *names = sys.argv[1:]
    # The suite finds its options in the arguments, and some of itself by short names.
    sys.path[:0] = [where, os.path.join(where, 'tests')]
    sys.argv[1:] = ['--dev', device, '--gid', '1']
    from args_parser import parser
    parser.parse_args()
    import tests
    chosen = []
    for module in tests.__test_modules__:
        for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)):
            name = test.id()
            if not names or name in names or name.split('.')[1] in names:
                chosen.append(test)
    known = [test.id() for test in chosen]
    if after:
        chosen = chosen[known.index(after) + 1:]
    Told.limit = int(limit)
    unittest.TestSuite(chosen).run(Told())
    print('end', flush=True)
    # What a failed test has left behind must not spoil the others' verdicts.
    os._exit(0)


main()
