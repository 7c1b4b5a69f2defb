#!/usr/bin/env python3
"""scripts/check_layers on small trees with one violation each.     usage: check_layers_test.py"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = """
| 0 | `base` | no | |
| 1 | `formats` | no | base |
| 1 | `kernels` | no | base |
| 2 | `ops` | yes | base, kernels |
"""
GOOD = {
    "docs/layers.md": TABLE,
    "nereus/base/a.h": "#include <vector>\n#include <nlohmann/json.hpp>\n",
    "nereus/base/CMakeLists.txt": "nereus_folder(base SOURCES a.cpp LINK fmt::fmt)",
    "nereus/kernels/a.cpp": '#include "nereus/kernels/a.h"\n#include <dnnl.hpp>\n',
    "nereus/ops/a.h": '#include <ATen/core/Tensor.h>\n#include "nereus/kernels/a.h"\n',
    "nereus/ops/CMakeLists.txt": "nereus_folder(ops TORCH SOURCES a.cpp DEPENDS base kernels LINK fmt::fmt)",
    "tests/ops/a_test.cpp": '#include <ATen/ops/sum.h>\n#include "nereus/base/a.h"\n',
    "tests/integration/a_test.cpp": "#include <ATen/ops/sum.h>\n",
}
# File, its text, and what the complaint must name.
BAD = [
    ("nereus/base/b.h", '#include "nereus/formats/a.h"\n', "nereus/base/b.h:1: nereus/formats/a.h is of formats"),
    ("nereus/formats/b.cpp", '\n#  include "nereus/kernels/a.h"\n', "nereus/formats/b.cpp:2: nereus/kernels/a.h"),
    ("nereus/formats/b.cpp", "#include <c10/core/Device.h>\n", "c10/core/Device.h is LibTorch's"),
    ("nereus/kernels/deep/b.h", '#include "ATen/ops/sum.h"\n', "ATen/ops/sum.h is LibTorch's"),
    ("nereus/ops/b.cpp", "#include <torch/torch.h>\n", "torch/torch.h is slow"),
    ("tests/integration/b_test.cpp", "#include <torch/torch.h>\n", "torch/torch.h is slow"),
    ("tests/kernels/b_test.cpp", "#include <ATen/ops/sum.h>\n", "ATen/ops/sum.h is LibTorch's"),
    ("nereus/ops/b.cpp", "#include <dnnl.hpp>\n", "which only kernels includes"),
    ("nereus/utils/b.h", "", "utils has no row"),
    ("nereus/kernels/CMakeLists.txt", "nereus_folder(kernels\n DEPENDS base formats)", "kernels is linked to formats"),
    ("nereus/kernels/CMakeLists.txt", "nereus_folder(kernels TORCH)", "kernels is a folder without Torch"),
    ("docs/layers.md", TABLE.replace("| no | base |", "| no | ops |", 1), "formats (level 1) may not include ops"),
    ("docs/layers.md", TABLE.replace("| no | base |", "| no | based |", 1), "names based, which has no row"),
    ("docs/layers.md", "no table\n", "holds no table"),
]


def check(files):
    """Exit status and output for a tree of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, ROOT / "scripts" / "check_layers", folder], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CheckLayers(unittest.TestCase):
    def test_allowed(self):
        status, output = check(GOOD)
        self.assertEqual(status, 0, output)

    def test_violations(self):
        for name, text, complaint in BAD:
            with self.subTest(name=name, text=text):
                status, output = check({**GOOD, name: text})
                self.assertEqual(status, 1, output)
                self.assertIn(complaint, output)


if __name__ == "__main__":
    unittest.main()
