"""Who runs a model: the native engine, its worker processes, and the supervisor that loads and evicts them.

Knows llama.cpp and nothing of HTTP, of names or of the store. Import the modules themselves; nothing is
re-exported here, so that importing one of them stays cheap.
"""
