# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The exception tree of enbloc; nothing else is raised on purpose.

::

    EnblocError
    ├── ConfigError           a kubeconfig, flag or configuration file is wrong; exit code 2
    │   └── NoClusterError    nothing names a cluster: no flag, variable, pod or file
    ├── PluginError           a plugin raised, or broke its contract (shape, dtype, NaN)
    ├── UsageError            a command was asked for what it cannot do; exit code 2
    └── kube.errors.APIError  the API server refused, or could not be reached (its own tree)

Expected failure is a value (a Diagnosis, a Problem, an outcome), never one of these.
"""


class EnblocError(Exception):
    """The root of every exception that enbloc raises on purpose."""


class ConfigError(EnblocError):
    """A setting is wrong; the message names the file or flag, the field and the fix."""


class NoClusterError(ConfigError):
    """Nothing names a cluster; a command that can do without one does."""


class UsageError(EnblocError):
    """A command was asked for what it cannot do; the message says what to do instead."""


class PluginError(EnblocError):
    """A plugin raised, or returned what its contract forbids.

    Attributes:
        plugin: the plugin's name.
        point: the extension point, as kube-scheduler spells it ("Filter").
    """

    def __init__(self, plugin: str, point: str, detail: str) -> None:
        super().__init__(f'plugin "{plugin}" failed at {point}: {detail}')
        self.plugin = plugin
        self.point = point
