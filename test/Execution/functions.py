"""A lit format: each function of a .py file that is named case_... or property_... is one test. A line `# REQUIRES: a, b` names
features that the file needs."""

import os
import re

import lit.formats
import lit.Test
import lit.util

REQUIRES = re.compile(r"^# REQUIRES: (.*)$", re.MULTILINE)
FUNCTION = re.compile(r"^def ((?:case|property)_\w+)\(\)", re.MULTILINE)


class FunctionTests(lit.formats.FileBasedTest):
    def __init__(self, *features):
        """`features`: what the tests need beside programs for the CPU."""
        self.features = {"cpu-target", "numpy", *features}

    def getTestsForPath(self, testSuite, path_in_suite, litConfig, localConfig):
        for file in super().getTestsForPath(testSuite, path_in_suite, litConfig, localConfig):
            with open(file.getSourcePath()) as source:
                names = FUNCTION.findall(source.read())
            for name in names:
                yield lit.Test.Test(testSuite, (*path_in_suite, name), localConfig)

    def execute(self, test, litConfig):
        config = test.config
        *path, name = test.path_in_suite
        with open(test.suite.getSourcePath(path)) as source:
            needed = {f.strip() for line in REQUIRES.findall(source.read()) for f in line.split(",")}
        missing = (self.features | needed) - config.available_features
        if missing:
            return lit.Test.UNSUPPORTED, "Test requires: " + ", ".join(sorted(missing))
        harness = os.path.join(config.moe_source_dir, "test", "Execution", "harness.py")
        command = [config.moe_python, harness, test.suite.getSourcePath(path), name]
        environment = {**config.environment, "MOE_BUILD_DIR": config.moe_build_dir}
        try:
            out, err, code = lit.util.executeCommand(command, env=environment, timeout=litConfig.maxIndividualTestTime)
        except lit.util.ExecuteCommandTimeoutException as late:
            return lit.Test.TIMEOUT, f"{' '.join(command)}\n{late.out}{late.err}{late.msg}"
        if code == 0:
            return lit.Test.PASS, out
        return lit.Test.FAIL, f"{' '.join(command)}\nexit code {code}\n{out}{err}"
