"""Run packs: models, the tool gate, stages, the native backend and the runtime.

Import what you need from its module: ``run.native``, ``run.runtime``, ``run.effects``,
``run.stages``, ``run.models.embedded``, ``run.models.recorded``…
"""
