"""Public doubles, Hypothesis strategies and contract checks for every port.

Import what you need from its module: ``testing.models``, ``testing.clock``, ``testing.strategies``,
``testing.checks``.
"""
