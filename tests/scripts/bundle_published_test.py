#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bundle_published.sh tells wrong usage from a machine that lacks something."""
import sys
import unittest

sys.dont_write_bytecode = True
from script_tree import ScriptTest  # noqa: E402


class MirrorPublished(ScriptTest):
    def test_wrong_usage_is_status_2(self):
        for line in (["-x"], ["-t"], ["one", "two"]):
            with self.subTest(line):
                done = self.run_script("bundle_published.sh", *line)
                self.assertEqual(done.returncode, 2)
                self.assertIn("usage: bundle_published.sh", done.stderr)

    def test_a_folder_that_is_not_there_is_status_3(self):
        done = self.run_script("bundle_published.sh", self.folder / "nothing")
        self.assertEqual(done.returncode, 3)
        self.assertIn("is no folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
