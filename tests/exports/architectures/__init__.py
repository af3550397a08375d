# SPDX-License-Identifier: Apache-2.0
"""All architectures, by name. A module of this folder holds those of one field in a map `MODELS`; names differ."""
from . import decoders, diffusion, graphs, mixing, pictures, scenes, speech, tables, text, vision

MODELS = {}
for field in (vision, scenes, pictures, text, decoders, diffusion, speech, graphs, tables, mixing):
    assert not MODELS.keys() & field.MODELS.keys()
    MODELS.update(field.MODELS)
