"""Well-known families of models: their prompts as Go templates, their stop texts, and how to know them by
their Jinja templates.
"""

from modelfiles.templates.catalog.detect import Detected, detect
from modelfiles.templates.catalog.families import Family, families

__all__ = ["Detected", "Family", "detect", "families"]
