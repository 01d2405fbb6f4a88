"""What a model is: names, Modelfiles, parameters, templates, replies, GGUF files and the store that keeps
them.

Knows files and nothing of HTTP, of llama.cpp or of running processes. Import the modules themselves; nothing
is re-exported here, so that importing one of them stays cheap.
"""
