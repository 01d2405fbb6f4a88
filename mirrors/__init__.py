"""How model bytes arrive: references to models and the progress of fetching them.

Knows where a model may come from and nothing of what is inside it, of the store or of running it. Import the
modules themselves; nothing is re-exported here, so that importing one of them stays cheap.
"""
